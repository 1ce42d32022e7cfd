"""Answers from a dense matrix of noisy cells: sums over boxes, and the law of their noise.

Every cell has independent discrete Laplace noise of one scale, so the noise of a sum of k cells is
the sum of k of them, whatever the cells.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.query.box import Box, CodeSet, Interval, Region, cells
from hushtable.query.law import DiscreteLaplaceSum, NoiseLaw

NOTE = "sum of noisy cells"

# More slices than this are gathered axis by axis instead of being added one by one.
_MAX_SLICES = 256

ReadBox = Callable[..., NDArray[Any]]
"""Reads the box that slices, one per axis, cut out of the matrix."""


@dataclass(frozen=True)
class Estimates:
    """The answers to a group of questions: values, and the law of each one's noise."""

    values: NDArray[Any]
    laws: tuple[NoiseLaw, ...]
    law_of_row: NDArray[np.intp]


@dataclass(frozen=True)
class NoisyCells:
    """A matrix of noisy counts, all with noise of the same scale."""

    read: ReadBox
    shape: tuple[int, ...]
    scale: Fraction

    note = NOTE

    def count(self, region: Region) -> tuple[int, NoiseLaw]:
        """The noisy count of a region, and the law of its noise."""
        value = sum(int(self._sum(box, ())) for box in region)
        return value, DiscreteLaplaceSum(self.scale, cells(region))

    def group(self, region: Region, groups: Sequence[tuple[int, Sequence[Interval]]]) -> Estimates:
        """The noisy count of a region cut by groups of codes along some axes.

        Rows run through the groups with the last axis fastest.
        """
        sizes = tuple(len(intervals) for _, intervals in groups)
        values = np.zeros(sizes, np.int64)
        terms = np.zeros(sizes, np.int64)
        for box in region:
            values += self._sum(box, groups)
            terms += _cells_by_group(box, groups)
        distinct, law_of_row = np.unique(terms.reshape(-1), return_inverse=True)
        laws = tuple(DiscreteLaplaceSum(self.scale, int(count)) for count in distinct)
        return Estimates(values.reshape(-1), laws, law_of_row.reshape(-1))

    def _sum(self, box: Box, groups: Sequence[tuple[int, Sequence[Interval]]]) -> NDArray[np.int64]:
        """The sums over a box, cut along the grouped axes, which come in the order of `groups`."""
        if not box.cells:
            return np.zeros([len(intervals) for _, intervals in groups], np.int64)
        grouped = {axis for axis, _ in groups}
        plain = [i for i in range(len(self.shape)) if i not in grouped]
        hull = [slice(codes.intervals[0][0], codes.intervals[-1][1]) for codes in box.sets]
        ragged = [i for i in plain if len(box.sets[i].intervals) > 1]
        if math.prod(len(box.sets[i].intervals) for i in ragged) > _MAX_SLICES:
            matrix = self.read(*hull)
            for i in ragged:
                matrix = matrix.take(_offsets(box.sets[i], hull[i].start), axis=i)
            total = matrix.sum(axis=tuple(plain), dtype=np.int64)
        else:
            total = sum(
                self.read(*_replaced(hull, ragged, choice)).sum(axis=tuple(plain), dtype=np.int64)
                for choice in itertools.product(*(box.sets[i].intervals for i in ragged))
            )
        total = np.asarray(total)
        kept = sorted(grouped)
        for position, axis in enumerate(kept):
            intervals = next(intervals for i, intervals in groups if i == axis)
            total = _sum_groups(total, position, box.sets[axis], intervals)
        ordered: NDArray[np.int64] = total.transpose([kept.index(axis) for axis, _ in groups])
        return ordered


def _replaced(hull: list[slice], axes: list[int], choice: Sequence[Interval]) -> list[slice]:
    slices = list(hull)
    for axis, (start, stop) in zip(axes, choice, strict=True):
        slices[axis] = slice(start, stop)
    return slices


def _offsets(codes: CodeSet, origin: int) -> NDArray[np.int64]:
    return np.concatenate([np.arange(start, stop) for start, stop in codes.intervals]) - origin


def _sum_groups(
    matrix: NDArray[np.int64], axis: int, codes: CodeSet, groups: Sequence[Interval]
) -> NDArray[np.int64]:
    """Add up an axis, which spans the hull of `codes`, group by group and inside `codes` only."""
    origin, end = codes.intervals[0][0], codes.intervals[-1][1]
    inside = np.zeros(end - origin, bool)
    inside[_offsets(codes, origin)] = True
    shape = [1] * matrix.ndim
    shape[axis] = len(inside)
    matrix = np.where(inside.reshape(shape), matrix, 0)
    sums = np.concatenate(
        [np.zeros_like(matrix.take([0], axis)), np.cumsum(matrix, axis=axis)], axis=axis
    )
    starts, stops = (np.clip(ends, origin, end) - origin for ends in np.array(groups).T)
    return np.asarray(sums.take(stops, axis) - sums.take(starts, axis))


def _cells_by_group(
    box: Box, groups: Sequence[tuple[int, Sequence[Interval]]]
) -> NDArray[np.int64]:
    grouped = {axis for axis, _ in groups}
    others = math.prod(codes.count for i, codes in enumerate(box.sets) if i not in grouped)
    counts = np.array(others, np.int64)
    for axis, intervals in groups:
        along = [box.sets[axis].intersection(CodeSet.of(interval)).count for interval in intervals]
        counts = np.multiply.outer(counts, np.array(along, np.int64))
    return counts
