"""Answers from a dense matrix of noisy cells: sums over boxes, and the law of their noise.

Every cell has independent discrete Laplace noise of one scale, so the noise of a sum of k cells is
the sum of k of them, whatever the cells.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import QueryError
from hushtable.query.box import Box, CodeSet, Interval, Region, cells
from hushtable.query.law import DiscreteLaplaceSum, NoiseLaw

NOTE = "sum of noisy cells"

# Boxes are added up in pieces that span at most this many cells, which bounds the memory.
_PIECE = 2**24

ReadBox = Callable[..., NDArray[Any]]
"""Reads the box that slices, one per axis, cut out of the matrix."""

Ranges = Sequence[Interval] | NDArray[np.int64]
"""Disjoint ranges of codes start ≤ code < stop, in the order of the codes."""

Groups = Sequence[tuple[int, Ranges]]
"""For each grouped axis, its groups."""


@dataclass(frozen=True)
class Estimates:
    """The answers to a group of questions: values, and the law of each one's noise."""

    values: NDArray[Any]
    laws: tuple[NoiseLaw, ...]
    law_of_row: NDArray[np.intp]

    def only(self) -> tuple[float, NoiseLaw]:
        """The one answer, where nothing was grouped."""
        return self.values[0].item(), self.laws[self.law_of_row[0]]


