"""Every mutant we know is caught, and the list of them fits the source."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from attack import Tally, extent
from mutants import EVERY, MUTANTS, ROOT, SOURCE, Mutant, chosen, run_tests

LEAST = 160


def test_every_mutant_is_one_change_of_the_source_as_it_is() -> None:
    assert len(MUTANTS) >= LEAST
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS)
    changes = set()
    for mutant in MUTANTS:
        source = (SOURCE / "hushtable" / mutant.file).read_text(encoding="utf-8")
        changed = mutant.applied(source)
        changes.add((mutant.file, changed))
        assert meaning(changed) != meaning(source), mutant.name
    assert len(changes) == len(MUTANTS)


def meaning(source: str) -> list[str]:
    """The source without its comments and layout."""
    lines = source.split("\n")
    starts = [
        min([statement, *getattr(statement, "decorator_list", [])], key=lambda part: part.lineno)
        for statement in ast.parse(source).body
    ]
    cuts = [0, *(start.lineno - 1 for start in starts[1:]), len(lines)]
    return [meaning_of_part("\n".join(lines[a:b])) for a, b in pairwise(cuts)]


@cache
def meaning_of_part(source: str) -> str:
    """Most parts of a file are the same in all of its mutants."""
    return ast.dump(ast.parse(source))


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
    """All of them with --trust, some with --check, a few of them always."""
    size = extent(metafunc.config)
    mutants = chosen(size)
    if "mutant" in metafunc.fixturenames:
        metafunc.parametrize("mutant", mutants, ids=[m.name.replace(" ", "-") for m in mutants])
    if "tests" in metafunc.fixturenames:
        # The rest of them are run by `make test`, on the source itself.
        named = {(test, mutant.quick) for mutant in mutants for test in mutant.tests}
        few = sorted({test for test, quick in named if quick or "tests/trust/" in test})
        metafunc.parametrize("tests", few[:1] if size == "small" else few)


def test_make_trust_tries_all_mutants_and_make_check_those_of_the_kernel_and_a_third() -> None:
    tried = {extent: set(chosen(extent)) for extent in ("small", "middle", "full")}
    assert tried["full"] == set(MUTANTS) and len(chosen("full")) == len(MUTANTS)
    assert tried["small"] < tried["middle"] < tried["full"]
    others = {mutant for mutant in MUTANTS if not mutant.file.startswith("kernel/")}
    assert len(others) < len(MUTANTS) * 2 / 3
    assert tried["full"] - others < tried["middle"]
    assert len(tried["middle"] & others) >= len(others) / EVERY
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for option in ("--trust", "--check"):
        assert f"$(BIN)/$(PYTEST) {option} tests/trust\n" in makefile
    assert "$(BIN)/$(PYTEST) -m thorough\n" in makefile


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
