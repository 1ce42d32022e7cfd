"""Many boxes at once: a summed-area table over all cells, and a few look-ups per box."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hushtable.arrays import on_every_core
from hushtable.errors import QueryError
from hushtable.query.box import Box, Boxes, CodeSet
from hushtable.query.law import NoiseLaw

# From so many boxes on, adding up the whole matrix once pays.
WORTH_A_TABLE = 500


def checked_ranges(
    starts: ArrayLike, stops: ArrayLike, shape: tuple[int, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Codes start ≤ code < stop, a row per box and a column per attribute."""
    low, high = np.asarray(starts), np.asarray(stops)
    if low.dtype.kind not in "iu" or high.dtype.kind not in "iu":
        raise QueryError("ranges are given by whole numbers: codes, start ≤ code < stop")
    if low.ndim != 2 or low.shape != high.shape or low.shape[1] != len(shape):
        raise QueryError(
            f"ranges need a row per box and a column for each of {len(shape)} attributes"
        )
    if low.size and not ((low >= 0) & (low <= high) & (high <= np.array(shape))).all():
        raise QueryError(f"ranges must lie within 0 … {shape}")
    return low.astype(np.int64), high.astype(np.int64)


def accumulate(cells: NDArray[Any]) -> NDArray[Any]:
    """The sum of all cells up to each one, in the memory of the cells.

    The last two axes slab by slab, while a slab is in the cache; then the slabs, one to the next.
    """
    lead = cells.shape[:-2]
    on_every_core(lambda index: _accumulate_slab(cells[index]), list(np.ndindex(*lead)))
    for axis in range(len(lead)):
        slabs = np.moveaxis(cells, axis, 0)
        for k in range(1, len(slabs)):
            np.add(slabs[k], slabs[k - 1], out=slabs[k])
    return cells


def _accumulate_slab(slab: NDArray[Any]) -> None:
    np.add.accumulate(slab, axis=-1, out=slab)
    if slab.ndim > 1:
        for k in range(1, len(slab)):
            np.add(slab[k], slab[k - 1], out=slab[k])


def box_sums(
    table: NDArray[Any], starts: NDArray[np.int64], stops: NDArray[np.int64]
) -> NDArray[Any]:
    """The sum over each box, by inclusion and exclusion of its corners."""
    total = np.zeros(len(starts), table.dtype)
    for corner in itertools.product((0, 1), repeat=table.ndim):
        ends = np.where(np.array(corner, bool), stops, starts) - 1
        inside = (ends >= 0).all(axis=1)
        sign = (-1) ** (table.ndim - sum(corner))
        total[inside] += sign * table[tuple(ends[inside].T)]
    return total


def cells_as_ranges(codes: Sequence[NDArray[Any]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Single cells, given by their codes along each axis, as boxes."""
    places = np.stack([np.asarray(along, np.int64) for along in codes], axis=1)
    return places, places + 1


def count_each(
    count: Callable[[Boxes], tuple[float, NoiseLaw]],
    starts: NDArray[np.int64],
    stops: NDArray[np.int64],
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """The counts of boxes asked one by one, and their variances."""
    found = [count((box,)) for box in range_boxes(starts, stops)]
    values = np.array([value for value, _ in found])
    return values, np.array([law.variance for _, law in found])


def range_boxes(starts: NDArray[np.int64], stops: NDArray[np.int64]) -> list[Box]:
    """The boxes one by one."""
    return [
        Box(tuple(CodeSet.of(pair) for pair in zip(low, high, strict=True)))
        for low, high in zip(starts.tolist(), stops.tolist(), strict=True)
    ]
