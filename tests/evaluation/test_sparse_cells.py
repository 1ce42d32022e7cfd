"""Sparse counts: how many cells, where, and what they hold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hushtable.errors import OptionError
from hushtable.generators import sparse
from hushtable.kernel.counting import count_table


def test_the_defaults_are_a_tenth_of_a_million_cells() -> None:
    made = sparse()
    counts = made.counts()
    assert made.schema.shape == (10**6,) and len(counts.codes) == 10**5
    assert made.rows == counts.counts.sum()


def test_values_are_normal_and_positive() -> None:
    values = sparse(cells=10**6, mean=100, deviation=20).counts().counts
    assert abs(values.mean() - 100) < 6 * 20 / math.sqrt(len(values))
    assert 19.5 < values.std() < 20.5
    assert abs(stats.skew(values)) < 0.05
    low = sparse(cells=10**4, mean=1, deviation=5).counts().counts
    assert low.min() == 1 and low.max() > 10


def test_without_deviation_all_values_are_the_mean() -> None:
    assert set(sparse(cells=1000, mean=7, deviation=0).counts().counts.tolist()) == {7}


@settings(deadline=None, max_examples=60)
@given(
    cells=st.integers(1, 3000),
    density=st.floats(0.001, 1),
    dimensions=st.integers(1, 4),
    places=st.sampled_from(["uniform", "skewed"]),
    seed=st.integers(0, 2**32),
)
def test_so_many_different_cells_of_the_domain_are_occupied(
    cells: int, density: float, dimensions: int, places: str, seed: int
) -> None:
    made = sparse(cells=cells, density=density, dimensions=dimensions, places=places, seed=seed)
    counts, size = made.counts(), made.schema.cells
    assert made.schema.shape == (round(cells ** (1 / dimensions)),) * dimensions
    assert len(set(counts.codes.tolist())) == len(counts.codes) == max(1, round(density * size))
    assert counts.codes.min() >= 0 and counts.codes.max() < size


@settings(deadline=None, max_examples=60)
@given(rows=st.integers(1, 50_000), mean=st.floats(0.5, 200), deviation=st.floats(0, 60))
def test_rows_are_exactly_as_many_as_asked_for(rows: int, mean: float, deviation: float) -> None:
    made = sparse(rows, cells=10**6, mean=mean, deviation=deviation)
    counts = made.counts()
    assert made.rows == counts.counts.sum() == rows
    assert counts.counts.min() >= 1


@pytest.mark.parametrize("dimensions", [1, 2])
def test_uniform_places_are_uniform_and_skewed_ones_close_together(dimensions: int) -> None:
    def by_part(places: str) -> np.ndarray:
        made = sparse(cells=2**18, density=0.02, places=places, dimensions=dimensions)
        cells = np.zeros(made.schema.shape, int)
        cells.reshape(-1)[made.counts().codes] = 1
        if dimensions == 1:
            return cells.reshape(64, -1).sum(axis=1)
        side = len(cells) // 8
        return cells.reshape(8, side, 8, side).sum(axis=(1, 3)).ravel()

    even, skewed = by_part("uniform"), by_part("skewed")
    assert stats.chisquare(even).pvalue > 1e-6
    # Of 64 parts, six halvings at 80/20: 0.8^6 of all is in the fullest.
    assert skewed.max() / skewed.sum() == pytest.approx(0.8**6, rel=0.02)
    assert even.max() / even.sum() < 0.03


def test_the_values_do_not_know_their_places() -> None:
    uniform, skewed = (sparse(cells=5000, places=places) for places in ("uniform", "skewed"))
    assert uniform.counts().counts.tolist() == skewed.counts().counts.tolist()
    assert uniform.counts().codes.tolist() != skewed.counts().codes.tolist()


@pytest.mark.parametrize("places", ["uniform", "skewed"])
def test_memory_goes_with_the_occupied_cells(places: str) -> None:
    made = sparse(cells=10**12, density=1e-8, places=places, dimensions=2)
    assert made.schema.cells == 10**12 and len(made.counts().codes) == 10**4
    assert made.rows > 900_000


def test_rows_and_counts_say_the_same() -> None:
    made = sparse(cells=3000, density=0.1, dimensions=2, places="skewed")
    found = count_table(made.table(), made.schema)
    order = np.argsort(found.codes)
    assert found.codes[order].tolist() == made.counts().codes.tolist()
    assert found.counts[order].tolist() == made.counts().counts.tolist()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"rows": 10, "density": 0.5}, "one follows from the other"),
        ({"rows": 0}, "rows must be"),
        ({"rows": 10**6, "cells": 100}, "more than 100 cells"),
        ({"density": 0.0}, "density must be"),
        ({"density": float("nan")}, "density must be"),
        ({"cells": 0}, "cells must be"),
        ({"cells": 2**52}, "can be occupied"),
        ({"mean": 0.0}, "mean must be"),
        ({"deviation": -1.0}, "deviation 0 or more"),
        ({"places": "somewhere"}, "uniform or skewed"),
        ({"dimensions": 5}, "dimensions must be"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(OptionError, match=told):
        sparse(**options)
