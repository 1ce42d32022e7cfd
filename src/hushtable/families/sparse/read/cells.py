"""Answers from a summary of cells: sums over what was kept, and how far off they may be.

One cell by itself is answered by its noisy count, or 0 where it is missing: that is biased, but
nearer to the truth than τ.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats, Integers
from hushtable.errors import QueryError
from hushtable.families.sparse.kept import CellNoise, Errors, KeptPlaces, SummedNoise, distinct_laws
from hushtable.query.batch import count_each
from hushtable.query.box import Box, Boxes, CodeSet
from hushtable.query.cutting import Cuts, cells_by_group
from hushtable.query.law import NoiseLaw, NoiseSum
from hushtable.query.reader import Estimates

# Cells that are laid out at the most, and kept places that are looked at at once.
MOST_CELLS = 2**27
_PIECE = 2**22


@dataclass(frozen=True)
class _Sums:
    """Sums over what was kept, by group."""

    weights: NDArray[Any]
    values: Integers
    kept: Integers
    sampled: Integers
    passed: Floats
    spread: Floats


@dataclass(frozen=True, eq=False)
class CellSummary:
    """The cells that were kept, in the order of their linear codes, and their noisy counts."""

    shape: tuple[int, ...]
    kept: KeptPlaces
    errors: Errors

    @property
    def estimate(self) -> bool:
        return self.errors.estimate

    @property
    def note(self) -> str:
        """Where its values and errors come from."""
        return self.errors.note

    def law(self, boxes: Boxes) -> NoiseLaw:
        """The law of the error in the count of disjoint boxes."""
        return self.count(boxes)[1]

    def count(self, boxes: Boxes) -> tuple[float, NoiseLaw]:
        """The estimated count of disjoint boxes, and the law of its error."""
        return self.group(boxes, ()).only()

    def group(self, boxes: Boxes, cuts: Cuts) -> Estimates:
        """The estimated counts of disjoint boxes cut by groups of codes along some axes."""
        places = cells_by_group(boxes, cuts)
        sums = self._sums(boxes, cuts)
        if self.errors.complete:
            noise = self.errors.noise
            laws, which = distinct_laws(lambda terms: NoiseSum.of(noise, terms), [places])
            return Estimates(sums.weights, laws, which)
        variances = self.errors.variance(places.astype(np.float64), sums.passed, sums.spread)
        laws, which = distinct_laws(
            lambda *facts: SummedNoise(self.errors, *facts),
            [variances, sums.weights, places, sums.kept, sums.sampled],
        )
        if self.errors.tau and (places == 1).any():
            return self._with_points(places == 1, sums, laws, which)
        return Estimates(sums.weights, laws, which)

    def _with_points(
        self,
        single: NDArray[np.bool_],
        sums: _Sums,
        laws: tuple[NoiseLaw, ...],
        which: NDArray[Any],
    ) -> Estimates:
        """Groups of one cell are answered by its noisy count."""
        points = tuple(CellNoise(self.errors, there) for there in (False, True))
        which = np.where(single, len(laws) + np.minimum(sums.kept, 1), which)
        return Estimates(np.where(single, sums.values, sums.weights), (*laws, *points), which)

    def _sums(self, boxes: Boxes, cuts: Cuts) -> _Sums:
        size = math.prod(len(ranges) for _, ranges in cuts)
        exact = np.int64 if self.errors.weights(np.zeros(1)).dtype.kind == "i" else np.float64
        sums = _Sums(
            np.zeros(size, exact),
            np.zeros(size, np.int64),
            np.zeros(size, np.int64),
            np.zeros(size, np.int64),
            np.zeros(size),
            np.zeros(size),
        )
        for first, last, box in self._slices(boxes):
            self._add(sums, self.kept.places[first:last], self.kept.values[first:last], box, cuts)
        return sums

    def _slices(self, boxes: Boxes) -> Iterator[tuple[int, int, Box]]:
        """Stretches of the kept cells that can lie in a box, by its first axis."""
        stride = math.prod(self.shape[1:])
        for box in boxes:
            if not box.cells:
                continue
            ends = np.array(box.sets[0].intervals) * stride
            for start, stop in np.searchsorted(self.kept.places, ends).tolist():
                for first in range(start, stop, _PIECE):
                    yield first, min(first + _PIECE, stop), box

    def _add(
        self, sums: _Sums, places: NDArray[Any], values: NDArray[Any], box: Box, cuts: Cuts
    ) -> None:
        """Add up the kept cells of a box, each to its group."""
        inside, owner = self._located(places, box, cuts)
        chosen, owner = values[inside], owner[inside]
        np.add.at(sums.weights, owner, self.errors.weights(chosen))
        np.add.at(sums.values, owner, chosen)
        np.add.at(sums.kept, owner, 1)
        if not self.errors.complete:
            np.add.at(sums.sampled, owner, self.errors.sampled(chosen))
            np.add.at(sums.passed, owner, self.errors.passed(chosen))
            np.add.at(sums.spread, owner, self.errors.spread(chosen))

    def _located(
        self, places: NDArray[Any], box: Box, cuts: Cuts
    ) -> tuple[NDArray[np.bool_], Integers]:
        """Which cells lie in a box and a group, and in which group."""
        inside = np.ones(len(places), bool)
        along: dict[int, NDArray[Any]] = {}
        rest, grouped = places.astype(np.int64), dict(cuts)
        for axis in reversed(range(len(self.shape))):
            whole = box.sets[axis] == CodeSet.full(self.shape[axis])
            rest, codes = np.divmod(rest, self.shape[axis]) if axis else (rest, rest)
            if not whole and (axis or axis in grouped):
                inside &= _member(codes, np.array(box.sets[axis].intervals))[0]
            if axis in grouped:
                held, along[axis] = _member(codes, np.array(grouped[axis]).reshape(-1, 2))
                inside &= held
        owner = np.zeros(len(places), np.int64)
        for axis, ranges in cuts:
            owner = owner * len(ranges) + along[axis]
        return inside, owner

    def cells(self) -> NDArray[Any]:
        """What every cell stands for, 0 where it is missing."""
        check_cells(math.prod(self.shape))
        weights = self.errors.weights(self.kept.values)
        dense = np.zeros(math.prod(self.shape), weights.dtype)
        dense[self.kept.places] = weights
        return dense.reshape(self.shape)

    def fresh_cells(self) -> NDArray[Any]:
        """What every cell stands for, in memory of its own."""
        return self.cells()

    def cell_variances(self, codes: Sequence[NDArray[Any]]) -> Floats:
        """The variance of what each of many cells stands for."""
        places = np.ravel_multi_index(tuple(codes), self.shape)
        return self.errors.place_variances(self.kept, np.asarray(places, np.int64))

    def range_variances(self, starts: Integers, stops: Integers) -> Floats:
        """The variance of each of many boxes."""
        return self.ranges(starts, stops)[1]

    def ranges(self, starts: Integers, stops: Integers) -> tuple[NDArray[Any], Floats]:
        """The counts of many boxes, and their variances."""
        return count_each(self.count, starts, stops)

    @property
    def total(self) -> float:
        """The estimated number of rows."""
        return max(float(self.errors.weights(self.kept.values).sum(dtype=np.float64)), 0.0)


def check_cells(cells: int) -> None:
    """Refuse to lay out a domain that memory could not hold."""
    if cells > MOST_CELLS:
        raise QueryError(
            f"the domain has {cells:,} cells, too many to lay out: ask for counts, or read the"
            " kept cells in the release's summary.parquet"
        )


def _member(codes: NDArray[Any], ranges: Integers) -> tuple[NDArray[np.bool_], Integers]:
    """Which codes lie in one of some disjoint ranges, given in order, and in which."""
    if not len(ranges):
        return np.zeros(len(codes), bool), np.zeros(len(codes), np.int64)
    which = np.searchsorted(ranges[:, 0], codes, side="right") - 1
    inside = (which >= 0) & (codes < ranges[np.maximum(which, 0), 1])
    return inside, np.maximum(which, 0)
