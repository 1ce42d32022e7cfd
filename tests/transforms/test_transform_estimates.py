"""Estimates, their weights and their noise, against matrices written out in exact fractions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import transform_cases as cases
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from hushtable.errors import OptionError
from hushtable.families.linear.read.transforms import ProductReading, reading_of
from hushtable.families.linear.rows import add_rows
from hushtable.kernel.maps import AxisTransform, Haar, Identity, Nominal, Product, Tree

TRANSFORMS = list(cases.all_transforms())
COUNTS = st.integers(-(10**6), 10**6)


@settings(deadline=None, max_examples=200)
@given(cases.transforms(), st.data())
def test_the_inverse_undoes_the_transform(transform: AxisTransform, data: Any) -> None:
    counts = data.draw(arrays(np.int64, (2, transform.size, 3), elements=COUNTS))
    coefficients = transform.forward(counts.copy(), 1)
    assert coefficients.dtype == np.int64
    found = reading_of(transform).inverse(coefficients, 1)
    np.testing.assert_allclose(found, counts, rtol=0, atol=1e-7)


@settings(deadline=None, max_examples=60)
@given(st.integers(1, 70), st.data())
def test_haar_is_undone_without_rounding(size: int, data: Any) -> None:
    counts = data.draw(arrays(np.int64, size, elements=COUNTS))
    coefficients = Haar(size).forward(counts.copy(), 0)
    assert (reading_of(Haar(size)).inverse(coefficients, 0) == counts).all()


@settings(deadline=None, max_examples=100)
@given(cases.transforms(), st.data())
def test_transforms_are_linear(transform: AxisTransform, data: Any) -> None:
    one, two = (data.draw(arrays(np.int64, transform.size, elements=COUNTS)) for _ in "12")
    together = transform.forward(3 * one - two, 0)
    np.testing.assert_array_equal(
        together, 3 * transform.forward(one, 0) - transform.forward(two, 0)
    )


@settings(deadline=None, max_examples=150)
@given(cases.transforms(), st.integers(0, 2), st.data())
def test_forward_is_the_matrix_along_any_axis(
    transform: AxisTransform, axis: int, data: Any
) -> None:
    shape = [2, 3]
    shape.insert(axis, transform.size)
    counts = data.draw(arrays(np.int64, shape, elements=COUNTS))
    expected = np.moveaxis(np.tensordot(transform.matrix(), counts, (1, axis)), 0, axis)
    np.testing.assert_array_equal(transform.forward(counts.copy(), axis), expected)
    strided = np.repeat(counts, 2, axis=0)[::2]
    np.testing.assert_array_equal(transform.forward(strided, axis), expected)


@pytest.mark.parametrize("transform", TRANSFORMS, ids=repr)
def test_forward_of_every_single_row_is_the_matrix(transform: AxisTransform) -> None:
    single = np.eye(transform.size, dtype=np.int64)
    np.testing.assert_array_equal(transform.forward(single, 0), transform.matrix())


@pytest.mark.parametrize("transform", TRANSFORMS, ids=repr)
def test_the_inverse_is_the_exact_estimator(transform: AxisTransform) -> None:
    """Plain inversion, mean subtraction and Equation 5, or least squares by elimination."""
    exact = cases.estimator(transform).astype(np.float64)
    found = reading_of(transform).inverse(np.eye(transform.coefficients), 0)
    np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("transform", TRANSFORMS, ids=repr)
def test_the_estimator_is_unbiased(transform: AxisTransform) -> None:
    identity = cases.estimator(transform).dot(transform.matrix())
    assert (identity == np.eye(transform.size, dtype=int)).all()


@pytest.mark.parametrize("transform", TRANSFORMS, ids=repr)
def test_weights_and_gains_of_every_interval(transform: AxisTransform) -> None:
    exact = cases.estimator(transform)
    every = cases.intervals(transform.size)
    reading = reading_of(transform)
    gains = reading.gains(*np.array(every).T)
    assert gains.shape == (len(every), len(transform.classes))
    for (start, stop), found in zip(every, gains, strict=True):
        wanted = [float(gain) for gain in cases.exact_gains(transform, exact, start, stop)]
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14)
        row = reading.row(start, stop)
        dense = np.zeros(transform.coefficients)
        dense[row.positions] = row.weights
        expected = exact[start:stop].sum(axis=0).astype(np.float64) if start < stop else 0.0
        np.testing.assert_allclose(dense, expected, rtol=1e-12, atol=1e-14)
        squares = [np.square(dense[c.start : c.stop]).sum() for c in transform.classes]
        np.testing.assert_allclose(squares, wanted, 1e-12, 1e-14)


@settings(deadline=None, max_examples=100)
@given(cases.transforms(most=30), st.data())
def test_gains_agree_with_the_inverse(transform: AxisTransform, data: Any) -> None:
    every = np.array(cases.intervals(transform.size))
    chosen = data.draw(st.lists(st.integers(0, len(every) - 1), min_size=1, max_size=20))
    matrix = reading_of(transform).inverse(np.eye(transform.coefficients), 0)
    gains = reading_of(transform).gains(*every[chosen].T)
    for (start, stop), found in zip(every[chosen], gains, strict=True):
        squares = np.square(matrix[start:stop].sum(axis=0))
        wanted = [squares[c.start : c.stop].sum() for c in transform.classes]
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)


@settings(deadline=None, max_examples=60)
@given(cases.transforms(), st.data())
def test_weights_of_a_union_add_up_before_they_are_squared(
    transform: AxisTransform, data: Any
) -> None:
    ends = st.lists(st.integers(0, transform.size), max_size=6).map(sorted)
    cuts = data.draw(ends)
    parts = list(zip(cuts[::2], cuts[1::2], strict=False))
    row = add_rows(reading_of(transform).row(start, stop) for start, stop in parts)
    matrix = reading_of(transform).inverse(np.eye(transform.coefficients), 0)
    expected = sum((matrix[start:stop].sum(axis=0) for start, stop in parts), np.zeros(1))
    dense = np.zeros(transform.coefficients)
    dense[row.positions] = row.weights
    np.testing.assert_allclose(dense, np.broadcast_to(expected, dense.shape), 1e-9, 1e-12)
    assert (np.diff(row.positions) > 0).all()


@pytest.mark.parametrize("size", [1, 2, 1000, 1024, 10**6 + 1])
def test_haar_rows_are_short(size: int) -> None:
    haar = reading_of(Haar(size))
    for start, stop in [(0, size), (size // 3, size // 2), (size // 2, size), (size - 1, size)]:
        assert len(haar.row(start, stop).positions) <= 2 * Haar(size).splits + 1
    assert list(haar.row(0, size).positions) == [0]  # the total alone answers for everything


def test_nominal_rows_hold_the_groups_that_are_cut() -> None:
    """A node weighs its siblings and those of its ancestors; the root weighs nothing else."""
    size, groups = cases.HIERARCHIES[3]
    nominal = reading_of(Nominal(size, groups))
    assert len(nominal.row(0, size).positions) == 1
    assert len(nominal.row(0, 3).positions) == 1 + 2
    assert len(nominal.row(4, 5).positions) == 1 + 2 + 3


def boxes(shape: tuple[int, ...]) -> list[tuple[tuple[int, int], ...]]:
    every: list[tuple[tuple[int, int], ...]] = [()]
    for size in shape:
        every = [(*box, interval) for box in every for interval in cases.intervals(size)]
    return every


PRODUCTS = [
    (Haar(3), Nominal(*cases.HIERARCHIES[1])),
    (Nominal(*cases.HIERARCHIES[3]), Haar(2)),
    (Identity(2), Nominal(3, ((0, 3),)), Tree.uniform(3, 2, root=False)),
    (Tree.mixed(4, (2, 2), shares=(Fraction(1, 2), Fraction(1, 4), Fraction(1, 4))), Haar(3)),
    (Identity(2), Haar(2), Nominal(3, ((0, 3), (0, 2))), Haar(2)),
]


@pytest.mark.parametrize("axes", PRODUCTS, ids=repr)
def test_the_variance_of_every_box(axes: tuple[AxisTransform, ...]) -> None:
    """Values, and variances under a law that does not simply grow with the square of the scale."""
    product = Product(axes)
    generator = np.random.default_rng(5)
    noisy = generator.integers(-100, 100, product.coefficient_shape)
    matrix = np.ones((1, 1))
    factors = np.ones(1, object)
    for axis in axes:
        matrix = np.kron(matrix, reading_of(axis).inverse(np.eye(axis.coefficients), 0))
        factors = np.kron(factors, np.array(cases.factors(axis), object))
    laws = np.array([variance(factor) for factor in factors])
    reading = ProductReading.of(product)
    estimates, every = reading.inverse(noisy), boxes(product.shape)
    gains = [
        axis.gains(*np.array([box[i] for box in every]).T) for i, axis in enumerate(reading.axes)
    ]
    for box, found in zip(every, reading.variances(gains, variance), strict=True):
        inside = np.zeros(product.shape)
        inside[tuple(slice(*interval) for interval in box)] = 1
        row = inside.reshape(-1) @ matrix
        np.testing.assert_allclose(found, (row * row * laws).sum(), rtol=1e-10, atol=1e-12)
        rows = [axis.row(*interval) for axis, interval in zip(reading.axes, box, strict=True)]
        answer = noisy[np.ix_(*(row.positions for row in rows))]
        for along in reversed(rows):
            answer = answer @ along.weights
        np.testing.assert_allclose(answer, (estimates * inside).sum(), rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(answer, row @ noisy.reshape(-1), rtol=1e-9, atol=1e-9)


def variance(factor: Fraction) -> float:
    """The discrete Laplace's, at scale 3/2."""
    return float(1 / (np.cosh(2 / 3 / float(factor)) - 1))


