"""What splits cost: over every small table, every tree, and every neighbour."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from split_cases import chances, log_ratios, tables
from tests.shared_sizes import some_of

from hushtable.auditing.transcript import SplitDraw
from hushtable.errors import OptionError
from hushtable.kernel.curator import Pace
from hushtable.kernel.curator.splitting import decay_above, grows_past
from hushtable.kernel.privacy.loss import Exposure

PACES = (
    Pace(Fraction(1), 1),
    Pace(Fraction(3, 2), 2),
    Pace(Fraction(5), 4),
    Pace(Fraction(1, 3), 1),
    Pace(Fraction(40), 30),
)
SMALL = [(shape, most) for shape, most in (((2,), 4), ((4,), 4), ((3,), 5), ((2, 2), 3), ((8,), 2))]


def with_a_row(table: np.ndarray) -> Iterator[np.ndarray]:
    for place in np.ndindex(table.shape):
        more = table.copy()
        more[place] += 1
        yield more


@pytest.mark.parametrize("pace", some_of(PACES, PACES[1:4]), ids=str)
@pytest.mark.parametrize(("shape", "most"), SMALL, ids=str)
@pytest.mark.parametrize(
    "theta", [0, *(pytest.param(theta, marks=pytest.mark.thorough) for theta in (-1, 2))]
)
def test_a_row_that_enters_costs_no_more_than_its_price(
    pace: Pace, shape: tuple[int, ...], most: int, theta: int
) -> None:
    price, least = float(pace.entering), -float(1 / pace.scale)
    for table in tables(shape, most):
        before = chances(table, pace, theta)
        assert abs(sum(before.values()) - 1) < 1e-25
        for more in with_a_row(table):
            low, high = log_ratios(before, chances(more, pace, theta))
            assert least - 1e-12 <= low <= high <= price + 1e-12


@pytest.mark.parametrize("pace", PACES[:3], ids=str)
@pytest.mark.parametrize(("shape", "most"), [((4,), 3), ((2, 2), 2), ((3,), 3)], ids=str)
def test_a_row_that_moves_costs_no_more_than_its_price(
    pace: Pace, shape: tuple[int, ...], most: int
) -> None:
    price = float(pace.moving)
    for rest in tables(shape, most):
        found = [chances(table, pace, 0) for table in with_a_row(rest)]
        for one, other in itertools.permutations(found, 2):
            low, high = log_ratios(one, other)
            assert -price - 1e-12 <= low <= high <= price + 1e-12


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_two_rows_of_a_person_cost_no_more_than_twice(neighbours: str) -> None:
    exposure = Exposure(neighbours, 2)  # type: ignore[arg-type]
    pace = Pace.of(Fraction(2), 2, exposure)
    assert pace.cost(exposure) <= 2
    for rest in tables((4,), 2):
        own = [rest + more for more in tables((4,), 2)]  # all that a person may add
        found = [chances(table, pace, 0) for table in own]
        pairs = itertools.combinations(found, 2)
        for one, other in pairs if neighbours == "replace-one" else ((found[0], o) for o in found):
            low, high = log_ratios(one, other)
            assert max(-low, high) <= 2 + 1e-12


@pytest.mark.parametrize("theta", [0, 3])
@pytest.mark.parametrize("pace", [Pace(Fraction(60), 60), Pace(Fraction(600), 416)], ids=str)
def test_the_price_is_nearly_met_by_a_row_that_enters(theta: int, pace: Pace) -> None:
    """A long path: a box at θ − δ, above it one at θ, and above it boxes at θ + δ, θ + 2δ, …"""
    depth = 30
    held = [theta + (depth - 2) * pace.step] * depth  # all rows are in one cell
    change = path_loss(held, [count + 1 for count in held], pace, theta)
    assert 0.98 * float(pace.entering) < change <= float(pace.entering)


def test_the_price_is_nearly_met_by_a_whole_small_table() -> None:
    pace = Pace(Fraction(2), 9)
    table = np.array([9, 0, 0, 0, 0, 0, 0, 0], np.int64)
    more = table + np.eye(8, dtype=np.int64)[0]
    _, high = log_ratios(chances(table, pace, 0), chances(more, pace, 0))
    assert 0.98 * float(pace.entering) < high <= float(pace.entering)


def path_loss(before: list[int], after: list[int], pace: Pace, theta: int) -> float:
    """ln of how much likelier it is that all boxes of a path are split."""
    return math.fsum(
        _log_split(count, depth, pace, theta) - _log_split(other, depth, pace, theta)
        for depth, (count, other) in enumerate(zip(after, before, strict=True))
    )


def _log_split(count: int, depth: int, pace: Pace, theta: int) -> float:
    above = max(count - depth * pace.step, theta - pace.step) - theta
    q = math.exp(-1 / pace.scale)
    chance = q ** (1 - above) / (1 + q) if above <= 0 else 1 - q**above / (1 + q)
    return math.log(chance)


@pytest.mark.parametrize("epsilon", ["0.001", "0.1", "1", "3", "50", "1000"])
@pytest.mark.parametrize("fanout", [2, 4, 16])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("max_rows", [1, 3])
def test_a_pace_spends_epsilon_and_never_more(
    epsilon: str, fanout: int, neighbours: str, max_rows: int
) -> None:
    exposure, amount = Exposure(neighbours, max_rows), Fraction(epsilon)  # type: ignore[arg-type]
    pace = Pace.of(amount, fanout, exposure)
    assert pace.cost(exposure) <= amount
    assert pace.step / pace.scale >= math.log(fanout)
    assert pace.cost(exposure) >= amount * Fraction(2, 3)
    with pytest.raises(OptionError):
        Pace(pace.scale * Fraction(2, 3), pace.step).check(amount, fanout, exposure)


@pytest.mark.parametrize("pace", PACES, ids=str)
def test_the_price_is_at_most_that_of_the_paper(pace: Pace) -> None:
    decay = math.exp(-pace.step / pace.scale)
    paper = (2 - decay) / (1 - decay) / float(pace.scale)
    assert 0.8 * paper < float(pace.entering) < paper * (1 + 1e-12)
    assert pace.moving - pace.entering == 1 / pace.scale


@pytest.mark.parametrize("exponent", ["1/1000", "0.1", "1", "2.5", "30", "333"])
def test_decay_is_rounded_upwards(exponent: str) -> None:
    from decimal import Decimal, localcontext

    number = Fraction(exponent)
    with localcontext() as context:
        context.prec = 60
        exact = Fraction((-Decimal(number.numerator) / Decimal(number.denominator)).exp())
    assert exact <= decay_above(number) < 1
    if number < 10:
        assert decay_above(number) - exact < Fraction(1, 10**15)


def test_a_step_too_short_for_the_fanout_is_refused() -> None:
    assert grows_past(Fraction(7, 10), 2) and not grows_past(Fraction(69, 100), 2)
    with pytest.raises(OptionError):
        Pace(Fraction(100), 69).check(Fraction(1), 2, Exposure("add-remove"))


def test_a_transcript_tells_what_its_decisions_lose() -> None:
    pace, table = Pace(Fraction(3), 3), np.array([4, 0, 1, 0], np.int64)
    more = table + np.eye(4, dtype=np.int64)[0]
    before, after = (chances(counts, pace, 0) for counts in (table, more))
    whole, left, right = ((0, 4),), ((0, 2),), ((2, 4),)
    tree = frozenset({whole, left})
    held = {whole: (5, 6), left: (4, 5), right: (1, 1)}
    biased = [
        [
            max(-pace.step, held[box][i] - depth * pace.step)
            for box, depth in ((whole, 0), (left, 1), (right, 1))
        ]
        for i in (0, 1)
    ]
    decided = np.array([box in tree for box in held])
    draw = SplitDraw(np.array(biased[1]), 0, pace.scale, decided)
    lost = float(draw.log_ratio(np.array(biased[0])))
    assert lost == pytest.approx(float((after[tree] / before[tree]).ln()), abs=1e-14)
