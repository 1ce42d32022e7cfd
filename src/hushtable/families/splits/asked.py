"""What questions ask of the leaves of a tree of boxes: how many cells of each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats, Integers
from hushtable.kernel.maps.splits import BoxLevel
from hushtable.query.box import Boxes, CodeSet
from hushtable.query.cutting import ranks


@dataclass(frozen=True, eq=False)
class Asked:
    """A row for each leaf and a column for each question."""

    parts: Floats
    """Which part of the leaf's cells is asked for."""
    whole: NDArray[np.bool_]
    cut: NDArray[np.bool_]
    """Whether some of its cells are asked for, and some are not."""


def asked_of_leaves(
    leaves: BoxLevel, sizes: Integers, boxes: Boxes, starts: Integers, stops: Integers
) -> Asked:
    """What is asked by disjoint boxes, for each question within a box start ≤ code < stop."""
    cells = np.zeros((len(leaves), len(starts)), np.int64)
    for box in boxes:
        held = np.ones_like(cells)
        for axis, codes in enumerate(box.sets):
            low = np.maximum(leaves.starts[:, axis, None], starts[:, axis])
            high = np.minimum(leaves.stops[:, axis, None], stops[:, axis])
            held *= _codes_between(codes, low, np.maximum(low, high))
        cells += held
    whole = cells == sizes[:, None]
    return Asked(cells / sizes[:, None], whole, (cells > 0) & ~whole)


def _codes_between(codes: CodeSet, low: Integers, high: Integers) -> Integers:
    """How many codes of a set lie in each range."""
    if len(codes.intervals) == 1:
        start, stop = codes.intervals[0]
        return np.asarray(np.clip(high, start, stop) - np.clip(low, start, stop))
    first, last = ranks(codes, np.stack([low.reshape(-1), high.reshape(-1)], axis=1))
    return np.asarray((last - first).reshape(low.shape), np.int64)
