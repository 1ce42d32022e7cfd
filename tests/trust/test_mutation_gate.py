"""Every mutant we know is caught, and the list of them fits the source."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attack import Tally
from mutants import MUTANTS, ROOT, SOURCE, Mutant, run_tests

LEAST = 160


def test_every_mutant_is_one_change_of_the_source_as_it_is() -> None:
    assert len(MUTANTS) >= LEAST
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    changes = set()
    for mutant in MUTANTS:
        source = (SOURCE / "hushtable" / mutant.file).read_text(encoding="utf-8")
        changed = mutant.applied(source)
        changes.add((mutant.file, changed))
        assert ast.dump(ast.parse(changed)) != ast.dump(ast.parse(source)), mutant.name
    assert len(changes) == len(MUTANTS)


def test_every_mutant_names_tests_that_exist() -> None:
    for mutant in MUTANTS:
        assert mutant.tests, mutant.name
        for test in mutant.tests:
            path, *names = test.split("::")
            text = (ROOT / path).read_text(encoding="utf-8")
            assert all(f" {name}" in text for name in names), test


def test_a_mutant_whose_text_is_gone_or_not_alone_is_refused() -> None:
    mutant = Mutant("x", "errors.py", "pass", "fail", ("tests",))
    for source in ("", "pass pass"):
        with pytest.raises(ValueError, match="stands"):
            mutant.applied(source)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """All of them with --trust, a few of them always."""
    full = metafunc.config.getoption("--trust")
    chosen = [mutant for mutant in MUTANTS if full or mutant.quick]
    if "mutant" in metafunc.fixturenames:
        metafunc.parametrize("mutant", chosen, ids=[m.name.replace(" ", "-") for m in chosen])
    if "tests" in metafunc.fixturenames:
        # The rest of them are run by `make test`, on the source itself.
        named = {(test, mutant.quick) for mutant in chosen for test in mutant.tests}
        few = sorted({test for test, quick in named if quick or "tests/trust/" in test})
        metafunc.parametrize("tests", few if full else few[:1])


def test_the_mutant_is_caught(
    mutant: Mutant,
    tmp_path: Path,
    tally: Tally,
    record_property: Callable[[str, Any], None],
) -> None:
    outcome = run_tests(mutant.tests, tmp_path, mutant)
    assert outcome.caught, f"{mutant.name}: pytest said {outcome.code}\n{outcome.output[-3000:]}"
    tally("mutants caught", 1)
    record_property(
        "mutant", f"{outcome.seconds:>8.1f}s  {mutant.file}: {mutant.name} ← {outcome.by}"
    )


def test_without_a_mutant_these_tests_are_green(tests: str, tmp_path: Path) -> None:
    """So it is the mutant that turns them red, on a copy of the source that is really used."""
    outcome = run_tests((tests,), tmp_path)
    assert outcome.code == 0, outcome.output[-3000:]
