"""Boxes cut by groups: which codes, and which cells, belong to which row of an answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Integers
from hushtable.query.box import Box, Boxes, CodeSet, Interval

AxisRanges = Sequence[Interval] | NDArray[np.int64]
"""Disjoint ranges of codes start ≤ code < stop, in the order of the codes."""

Cuts = Sequence[tuple[int, AxisRanges]]
"""Where a GROUP BY cuts: axes, each with the ranges of codes that are its groups."""


def all_codes(codes: CodeSet) -> NDArray[np.int64]:
    """Every code of a set, in order."""
    starts, stops = np.array(codes.intervals, np.int64).reshape(-1, 2).T
    lengths = stops - starts
    before = np.cumsum(lengths) - lengths
    return np.asarray(np.repeat(starts - before, lengths) + np.arange(lengths.sum()))


def cut_by(box: Box, axis: int, cuts: Cuts) -> list[CodeSet]:
    """The codes of a box along an axis, cut by its groups if it has any."""
    ranges = dict(cuts).get(axis)
    if ranges is None:
        return [box.sets[axis]]
    groups = (CodeSet.of((int(start), int(stop))) for start, stop in ranges)
    return [box.sets[axis].intersection(group) for group in groups]


def group_steps(cuts: Cuts) -> dict[int, int]:
    """How far apart the rows of successive groups are, by axis; the last is fastest."""
    sizes = [len(ranges) for _, ranges in cuts]
    return {axis: math.prod(sizes[i + 1 :]) for i, (axis, _) in enumerate(cuts)}


def listed_cells(box: Box, cuts: Cuts, shape: tuple[int, ...]) -> tuple[Integers, Integers]:
    """Every cell of a box that is in a group: the row of its group, and its linear code."""
    owner, cells = np.zeros(1, np.int64), np.zeros(1, np.int64)
    steps = group_steps(cuts)
    for axis, size in enumerate(shape):
        parts = [all_codes(part) for part in cut_by(box, axis, cuts)]
        numbers = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        owner = np.add.outer(owner, numbers * steps.get(axis, 0)).reshape(-1)
        cells = np.add.outer(cells * size, np.concatenate(parts)).reshape(-1)
    return owner, cells


def cells_by_group(boxes: Boxes, cuts: Cuts) -> NDArray[np.int64]:
    """How many cells of the boxes each group holds; groups run with the last axis fastest."""
    total = np.zeros(math.prod(len(ranges) for _, ranges in cuts), np.int64)
    grouped = {axis for axis, _ in cuts}
    for box in boxes:
        others = math.prod(codes.count for i, codes in enumerate(box.sets) if i not in grouped)
        counts = np.array([others], np.int64)
        for axis, ranges in cuts:
            starts, stops = ranks(box.sets[axis], ranges)
            counts = np.multiply.outer(counts, stops - starts).reshape(-1)
        total += counts
    return total


def held_by_group(boxes: Boxes, cuts: Cuts) -> NDArray[np.bool_]:
    """Which groups hold a cell of the boxes at all: so many cells may not fit 64 bits."""
    total = np.zeros(math.prod(len(ranges) for _, ranges in cuts), bool)
    for box in boxes:
        if not box.cells:
            continue
        held = np.ones(1, bool)
        for axis, ranges in cuts:
            starts, stops = ranks(box.sets[axis], ranges)
            held = np.logical_and.outer(held, stops > starts).reshape(-1)
        total |= held
    return total


def kinds_by_codes(sets: Sequence[CodeSet], ranges: AxisRanges) -> Integers:
    """Which ranges have as many codes in each combination of some sets, which may overlap."""
    ends = np.unique([end for codes in sets for interval in codes.intervals for end in interval])
    if not len(ends):
        return np.zeros(len(ranges), np.int64)
    runs = np.stack([ends[:-1], ends[1:]], axis=1)
    inside = np.stack([np.greater(*ranks(codes, runs)[::-1]) for codes in sets])
    patterns, which = np.unique(inside, axis=1, return_inverse=True)
    held = []
    for number in np.flatnonzero(patterns.any(axis=0)):
        some = runs[which.reshape(-1) == number].tolist()
        starts, stops = ranks(CodeSet.of(*((start, stop) for start, stop in some)), ranges)
        held.append(stops - starts)
    return np.unique(np.stack(held), axis=1, return_inverse=True)[1].reshape(-1)


def ranks(codes: CodeSet, ranges: AxisRanges) -> tuple[NDArray[Any], NDArray[Any]]:
    """How many codes of a set lie before each range's start, and before its stop."""
    ends = np.array(ranges, np.int64).reshape(-1, 2).T
    if not codes:
        return np.zeros_like(ends[0]), np.zeros_like(ends[1])
    starts, stops = np.array(codes.intervals).T
    before = np.concatenate(([0], np.cumsum(stops - starts)))
    # The codes of the intervals that begin before the end, less what the last has beyond it.
    begun = np.searchsorted(starts, ends, side="left")
    beyond = np.where(begun > 0, np.maximum(stops[begun - 1] - ends, 0), 0)
    ranks = before[begun] - beyond
    return ranks[0], ranks[1]
