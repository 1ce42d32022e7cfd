"""What every test shares: a state folder of its own, and how property tests choose their examples.

No test touches the notes about ledgers that the user who runs it has. Tables are counted in one
database per process: to make a database takes longer than to count the rows of a test.

Property tests run the same examples every time: chance, load and the order of tests decide nothing.
`--trust` (or `make trust`) runs the attacks of tests/trust at their full size, and every property
test on many times as many examples, other ones each time. `--hypothesis-seed=N` chooses others too.
`--check` (or `make check`) runs the attacks at a middle size, with the same examples every time.
"""

from __future__ import annotations

import atexit
import gc
import itertools
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import none

# Before NumPy is imported: tests run in several processes, whose threads would wait for each other.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Tests write thousands of ledgers, each as durably as the disk can: memory will do where there is.
MEMORY = Path("/dev/shm")
ENOUGH = 2 * 2**30
if "TMPDIR" not in os.environ and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free >= ENOUGH:
    tempfile.tempdir = os.environ["TMPDIR"] = str(MEMORY)

MORE_EXAMPLES = 10
"""How many times as many examples `--trust` tries."""

# Nothing about a test may depend on how busy the machine is, nor on what Hypothesis makes of its
# environment: it fixes the examples by itself where it thinks it runs in CI.
settings.register_profile(
    "random",
    derandomize=False,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("fixed", settings.get_profile("random"), derandomize=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--trust", action="store_true", help="run the attacks at their full size")
    parser.addoption("--check", action="store_true", help="run the attacks at a middle size")
    parser.addoption("--pictures", metavar="FOLDER", help="keep the pictures of web pages there")


def pytest_configure(config: pytest.Config) -> None:
    if examples_are_random(config):
        settings.load_profile("random")
        return
    settings.load_profile("fixed")
    # Hypothesis also tries constants of the modules that happen to be imported by then, and which
    # these are depends on the tests that this process ran before.
    with suppress(ImportError):  # older versions look at none
        from hypothesis.internal.conjecture import providers

        if hasattr(providers, "_get_local_constants"):
            providers._get_local_constants = lambda: providers._local_constants  # none, as yet


def examples_are_random(config: pytest.Config) -> bool:
    """Whether property tests try other examples in every run."""
    return config.getoption("--trust") or config.getoption("--hypothesis-seed") is not None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--trust"):
        return
    properties = {
        getattr(item.obj, "__func__", item.obj)  # a method is one function for all its instances
        for item in items
        if isinstance(item, pytest.Function) and getattr(item.obj, "is_hypothesis_test", False)
    }
    for test in properties:
        # Each says how many examples are enough for it, which goes before any profile.
        chosen = test._hypothesis_internal_use_settings
        more = settings(chosen, max_examples=MORE_EXAMPLES * chosen.max_examples)
        test._hypothesis_internal_use_settings = more


def pytest_collection_finish() -> None:
    """What there is by now stays: to look for garbage in it, again and again, takes a while.

    Before that, Hypothesis may look once who holds its generator: it would not find anybody.
    """
    given(none())(lambda nothing: None)()
    gc.freeze()
    atexit.register(gc.unfreeze)


@pytest.fixture(scope="session", autouse=True)
def one_database() -> Iterator[Callable[..., Any]]:
    """Count the tables of a process in one database, each through a connection of its own.

    What is registered with a connection is known to no other. All share the settings of the first,
    which are the same for all but for the folder to spill to; where rows of people are bounded,
    with less memory, in another database.
    """
    import duckdb

    # By process, for an engine's threads do not survive a fork; and by what is set.
    databases: dict[tuple[Any, ...], Any] = {}
    connect = duckdb.connect

    def connected(database: str = ":memory:", **given: Any) -> Any:
        if "temp_directory" not in given.get("config", {}):  # not by counting
            return connect(database, **given)
        kind = (os.getpid(), *sorted(given["config"]))
        if kind not in databases:
            databases[kind] = connect(database, **given)
        return databases[kind].cursor()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(duckdb, "connect", connected)
        yield connect


@pytest.fixture
def databases_as_ever(one_database: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A database for each table that is counted, as everywhere but in tests."""
    monkeypatch.setattr("duckdb.connect", one_database)


@pytest.fixture(scope="session")
def fresh_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Empty folders, one after the other: pytest would look through all that are there for each."""
    parent = tmp_path_factory.mktemp("fresh")
    return (parent / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def state_folder(fresh_folders: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = next(fresh_folders)  # made by whoever writes to it
    monkeypatch.setenv("HUSHTABLE_STATE", str(folder))
    return folder


@pytest.fixture
def run_hush(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., tuple[int, str, str]]:
    """`hush` run in this process, in a folder of the test's own: its exit code, and what it printed
    to both streams."""
    from hushtable.cli.main import run

    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["hush", *arguments])
        with pytest.raises(SystemExit) as stopped:
            run()
        seen = capsys.readouterr()
        return int(stopped.value.code or 0), seen.out, seen.err

    return call
