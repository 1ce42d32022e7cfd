"""Forecasts from public figures alone: sizes and errors as simulated releases have them."""

from __future__ import annotations

import math
import subprocess
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from sparse_laws import seeded

from hushtable.families.sparse.expected import (
    expected_empty,
    expected_of,
    filter_for_size,
    threshold_for_size,
)
from hushtable.kernel.maps.rules import Filter, Held, Priority, Rule, Threshold
from hushtable.kernel.maps.structure import Structure
from hushtable.kernel.maps.thresholds import first_threshold
from hushtable.kernel.noise.sparse_draws import summarise

SCALE, PLACES, OCCUPIED, COUNT = Fraction(5), 20_000, 1000, 40
RULES: dict[str, Rule] = {
    "geometric": Filter(1),
    "filter": Filter(15),
    "one-sided": Filter(15, two_sided=False),
    "threshold": Threshold(200),
    "priority": Priority(800),
    "filter-threshold": Threshold(60, 15),
    "filter-priority": Priority(600, 15),
}


def table() -> Held:
    return Held(np.arange(0, PLACES, PLACES // OCCUPIED), np.full(OCCUPIED, COUNT), PLACES)


@pytest.mark.parametrize("rule", RULES)
def test_sizes_and_errors_are_those_of_releases(rule: str) -> None:
    chosen, structure = RULES[rule], Structure("cells", (PLACES,))
    told = expected_of(structure, chosen, SCALE, occupied=OCCUPIED, count=COUNT, cells=2000)
    sizes, empty, ranges, points = [], [], [], []
    for seed in range(60):
        kept = summarise(table(), chosen, SCALE, seeded(seed))
        weights = np.sign(kept.values) * np.maximum(np.abs(kept.values), kept.tau)
        sizes.append(len(kept.places))
        empty.append(np.mean(kept.places % (PLACES // OCCUPIED) != 0))
        for start in range(0, PLACES, 2000):
            inside = (kept.places >= start) & (kept.places < start + 2000)
            ranges.append(weights[inside].sum() - 100 * COUNT)
        found = np.zeros(OCCUPIED)
        full = kept.places % (PLACES // OCCUPIED) == 0
        found[kept.places[full] // (PLACES // OCCUPIED)] = kept.values[full]
        points.append(np.mean((found - COUNT) ** 2))
    assert np.mean(sizes) == pytest.approx(told.size, rel=0.02)
    assert np.mean(empty) == pytest.approx(told.noise_share, abs=0.01)
    rms = math.sqrt(np.mean(np.square(ranges)))
    assert rms == pytest.approx(told.range, rel=0.25) == pytest.approx(told.subset, rel=0.25)
    assert math.sqrt(np.mean(points)) == pytest.approx(told.point, rel=0.05)


@pytest.mark.parametrize("places", [10**3, 10**6, 10**12, 10**18])
@pytest.mark.parametrize("size", [10, 10_000])
def test_parameters_for_a_size(places: int, size: int) -> None:
    for sided in (False, True):
        theta = filter_for_size(places, SCALE, size, two_sided=sided)
        assert expected_empty(places, Filter(theta, sided), SCALE) <= size
        if theta > 1:
            assert expected_empty(places, Filter(theta - 1, sided), SCALE) > size
            # The closed form: θ = ⌈ln((1+α)t/m)/ln α⌉, two-sided with t/2.
            alpha = math.exp(-1 / float(SCALE))
            wanted = size / 2 if sided else size
            assert theta == math.ceil(math.log((1 + alpha) * wanted / places) / math.log(alpha))
    for total in (0.0, 1e6):
        tau = threshold_for_size(places, SCALE, 3, size, total)
        assert expected_empty(places, Threshold(tau, 3), SCALE) + total / tau <= size
        if tau > 1:
            fewer = expected_empty(places, Threshold(tau - 1, 3), SCALE) + total / (tau - 1)
            assert fewer >= size


def test_the_first_threshold_gives_more_candidates_than_asked_for() -> None:
    for places, size in ((10**6, 1000), (10**12, 10**6), (10**18, 100)):
        tau = first_threshold(places, SCALE, 1, size)
        expected = expected_empty(places, Threshold(tau), SCALE)
        assert size + 6 * math.isqrt(size) + 30 <= expected < 1.5 * size + 200
    assert first_threshold(50, SCALE, 1, 1000) == 1
    assert first_threshold(10**6, SCALE, 400, 1000) == 400


@pytest.mark.parametrize("on", ["dyadic", "haar"])
def test_large_ranges_are_better_from_nodes(on: Any) -> None:
    """From about one percent of the space on, as the paper has it; points are worse."""
    figures: dict[str, Any] = {"occupied": 10_000, "count": 100, "cells": 30_000}
    cells, nodes = (
        expected_of(
            Structure(kind, (10**6,)), Filter(20 * levels), Fraction(10 * levels), **figures
        )
        for kind, levels in (("cells", 1), (on, 21))
    )
    assert nodes.range < cells.range and nodes.point > cells.point


def test_forecasts_need_neither_data_nor_noise() -> None:
    code = (
        "import sys, hushtable.families.sparse.forecast as f; "
        "banned = ('hushtable.kernel.noise', 'hushtable.kernel.counting',"
        " 'hushtable.kernel.curator', 'numba',"
        " 'duckdb', 'ibis', 'pyarrow', 'cryptography'); "
        "assert not [m for m in sys.modules if m.startswith(banned)]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
