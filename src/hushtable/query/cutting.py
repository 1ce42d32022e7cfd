"""Boxes cut by groups: which codes, and which cells, belong to which row of an answer."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hushtable.query.box import Box, CodeSet
from hushtable.query.cells import Groups, all_codes

Integers = NDArray[np.int64]


def cut_by(box: Box, axis: int, groups: Groups) -> list[CodeSet]:
    """The codes of a box along an axis, cut by its groups if it has any."""
    ranges = dict(groups).get(axis)
    if ranges is None:
        return [box.sets[axis]]
    cuts = (CodeSet.of((int(start), int(stop))) for start, stop in ranges)
    return [box.sets[axis].intersection(cut) for cut in cuts]


def group_steps(groups: Groups) -> dict[int, int]:
    """How far apart the rows of neighbouring groups are, by axis; the last is fastest."""
    sizes = [len(ranges) for _, ranges in groups]
    return {axis: math.prod(sizes[i + 1 :]) for i, (axis, _) in enumerate(groups)}


def listed_cells(box: Box, groups: Groups, shape: tuple[int, ...]) -> tuple[Integers, Integers]:
    """Every cell of a box that is in a group: the row of its group, and its linear code."""
    owner, cells = np.zeros(1, np.int64), np.zeros(1, np.int64)
    steps = group_steps(groups)
    for axis, size in enumerate(shape):
        parts = [all_codes(part) for part in cut_by(box, axis, groups)]
        numbers = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        owner = np.add.outer(owner, numbers * steps.get(axis, 0)).reshape(-1)
        cells = np.add.outer(cells * size, np.concatenate(parts)).reshape(-1)
    return owner, cells
