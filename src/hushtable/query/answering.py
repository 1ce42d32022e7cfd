"""From a parsed question to its table: the groups, their aggregates, HAVING, ORDER BY and LIMIT.

Counts of groups along axes are asked of a reader all at once. Whatever else is asked, of groups or
of their rows, is asked group by group.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.query.aggregate import Aggregate, Compared, Count, Having, Joined, Negated
from hushtable.query.box import Box, Boxes, CodeSet, common
from hushtable.query.cutting import Cuts, all_codes, held_by_group
from hushtable.query.extent import clipping_of, extent_of
from hushtable.query.grouping import Group, Query, cases_of, group_nodes, projection
from hushtable.query.reader import Answering, Estimates, LawTable
from hushtable.query.result import Label, Measure, ResultTable
from hushtable.query.statistics import RowLaw, grouped, statistic
from hushtable.schema import Attribute, IntegerRange, Schema

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def answer_query(
    reader: Answering,
    schema: Schema,
    query: Query,
    *,
    confidence: float = 0.95,
    simultaneous: bool = False,
    note: str = "",
) -> ResultTable:
    """The table that a question asks for; its rows must be few enough (`check_row_cap`)."""
    asked = [GroupedRows.of(reader, schema, query, positions) for positions in query.sets]
    names = [group.column for group in query.groups]
    table = ResultTable(
        groups={name: _joined([rows.labels[i] for rows in asked]) for i, name in enumerate(names)},
        measures={
            named.name: replace(
                Measure.joined([rows.measure(named.aggregate) for rows in asked]),
                extent=extent_of(named.aggregate, schema),
            )
            for named in query.aggregates
        },
        confidence=confidence,
        simultaneous=simultaneous,
        note=note,
        places={name: _joined([rows.places[i] for rows in asked]) for i, name in enumerate(names)},
    )
    shown = [name for name in query.columns if isinstance(name, str)]
    asked_for = (named.aggregate for named in query.aggregates if named.name in shown)
    table = replace(table, clipping=clipping_of(asked_for, schema))
    if query.having is not None:
        held = [rows.having(query.having) for rows in asked]
        table = table.chosen(np.concatenate(held))
    ordered = table.ordered(query.order, query.limit, query.offset)
    return ordered.select(query.selected, shown)


def _joined(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    return columns[0] if len(columns) == 1 else np.concatenate(columns)


@dataclass(frozen=True, eq=False)
class GroupedRows:
    """The rows of one grouping set, and what can be asked of them."""

    reader: Answering
    schema: Schema
    query: Query
    labels: list[NDArray[np.object_]]
    """Of every group column; None where this set does not have it."""
    places: list[NDArray[np.intp]]
    cuts: Cuts | None
    """Where the groups cut axes, if they all do, each another one."""
    shown: NDArray[np.intp]
    """Which combinations of groups hold a cell: SQL shows no others, but one row without groups."""
    combinations: list[list[Boxes]]
    """The boxes of every group of every column, where groups do not cut axes."""

    @classmethod
    def of(
        cls, reader: Answering, schema: Schema, query: Query, positions: Sequence[int]
    ) -> GroupedRows:
        groups = [query.groups[i] for i in positions]
        axes = [group.axis for group in groups if isinstance(group, Group)]
        if len(set(axes)) == len(groups):
            return cls._along_axes(reader, schema, query, positions)
        return cls._of_cases(reader, schema, query, positions)

    @classmethod
    def _along_axes(
        cls, reader: Answering, schema: Schema, query: Query, positions: Sequence[int]
    ) -> GroupedRows:
        names, cuts = [], []
        for position in positions:
            group = query.groups[position]
            assert isinstance(group, Group)
            within = projection(query.boxes, group.axis)
            along, ranges = _groups_along(schema.attributes[group.axis], group.level, within)
            names.append(along)
            cuts.append((group.axis, ranges))
        shown = np.flatnonzero(held_by_group(query.boxes, cuts)) if cuts else np.zeros(1, np.intp)
        labels, places = _spread_out(names, shown, positions, len(query.groups))
        return cls(reader, schema, query, labels, places, cuts, shown, [])

    @classmethod
    def _of_cases(
        cls, reader: Answering, schema: Schema, query: Query, positions: Sequence[int]
    ) -> GroupedRows:
        cases = [cases_of(query.groups[i], query.boxes, schema) for i in positions]
        combinations = [[case.boxes for case in along] for along in cases]
        held = [bool(_common(query.boxes, boxes)) for boxes in itertools.product(*combinations)]
        names = [_objects([case.label for case in along]) for along in cases]
        shown = np.flatnonzero(held)
        labels, places = _spread_out(names, shown, positions, len(query.groups))
        return cls(reader, schema, query, labels, places, None, shown, combinations)

    def measure(self, aggregate: Aggregate) -> Measure:
        """An aggregate of all rows."""
        if isinstance(aggregate, Count) and self.cuts is not None:
            boxes = self.query.boxes
            if aggregate.boxes is not None:
                boxes = common(boxes, aggregate.boxes)
            found = self.reader.group(boxes, self.cuts)
            return Measure.from_estimates(found).taken(self.shown)
        if (measure := self._at_once(aggregate)) is not None:
            return measure
        return Measure.of(
            [
                statistic(self.reader, self.schema, aggregate, rows, self.query.boxes)
                for rows in self.boxes()
            ]
        )

    def _at_once(self, aggregate: Aggregate) -> Measure | None:
        """Sums, means and shares of all groups together, where noise alone is their error."""
        if not self.cuts or not len(self.shown):
            return None
        groups = self.cuts, self.shown
        found = grouped(self.reader, self.schema, aggregate, self.query.boxes, *groups)
        if found is None:
            return None
        if isinstance(found, Estimates):
            return Measure.from_estimates(found)
        laws = LawTable(len(self.shown), lambda row: RowLaw(found, row), found)
        return Measure(found.values, laws, np.arange(len(self.shown)))

    def boxes(self) -> list[Boxes]:
        """The rows' disjoint boxes, one row after the other."""
        if self.cuts is None:
            every = list(itertools.product(*self.combinations))
            return [_common(self.query.boxes, every[i]) for i in self.shown.tolist()]
        sizes = [len(ranges) for _, ranges in self.cuts]
        found = []
        for place in zip(*np.unravel_index(self.shown, sizes), strict=True) if sizes else [()]:
            cut = {
                axis: CodeSet.of((int(ranges[i][0]), int(ranges[i][1])))
                for (axis, ranges), i in zip(self.cuts, place, strict=True)
            }
            found.append(_within(self.query.boxes, cut))
        return found

    def having(self, condition: Having) -> NDArray[np.bool_]:
        """Which rows satisfy a condition on their noisy values; what is not a number does not."""
        return self._having(condition, True)

    def _having(self, condition: Having, wanted: bool) -> NDArray[np.bool_]:
        match condition:
            case Compared(sign, left, right):
                one, other = self.measure(left).values, self.measure(right).values
                held = _COMPARISONS[sign](one, other)
                known = ~(np.isnan(one.astype(float)) | np.isnan(other.astype(float)))
                return np.asarray((held == wanted) & known)
            case Negated(operand):
                return self._having(operand, not wanted)
            case Joined(every, operands):
                held = [self._having(operand, wanted) for operand in operands]
                reduce = np.logical_and if every == wanted else np.logical_or
                return np.asarray(reduce.reduce(held))


