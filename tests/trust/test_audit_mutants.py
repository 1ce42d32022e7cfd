"""`hush audit` sees the mutants that break a mechanism's privacy; what it cannot see is listed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from attack import Tally, extent
from audited import COVERAGE, EXACT, LAW, RUNS, SEEN, UNSEEN, Expected, run_audit
from mutants import EVERY, MUTANTS
from mutants.paying import PAYING, SCALES

KNOWN = {mutant.name: mutant for mutant in MUTANTS}


def test_the_lists_fit_the_mutants_and_know_all_that_are_about_paying() -> None:
    assert not SEEN.keys() & UNSEEN.keys()
    assert SEEN.keys() | UNSEEN.keys() <= KNOWN.keys()
    assert len(SEEN) >= 55
    for mutant in (*SCALES, *PAYING):
        assert mutant.name in SEEN.keys() | UNSEEN.keys(), mutant.name


def test_all_attacks_are_needed() -> None:
    """Each sees mutants that the others do not."""
    shown = {expected.by for expected in SEEN.values()}
    assert {(EXACT,), (RUNS,), (LAW,), (COVERAGE,), (EXACT, RUNS), (RUNS, LAW)} <= shown


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """All of them with --trust, every third with --check, one of them always."""
    every = {"full": 1, "middle": EVERY, "small": len(SEEN) + 1}[extent(metafunc.config)]
    full = every == 1
    if "seen" in metafunc.fixturenames:
        names = [
            name
            for place, (name, expected) in enumerate(SEEN.items(), start=1)
            if expected.quick or place % every == 0
        ]
        ids = [name.replace(" ", "-") for name in names]
        metafunc.parametrize("seen", names, ids=ids)
    if "question" in metafunc.fixturenames:
        # Sound mechanisms pass in tests/evaluation/test_audit.py, too.
        metafunc.parametrize("question", sorted({e.question for e in SEEN.values() if full}))


def test_the_audit_sees_the_mutant(
    seen: str, tmp_path: Path, tally: Tally, record_property: Callable[[str, Any], None]
) -> None:
    expected: Expected = SEEN[seen]
    audited = run_audit(expected.question, tmp_path, KNOWN[seen], seeded=expected.seeded)
    assert audited.code == 1, audited.errors
    assert set(expected.by) <= set(audited.caught_by), audited.found
    tally("mutants seen by an audit", 1)
    record_property("mutant", f"   audit  {seen} ← {' and '.join(audited.caught_by)}")


def test_without_a_mutant_the_same_audit_passes(question: str, tmp_path: Path) -> None:
    """So it is the mutant that is seen."""
    audited = run_audit(question, tmp_path)
    assert audited.code == 0, audited.found or audited.errors
