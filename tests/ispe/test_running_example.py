"""The paper's running example, step by step: Figures 2 and 4, Equations 1–4, B, and θ̂."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from hushtable.families.regions.adjacency import Adjacency
from hushtable.families.regions.ask.growing import grown_regions
from hushtable.families.regions.posterior import Estimator, Portion
from hushtable.families.regions.read import RegionReader
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.query.box import Box, CodeSet
from hushtable.schema import IntegerRange, Labels, Schema, ordinal

SCHEMA = Schema(
    "people",
    Fraction(1),
    attributes=(
        ordinal("age", IntegerRange(2, 4)),
        ordinal("income", Labels(("0~10K", "10K~20K", ">20K"))),
    ),
)
# Equation 1
X = np.array([10, 21, 37, 20, 0, 0, 53, 0, 0])
# The values of section 4.2: y5, y6, y8, y9 and y13
Y = {5: -15.4486, 6: 41.0775, 8: -2.9380, 9: 50.6616, 13: -5.2668}
ALPHA = Fraction(5, 100)
SCALE = 1 / ALPHA


def partition() -> np.ndarray:
    """Regions of the cells themselves: 10, 21 and 20 are alike, and so are the empty ones."""
    return grown_regions(X.reshape(3, 3), Adjacency.of(SCHEMA, 1.0), 12)


def test_equation_3() -> None:
    labels = partition().reshape(-1)
    matrix = (labels == np.arange(labels.max() + 1)[:, None]).astype(int)
    assert matrix.tolist() == [
        [1, 1, 0, 1, 0, 0, 0, 0, 0],
        [0, 0, 1, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 1, 1, 0, 1, 1],
        [0, 0, 0, 0, 0, 0, 1, 0, 0],  # x7, as the count 53 says, not x6
    ]
    assert sorted((matrix @ X).tolist()) == [0, 37, 51, 53]


def test_equation_4_the_whole_strategy() -> None:
    labels = partition().reshape(-1)
    regions = (labels == np.arange(4)[:, None]).astype(int)
    strategy = np.vstack([np.eye(9, dtype=int), regions])
    assert (strategy @ X).tolist() == [*X.tolist(), 51, 37, 0, 53]
    # one person is in one cell and in one region: α₁ + (α − α₁)
    assert (np.abs(strategy).sum(axis=0) == 2).all()


def noisy() -> tuple[np.ndarray, np.ndarray]:
    cells = X.astype(float).copy()
    cells[[4, 5, 7, 8]] = Y[5], Y[6], Y[8], Y[9]
    return cells, np.array([51.0, 37.0, Y[13], 53.0])


def reader() -> RegionReader:
    cells, counts = noisy()
    return RegionReader(
        Adjacency.of(SCHEMA, 1.0),
        lambda: cells.reshape(3, 3),
        partition,
        lambda: counts,
        Estimator(DiscreteLaplace(SCALE), DiscreteLaplace(SCALE)),
    )


QUERY = Box((CodeSet.single(1), CodeSet.of((1, 3))))  # x5 + x6


def test_the_observations_of_the_query() -> None:
    """θ̃ = By with B's rows y5 + y6 and −y8 − y9 + y13."""
    _, portions, _ = reader().portions((QUERY,), (), 1)
    portion = portions.portion(0)
    assert (portion.cells, portion.siblings) == (2, 2)
    assert portion.seen == pytest.approx(Y[5] + Y[6])
    assert portion.seen + portion.apart == pytest.approx(Y[13] - Y[8] - Y[9])


def test_the_posterior_mean() -> None:
    """−5.82 by exact densities; the paper simulated its own, and says −5.9707."""
    value, law = reader().count((QUERY,))
    assert value == pytest.approx(-5.82, abs=0.01)
    assert value == pytest.approx(-5.9707, abs=0.2)
    low, high = (value - law.margins(0.95)[0], value + law.margins(0.95)[1])  # type: ignore[attr-defined]
    assert low < -40 and high > 30


def test_the_first_observation_alone_gives_the_first_curve() -> None:
    """Pr₁ of Figure 6: without the region's count, the sum of the cells and twice their noise."""
    far = Estimator(DiscreteLaplace(SCALE), DiscreteLaplace(Fraction(10**6)))
    hill = far.posterior(Portion(2, 2, Y[5] + Y[6], 0.0))
    assert hill.mean == pytest.approx(Y[5] + Y[6], abs=0.1)
    assert hill.cumulants[1] == pytest.approx(4 * 20**2, rel=0.01)


def test_a_query_across_regions_is_the_sum_of_its_parts() -> None:
    row = Box((CodeSet.single(1), CodeSet.full(3)))  # x4 + x5 + x6
    only = Box((CodeSet.single(1), CodeSet.single(0)))
    found = reader()
    plain = found.reading(reference=False)
    total, law = found.count((row,))
    first, one = plain.count((only,))
    second, two = plain.count((QUERY,))
    assert total == pytest.approx(first + second)
    assert law.variance == pytest.approx(one.variance + two.variance)
