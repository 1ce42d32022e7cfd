"""Stores for the tests of files elsewhere, started when the first one asks, and frames of Spark."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import spark_here
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
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A web server, which no proxy of this machine stands before."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with web_server() as made:
        yield made


@pytest.fixture
def on_spark(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Any]:
    """Parts of a table as a frame; some of its tasks may run again."""
    return spark_here.frames(monkeypatch)
