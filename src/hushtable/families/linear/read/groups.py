"""Groups of codes along an axis, all at once: their sums, and which have the same weights.

The noise of a group follows from the weights of its coefficients, class by class, whatever their
places. Among thousands of groups only a few differ in them: the kinds of an axis' groups say which
may share a law, and no two groups of one kind differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats, Integers
from hushtable.families.linear.read.transforms import AxisReading
from hushtable.families.linear.rows import WeightRow, add_rows, numbered_rows
from hushtable.kernel.maps import Tents
from hushtable.query.box import CodeSet
from hushtable.query.cutting import AxisRanges

# So many intervals have a row of weights each; more are added up together.
_FEW = 8


@dataclass(frozen=True, eq=False)
class AxisGroups:
    """The codes of a set that each group has: intervals in order, and the group of each."""

    reading: AxisReading
    starts: Integers
    stops: Integers
    owner: Integers
    groups: int

    @classmethod
    def of(cls, reading: AxisReading, codes: CodeSet, ranges: AxisRanges | None) -> AxisGroups:
        """The groups of some ranges; without any, all codes are one group."""
        inside = np.array(codes.intervals, np.int64).reshape(-1, 2)
        if ranges is None:
            return cls(reading, inside[:, 0], inside[:, 1], np.zeros(len(inside), np.int64), 1)
        ends = np.array(ranges, np.int64).reshape(-1, 2)
        first = np.searchsorted(inside[:, 1], ends[:, 0], side="right")
        meet = np.searchsorted(inside[:, 0], ends[:, 1], side="left") - first
        meet = np.maximum(meet, 0)
        owner = np.repeat(np.arange(len(ends)), meet)
        which = np.arange(len(owner)) + np.repeat(first - np.cumsum(meet) + meet, meet)
        starts = np.maximum(inside[which, 0], ends[owner, 0])
        stops = np.minimum(inside[which, 1], ends[owner, 1])
        return cls(reading, starts, stops, owner, len(ends))

    @property
    def _few(self) -> bool:
        return len(self.starts) <= _FEW or self.groups == 1

    @cached_property
    def _most(self) -> bool:
        """Whether groups are single codes, and so many that all are worked out as soon."""
        alone = self.single and len(self.owner) == self.groups
        return alone and 4 * self.groups >= self.reading.transform.size

    @property
    def single(self) -> bool:
        """Whether no group has more than one code."""
        each = bool(np.all(self.stops - self.starts == 1))
        return each and bool(np.all(np.diff(self.owner) > 0))

    def row(self, group: int) -> WeightRow:
        """The weights of one group."""
        mine = self.owner == group
        ends = zip(self.starts[mine].tolist(), self.stops[mine].tolist(), strict=True)
        return weights_of(self.reading, CodeSet(tuple(ends)))

    @cached_property
    def _rows(self) -> list[WeightRow]:
        """The weights of each group."""
        return [self.row(group) for group in range(self.groups)]

    @cached_property
    def touched(self) -> Integers:
        """The positions of the coefficients that some group needs, increasing."""
        if self._few:
            return union([row.positions for row in self._rows])
        if self._most:
            return np.arange(self.reading.transform.classes[-1].stop)
        return self.reading.touched(self.starts, self.stops)

    def sums(self, block: Floats, axis: int) -> Floats:
        """The estimated sum of each group along an axis of the coefficients that are touched."""
        if self._few:
            weights = np.stack([laid_out(row, self.touched) for row in self._rows])
            return np.moveaxis(np.tensordot(weights, block, axes=(1, axis)), 0, axis)
        if self._most:
            return self.reading.inverse(block, axis).take(self.starts, axis=axis)
        lines = np.moveaxis(block, axis, 0)
        found = self.reading.sums(lines, self.touched, self.starts, self.stops)
        if not np.array_equal(self.owner, np.arange(self.groups)):
            sums = np.zeros((self.groups, *found.shape[1:]))
            np.add.at(sums, self.owner, found)
            found = sums
        return np.moveaxis(found, 0, axis)


@dataclass(frozen=True, eq=False)
class OneSum:
    """A sum of weighed codes along an axis, in the place of its groups."""

    row: WeightRow

    groups = 1

    @property
    def touched(self) -> Integers:
        """The positions of the coefficients that it needs, increasing."""
        return self.row.positions

    def sums(self, block: Floats, axis: int) -> Floats:
        """The estimated sum along an axis of the coefficients that are touched."""
        return np.expand_dims(np.tensordot(self.row.weights, block, axes=(0, axis)), axis)


def kinds_of(boxes: Sequence[AxisGroups]) -> tuple[Integers, Integers]:
    """The kind of each group along an axis, and of each kind the first group.

    A group has a set of codes in each of several boxes. Where they are one interval, or nothing,
    only the boxes that have it and its weights matter: those of all boxes are multiples of them.
    Any other group is of a kind of its own.
    """
    groups = boxes[0].groups
    pieces = np.stack([np.bincount(box.owner, minlength=groups) for box in boxes])
    low, high = np.full((2, groups), -1, np.int64)
    for box in boxes:
        low[box.owner], high[box.owner] = box.starts, box.stops
    alike: NDArray[np.bool_] = np.asarray((pieces <= 1).all(axis=0))
    for box in boxes:
        same = (low[box.owner] == box.starts) & (high[box.owner] == box.stops)
        alike[box.owner[~same]] = False
    some = np.flatnonzero(alike & (high > 0))
    traits = boxes[0].reading.kinds(low[some], high[some])
    held = pieces[:, some].T.astype(traits.dtype)
    key = np.zeros(groups, np.int64)
    key[some] = 1 + numbered_rows(np.hstack([held, traits]))
    key[~alike] = -1 - np.flatnonzero(~alike)
    _, first, kinds = np.unique(key, return_index=True, return_inverse=True)
    return kinds.reshape(-1), first


def weights_of(axis: AxisReading, codes: CodeSet) -> WeightRow:
    """The weights of the coefficients of an axis in the sum over a set of codes."""
    return _long_row(axis, codes) if isinstance(axis.transform, Tents) else _row(axis, codes)


@lru_cache(maxsize=1 << 14)
def _row(axis: AxisReading, codes: CodeSet) -> WeightRow:
    return add_rows(axis.row(start, stop) for start, stop in codes.intervals)


@lru_cache(maxsize=64)
def _long_row(axis: AxisReading, codes: CodeSet) -> WeightRow:
    """The same where nearly all coefficients have a weight: few such rows are kept."""
    query = np.zeros(axis.transform.size)
    for start, stop in codes.intervals:
        query[start:stop] = 1
    weights = axis.rows(query)
    positions = np.flatnonzero(weights)
    return WeightRow(positions, weights[positions])


def union(positions: Sequence[NDArray[np.int64]]) -> Integers:
    """All positions that occur, increasing."""
    return positions[0] if len(positions) == 1 else np.unique(np.concatenate(positions))


def laid_out(row: WeightRow, positions: Integers) -> Floats:
    """A row's weights at given positions; those it does not have are zero."""
    weights = np.zeros(len(positions))
    where = np.searchsorted(positions, row.positions)
    inside = (where < len(positions)) & (row.positions >= (positions[0] if len(positions) else 0))
    inside[inside] = positions[where[inside]] == row.positions[inside]
    weights[where[inside]] = row.weights[inside]
    return weights
