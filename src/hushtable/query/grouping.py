"""A parsed question: which cells, grouped how, in which order; and the groups themselves."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import QueryError
from hushtable.query.box import Boxes, CodeSet
from hushtable.query.result import Order

if TYPE_CHECKING:
    from hushtable.schema import Attribute, Schema

COUNT: Literal["count"] = "count"


@dataclass(frozen=True, slots=True)
class Group:
    """One GROUP BY term: an attribute, by value or at a level of its hierarchy."""

    axis: int
    level: int | None
    column: str


@dataclass(frozen=True, slots=True)
class Query:
    """What a SELECT asks for."""

    boxes: Boxes
    groups: tuple[Group, ...] = ()
    count_name: str = "count"
    order: tuple[Order, ...] = ()
    """ORDER BY terms; a column is a position in `groups`, or "count"."""
    limit: int | None = None
    offset: int = 0
    columns: tuple[int | Literal["count"], ...] = (COUNT,)
    """The SELECT list: positions in `groups`, and "count"."""

    @property
    def selected(self) -> tuple[str, ...]:
        """The names of the group columns to show, in the order of the SELECT list."""
        return tuple(self.groups[i].column for i in self.columns if i != COUNT)


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


def query_nodes(query: Query, schema: Schema) -> list[list[GroupNode]]:
    """The groups of each GROUP BY term that the WHERE clause leaves; call `check_row_cap` first."""
    return [
        group_nodes(schema.attributes[g.axis], g.level, projection(query.boxes, g.axis))
        for g in query.groups
    ]


def check_row_cap(query: Query, schema: Schema, cap: int) -> None:
    """Refuse a GROUP BY that would give more rows than the cap, before listing any."""
    rows = prod(
        group_count(schema.attributes[g.axis], g.level, projection(query.boxes, g.axis))
        for g in query.groups
    )
    if rows > cap:
        raise QueryError(
            f"GROUP BY would give {rows} rows, the cap is {cap}; "
            "group by fewer attributes or by LEVEL, narrow the WHERE, or raise the cap"
            f" (hush query --rows {rows}, row_cap in Python)"
        )


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
