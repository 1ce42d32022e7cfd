"""What one row, and one person, can change in squares: by brute force over all neighbours.

Coefficients come from the maps that are applied, each over the factor of its block.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import transform_cases as cases
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from hushtable.kernel.curator import Grid, Marginal, Partition, Regions, SharedRanges, View, Whole
from hushtable.kernel.curator.partition import squared_change
from hushtable.kernel.maps import (
    AxisTransform,
    Haar,
    Identity,
    Nominal,
    Product,
    Tents,
    Tree,
    squared,
    tents,
)
from hushtable.kernel.maps.hashing import Sketch
from hushtable.kernel.maps.squared import Pair, SquaredChange, over_axes
from hushtable.kernel.maps.structure import KINDS, Structure
from hushtable.kernel.privacy.loss import NEIGHBOURS, Exposure

F = Fraction
Gram = NDArray[Any]
"""Products of what rows of two cells change, cells × cells, and what they were multiplied by."""


def gram(axes: Sequence[AxisTransform]) -> tuple[Gram, int]:
    """By the product that is applied to one row at a time."""
    product = Product(tuple(axes))
    over = np.zeros(product.coefficient_shape, object)
    for where, factor in product.blocks():
        over[where] = 1 / factor
    common = math.lcm(*(F(number).denominator for number in over.flat))
    alone = np.eye(math.prod(product.shape), dtype=np.int64).reshape(-1, *product.shape)
    columns = np.array([product.forward(row.copy()).reshape(-1) for row in alone], object)
    columns = columns * np.array([int(number * common) for number in over.flat], object)
    if int(abs(columns).max()) ** 2 * columns.shape[1] < 2**62:
        columns = columns.astype(np.int64)
    return columns @ columns.T, common**2


def largest(products: Gram, times: int = 1) -> SquaredChange:
    """The largest sums of squares over all cells, and over all pairs of cells."""
    squares = np.diagonal(products)
    apart = squares[:, None] + squares - 2 * products
    return SquaredChange(F(int(squares.max()), times), F(int(apart.max()), times))


UNEVEN = Nominal(5, ((0, 5), (0, 2)))
SHARED = Tree(5, ((0, 5), (1, 5), (2, 5)), shares=(F(1, 8), F(1, 8), F(1, 4), F(1, 2)))
BELL = Tents(4, 2, 2, height=16)
LEFT = Tents(5, 1, 2, 20, (8, 40), 1)
BARE = Tents(2, 1, height=16, peaks=(1, 1), left=0)
"""Whose code that changes most is under no tent."""
NEAR = Tents(3, 1, 1, 16, (6, 2), 0)
"""Two codes under one tent differ more than any two that share none."""

EVERY = [*cases.all_transforms(), *(Haar(size) for size in range(1, 41)), LEFT, BARE, NEAR]


@pytest.mark.parametrize("transform", EVERY, ids=repr)
def test_every_transform(transform: AxisTransform) -> None:
    assert Product((transform,)).squared == largest(*gram([transform]))


@settings(deadline=None, max_examples=150)
@given(cases.transforms(most=20))
def test_random_transforms(transform: AxisTransform) -> None:
    assert Product((transform,)).squared == largest(*gram([transform]))


def some_products() -> list[tuple[AxisTransform, ...]]:
    one = [Identity(1), Identity(3), Haar(3), Haar(4), Haar(5), Nominal(2, ((0, 2),)), UNEVEN]
    one += [SHARED, Tree.uniform(4, 2, root=False), Tree(*cases.HIERARCHIES[4]), BELL, LEFT, BARE]
    triples = [Identity(2), Haar(3), Nominal(3, ((0, 3), (1, 3))), SHARED, LEFT]
    return [
        *itertools.combinations_with_replacement(one, 2),
        *itertools.combinations(triples, 3),
        (Haar(3),) * 4,
    ]


@pytest.mark.parametrize("axes", some_products(), ids=repr)
def test_products(axes: tuple[AxisTransform, ...]) -> None:
    assert Product(axes).squared == largest(*gram(axes))


@settings(deadline=None, max_examples=60)
@given(st.lists(cases.transforms(most=5), min_size=2, max_size=3))
def test_random_products(axes: list[AxisTransform]) -> None:
    assert Product(tuple(axes)).squared == largest(*gram(axes))


@settings(deadline=None, max_examples=60)
@given(st.lists(cases.hierarchies(most=6), min_size=1, max_size=2), st.data())
def test_hierarchies_with_any_factors(drawn: list[tuple[int, Any]], data: st.DataObject) -> None:
    """Also with such that codes change more in opposite directions than in the same."""
    axes = [Nominal(*each) for each in drawn]
    for axis in axes:
        wanted = [data.draw(st.integers(1, 4)) for _ in range(axis.size + 1)]
        below = [wanted[fanout % len(wanted)] for fanout in axis.tree.fanout.tolist()]
        chosen = [1, *(below[above] for above in axis.tree.parent[1:].tolist())]
        axis.__dict__["factors"] = np.array(chosen, np.int64)
    assert Product(tuple(axes)).squared == largest(*gram(axes))


def test_products_below_zero() -> None:
    """Where codes differ along two axes, what they do in opposite directions is alike again."""
    opposite = Pair(F(3), F(3), F(-1))
    assert over_axes([(opposite,)]).moving == 8
    assert over_axes([(opposite,)] * 2).moving == 24 > 18 - 2 * (-1) * (-1)
    farther = Pair(F(3), F(3), F(-2))
    for axes in ([(opposite,), (farther,)], [(farther,), (opposite,)]):
        assert over_axes(axes).moving == 30
    flat = Nominal(2, ((0, 2),))
    flat.__dict__["factors"] = np.array([1, 1, 1], np.int64)
    for maps in ([flat], [flat, flat], [flat, Haar(3)], [flat, flat, flat]):
        assert Product(tuple(maps)).squared == largest(*gram(maps))
    assert Product((flat, flat)).squared == SquaredChange(F(9), F(24))


def test_some_rows_move_less_far_than_the_largest_squares_and_the_least_product_say() -> None:
    """Nor does it help to know the most along each axis: neither multiplies."""
    assert Product((Haar(3),)).squared == SquaredChange(F(3), F(5))
    assert Product((Haar(5),)).squared == SquaredChange(F(4), F(6))
    assert Product((Haar(3), Haar(5))).squared == SquaredChange(F(12), F(22))
    diagonal, straight = Product((Haar(4), Haar(4))), Product((Haar(4), Identity(1)))
    assert diagonal.squared.moving == 18 > 3 * straight.squared.moving / 2
    assert Product((Identity(7), Identity(9))).squared == SquaredChange(F(1), F(2))


def test_long_axes() -> None:
    assert Product((Identity(512), Haar(1024))).squared == SquaredChange(F(11), F(22))
    assert Product((Haar(600),)).squared == SquaredChange(F(11), F(20))
    assert Product((Haar(2**40),)).squared == SquaredChange(F(41), F(82))
    flat = Nominal(512, ((0, 512),))
    both = 1 + F(512, 4 * 511)
    shared = 1 - F(512, 4 * 511**2)
    assert Product((flat,)).squared == SquaredChange(both, 2 * both - 2 * shared)
    assert Product((flat, Haar(600))).squared.moving == max(
        both * (11 + 9), 2 * 11 * both - 2 * shared
    )


def test_tents_of_which_many_codes_stand_high() -> None:
    """There the bound may be above the truth; along usual axes it is exact."""
    many = Tents(300, 1, 1, 64, (20, 15), 2)
    exact = largest(*gram([many]))
    found = Product((many,)).squared
    assert found.entering == exact.entering
    assert exact.moving < found.moving == 2 * exact.entering
    for usual in (Tents(256, 12), Tents(300, 8, 9), Tents(250, 12, left=1)):
        assert Product((usual,)).squared == largest(*gram([usual]))


@pytest.mark.parametrize("codes", [0, 3])
def test_few_codes_of_tents_or_many(codes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever number of codes is compared, rows never move further than it says."""
    monkeypatch.setattr(tents, "_FEW_CODES", codes)
    for one in (LEFT, Tents(9, 1, 2, 20, (8, 40), 0), Tents(40, 2, 1, 64, (25, 16), 1)):
        exact, found = largest(*gram([one])), Product((one,)).squared
        assert found.entering == exact.entering
        assert exact.moving <= found.moving <= 2 * exact.entering


