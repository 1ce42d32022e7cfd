"""What the coverage attack asks: small and middling tables, and all kinds of questions of them.

Every table of counts is one of a few shapes that are hard on somebody: nothing at all, the same
count everywhere (a filter hides all of it), one peak, correlated clusters, and a checkerboard,
which no model of few attributes sees.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.evaluation.range_queries import random_ranges
from hushtable.query.aggregate import (
    Aggregate,
    Arithmetic,
    Count,
    Mean,
    Named,
    Quantile,
    Spread,
    Sum,
)
from hushtable.query.batch import range_boxes
from hushtable.query.box import Box, Boxes, CodeSet
from hushtable.query.grouping import COUNT, Group, Query
from hushtable.schema import IntegerRange, Schema

CellCounts = NDArray[np.int64]

SHAPES = ("empty", "flat", "peak", "clusters", "checkerboard")

FLAT = 60
"""In every cell of a flat table: a whole number of people that a filter may hide."""
PEAK = 2000
PEOPLE = 3000
RANGES = 12
UNIONS = 6
PAIRS = 4


@dataclass(frozen=True, eq=False)
class CaseQuestion:
    """A question, or a table of them, and which kind it is."""

    kind: str
    query: Query
    slow: bool = False
    """Whether it takes so long that only a few releases are asked."""

    def words(self, row: int) -> str:
        """One of its rows, for people."""
        return f"row {row + 1} of {self.kind}" if self.query.groups else self.kind


@dataclass(frozen=True, eq=False)
class Case:
    """A table of a schema, and what is asked of its releases."""

    name: str
    schema: Schema
    counts: CellCounts
    questions: tuple[CaseQuestion, ...]


def cases_of(schema: Schema, shapes: Sequence[str]) -> Iterator[Case]:
    """Tables of some shapes over a schema, with the same questions."""
    questions, tables = tuple(questions_of(schema)), tables_of(schema.shape)
    for shape in shapes:
        yield Case(f"{schema.name}, {shape}", schema, tables[shape], questions)


def tables_of(shape: tuple[int, ...]) -> dict[str, CellCounts]:
    """One table of each shape."""
    random = np.random.default_rng(1)
    peak = np.zeros(shape, np.int64)
    peak[tuple(size // 3 for size in shape)] = PEAK
    even = np.indices(shape).sum(axis=0) % 2 == 0
    return {
        "empty": np.zeros(shape, np.int64),
        "flat": np.full(shape, FLAT, np.int64),
        "peak": peak,
        "clusters": random.multinomial(PEOPLE, _clusters(shape, random).reshape(-1)).reshape(shape),
        "checkerboard": np.where(even, 2 * PEOPLE // even.size + 1, 0).astype(np.int64),
    }


def _clusters(shape: tuple[int, ...], random: np.random.Generator) -> NDArray[np.float64]:
    """The chances of a mixture of three products of steep marginals: attributes depend."""
    chances = np.zeros(shape)
    for _ in range(3):
        product = np.ones(shape)
        for axis, size in enumerate(shape):
            steep = random.permutation(1 / np.arange(1, size + 1) ** 1.5)
            product *= steep.reshape([-1 if i == axis else 1 for i in range(len(shape))])
        chances += product / product.sum() / 3
    return np.asarray(chances / chances.sum())


# ── questions ────────────────────────────────────────────────────────────────────────────────────


def questions_of(schema: Schema) -> Iterator[CaseQuestion]:
    """The total, cells, marginals, hierarchy nodes, ranges, and unions of boxes; of few attributes
    also complements, and groups of a part."""
    axes = range(len(schema.shape))
    yield CaseQuestion("the total", Query(_everything(schema)))
    yield CaseQuestion("cells", _grouped(schema, tuple(axes)))
    if len(axes) > 1:
        for axis in axes:
            yield CaseQuestion("values", _grouped(schema, (axis,)))
    if len(axes) > 2:
        for pair in itertools.combinations(axes, 2):
            yield CaseQuestion("pairs", _grouped(schema, pair))
    for axis, level in _levels(schema):
        yield CaseQuestion("nodes", _grouped(schema, (axis,), level))
    ranges = random_ranges(schema, RANGES, seed=2)
    for box in range_boxes(ranges.starts, ranges.stops):
        yield CaseQuestion("ranges", Query((box,)))
    random = np.random.default_rng(3)
    for _ in range(UNIONS):
        yield CaseQuestion("unions", Query(_union(schema.shape, random)))
    if len([size for size in schema.shape if size > 1]) > 2:
        yield from _of_two(schema)
    yield from _statistics(schema)


def _statistics(schema: Schema) -> Iterator[CaseQuestion]:
    """Shares, and of the first attribute that has numbers: sums, means, medians and deviations."""
    random = np.random.default_rng(5)
    shape, whole = schema.shape, Box.full(schema.shape).sets
    some = Count((_with(whole, {0: _codes(shape[0], random)}),))
    asked: dict[str, Aggregate] = {"shares": Arithmetic("/", some, Count())}
    numbers = [i for i, a in enumerate(schema.attributes) if isinstance(a.values, IntegerRange)]
    for axis in numbers[:1]:
        part = (_with(whole, {axis: _range(shape[axis], random)}),)
        asked |= {
            "sums": Sum(axis),
            "means": Mean(axis),
            "medians": Quantile(axis, 0.5),
            "deviations": Spread(axis, root=True, sample=False),
            "differences": Arithmetic("-", Mean(axis), Mean(axis, part)),
        }
    for kind, aggregate in asked.items():
        aggregates = (Named(kind, aggregate),)
        query = Query(_everything(schema), aggregates=aggregates, columns=(kind,))
        yield CaseQuestion(kind, query, slow=True)
    yield from _by_group(schema, asked["shares"], numbers[:1])


def _by_group(schema: Schema, share: Aggregate, numbers: Sequence[int]) -> Iterator[CaseQuestion]:
    """Shares and means of all values of one more attribute, the last, at once."""
    last = len(schema.shape) - 1
    if last in {0, *numbers}:
        return
    asked = [("shares by group", share), *(("means by group", Mean(axis)) for axis in numbers)]
    for kind, aggregate in asked:
        query = _grouped(schema, (last,))
        named = (Named(kind, aggregate),)
        yield CaseQuestion(kind, replace(query, aggregates=named, columns=(0, kind)), slow=True)


def _of_two(schema: Schema) -> Iterator[CaseQuestion]:
    """Ranges of two attributes, all that is outside of one, and the counts of one by the other.

    Where small tables are measured, others are mostly refused.
    """
    random = np.random.default_rng(4)
    shape, whole = schema.shape, Box.full(schema.shape).sets
    wide = [axis for axis, size in enumerate(shape) if size > 1]
    for _ in range(PAIRS):
        first, second = random.permutation(wide)[:2].tolist()
        ranges = {axis: _range(shape[axis], random) for axis in (first, second)}
        yield CaseQuestion("ranges", Query((_with(whole, ranges),)))
        left = {axis: codes.complement(shape[axis]) for axis, codes in ranges.items()}
        outside = ({first: left[first]}, {first: ranges[first], second: left[second]})
        yield CaseQuestion("complements", Query(tuple(_with(whole, some) for some in outside)))
        part = (_with(whole, {first: _codes(shape[first], random)}),)
        yield CaseQuestion("groups", replace(_grouped(schema, (second,)), boxes=part))


def _range(size: int, random: np.random.Generator) -> CodeSet:
    """Codes that follow one another: not all, and at least one."""
    start = int(random.integers(size))
    return CodeSet.of((start, int(random.integers(start + 1, size + (start > 0)))))


def _everything(schema: Schema) -> Boxes:
    return (Box.full(schema.shape),)


def _grouped(schema: Schema, axes: tuple[int, ...], level: int | None = None) -> Query:
    names = [schema.attributes[axis].name for axis in axes]
    groups = tuple(Group(axis, level, name) for axis, name in zip(axes, names, strict=True))
    return Query(_everything(schema), groups, columns=(*range(len(groups)), COUNT))


def _levels(schema: Schema) -> Iterator[tuple[int, int]]:
    """The levels between the root and the leaves of every hierarchy."""
    for axis, attribute in enumerate(schema.attributes):
        if attribute.hierarchy is not None:
            for level in range(1, attribute.hierarchy.height):
                yield axis, level


def _union(shape: tuple[int, ...], random: np.random.Generator) -> Boxes:
    """A or B: codes A of one attribute, or codes B of another; as disjoint boxes."""
    first = int(random.integers(len(shape)))
    chosen = [_codes(size, random) for size in shape]
    whole = Box.full(shape).sets
    boxes = [_with(whole, {first: chosen[first]})]
    if len(shape) > 1:
        second = (first + 1) % len(shape)
        rest = chosen[first].complement(shape[first])
        boxes.append(_with(whole, {first: rest, second: chosen[second]}))
    return tuple(box for box in boxes if box.cells)


def _with(sets: tuple[CodeSet, ...], changed: dict[int, CodeSet]) -> Box:
    return Box(tuple(changed.get(axis, codes) for axis, codes in enumerate(sets)))


def _codes(size: int, random: np.random.Generator) -> CodeSet:
    """A third of the codes, at least one."""
    picked = random.permutation(size)[: max(size // 3, 1)]
    return CodeSet.union_of(CodeSet.single(int(code)) for code in picked)


# ── schemas ──────────────────────────────────────────────────────────────────────────────────────

_JOB = {
    "name": "job",
    "kind": "nominal",
    "tree": {"office": ["clerk", "boss"], "field": ["farmer", "driver", "miner"]},
}
_MIDDLING: dict[str, list[dict[str, Any]]] = {
    "line": [{"name": "age", "kind": "ordinal", "range": [0, 63]}],
    "census": [
        {"name": "age", "kind": "ordinal", "range": [0, 7]},
        _JOB,
        {"name": "sex", "kind": "ordinal", "labels": ["f", "m"], "outside": "other"},
    ],
    "visits": [
        {"name": "age", "kind": "ordinal", "range": [0, 5]},
        _JOB,
        {"name": "sex", "kind": "ordinal", "labels": ["f", "m"]},
        {"name": "again", "kind": "ordinal", "labels": ["no", "yes"]},
    ],
    "flags": [{"name": name, "kind": "ordinal", "labels": ["0", "1"]} for name in "abcde"],
}
MIDDLING = tuple(_MIDDLING)
_EXPOSED: dict[str, dict[str, Any]] = {
    "visits": {"neighbours": "replace-one", "unit": {"column": "person", "max_rows": 3}}
}


@cache
def middling(name: str) -> Schema:
    """A schema of some dozens of cells by name."""
    exposed = _EXPOSED.get(name, {})
    return Schema.from_dict(
        {"name": name, "budget": "1000", **exposed, "attribute": _MIDDLING[name]}
    )
