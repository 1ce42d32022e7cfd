"""The coverage attack: it counts right, sees what is too short, and blames nobody by accident."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.shared_sizes import some_of
from understated import Understated

from hushtable.auditing import coverage, noise_law
from hushtable.auditing.audit import audit
from hushtable.auditing.coverage import (
    CONFIDENCE_LEVELS,
    VARIANTS,
    ConfidenceLevel,
    CoverageAttack,
    judged,
    log_chance,
    short,
)
from hushtable.auditing.coverage_cases import MIDDLING, SHAPES, Case, cases_of, middling, tables_of
from hushtable.auditing.schemas import built_in
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.families import find_mechanism
from hushtable.families.mechanism import Mechanism
from hushtable.kernel.noise.bulk import EntropyNoise
from hushtable.query.box import cells
from hushtable.query.statistics.ratio import RatioLaw

KINDS = {
    "the total",
    "cells",
    "values",
    "pairs",
    "nodes",
    "ranges",
    "unions",
    "complements",
    "groups",
}


STATISTICS = {"shares", "sums", "means", "medians", "deviations", "differences"}
STATISTICS |= {"shares by group", "means by group"}


def attack(
    mechanism: Mechanism, releases: int, *, epsilon: str = "1", statistics: int = 0
) -> CoverageAttack:
    entropy = SeededEntropy(7)
    return CoverageAttack(
        mechanism, Fraction(epsilon), releases, lambda: EntropyNoise(entropy), statistics
    )


def one_total() -> list[Case]:
    case = next(cases_of(built_in("range").schema, ["flat"]))
    return [replace(case, questions=case.questions[:1])]


# ── what is asked ────────────────────────────────────────────────────────────────────────────────


def test_all_kinds_of_questions_are_asked_of_tables_of_every_shape() -> None:
    cases = [case for name in MIDDLING for case in cases_of(middling(name), SHAPES)]
    kinds = {question.kind for case in cases for question in case.questions}
    assert kinds == KINDS | STATISTICS
    assert len(cases) == len(MIDDLING) * len(SHAPES)
    for case in cases:
        assert case.counts.shape == case.schema.shape and (case.counts >= 0).all()
        for question in case.questions:
            assert cells(question.query.boxes) > 0


def test_the_boxes_of_a_union_share_no_cell() -> None:
    for name in MIDDLING:
        shape = middling(name).shape
        for case in cases_of(middling(name), ["empty"]):
            for question in case.questions:
                held = np.zeros(shape, int)
                for box in question.query.boxes:
                    held[
                        np.ix_(
                            *(
                                [code in codes for code in range(n)]
                                for codes, n in zip(box.sets, shape, strict=True)
                            )
                        )
                    ] += 1
                assert held.max() == 1


def test_the_shapes_are_what_they_say() -> None:
    tables = tables_of((8, 6, 3))
    assert tables.keys() == set(SHAPES)
    assert tables["empty"].sum() == 0 and np.ptp(tables["flat"]) == 0
    assert np.count_nonzero(tables["peak"]) == 1
    board = tables["checkerboard"]
    assert np.ptp(board.sum(axis=(1, 2))) == 0  # no single attribute shows it
    chances = tables["clusters"] / tables["clusters"].sum()
    independent = np.einsum("i,j,k", *(chances.sum(axis=a) for a in ((1, 2), (0, 2), (0, 1))))
    assert abs(chances - independent).sum() > 0.2


# ── what it finds ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", some_of(["means", "shares"], ["means"]))
def test_intervals_of_statistics_that_are_too_short_are_seen(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = next(cases_of(middling("census"), ["clusters"]))
    asked = [question for question in case.questions if question.kind == kind]
    few = [replace(case, questions=tuple(asked))]
    attacked = attack(find_mechanism("basic"), 40, statistics=40)
    monkeypatch.setattr(coverage, "CONFIDENCE_LEVELS", (ConfidenceLevel(0.9),))
    assert not short(attacked.run(few, [{}]))
    ends = RatioLaw.ends
    monkeypatch.setattr(RatioLaw, "ends", lambda self, level: ends(self, level / 8))
    assert short(attacked.run(few, [{}]))


def test_the_truth_is_that_of_the_table() -> None:
    """With hardly any noise every interval is a point, and holds the truth."""
    case = next(cases_of(middling("census"), ["clusters"]))
    found = attack(find_mechanism("basic"), 1, epsilon="1000", statistics=1).run([case], [{}])
    assert all(one.promised == one.kept > 0 for one in found)
    assert {one.kind for one in found} == KINDS | STATISTICS
    wrong = replace(case, counts=case.counts + 1)
    moved = attack(Understated(find_mechanism("basic"), Fraction(1)), 1, epsilon="1000")
    content = moved._measured(wrong, {})
    assert content.arrays["cells"].sum() == case.counts.sum() + case.counts.size


@pytest.mark.parametrize(
    "name", some_of(["basic", "privelet", "hierarchical", "filter"], ["basic", "filter"])
)
def test_noise_that_is_understated_is_a_violation(name: str) -> None:
    case = next(cases_of(middling("census"), ["clusters"]))
    settings = {"theta": "1"} if name == "filter" else {}
    honest = attack(find_mechanism(name), 25).run([case], [settings])
    assert not short(honest), short(honest)
    halved = attack(Understated(find_mechanism(name), Fraction(1, 2)), 25).run([case], [settings])
    assert short(halved)
    assert any("intervals at" in problem for problem in short(halved))


def test_a_quarter_too_short_is_a_violation() -> None:
    """One total, many times; with noise so wide that whole numbers make no difference."""
    understated = attack(Understated(find_mechanism("basic"), Fraction(3, 4)), 900, epsilon="0.05")
    assert short(understated.run(one_total(), [{}]))


def test_one_question_that_always_misses_is_seen_among_many_that_hold() -> None:
    tried = [coverage._Tried(question(), ConfidenceLevel(0.95), "here") for _ in range(40)]
    for _ in range(60):
        for i, one in enumerate(tried):
            one.add(np.array([i != 3]), np.array([False]))
    (found,) = judged(tried)
    assert found.share == pytest.approx(39 / 40) and found.problem is not None
    assert "60 of 60 intervals at 95 % missed" in found.problem


def test_estimates_are_counted_and_never_blamed() -> None:
    one = coverage._Tried(question(), ConfidenceLevel(0.95), "here")
    for _ in range(100):
        one.add(np.array([False, True]), np.array([True, False]))
    (found,) = judged([one])
    assert (found.estimated, found.held, found.promised, found.kept) == (100, 0, 100, 100)
    assert found.problem is None


def test_simultaneous_intervals_count_as_one() -> None:
    one = coverage._Tried(question(), ConfidenceLevel(0.95, together=True), "here")
    one.add(np.array([True, False, True]), np.zeros(3, bool))
    assert (one.promised.tolist(), one.broken.tolist()) == ([1], [1])


def question() -> Any:
    return next(cases_of(middling("line"), ["empty"])).questions[0]


# ── false alarms ─────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("allowed", [0.1, 0.05, 0.001])
@pytest.mark.parametrize("releases", [5, 60, 2000])
def test_the_chance_is_never_below_that_of_the_binomial(allowed: float, releases: int) -> None:
    for misses in {1, 2, releases // 20 + 1, releases // 3, releases}:
        exact = stats.binom.logsf(misses - 1, releases, allowed)
        assert log_chance(misses / releases, allowed, releases) >= exact - 1e-9


def test_the_chance_is_that_of_hoeffding() -> None:
    assert log_chance(1.0, 0.05, 10) == pytest.approx(10 * math.log(0.05))
    assert log_chance(0.05, 0.05, 10) == log_chance(0.0, 0.05, 10) == 0
    divergence = 0.2 * math.log(4) + 0.8 * math.log(0.8 / 0.95)
    assert log_chance(0.2, 0.05, 50) == pytest.approx(-50 * divergence)


def test_questions_of_one_table_share_its_releases() -> None:
    """Ten questions of one release that miss together are one miss, not ten."""
    tried = [coverage._Tried(question(), ConfidenceLevel(0.9), "one table") for _ in range(10)]
    for one in tried:
        for miss in [True] * 4 + [False] * 6:
            one.add(np.array([not miss]), np.array([False]))
    assert coverage._average(tried) == (pytest.approx(0.4), 10)
    other = coverage._Tried(question(), ConfidenceLevel(0.9), "another")
    for _ in range(10):
        other.add(np.array([True]), np.array([False]))
    assert coverage._average([*tried, other]) == (pytest.approx(0.2), 20)


# ── as part of an audit ──────────────────────────────────────────────────────────────────────────


def test_every_variant_is_a_setting_that_its_mechanism_takes() -> None:
    for name, variants in VARIANTS.items():
        for settings in variants:
            takes = attack(find_mechanism(name), 1)._takes
            assert any(takes(middling(schema), settings) for schema in MIDDLING), (name, settings)


def test_an_audit_reports_coverage_and_blames_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise_law, "FAST_DRAWS", 1 << 14)
    options: dict[str, Any] = {"runs": 100, "entropy": SeededEntropy(3)}
    found = audit("basic", ["grid"], releases=2, **options)
    assert found.holds and {one.level for one in found.coverage} == set(CONFIDENCE_LEVELS)
    told = found.to_dict()["coverage"]
    assert {row["questions"] for row in told} >= {"the total", "cells", "nodes", "ranges"}
    assert "| cells | " in found.to_markdown()
    liar = audit(
        Understated(find_mechanism("basic"), Fraction(1, 3)), ["grid"], releases=8, **options
    )
    assert "coverage" in liar.caught_by and "intervals hold less often" in repr(liar)
    assert not audit("basic", ["range"], releases=0, **options).coverage
