"""Privelet*: thresholds solve the paper's equation, and errors are stated honestly."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hushtable as ht
from hushtable.errors import OptionError
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.families.linear.ask import privelet_star as module
from hushtable.families.linear.ask.privelet_star import shrinkage, thresholds_of
from hushtable.families.linear.bands import UNIT, Bands, bands_of, runs_of
from hushtable.families.linear.read.coefficients import NoisyCoefficients
from hushtable.families.linear.read.shrunken import ShrunkenCoefficients
from hushtable.families.linear.read.transforms import ProductReading
from hushtable.kernel.maps import Haar, Identity, Nominal, Product
from hushtable.kernel.privacy.loss import LARGEST_SCALE
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.query.box import Box, Boxes, CodeSet
from hushtable.schema import Hierarchy, IntegerRange, Schema, nominal, ordinal


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


@pytest.mark.parametrize("long", [1, 2**9], ids=["by steps", "by sorting"])
@settings(deadline=None, max_examples=150)
@given(
    st.lists(st.floats(0, 1e6) | st.integers(0, 20).map(float), min_size=2, max_size=40),
    st.floats(1e-3, 1e4),
)
def test_the_threshold_solves_equation_11(long: int, sizes: list[float], noise: float) -> None:
    """In two rows, of which each has its own."""
    rows = np.array([sizes, [2 * size for size in sizes]])
    with mock.patch.object(module, "_LONG", long), mock.patch.object(module, "_PIECE", 3):
        found = thresholds_of(rows.copy(), noise)
    for row, theta in zip(rows, found, strict=True):
        wanted = float(np.square(row).sum()) - (len(row) - 1) * noise
        if wanted <= 0:
            assert theta == row.max()  # all of it may be noise
        else:
            tolerance = 1e-7 * max(float(np.square(row).sum()), 1)
            assert left_after(row, theta) == pytest.approx(wanted, abs=tolerance)
            assert left_after(row, bisected(row, wanted)) == pytest.approx(wanted, abs=tolerance)


@pytest.mark.parametrize("long", [1, 2**9], ids=["by steps", "by sorting"])
@pytest.mark.parametrize(
    ("theta", "left"),
    [(4, 2**2), (2.9, 3.1**2 + 0.1**2), (2, 4**2 + 1**2), (0.5, 5.5**2 + 2.5**2 + 0.5**2)],
    ids=["one is left", "two are hardly left", "two are left", "all are left"],
)
def test_equation_11_by_hand(long: int, theta: float, left: float) -> None:
    """Of sizes 6, 3 and 1, noise of (Σ sizes² − left)/(3 − 1) leaves so much, and that is θ's."""
    noise = (6**2 + 3**2 + 1**2 - left) / 2
    with mock.patch.object(module, "_LONG", long):
        found = thresholds_of(np.array([[3.0, 6.0, 1.0]]), noise)
    assert found == pytest.approx([theta], rel=1e-12)


@pytest.mark.parametrize("signal", [0, 300])
def test_sorting_and_stepping_find_the_same_threshold_of_many_coefficients(signal: int) -> None:
    sizes = np.abs(np.random.default_rng(4).laplace(0, 5, (1, 50_000)))
    sizes[:, :20_000] += signal
    by_steps = thresholds_of(sizes.copy(), 50.0)
    with mock.patch.object(module, "_LONG", 2**20):
        assert thresholds_of(sizes, 50.0) == pytest.approx(by_steps, rel=1e-9)


def test_a_subband_of_one_stays_as_it_is() -> None:
    assert thresholds_of(np.array([[3.0], [0.0]]), 100.0).tolist() == [0, 0]


def test_haar_bands_are_the_levels_of_figure_2() -> None:
    bands = bands_of(Haar(8))
    assert sorted(np.bincount(bands).tolist()) == [1, 1, 2, 4]
    rows = np.abs(Haar(8).matrix()).sum(axis=1)
    for band in range(4):
        assert len(set(rows[bands == band].tolist())) == 1  # of one level: as many codes each


def test_nominal_bands_are_depths() -> None:
    jobs = nominal("job", Hierarchy.from_tree({"A": ["a", "b"], "B": ["c", "d", "e"], "f": []}))
    bands = bands_of(Nominal.of(jobs))
    assert np.bincount(bands).tolist() == [1, 3, 5]


