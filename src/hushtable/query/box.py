"""Boxes: a set of codes on each attribute, as intervals, for a domain may have 10¹² codes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod

Interval = tuple[int, int]


@dataclass(frozen=True, slots=True)
class CodeSet:
    """A set of codes: sorted, disjoint, non-adjacent half-open intervals.

    The form is unique, so equal sets are equal values.

    >>> CodeSet.of((4, 6), (0, 2), (2, 3))
    CodeSet(intervals=((0, 3), (4, 6)))
    """

    intervals: tuple[Interval, ...] = ()

    @classmethod
    def of(cls, *intervals: Interval) -> CodeSet:
        """The union of any intervals [start, stop); empty ones are dropped."""
        return cls(tuple(_merged(intervals)))

    @classmethod
    def single(cls, code: int) -> CodeSet:
        """The set of one code."""
        return cls(((code, code + 1),))

    @classmethod
    def empty(cls) -> CodeSet:
        """No code at all."""
        return cls()

    @classmethod
    def full(cls, size: int) -> CodeSet:
        """Every code of an attribute with this many."""
        return cls(((0, size),)) if size > 0 else cls()

    @classmethod
    def union_of(cls, sets: Iterable[CodeSet]) -> CodeSet:
        """The union of many sets at once, in one sort instead of one merge per set."""
        return cls.of(*(interval for codes in sets for interval in codes.intervals))

    @property
    def count(self) -> int:
        """How many codes it holds."""
        return sum(stop - start for start, stop in self.intervals)

    def __bool__(self) -> bool:
        return bool(self.intervals)

    def __contains__(self, code: int) -> bool:
        return any(start <= code < stop for start, stop in self.intervals)

    def union(self, other: CodeSet) -> CodeSet:
        """The codes in either set."""
        return CodeSet.of(*self.intervals, *other.intervals)

    def intersection(self, other: CodeSet) -> CodeSet:
        """The codes in both sets."""
        return CodeSet(tuple(_overlaps(self.intervals, other.intervals)))

    def complement(self, size: int) -> CodeSet:
        """The codes of 0 … size−1 that are not in the set."""
        starts = (0, *(stop for _, stop in self.intervals))
        stops = (*(start for start, _ in self.intervals), size)
        gaps = zip(starts, stops, strict=True)
        return CodeSet(tuple((start, stop) for start, stop in gaps if start < stop))


@dataclass(frozen=True, slots=True)
class Box:
    """The cells whose code on each attribute lies in that attribute's set."""

    sets: tuple[CodeSet, ...]

    @classmethod
    def full(cls, shape: Iterable[int]) -> Box:
        """The whole domain."""
        return cls(tuple(CodeSet.full(size) for size in shape))

    @property
    def cells(self) -> int:
        """How many cells it holds."""
        return prod(codes.count for codes in self.sets)

    def intersection(self, other: Box) -> Box:
        """The cells in both boxes; a box with an empty set holds none."""
        pairs = zip(self.sets, other.sets, strict=True)
        return Box(tuple(mine.intersection(theirs) for mine, theirs in pairs))

    def cut(self, axis: int, codes: CodeSet) -> Box:
        """The cells whose code on one attribute also lies in a set."""
        kept = self.sets[axis].intersection(codes)
        return Box((*self.sets[:axis], kept, *self.sets[axis + 1 :]))


Boxes = tuple[Box, ...]
"""Pairwise disjoint boxes; their union is what a WHERE clause selects."""


def cells(boxes: Boxes) -> int:
    """How many cells disjoint boxes hold."""
    return sum(box.cells for box in boxes)


def common(left: Boxes, right: Boxes) -> Boxes:
    """The disjoint boxes of the cells that are in both."""
    both = (one.intersection(two) for one in left for two in right)
    return tuple(box for box in both if all(box.sets))


def _merged(intervals: Iterable[Interval]) -> list[Interval]:
    """Sort intervals and join those that overlap or touch."""
    merged: list[Interval] = []
    for start, stop in sorted(intervals):
        if start >= stop:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
        else:
            merged.append((start, stop))
    return merged


def _overlaps(left: tuple[Interval, ...], right: tuple[Interval, ...]) -> list[Interval]:
    """The overlaps of two sorted lists of intervals, by walking both once."""
    found: list[Interval] = []
    i = j = 0
    while i < len(left) and j < len(right):
        start = max(left[i][0], right[j][0])
        stop = min(left[i][1], right[j][1])
        if start < stop:
            found.append((start, stop))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return found
