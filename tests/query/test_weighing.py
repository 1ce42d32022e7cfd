"""Linear questions are answered, and their errors known, as if all weights were written out."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.marginals.test_least_squares import PLAIN, SHAPE, TABLES, TREES, measured, reader_of
from tests.query.test_coefficients import AXES, SCALE, Explicit, estimator, reader, shrunken
from tests.shared_regions import code_sets
from tests.shared_tables import DenseTables

from hushtable.errors import QueryError
from hushtable.families.linear.read.cells import NoisyCells
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.query.box import Box, CodeSet
from hushtable.query.law import NoiseLaw, NoiseSum, noise_sum
from hushtable.query.weighing import (
    AddedLaws,
    WeighedBox,
    Weighing,
    WeighingReader,
    counted,
    remembering,
    summed,
    weigh,
    weighed_law,
)

NOISE = DiscreteLaplace(SCALE)
WEIGHTS = st.integers(-6, 6).map(lambda sixth: sixth / 6)


def dense(weighing: Weighing, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """What every cell counts, one by one."""
    weights = np.zeros(shape)
    for cell in np.ndindex(*shape):
        for part in weighing:
            if all(code in codes for code, codes in zip(cell, part.box.sets, strict=True)):
                own = (along[cell[axis]] for axis, along in part.along.items())
                weights[cell] += part.factor * math.prod(own)
    return weights


def assert_sizes(law: NoiseLaw, weights: NDArray[np.float64]) -> None:
    """The law is of all weights, but for those so small that they may be rounding."""
    assert isinstance(law, NoiseSum)
    found = sorted((size for size, _, count in law.terms for _ in range(count)), reverse=True)
    wanted = np.sort(np.abs(weights).reshape(-1))[::-1]
    rounding = 1e-9 * min(wanted.max(initial=0.0), 1.0)
    certain = int((wanted > rounding).sum())
    if len(wanted) > noise_sum._MANY:  # then classes of them may stand for all
        assert np.square(found).sum() == pytest.approx(np.square(wanted).sum())
        return
    assert found[:certain] == pytest.approx(wanted[:certain].tolist(), rel=1e-9)
    assert all(size <= 2 * rounding for size in found[certain:])


@st.composite
def weighings(draw: st.DrawFn, shape: tuple[int, ...], least: int = 0) -> Weighing:
    parts = []
    for _ in range(draw(st.integers(least, 3))):
        sets = tuple(draw(code_sets(size).filter(bool)) for size in shape)
        weighed = draw(st.sets(st.sampled_from(range(len(shape)))))
        along = {
            axis: np.array(draw(st.lists(WEIGHTS, min_size=shape[axis], max_size=shape[axis])))
            for axis in weighed
        }
        parts.append(WeighedBox(Box(sets), draw(WEIGHTS), along))
    return tuple(parts)


@st.composite
def questions(draw: st.DrawFn) -> tuple[Explicit, Weighing]:
    axes = tuple(draw(st.lists(st.sampled_from(AXES), min_size=1, max_size=3)))
    shape = [axis.coefficients for axis in axes]
    values = np.random.default_rng(draw(st.integers(0, 2**32))).integers(-1000, 1000, shape)
    return Explicit(axes, values), draw(weighings(tuple(axis.size for axis in axes)))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_sums_of_noisy_cells(data: st.DataObject) -> None:
    shape = data.draw(st.sampled_from([(4,), (3, 5), (2, 3, 4)]))
    matrix = np.random.default_rng(1).integers(-50, 50, shape)
    weighing = data.draw(weighings(shape))
    weights = dense(weighing, shape)
    value, law = weigh(NoisyCells(lambda *cut: matrix[cut], NOISE), weighing)
    assert value == pytest.approx((weights * matrix).sum(), abs=1e-9)
    assert_sizes(law, weights)


@settings(max_examples=100, deadline=None)
@given(questions())
def test_sums_of_noisy_coefficients(question: tuple[Explicit, Weighing]) -> None:
    explicit, weighing = question
    weights = dense(weighing, tuple(axis.size for axis in explicit.axes))
    for i, axis in enumerate(explicit.axes):
        weights = np.moveaxis(np.tensordot(estimator(axis).T, weights, axes=(1, i)), 0, i)
    value, law = weigh(reader(explicit.axes, explicit.values), weighing)
    assert value == pytest.approx(float((weights * explicit.values).sum()), rel=1e-9, abs=1e-6)
    assert law.variance == pytest.approx(float((weights**2 * explicit.variances()).sum()))
    assert_sizes(law, weights)


@pytest.mark.parametrize("transforms", [PLAIN, TREES], ids=["plain", "trees"])
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_sums_of_small_tables(transforms: Any, data: st.DataObject) -> None:
    tables = measured(transforms, TABLES, seed=1)
    known = DenseTables(transforms, tables)
    inside = data.draw(st.lists(st.sampled_from(TABLES), min_size=1, max_size=3))
    parts = tuple(
        WeighedBox(
            Box(
                tuple(
                    codes if axis in axes else CodeSet.full(SHAPE[axis])
                    for axis, codes in enumerate(part.box.sets)
                )
            ),
            part.factor,
            {axis: weights for axis, weights in part.along.items() if axis in axes},
        )
        for axes in inside
        for part in data.draw(weighings(SHAPE, least=1))
    )
    weights = known.weights_of(dense(parts, SHAPE))
    noisy = np.concatenate([table.read().reshape(-1) for table in tables])
    value, law = weigh(reader_of(transforms, tables), parts)
    assert value == pytest.approx(float(weights @ noisy), rel=1e-9, abs=1e-6)
    assert law.variance == pytest.approx(float((weights**2 / known.precision).sum()), rel=1e-7)
    assert weighed_law(reader_of(transforms, tables), parts).variance == law.variance
    assert_sizes(law, weights)


def test_a_sum_that_no_table_has_is_refused() -> None:
    tables = reader_of(PLAIN, measured(PLAIN, TABLES, seed=1))
    box = Box((CodeSet.full(2), CodeSet.single(1), CodeSet.full(4), CodeSet.full(3)))
    with pytest.raises(QueryError, match="no table of this release tells b and c and d together"):
        weigh(tables, (WeighedBox(box, 1.0, {2: np.arange(4.0), 3: np.arange(3.0)}),))


def test_shrinking_moves_sums_as_it_moves_counts() -> None:
    read, explicit, lost = shrunken()
    shape = tuple(axis.size for axis in explicit.axes)
    values = np.arange(1.0, 1 + shape[0])
    box = Box.full(shape)
    each = [Box((CodeSet.single(code), *box.sets[1:])) for code in range(shape[0])]
    value, law = weigh(read, summed((box,), 0, values))
    assert value == pytest.approx(
        sum(v * read.count((b,))[0] for v, b in zip(values, each, strict=True))
    )
    shift = sum(v * lost.value((b,)) for v, b in zip(values, each, strict=True))
    exact = weigh(read._reading(None), summed((box,), 0, values))[1]
    assert law.half_width(0.9) == pytest.approx(exact.half_width(0.9) + abs(shift))


# ── readers that know counts alone ───────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class CountsAlone:
    """A reader that knows the law of counts, and of nothing else."""

    inner: NoisyCells

    def count(self, boxes: Any) -> Any:
        return self.inner.count(boxes)

    def group(self, boxes: Any, cuts: Any) -> Any:
        return self.inner.group(boxes, cuts)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_sums_of_counts_add_up_the_intervals_of_cells_that_count_alike(data: st.DataObject) -> None:
    shape = (3, 4)
    matrix = np.random.default_rng(2).integers(-50, 50, shape)
    cells = NoisyCells(lambda *cut: matrix[cut], NOISE)
    assert isinstance(cells, WeighingReader) and not isinstance(CountsAlone(cells), WeighingReader)
    weighing = data.draw(weighings(shape))
    weights = dense(weighing, shape).round(9)
    value, law = weigh(CountsAlone(cells), weighing)
    assert value == pytest.approx((weights * matrix).sum(), abs=1e-6)
    alike = Counter(weights[np.abs(weights) > 1e-9].tolist())
    assert isinstance(law, AddedLaws)
    each = 1 - 0.1 / max(len(alike), 1)
    expected = sum(abs(w) * NoiseSum.of(NOISE, n).half_width(each) for w, n in alike.items())
    assert law.margins(0.9) == pytest.approx((expected, expected))


@pytest.mark.parametrize("unit", [1e-300, 1e-15, 1e-13, 1e-6, 1e6, 1e12])
def test_the_unit_of_values_does_not_matter(unit: float) -> None:
    """Small values are not taken for what is left of rounding."""
    matrix = np.array([300, 200, 100, 50])
    plain = NoisyCells(lambda *cut: matrix[cut], NOISE)
    coefficients = reader((AXES[0],), np.arange(AXES[0].coefficients) * 7)
    for read, size in ((plain, 4), (CountsAlone(plain), 4), (coefficients, AXES[0].size)):
        box, values = Box.full((size,)), np.arange(1.0, 1 + size)
        value, law = weigh(read, summed((box,), 0, values))
        small, its = weigh(read, summed((box,), 0, values * unit))
        assert small / unit == pytest.approx(value)
        assert its.half_width(0.9) / unit == pytest.approx(law.half_width(0.9))


def test_what_cancels_counts_nothing() -> None:
    cells = NoisyCells(lambda *cut: np.zeros((3, 4), np.int64)[cut], NOISE)
    box = Box.full((3, 4))
    both = (*counted((box,)), *counted((box,), -1.0))
    for reading in (cells, CountsAlone(cells)):
        value, law = weigh(reading, both)
        assert (value, law.variance, law.half_width(0.999)) == (0, 0, 0)


@dataclass(frozen=True)
class Lopsided:
    """An error by which a count may be too small, and not too large."""

    variance: float = 1.0
    estimate: bool = False

    def margins(self, confidence: float) -> tuple[float, float]:
        return 0.0, 1 / (1 - confidence)

    def half_width(self, confidence: float) -> float:
        return self.margins(confidence)[1]


def test_a_negative_weight_swaps_the_sides_of_a_skewed_error() -> None:
    assert AddedLaws(((2.0, Lopsided()),)).margins(0.9) == pytest.approx((0, 20))
    assert AddedLaws(((-2.0, Lopsided()),)).margins(0.9) == pytest.approx((20, 0))
    both = AddedLaws(((-2.0, Lopsided()), (3.0, Lopsided())))
    assert both.margins(0.9) == pytest.approx((40, 60))


def test_a_count_that_is_asked_again_is_not_worked_out_again() -> None:
    cells = NoisyCells(lambda *cut: np.arange(12).reshape(3, 4)[cut], NOISE)
    asked = []

    class Counting(CountsAlone):
        def count(self, boxes: Any) -> Any:
            asked.append(boxes)
            return super().count(boxes)

    read = remembering(Counting(cells))
    for values in (np.array([1.0, 2.0, 3.0]), np.array([4.0, 8.0, 16.0])):
        weighing = summed((Box.full((3, 4)),), 0, values)
        value, law = weigh(read, weighing)
        plain, its = weigh(CountsAlone(cells), weighing)
        assert (value, law.half_width(0.9)) == (plain, its.half_width(0.9))
        assert law.variance == its.variance and not law.estimate
    assert len(asked) == 3
    assert remembering(cells) is cells