def test_the_band_of_a_coefficient_is_the_depth_of_its_own_node() -> None:
    """Also where the coefficients of a deep node come before those of a shallow one."""
    axis = Nominal(9, ((0, 9), (0, 2), (2, 4), (4, 9)))
    depths = []
    for row in axis.matrix():
        around = np.flatnonzero(row)  # the codes below the node's parent, all unlike zero
        held = [g for g in axis.groups if g[0] <= around.min() and around.max() < g[1]]
        depths.append(0 if row.min() == 1 else len(held))
    assert depths != sorted(depths)
    assert bands_of(axis).tolist() == depths


@settings(deadline=None)
@given(st.sets(st.integers(0, 60), min_size=1))
def test_runs_are_the_positions_in_order(positions: set[int]) -> None:
    runs = runs_of(np.array(sorted(positions)))
    assert [p for run in runs for p in range(run.start, run.stop, run.step)] == sorted(positions)


def test_the_levels_of_haar_are_one_run_each() -> None:
    numbers = bands_of(Haar(37))
    levels = [np.flatnonzero(numbers == level) for level in range(numbers.max() + 1)]
    assert [len(runs_of(level)) for level in levels] == [1] * len(levels)


def test_every_sub_matrix_has_thresholds_of_its_own() -> None:
    transform = Product((Haar(8), Identity(3)))
    noisy = np.random.default_rng(1).integers(-9, 9, (8, 3))
    before = shrinkage(noisy, transform, DiscreteLaplace(Fraction(2)))
    noisy[:, 1] *= 100
    changed = before != shrinkage(noisy, transform, DiscreteLaplace(Fraction(2)))
    assert before.shape == Bands.of(transform).shape == (4, 3)
    assert changed[:, 1].any() and not changed[:, [0, 2]].any()


JOBS = Nominal(5, ((0, 5), (0, 2), (2, 5)))  # below the groups, 2 factors of 2 and 3 of 4


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(30)])
@pytest.mark.parametrize("piece", [1, 50, 2**20])
@pytest.mark.parametrize(
    "axes", [(JOBS, Haar(8)), (JOBS, Identity(3), Haar(8), Identity(2)), (Identity(4), JOBS)]
)
def test_thresholds_are_rounded_down_from_those_of_each_subband(
    scale: Fraction, piece: int, axes: tuple[Nominal | Haar | Identity, ...]
) -> None:
    """Subband by subband, coefficient by coefficient; at half a step noise is far from 2·scale²."""
    transform = Product(axes)
    noisy = np.random.default_rng(piece).normal(0, 1, transform.coefficient_shape)
    noisy = (noisy * float(6 * (scale + 1))).round().astype(np.int64)
    with mock.patch.object(module, "_PIECE", piece):
        thresholds = shrinkage(noisy.copy(), transform, DiscreteLaplace(scale))
    members = subbands(transform)
    assert set(members) == set(np.ndindex(*thresholds.shape)) and max(map(len, members)) > 1
    for band, places in members.items():
        sizes = np.array([abs(noisy[place]) / factor for place, factor in places])
        noise = np.mean([1 / (math.cosh(1 / (scale * f)) - 1) / f**2 for _, f in places])
        wanted = float(np.square(sizes).sum() - (len(sizes) - 1) * noise)
        theta = 0.0 if len(sizes) == 1 else bisected(sizes, max(wanted, 0))
        assert -1e-6 < theta * UNIT - thresholds[band] < 1
    assert (thresholds > 0).any()


def subbands(transform: Product) -> dict[tuple[int, ...], list[tuple[tuple[int, ...], int]]]:
    """The places of each subband's coefficients and their factors."""
    numbers = [bands_of(axis) for axis in transform.axes]
    factors = [
        [int(c.factor) for c in axis.classes for _ in range(c.start, c.stop)]
        for axis in transform.axes
    ]
    found: dict[tuple[int, ...], list[tuple[tuple[int, ...], int]]] = {}
    for place in np.ndindex(*transform.coefficient_shape):
        band = tuple(int(n[p]) for n, p in zip(numbers, place, strict=True))
        factor = math.prod(f[p] for f, p in zip(factors, place, strict=True))
        found.setdefault(band, []).append((place, factor))
    return found


def test_noise_alone_is_shrunk_away_and_large_coefficients_are_not() -> None:
    noise = 2.0 * 25
    sizes = np.abs(np.random.default_rng(1).laplace(0, 5, (1, 4096)))
    theta = thresholds_of(sizes.copy(), noise)[0]
    assert left_after(sizes, theta) < 0.1 * np.square(sizes).sum()
    assert thresholds_of(sizes + 1000, noise)[0] < 1


# ── errors ───────────────────────────────────────────────────────────────────────────────────────


