"""Rows of weights: how the coefficients of one axis enter an estimate."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats, Integers
from hushtable.errors import OptionError


@dataclass(frozen=True, eq=False)
class WeightRow:
    """How coefficients enter an estimate: distinct positions, increasing, and their weights."""

    positions: Integers
    weights: Floats


def add_rows(rows: Iterable[WeightRow]) -> WeightRow:
    """The row of a union of disjoint intervals: weights at the same position add up."""
    parts = list(rows)
    positions = np.concatenate([row.positions for row in parts] or [np.zeros(0, np.int64)])
    weights = np.concatenate([row.weights for row in parts] or [np.zeros(0)])
    distinct, where = np.unique(positions, return_inverse=True)
    sums = np.bincount(where, weights, minlength=len(distinct))
    return WeightRow(distinct[sums != 0], sums[sums != 0])


def numbered_rows(rows: NDArray[Any]) -> Integers:
    """A number for each row of an array: equal ones for rows that are equal, bit by bit."""
    if not rows.shape[1]:
        return np.zeros(len(rows), np.int64)
    lines = np.ascontiguousarray(rows)
    keys = lines.view(np.dtype((np.void, lines.itemsize * lines.shape[1]))).reshape(-1).tolist()
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbers[key] for key in keys], np.int64)


def interval_sums(lines: NDArray[Any], starts: Integers, stops: Integers) -> Floats:
    """The sums over disjoint intervals of the first axis, in order, of which none is empty."""
    if np.array_equal(starts + 1, stops):
        return np.asarray(lines[starts], np.float64)
    # Sums from each start to its stop and, of no interest, on from there to the next start.
    ends = np.stack([starts, stops], axis=1).reshape(-1)
    ends = ends[:-1] if ends[-1] == len(lines) else ends
    return np.asarray(np.add.reduceat(lines, ends, axis=0)[::2], np.float64)


def check_intervals(starts: Any, stops: Any, size: int) -> tuple[Integers, Integers]:
    """Intervals as two arrays of integers, refused unless 0 ≤ start ≤ stop ≤ size."""
    low, high = np.asarray(starts), np.asarray(stops)
    if low.dtype.kind not in "iu" or high.dtype.kind not in "iu" or low.shape != high.shape:
        raise OptionError("intervals need as many integer starts as stops")
    low, high = low.astype(np.int64).reshape(-1), high.astype(np.int64).reshape(-1)
    if low.size and not (low.min() >= 0 and (low <= high).all() and high.max() <= size):
        raise OptionError(f"intervals must lie within 0 … {size}")
    return low, high
