"""Sums of a dense matrix over boxes, by group."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats
from hushtable.query.box import Box, CodeSet
from hushtable.query.cutting import AxisRanges, Cuts, all_codes, ranks

# Boxes are added up in pieces that span at most this many cells, which bounds the memory.
_PIECE = 2**24


def sums_by_group(matrix: Floats, boxes: Sequence[Box], cuts: Cuts) -> Floats:
    """The sums over disjoint boxes by group, in the order of `cuts`."""
    sums = np.zeros([len(ranges) for _, ranges in cuts])
    for box in boxes:
        for piece in pieces(box):
            sums += piece_sums(matrix[tuple(hull(piece))], piece, cuts, np.float64)
    return sums


def pieces(box: Box, axis: int = 0) -> Iterator[Box]:
    """Cut a box into boxes that span few cells, along its first axes, so that each is compact."""
    extents = [part.stop - part.start for part in hull(box)]
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
        yield from pieces(piece, axis + 1)


def hull(box: Box) -> list[slice]:
    """The smallest slices that hold a box."""
    return [
        slice(codes.intervals[0][0], codes.intervals[-1][1]) if codes else slice(0, 0)
        for codes in box.sets
    ]


def piece_sums(
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
