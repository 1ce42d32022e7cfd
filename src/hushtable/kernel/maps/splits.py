"""Public trees of boxes: how every box may be halved, and which boxes a run of decisions leaves.

A box is halved along all of its axes at once, so that it has up to 2^axes children: four for two
axes, as in a quadtree. An axis is halved in the order of its codes, or between the groups of a
hierarchy: then all groups are nodes of the tree, and a group with more than two children is halved
between them. A single code is halved no more, and a single cell is the end.

The tree follows from the shape and the hierarchies alone. What is decided about its boxes, level by
level, is all that is needed to name the boxes that are left.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Integers
from hushtable.errors import OptionError
from hushtable.kernel.maps.topology import Spans, Topology, check_groups

MOST_CELLS = 2**62
"""Codes and numbers of cells are 64-bit integers."""

MOST_AXES = 4
"""A box has at most 2^4 children."""


@dataclass(frozen=True)
class AxisSplits:
    """Where the ranges of codes of an axis are halved."""

    size: int
    groups: Spans = ()
    """The ranges of codes that are groups of a hierarchy, outer ones first; none, without one."""

    def __post_init__(self) -> None:
        if type(self.size) is not int or not 1 <= self.size <= MOST_CELLS:
            raise OptionError("an axis that is split has from 1 to 2^62 codes")
        if self.groups:
            check_groups(self.size, self.groups)

    def middles(self, starts: Integers, stops: Integers) -> Integers:
        """Where the second half of each range begins; at the end of a range that stays whole."""
        middles = starts + (stops - starts + 1) // 2
        ends, known = self._special
        if len(known):
            keys = starts * (self.size + 1) + stops
            place = np.minimum(np.searchsorted(ends, keys), len(ends) - 1)
            middles = np.where(ends[place] == keys, known[place], middles)
        return np.asarray(middles, np.int64)

    @cached_property
    def _special(self) -> tuple[Integers, Integers]:
        """The ranges, in order, that are not halved in the middle of their codes, and where."""
        found: dict[int, int] = {}
        if self.groups:
            tree = Topology.of_groups(self.size, self.groups)
            for node in np.flatnonzero(tree.fanout).tolist():
                first = int(tree.first[node])
                children = slice(first, first + int(tree.fanout[node]))
                ends = [*tree.start[children].tolist(), int(tree.stop[node])]
                if ends[-1] - ends[0] >= len(ends):  # single codes are halved in the middle anyway
                    self._halve(ends, found)
        keys = np.array(sorted(found), np.int64)
        return keys, np.array([found[key] for key in keys.tolist()], np.int64)

    def _halve(self, ends: list[int], found: dict[int, int]) -> None:
        """Halve a list of adjacent groups, given by their ends, until each is alone."""
        if len(ends) > 2:
            half = len(ends) // 2
            found[ends[0] * (self.size + 1) + ends[-1]] = ends[half]
            self._halve(ends[: half + 1], found)
            self._halve(ends[half:], found)


@dataclass(frozen=True)
class Splits:
    """The public tree of a domain: its root is the whole domain, its leaves are the cells."""

    axes: tuple[AxisSplits, ...]

    def __post_init__(self) -> None:
        if type(self.axes) is not tuple or any(type(axis) is not AxisSplits for axis in self.axes):
            raise OptionError("a tree of boxes has one AxisSplits for each attribute")
        if not 1 <= len(self.axes) <= MOST_AXES:
            raise OptionError(f"a tree of boxes has 1 to {MOST_AXES} attributes")
        if math.prod(self.shape) > MOST_CELLS:
            raise OptionError("a tree of boxes has at most 2^62 cells, about 10^18.7")

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(axis.size for axis in self.axes)

    @property
    def fanout(self) -> int:
        """How many children a box has at the most."""
        return 1 << max(sum(size > 1 for size in self.shape), 1)

    def root(self) -> BoxLevel:
        """The whole domain."""
        return BoxLevel(np.zeros((1, len(self.axes)), np.int64), np.array([self.shape], np.int64))

    def middles(self, level: BoxLevel) -> Integers:
        """Where the boxes of a level are halved, axis by axis."""
        ends = zip(self.axes, level.starts.T, level.stops.T, strict=True)
        return np.stack([axis.middles(*along) for axis, *along in ends], axis=1)

    def children(self, level: BoxLevel) -> BoxLevel:
        """The halves of boxes, those of one box side by side; the last axis is the fastest."""
        middles = self.middles(level)
        starts, stops = level.starts, level.stops
        order = np.arange(len(starts), dtype=np.int64)
        for axis in range(len(self.axes)):
            halves = 1 + (middles[order, axis] < stops[:, axis])
            second = np.arange(halves.sum()) - np.repeat(np.cumsum(halves) - halves, halves)
            starts, stops, order = (np.repeat(a, halves, axis=0) for a in (starts, stops, order))
            cut = np.repeat(halves, halves) == 2
            middle = middles[order, axis]
            stops[:, axis] = np.where(cut & (second == 0), middle, stops[:, axis])
            starts[:, axis] = np.where(cut & (second == 1), middle, starts[:, axis])
        return BoxLevel(starts, stops)

    def child_of(
        self, level: BoxLevel, node: Integers, codes: Sequence[NDArray[Any]]
    ) -> tuple[Integers, Integers]:
        """For cells in boxes of a level: the place of each one's half among those of all boxes.

        Also how many halves each box has.
        """
        middles = self.middles(level)
        halves = 1 + (middles < level.stops)
        number = np.zeros(len(node), np.int64)
        for axis, along in enumerate(codes):
            number *= halves[node, axis]
            number += along >= middles[node, axis]
        sizes = np.prod(halves, axis=1)
        return (np.cumsum(sizes) - sizes)[node] + number, sizes


@dataclass(frozen=True, eq=False)
class BoxLevel:
    """Boxes that do not overlap, a row each: start ≤ code < stop along every axis."""

    starts: Integers
    stops: Integers

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, which: Any) -> BoxLevel:
        return BoxLevel(self.starts[which], self.stops[which])

    @property
    def divisible(self) -> NDArray[np.bool_]:
        """Which boxes have more than one cell."""
        return np.asarray((self.stops - self.starts > 1).any(axis=1))


class SplitBoxes:
    """The boxes that were visited, and which of them were split: a tree whose leaves tile.

    `decisions` has a 0 or 1 for each visited box of more than one cell, level by level and in the
    order of the boxes. What is no such list is refused.
    """

    def __init__(self, splits: Splits, decisions: NDArray[Any], most: int) -> None:
        if type(splits) is not Splits:
            raise OptionError("a tree of boxes is one of hushtable.kernel.maps.splits")
        self.splits = splits  # nobody changes what follows: by it, rows are counted
        self.levels: list[BoxLevel] = []
        self.split: list[NDArray[np.bool_]] = []
        level, used, visited = splits.root(), 0, 0
        while len(level):
            self.levels.append(_locked(level))
            visited += len(level)
            if visited > most:
                raise OptionError("the tree of boxes is larger than it may be")
            where = np.flatnonzero(level.divisible)
            told = decisions[used : used + len(where)]
            if len(told) < len(where) or not ((told == 0) | (told == 1)).all():
                raise OptionError("there is not a decision for every box that may be split")
            used += len(where)
            split = np.zeros(len(level), bool)
            split[where] = told == 1
            split.setflags(write=False)
            self.split.append(split)
            level = splits.children(level[split])
        if used != len(decisions):
            raise OptionError("there are decisions for boxes that are not there")

    @property
    def shape(self) -> tuple[int, ...]:
        """The domain that the leaves tile."""
        return self.splits.shape

    @property
    def parts(self) -> int:
        """How many leaves there are."""
        return self.tree.size

    @cached_property
    def tree(self) -> Topology:
        """The tree over its leaves, which are numbered in its order."""
        lengths = [len(level) for level in self.levels]
        parents = [np.full(1, -1, np.int64)]
        offsets = np.cumsum([0, *lengths])
        for split, level, offset in zip(self.split, self.levels, offsets.tolist(), strict=False):
            sizes = np.prod(1 + (self.splits.middles(level[split]) < level.stops[split]), axis=1)
            parents.append(np.repeat(offset + np.flatnonzero(split), sizes))
        parent = np.concatenate(parents)
        leaves = _leaves_below(parent, np.concatenate(self.split), offsets.tolist())
        start = _first_leaves(parent, leaves, offsets.tolist())
        tree = Topology(start, start + leaves, parent, tuple(offsets.tolist()))
        for numbers in (tree.start, tree.stop, tree.parent):
            numbers.setflags(write=False)
        return tree

    @cached_property
    def leaves(self) -> BoxLevel:
        """The boxes that were not split, in the order of the tree."""
        ends = (np.concatenate([getattr(level, name) for level in self.levels]) for name in _ENDS)
        return _locked(BoxLevel(*ends)[self.tree.leaves])

    def part_of(self, codes: Sequence[NDArray[Any]]) -> NDArray[np.int64]:
        """The leaf of each cell, given as one array of codes per attribute."""
        node = np.zeros(len(codes[0]), np.int64)
        found = np.zeros(len(codes[0]), np.int64)
        cells = np.arange(len(codes[0]))
        along = [np.asarray(axis, np.int64) for axis in codes]
        for depth, (level, split) in enumerate(zip(self.levels, self.split, strict=True)):
            ends = ~split[node]
            found[cells[ends]] = self.tree.start[self.tree.offsets[depth] + node[ends]]
            stays = ~ends
            cells, node = cells[stays], (np.cumsum(split) - 1)[node[stays]]
            along = [axis[stays] for axis in along]
            if not len(cells):
                break
            node, _ = self.splits.child_of(level[split], node, along)
        return found


_ENDS = ("starts", "stops")


def _locked(level: BoxLevel) -> BoxLevel:
    """The same boxes, to be read alone."""
    for numbers in (level.starts, level.stops):
        numbers.setflags(write=False)
    return level


def _leaves_below(parent: Integers, split: NDArray[np.bool_], offsets: list[int]) -> Integers:
    """How many leaves each node has, from the last level up."""
    leaves = np.where(split, 0, 1).astype(np.int64)
    for start, stop in zip(offsets[-2:0:-1], offsets[:1:-1], strict=True):
        np.add.at(leaves, parent[start:stop], leaves[start:stop])
    return leaves


def _first_leaves(parent: Integers, leaves: Integers, offsets: list[int]) -> Integers:
    """The number of each node's first leaf: children stand side by side."""
    first = np.zeros(len(parent), np.int64)
    for start, stop in pairwise(offsets[1:]):
        above, here = parent[start:stop], leaves[start:stop]
        before = np.cumsum(here) - here
        eldest = np.append(True, above[1:] != above[:-1])
        base = np.repeat(before[eldest], np.diff(np.append(np.flatnonzero(eldest), len(here))))
        first[start:stop] = first[above] + before - base
    return first
