"""Which cells are next to each other, and the connected parts that such cells make.

Along an ordinal axis codes are apart by their difference. Along a nominal axis siblings, the values
below one node, are one apart, and others are strangers. The code of nulls and undeclared values is
beside the order of an ordinal attribute and a child of the root of a hierarchy. Distances of
several axes add up by their squares (Euclid).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Integers
from hushtable.errors import OptionError
from hushtable.schema import Attribute, Schema

Codes = Sequence[NDArray[Any]]
Shift = tuple[int, ...]
"""How far to go along each axis: by codes of an ordinal one, by places among siblings."""

MOST_STEPS = 4096
"""How many cells may be adjacent to one."""


@dataclass(frozen=True, eq=False)
class OrderedAxis:
    """An axis whose first codes are in order; those after them are next to nothing."""

    size: int
    ordered: int

    def reach(self, distance: int) -> list[tuple[int, int]]:
        """The steps up to a distance, each with its square."""
        span = min(distance, self.ordered - 1)
        return [(step, step * step) for step in range(-span, span + 1)]

    def moved(self, codes: Integers, step: int) -> tuple[Integers, NDArray[np.bool_]]:
        """Where a step leads, and whether there is such a code."""
        if not step:
            return codes, np.ones(len(codes), bool)
        there = codes + step
        return there, (codes < self.ordered) & (there >= 0) & (there < self.ordered)

    def layer(self, start: int, stop: int, distance: int) -> list[tuple[int, int]]:
        """The codes of start … stop−1 that have an adjacent one outside, as ranges."""
        inner = [(start, min(start + distance, stop))] if start else []
        if stop < self.ordered:
            inner.append((max(stop - distance, start), stop))
        return inner


@dataclass(frozen=True, eq=False)
class Siblings:
    """An axis of values in groups: all of one group are one apart. Groups may be scattered."""

    groups: Integers
    """The group of each code."""

    @property
    def size(self) -> int:
        return len(self.groups)

    @cached_property
    def _order(self) -> Integers:
        return np.argsort(self.groups, kind="stable")

    @cached_property
    def _sizes(self) -> Integers:
        return np.bincount(self.groups)

    @cached_property
    def _places(self) -> Integers:
        """Where each code stands in its group."""
        places = np.empty(self.size, np.int64)
        places[self._order] = np.arange(self.size) - self._first[self.groups[self._order]]
        return places

    @cached_property
    def _first(self) -> Integers:
        return np.cumsum(self._sizes) - self._sizes

    @property
    def sibling_codes(self) -> list[Integers]:
        """The codes of every group of two or more."""
        cuts = np.split(self._order, np.cumsum(self._sizes)[:-1])
        return [codes for codes in cuts if len(codes) > 1]

    def reach(self, distance: int) -> list[tuple[int, int]]:
        steps = range(1, int(self._sizes.max())) if distance >= 1 else range(0)
        return [(0, 0), *((step, 1) for step in steps)]

    def moved(self, codes: Integers, step: int) -> tuple[Integers, NDArray[np.bool_]]:
        if not step:
            return codes, np.ones(len(codes), bool)
        group = self.groups[codes]
        size = self._sizes[group]
        there = self._order[self._first[group] + (self._places[codes] + step) % size]
        return there, step < size

    def layer(self, start: int, stop: int, distance: int) -> list[tuple[int, int]]:
        inside = np.zeros(self.size, bool)
        inside[start:stop] = True
        held = np.bincount(self.groups, inside)
        cut = inside & (held[self.groups] < self._sizes[self.groups])
        edges = np.flatnonzero(np.diff(np.concatenate(([0], cut.view(np.int8), [0]))))
        return [(int(first), int(last)) for first, last in edges.reshape(-1, 2)]


Axis = OrderedAxis | Siblings


@dataclass(frozen=True, eq=False)
class Adjacency:
    """The cells within a distance of each cell of a domain."""

    axes: tuple[Axis, ...]
    distance: float

    @classmethod
    def of(cls, schema: Schema, distance: float) -> Adjacency:
        return cls(tuple(_axis(attribute) for attribute in schema.attributes), distance)

    @classmethod
    def in_order(cls, shape: tuple[int, ...]) -> Adjacency:
        """Codes next to each other along every axis, whatever they stand for."""
        return cls(tuple(OrderedAxis(size, size) for size in shape), 1.0)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(axis.size for axis in self.axes)

    def check(self) -> None:
        """Refuse a distance within which too many cells are adjacent to one."""
        len(self.steps)

    @cached_property
    def steps(self) -> tuple[Shift, ...]:
        """Every way from a cell to an adjacent one; raises where there are too many."""
        whole = math.floor(self.distance)
        most = self.distance**2 * (1 + 1e-9)  # √2 is no float
        found: list[tuple[Shift, int]] = [((), 0)]
        for axis in self.axes:
            reach = axis.reach(whole)
            found = [
                ((*steps, step), square + more)
                for (steps, square), (step, more) in itertools.product(found, reach)
                if square + more <= most
            ]
            if len(found) > MOST_STEPS:
                raise OptionError(
                    f"a cell would have more than {MOST_STEPS:,} adjacent cells: take a smaller d"
                )
        return tuple(steps for steps, square in found if square)

    def partners(self, codes: Codes) -> Iterator[tuple[list[Integers], NDArray[np.bool_]]]:
        """For each step, where it leads from some cells, and which of them it leads anywhere."""
        for step in self.steps:
            moved = [
                axis.moved(np.asarray(along, np.int64), by)
                for axis, along, by in zip(self.axes, codes, step, strict=True)
            ]
            there = np.logical_and.reduce([valid for _, valid in moved])
            yield [along for along, _ in moved], there

    def links(self, values: NDArray[Any], below: float) -> Iterator[tuple[Integers, Integers]]:
        """Pairs of adjacent cells whose values differ by less, as flat indices.

        All that connectedness needs: of siblings only those next to each other by value, for where
        two are alike, so are all between them.
        """
        indices = np.arange(values.size).reshape(values.shape)
        for i, axis in enumerate(self.axes):
            if isinstance(axis, Siblings) and self.distance >= 1:
                yield from _among_siblings(axis, i, values, indices, below)
        for step in self.steps:
            if not _forward(self.axes, step):
                continue
            here, there = self._shifted(step)
            near = np.abs(values[here] - values[there]) < below
            yield indices[here][near], indices[there][near]

    def _shifted(self, step: Shift) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The places that a step leads from, and those that it leads to, for all the domain."""
        sources: list[Any] = []
        targets: list[Any] = []
        for axis, by in zip(self.axes, step, strict=True):
            codes = np.arange(axis.size)
            there, valid = axis.moved(codes, by)
            sources.append(codes[valid])
            targets.append(there[valid])
        if all(isinstance(axis, OrderedAxis) for axis in self.axes):  # views, without copies
            return tuple(_slice(codes) for codes in sources), tuple(_slice(c) for c in targets)
        return np.ix_(*sources), np.ix_(*targets)

    def layers(self, starts: Sequence[int], stops: Sequence[int]) -> Iterator[tuple[slice, ...]]:
        """Slices of a box that hold all its cells with an adjacent cell outside."""
        whole = max(math.floor(self.distance), 1)
        box = [slice(start, stop) for start, stop in zip(starts, stops, strict=True)]
        for i, (axis, part) in enumerate(zip(self.axes, box, strict=True)):
            for first, last in axis.layer(part.start, part.stop, whole):
                yield (*box[:i], slice(first, last), *box[i + 1 :])


