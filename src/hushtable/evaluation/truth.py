"""The true answers to many questions, from the rows or the cells of a table.

Small domains are laid out and added up once. Otherwise questions are put together by the attributes
they ask about: over those few the domain may be small enough, or each question looks at every cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Integers
from hushtable.evaluation.range_queries import Ranges
from hushtable.kernel.counting import CodedColumns, Counts
from hushtable.query.batch import accumulate, box_sums
from hushtable.query.box import Box, Boxes, CodeSet

# Domains up to here are laid out: 128 MiB of counts.
_LAID_OUT = 2**24


@dataclass(frozen=True, repr=False)
class TrueTable:
    """The codes of a table's rows, or of its cells, and how many rows each stands for."""

    shape: tuple[int, ...]
    columns: tuple[NDArray[Any], ...]
    counts: Integers

    @classmethod
    def of(cls, held: Counts | CodedColumns) -> TrueTable:
        """The table that was counted, or coded."""
        if isinstance(held, Counts):
            columns = np.unravel_index(held.codes, held.shape)
            return cls(held.shape, columns, held.counts)
        return cls(held.shape, held.columns, held.people_of_rows())

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self.counts.sum())

    def answers(self, ranges: Ranges, unions: Sequence[Boxes]) -> Integers:
        """How many rows are in each box, then in each union of boxes."""
        boxes = self._in_ranges(ranges.starts, ranges.stops)
        return np.concatenate([boxes, np.array([self._in_boxes(u) for u in unions], np.int64)])

    def _in_ranges(self, starts: Integers, stops: Integers) -> Integers:
        if _size(self.shape) <= _LAID_OUT:
            return self._laid_out(list(range(len(self.shape))), starts, stops)
        asked = (starts > 0) | (stops < np.array(self.shape))
        patterns, pattern_of = np.unique(asked, axis=0, return_inverse=True)
        found = np.empty(len(starts), np.int64)
        for i, pattern in enumerate(patterns):
            these = np.flatnonzero(pattern_of.reshape(-1) == i)
            axes = np.flatnonzero(pattern).tolist()
            low, high = starts[these][:, axes], stops[these][:, axes]
            found[these] = self._over(axes, low, high)
        return found

    def _over(self, axes: list[int], starts: Integers, stops: Integers) -> Integers:
        """Boxes over a few attributes, in the cheaper way."""
        if not axes:
            return np.full(len(starts), self.rows)
        cells, held = _size([self.shape[axis] for axis in axes]), len(self.counts)
        if cells <= min(_LAID_OUT, len(starts) * max(held, 1)):
            return self._laid_out(axes, starts, stops)
        pairs = zip(starts.tolist(), stops.tolist(), strict=True)
        return np.array([self._in_box(axes, low, high) for low, high in pairs], np.int64)

    def _laid_out(self, axes: list[int], starts: Integers, stops: Integers) -> Integers:
        shape = tuple(self.shape[axis] for axis in axes)
        dense = np.zeros(shape, np.int64)
        np.add.at(dense, tuple(self.columns[axis] for axis in axes), self.counts)
        return np.asarray(box_sums(accumulate(dense), starts, stops), np.int64)

    def _in_box(self, axes: list[int], low: list[int], high: list[int]) -> int:
        inside = np.ones(len(self.counts), bool)
        for axis, start, stop in zip(axes, low, high, strict=True):
            inside &= (self.columns[axis] >= start) & (self.columns[axis] < stop)
        return int(self.counts[inside].sum())

    def _in_boxes(self, boxes: Boxes) -> int:
        return sum(int(self.counts[self._of_box(box)].sum()) for box in boxes)

    def _of_box(self, box: Box) -> NDArray[np.bool_]:
        inside = np.ones(len(self.counts), bool)
        for column, codes, size in zip(self.columns, box.sets, self.shape, strict=True):
            if codes != CodeSet.full(size):
                # An odd number of ends at or before a code: it is in one of the intervals.
                ends = np.array(codes.intervals, np.int64).reshape(-1)
                inside &= np.searchsorted(ends, column, side="right") % 2 == 1
        return inside


def _size(shape: Sequence[int]) -> float:
    return float(np.prod(np.array(shape, np.float64)))
