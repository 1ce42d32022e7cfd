"""Answers from a dense matrix of noisy cells: sums over boxes, and the law of their noise.

Every cell has independent discrete Laplace noise of one scale, so the noise of a sum of k cells is
the sum of k of them, whatever the cells.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import QueryError
from hushtable.kernel.privacy.noises import KnownNoise
from hushtable.query.box import Box, Boxes, CodeSet, cells
from hushtable.query.cutting import AxisRanges, Cuts, all_codes, cells_by_group, ranks
from hushtable.query.law import NoiseLaw, NoiseSum
from hushtable.query.reader import Estimates, ReadBox

NOTE = "sum of noisy cells"

# Boxes are added up in pieces that span at most this many cells, which bounds the memory.
_PIECE = 2**24


@dataclass(frozen=True)
class NoisyCells:
    """A matrix of noisy counts, all with the same noise."""

    read: ReadBox
    noise: KnownNoise

    note = NOTE
    estimate = False

    def law(self, boxes: Boxes) -> NoiseLaw:
        """The law of the noise in the count of disjoint boxes."""
        return NoiseSum.of(self.noise, cells(boxes))

    def count(self, boxes: Boxes) -> tuple[int, NoiseLaw]:
        """The noisy count of disjoint boxes, and the law of its noise."""
        return int(self._sums(boxes, ())), self.law(boxes)

    def group(self, boxes: Boxes, cuts: Cuts) -> Estimates:
        """The noisy count of disjoint boxes cut by groups of codes along some axes.

        Rows run through the groups with the last axis fastest.
        """
        values = self._sums(boxes, cuts)
        distinct, law_of_row = np.unique(cells_by_group(boxes, cuts), return_inverse=True)
        laws = tuple(NoiseSum.of(self.noise, int(count)) for count in distinct)
        return Estimates(values.reshape(-1), laws, law_of_row)

    def cells(self) -> NDArray[Any]:
        """The noisy count of every cell."""
        return self.read()

    def cell_variances(self, codes: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
        """The noise variance of each of many cells: all have the same."""
        return np.full(len(codes[0]), self.noise.variance)

    def fresh_cells(self) -> NDArray[np.int64]:
        """The noisy count of every cell, in memory of its own."""
        return np.array(self.read(), np.int64)

    def range_variances(
        self, starts: NDArray[np.int64], stops: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """The noise variance of each of many boxes: so many cells' worth."""
        sizes = np.prod((stops - starts).astype(np.float64), axis=1)
        return np.asarray(sizes * self.noise.variance)

    def _sums(self, boxes: Boxes, cuts: Cuts) -> NDArray[np.int64]:
        """The sums over disjoint boxes by group, in the order of `cuts`."""
        sums = np.zeros([len(ranges) for _, ranges in cuts], np.int64)
        bound = 0
        for box in boxes:
            for piece in _pieces(box):
                matrix = self.read(*_hull(piece))
                bound += piece.cells * (np.iinfo(matrix.dtype).max + 1)
                sums += _piece_sums(matrix, piece, cuts)
        if bound > np.iinfo(np.int64).max:
            self._refuse_overflow(boxes, cuts)
        return sums

    def _refuse_overflow(self, boxes: Boxes, cuts: Cuts) -> None:
        """Refuse sums that wrap around 64 bits: no honest noise is so large."""
        rough = np.zeros([len(ranges) for _, ranges in cuts], np.float64)
        for box in boxes:
            for piece in _pieces(box):
                rough += _piece_sums(self.read(*_hull(piece)), piece, cuts, np.float64)
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
    matrix: NDArray[Any], box: Box, cuts: Cuts, dtype: type[np.generic] = np.int64
) -> NDArray[Any]:
    """The sums over a box by group, from the matrix of its hull."""
    for axis, codes in enumerate(box.sets):
        if len(codes.intervals) > 1:
            matrix = matrix.take(all_codes(codes) - codes.intervals[0][0], axis)
    kept = sorted(axis for axis, _ in cuts)
    plain = tuple(axis for axis in range(matrix.ndim) if axis not in kept)
    if plain or not kept:
        matrix = np.asarray(matrix.sum(axis=plain, dtype=dtype))
    ranges = dict(cuts)
    for position, axis in enumerate(kept):
        matrix = _sum_groups(matrix, position, box.sets[axis], ranges[axis], dtype)
    return matrix.transpose([kept.index(axis) for axis, _ in cuts])


def _sum_groups(
    matrix: NDArray[Any],
    axis: int,
    codes: CodeSet,
    ranges: AxisRanges,
    dtype: type[np.generic],
) -> NDArray[Any]:
    """Add up an axis, whose places are the codes of a set in order, group by group."""
    starts, stops = ranks(codes, ranges)
    held = starts < stops
    sums = np.zeros((*matrix.shape[:axis], len(starts), *matrix.shape[axis + 1 :]), dtype)
    if np.array_equal(starts[held], np.arange(matrix.shape[axis])):  # one code each
        np.moveaxis(sums, axis, 0)[held] = np.moveaxis(matrix, axis, 0)
    elif held.any():
        # Sums from each start to its stop and, of no interest, on from there to the next start.
        ends = np.stack([starts[held], stops[held]], axis=1).reshape(-1)
        ends = ends[:-1] if ends[-1] == matrix.shape[axis] else ends
        both = np.add.reduceat(matrix, ends, axis=axis, dtype=dtype)
        np.moveaxis(sums, axis, 0)[held] = np.moveaxis(both, axis, 0)[::2]
    return sums
