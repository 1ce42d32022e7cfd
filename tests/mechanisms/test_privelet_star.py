"""Privelet*: thresholds solve the paper's equation, and shrinking helps where it should."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hushtable as ht
from hushtable.evaluation.entropy import SeededEntropy
from hushtable.mechanisms.privelet_star import estimated_error, shrinkage, threshold
from hushtable.query.shrunken import UNIT, Bands
from hushtable.schema import Hierarchy, IntegerRange, Schema, nominal, ordinal
from hushtable.transforms import Haar, Identity, Nominal, Product
from hushtable.transforms.bands import bands_of


def left_after(sizes: np.ndarray, theta: float) -> float:
    """Σ η_s(c, θ)²."""
    return float(np.square(np.maximum(sizes - theta, 0)).sum())


def bisected(sizes: np.ndarray, wanted: float) -> float:
    """The θ of Equation 11, by brute force: what is left falls as θ grows."""
    low, high = 0.0, float(sizes.max())
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if left_after(sizes, middle) > wanted else (low, middle)
    return high


@settings(deadline=None, max_examples=300)
@given(
    st.lists(st.floats(0, 1e6) | st.integers(0, 20).map(float), min_size=2, max_size=40),
    st.floats(1e-3, 1e4),
)
def test_the_threshold_solves_equation_11(sizes: list[float], noise: float) -> None:
    found = np.array(sizes)
    wanted = float(np.square(found).sum()) - (len(found) - 1) * noise
    theta = threshold(found, noise)
    if wanted <= 0:
        assert theta == found.max()  # all of it may be noise
    else:
        tolerance = 1e-7 * max(float(np.square(found).sum()), 1)
        assert left_after(found, theta) == pytest.approx(wanted, abs=tolerance)
        assert left_after(found, bisected(found, wanted)) == pytest.approx(wanted, abs=tolerance)


def test_a_subband_of_one_stays_as_it_is() -> None:
    assert threshold(np.array([3.0]), 100.0) == 0.0


def test_haar_bands_are_the_levels_of_figure_2() -> None:
    bands = bands_of(Haar(8), pooled=False)
    assert sorted(np.bincount(bands).tolist()) == [1, 1, 2, 4]
    rows = np.abs(Haar(8).matrix()).sum(axis=1)
    for band in range(4):
        assert len(set(rows[bands == band].tolist())) == 1  # of one level: as many codes each


def test_nominal_bands_are_depths() -> None:
    jobs = nominal("job", Hierarchy.from_tree({"A": ["a", "b"], "B": ["c", "d", "e"], "f": []}))
    bands = bands_of(Nominal.of(jobs), pooled=False)
    assert np.bincount(bands).tolist() == [1, 3, 5]


def test_every_coefficient_is_in_one_subband_of_its_submatrix() -> None:
    bands = Bands.of(Product((Identity(3), Haar(8))))
    assert bands.shape == (3, 4)
    coefficients = np.arange(24).reshape(3, 8)
    thresholds, errors = shrinkage(coefficients, bands, Fraction(1))
    assert thresholds.shape == errors.shape == (3, 4)
    assert (errors > 0).all() and (thresholds >= 0).all()


def test_noise_alone_is_shrunk_away() -> None:
    noise = 2.0 * 25
    sizes = np.abs(np.random.default_rng(1).laplace(0, 5, 4096))
    theta = threshold(sizes, noise)
    assert left_after(sizes, theta) < 0.1 * np.square(sizes).sum()
    assert estimated_error(sizes, theta, noise) < 0.2 * noise
    large = sizes + 1000
    assert threshold(large, noise) < 1
    assert estimated_error(large, threshold(large, noise), noise) == pytest.approx(noise, rel=0.1)


SCHEMA = Schema("t", Fraction(100), (ordinal("x", IntegerRange(0, 1023)),))


def publish(folder: Path, name: str, mechanism: str, seed: int) -> ht.Release:
    """A table with two busy places in a wide range."""
    values = np.repeat([100, 101, 700], [4000, 3000, 5000])
    return ht.publish(
        pa.table({"x": values}),
        SCHEMA,
        epsilon="0.5",
        out=folder / name,
        mechanism=mechanism,
        settings={} if mechanism == "privelet" else {"identity": ""},
        ledger=folder / "ledger",
        entropy=SeededEntropy(seed),
    )


def test_shrinking_reduces_the_error_on_sparse_data(tmp_path: Path) -> None:
    truth = np.zeros(1024)
    truth[[100, 101, 700]] = 4000, 3000, 5000
    star, plain = [], []
    for seed in range(3):
        star.append(publish(tmp_path, f"s{seed}", "privelet*", seed).cells())
        plain.append(publish(tmp_path, f"p{seed}", "privelet", seed).cells())
    star_error, plain_error = (np.square(np.array(m) - truth).mean() for m in (star, plain))
    assert star_error < 0.6 * plain_error


def test_its_answers_say_that_their_error_is_an_estimate(tmp_path: Path) -> None:
    release = publish(tmp_path, "s", "privelet*", 1)
    answer = release.count("x BETWEEN 90 AND 110")
    assert "estimate" in answer.note and not answer.law.exact
    low, high = answer.interval(0.9999)
    assert low < 7000 < high and math.isfinite(answer.stderr)


def test_answers_are_sums_of_the_shrunken_cells(tmp_path: Path) -> None:
    release = publish(tmp_path, "s", "privelet*", 1)
    cells = release.cells()
    for where, picked in (
        ("x BETWEEN 90 AND 110", cells[90:111]),
        ("x < 5 OR x > 1000 OR x = 100", np.r_[cells[:5], cells[1001:], cells[100:101]]),
    ):
        assert release.count(where).value == pytest.approx(picked.sum(), abs=1e-6)
    table = release.table("x", where="x < 20")
    assert table.values == pytest.approx(cells[:20], abs=1e-6)
    codes = (np.arange(20),)
    assert table.stderr == pytest.approx(release.cell_stderrs(codes), rel=1e-9)
    assert UNIT * release.cells().sum() == pytest.approx(UNIT * release.count().value)
