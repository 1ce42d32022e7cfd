"""Answers from a summary of dyadic ranges or Haar coefficients: weighted sums over few places."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats, Integers
from hushtable.errors import QueryError
from hushtable.families.sparse.kept import (
    Errors,
    KeptPlaces,
    RootedNoise,
    SummedNoise,
    WeightedNoise,
    distinct_laws,
)
from hushtable.families.sparse.ranges import haar_cell_gains, weights_of
from hushtable.families.sparse.read.cells import check_cells
from hushtable.kernel.maps import Haar
from hushtable.kernel.maps.structure import Structure, located, offsets, splits
from hushtable.query.batch import count_each
from hushtable.query.box import Box, Boxes, CodeSet
from hushtable.query.cutting import Cuts, cut_by, group_steps
from hushtable.query.inverse import HaarInverse, inverse
from hushtable.query.law import NoiseLaw, NoiseSum
from hushtable.query.reader import Estimates

# Places that one question may ask for.
_MOST_ASKED = 2**25


class _AskedPlaces(NamedTuple):
    """Places that answers are made of: whose they are, where they stand, how much they count."""

    owner: Integers
    places: Integers
    weights: Floats


class _GroupSums(NamedTuple):
    """Which of the places were kept, and by group variances, sums and how many were sampled."""

    there: NDArray[np.bool_]
    variances: Floats
    values: Floats
    sampled: Integers


@dataclass(frozen=True, eq=False)
class NodeSummary:
    """The places of a structure that were kept, in order, and their noisy values."""

    structure: Structure
    kept: KeptPlaces
    errors: Errors

    @property
    def estimate(self) -> bool:
        if self.structure.on == "haar":
            return self.errors.estimate_of_weighted
        return self.errors.estimate

    @property
    def note(self) -> str:
        """Where its values and errors come from."""
        what = "nodes" if self.structure.on == "dyadic" else "Haar coefficients"
        return f"{self.errors.note} ({what}, not cells)"

    def law(self, boxes: Boxes) -> NoiseLaw:
        """The law of the error in the count of disjoint boxes."""
        return self.count(boxes)[1]

    def count(self, boxes: Boxes) -> tuple[float, NoiseLaw]:
        """The estimated count of disjoint boxes, and the law of its error."""
        return self.group(boxes, ()).only()

    def group(self, boxes: Boxes, cuts: Cuts) -> Estimates:
        """The estimated counts of disjoint boxes cut by groups of codes along some axes."""
        size = math.prod(len(ranges) for _, ranges in cuts)
        asked = self._asked(boxes, cuts)
        there, where = self.kept.found(asked.places)
        weights, values = asked.weights[there], self.kept.values[where[there]]
        owner, squares = asked.owner[there], np.square(weights)

        variances = self.errors.variance(
            _sums(asked.owner, np.square(asked.weights), size),
            _sums(owner, squares * self.errors.passed(values), size),
            _sums(owner, squares * self.errors.spread(values), size),
        )
        found = _GroupSums(
            there,
            variances,
            _sums(owner, weights * self.errors.weights(values), size),
            _sums(owner, self.errors.sampled(values).astype(np.float64), size).astype(np.int64),
        )
        laws, which = self._laws(asked, found, size)
        return Estimates(found.values, laws, which)

    def _laws(
        self, asked: _AskedPlaces, found: _GroupSums, size: int
    ) -> tuple[tuple[NoiseLaw, ...], NDArray[np.intp]]:
        """The laws of sums over the places that were asked for."""
        errors = self.errors
        if self.structure.on == "haar":
            return self._weighted(asked, found, size)
        places, kept = (
            np.bincount(owner, minlength=size) for owner in (asked.owner, asked.owner[found.there])
        )
        if errors.complete:
            return distinct_laws(lambda n: NoiseSum.of(errors.noise, n), [places])
        if errors.consistent and not errors.tau:
            reached, around = self._reached(asked, found.there, size)
            above = places * self.structure.entering
            return distinct_laws(
                lambda *facts: RootedNoise(errors, *facts),
                [found.variances, found.values, reached, kept, around, above],
            )
        return distinct_laws(
            lambda *facts: SummedNoise(errors, *facts),
            [found.variances, found.values, places, kept, found.sampled],
        )

    def _weighted(
        self, asked: _AskedPlaces, found: _GroupSums, size: int
    ) -> tuple[tuple[NoiseLaw, ...], NDArray[np.intp]]:
        """The laws of weighted sums of coefficients."""
        gone = ~found.there
        missing = _sums(asked.owner[gone], np.abs(asked.weights[gone]), size)
        ends = np.searchsorted(asked.owner, np.arange(size + 1), sorter=(order := _order(asked)))
        noises = [
            self._noise(asked.weights[order[start:stop]]) for start, stop in pairwise(ends.tolist())
        ]
        if self.errors.complete:
            return tuple(noises), np.arange(size, dtype=np.intp)
        facts = zip(found.variances.tolist(), found.values.tolist(), noises, missing, strict=True)
        laws = tuple(WeightedNoise(self.errors, *row) for row in facts)
        return laws, np.arange(size, dtype=np.intp)

    def _noise(self, weights: Floats) -> NoiseSum:
        """The law of the noise of a weighted sum."""
        sizes, counts = np.unique(np.abs(weights), return_counts=True)
        pairs = zip(sizes.tolist(), counts.tolist(), strict=True)
        return NoiseSum.weighted({(w, self.errors.noise): count for w, count in pairs})

    def _reached(
        self, asked: _AskedPlaces, there: NDArray[np.bool_], size: int
    ) -> tuple[Integers, Integers]:
        """How many nodes have all their ancestors; how many missing ones hold the others."""
        gone = np.flatnonzero(~there)
        owner, places = asked.owner[gone], asked.places[gone]
        top = self._topmost(places)
        alone = top == places
        reached = there.copy()
        reached[gone] = alone
        pairs = np.unique(np.stack([owner[~alone], top[~alone]]), axis=1)
        return (
            np.bincount(asked.owner[reached], minlength=size),
            np.bincount(pairs[0], minlength=size),
        )

    def _topmost(self, places: Integers) -> Integers:
        """For each of some missing nodes one that holds it, is missing, and has all its parents.

        Where a node is there all its ancestors are, so that going up along one axis after the other
        for as long as nodes are missing leads to it.
        """
        stride = math.prod(self.structure.axes)
        for size, room in zip(self.structure.shape, self.structure.axes, strict=True):
            stride //= room
            for _ in range(splits(size)):
                along = places // stride % room
                level, node = located(along, size)
                above = np.array(offsets(size))[np.minimum(level + 1, splits(size))] + (node >> 1)
                higher = places + (above - along) * stride
                rises = (level < splits(size)) & ~self.kept.found(higher)[0]
                if not rises.any():
                    break
                places = np.where(rises, higher, places)
        return places

    def _asked(self, boxes: Boxes, cuts: Cuts) -> _AskedPlaces:
        """The places of all groups of the boxes, each once for its group."""
        parts = [self._asked_by_box(box, cuts) for box in boxes if box.cells]
        if sum(len(part.owner) for part in parts) > _MOST_ASKED:
            raise QueryError("the question touches too many places: ask for less at once")
        if not parts:
            return _AskedPlaces(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))
        owner, places, weights = (np.concatenate(column) for column in zip(*parts, strict=True))
        if len(parts) == 1:
            return _AskedPlaces(owner, places, weights)
        order = np.lexsort((places, owner))
        owner, places, weights = owner[order], places[order], weights[order]
        new = np.concatenate(([True], (np.diff(owner) != 0) | (np.diff(places) != 0)))
        starts = np.flatnonzero(new)
        return _AskedPlaces(owner[starts], places[starts], np.add.reduceat(weights, starts))

    def _asked_by_box(self, box: Box, cuts: Cuts) -> _AskedPlaces:
        """A product of what each axis is made of, group by group."""
        asked = _AskedPlaces(np.zeros(1, np.int64), np.zeros(1, np.int64), np.ones(1))
        steps = group_steps(cuts)
        for axis, room in enumerate(self.structure.axes):
            along = self._along(axis, cut_by(box, axis, cuts))
            if len(asked.owner) * len(along.owner) > _MOST_ASKED:
                raise QueryError("the question touches too many places: ask for less at once")
            asked = _AskedPlaces(
                np.add.outer(asked.owner, along.owner * steps.get(axis, 0)).reshape(-1),
                np.add.outer(asked.places * room, along.places).reshape(-1),
                np.multiply.outer(asked.weights, along.weights).reshape(-1),
            )
        return asked

    def _along(self, axis: int, parts: Sequence[CodeSet]) -> _AskedPlaces:
        """What each of some sets of codes along an axis is made of."""
        size, on = self.structure.shape[axis], self.structure.on
        owner: list[int] = []
        places: list[int] = []
        weights: list[float] = []
        for number, part in enumerate(parts):
            together: dict[int, float] = {}
            for start, stop in part.intervals:
                for place, weight in _weights_of(on, start, stop, size).items():
                    together[place] = together.get(place, 0.0) + weight
            owner += [number] * len(together)
            places += together.keys()
            weights += together.values()
        return _AskedPlaces(
            np.array(owner, np.int64), np.array(places, np.int64), np.array(weights)
        )

    def cells(self) -> Floats:
        """The estimate of every cell by itself."""
        shape = self.structure.shape
        check_cells(math.prod(shape))
        kept = self.errors.weights(self.kept.values).astype(np.float64)
        if self.structure.on == "haar":
            dense = np.zeros(math.prod(shape))
            dense[self.kept.places] = kept
            return inverse([HaarInverse(Haar(size)) for size in shape], dense.reshape(shape))
        cells, single = self._single()
        dense = np.zeros(math.prod(shape))
        dense[cells[single]] = kept[single]
        return dense.reshape(shape)

    def _single(self) -> tuple[Integers, NDArray[np.bool_]]:
        """The cells of the dyadic places that hold one cell only, and which those are."""
        rest, single = self.kept.places.astype(np.int64), np.ones(len(self.kept.places), bool)
        cells, stride = np.zeros(len(self.kept.places), np.int64), 1
        pairs = zip(self.structure.shape, self.structure.axes, strict=True)
        for size, room in reversed(list(pairs)):
            rest, along = np.divmod(rest, room)
            level, node = located(along, size)
            single &= level == 0
            cells += node * stride
            stride *= size
        return cells, single

    def fresh_cells(self) -> Floats:
        """The estimate of every cell by itself."""
        return self.cells()

    def cell_variances(self, codes: Sequence[NDArray[Any]]) -> Floats:
        """The estimated variance of each of many cells by itself."""
        number = len(codes[0])
        if self.structure.on == "haar":
            gains = np.ones(number)
            for along, size in zip(codes, self.structure.shape, strict=True):
                gains = gains * haar_cell_gains(np.asarray(along, np.int64), size)
            return self.errors.variance(gains, gains, np.zeros(number))
        places = np.zeros(number, np.int64)
        for along, size, room in zip(codes, self.structure.shape, self.structure.axes, strict=True):
            places = places * room + offsets(size)[0] + along
        return self.errors.place_variances(self.kept, places)

    def range_variances(self, starts: Integers, stops: Integers) -> Floats:
        """The estimated variance of each of many boxes."""
        return self.ranges(starts, stops)[1]

    def ranges(self, starts: Integers, stops: Integers) -> tuple[Floats, Floats]:
        """The counts of many boxes, and their variances."""
        return count_each(self.count, starts, stops)


def _sums(owner: Integers, numbers: Floats, size: int) -> Floats:
    return np.asarray(np.bincount(owner, numbers, minlength=size), np.float64)


def _order(asked: _AskedPlaces) -> NDArray[np.intp]:
    return np.argsort(asked.owner, kind="stable")


@lru_cache(maxsize=4096)
def _weights_of(on: str, start: int, stop: int, size: int) -> dict[int, float]:
    return weights_of(on, start, stop, size)
