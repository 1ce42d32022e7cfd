"""What a question asks of each axis: weights on the coefficients of the axis, in classes.

A condition is a few disjoint boxes, and GROUP BY cuts them. Coefficients that have the same weights
in all boxes form a class: an axis of thousands of plain counts has two for most questions, those
inside and those outside. The weights of an answer are then the same for all cells of the same
classes, so that its law has few terms.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats, Integers
from hushtable.families.linear.read.groups import AxisGroups, kinds_of
from hushtable.families.marginals.axes import ReadAxis
from hushtable.query.box import Box, CodeSet
from hushtable.query.cutting import AxisRanges, Cuts, all_codes, ranks
from hushtable.query.weighing import unique_columns

# Weights that differ by less are one: what is left of rounding.
_DIGITS = 12


@dataclass(frozen=True, eq=False)
class AxisAsked:
    """What the boxes of a question ask of an axis, by class of coefficients."""

    own: Floats
    """The weights of each box, less its share of the total: a row for each box."""
    whole: Floats
    """The weights of the total."""
    shares: Floats
    """qᵀu: what of the total falls to each box."""
    counts: Integers
    """How many coefficients are in each class."""

    @cached_property
    def key(self) -> tuple[bytes, ...]:
        """What makes it different from others."""
        return tuple(a.tobytes() for a in (self.own, self.whole, self.shares, self.counts))

    @classmethod
    def of(cls, weights: Floats, whole: Floats, shares: Floats, counts: Integers) -> AxisAsked:
        return cls(weights - np.multiply.outer(shares, whole), whole, shares, counts)


def axis_asked(
    axis: ReadAxis, sets: Sequence[CodeSet], ranges: AxisRanges | None
) -> tuple[list[AxisAsked], NDArray[np.intp]]:
    """What is asked of an axis that is cut by groups: the distinct ones, and each group's.

    `sets` are the codes of each box. Codes outside a group are in no box of it. Without ranges the
    axis is one group.
    """
    if axis.plain and ranges is None and len(sets) == 1:
        return [_of_one_set(sets[0].count, axis.size)], np.zeros(1, np.intp)
    groups = np.array([(0, axis.size)] if ranges is None else ranges, np.int64).reshape(-1, 2)
    return (_plain if axis.plain else _transformed)(axis, sets, groups)


@lru_cache(maxsize=4096)
def _of_one_set(codes: int, size: int) -> AxisAsked:
    """So many codes of plain counts, whichever they are."""
    return _of_codes(np.ones((1, 1), bool), np.array([codes]), size)


def _plain(
    axis: ReadAxis, sets: Sequence[CodeSet], groups: Integers
) -> tuple[list[AxisAsked], NDArray[np.intp]]:
    """Of plain counts: codes are alike if they are in the same boxes."""
    ends = [end for codes in sets for interval in codes.intervals for end in interval]
    cuts = np.unique(np.concatenate([np.array(ends, np.int64), groups.reshape(-1)]))
    starts, lengths = cuts[:-1], np.diff(cuts)
    each = np.stack([starts, starts + 1], axis=1)
    inside = np.array([np.greater(*ranks(codes, each)[::-1]) for codes in sets], bool)
    patterns, pattern_of = np.unique(
        inside.reshape(len(sets), len(starts)).T, axis=0, return_inverse=True
    )
    home = np.searchsorted(groups[:, 0], starts, side="right") - 1
    held = (home >= 0) & (starts < groups[home, 1])
    counts = np.zeros((len(groups), len(patterns)), np.int64)
    np.add.at(counts, (home[held], pattern_of.reshape(-1)[held]), lengths[held])
    kinds, which = np.unique(counts, axis=0, return_inverse=True)
    return [_of_codes(patterns, kind, axis.size) for kind in kinds], which.reshape(-1)


def _of_codes(patterns: NDArray[np.bool_], counts: Integers, size: int) -> AxisAsked:
    """The classes that hold a code; all codes in no box are one of them."""
    some = patterns.any(axis=1) & (counts > 0)
    outside = size - int(counts[some].sum())
    weights = patterns[some].T.astype(np.float64)
    codes = counts[some]
    if outside:
        weights = np.append(weights, np.zeros((len(weights), 1)), axis=1)
        codes = np.append(codes, outside)
    return AxisAsked.of(weights, np.ones(len(codes)), weights @ codes / size, codes)


def weights_asked(axis: ReadAxis, weights: Floats) -> AxisAsked:
    """What is asked of an axis whose codes have weights: a row of them for each box."""
    classes, which = unique_columns(np.vstack([axis.reading.rows(weights), axis.whole]))
    return AxisAsked.of(classes[:-1], classes[-1], weights @ axis.even, np.bincount(which))


def _transformed(
    axis: ReadAxis, sets: Sequence[CodeSet], groups: Integers
) -> tuple[list[AxisAsked], NDArray[np.intp]]:
    """Of other coefficients: those with the same weights in all boxes and in the total."""
    kinds, first = kinds_of([AxisGroups.of(axis.reading, codes, groups) for codes in sets])
    found: dict[bytes, tuple[int, AxisAsked]] = {}
    which = []
    for start, stop in groups[first].tolist():
        inside = np.zeros((len(sets), axis.size))
        for row, codes in zip(inside, sets, strict=True):
            row[all_codes(codes.intersection(CodeSet.of((start, stop))))] = 1.0
        columns = np.vstack([axis.reading.rows(inside), axis.whole]).round(_DIGITS)
        classes, counts = np.unique(columns, axis=1, return_counts=True)
        shares = inside @ axis.even
        key = classes.tobytes() + counts.tobytes() + shares.round(_DIGITS).tobytes()
        if key not in found:
            asked = AxisAsked.of(classes[:-1], classes[-1], shares, counts)
            found[key] = len(found), asked
        which.append(found[key][0])
    return [asked for _, asked in found.values()], np.array(which, np.intp)[kinds]


@dataclass(frozen=True, eq=False)
class Asked:
    """One row of an answer: what it asks of every axis that it is about."""

    axes: tuple[int, ...]
    along: tuple[AxisAsked, ...]
    factors: tuple[float, ...]
    """What each box counts."""

    @cached_property
    def key(self) -> tuple[object, ...]:
        """What makes its law different from others'."""
        return self.axes, self.factors, *(asked.key for asked in self.along)

    def parts(self) -> dict[tuple[int, ...], Floats]:
        """For each set R of axes, the weights of the part of R, class by class.

        Along the axes of R the own weights, along the others the share of the total, box by box;
        boxes add up.
        """
        found: dict[tuple[int, ...], Floats] = {(): np.array(self.factors, np.float64)}
        for axis, asked in zip(self.axes, self.along, strict=True):
            wider: dict[tuple[int, ...], Floats] = {}
            for part, weights in found.items():
                boxes = (slice(None), *[None] * len(part))
                wider[part] = weights * asked.shares[boxes]
                wider[(*part, axis)] = weights[..., None] * asked.own[(*boxes, slice(None))]
            found = wider
        return {part: weights.sum(axis=0) for part, weights in found.items()}

    def counts(self, axes: Sequence[int]) -> Integers:
        """How many coefficients of some axes there are in each combination of classes."""
        counts = [asked.counts for asked in self._of(axes)]
        return np.asarray(reduce(np.multiply.outer, counts, np.ones((), np.int64)))

    def whole(self, axes: Sequence[int]) -> list[Floats]:
        """The weights of the total along some axes, each by class."""
        return [asked.whole for asked in self._of(axes)]

    def _of(self, axes: Sequence[int]) -> list[AxisAsked]:
        pairs = zip(self.axes, self.along, strict=True)
        return [asked for axis, asked in pairs if axis in axes]


def rows_asked(
    axes: tuple[int, ...], boxes: Sequence[Box], cuts: Cuts, along: Sequence[ReadAxis]
) -> tuple[list[Asked], NDArray[np.intp]]:
    """The distinct rows of an answer, and which of them each row is; the order of cuts is kept.

    Boxes, cuts and `along` are over these axes alone, numbered from 0.
    """
    ranges = dict(cuts)
    kinds = [
        axis_asked(axis, [box.sets[i] for box in boxes], ranges.get(i))
        for i, axis in enumerate(along)
    ]
    distinct = [
        Asked(axes, combined, (1.0,) * len(boxes))
        for combined in itertools.product(*(found for found, _ in kinds))
    ]
    numbers = np.arange(len(distinct)).reshape([len(found) for found, _ in kinds])
    by_axis = numbers[np.ix_(*(which for _, which in kinds))] if kinds else numbers
    plain = [i for i in range(len(kinds)) if i not in ranges]
    return distinct, by_axis.transpose([*plain, *ranges]).reshape(-1)
