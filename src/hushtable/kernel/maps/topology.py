"""The shape of a tree over the codes of an axis, as plain arrays.

A tree is given either by its groups, the ranges of codes below its inner nodes (the codes are its
leaves), or by radices: the root has the first number of children, each of these the second, and so
on, cut off at the size.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Integers
from hushtable.errors import OptionError
from hushtable.kernel.maps.axis import check_size
from hushtable.kernel.maps.squared import Pair, not_outdone

Span = tuple[int, int]
"""The codes start ≤ code < stop of a group of values."""

Spans = tuple[Span, ...]

DEEPEST = 128
"""No tree has more levels: no real classification comes near; a hostile one would."""

LARGEST_TREE = 2**28


class _Range(Protocol):
    @property
    def start(self) -> int: ...
    @property
    def stop(self) -> int: ...


class _Hierarchy(Protocol):
    @property
    def nodes(self) -> Sequence[_Range]: ...


class Classified(Protocol):
    """An attribute with codes and perhaps a hierarchy over the declared ones."""

    @property
    def size(self) -> int: ...
    @property
    def declared(self) -> int: ...
    @property
    def hierarchy(self) -> Any: ...


def groups_of(attribute: Classified) -> Spans:
    """The groups of an attribute's hierarchy; a code of its own for nulls hangs below the root."""
    hierarchy: _Hierarchy | None = attribute.hierarchy
    if hierarchy is None:
        raise OptionError("this transform needs an attribute with a hierarchy")
    inner = {(node.start, node.stop) for node in hierarchy.nodes if node.stop - node.start > 1}
    inner.discard((0, attribute.declared))
    if attribute.size > 1:
        inner.add((0, attribute.size))
    return tuple(sorted(inner, key=_outer_first))


@dataclass(frozen=True, eq=False)
class Topology:
    """An ordered tree: its nodes level by level, the root first, each level in code order.

    So the children of a node stand side by side, after those of the nodes before it.
    """

    start: Integers
    stop: Integers
    parent: Integers
    offsets: tuple[int, ...]
    """Where each level begins, and where the last one ends."""

    @classmethod
    def of_groups(cls, size: int, groups: Spans) -> Topology:
        """Build from the ranges of codes below the inner nodes."""
        depth = check_groups(size, groups)
        leaf_depth = np.zeros(size, np.int64)
        for (start, stop), level in zip(groups, depth, strict=True):
            leaf_depth[start:stop] = level + 1  # inner groups come after outer ones
        codes = np.arange(size)
        ends = np.array(groups, np.int64).reshape(-1, 2)
        starts = np.concatenate([ends[:, 0], codes])
        stops = np.concatenate([ends[:, 1], codes + 1])
        depths = np.concatenate([np.array(depth, np.int64), leaf_depth])
        order = np.lexsort((starts, depths))
        return cls._of(starts[order], stops[order], np.bincount(depths))

    @classmethod
    def of_radices(cls, size: int, radices: tuple[int, ...]) -> Topology:
        """Build from the number of children at each level, from the root down."""
        check_radices(size, radices)
        widths = [math.prod(radices[level:]) for level in range(len(radices) + 1)]
        starts = [np.arange(0, size, width) for width in widths]
        stops = [np.minimum(s + w, size) for s, w in zip(starts, widths, strict=True)]
        return cls._of(
            np.concatenate(starts), np.concatenate(stops), np.array([len(s) for s in starts])
        )

    @classmethod
    def _of(cls, start: Integers, stop: Integers, lengths: NDArray[np.int64]) -> Topology:
        offsets = (0, *np.cumsum(lengths).tolist())
        parent = np.full(len(start), -1, np.int64)
        for above, here, end in zip(offsets, offsets[1:], offsets[2:], strict=False):
            # The parent is the last node of the level above that begins no later.
            found = np.searchsorted(start[above:here], start[here:end], side="right")
            parent[here:end] = above + found - 1
        return cls(start, stop, parent, offsets)

    @property
    def nodes(self) -> int:
        return len(self.start)

    @property
    def size(self) -> int:
        return int(self.stop[0])

    @property
    def depth(self) -> int:
        """How many levels there are below the root."""
        return len(self.offsets) - 2

    @cached_property
    def fanout(self) -> Integers:
        """How many children each node has; leaves have none."""
        return np.bincount(self.parent[1:], minlength=self.nodes).astype(np.int64)

    @cached_property
    def first(self) -> Integers:
        """Each node's first child: the children of all nodes before it come first."""
        return np.asarray(1 + np.cumsum(self.fanout) - self.fanout)

    @cached_property
    def leaves(self) -> Integers:
        """The node of each code."""
        leaves = np.flatnonzero(self.fanout == 0)
        return leaves[np.argsort(self.start[leaves])]

    def level(self, depth: int) -> slice:
        """The nodes of one level."""
        return slice(self.offsets[depth], self.offsets[depth + 1])

    def sums(self, counts: Integers, axis: int) -> Integers:
        """The sum of the counts below every node, along an axis that becomes the first."""
        lines = np.moveaxis(counts, axis, 0)
        running = np.zeros((self.size + 1, *lines.shape[1:]), np.int64)
        np.cumsum(lines, axis=0, out=running[1:])
        return np.asarray(running[self.stop] - running[self.start])