def noisy_coefficients(
    transform: Product, counts: np.ndarray, scale: Fraction, seed: int
) -> np.ndarray:
    """Coefficients with noise on them, two-sided geometric."""
    random, values = np.random.default_rng(seed), transform.forward(counts.copy())
    for where, factor in transform.blocks():
        ends = random.geometric(-math.expm1(-1 / float(scale * factor)), (2, *values[where].shape))
        values[where] += ends[0] - ends[1]
    return values


def readers(
    transform: Product, noisy: np.ndarray, scale: Fraction
) -> tuple[ShrunkenCoefficients, NoisyCoefficients]:
    """The same coefficients, shrunken and as they are."""
    thresholds, bands = shrinkage(noisy, transform, DiscreteLaplace(scale)), Bands.of(transform)
    return (
        ShrunkenCoefficients(
            transform, lambda *cut: noisy[cut], DiscreteLaplace(scale), bands, thresholds
        ),
        NoisyCoefficients(
            ProductReading.of(transform), lambda *cut: noisy[cut], DiscreteLaplace(scale), ""
        ),
    )


MIXED = Product((Identity(3), Haar(32), Nominal(9, ((0, 9), (0, 4), (4, 9)))))


def asked_boxes(seed: int) -> list[Boxes]:
    """Boxes, pairs of boxes and single cells."""
    random = np.random.default_rng(seed)
    found: list[Boxes] = [(Box.full(MIXED.shape),)]
    for _ in range(10):
        ends = [np.sort(random.choice(size + 1, 2, replace=False)) for size in MIXED.shape]
        sets = [CodeSet.of((int(low), int(high))) for low, high in ends]
        other = (sets[0].complement(3), CodeSet.of((0, 7)), sets[2])
        cell = Box(tuple(CodeSet.single(int(low)) for low, _ in ends))
        found += [(Box(tuple(sets)),), (Box(tuple(sets)), Box(other)), (cell,)]
    return found


@pytest.mark.parametrize("seed", range(3))
def test_intervals_hold_those_of_the_answers_without_shrinking(seed: int) -> None:
    """So they hold the true count at least as often, whatever the table was."""
    counts = np.random.default_rng(seed).poisson(2, MIXED.shape)
    shrunken, plain = readers(
        MIXED, noisy_coefficients(MIXED, counts, Fraction(5), seed), Fraction(5)
    )
    moved = 0
    for boxes in asked_boxes(seed):
        (value, law), (before, noise) = shrunken.count(boxes), plain.count(boxes)
        shift = abs(before - value)
        moved += shift > 0.1
        assert law == shrunken.law(boxes)
        assert law.variance == pytest.approx(noise.variance + shift**2, rel=1e-9)
        for confidence in (0.5, 0.95):
            half = noise.half_width(confidence) + shift
            assert law.half_width(confidence) == pytest.approx(half, rel=1e-9)
    assert moved > 10


def test_where_nothing_was_shrunk_the_law_of_the_noise_is_known() -> None:
    """A table far above the noise but for its total, whose subband is one coefficient."""
    counts = np.random.default_rng(3).poisson(2, MIXED.shape)
    shrunken, plain = readers(MIXED, noisy_coefficients(MIXED, counts, Fraction(5), 1), Fraction(5))
    whole = (Box.full(MIXED.shape),)
    assert shrunken.count(whole) == plain.count(whole)
    assert shrunken.law(whole).half_width(0.9) == plain.law(whole).half_width(0.9)
    somewhere = asked_boxes(1)[1]
    assert shrunken.law(somewhere).half_width(0.9) > plain.law(somewhere).half_width(0.9)


def test_boxes_of_one_condition_add_up_before_they_are_squared() -> None:
    counts = np.random.default_rng(3).poisson(2, MIXED.shape)
    shrunken, _ = readers(MIXED, noisy_coefficients(MIXED, counts, Fraction(5), 2), Fraction(5))
    full = Box.full(MIXED.shape)
    cuts = [CodeSet.of(ends) for ends in ((0, 5), (5, 21), (21, 32))]
    parts = tuple(Box((full.sets[0], cut, full.sets[2])) for cut in cuts)
    together, whole = shrunken.law(parts), shrunken.law((full,))
    assert together.variance == pytest.approx(whole.variance, rel=1e-9)
    assert sum(shrunken.law((part,)).variance for part in parts) > 1.2 * together.variance


