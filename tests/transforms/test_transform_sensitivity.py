"""What one row can change, by brute force over all cells and all pairs of cells."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import transform_cases as cases
from hypothesis import given, settings
from hypothesis import strategies as st

from hushtable.kernel.maps import (
    AxisTransform,
    Haar,
    Identity,
    Nominal,
    Product,
    Tents,
    Tree,
    product,
)


@pytest.mark.parametrize("size", range(1, 41))
def test_haar_changes_by_one_plus_the_number_of_splittings(size: int) -> None:
    columns = cases.scaled([Haar(size)])
    assert cases.entering(columns) == Haar(size).levels == 1 + math.ceil(math.log2(size))
    exact = cases.moving(columns)
    assert exact <= bound(Haar(size)) == 2 * Haar(size).levels - 2
    assert exact == Product((Haar(size),)).moving


@pytest.mark.parametrize("transform", list(cases.all_transforms()), ids=repr)
def test_entering_is_exactly_the_number_of_levels(transform: AxisTransform) -> None:
    assert cases.entering(cases.scaled([transform])) == transform.levels


@settings(deadline=None, max_examples=150)
@given(cases.transforms())
def test_entering_is_exact_for_random_transforms(transform: AxisTransform) -> None:
    assert cases.entering(cases.scaled([transform])) == transform.levels


@settings(deadline=None, max_examples=150)
@given(cases.transforms(most=10))
def test_overlap_and_agreement_are_the_least_of_all_pairs(transform: AxisTransform) -> None:
    columns = cases.scaled([transform]).T
    overlaps, agreements = [], []
    for u, v in itertools.product(columns, repeat=2):
        least = [min(abs(a), abs(b)) for a, b in zip(u, v, strict=True)]
        signs = [1 if a * b > 0 else -1 for a, b in zip(u, v, strict=True)]
        overlaps.append(sum(least))
        agreements.append(sum(s * m for s, m in zip(signs, least, strict=True)))
    if isinstance(transform, Tents):  # on a short axis, codes share tents; it is claimed of none
        assert min(overlaps) >= min(agreements) >= transform.overlap == transform.agreement == 0
    else:
        assert min(overlaps) == transform.overlap
        assert min(agreements) == transform.agreement >= 0


def some_products() -> list[tuple[AxisTransform, ...]]:
    """Two and three axes of all sorts, with the known counterexamples to easier formulas."""
    ragged, flat = Nominal(*cases.HIERARCHIES[4]), Nominal(3, ((0, 3),))
    rootless, rooted = Tree.uniform(4, 2, root=False), Tree.uniform(4, 2)
    shared = Tree.uniform(4, 2, shares=(Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)))
    bell = Tents(5, 2, 2, height=16)
    pairs = itertools.combinations_with_replacement(
        [Identity(3), Haar(3), Haar(4), Haar(5), flat, ragged, rootless, rooted, shared, bell], 2
    )
    triples = itertools.combinations_with_replacement(
        [Identity(2), Haar(2), Haar(3), flat, Tree.uniform(3, 3), Tents(3, 2, height=16)], 3
    )
    four = (Haar(2), flat, Haar(3), Identity(2)), (flat, Haar(2), Tree.uniform(2, 2), Haar(3))
    return [*pairs, *triples, *four, (Haar(1), Haar(2)), (Identity(1), Haar(4)), (Identity(1),)]


@pytest.mark.parametrize("axes", some_products(), ids=repr)
def test_products(axes: tuple[AxisTransform, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Entering multiplies; moving is exact on few cells, and a safe bound on many."""
    columns = cases.scaled(axes)
    exact = cases.moving(columns)
    assert cases.entering(columns) == Product(axes).entering
    assert Product(axes).moving == math.ceil(exact)
    monkeypatch.setattr(product, "_FEW_CELLS", 0)
    assert exact <= Product(axes).moving <= 2 * Product(axes).entering


@settings(deadline=None, max_examples=60)
@given(st.lists(cases.transforms(most=6), min_size=1, max_size=2))
def test_the_bound_holds_for_random_products(axes: list[AxisTransform]) -> None:
    exact = cases.moving(cases.scaled(axes))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(product, "_FEW_CELLS", 0)
        assert exact <= Product(tuple(axes)).moving
    assert Product(tuple(axes)).moving == math.ceil(exact)


def bound(*axes: AxisTransform) -> int:
    """The general bound, also for products of few cells."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(product, "_FEW_CELLS", 0)
        return Product(axes).moving


def test_moving_is_not_the_product_of_what_moving_costs_along_each_axis() -> None:
    three, five = Product((Haar(3),)).moving, Product((Haar(5),)).moving
    assert three * five == 12
    assert (
        Product((Haar(3), Haar(5))).moving == cases.moving(cases.scaled([Haar(3), Haar(5)])) == 14
    )


@pytest.mark.parametrize("dimensions", [1, 2, 3])
@pytest.mark.parametrize("size", [2, 4])
def test_haar_of_powers_of_two_saves_two_to_the_dimensions(dimensions: int, size: int) -> None:
    axes = (Haar(size),) * dimensions
    levels = Haar(size).levels ** dimensions
    assert cases.moving(cases.scaled(axes)) == bound(*axes) == 2 * levels - 2**dimensions


@pytest.mark.parametrize("axes", [(4,), (9,), (4, 4), (4, 9)])
def test_rooted_uniform_trees_save_two(axes: tuple[int, ...]) -> None:
    trees = tuple(Tree.uniform(size, math.isqrt(size)) for size in axes)
    exact = cases.moving(cases.scaled(trees))
    assert exact == bound(*trees) == 2 * 3 ** len(axes) - 2


@pytest.mark.parametrize("other", [Identity(2), Tree.uniform(4, 2, root=False)], ids=repr)
def test_an_axis_without_a_total_saves_nothing(other: AxisTransform) -> None:
    exact = cases.moving(cases.scaled([other, Haar(4)]))
    assert exact == bound(other, Haar(4)) == 2 * other.levels * Haar(4).levels


def test_large_domains_use_the_bound() -> None:
    """128 × 2 × 512 × 1024 has far too many pairs of cells to try."""
    axes = (Haar(128), Haar(2), Nominal(512, ((0, 512),)), Haar(1024))
    entering = 8 * 2 * 2 * 11
    overlap = 8 * (1 + Fraction(512, 1022))
    assert Product(axes).moving == math.ceil(2 * entering - overlap)
    assert Product((Identity(512), Haar(1024))).moving == 2 * 11


def test_smaller_factors_would_be_noticed() -> None:
    """The claim is tight: with any class's factor halved, some row changes more than it says."""
    for transform in cases.all_transforms():
        rows = transform.matrix()
        for halved in transform.classes:
            over = cases.factors(transform)
            over[halved.start : halved.stop] = [halved.factor / 2] * (halved.stop - halved.start)
            columns = rows / np.array([[factor] for factor in over], object)
            # A class that only holds leaves away from the deepest one has room to spare.
            deepest = abs(cases.scaled([transform])).sum(axis=0) == transform.levels
            touched = abs(rows[halved.start : halved.stop]).sum(axis=0) > 0
            if (deepest & touched).any():
                assert cases.entering(columns) > transform.levels