def test_variances_are_added_up_in_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    product = Product(PRODUCTS[1])
    every = np.array(boxes(product.shape))
    reading = ProductReading.of(product)
    gains = [axis.gains(*every[:, i].T) for i, axis in enumerate(reading.axes)]
    whole = reading.variances(gains, variance)
    monkeypatch.setattr("hushtable.families.linear.read.transforms._BATCH", 7)
    np.testing.assert_array_equal(reading.variances(gains, variance), whole)
    nothing = [gain[:0] for gain in gains]
    assert reading.variances(nothing, variance).shape == (0,)


@pytest.mark.parametrize(
    "transform", [Identity(5), Haar(5), Nominal(5, ((0, 5),)), Tree.uniform(5, 2)], ids=repr
)
@pytest.mark.parametrize("interval", [(-1, 2), (3, 2), (0, 6)])
def test_intervals_outside_the_codes_are_refused(
    transform: AxisTransform, interval: tuple[int, int]
) -> None:
    with pytest.raises(OptionError, match="within"):
        reading_of(transform).row(*interval)
    with pytest.raises(OptionError, match="within"):
        reading_of(transform).gains([0, interval[0]], [1, interval[1]])
    with pytest.raises(OptionError, match="integer"):
        reading_of(transform).gains([0.5], [1.5])


def test_coefficients_of_another_shape_are_refused() -> None:
    reading = ProductReading.of(Product((Haar(3), Haar(4))))
    with pytest.raises(OptionError, match="shape"):
        reading.inverse(np.zeros((4, 3)))
    with pytest.raises(OptionError, match="shape"):
        reading.inverse(np.zeros((3, 4)), np.zeros((3, 4), np.float32))


def test_only_transforms_of_the_kernel_are_read() -> None:
    with pytest.raises(TypeError, match="can be read"):
        reading_of(Product((Haar(3),)))