def parted_below(
    tree: Topology,
    root: Fraction,
    gain: Callable[[int], Fraction],
    meeting: Callable[[int], Fraction],
) -> tuple[Pair, ...]:
    """The pairs of codes that differ most, where every inner node adds to what its codes change.

    `root` is what all codes have in common. A node adds `gain` to the squares of all codes below
    it, and to the products of those that do not part there; to the products of those that do, it
    adds `meeting`. So of the codes that part below a node, the two that change most are enough.
    """
    inner = np.flatnonzero(tree.fanout).tolist()
    above, below = {0: root}, {node: list[Fraction]() for node in inner}
    for node in inner[1:]:  # parents come before their children
        parent = int(tree.parent[node])
        above[node] = above[parent] + gain(parent)
    pairs = []
    for node in reversed(inner):
        leaves = int(tree.fanout[node]) - len(below[node])
        alone = [above[node] + gain(node)] * min(leaves, 2)
        more, less = heapq.nlargest(2, below[node] + alone)
        pairs.append(Pair(more, less, above[node] + meeting(node)))
        if node:
            below[int(tree.parent[node])].append(more)
    return not_outdone(pairs or [Pair.alike(root)])


def check_groups(size: int, groups: Spans) -> list[int]:
    """Refuse what is not a tree over the codes; return the depth of each group."""
    check_size(size, LARGEST_TREE)
    if type(groups) is not tuple or any(
        type(group) is not tuple or [type(end) for end in group] != [int, int] for group in groups
    ):
        raise OptionError("groups must be a tuple of pairs of integers")
    if (size > 1) != bool(groups) or (groups and groups[0] != (0, size)):
        raise OptionError("the first group of a tree must be all of its codes")
    if any(start < 0 or stop - start < 2 for start, stop in groups):
        raise OptionError("a group must be a range of at least two codes")
    if list(groups) != sorted(set(groups), key=_outer_first):
        raise OptionError("groups must be distinct and in order, outer ones before inner ones")
    depths: list[int] = []
    open_stops: list[int] = []
    for start, stop in groups:
        while open_stops and open_stops[-1] <= start:
            open_stops.pop()
        if open_stops and stop > open_stops[-1]:
            raise OptionError("groups must lie inside or beside each other")
        depths.append(len(open_stops))
        open_stops.append(stop)
    if len(depths) and max(depths) >= DEEPEST - 1:
        raise OptionError(f"the tree is deeper than {DEEPEST} levels")
    return depths


def check_radices(size: int, radices: tuple[int, ...]) -> None:
    """Refuse numbers of children that do not make a tree over the codes."""
    check_size(size, LARGEST_TREE)
    if type(radices) is not tuple or any(type(r) is not int or r < 2 for r in radices):
        raise OptionError("radices must be a tuple of integers of at least 2")
    if len(radices) >= DEEPEST or math.prod(radices) < size or math.prod(radices[1:]) >= size > 1:
        raise OptionError("the radices' product must just reach the size, the first one needed")
    if size == 1 and radices:
        raise OptionError("a single code needs no radices")


def _outer_first(group: Span) -> tuple[int, int]:
    return group[0], -group[1]
