"""Intervals of regions that noise has chosen hold as often as they say, in every table."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from hushtable.families.regions.adjacency import Adjacency
from hushtable.families.regions.ask.growing import grown_regions
from hushtable.families.regions.ask.ispe import IspeParameters, smoothed
from hushtable.families.regions.ask.kdtree import kd_boxes, numbered
from hushtable.families.regions.crossing import RegionLayout
from hushtable.families.regions.posterior import Estimator
from hushtable.families.regions.promise import CUT, Promise, PromisedLaw, SeenQuestions
from hushtable.families.regions.read import RegionReader
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.query.box import Box, CodeSet
from hushtable.query.law import NoiseSum, margins_of
from hushtable.schema import IntegerRange, Schema, ordinal

RAMP = 100 + 3 * np.arange(32)
RANDOM = np.random.default_rng(1).integers(0, 40, 32)


def discrete_laplace(random: np.random.Generator, scale: Fraction, size: int) -> np.ndarray:
    chance = -math.expm1(-float(1 / scale))
    return random.geometric(chance, size) - random.geometric(chance, size)


def read_of(
    truth: np.ndarray, random: np.random.Generator, scales: tuple[int, int], mechanism: str
) -> RegionReader:
    """A release of a line of cells, without the folder."""
    schema = Schema("line", Fraction(9), (ordinal("x", IntegerRange(0, len(truth) - 1)),))
    cell, region = (Fraction(scale) for scale in scales)
    noisy = truth + discrete_laplace(random, cell, len(truth))
    near = Adjacency.in_order(schema.shape)
    if mechanism == "ispe":
        chosen = IspeParameters.of(schema, {}, DiscreteLaplace(cell))
        regions = grown_regions(smoothed(noisy, near, chosen), near, chosen.xi)
    else:
        boxes = kd_boxes(noisy, 4 * DiscreteLaplace(cell).variance)
        regions = numbered(boxes, truth.shape)
    number = int(regions.max()) + 1
    counts = np.bincount(regions, truth, number).astype(np.int64)
    counts += discrete_laplace(random, region, number)
    reads = (lambda: noisy), (lambda: regions), (lambda: counts)
    return RegionReader(near, *reads, Estimator(DiscreteLaplace(cell), DiscreteLaplace(region)))


RELEASES = 500


def covered(
    truth: np.ndarray, scales: tuple[int, int], mechanism: str, asked: tuple[int, int]
) -> dict[str, int]:
    """How many releases hold the truth within their interval of 95 %, by kind of interval."""
    random, held = np.random.default_rng(7), {"promised": 0, "posterior": 0}
    box, true = Box((CodeSet.of(asked),)), truth[slice(*asked)].sum()
    for _ in range(RELEASES):
        reader = read_of(truth, random, scales, mechanism)
        for kind in held:
            value, law = reader.reading(intervals=kind).count((box,))
            below, above = margins_of(law, 0.95)
            held[kind] += bool(value - below <= true <= value + above)
    return held


WORST = [
    (RAMP, (4, 4), "ispe", (0, 16)),
    pytest.param(RANDOM, (4, 4), "kdtree", (5, 6), marks=pytest.mark.thorough),
    pytest.param(RAMP, (20, 20), "kdtree", (0, 20), marks=pytest.mark.thorough),
]


@pytest.mark.parametrize(("truth", "scales", "mechanism", "asked"), WORST)
def test_intervals_hold_where_the_posterior_s_do_not(
    truth: np.ndarray, scales: tuple[int, int], mechanism: str, asked: tuple[int, int]
) -> None:
    """Tables whose noise decides about regions, or in which adjacent cells are not equal."""
    held = covered(truth, scales, mechanism, asked)
    assert stats.binom.cdf(held["promised"], RELEASES, 0.95) > 0.01  # the seed is fixed
    assert held["posterior"] < 0.93 * RELEASES


@pytest.fixture
def promise() -> Promise:
    """Six cells in regions of three, two and one."""
    noisy, regions = np.array([9, 11, 10, 52, 47, 80]), np.array([0, 0, 0, 1, 1, 2])
    layout = RegionLayout(noisy, regions, np.array([33, 95, 77]))
    return Promise(Estimator(DiscreteLaplace(Fraction(3)), DiscreteLaplace(Fraction(2))), layout)


def seen(cells: int, noisy: float, regions: int = CUT, counted: float = 0.0) -> SeenQuestions:
    return SeenQuestions(
        np.array([cells]), np.array([noisy]), np.array([regions]), np.array([counted])
    )


def half(scale: int, number: int, miss: float) -> float:
    return NoiseSum.of(DiscreteLaplace(Fraction(scale)), number).half_width(1 - miss)


def test_a_question_that_cuts_a_region_has_the_noise_of_its_cells(promise: Promise) -> None:
    asked = seen(2, 20.0)
    low, high = promise.ends(asked, 0.9)
    assert (low[0], high[0]) == (20 - half(3, 2, 0.075), 20 + half(3, 2, 0.075))
    assert promise.variances(asked)[0] == NoiseSum.of(DiscreteLaplace(Fraction(3)), 2).variance


def test_whole_regions_have_the_noise_of_their_counts_too(promise: Promise) -> None:
    asked = seen(3, 30.0, 1, 33.0)
    low, high = promise.ends(asked, 0.9)
    assert low[0] == max(30 - half(3, 3, 0.075), 33 - half(2, 1, 0.025))
    assert high[0] == min(30 + half(3, 3, 0.075), 33 + half(2, 1, 0.025))
    assert promise.variances(asked)[0] == DiscreteLaplace(Fraction(2)).variance


def test_most_of_the_cells_are_all_regions_less_the_others(promise: Promise) -> None:
    asked = seen(5, 198.0)
    by_cells, by_regions = half(3, 5, 0.05), half(2, 3, 0.025) + half(3, 1, 0.025)
    low, high = promise.ends(asked, 0.9)
    rest = 205.0 - 11.0
    assert (low[0], high[0]) == (
        max(198 - by_cells, rest - by_regions),
        min(198 + by_cells, rest + by_regions),
    )


def test_what_contradicts_itself_is_answered_by_the_cells(promise: Promise) -> None:
    low, high = promise.ends(seen(3, 30.0, 1, 5000.0), 0.9)
    assert (low[0], high[0]) == (30 - half(3, 3, 0.075), 30 + half(3, 3, 0.075))


def test_no_count_is_negative(promise: Promise) -> None:
    bounded = Promise(
        Estimator(DiscreteLaplace(Fraction(3)), DiscreteLaplace(Fraction(2)), "non-negative"),
        promise.layout,
    )
    for noisy in (-300.0, 2.0):
        low, high = bounded.ends(seen(2, noisy), 0.95)
        assert low[0] == 0 <= high[0]


@pytest.mark.parametrize("confidence", [0.5, 0.95, 1 - 1e-9])
def test_an_interval_reaches_its_ends_in_spite_of_rounding(
    promise: Promise, confidence: float
) -> None:
    asked = seen(2, 20.0)
    low, high = promise.ends(asked, confidence)
    for value in np.random.default_rng(1).uniform(low[0] - 3, high[0] + 3, 500).tolist():
        law = PromisedLaw(value, promise, asked)
        below, above = law.margins(confidence)
        assert value - below <= low[0] and high[0] <= value + above
        assert below >= 0 and above >= 0 and law.half_width(confidence) == max(below, above)


def test_the_highest_confidence_there_is_has_an_interval(promise: Promise) -> None:
    """The parts of a chance of 2^-53 are no confidences that a float can hold."""
    for asked in (1, 5, len(promise.layout.cells) - 1):
        cells = np.array([asked])
        seen = SeenQuestions(cells, np.array([7.0]), np.array([CUT]), np.array([0.0]))
        low, high = promise.ends(seen, 1 - 2**-53)
        wide = promise.ends(seen, 0.95)
        assert low[0] < wide[0][0] and wide[1][0] < high[0] < math.inf
