"""What every test shares: a state folder of its own, and how property tests choose their examples.

No test touches the notes about ledgers that the user who runs it has.

Property tests run the same examples every time: chance, load and the order of tests decide nothing.
`--trust` (or `make trust`) runs the attacks of tests/trust at their full size, and every property
test on many times as many examples, other ones each time. `--hypothesis-seed=N` chooses others too.
`--check` (or `make check`) runs the attacks at a middle size, with the same examples every time.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

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


@pytest.fixture(scope="session")
def fresh_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Empty folders, one after the other: pytest would look through all that are there for each."""
    parent = tmp_path_factory.mktemp("fresh")
    return (parent / str(number) for number in itertools.count())


@pytest.fixture(autouse=True)
def state_folder(fresh_folders: Iterator[Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = next(fresh_folders)
    folder.mkdir()
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
