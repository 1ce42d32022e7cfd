"""A parsed question: which cells, grouped how, what of each group; and the groups themselves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import QueryError
from hushtable.query.aggregate import Count, Having, Named
from hushtable.query.box import Box, Boxes, CodeSet, common
from hushtable.query.result import Order

if TYPE_CHECKING:
    from hushtable.schema import Attribute, Schema

COUNT = "count"
"""What COUNT(*) is called unless the query names it."""


@dataclass(frozen=True, slots=True)
class Group:
    """One GROUP BY term: an attribute, by value or at a level of its hierarchy."""

    axis: int
    level: int | None
    column: str


@dataclass(frozen=True, slots=True)
class Case:
    """One value of an expression, None for NULL, and the disjoint boxes in which it has it."""

    label: int | float | str | None
    boxes: Boxes


@dataclass(frozen=True, slots=True)
class Cases:
    """A GROUP BY term that is an expression, such as CASE …, by its values in ascending order.

    The boxes of different cases are disjoint, and NULL is the last of them.
    """

    column: str
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True)
class Query:
    """What a SELECT asks for."""

    boxes: Boxes
    groups: tuple[Group | Cases, ...] = ()
    aggregates: tuple[Named, ...] = (Named(COUNT, Count()),)
    """What is asked of each group; what only ORDER BY needs is not among the columns."""
    columns: tuple[int | str, ...] = (COUNT,)
    """The SELECT list: positions in `groups`, and names of aggregates."""
    having: Having | None = None
    order: tuple[Order, ...] = ()
    """ORDER BY terms; a column is a position in `groups`, or the name of an aggregate."""
    limit: int | None = None
    offset: int = 0
    grouping_sets: tuple[tuple[int, ...], ...] | None = None
    """Of ROLLUP and the like: the positions in `groups` of each set; None: all together."""

    @property
    def selected(self) -> tuple[str, ...]:
        """The names of the group columns to show, in the order of the SELECT list."""
        return tuple(self.groups[i].column for i in self.columns if isinstance(i, int))

    @property
    def count_name(self) -> str:
        """The name of the first aggregate that is shown."""
        return next(name for name in self.columns if isinstance(name, str))

    @property
    def sets(self) -> tuple[tuple[int, ...], ...]:
        """The positions in `groups` of each grouping set: one set, unless the query says more."""
        if self.grouping_sets is None:
            return (tuple(range(len(self.groups))),)
        return self.grouping_sets


class GroupNode(NamedTuple):
    """One group: its label (None for nulls and other values) and its codes start ≤ code < stop."""

    label: int | str | None
    start: int
    stop: int


def projection(boxes: Boxes, axis: int) -> CodeSet:
    """The codes of one attribute that occur in disjoint boxes."""
    return CodeSet.union_of(box.sets[axis] for box in boxes)


def group_count(attribute: Attribute, level: int | None, within: CodeSet | None = None) -> int:
    """How many groups there are, without listing them; `within` keeps those that meet a set."""
    if level is None:
        return attribute.size if within is None else within.count
    return len(group_nodes(attribute, level, within))


def group_nodes(
    attribute: Attribute, level: int | None, within: CodeSet | None = None
) -> list[GroupNode]:
    """The groups in code order, the null group last; `within` keeps those that meet a set."""
    if level is None:
        codes = CodeSet.full(attribute.size) if within is None else within
        return [
            GroupNode(attribute.label(code), code, code + 1)
            for start, stop in codes.intervals
            for code in range(start, stop)
        ]
    if attribute.hierarchy is None:
        raise QueryError(f"{attribute.name} has no hierarchy, so LEVEL does not apply to it")
    nodes = [GroupNode(n.label, n.start, n.stop) for n in attribute.hierarchy.level(level)]
    if attribute.other is not None:
        nodes.append(GroupNode(None, attribute.other, attribute.other + 1))
    if within is None:
        return nodes
    return [node for node, met in zip(nodes, _meets(nodes, within), strict=True) if met]


def cases_of(group: Group | Cases, boxes: Boxes, schema: Schema) -> list[Case]:
    """The groups of a GROUP BY term that meet disjoint boxes; call `check_row_cap` first."""
    if isinstance(group, Cases):
        return [case for case in group.cases if common(case.boxes, boxes)]
    whole = Box.full(schema.shape)
    within = projection(boxes, group.axis)
    return [
        Case(node.label, (whole.cut(group.axis, CodeSet.of((node.start, node.stop))),))
        for node in group_nodes(schema.attributes[group.axis], group.level, within)
    ]


def row_boxes(query: Query, schema: Schema) -> Iterator[tuple[tuple[int, ...], list[Case], Boxes]]:
    """Each row of a result: its grouping set, the case of each term, and what it holds of WHERE.

    Rows that hold no cell are left out, but for the one row of a query without groups.
    """
    parts = [cases_of(group, query.boxes, schema) for group in query.groups]
    for positions in query.sets:
        for cases in product(*(parts[i] for i in positions)):
            boxes = query.boxes
            for case in cases:
                boxes = common(boxes, case.boxes)
            if boxes or not positions:
                yield positions, list(cases), boxes


def check_row_cap(query: Query, schema: Schema, cap: int) -> None:
    """Refuse a GROUP BY that would give more rows than the cap, before listing any."""
    sizes = [_size(group, query.boxes, schema) for group in query.groups]
    rows = sum(prod(sizes[i] for i in positions) for positions in query.sets)
    if rows > cap:
        raise QueryError(
            f"GROUP BY would give {rows} rows, the cap is {cap}; "
            "group by fewer attributes or by LEVEL, narrow the WHERE, or raise the cap"
            f" (hush query --rows {rows}, row_cap in Python)",
            plainly=f"The answer would have {rows:,} rows, and at most {cap:,} are given at once."
            " Choose fewer attributes or wider groups, or only some of the people.",
        )


def _size(group: Group | Cases, boxes: Boxes, schema: Schema) -> int:
    if isinstance(group, Cases):
        return len(cases_of(group, boxes, schema))
    within = projection(boxes, group.axis)
    return group_count(schema.attributes[group.axis], group.level, within)


def _meets(nodes: list[GroupNode], codes: CodeSet) -> NDArray[np.bool_]:
    """Which nodes share a code with a set."""
    starts = np.array([start for start, _ in codes.intervals], dtype=np.int64)
    stops = np.array([stop for _, stop in codes.intervals], dtype=np.int64)
    node_starts = np.array([node.start for node in nodes], dtype=np.int64)
    node_stops = np.array([node.stop for node in nodes], dtype=np.int64)
    # Intervals that begin before the node's end, less those that are over before its start.
    begun = np.searchsorted(starts, node_stops, side="left")
    over = np.searchsorted(stops, node_starts, side="right")
    met: NDArray[np.bool_] = begun > over
    return met
