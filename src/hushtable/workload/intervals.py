"""Intervals along one axis that a workload asks for: listed, or all ranges of the axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Protocol

import numpy as np

from hushtable.arrays import Floats, Integers
from hushtable.errors import OptionError
from hushtable.schema import Attribute

# Axes up to here are gone through code by code; of longer ones an even choice of intervals is.
LONGEST = 2**21


class Along(Protocol):
    """A set of intervals along one axis, all of the same weight."""

    def __hash__(self) -> int:
        """What was found for a set is found for its equals."""

    @property
    def count(self) -> int:
        """How many intervals there are."""

    @property
    def exact(self) -> bool:
        """Whether means are over all of them."""

    def spread(self, first: Floats, second: Floats) -> tuple[Integers, Integers]:
        """Intervals for points of the unit square: even points give all intervals alike."""


@dataclass(frozen=True, eq=False)
class Listed:
    """Intervals that are listed."""

    starts: Integers
    stops: Integers
    whole: int
    """How many there would be if none had been left out."""

    @classmethod
    def of(cls, intervals: Sequence[tuple[int, int]]) -> Listed:
        """All of some intervals."""
        starts, stops = np.array(intervals, np.int64).T
        return cls(np.ascontiguousarray(starts), np.ascontiguousarray(stops), len(intervals))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Listed) and self._digest == other._digest

    def __hash__(self) -> int:
        return hash(self._digest)

    @cached_property
    def _digest(self) -> bytes:
        told = sha256(str(self.whole).encode())
        for ends in (self.starts, self.stops):
            told.update(ends.astype(np.int64).tobytes())
        return told.digest()

    @property
    def count(self) -> int:
        return self.whole

    @property
    def exact(self) -> bool:
        return self.whole == len(self.starts)

    def spread(self, first: Floats, second: Floats) -> tuple[Integers, Integers]:
        chosen = np.minimum((first * len(self.starts)).astype(np.int64), len(self.starts) - 1)
        return self.starts[chosen], self.stops[chosen]


@dataclass(frozen=True)
class AllRanges:
    """Every interval of the first `codes` codes of an axis."""

    codes: int

    @property
    def count(self) -> int:
        return self.codes * (self.codes + 1) // 2

    @property
    def exact(self) -> bool:
        return self.codes <= LONGEST

    def spread(self, first: Floats, second: Floats) -> tuple[Integers, Integers]:
        """Two of the n + 1 ends, in order; equal ones stand for an interval of one code."""
        n = self.codes
        one, other = ((end * (n + 1)).astype(np.int64).clip(0, n) for end in (first, second))
        # Of the (n + 1)² pairs n + 1 are equal: they become single codes, a little too often.
        starts, stops = np.minimum(one, other), np.maximum(one, other)
        starts = np.where(starts == stops, np.minimum(starts, n - 1), starts)
        return starts, np.maximum(stops, starts + 1)


@dataclass(frozen=True)
class Either:
    """Several sets, which weigh the same whatever their numbers."""

    parts: tuple[Along, ...]

    @property
    def count(self) -> int:
        return sum(part.count for part in self.parts)

    @property
    def exact(self) -> bool:
        return all(part.exact for part in self.parts)

    def spread(self, first: Floats, second: Floats) -> tuple[Integers, Integers]:
        """The first coordinate also chooses the set."""
        scaled = first * len(self.parts)
        chosen = np.minimum(scaled.astype(np.int64), len(self.parts) - 1)
        ends = [part.spread(scaled - chosen, second) for part in self.parts]
        starts, stops = (np.choose(chosen, [pair[i] for pair in ends]) for i in (0, 1))
        return starts, stops


def some_of(along: Along, most: int) -> tuple[Integers, Integers]:
    """All intervals of a small set; of a large one, an even choice that is always the same."""
    if along.count > most:
        points = even_points(most, 2)
        return along.spread(points[0], points[1])
    if isinstance(along, Either):
        ends = [some_of(part, most) for part in along.parts]
        return np.concatenate([e[0] for e in ends]), np.concatenate([e[1] for e in ends])
    if not isinstance(along, AllRanges):
        middles = (np.arange(along.count) + 0.5) / along.count
        return along.spread(middles, middles)
    starts, stops = np.triu_indices(along.codes)
    return starts, stops + 1


def even_points(count: int, dimensions: int) -> Floats:
    """Coordinates of points that fill the unit cube evenly, always the same: a row each.

    Multiples of 1/φ, 1/φ², …, where φ^(d+1) = φ + 1: the golden ratio's generalisation.
    """
    root = 2.0
    for _ in range(64):
        root = (1 + root) ** (1 / (dimensions + 1))
    steps = root ** -np.arange(1.0, dimensions + 1)
    points: Floats = (0.5 + np.multiply.outer(steps, np.arange(1.0, count + 1))) % 1
    return points


# ── the sets of an attribute ─────────────────────────────────────────────────────────────────────


def whole(attribute: Attribute) -> Listed:
    """No condition: all codes, nulls and other values included."""
    return Listed(np.array([0]), np.array([attribute.size]), 1)


def points(attribute: Attribute) -> Listed:
    """Every code by itself."""
    codes = _even_codes(attribute.size)
    return Listed(codes, codes + 1, attribute.size)


def prefixes(attribute: Attribute) -> Along:
    """Everything up to a value; on a nominal attribute, which has no order, its nodes."""
    if attribute.kind == "nominal":
        return nodes(attribute)
    ends = _even_codes(attribute.declared) + 1
    return Listed(np.zeros_like(ends), ends, attribute.declared)


def ranges(attribute: Attribute) -> Along:
    """Every interval of an ordinal attribute, every node of a nominal one."""
    return nodes(attribute) if attribute.kind == "nominal" else AllRanges(attribute.declared)


def everyday(attribute: Attribute) -> Along:
    """A range or a value of an ordinal attribute, a node below the top or a value of a nominal
    one: either kind weighs the same."""
    if attribute.kind == "ordinal":
        return Either((AllRanges(attribute.declared), points(attribute)))
    if attribute.hierarchy is None or attribute.hierarchy.height < 2:
        return points(attribute)
    return Either((nodes(attribute, root=False), points(attribute)))


def nodes(attribute: Attribute, *, root: bool = True) -> Along:
    """Every node of the attribute's hierarchy, with or without the top one."""
    if attribute.hierarchy is None:
        return points(attribute)
    found = {(node.start, node.stop) for node in attribute.hierarchy.nodes}
    if not root and len(found) > 1:
        found.discard((0, attribute.declared))
    return Listed.of(sorted(found))


def level(attribute: Attribute, depth: int) -> Listed:
    """The nodes at one level of the attribute's hierarchy."""
    if attribute.hierarchy is None:
        raise OptionError(f"{attribute.name} has no hierarchy, so it has no levels")
    if not 0 <= depth <= attribute.hierarchy.height:
        height = attribute.hierarchy.height
        raise OptionError(f"{attribute.name} has levels 0 to {height}, not {depth}")
    return Listed.of([(node.start, node.stop) for node in attribute.hierarchy.level(depth)])


def _even_codes(codes: int) -> Integers:
    """All codes of an axis, or of a very long one an even choice."""
    if codes <= LONGEST:
        return np.arange(codes)
    return np.linspace(0, codes - 1, 2**16).astype(np.int64)
