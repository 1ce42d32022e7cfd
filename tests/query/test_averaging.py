"""Averages of independent answers: the shares, the law of their noise, and what is an estimate."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from tests.shared_sizes import some_of

from hushtable.errors import QueryError
from hushtable.families.linear.read.cells import NoisyCells
from hushtable.families.linear.read.coefficients import NoisyCoefficients
from hushtable.families.linear.read.transforms import ProductReading
from hushtable.families.marginals.read import MarginalsReader
from hushtable.families.marginals.tables import parse_tables
from hushtable.kernel.maps import Haar, Identity, Product
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.query.aggregate import Aggregate, Arithmetic, Count, Mean, Quantile, Spread, Sum
from hushtable.query.answer import Answer, Source
from hushtable.query.averaging import CombinedReader
from hushtable.query.law import NoiseSum
from hushtable.query.reader import Answering
from hushtable.query.sql import parse_where
from hushtable.query.statistics import statistic
from hushtable.query.weighing import counted, summed
from hushtable.schema import Schema

SCHEMA = Schema.from_dict(
    {
        "name": "t",
        "budget": "9",
        "attribute": [
            {"name": "age", "kind": "ordinal", "range": [0, 7]},
            {
                "name": "job",
                "kind": "nominal",
                "tree": {"office": ["x", "y"], "field": ["z", "w"]},
            },
        ],
    }
)
SHAPE = SCHEMA.shape
EVERY = parse_where("", SCHEMA)
TRUE = np.random.default_rng(3).integers(5, 60, SHAPE)
NARROW, WIDE = DiscreteLaplace(Fraction(2)), DiscreteLaplace(Fraction(5))
WHERE = ("", "age < 3", "job = 'x' OR age = 7", "age BETWEEN 2 AND 5 AND job <> 'w'")

Arrays = list[NDArray[np.int64]]


def cells_of(array: NDArray[Any], noise: DiscreteLaplace) -> NoisyCells:
    return NoisyCells(lambda *cut: array[cut], noise)


def coefficients_of(array: NDArray[Any], noise: DiscreteLaplace) -> NoisyCoefficients:
    product = Product((Haar(8), Identity(4)))
    return NoisyCoefficients(
        ProductReading.of(product), lambda *cut: array[cut], noise, "coefficients"
    )


def tables_of(arrays: Sequence[NDArray[Any]], noises: Sequence[DiscreteLaplace]) -> MarginalsReader:
    """Tables of two levels, which are read as two layers."""
    tables = parse_tables("age+job@1, job", SCHEMA)
    reads = [lambda found=found: found for found in arrays]
    reader = MarginalsReader.of(SCHEMA, tables, noises, reads, {})
    assert len(reader.layers) == 2
    return reader


def noiseless(times: int = 1) -> Arrays:
    """What cells, coefficients, and two tables hold of so many times the rows, without noise."""
    counts = TRUE * times
    haar = Product((Haar(8), Identity(4)))
    groups = counts.reshape(8, 2, 2).sum(axis=2)
    return [counts, haar.forward(counts.copy()), groups, counts.sum(axis=0)]


NOISES = (NARROW, WIDE, WIDE, NARROW)


def layers(arrays: Arrays) -> Answering:
    return tables_of(arrays[2:], NOISES[2:])


def two(arrays: Arrays) -> Answering:
    readers = (cells_of(arrays[0], NOISES[0]), coefficients_of(arrays[1], NOISES[1]))
    return CombinedReader(readers, True)


def three(arrays: Arrays) -> Answering:
    return CombinedReader((cells_of(arrays[0], NOISES[0]), layers(arrays)), True)


READERS = {"layers": layers, "two": two, "three": three}


def pmf(noise: DiscreteLaplace, reach: int) -> NDArray[np.float64]:
    """The law on −reach … reach, term by term."""
    alpha = math.exp(-noise.rate)
    return (1 - alpha) / (1 + alpha) * alpha ** np.abs(np.arange(-reach, reach + 1.0))


# ── values and laws ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("where", WHERE)
def test_an_average_weighs_by_the_inverse_variances(where: str) -> None:
    random = np.random.default_rng(8)
    arrays = [array + random.integers(-9, 9, array.shape) for array in noiseless()]
    one, other = cells_of(arrays[0], WIDE), coefficients_of(arrays[1], NARROW)
    both, boxes = CombinedReader((one, other), True), parse_where(where, SCHEMA)
    summing = summed(boxes, 0, np.arange(8.0))
    asked: list[Callable[[Any], tuple[float, Any]]] = [
        lambda reader: reader.count(boxes),
        lambda reader: reader.weigh(summing),
        lambda reader: reader.weigh(counted(boxes, -2.5)),
    ]
    for ask in asked:
        (a, first), (b, second), (value, law) = ask(one), ask(other), ask(both)
        va, vb = first.variance, second.variance
        assert value == pytest.approx((a / va + b / vb) / (1 / va + 1 / vb))
        assert law.variance == pytest.approx(1 / (1 / va + 1 / vb))
        assert law.variance < min(va, vb) and not law.estimate
        shares = vb / (va + vb), va / (va + vb)
        terms = {
            (share * weight, noise): count
            for share, each in zip(shares, (first, second), strict=True)
            for weight, noise, count in each.terms
        }
        assert law.half_width(0.9) == pytest.approx(NoiseSum.weighted(terms).half_width(0.9))
        assert both.weighed_law(summing).variance == both.weigh(summing)[1].variance


def test_groups_are_averaged_row_by_row() -> None:
    for make in READERS.values():
        reader = make(noiseless())
        cuts = [(0, np.array([[0, 1], [1, 4], [4, 8]])), (1, np.array([[0, 2], [2, 4]]))]
        found = reader.group(EVERY, cuts)
        assert len(found.values) == 6
        for row, where in enumerate(
            f"{age} AND {job}"
            for age in ("age = 0", "age BETWEEN 1 AND 3", "age > 3")
            for job in ("job IN ('x', 'y')", "job IN ('z', 'w')")
        ):
            value, law = reader.count(parse_where(where, SCHEMA))
            assert found.values[row] == pytest.approx(value)
            assert found.laws[found.law_of_row[row]].variance == pytest.approx(law.variance)


def test_a_combined_interval_holds_exactly_as_often_as_it_says() -> None:
    """One cell of two releases: the law of p·N + q·M, term by term; a tenth less is too short."""
    reader = CombinedReader((cells_of(TRUE, NARROW), cells_of(TRUE, WIDE)), True)
    _, law = reader.count(parse_where("age = 2 AND job = 'x'", SCHEMA))
    va, vb = NARROW.variance, WIDE.variance
    p, q = vb / (va + vb), va / (va + vb)
    reach = 300
    chances = np.multiply.outer(pmf(NARROW, reach), pmf(WIDE, reach))
    numbers = np.arange(-reach, reach + 1.0)
    errors = np.abs(p * numbers[:, None] + q * numbers)
    for confidence in (0.5, 0.8, 0.9, 0.95, 0.99):
        half = law.half_width(confidence)
        assert chances[errors <= half].sum() >= confidence
        assert chances[errors <= 0.9 * half].sum() < confidence


def test_a_difference_over_time_holds_exactly_as_often_as_it_says() -> None:
    """Two releases of two tables: N − M, term by term; a tenth less is too short."""
    where = parse_where("age = 2 AND job = 'x'", SCHEMA)
    answers = [
        Answer(*reader.count(where), "", Source(reader, where, frozenset([(month,)])))
        for month, reader in (("3", cells_of(TRUE, NARROW)), ("4", cells_of(TRUE + 3, WIDE)))
    ]
    change = answers[1] - answers[0]
    assert change.value == 3 and change.law.variance == NARROW.variance + WIDE.variance
    law = np.convolve(pmf(NARROW, 400), pmf(WIDE, 400))
    errors = np.abs(np.arange(len(law)) - len(law) // 2)
    for confidence in (0.5, 0.8, 0.9, 0.95, 0.99):
        half = change.law.half_width(confidence)
        assert law[errors <= half].sum() >= confidence
        assert law[errors <= 0.9 * half].sum() < confidence


# ── what is not linear ───────────────────────────────────────────────────────────────────────────

RATIOS: dict[str, Aggregate] = {
    "mean": Mean(0),
    "share": Arithmetic("/", Count(parse_where("age > 4", SCHEMA)), Count()),
}


@pytest.mark.parametrize("ratio", RATIOS)
@pytest.mark.parametrize("reader", some_of(READERS, ["layers", "three"]))
def test_the_error_of_a_ratio_is_that_of_its_own_noise(reader: str, ratio: str) -> None:
    """Each noise by itself moves the ratio by so much; all together, as the law says."""
    make, where = READERS[reader], parse_where("job IN ('x', 'y')", SCHEMA)

    def answer(arrays: Arrays) -> Answer:
        return statistic(make(arrays), SCHEMA, RATIOS[ratio], where)

    total, step, many = 0.0, 1000, 10**6
    for number, array in enumerate(noiseless()):
        variances = np.full(array.shape, NOISES[number].variance)
        if number == 1:  # coefficients have scales of their own
            factors = [c.factor for c in Haar(8).classes for _ in range(c.start, c.stop)]
            each = np.array([NOISES[1].times(factor).variance for factor in factors])
            variances = np.repeat(each[:, None], 4, axis=1)
        for place in np.ndindex(*array.shape):
            more, less = noiseless(many), noiseless(many)
            more[number][place] += step
            less[number][place] -= step
            slope = (answer(more).value - answer(less).value) / (2 * step)
            total += slope**2 * variances[place]
    assert answer(noiseless(many)).law.variance / total == pytest.approx(1, rel=1e-5)


ASKED: dict[str, tuple[Aggregate, float]] = {
    "count": (Count(), float(TRUE.sum())),
    "sum": (Sum(0), float((TRUE.sum(axis=1) * np.arange(8)).sum())),
    "mean": (Mean(0), float(np.repeat(np.arange(8), TRUE.sum(axis=1)).mean())),
    "median": (Quantile(0, 0.5), float(np.median(np.repeat(np.arange(8), TRUE.sum(axis=1))))),
    "spread": (Spread(0, sample=False), float(np.repeat(np.arange(8), TRUE.sum(axis=1)).var())),
}


# The interval of a spread takes a hundred times as long as that of a count.
TABLES = [
    *((name, 60) for name in ASKED if name != "spread"),
    pytest.param("spread", 20, marks=pytest.mark.thorough),
    *(pytest.param(name, 200, marks=pytest.mark.thorough) for name in ASKED),
]


@pytest.mark.parametrize(("name", "runs"), TABLES)
def test_statistics_of_several_releases_hold_as_often_as_they_say(name: str, runs: int) -> None:
    """Seeded, and fewer would hold with a chance below 1e-9 in so many tables."""
    aggregate, truth = ASKED[name]
    random, held = np.random.default_rng(17), 0
    for _ in range(runs):
        arrays = []
        for array, noise in zip(noiseless(), NOISES, strict=True):
            draws = random.geometric(1 - math.exp(-noise.rate), (2, *array.shape))
            arrays.append(array + draws[0] - draws[1])
        answer = statistic(three(arrays), SCHEMA, aggregate, EVERY)
        low, high = answer.interval(0.8)
        assert not answer.estimate
        held += low - 1e-9 <= truth <= high + 1e-9
    assert held >= stats.binom.ppf(1e-9, runs, 0.8)


# ── what is an estimate ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("aggregate", [Count(), Sum(0), Mean(0), Quantile(0, 0.5), Spread(0)])
def test_releases_that_may_differ_give_estimates_alone(aggregate: Aggregate) -> None:
    readers = (cells_of(TRUE, NARROW), cells_of(TRUE, WIDE))
    for alike in (True, False):
        reader = CombinedReader(readers, alike)
        assert reader.estimate is not alike
        assert statistic(reader, SCHEMA, aggregate, EVERY).estimate is not alike
        assert reader.group(EVERY, [(1, np.array([[0, 2]]))]).laws[0].estimate is not alike


class Skewed:
    """A reader whose errors are more than noise."""

    estimate = False

    def margins(self, confidence: float) -> tuple[float, float]:
        return 3.0, 4.0

    variance = 4.0

    def half_width(self, confidence: float) -> float:
        return 4.0

    def count(self, boxes: Any) -> tuple[float, Any]:
        return 10.0, self


def test_errors_that_are_more_than_noise_add_up_as_squares_and_are_estimates() -> None:
    value, law = CombinedReader((Skewed(), Skewed()), True).count(EVERY)  # type: ignore[arg-type]
    assert value == 10.0 and law.estimate and law.variance == pytest.approx(2.0)
    assert law.margins(0.9) == pytest.approx((3 / math.sqrt(2), 4 / math.sqrt(2)))  # type: ignore[attr-defined]


# ── which readers answer ─────────────────────────────────────────────────────────────────────────


def test_a_question_is_answered_by_those_who_can() -> None:
    ages = MarginalsReader.of(
        SCHEMA, parse_tables("age", SCHEMA), [NARROW], [lambda: TRUE.sum(1)], {}
    )
    jobs = MarginalsReader.of(
        SCHEMA, parse_tables("job", SCHEMA), [WIDE], [lambda: TRUE.sum(0)], {}
    )
    both = CombinedReader((ages, jobs), True)
    for where, alone in (("age = 3", ages), ("job = 'x'", jobs)):
        boxes = parse_where(where, SCHEMA)
        value, law = both.count(boxes)
        assert (value, law.variance) == pytest.approx(
            (alone.count(boxes)[0], alone.law(boxes).variance)
        )
    together = parse_where("age = 3 AND job = 'x'", SCHEMA)
    with pytest.raises(QueryError, match="no table of this release tells age and job together"):
        both.count(together)
    value, law = both.estimating().count(together)
    assert law.estimate and value > 0
    assert not both.estimating().count(parse_where("age = 3", SCHEMA))[1].estimate
