"""Large arrays: compiled kernels, slabs, tiles and threads give what the matrices give."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import transform_cases as cases
from hypothesis import given, settings
from hypothesis import strategies as st

from hushtable.errors import OptionError
from hushtable.families.linear.read.transforms import ProductReading, reading_of
from hushtable.kernel.maps import (
    AxisTransform,
    Haar,
    Identity,
    Nominal,
    Product,
    Tree,
    kernels,
    slabs,
)
from hushtable.kernel.maps import product as products
from hushtable.query import haar_kernels, inverse

RAGGED = Nominal(9, ((0, 9), (0, 4), (1, 3), (4, 7)))


def explicit(axes: tuple[AxisTransform, ...], counts: np.ndarray) -> np.ndarray:
    """The coefficients by matrices alone."""
    for i, axis in enumerate(axes):
        counts = np.moveaxis(np.tensordot(axis.matrix(), counts, (1, i)), 0, i)
    return counts


def random_counts(shape: tuple[int, ...], seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).integers(-(10**6), 10**6, shape)


def estimated(transform: Product, values: np.ndarray, *, compiled: bool) -> np.ndarray:
    """The estimates by slabs, however small the array is."""
    axes = ProductReading.of(transform).axes
    return inverse._by_slabs(axes, values, None, compiled=compiled)


@pytest.fixture(params=[1 << 20, 64, 1], ids="slab-{}".format)
def slab(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Slabs of several sizes, so that small arrays meet every way of being cut up."""
    monkeypatch.setattr(slabs, "_SLAB", request.param)
    monkeypatch.setattr(slabs, "_TILE", 5)
    monkeypatch.setattr(products, "_LARGE", 1)
    return int(request.param)


@pytest.mark.usefixtures("slab")
@settings(deadline=None, max_examples=25)
@given(st.lists(cases.transforms(most=9), min_size=1, max_size=4), st.integers(0, 2**32))
def test_slabs_are_the_matrices(axes: list[AxisTransform], seed: int) -> None:
    transform = Product(tuple(axes))
    counts = random_counts(transform.shape, seed)
    found = transform.forward(counts.copy())
    np.testing.assert_array_equal(found, explicit(transform.axes, counts))
    assert found.flags.c_contiguous
    room = np.full(transform.coefficient_shape, 7)
    room[tuple(map(slice, transform.shape))] = counts
    transform.forward_within(room)
    np.testing.assert_array_equal(room, found)
    for compiled in (True, False):
        estimates = estimated(transform, found, compiled=compiled)
        np.testing.assert_allclose(estimates, counts, rtol=1e-9, atol=1e-5)


@settings(deadline=None, max_examples=100)
@given(cases.transforms(most=70), st.integers(1, 9), st.data())
def test_kernels_touch_only_their_columns(
    transform: AxisTransform, columns: int, data: Any
) -> None:
    first = data.draw(st.integers(0, columns - 1))
    last = data.draw(st.integers(first + 1, columns))
    counts = random_counts((2, transform.size, columns))
    before = counts if transform.in_place else np.full((2, transform.coefficients, columns), 7)
    target = before.copy()
    transform.forward_lines(target if transform.in_place else counts, target, first, last)
    expected = before.copy()
    expected[:, :, first:last] = explicit((Identity(2), transform), counts)[:, :, first:last]
    np.testing.assert_array_equal(target, expected)
    estimates = target.astype(np.float64)
    goal = estimates if transform.in_place else np.full(counts.shape, 7.0)
    kept = goal.copy()
    reading_of(transform).inverse_lines(estimates, goal, first, last)
    kept[:, :, first:last] = counts[:, :, first:last]
    np.testing.assert_allclose(goal, kept, rtol=1e-9, atol=1e-5)


@pytest.mark.parametrize("size", [*range(1, 70), 255, 256, 257, 1023, 1025])
@pytest.mark.parametrize("columns", [1, 3])
def test_haar_kernels_at_every_length(size: int, columns: int) -> None:
    counts = random_counts((2, size, columns))
    slab = counts.copy()
    kernels.haar_forward(slab, 0, columns)
    np.testing.assert_array_equal(slab, Haar(size).forward(counts.copy(), 1))
    floats = slab.astype(np.float64)
    haar_kernels.haar_inverse(floats, 0, columns)
    np.testing.assert_array_equal(floats, counts)


def test_a_large_product_spot_checked() -> None:
    """Sums and differences of single boxes, straight from the counts."""
    product = Product((Identity(3), Haar(301), Haar(1001)))
    counts = random_counts(product.shape)
    found = product.forward(counts.copy())
    assert found.size > 1 << 19
    for i, p, q in [(0, 0, 0), (1, 300, 1000), (2, 256, 512), (2, 0, 999), (1, 77, 0)]:
        rows = Haar(301).matrix()[p], Haar(1001).matrix()[q]
        assert found[i, p, q] == rows[0] @ counts[i] @ rows[1]


