"""Releases that the tests of the web share: they are only read."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import hushtable as ht
from tests.web.shared_releases import publish_hostile, publish_town, publish_village


@pytest.fixture(scope="session", autouse=True)
def patience() -> Iterator[None]:
    """A busy machine may take minutes to start a process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hushtable.web.workers._START", 600.0)
        yield


@pytest.fixture(scope="session")
def shelf_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with several releases."""
    folder = tmp_path_factory.mktemp("shelf")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HUSHTABLE_STATE", str(tmp_path_factory.mktemp("state")))
        publish_town(folder)
        publish_hostile(folder)
        publish_village(folder)
    return folder


@pytest.fixture(scope="session")
def small_tables(tmp_path_factory: pytest.TempPathFactory) -> ht.Release:
    """A release of a few tables, with a model for the rest."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HUSHTABLE_STATE", str(tmp_path_factory.mktemp("state")))
        return publish_town(
            tmp_path_factory.mktemp("small"),
            name="wide",
            mechanism="marginals",
            settings={"tables": "age+sex,job,pay"},
        )


@pytest.fixture(scope="session")
def town(shelf_folder: Path) -> Iterator[ht.Release]:
    yield ht.open(shelf_folder / "town.release")


@pytest.fixture(scope="session")
def hostile(shelf_folder: Path) -> Iterator[ht.Release]:
    yield ht.open(shelf_folder / "hostile.release")
