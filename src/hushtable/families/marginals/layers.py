"""Layers: small tables that are read together, because every attribute stands at one level in them.

Where an attribute stands at several levels there are several layers, each read by least squares.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats, Integers
from hushtable.errors import QueryError
from hushtable.families.marginals.asked import Asked, rows_asked, weights_asked
from hushtable.families.marginals.axes import ReadAxis
from hushtable.families.marginals.least_squares import Agreeing, Axes, Measured
from hushtable.families.marginals.tables import (
    MOST_AXES,
    MOST_LAYERS,
    MOST_TABLES,
    SmallTable,
    Transforms,
    groups_at,
    transform_at,
)
from hushtable.query.batch import accumulate, box_sums
from hushtable.query.box import Box, Boxes, CodeSet
from hushtable.query.cutting import AxisRanges, Cuts
from hushtable.query.sums import sums_by_group
from hushtable.query.weighing import WeighedBox, Weighing, factors_of
from hushtable.schema import Schema


@dataclass(frozen=True, eq=False)
class Layer:
    """Tables that are read together; of an attribute at a level, where its groups of codes end."""

    agreeing: Agreeing
    edges: Mapping[int, Integers]
    _tables: dict[Axes, Floats] = field(default_factory=dict)
    _sums: dict[Axes, Floats] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        schema: Schema,
        tables: Sequence[SmallTable],
        measured: Sequence[Measured],
        transforms: Transforms,
    ) -> Layer:
        """Tables in which every attribute stands at one level."""
        every = {seen.axis: seen for table in tables for seen in table.seen}
        along = {
            axis: ReadAxis.of(transform_at(schema, seen, transforms))
            for axis, seen in every.items()
        }
        edges = {
            axis: _edges(groups_at(schema, seen))
            for axis, seen in every.items()
            if seen.level is not None
        }
        return cls(Agreeing(along, measured), edges)

    def table(self, axes: Axes) -> Floats:
        """The estimated table of some attributes."""
        if axes not in self._tables:
            self._tables[axes] = self.agreeing.table(axes)
        return self._tables[axes]

    def sums(self, axes: Axes) -> Floats:
        """The same table, each cell with all that come before it along every axis."""
        if axes not in self._sums:
            table = self.table(axes)
            self._sums[axes] = accumulate(table.copy()) if axes else table
        return self._sums[axes]

    def places(self, axis: int, ends: Integers) -> Integers | None:
        """Ends of ranges of codes as ends of ranges of groups; None where one cuts a group."""
        if axis not in self.edges:
            return ends
        edges = self.edges[axis]
        found = np.searchsorted(edges, ends)
        return found if np.array_equal(edges[found], ends) else None

    def fits(self, axes: Axes, starts: Integers, stops: Integers) -> NDArray[np.bool_]:
        """Which of many boxes over these axes can be answered: those that cut no group of codes."""
        fit = np.full(len(starts), self.agreeing.answers(axes))
        for axis in set(axes) & self.edges.keys():
            for ends in (starts[:, axis], stops[:, axis]):
                fit &= np.isin(ends, self.edges[axis])
        return fit

    def ranges(self, axes: Axes, starts: Integers, stops: Integers) -> tuple[Floats, Floats]:
        """The estimated counts of boxes that fit, and their noise variances."""
        low, high = self._groups(axes, starts), self._groups(axes, stops)
        return box_sums(self.sums(axes), low, high), self.agreeing.range_variances(axes, low, high)

    def range_variances(self, axes: Axes, starts: Integers, stops: Integers) -> Floats:
        """The noise variances of boxes that fit."""
        low, high = self._groups(axes, starts), self._groups(axes, stops)
        return self.agreeing.range_variances(axes, low, high)

    def _groups(self, axes: Axes, ends: Integers) -> Integers:
        """Ends of boxes in groups of codes, which they do not cut."""
        found = ends[:, list(axes)]
        for place, axis in enumerate(axes):
            if axis in self.edges:
                found[:, place] = np.searchsorted(self.edges[axis], found[:, place])
        return found

    def box(self, axes: Axes, box: Box) -> Box | None:
        """A box along some axes, as groups of codes; None where it cuts one."""
        sets = []
        for axis in axes:
            ends = self.places(axis, ends_of(box.sets[axis].intervals))
            if ends is None:
                return None
            sets.append(CodeSet.of(*((start, stop) for start, stop in ends.tolist())))
        return Box(tuple(sets))

    def weights(self, part: WeighedBox, axis: int, size: int) -> Floats | None:
        """What the groups of an axis count in a weighed box; None where one is cut."""
        weights = part.weights(axis, size)
        if axis not in self.edges:
            return weights
        first = weights[self.edges[axis][:-1]]
        return (
            first if np.array_equal(np.repeat(first, np.diff(self.edges[axis])), weights) else None
        )


@dataclass(frozen=True, eq=False)
class LayerWeighing:
    """A linear question, as one layer sees it: what its groups count along the axes of each box."""

    layer: Layer
    factors: Floats
    along: tuple[Mapping[int, Floats], ...]

    @classmethod
    def of(cls, layer: Layer, shape: Sequence[int], weighing: Weighing) -> LayerWeighing | None:
        """None where a layer does not have the attributes of a box, or not so finely."""
        along = []
        for part in weighing:
            axes = part.axes(shape)
            if not layer.agreeing.answers(axes):
                return None
            seen = {axis: layer.weights(part, axis, shape[axis]) for axis in axes}
            if any(weights is None for weights in seen.values()):
                return None
            along.append({axis: weights for axis, weights in seen.items() if weights is not None})
        return cls(layer, factors_of(weighing), tuple(along))

    def asked(self) -> Asked:
        """What it asks of every axis that a box is about."""
        axes = tuple(sorted({axis for weights in self.along for axis in weights}))
        if len(axes) > MOST_AXES:
            raise QueryError("the question is about too many attributes; ask for its parts")
        found = []
        for axis in axes:
            read = self.layer.agreeing.along[axis]
            rows = [weights.get(axis, np.ones(read.size)) for weights in self.along]
            found.append(weights_asked(read, np.stack(rows)))
        return Asked(axes, tuple(found), tuple(self.factors.tolist()))

    def value(self) -> float:
        """The estimated answer."""
        return math.fsum(
            factor * self._sum(weights)
            for factor, weights in zip(self.factors.tolist(), self.along, strict=True)
        )

    def _sum(self, along: Mapping[int, Floats]) -> float:
        table = self.layer.table(tuple(along))
        for weights in reversed(list(along.values())):
            table = table @ weights
        return float(table)


@dataclass(frozen=True, eq=False)
class LayerQuestion:
    """Boxes and cuts over a few axes, as one layer sees them."""

    layer: Layer
    axes: Axes
    boxes: tuple[Box, ...]
    cuts: Cuts
    """Axes are numbered within `axes`."""

    @classmethod
    def of(cls, layer: Layer, axes: Axes, boxes: Boxes, cuts: Cuts) -> LayerQuestion | None:
        """None where a layer does not have these attributes, or not so finely."""
        if not layer.agreeing.answers(axes):
            return None
        ends = [layer.places(axis, ends_of(ranges)) for axis, ranges in cuts]
        found = [one for one in ends if one is not None]
        seen = [layer.box(axes, box) for box in boxes]
        held = [box for box in seen if box is not None]
        if len(held) < len(boxes) or len(found) < len(cuts):
            return None
        numbered = [axes.index(axis) for axis, _ in cuts]
        return cls(layer, axes, tuple(held), list(zip(numbered, found, strict=True)))

    def rows(self) -> tuple[list[Asked], NDArray[np.intp]]:
        """The distinct rows of the answer, and which of them each row is."""
        along = [self.layer.agreeing.along[axis] for axis in self.axes]
        return rows_asked(self.axes, self.boxes, self.cuts, along)

    def values(self) -> Floats:
        """The estimated counts, row by row."""
        return sums_by_group(self.layer.table(self.axes), self.boxes, self.cuts).reshape(-1)


def may_be_measured(tables: Sequence[SmallTable]) -> bool:
    """Whether tables are small enough, and few enough in number and levels, to be read."""
    if not tables or len(tables) > MOST_TABLES:
        return False
    few = all(0 < len(table.axes) <= MOST_AXES for table in tables)
    levels = {seen for table in tables for seen in table.seen if seen.level is not None}
    return few and (len(levels) == 0 or len(layers_of(tables, MOST_LAYERS + 1)) <= MOST_LAYERS)


def layers_of(tables: Sequence[SmallTable], most: int | None = None) -> list[list[int]]:
    """The tables in layers, each table in the first that it fits: every attribute has one level.

    With `most`, no more than so many layers are made.
    """
    layers: list[tuple[dict[int, int | None], list[int]]] = []
    for number, table in enumerate(tables):
        for levels, members in layers:
            if all(levels.get(axis, level) == level for axis, level in table.levels.items()):
                levels |= table.levels
                members.append(number)
                break
        else:
            layers.append((dict(table.levels), [number]))
            if len(layers) == most:
                break
    return [members for _, members in layers]


def _edges(groups: Integers) -> Integers:
    """Where each group of codes begins, and where the last one ends."""
    return np.searchsorted(groups, np.arange(int(groups[-1]) + 2))


def ends_of(ranges: AxisRanges | tuple[tuple[int, int], ...]) -> Integers:
    """Intervals as rows of two ends."""
    return np.array(ranges, np.int64).reshape(-1, 2)