@pytest.mark.parametrize(
    "axes",
    [
        (Haar(40), Identity(2), Nominal(64, ((0, 64), (3, 9), (10, 64))), Haar(101)),
        (Nominal(9, RAGGED.groups), Haar(201), Tree.uniform(150, 5, root=False)),
        (Tree.mixed(40, (4, 10)), Identity(3), Haar(4001)),
    ],
    ids=repr,
)
def test_large_arrays_take_the_compiled_path_to_the_same_result(
    axes: tuple[AxisTransform, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    transform = Product(axes)
    counts = random_counts(transform.shape)
    assert counts.size >= 1 << 18
    large = transform.forward(counts.copy())
    monkeypatch.setattr(products, "_LARGE", 1 << 60)
    np.testing.assert_array_equal(large, transform.forward(counts.copy()))
    reading = ProductReading.of(transform)
    monkeypatch.setattr(inverse, "_LARGE", 1 << 60)
    plain = reading.inverse(large)
    np.testing.assert_allclose(plain, counts, rtol=1e-9, atol=1e-4)
    monkeypatch.setattr(inverse, "_LARGE", 1)
    for limit in (1, 1 << 60):  # with compiled code, and without
        monkeypatch.setattr(inverse, "_COMPILED", limit)
        np.testing.assert_allclose(reading.inverse(large), plain, rtol=1e-9, atol=1e-4)


@pytest.mark.parametrize("columns", [3, 30_000])
def test_counts_grow_within_the_room_they_are_given(columns: int) -> None:
    product = Product((RAGGED, Identity(columns)))
    counts = random_counts(product.shape)
    room = np.zeros(product.coefficient_shape, np.int64)
    room[:9] = counts
    product.forward_within(room)
    np.testing.assert_array_equal(room, product.forward(counts))
    for wrong in (room[:9], room[:, ::2], np.asfortranarray(room)):
        with pytest.raises(OptionError, match="shape"):
            product.forward_within(wrong)


def test_haar_and_identity_work_in_place() -> None:
    product = Product((Identity(4), Haar(300), Haar(301)))
    counts = random_counts(product.shape)
    assert np.shares_memory(product.forward(counts), counts)
    small = random_counts((3, 5))
    assert np.shares_memory(Product((Haar(3), Haar(5))).forward(small), small)


def test_transforms_that_grow_leave_the_counts_alone() -> None:
    for transform in (RAGGED, Tree.uniform(9, 3)):
        counts = random_counts((9, 4))
        kept = counts.copy()
        transform.forward(counts, 0)
        transform.forward_lines(
            counts[None], np.empty((1, transform.coefficients, 4), np.int64), 0, 4
        )
        np.testing.assert_array_equal(counts, kept)


@pytest.mark.parametrize("shape", [(2, 3), (40, 70, 100)])
def test_integers_become_floats_in_the_same_memory(shape: tuple[int, ...]) -> None:
    product = Product(tuple(map(Haar, shape)))
    counts = random_counts(shape)
    coefficients = product.forward(counts.copy())
    estimates = ProductReading.of(product).inverse(coefficients, coefficients.view(np.float64))
    assert np.shares_memory(estimates, coefficients)
    np.testing.assert_array_equal(estimates, counts)


@pytest.mark.parametrize("kind", [np.int16, np.int32, np.float64])
def test_the_inverse_reads_any_numbers_and_leaves_them_alone(kind: type) -> None:
    product = Product((Haar(5), RAGGED, Tree.uniform(4, 2)))
    values = np.random.default_rng(2).integers(-99, 99, product.coefficient_shape).astype(kind)
    values.flags.writeable = False
    reading = ProductReading.of(product)
    expected = reading.inverse(values.astype(np.float64))
    for compiled in (True, False):
        found = estimated(product, values, compiled=compiled)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
    out = np.empty(product.shape)
    assert reading.inverse(values, out) is out
    np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-12)


def test_strided_counts_are_transformed_too() -> None:
    counts = random_counts((600, 1001))[::2]
    product = Product((Haar(300), Haar(1001)))
    expected = explicit(product.axes, counts)
    for strided in (counts, np.asfortranarray(counts), counts[:, ::-1][:, ::-1]):
        np.testing.assert_array_equal(product.forward(strided.copy("K")), expected)
    np.testing.assert_array_equal(product.forward(counts), expected)


def test_blocks_of_one_scale_cover_every_coefficient_once() -> None:
    product = Product((RAGGED, Haar(3), Nominal(3, ((0, 3),))))
    scales: Any = np.zeros(product.coefficient_shape, object)
    for where, factor in product.blocks():
        assert (scales[where] == 0).all()
        scales[where] = factor
    expected = np.multiply.outer(cases.factors(RAGGED), [1] * 3)
    expected = np.multiply.outer(expected, cases.factors(product.axes[2]))
    assert (scales == expected).all()


def test_sums_beyond_64_bits_wrap_around(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exact modulo 2⁶⁴, in numpy and compiled alike."""
    monkeypatch.setattr(products, "_LARGE", 1)
    counts = np.full((2, 8, 3), 2**62 + 1)
    for transform in (Haar(8), Nominal(8, ((0, 8),)), Tree.uniform(8, 2)):
        wanted = explicit((Identity(2), transform), counts.astype(object))
        wrapped = ((wanted + 2**63) % 2**64 - 2**63).astype(np.int64)
        np.testing.assert_array_equal(transform.forward(counts.copy(), 1), wrapped)
        compiled = Product((Identity(2), transform, Identity(3)))
        np.testing.assert_array_equal(compiled.forward(counts.copy()), wrapped)


def test_reading_needs_no_compiler() -> None:
    """An analyst's machine imports, inverts and forecasts without numba."""
    program = """
import sys
import numpy as np
from hushtable.families.linear.describe import product_from_dict
from hushtable.families.linear.read.transforms import ProductReading
from hushtable.kernel.maps import Haar, Nominal, Product, Tree
p = Product((Haar(5), Nominal(3, ((0, 3),)), Tree.uniform(4, 2)))
p = product_from_dict(p.to_dict())
values = p.forward(np.ones(p.shape, np.int64))
reading = ProductReading.of(p)
assert np.allclose(reading.inverse(values), 1)
reading.variances([axis.gains([0], [2]) for axis in reading.axes], float)
big = Product((Haar(600), Haar(600)))
ProductReading.of(big).inverse(np.ones(big.shape))
assert "numba" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program], check=True)
