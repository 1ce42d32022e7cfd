"""Where answers are weighted sums of known draws, intervals hold as often as they promise.

Every draw is moved by itself, which shows how far it moves each answer: its weight. Thousands of
draws of all the scales that noise was asked for are then added up by these weights. An interval a
tenth too short misses one promise in eight at 90 %, and is seen. Whether noise is drawn as it was
asked for is not looked at: audits do that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from understated import Understated

from hushtable.auditing.coverage import (
    CONFIDENCE_LEVELS,
    ConfidenceLevel,
    CoverageAttack,
    log_chance,
)
from hushtable.auditing.coverage_cases import Case, cases_of
from hushtable.auditing.schemas import built_in
from hushtable.families import MECHANISMS, find_mechanism
from hushtable.families.mechanism import Mechanism
from hushtable.query.result import ResultTable

Floats = NDArray[np.float64]

# Wide noise: of steps of whole numbers, an interval may end between two.
EPSILON = Fraction("0.02")
DRAWS = 20_000
STEP = 2**20
FALSE_ALARM = 1e-9

_KEPT = "what is kept follows from noise: tests/sparse"
# Mechanisms whose answers are no sums of their draws, why, and where their intervals are tested.
NO_SUMS = {
    "privelet*": "coefficients are shrunk: tests/mechanisms/test_privelet_star.py",
    "geometric": _KEPT,
    "filter": _KEPT,
    "threshold": _KEPT,
    "priority": _KEPT,
    "filter-threshold": _KEPT,
    "filter-priority": _KEPT,
    "sketch": "the median of several rows: tests/sparse/test_sparse_sketch.py",
    "privbayes": "tables are fitted to one another: tests/privbayes/test_network_error.py",
    "ispe": "a posterior mean: tests/ispe/test_promises.py",
    "kdtree": "a posterior mean: tests/ispe/test_promises.py",
    "privtree": "boxes follow from noise, and may be cut: tests/splits/test_split_answers.py",
}
SUMS = [name for name in MECHANISMS if name not in NO_SUMS]


class Steps:
    """Adds given steps in the place of noise, and notes the scale of every draw."""

    private = False

    def __init__(self, steps: NDArray[np.int64] | None = None) -> None:
        self._steps = steps
        self.scales: list[float] = []

    def add_laplace(self, values: NDArray[np.int64], scale: Fraction) -> Fraction:
        begin = len(self.scales)
        self.scales += [float(scale)] * values.size
        if self._steps is not None:
            values += self._steps[begin : len(self.scales)].reshape(values.shape)
        return Fraction(0)

    def exceeding(self, *_: Any) -> Any:
        raise AssertionError("a split has no weight in an answer: say in NO_SUMS where it is seen")

    def choose(self, *_: Any) -> Any:
        raise AssertionError("a choice has no weight in an answer: say in NO_SUMS where it is seen")

    def summarise(self, *_: Any) -> Any:
        raise AssertionError("a summary is no sum of draws: say in NO_SUMS where it is seen")


@dataclass(frozen=True)
class Answered:
    """All answers of a release, table by table, and the scales of its draws."""

    tables: list[ResultTable]
    scales: list[float]

    @property
    def values(self) -> Floats:
        return np.concatenate([table.values for table in self.tables]).astype(np.float64)


@dataclass(frozen=True)
class Asking:
    """Releases of one table by one mechanism, with steps in the place of noise."""

    mechanism: Mechanism
    case: Case
    folder: Path

    def answered(self, steps: NDArray[np.int64] | None = None) -> Answered:
        noise = Steps(steps)
        attack = CoverageAttack(self.mechanism, EPSILON, 1, lambda: noise)
        number = sum(1 for _ in self.folder.iterdir())
        release = attack._stored(
            self.folder / str(number), self.case, attack._measured(self.case, {})
        )
        questions = (question for question in self.case.questions if not question.slow)
        tables = [release.answer(question.query) for question in questions]
        return Answered(tables, noise.scales)

    def weights(self, plain: Answered) -> Floats:
        """How far each draw moves each answer: a row for each draw."""
        steps = np.eye(len(plain.scales), dtype=np.int64) * STEP
        return np.stack([(self.answered(one).values - plain.values) / STEP for one in steps])


def errors_of(weights: Floats, scales: list[float]) -> Floats:
    """The errors of all answers in many releases: a row for each release."""
    random = np.random.default_rng(5)
    lost = -np.expm1(-1 / np.array(scales))
    sides = [random.geometric(lost, (DRAWS, len(lost))) for _ in range(2)]
    return np.asarray((sides[0] - sides[1]) @ weights)


def misses(table: ResultTable, errors: Floats, level: ConfidenceLevel) -> Floats:
    """How often each promise of a table misses the truth, which is its value without noise."""
    asked = replace(table, confidence=level.confidence, simultaneous=level.together)
    low, high = asked.bounds
    rounding = 1e-9 * (np.abs(table.values) + high - low + 1)
    missed = (errors < table.values - high - rounding) | (errors > table.values - low + rounding)
    if level.together:
        return np.array([missed.any(axis=1).mean()] if not asked.estimates.any() else [])
    return np.asarray(missed.mean(axis=0)[~asked.estimates])


def shortfalls(answered: Answered, errors: Floats) -> list[str]:
    """The promises that miss more often than chance allows."""
    ends = np.cumsum([len(table.values) for table in answered.tables])[:-1]
    least = math.log(FALSE_ALARM / (len(CONFIDENCE_LEVELS) * errors.shape[1]))
    return [
        f"{level.words}: {share:.2%} missed"
        for table, mine in zip(answered.tables, np.split(errors, ends, axis=1), strict=True)
        for level in CONFIDENCE_LEVELS
        for share in misses(table, mine, level)
        if log_chance(share, 1 - level.confidence, DRAWS) < least
    ]


@pytest.mark.parametrize("name", SUMS)
def test_intervals_are_those_of_the_sum_of_the_draws(name: str, tmp_path: Path) -> None:
    mechanism = find_mechanism(name)
    (case,) = cases_of(built_in("grid").schema, ["clusters"])
    asking = Asking(mechanism, case, tmp_path)
    plain = asking.answered()
    truth = replace(asking, mechanism=find_mechanism("basic")).answered().values
    promised = np.concatenate([~table.estimates for table in plain.tables])
    assert promised.any() and np.allclose(plain.values[promised], truth[promised])
    weights = asking.weights(plain)
    check_weights(asking, plain, weights)
    errors = errors_of(weights, plain.scales)
    assert shortfalls(plain, errors) == []
    liar = replace(asking, mechanism=Understated(mechanism, Fraction(9, 10)))
    assert shortfalls(liar.answered(), errors)


def check_weights(asking: Asking, plain: Answered, weights: Floats) -> None:
    """Draws that move together move answers by their sum, and no interval's width; and no standard
    error is below that of the sum."""
    steps = np.random.default_rng(1).integers(-STEP, STEP, len(plain.scales))
    moved = asking.answered(steps)
    assert np.allclose(moved.values - plain.values, steps @ weights, atol=1e-3)
    decay = np.exp(-1 / np.array(plain.scales))
    variances = 2 * decay / (1 - decay) ** 2 @ weights**2
    said = np.concatenate([table.stderr for table in plain.tables])
    promised = np.concatenate([~table.estimates for table in plain.tables])
    assert (said[promised] ** 2 >= (1 - 1e-6) * variances[promised]).all()
    widths, others = (
        np.concatenate([np.subtract(*table.bounds) for table in one.tables])
        for one in (plain, moved)
    )
    assert np.allclose(widths[promised], others[promised])


def test_what_is_left_out_is_registered_and_tested_elsewhere() -> None:
    assert NO_SUMS.keys() <= MECHANISMS.keys()
    for told in NO_SUMS.values():
        assert Path(__file__).parents[2].joinpath(told.rpartition(": ")[2]).exists()
