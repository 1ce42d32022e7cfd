"""Stores for the tests of files elsewhere, started when the first one asks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from tests.shared_stores import Bucket, Site, new_bucket, s3_server, web_server

NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def endpoint() -> Iterator[str]:
    with s3_server() as address:
        yield address


@pytest.fixture
def bucket(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    """A new bucket, and the credentials for it in the environment."""
    made = new_bucket(endpoint, f"people-{next(NUMBERS)}")
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    return made


@pytest.fixture
def site() -> Iterator[Site]:
    with web_server() as made:
        yield made