def _within(boxes: Boxes, cut: dict[int, CodeSet]) -> Boxes:
    """What of disjoint boxes has some codes along some axes."""
    parts = (
        Box(
            tuple(
                codes.intersection(cut[axis]) if axis in cut else codes
                for axis, codes in enumerate(box.sets)
            )
        )
        for box in boxes
    )
    return tuple(box for box in parts if box.cells)


def _common(boxes: Boxes, cases: Sequence[Boxes]) -> Boxes:
    for case in cases:
        boxes = common(boxes, case)
    return boxes


def _spread_out(
    names: list[NDArray[np.object_]],
    shown: NDArray[np.intp],
    positions: Sequence[int],
    columns: int,
) -> tuple[list[NDArray[np.object_]], list[NDArray[np.intp]]]:
    """The labels of the rows that are shown, and where they stand in the order of their column.

    Columns that a grouping set does not have are NULL, and stand last.
    """
    along = np.unravel_index(shown, [len(of) for of in names]) if names else ()
    held = {i: (of[place], place) for i, of, place in zip(positions, names, along, strict=True)}
    nothing = np.full(len(shown), None, object), np.full(len(shown), 2**40, np.intp)
    found = [held.get(i, nothing) for i in range(columns)]
    return [labels for labels, _ in found], [np.asarray(place, np.intp) for _, place in found]


def _objects(labels: Sequence[Label]) -> NDArray[np.object_]:
    found = np.empty(len(labels), object)
    found[:] = labels
    return found


def _groups_along(
    attribute: Attribute, level: int | None, within: CodeSet
) -> tuple[NDArray[np.object_], NDArray[np.int64]]:
    """The labels of the groups that meet a set of codes, and their ranges of codes."""
    if level is None:
        codes = all_codes(within)
        return _labels(attribute, codes), np.stack([codes, codes + 1], axis=1)
    nodes = group_nodes(attribute, level, within)
    ranges = np.array([(node.start, node.stop) for node in nodes], np.int64)
    return _objects([node.label for node in nodes]), ranges


def _labels(attribute: Attribute, codes: NDArray[np.int64]) -> NDArray[np.object_]:
    """What each code stands for, None for nulls and undeclared values."""
    if isinstance(attribute.values, IntegerRange):
        labels = (codes + attribute.values.low).astype(object)
    else:
        last = attribute.declared - 1
        label = attribute.values.label
        labels = np.array([label(min(code, last)) for code in codes.tolist()], object)
    if attribute.other is not None:
        labels[codes == attribute.other] = None
    return labels