@pytest.mark.parametrize("axes", [(Haar(3),), (UNEVEN, SHARED, Haar(3))], ids=repr)
def test_more_pairs_than_are_combined_are_bounded(
    axes: tuple[AxisTransform, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    exact = Product(axes).squared
    monkeypatch.setattr(squared, "_MOST_PAIRS", 1)
    bound = Product(axes).squared
    assert bound.entering == exact.entering
    assert exact.moving < bound.moving <= 2 * exact.entering


# People of several rows.


def multisets(cells: int, most: int) -> NDArray[np.int64]:
    """Every table of at most so many rows."""
    rows = itertools.product(range(most + 1), repeat=cells)
    return np.array([row for row in rows if sum(row) <= most], np.int64)


def of_people(products: Gram, exposure: Exposure) -> int:
    """The largest sum of squares over all a person can have had, and another have instead."""
    before = multisets(len(products), exposure.max_rows)
    after = before if exposure.neighbours == "replace-one" else np.zeros_like(before[:1])
    changes = (before[:, None] - after).reshape(-1, len(products))
    return int(np.einsum("ni,ij,nj->n", changes, products, changes, optimize=True).max())


EXPOSURES = [Exposure(neighbours, rows) for neighbours in NEIGHBOURS for rows in (1, 2, 3)]


def of_person(change: SquaredChange, exposure: Exposure) -> Fraction:
    return exposure.squared_sensitivity(entering=change.entering, moving=change.moving)


@pytest.mark.parametrize("exposure", EXPOSURES, ids=repr)
def test_people_of_several_rows(exposure: Exposure) -> None:
    """All of their rows may change the same; under replace-one, some may have none instead."""
    products: list[tuple[AxisTransform, ...]] = [
        (Identity(1),),
        (Identity(5),),
        (Haar(3),),
        (UNEVEN,),
        (SHARED,),
        (LEFT,),
        (Haar(2), Nominal(2, ((0, 2),))),
        (Identity(2), Haar(3)),
    ]
    for axes in products:
        found, times = gram(axes)
        exact = F(of_people(found, exposure), times)
        assert exact == of_person(Product(axes).squared, exposure)


@pytest.mark.parametrize("exposure", EXPOSURES, ids=repr)
def test_several_tables_add_up(exposure: Exposure) -> None:
    """Each is paid for by itself: together no less than what people change, and exactly for cells.

    A person's row is in every table; each has its own scale, so squares are over that of the scale.
    """
    shape, tables = (2, 3), [((0,), F(2)), ((1,), F(1)), ((0, 1), F(1, 2))]
    cells = list(itertools.product(*map(range, shape)))
    for maps, exact in (([Identity(2), Identity(3)], True), ([Haar(2), Haar(3)], False)):
        joint, added = np.zeros((6, 6), object), F(0)
        for chosen, scale in tables:
            axes = [maps[axis] for axis in chosen]
            products, times = gram(axes)
            seen = [
                np.ravel_multi_index([cell[axis] for axis in chosen], [a.size for a in axes])
                for cell in cells
            ]
            joint = joint + products[np.ix_(seen, seen)] * int(4 / (times * scale**2))
            added += of_person(Product(tuple(axes)).squared, exposure) / scale**2
        together = F(of_people(joint.astype(np.int64), exposure), 4)
        assert together == added if exact else together <= added


# Other maps.


@pytest.mark.parametrize("on", KINDS)
@pytest.mark.parametrize(
    "shape", [(1,), (2,), (3,), (8,), (11,), (1, 5), (3, 5), (4, 4), (2, 3, 3)]
)
def test_structures(on: Any, shape: tuple[int, ...]) -> None:
    structure = Structure(on, shape)
    columns = np.zeros((math.prod(shape), structure.places), np.int64)
    for cell, column in enumerate(columns):
        places, values = structure.forward(np.array([cell]), np.ones(1, np.int64))
        column[places] = values
    assert structure.squared == largest(columns @ columns.T)


def test_structures_over_large_domains() -> None:
    assert Structure("haar", (2**50, 3)).squared == SquaredChange(F(153), F(306))
    assert Structure("dyadic", (2**50, 3)).squared == SquaredChange(F(153), F(304))
    assert Structure("cells", (2**50, 3)).squared == SquaredChange(F(1), F(2))


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("width", [1, 2, 24, 100])
def test_sketches(rows: int, width: int) -> None:
    """Two cells may share buckets with opposite signs; where all have their own, none does."""
    sketch, one = Sketch(rows, width, (6, 4)), np.ones(1, np.int64)
    columns = np.array([sketch.forward(np.array([cell]), one).reshape(-1) for cell in range(24)])
    assert sketch.squared == largest(columns @ columns.T)
    assert sketch.squared == SquaredChange(F(rows), F(4 * rows if width < 24 else 2 * rows))


@pytest.mark.parametrize("exposure", EXPOSURES, ids=repr)
@pytest.mark.parametrize(
    "partition",
    [
        Whole((3,)),
        Grid([[0, 0, 1]]),
        Grid([[0, -1, 1]]),
        Regions([[0, 1], [2, -1]]),
        Regions([0, 0, -1], parts=1),
        Marginal((2, 2), [View(1, np.array([0, 1]))]),
    ],
    ids=lambda partition: type(partition).__name__,
)
def test_counts_of_parts(partition: Partition, exposure: Exposure) -> None:
    codes = [np.array(axis) for axis in zip(*np.ndindex(partition.shape), strict=True)]
    part = partition.part_of(tuple(codes))
    columns = (part[:, None] == np.arange(partition.parts)).astype(np.int64)
    exact = of_people(columns @ columns.T, exposure)
    assert exact == of_person(squared_change(partition), exposure)


def ranges(*rows: tuple[int, int, int], whole: int) -> SharedRanges:
    starts, stops, shares = np.array(rows, np.int64).T
    return SharedRanges(starts, stops, shares, whole)


@pytest.mark.parametrize(
    ("given", "parts", "exact"),
    [
        (ranges((0, 4, 2), (0, 2, 3), (2, 4, 3), (0, 1, 5), (3, 4, 5), whole=10), 4, True),
        (ranges((0, 4, 2), (0, 2, 3), (2, 4, 1), (0, 1, 5), whole=10), 4, False),
        (ranges((0, 3, 1), (0, 3, 2), (1, 3, 4), whole=7), 3, False),
        (ranges((0, 1, 7), whole=7), 1, True),
        (ranges((0, 1, 3), (1, 2, 3), (2, 3, 3), whole=4), 3, True),
        (ranges((0, 2, 2**39 - 1), (0, 1, 2**39), (1, 2, 2**39 - 3), whole=2**40), 2, False),
    ],
)
def test_ranges_of_parts(given: SharedRanges, parts: int, exact: bool) -> None:
    given.check(parts)
    columns = np.zeros((parts, len(given.starts)), object)
    for place, factor in given.blocks():
        for k in place.tolist():
            columns[given.starts[k] : given.stops[k], k] = 1 / factor
    squares = columns @ columns.T
    entering = max(np.diagonal(squares))
    moving = max(
        squares[i, i] + squares[j, j] - 2 * squares[i, j]
        for i, j in itertools.product(range(parts), repeat=2)
    )
    found = given.squared(parts)
    assert found.entering == entering
    assert moving == found.moving if exact else moving <= found.moving <= 2 * entering
