"""Property tests: the same examples in every ordinary run, others and more of them when asked."""

from __future__ import annotations

import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.conftest import MORE_EXAMPLES, examples_are_random

ROOT = Path(__file__).parent.parent
EXAMPLES = 40


@settings(max_examples=EXAMPLES)
@given(st.integers(-(10**9), 10**9))
def record(number: int) -> None:
    SEEN.append(number)


SEEN: list[int] = []


def examples() -> list[int]:
    SEEN.clear()
    record()
    return list(SEEN)


@pytest.fixture
def fixed(request: pytest.FixtureRequest) -> None:
    if examples_are_random(request.config):
        pytest.skip("examples are random in this run")


@pytest.mark.usefixtures("fixed")
def test_examples_are_the_same_every_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = examples()
    assert len(first) == EXAMPLES and len(set(first)) > EXAMPLES / 2
    # What has been imported by then makes no difference.
    path = tmp_path / "numbers.py"
    path.write_text(f"NUMBERS = {list(range(10**6, 10**6 + 500))}")
    module = types.ModuleType("numbers_of_another_test")
    module.__file__ = str(path)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    assert examples() == first


@pytest.mark.usefixtures("fixed")
def test_nothing_about_examples_depends_on_load() -> None:
    for chosen in (settings(), settings(max_examples=5)):
        assert chosen.derandomize and chosen.deadline is None and chosen.database is None
        assert HealthCheck.too_slow in chosen.suppress_health_check


PROBE = f"""
from hypothesis import given, settings, strategies as st

TRIED = []

@settings(max_examples={EXAMPLES})
@given(st.integers(0, 10**9))
def test_property(number):
    TRIED.append(number)

class TestOfAClass:
    @given(st.integers(0, 10**9))
    @settings(max_examples={EXAMPLES})
    def test_property(self, number):
        TRIED.append(number)

def test_tell(request):
    print("tried", len(TRIED), sum(TRIED))
"""


Run = Callable[..., list[int]]


@pytest.fixture(
    params=[
        pytest.param(False, id="outside"),
        pytest.param(True, id="in CI", marks=pytest.mark.thorough),
    ]
)
def tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Run:
    """How many examples a run of two small properties tries, and their sum, in CI and outside."""
    path = tmp_path / "test_probe.py"
    path.write_text(PROBE)
    if request.param:
        monkeypatch.setenv("CI", "true")
    else:
        monkeypatch.delenv("CI", raising=False)

    def run(*options: str) -> list[int]:
        words = [str(path), "-p", "tests.conftest", "-p", "no:cacheprovider", "-s", *options]
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *words], cwd=ROOT, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        (line,) = (line for line in done.stdout.splitlines() if "tried" in line)
        return [int(word) for word in line.split()[-2:]]

    return run


def test_an_ordinary_run_repeats_itself(tried: Run) -> None:
    first = tried()
    assert first == tried()
    assert first[0] == 2 * EXAMPLES


@pytest.mark.thorough
def test_a_seed_chooses_other_examples(tried: Run) -> None:
    first = tried("--hypothesis-seed=1")
    assert first == tried("--hypothesis-seed=1")
    assert first[0] == 2 * EXAMPLES
    assert first != tried("--hypothesis-seed=2")


@pytest.mark.thorough
def test_trust_tries_more_examples_and_others_each_time(tried: Run) -> None:
    first = tried("--trust")
    assert first[0] == 2 * EXAMPLES * MORE_EXAMPLES
    assert first != tried("--trust")  # equal sums of 800 numbers below 10⁹: a chance near 10⁻¹⁰


@pytest.mark.thorough
def test_property_tests_can_be_run_alone(tried: Run) -> None:
    """The mark `hypothesis` is Hypothesis's own."""
    assert tried("-m", "hypothesis or not hypothesis")[0] == 2 * EXAMPLES
    assert tried("-m", "not hypothesis") == [0, 0]