@dataclass(frozen=True)
class NoisyCells:
    """A matrix of noisy counts, all with noise of the same scale."""

    read: ReadBox
    scale: Fraction

    note = NOTE
    estimate = False

    def law(self, region: Region) -> NoiseLaw:
        """The law of the noise in the count of a region."""
        return DiscreteLaplaceSum(self.scale, cells(region))

    def count(self, region: Region) -> tuple[int, NoiseLaw]:
        """The noisy count of a region, and the law of its noise."""
        return int(self._sums(region, ())), self.law(region)

    def group(self, region: Region, groups: Groups) -> Estimates:
        """The noisy count of a region cut by groups of codes along some axes.

        Rows run through the groups with the last axis fastest.
        """
        values = self._sums(region, groups)
        distinct, law_of_row = np.unique(cells_by_group(region, groups), return_inverse=True)
        laws = tuple(DiscreteLaplaceSum(self.scale, int(count)) for count in distinct)
        return Estimates(values.reshape(-1), laws, law_of_row)

    def cells(self) -> NDArray[Any]:
        """The noisy count of every cell."""
        return self.read()

    def cell_variances(self, codes: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
        """The noise variance of each of many cells: all have the same."""
        return np.full(len(codes[0]), DiscreteLaplaceSum(self.scale, 1).variance)

    def fresh_cells(self) -> NDArray[np.int64]:
        """The noisy count of every cell, in memory of its own."""
        return np.array(self.read(), np.int64)

    def range_variances(
        self, starts: NDArray[np.int64], stops: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """The noise variance of each of many boxes: so many cells' worth."""
        sizes = np.prod((stops - starts).astype(np.float64), axis=1)
        return np.asarray(sizes * DiscreteLaplaceSum(self.scale, 1).variance)

    def _sums(self, region: Region, groups: Groups) -> NDArray[np.int64]:
        """The sums over a region by group, in the order of `groups`."""
        sums = np.zeros([len(ranges) for _, ranges in groups], np.int64)
        bound = 0
        for box in region:
            for piece in _pieces(box):
                matrix = self.read(*_hull(piece))
                bound += piece.cells * (np.iinfo(matrix.dtype).max + 1)
                sums += _piece_sums(matrix, piece, groups)
        if bound > np.iinfo(np.int64).max:
            self._refuse_overflow(region, groups)
        return sums

    def _refuse_overflow(self, region: Region, groups: Groups) -> None:
        """Refuse sums that wrap around 64 bits: no honest noise is so large."""
        rough = np.zeros([len(ranges) for _, ranges in groups], np.float64)
        for box in region:
            for piece in _pieces(box):
                rough += _piece_sums(self.read(*_hull(piece)), piece, groups, np.float64)
        if np.any(np.abs(rough) > 2.0**62):
            raise QueryError("the release's noisy counts are too large to add up")


def _pieces(box: Box, axis: int = 0) -> Iterator[Box]:
    """Cut a box into boxes that span few cells, along its first axes, so that each is compact."""
    extents = [part.stop - part.start for part in _hull(box)]
    if not box.cells:
        return
    if math.prod(extents) <= _PIECE:
        yield box
        return
    step = max(_PIECE // math.prod(extents[axis + 1 :]), 1)
    codes = box.sets[axis]
    for start in range(codes.intervals[0][0], codes.intervals[-1][1], step):
        window = codes.intersection(CodeSet.of((start, start + step)))
        piece = Box((*box.sets[:axis], window, *box.sets[axis + 1 :]))
        yield from _pieces(piece, axis + 1)


def _hull(box: Box) -> list[slice]:
    """The smallest slices that hold a box."""
    return [
        slice(codes.intervals[0][0], codes.intervals[-1][1]) if codes else slice(0, 0)
        for codes in box.sets
    ]


def _piece_sums(
    matrix: NDArray[Any], box: Box, groups: Groups, dtype: type[np.generic] = np.int64
) -> NDArray[Any]:
    """The sums over a box by group, from the matrix of its hull."""
    for axis, codes in enumerate(box.sets):
        if len(codes.intervals) > 1:
            matrix = matrix.take(all_codes(codes) - codes.intervals[0][0], axis)
    kept = sorted(axis for axis, _ in groups)
    plain = tuple(axis for axis in range(matrix.ndim) if axis not in kept)
    if plain or not kept:
        matrix = np.asarray(matrix.sum(axis=plain, dtype=dtype))
    ranges = dict(groups)
    for position, axis in enumerate(kept):
        matrix = _sum_groups(matrix, position, box.sets[axis], ranges[axis], dtype)
    return matrix.transpose([kept.index(axis) for axis, _ in groups])


def all_codes(codes: CodeSet) -> NDArray[np.int64]:
    """Every code of a set, in order."""
    starts, stops = np.array(codes.intervals, np.int64).reshape(-1, 2).T
    lengths = stops - starts
    before = np.cumsum(lengths) - lengths
    return np.asarray(np.repeat(starts - before, lengths) + np.arange(lengths.sum()))


def _sum_groups(
    matrix: NDArray[Any],
    axis: int,
    codes: CodeSet,
    groups: Ranges,
    dtype: type[np.generic],
) -> NDArray[Any]:
    """Add up an axis, whose places are the codes of a set in order, group by group."""
    starts, stops = _ranks(codes, groups)
    held = starts < stops
    sums = np.zeros((*matrix.shape[:axis], len(starts), *matrix.shape[axis + 1 :]), dtype)
    if np.array_equal(starts[held], np.arange(matrix.shape[axis])):  # one code each
        np.moveaxis(sums, axis, 0)[held] = np.moveaxis(matrix, axis, 0)
    elif held.any():
        # Sums from each start to its stop and, of no interest, on from there to the next start.
        cuts = np.stack([starts[held], stops[held]], axis=1).reshape(-1)
        cuts = cuts[:-1] if cuts[-1] == matrix.shape[axis] else cuts
        both = np.add.reduceat(matrix, cuts, axis=axis, dtype=dtype)
        np.moveaxis(sums, axis, 0)[held] = np.moveaxis(both, axis, 0)[::2]
    return sums


def _ranks(codes: CodeSet, groups: Ranges) -> tuple[NDArray[Any], NDArray[Any]]:
    """How many codes of a set lie before each group's start, and before its stop."""
    ends = np.array(groups, np.int64).reshape(-1, 2).T
    if not codes:
        return np.zeros_like(ends[0]), np.zeros_like(ends[1])
    starts, stops = np.array(codes.intervals).T
    before = np.concatenate(([0], np.cumsum(stops - starts)))
    # The codes of the intervals that begin before the end, less what the last has beyond it.
    begun = np.searchsorted(starts, ends, side="left")
    beyond = np.where(begun > 0, np.maximum(stops[begun - 1] - ends, 0), 0)
    ranks = before[begun] - beyond
    return ranks[0], ranks[1]


def cells_by_group(region: Region, groups: Groups) -> NDArray[np.int64]:
    """How many cells of a region each group holds; groups run with the last axis fastest."""
    total = np.zeros(math.prod(len(ranges) for _, ranges in groups), np.int64)
    grouped = {axis for axis, _ in groups}
    for box in region:
        others = math.prod(codes.count for i, codes in enumerate(box.sets) if i not in grouped)
        counts = np.array([others], np.int64)
        for axis, ranges in groups:
            starts, stops = _ranks(box.sets[axis], ranges)
            counts = np.multiply.outer(counts, stops - starts).reshape(-1)
        total += counts
    return total


def held_by_group(region: Region, groups: Groups) -> NDArray[np.bool_]:
    """Which groups hold a cell of a region at all: so many cells may not fit 64 bits."""
    total = np.zeros(math.prod(len(ranges) for _, ranges in groups), bool)
    for box in region:
        if not box.cells:
            continue
        held = np.ones(1, bool)
        for axis, ranges in groups:
            starts, stops = _ranks(box.sets[axis], ranges)
            held = np.logical_and.outer(held, stops > starts).reshape(-1)
        total |= held
    return total
