"""Means, shares, quantiles and spreads: exact without noise; intervals hold all they must."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hushtable.errors import QueryError
from hushtable.families.linear.read.cells import NoisyCells
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.query.aggregate import (
    Aggregate,
    Arithmetic,
    Count,
    Mean,
    Number,
    Overall,
    Quantile,
    Spread,
    Sum,
)
from hushtable.query.answer import Answer, Source
from hushtable.query.law import NoiseSum
from hushtable.query.sql import parse_where
from hushtable.query.statistics import statistic
from hushtable.query.statistics.linear import one_side
from hushtable.query.statistics.quantile import isotonic
from hushtable.schema import Schema

SCHEMA = Schema.from_dict(
    {
        "name": "t",
        "budget": "9",
        "attribute": [
            {"name": "age", "kind": "ordinal", "range": [10, 17]},
            {"name": "pay", "kind": "ordinal", "edges": [0, 1, 5, 20], "outside": "other"},
            {"name": "sex", "kind": "nominal", "values": ["F", "M"]},
        ],
    }
)
SHAPE = SCHEMA.shape
AGE, PAY, SEX = range(3)
SEX_F = 0
EVERY = parse_where("", SCHEMA)
WOMEN = parse_where("sex = 'F'", SCHEMA)
NOISE = DiscreteLaplace(Fraction(3))
NONE = DiscreteLaplace(Fraction(1, 1000))
CONFIDENCE = 0.9


def reader(counts: NDArray[Any], noise: DiscreteLaplace = NOISE) -> NoisyCells:
    return NoisyCells(lambda *cut: counts[cut], noise)


def asked(counts: NDArray[Any], aggregate: Aggregate, where: str = "", **given: Any) -> Answer:
    return statistic(reader(counts, **given), SCHEMA, aggregate, parse_where(where, SCHEMA))


def rows_of(counts: NDArray[Any], axis: int, where: str = "") -> NDArray[np.float64]:
    """The values of the rows of a table, one by one; of bins, their middles."""
    boxes = parse_where(where, SCHEMA)
    values = {AGE: np.arange(10.0, 18.0), PAY: np.array([0.5, 3.0, 12.5, np.nan])}[axis]
    found = []
    for cell in np.ndindex(*SHAPE):
        inside = any(all(c in s for c, s in zip(cell, b.sets, strict=True)) for b in boxes)
        if inside and not math.isnan(values[cell[axis]]):
            found += [values[cell[axis]]] * int(counts[cell])
    return np.array(found)


def table(seed: int, most: int = 9) -> NDArray[np.int64]:
    return np.random.default_rng(seed).integers(0, most, SHAPE)


# ── without noise, they are what they are called ─────────────────────────────────────────────────

WHERE = ("", "sex = 'F'", "age BETWEEN 12 AND 15", "pay < 5 OR sex = 'M'")


@pytest.mark.parametrize("where", WHERE)
def test_statistics_of_exact_counts_are_those_of_the_rows(where: str) -> None:
    counts = table(1)
    for axis in (AGE, PAY):
        rows = rows_of(counts, axis, where)
        expected = {
            Sum(axis): rows.sum(),
            Mean(axis): rows.mean(),
            Spread(axis, sample=False): rows.var(),
            Spread(axis, root=True): rows.std(ddof=1),
        }
        for aggregate, value in expected.items():
            found = asked(counts, aggregate, where, noise=NONE)
            assert found.value == pytest.approx(value)
            low, high = found.interval(CONFIDENCE)
            assert low - 1e-3 <= value <= high + 1e-3
            if axis == AGE:  # no bins: hardly any width
                assert high - low < 0.02 * abs(value)
    for share in (0.1, 0.5, 0.9):
        rows = rows_of(counts, AGE, where)
        found = asked(counts, Quantile(AGE, share), where, noise=NONE)
        low, high = found.interval(CONFIDENCE)
        assert low <= np.quantile(rows, share) <= high <= low + 1
        assert found.value in (
            np.floor(np.quantile(rows, share)),
            np.ceil(np.quantile(rows, share)),
        )


def test_bins_are_inside_the_interval() -> None:
    counts = table(2)
    known = counts[:, :3].sum(axis=(0, 2))
    low, high = asked(counts, Mean(PAY), noise=NONE).interval(CONFIDENCE)
    assert (low, high) == pytest.approx(
        ((known @ [0, 1, 5]) / known.sum(), (known @ [1, 5, 20]) / known.sum()), rel=1e-2
    )
    low, high = asked(counts, Sum(PAY), noise=NONE).interval(CONFIDENCE)
    least, most = known @ [0, 1, 5], known @ [1, 5, 20]
    assert least - 0.01 < low < least < most < high < most + 0.01  # rounding is inside
    assert asked(counts, Quantile(PAY, 0.5), noise=NONE).interval(CONFIDENCE) in [(1, 5), (5, 20)]


def test_arithmetic_is_what_it_says() -> None:
    counts = table(3)
    women, everyone = counts[..., 0].sum(), counts.sum()
    of_women = Count(WOMEN)
    percent = Arithmetic("/", Arithmetic("*", Number(100), of_women), Count())
    assert asked(counts, percent).value == pytest.approx(100 * women / everyone)
    for sign, expected in {
        "+": women + everyone,
        "-": women - everyone,
        "*": women * everyone,
        "/": women / everyone,
    }.items():
        found = asked(counts, Arithmetic(sign, of_women, Count()))  # type: ignore[arg-type]
        assert found.value == pytest.approx(expected)
    over_all = Arithmetic("/", Count(), Overall(Count()))
    found = statistic(reader(counts), SCHEMA, over_all, WOMEN, EVERY)
    assert found.value == pytest.approx(women / everyone)
    with pytest.raises(QueryError, match="divides by zero"):
        asked(counts, Arithmetic("/", Count(), Number(0)))


def test_labels_have_no_mean() -> None:
    with pytest.raises(QueryError, match="sex has no numbers"):
        asked(table(1), Mean(SEX))


# ── intervals ────────────────────────────────────────────────────────────────────────────────────


def reach(weights: NDArray[np.float64], miss: float) -> float:
    """How far the noise of a weighted sum of cells goes, by its terms one by one."""
    terms: dict[tuple[float, DiscreteLaplace], int] = {}
    for weight in np.abs(weights).reshape(-1).tolist():
        if weight:
            terms[weight, NOISE] = terms.get((weight, NOISE), 0) + 1
    return NoiseSum.weighted(terms).reach(miss)


AGES = np.broadcast_to(np.arange(10.0, 18.0)[:, None, None], SHAPE)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([5, 40, 400]))
def test_an_interval_of_a_mean_has_all_that_noise_allows_and_hardly_more(
    seed: int, most: int
) -> None:
    """A tenth narrower, and values that noise allows would be outside."""
    counts = table(seed, most)
    low, high = asked(counts, Mean(AGE)).interval(CONFIDENCE)

    def allowed(mean: float) -> bool:
        weights = AGES - mean
        return abs(float((weights * counts).sum())) <= reach(weights, 0.9 * (1 - CONFIDENCE))

    if counts.sum() <= reach(np.ones(SHAPE), 0.1 * (1 - CONFIDENCE)):
        assert (low, high) == (10, 17)
        return
    middle, half = (low + high) / 2, (high - low) / 2
    for place in (-0.97, -0.5, 0.5, 0.97):
        assert allowed(middle + place * half)
    for place, bound in ((-1.03, 10), (1.03, 17)):
        beyond = middle + place * half
        assert not allowed(beyond) or (beyond - bound) * place > 0


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([5, 40]))
def test_a_share_has_all_that_noise_allows_and_hardly_more(seed: int, most: int) -> None:
    counts = table(seed, most)
    low, high = asked(counts, Arithmetic("/", Count(WOMEN), Count())).interval(CONFIDENCE)
    is_woman = np.zeros(SHAPE)
    is_woman[..., 0] = 1

    def allowed(share: float) -> bool:
        weights = is_woman - share
        return abs(float((weights * counts).sum())) <= reach(weights, 0.9 * (1 - CONFIDENCE))

    if counts.sum() <= reach(np.ones(SHAPE), 0.1 * (1 - CONFIDENCE)):
        assert (low, high) == (0, 1)
        return
    assert 0 <= low <= high <= 1
    middle, half = (low + high) / 2, (high - low) / 2
    assert all(allowed(middle + place * half) for place in (-0.97, 0.0, 0.97))
    for place, bound in ((-1.03, 0), (1.03, 1)):
        beyond = middle + place * half
        assert not allowed(beyond) or (beyond - bound) * place > 0


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([3, 40]), st.sampled_from([0.1, 0.5, 0.75]))
def test_a_quantile_has_every_value_that_neither_test_refutes(
    seed: int, most: int, share: float
) -> None:
    counts = table(seed, most)
    low, high = asked(counts, Quantile(AGE, share)).interval(CONFIDENCE)
    possible = []
    for place, value in enumerate(range(10, 18)):
        up_to = (value >= AGES) - share
        before = (value > AGES) - share
        few = (up_to * counts).sum() + reach(up_to, 1 - CONFIDENCE) < -share
        many = (before * counts).sum() - reach(before, 1 - CONFIDENCE) > 1 - share
        if not few and not (place and many):
            possible.append(value)
    if possible:
        assert (low, high) == (min(possible), max(possible))


def test_quantiles_of_long_axes_are_found_in_steps_that_lose_little() -> None:
    schema = Schema.from_dict(
        {
            "name": "t",
            "budget": "9",
            "attribute": [{"name": "x", "kind": "ordinal", "range": [0, 999]}],
        }
    )
    counts = np.random.default_rng(5).poisson(30, 1000)
    boxes = parse_where("", schema)
    for share in (0.05, 0.5, 0.99):
        found = statistic(reader(counts), schema, Quantile(0, share), boxes)
        low, high = found.interval(CONFIDENCE)
        sums = np.cumsum(counts)
        weights = (np.arange(1000) < share * 1000) - share
        rows = reach(weights, 1 - CONFIDENCE) / 30
        truth = np.searchsorted(sums, share * sums[-1])
        assert low <= truth <= high
        assert 0.8 * rows < truth - low < 1.6 * rows + 3
        assert 0.8 * rows < high - truth < 1.6 * rows + 3
    # Where one value holds nearly all rows, it is the answer.
    heavy = np.full(1000, 1)
    heavy[400] = 10**5
    found = statistic(reader(heavy), schema, Quantile(0, 0.5), boxes)
    assert (found.value, *found.interval(CONFIDENCE)) == (400, 400, 400)


def test_nothing_is_known_of_a_mean_of_nobody() -> None:
    nobody = np.zeros(SHAPE, np.int64)
    found = asked(nobody, Mean(AGE))
    assert math.isnan(found.value)
    assert found.interval(CONFIDENCE) == (10, 17)
    assert found.to_dict()["value"] is None and found.to_dict()["stderr"] is None
    assert asked(nobody, Arithmetic("/", Sum(AGE), Count(WOMEN))).interval() == (
        -math.inf,
        math.inf,
    )
    low, high = asked(nobody, Spread(AGE, root=True)).interval(CONFIDENCE)
    assert low == 0 and high >= 3.5


def coin(counts: list[int], noise: Fraction, confidence: float) -> tuple[float, float]:
    """The interval of the share of ones."""
    schema = Schema.from_dict(
        {
            "name": "t",
            "budget": "9",
            "attribute": [{"name": "x", "kind": "ordinal", "range": [0, 1]}],
        }
    )
    read = reader(np.array(counts), DiscreteLaplace(noise))
    found = statistic(read, schema, Mean(0), parse_where("", schema))
    return found.interval(confidence)


def test_what_noise_allows_is_inside_though_what_is_nearer_is_not() -> None:
    """S − r·C is a sum of few whole noises: for r = 1/3 it reaches further than for r = 0.36."""
    low, high = coin([3, 4], Fraction(21, 8), 0.5)
    assert low <= 1 / 3 <= high


def test_a_ratio_is_possible_though_the_noisy_one_is_not() -> None:
    """The interval of −2/40 has no end that is beyond the other."""
    assert coin([42, -2], Fraction(1, 2), 0.5) == (0, 0)
    assert coin([-2, 42], Fraction(1, 2), 0.5) == (1, 1)


def test_an_interval_around_no_middle_is_shown_as_far_as_it_goes() -> None:
    """From 1 to 5, the value is 1.6: ± 2 would leave much of the upper half out."""
    for aggregate in (Quantile(PAY, 0.3), Mean(PAY), Sum(PAY), Spread(PAY, root=True)):
        found = asked(table(4, 90), aggregate)
        low, high = found.interval()
        half = found.law.half_width(0.95)
        assert found.value - half <= low <= high <= found.value + half
        assert half == max(found.value - low, high - found.value)
    shown = asked(np.zeros(SHAPE, np.int64), Mean(AGE))
    assert str(shown) == "? ± ∞ (95 %)"


def test_a_deviation_of_one_value_is_none() -> None:
    few = table(1, 2)
    assert asked(few, Spread(AGE), "age = 12").interval() == (0, 0)


def test_sums_that_rise_are_left_alone_and_others_averaged() -> None:
    assert isotonic(np.array([1.0, 2.0, 5.0])).tolist() == [1, 2, 5]
    assert isotonic(np.array([3.0, 1.0, 2.0, 9.0, 7.0])).tolist() == [2, 2, 2, 8, 8]


def test_a_quantile_between_two_rows_is_inside() -> None:
    counts = np.zeros(SHAPE, np.int64)
    counts[0, 0, 0] = counts[7, 0, 0] = 1
    for share in (0.4, 0.6):
        low, high = asked(counts, Quantile(AGE, share), noise=NONE).interval()
        assert low <= np.quantile([10, 17], share) <= high


def test_a_quantile_of_a_long_axis_has_what_two_stages_allow() -> None:
    schema = Schema.from_dict(
        {
            "name": "t",
            "budget": "9",
            "attribute": [{"name": "x", "kind": "ordinal", "range": [0, 149]}],
        }
    )
    counts = np.random.default_rng(5).poisson(3, 150)
    places = np.arange(150)
    found = statistic(reader(counts), schema, Quantile(0, 0.5), parse_where("", schema))
    low, high = found.interval(CONFIDENCE)
    tests = [(places <= place) - 0.5 for place in places]
    sums = np.array([(weights * counts).sum() for weights in tests])
    reaches = np.array([reach(weights, (1 - CONFIDENCE) / 2) for weights in tests])
    enough = sums + reaches >= -0.5
    not_too_many = sums - reaches <= 0.5
    assert low <= places[enough].min() and high >= places[not_too_many].max()


def test_a_spread_is_that_about_any_mean_that_may_be() -> None:
    counts = table(2, 12)
    low, high = asked(counts, Spread(AGE, sample=False)).interval(CONFIDENCE)
    each = 1 - (1 - CONFIDENCE) / 2
    for mean in np.linspace(*asked(counts, Mean(AGE)).interval(each), 23).tolist():
        for spread in (0.9 * low, 0.99 * low, 1.01 * high, 1.1 * high):
            weights = (AGES - mean) ** 2 - spread
            assert abs((weights * counts).sum()) > reach(weights, 0.9 * (1 - each))


def test_less_of_bins_is_between_their_ends_too() -> None:
    low, high = asked(table(2), Sum(PAY)).interval()
    less = asked(table(2), Arithmetic("*", Number(-1), Sum(PAY)))
    assert less.interval() == pytest.approx((-high, -low))


def test_what_is_made_of_two_answers_has_all_that_they_allow() -> None:
    counts = table(2, 400)
    one, other = (asked(counts, Mean(AGE), f"sex = '{sex}'") for sex in "FM")
    for made in (one + other, one * other, one - other, one / other):
        assert one.source is not other.source and made.source is None
    level = 1 - (1 - CONFIDENCE) / 2
    (a, b), (c, d) = one.interval(level), other.interval(level)
    assert (one + other).interval(CONFIDENCE) == pytest.approx((a + c, b + d))
    assert (one - other).interval(CONFIDENCE) == pytest.approx((a - d, b - c))
    assert (one * other).interval(CONFIDENCE) == pytest.approx((a * c, b * d))
    assert (one / other).interval(CONFIDENCE) == pytest.approx((a / d, b / c))


# ── skewed errors ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class TooFew:
    """An error by which a count may be too small, and not too large."""

    most: float
    variance: float = 1.0
    estimate: bool = False

    def margins(self, confidence: float) -> tuple[float, float]:
        return 0.0, self.most / (1 - confidence)

    def half_width(self, confidence: float) -> float:
        return self.margins(confidence)[1]


@dataclass(frozen=True)
class WomenMissing:
    """A reader that counts 500 women and 500 men, and may have missed women."""

    def count(self, boxes: Any) -> tuple[float, TooFew]:
        women = [SEX_F in box.sets[SEX] for box in boxes]
        men = [1 in box.sets[SEX] for box in boxes]
        return 500.0 * (any(women) + any(men)), TooFew(5.0 if any(women) else 0.0)

    def group(self, boxes: Any, cuts: Any) -> Any:
        raise AssertionError


def test_each_side_of_a_skewed_error_has_half_of_the_chance() -> None:
    assert one_side(TooFew(5.0), 0.9) == pytest.approx((0, 100))
    symmetric = NoiseSum.of(NOISE, 3)
    assert one_side(symmetric, 0.9) == (symmetric.half_width(0.9),) * 2


def test_a_ratio_of_skewed_errors_goes_further_where_they_do() -> None:
    found = statistic(WomenMissing(), SCHEMA, Arithmetic("/", Count(WOMEN), Count()), EVERY)
    low, high = found.interval(CONFIDENCE)
    assert found.value == 0.5
    assert 0.499 < low <= 0.5 and high > 0.52


# ── answers of two draws of noise ────────────────────────────────────────────────────────────────


def drawn(*draw: str) -> Answer:
    """A count of one cell, by a release of its own."""
    counts = table(1)
    one_cell = parse_where("age = 12 AND pay < 1 AND sex = 'F'", SCHEMA)
    value, law = reader(counts).count(one_cell)
    return Answer(
        value, law, source=Source(reader(counts), one_cell, frozenset([draw]) if draw else None)
    )


def test_only_other_draws_have_other_noise() -> None:
    """A release that is opened twice has the same noise twice: it does not average out."""
    one = drawn("a")
    alike = 2 * one.law.half_width(CONFIDENCE)
    for other in (drawn("a"), drawn()):
        for both in (one + other, other + one, one - other):
            low, high = both.interval(CONFIDENCE)
            assert high - both.value >= alike and both.value - low >= alike
    other = drawn("b")
    both = one + other
    assert isinstance(both.law, NoiseSum) and both.law.half_width(CONFIDENCE) < alike
    assert both.law.variance == pytest.approx(one.law.variance + other.law.variance)


# ── readers whose counts do not add up ───────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class Within:
    """An error of at most so much."""

    most: float
    estimate = False

    @property
    def variance(self) -> float:
        return self.most**2

    def half_width(self, confidence: float) -> float:
        return self.most


@dataclass(frozen=True, eq=False)
class Hiding:
    """Counts of one age to the row, and of several ages half as many again, as a filter may do."""

    exact: NoisyCells

    def count(self, boxes: Any) -> tuple[float, Within]:
        true = self.exact.count(boxes)[0]
        ages = max(box.sets[AGE].count for box in boxes)
        return (true, Within(1.0)) if ages == 1 else (1.5 * true, Within(0.5 * true))

    def group(self, boxes: Any, cuts: Any) -> Any:
        raise NotImplementedError


@pytest.mark.parametrize("seed", range(3))
def test_a_mean_is_of_counts_that_are_the_same_above_and_below(seed: int) -> None:
    """Every count is within its law; a mean of those by age over that of all would be a third off,
    and its interval would not know."""
    counts = table(seed, 90)
    found = statistic(Hiding(reader(counts, NONE)), SCHEMA, Mean(AGE), EVERY)
    true = rows_of(counts, AGE).mean()
    assert found.value == pytest.approx(true)
    low, high = found.interval(CONFIDENCE)
    assert low <= true <= high