@pytest.mark.parametrize("kind", ["smooth", "sparse", "random"])
def test_intervals_of_every_size_hold_the_true_count(kind: str) -> None:
    """95 % of them at least, were they not wider than those of the noise; measured, with room."""
    axes = (Identity(3), Haar(64))
    transform, random = Product(axes), np.random.default_rng(5)
    means = {
        "smooth": np.exp(-0.5 * ((np.arange(64) - 25) / 12.0) ** 2) * np.full((3, 1), 40),
        "sparse": np.where(random.random((3, 64)) < 0.03, 900.0, 0.0),
        "random": random.gamma(0.5, 20, (3, 64)),
    }[kind]
    covered: dict[int, list[bool]] = {1: [], 8: [], 40: []}
    for seed in range(120):
        counts = random.poisson(means)
        noisy = noisy_coefficients(transform, counts, Fraction(14), seed)
        shrunken, _ = readers(transform, noisy, Fraction(14))
        for width, hits in covered.items():
            start, codes = int(random.integers(65 - width)), int(random.integers(1, 4))
            box = Box((CodeSet.of((0, codes)), CodeSet.of((start, start + width))))
            value, law = shrunken.count((box,))
            off = abs(value - counts[:codes, start : start + width].sum())
            hits.append(off <= law.half_width(0.95))
    assert min(float(np.mean(hits)) for hits in covered.values()) >= 0.95


# ── releases ─────────────────────────────────────────────────────────────────────────────────────


SCHEMA = Schema("t", Fraction(100), (ordinal("x", IntegerRange(0, 1023)),))


def publish(
    folder: Path, name: str, mechanism: str, seed: int, epsilon: Fraction = Fraction(1, 2)
) -> ht.Release:
    """A table with two busy places in a wide range."""
    values = np.repeat([100, 101, 700], [4000, 3000, 5000])
    return ht.publish(
        pa.table({"x": values}),
        SCHEMA,
        epsilon=epsilon,
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


def test_its_answers_say_that_their_error_is_a_bound(tmp_path: Path) -> None:
    release = publish(tmp_path, "s", "privelet*", 1)
    answer = release.count("x BETWEEN 90 AND 110")
    assert "bounded from above" in answer.note and not answer.estimate
    low, high = answer.interval(0.9999)
    assert low < 7000 < high and math.isfinite(answer.stderr)


TENS = Schema("t", Fraction(100), tuple(ordinal(name, IntegerRange(0, 9)) for name in "abcde"))


def test_without_a_wavelet_axis_it_is_privelet_plus(tmp_path: Path) -> None:
    """Equation 7 puts five short axes into S_A: 10⁵ sub-matrices of one coefficient."""
    columns = np.random.default_rng(2).integers(0, 10, (5, 20_000))
    table = pa.table(dict(zip("abcde", columns, strict=True)))
    star, plus = (
        ht.publish(
            table,
            TENS,
            epsilon="0.1",
            out=tmp_path / mechanism,
            mechanism=mechanism,
            ledger=tmp_path / "ledger",
            entropy=SeededEntropy(1),
        )
        for mechanism in ("privelet*", "privelet+")
    )
    assert star.manifest["parameters"] == plus.manifest["parameters"]
    assert star.manifest["parameters"]["identity"] == list("abcde")
    assert np.array_equal(star.cells(), plus.cells())
    low, high = star.count().interval(1 - 1e-9)
    assert low < 20_000 < high and star.count().law == plus.count().law


def test_however_many_sub_matrices_there_are_their_totals_stay() -> None:
    transform, scale = Product((Identity(2**17), Haar(4))), Fraction(3)
    counts = np.full(transform.shape, 2, np.int64)
    shrunken, plain = readers(transform, noisy_coefficients(transform, counts, scale, 1), scale)
    whole = (Box.full(transform.shape),)
    value, law = shrunken.count(whole)
    assert (value, law) == plain.count(whole)
    assert abs(value - counts.sum()) < law.half_width(1 - 1e-9) < 0.02 * counts.sum()
    shrunk = (shrunken.thresholds > 0).mean(axis=0)
    assert shrunk[1] > 0.9 and not shrunk[[0, 2]].any()  # of the finest differences there are two


def test_the_smallest_epsilon_is_published_and_a_smaller_one_costs_nothing(tmp_path: Path) -> None:
    smallest = Fraction(Haar(1024).levels, LARGEST_SCALE)
    with pytest.raises(OptionError, match="so small"):
        publish(tmp_path, "refused", "privelet*", 3, smallest / 2)
    assert not list(tmp_path.iterdir())  # no ledger even
    release = publish(tmp_path, "r", "privelet*", 3, smallest)
    assert math.isfinite(release.count("x < 300").stderr)
    assert release.arrays["thresholds"].read().max() == 2**62  # and no overflow


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
    assert release.cell_stderrs((np.arange(1024),))[:20] == pytest.approx(table.stderr, rel=1e-9)
    assert UNIT * release.cells().sum() == pytest.approx(UNIT * release.count().value)