def _slice(codes: Integers) -> slice:
    return slice(int(codes[0]), int(codes[-1]) + 1) if len(codes) else slice(0, 0)


def _forward(axes: tuple[Axis, ...], step: Shift) -> bool:
    """Of a step along ordinal axes and its reverse the one; none to a sibling and nowhere else."""
    ordinal = [
        by for axis, by in zip(axes, step, strict=True) if isinstance(axis, OrderedAxis) and by
    ]
    if ordinal:
        return ordinal[0] > 0
    return sum(by != 0 for by in step) > 1


def _among_siblings(
    axis: Siblings, i: int, values: NDArray[Any], indices: Integers, below: float
) -> Iterator[tuple[Integers, Integers]]:
    for codes in axis.sibling_codes:
        siblings = np.moveaxis(values.take(codes, i), i, 0)
        order = np.argsort(siblings, axis=0, kind="stable")
        ranked = np.take_along_axis(siblings, order, 0)
        where = np.take_along_axis(np.moveaxis(indices.take(codes, i), i, 0), order, 0)
        near = np.diff(ranked, axis=0) < below
        yield where[:-1][near], where[1:][near]


def _axis(attribute: Attribute) -> Axis:
    if attribute.kind == "ordinal" or attribute.hierarchy is None:
        return OrderedAxis(attribute.size, attribute.declared)
    parents = np.zeros(attribute.size, np.int64)  # the root's, for the code of others too
    above: list[int] = []
    for number, node in enumerate(attribute.hierarchy.nodes):
        del above[node.depth :]
        if node.is_leaf:
            parents[node.start] = above[-1] if above else 0
        above.append(number)
    return Siblings(np.unique(parents, return_inverse=True)[1].astype(np.int64))


def components(size: int, edges: Iterator[tuple[Integers, Integers]]) -> Integers:
    """The connected part of each of `size` places, numbered in the order of their first places.

    Every place points to one before it or to itself. Along an edge between two parts the later root
    is hung below the earlier, for all edges at once, and pointers are shortened; what is still
    apart goes round again.
    """
    root = np.arange(size)
    for one, other in edges:
        while True:
            one, other = root[one], root[other]
            apart = one != other
            if not apart.any():
                break
            one, other = one[apart], other[apart]
            root[np.maximum(one, other)] = np.minimum(one, other)
            root = _shortened(root)
    return np.asarray(np.unique(root, return_inverse=True)[1].reshape(-1), np.int64)


def _shortened(root: Integers) -> Integers:
    """Every pointer led to the end of its chain."""
    while True:
        further = root[root]
        if np.array_equal(further, root):
            return root
        root = further
