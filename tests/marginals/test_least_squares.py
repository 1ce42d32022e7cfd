"""Small tables are read as generalised least squares over all cells would read them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.shared_tables import DenseTables, schema_of

from hushtable.errors import QueryError
from hushtable.families.marginals.axes import ReadAxis
from hushtable.families.marginals.layers import Layer, layers_of
from hushtable.families.marginals.least_squares import Agreeing, Measured
from hushtable.families.marginals.read import MarginalsReader
from hushtable.families.marginals.tables import SmallTable, parse_tables
from hushtable.kernel.maps import AxisTransform, Identity, Tree
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.query.box import Box, CodeSet
from hushtable.query.law import NoiseSum
from hushtable.query.sql import parse_where
from hushtable.schema import Schema

WHERE = (
    "",
    "a = 1",
    "a = 0 AND b >= 1",
    "b = 2 AND c IN (0, 3)",
    "a = 1 OR b = 2",
    "NOT (a = 1 AND b = 0)",
    "a = 1 AND b = 1 AND d = 2",
    "(a = 0 AND b = 1) OR (b = 0 AND d <> 1)",
    "a = 0 AND a = 1",
)
SHAPE = (2, 3, 4, 3)
TABLES = ((0, 1), (1, 2), (0, 2), (2, 3), (0, 1, 3))


PLAIN = tuple(map(Identity, SHAPE))
# Trees along two of the axes, one of them ragged.
TREES = (Identity(2), Tree.mixed(3, (2, 2), root=True), Tree.mixed(4, (2, 2), root=False), PLAIN[3])


def measured(
    transforms: Sequence[AxisTransform], tables: Sequence[tuple[int, ...]], seed: int
) -> list[Measured]:
    random = np.random.default_rng(seed)
    found = []
    for axes in tables:
        values = random.integers(-5, 50, [transforms[axis].coefficients for axis in axes])
        scale = Fraction(int(random.integers(1, 40)), 7)
        found.append(Measured(axes, lambda values=values: values, DiscreteLaplace(scale)))
    return found


def reader_of(transforms: Sequence[AxisTransform], tables: Sequence[Measured]) -> MarginalsReader:
    shape = [transform.size for transform in transforms]
    layer = Layer(Agreeing({i: ReadAxis.of(t) for i, t in enumerate(transforms)}, tables), {})
    listed = tuple(SmallTable.of(*table.axes) for table in tables)
    return MarginalsReader(schema_of(shape), listed, (layer,))


@pytest.mark.parametrize("transforms", [PLAIN, TREES], ids=["plain", "trees"])
@pytest.mark.parametrize("where", WHERE)
def test_an_answer_its_variance_and_all_weights_are_those_of_dense_least_squares(
    where: str, transforms: tuple[AxisTransform, ...]
) -> None:
    tables = measured(transforms, TABLES, seed=1)
    dense, reader = DenseTables(transforms, tables), reader_of(transforms, tables)
    boxes = parse_where(where, reader.schema)
    value, law = reader.count(boxes)
    assert (value, law.variance) == pytest.approx(dense.count(boxes), rel=1e-9, abs=1e-9)
    mine = sorted(size for size, _, count in law.terms for _ in range(count))
    theirs = sorted(size for size in np.abs(dense.weights(boxes)) if size > 1e-12)
    assert mine == pytest.approx(theirs, rel=1e-9)


AXES = st.one_of(
    st.integers(1, 4).map(Identity),
    st.sampled_from([(5, (2, 3)), (4, (2, 2)), (3, (2, 2)), (6, (3, 2))]).flatmap(
        lambda given: st.booleans().map(lambda root: Tree.mixed(*given, root=root))
    ),
)


@st.composite
def some_tables(draw: st.DrawFn) -> tuple[list[AxisTransform], list[tuple[int, ...]]]:
    transforms = draw(st.lists(AXES, min_size=1, max_size=4))
    subsets = [s for k in range(1, 4) for s in itertools.combinations(range(len(transforms)), k)]
    return transforms, draw(st.lists(st.sampled_from(subsets), min_size=1, max_size=6))


# A table of its own, one inside another, and two with the same attributes; what is asked is a part
# of the cells of one of them: numbers of these.
SOME = (
    [Identity(3), Tree.mixed(5, (2, 3), root=True), Identity(2)],
    [(0, 1), (1, 2), (0, 2), (1,)],
)
TWICE = ([Identity(2), Identity(2), Identity(4)], [(0, 2), (0, 2), (0, 1, 2)])


@given(some_tables(), st.integers(0, 2**20), st.integers(0, 5), st.sets(st.integers(0, 30)))
@example(SOME, 1, 0, {0, 1, 7})
@example(SOME, 2, 1, {3})
@example(TWICE, 3, 2, {1, 2, 4, 9})
@example(TWICE, 4, 0, set())
@settings(max_examples=40)
def test_any_part_of_a_table_is_answered_as_by_dense_least_squares(
    case: tuple[list[AxisTransform], list[tuple[int, ...]]], seed: int, which: int, some: set[int]
) -> None:
    transforms, listed = case
    tables = measured(transforms, listed, seed)
    dense, reader = DenseTables(transforms, tables), reader_of(transforms, tables)
    axes = listed[which % len(listed)]
    lengths = [dense.shape[axis] for axis in axes]
    numbers = sorted({number % math.prod(lengths) for number in some})
    boxes = []
    for codes in zip(*np.unravel_index(np.array(numbers, np.int64), lengths), strict=True):
        sets = list(Box.full(dense.shape).sets)
        for axis, code in zip(axes, codes, strict=True):
            sets[axis] = CodeSet.single(int(code))
        boxes.append(Box(tuple(sets)))
    value, law = reader.count(tuple(boxes))
    assert (value, law.variance) == pytest.approx(dense.count(boxes), rel=1e-8, abs=1e-7)
    assert_the_weights_are(law, [(dense, 1.0)], boxes)


def assert_the_weights_are(
    law: NoiseSum, told: Sequence[tuple[DenseTables, float]], boxes: Sequence[Box]
) -> None:
    """The weights of an average of dense answers, noise by noise."""
    theirs: dict[DiscreteLaplace, list[float]] = {}
    for dense, share in told:
        for table, weights in zip(dense.tables, dense.weights_by_table(boxes), strict=True):
            theirs.setdefault(table.noise, []).extend((share * np.abs(weights)).tolist())
    for noise, sizes in theirs.items():
        mine = sorted(w for w, one, count in law.terms if one == noise for _ in range(count))
        mine = [0.0] * (len(sizes) - len(mine)) + mine
        assert mine == pytest.approx(sorted(sizes), rel=1e-7, abs=1e-10)
    assert {noise for _, noise, _ in law.terms} <= theirs.keys()


# ── layers ───────────────────────────────────────────────────────────────────────────────────────

LEVELS = Schema.from_dict(
    {
        "name": "t",
        "budget": "9",
        "attribute": [
            {"name": "a", "kind": "ordinal", "range": [0, 2]},
            {"name": "job", "kind": "nominal", "tree": {"office": ["x", "y"], "field": ["z", "w"]}},
            {"name": "c", "kind": "ordinal", "range": [0, 1]},
        ],
    }
)


@dataclass(frozen=True)
class Grouped:
    """An axis of which groups of codes are counted, for the dense oracle."""

    groups: tuple[int, ...]

    @property
    def size(self) -> int:
        return len(self.groups)

    def matrix(self) -> NDArray[np.float64]:
        return np.equal.outer(np.unique(self.groups), self.groups).astype(float)


@pytest.mark.parametrize(
    ("where", "layers"),
    [
        ("", 2),
        ("job = 'office'", 2),
        ("a = 1 AND job = 'field'", 2),
        ("a = 1 OR job = 'office'", 2),
        ("NOT (a = 2 AND job = 'field')", 2),
        ("job = 'x'", 1),
        ("job = 'x' AND a > 0", 1),
    ],
)
def test_layers_are_averaged_by_their_variances_each_read_as_by_dense_least_squares(
    where: str, layers: int
) -> None:
    tables = parse_tables("a+job@1, job+c, a+job, c+job@1", LEVELS)
    assert layers_of(tables) == [[0, 3], [1, 2]]
    noises = [DiscreteLaplace(Fraction(n, 3)) for n in (4, 9, 2, 31)]
    random = np.random.default_rng(5)
    values = [random.integers(-5, 50, table.shape(LEVELS)) for table in tables]
    reads = [lambda found=found: found for found in values]
    reader = MarginalsReader.of(LEVELS, tables, noises, reads, {})
    listed = [Measured(t.axes, r, n) for t, r, n in zip(tables, reads, noises, strict=True)]
    fine, coarse = map(Identity, LEVELS.shape), (Identity(3), Grouped((0, 0, 1, 1)), Identity(2))
    dense = [
        DenseTables(coarse, [listed[0], listed[3]]),
        DenseTables(tuple(fine), [listed[1], listed[2]]),
    ][-layers:]
    boxes = parse_where(where, LEVELS)
    value, law = reader.count(boxes)
    found = [one.count(boxes) for one in dense]
    precision = np.array([1 / variance for _, variance in found])
    shares = precision / precision.sum()
    assert value == pytest.approx(float(shares @ [answer for answer, _ in found]), rel=1e-9)
    assert law.variance == pytest.approx(1 / precision.sum(), rel=1e-9)
    assert_the_weights_are(law, list(zip(dense, shares.tolist(), strict=True)), boxes)


@pytest.mark.parametrize("transforms", [PLAIN, TREES], ids=["plain", "trees"])
def test_many_ranges_at_once_are_those_asked_one_by_one(
    transforms: tuple[AxisTransform, ...],
) -> None:
    shape = SHAPE
    reader = reader_of(transforms, measured(transforms, TABLES, seed=2))
    random = np.random.default_rng(3)
    starts, stops = np.zeros((60, 4), np.int64), np.tile(shape, (60, 1))
    for row in range(60):
        for axis in TABLES[row % len(TABLES)]:
            starts[row, axis] = random.integers(0, shape[axis])
            stops[row, axis] = random.integers(starts[row, axis] + 1, shape[axis] + 1)
    values, variances = reader.ranges(starts, stops)
    _, low, high = reader.range_intervals(starts, stops, 0.9)
    for row in range(60):
        ends = zip(starts[row].tolist(), stops[row].tolist(), strict=True)
        value, law = reader.count((Box(tuple(CodeSet.of(pair) for pair in ends)),))
        assert (value, law.variance) == pytest.approx((values[row], variances[row]), rel=1e-9)
        half = law.half_width(0.9)
        assert (low[row], high[row]) == pytest.approx((value - half, value + half), abs=3e-4)


@pytest.mark.parametrize("transforms", [PLAIN, TREES], ids=["plain", "trees"])
def test_tables_agree_with_each_other(transforms: tuple[AxisTransform, ...]) -> None:
    layer = reader_of(transforms, measured(transforms, TABLES, seed=4)).layers[0]
    for one, other in itertools.combinations(TABLES, 2):
        shared = tuple(axis for axis in one if axis in other)
        sums = [
            layer.table(axes).sum(axis=tuple(i for i, a in enumerate(axes) if a not in shared))
            for axes in (one, other)
        ]
        assert sums[0] == pytest.approx(sums[1], rel=1e-9)
        assert sums[0] == pytest.approx(layer.table(shared), rel=1e-9)


def test_what_no_table_has_is_refused_with_the_nearest_tables() -> None:
    reader = reader_of(PLAIN, measured(PLAIN, TABLES, seed=5))
    with pytest.raises(QueryError, match=r"tells b and c and d together.*b\+c, c\+d"):
        reader.count(parse_where("b = 1 AND c = 1 AND d = 1", reader.schema))


def test_the_stated_variance_is_the_published_closed_form() -> None:
    """Σ V(R)·Π(1 − 1/n)/P(T∖R)², cell by cell."""
    shape = (2, 3, 4)
    transforms = tuple(map(Identity, shape))
    tables = measured(transforms, [(0, 1), (1, 2)], seed=6)
    agreeing = Agreeing({i: ReadAxis.of(axis) for i, axis in enumerate(transforms)}, tables)
    total = 0.0
    for part in ((), (0,), (1,), (0, 1)):
        within = math.prod(1 - 1 / shape[axis] for axis in part)
        beside = math.prod(shape[axis] for axis in (0, 1) if axis not in part)
        total += agreeing.part_variance(part) * within / beside**2
    cell = np.zeros((1, 2), np.int64)
    found = agreeing.range_variances((0, 1), cell, cell + 1)
    assert found[0] == pytest.approx(total, rel=1e-12)
