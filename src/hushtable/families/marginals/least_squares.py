"""Least squares over small tables of one wide table, in closed form.

Each table S has independent noise of variance v on every coefficient; an attribute has the same
transform in all tables, with its κ and u (`axes.py`; of plain counts κ is the number of codes and u
is even). The *part* of a table that belongs to a set R of its attributes is what is left of it when
it is summed down to R and u·total is taken off along every axis of R: what R adds to the tables of
fewer attributes. The parts of one table are uncorrelated, and that of R has a covariance that is
v·Πκ, over the axes of S∖R, times what depends on R alone. Several tables tell the same part:

    part(R) = V(R) · Σ part(R, S) / (v·Πκ)  over all S ⊇ R,     1/V(R) = Σ 1 / (v·Πκ),

and any table T ⊆ S, for a measured S, is the sum over all R ⊆ T of part(R), with u along the axes
of T∖R. This is the generalised least squares solution: all tables agree, and every answer is a
weighted sum of the noisy coefficients.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats, Integers
from hushtable.families.marginals.asked import Asked
from hushtable.families.marginals.axes import ReadAxis
from hushtable.families.marginals.tables import subsets
from hushtable.kernel.privacy.noises import KnownNoise
from hushtable.query.law import NoiseSum

Axes = tuple[int, ...]
ReadTable = Callable[[], NDArray[np.int64]]

# Weights need no more: next to such a table every other tells nothing.
_LEAST_VARIANCE = 1e-100
# Laws that are kept: those of questions that are alike are the same.
_LAWS = 4096
# Rows of what tables tell that are kept, about so many.
_ROWS = 2**20


@dataclass(frozen=True, eq=False)
class Measured:
    """A noisy table: its axes in order, what reads it, and the noise of each coefficient."""

    axes: Axes
    read: ReadTable
    noise: KnownNoise


@dataclass(frozen=True, eq=False)
class Agreeing:
    """Tables that are read together."""

    along: Mapping[int, ReadAxis]
    tables: Sequence[Measured]
    _parts: dict[Axes, Floats] = field(default_factory=dict)
    _variances: dict[Axes, float] = field(default_factory=dict)
    _alone: dict[tuple[Axes, int], _Telling] = field(default_factory=dict)
    _tellings: dict[Axes, Sequence[tuple[Axes, _Telling]]] = field(default_factory=dict)
    _laws: dict[tuple[object, ...], NoiseSum] = field(default_factory=dict)

    @cached_property
    def _holders(self) -> dict[int, frozenset[int]]:
        """The tables that each axis is in."""
        return {
            axis: frozenset(i for i, table in enumerate(self.tables) if axis in table.axes)
            for axis in self.along
        }

    def holders(self, axes: Axes) -> list[int]:
        """The tables that have all these axes."""
        found = frozenset(range(len(self.tables)))
        for axis in axes:
            found &= self._holders.get(axis, frozenset())
        return sorted(found)

    def answers(self, axes: Axes) -> bool:
        """Whether some table has all these axes."""
        return bool(self.holders(axes))

    def precision(self, part: Axes, number: int) -> float:
        """1/(v·Πκ): how well a table tells a part."""
        table = self.tables[number]
        others = math.prod(self.along[axis].gain for axis in table.axes if axis not in part)
        return 1 / others / max(table.noise.variance, _LEAST_VARIANCE)

    def part_variance(self, part: Axes) -> float:
        """V(R)."""
        if part not in self._variances:
            told = math.fsum(self.precision(part, number) for number in self.holders(part))
            self._variances[part] = 1 / told
        return self._variances[part]

    def part(self, part: Axes) -> Floats:
        """part(R): the weighted mean of what all tables tell of it."""
        if part not in self._parts:
            total: Floats = np.zeros(())
            for number in self.holders(part):
                total = total + self.precision(part, number) * self._summed(part, number)
            for i, axis in enumerate(part):
                read = self.along[axis]
                counts = read.reading.inverse(total, i)
                sums = counts.sum(axis=i, keepdims=True)
                total = counts - sums * _shaped(read.even, i, len(part))
            self._parts[part] = self.part_variance(part) * total
        return self._parts[part]

    def _summed(self, part: Axes, number: int) -> Floats:
        """The coefficients of a table, summed down to some of its axes."""
        table = self.tables[number]
        values = np.asarray(table.read(), np.float64)
        for i in reversed(range(len(table.axes))):
            axis = table.axes[i]
            if axis not in part:
                values = np.tensordot(values, self.along[axis].whole, axes=(i, 0))
        return values

    def table(self, axes: Axes) -> Floats:
        """The least squares estimate of the table of these axes."""
        estimate = np.zeros([self.along[axis].size for axis in axes])
        for part in subsets(axes):
            lengths = [self.along[axis].size if axis in part else 1 for axis in axes]
            spread = self.part(part).reshape(lengths)
            for i, axis in enumerate(axes):
                if axis not in part:
                    spread = spread * _shaped(self.along[axis].even, i, len(axes))
            estimate += spread
        return estimate

    def variance(self, asked: Asked) -> float:
        """The variance of an answer: Σ V(R)·‖weights of the part of R‖².

        Parts that no table tells have no weight: every box of a question is inside a table.
        """
        return math.fsum(
            self.part_variance(part) * float((asked.counts(part) * weights**2).sum())
            for part, weights in asked.parts().items()
            if self.answers(part)
        )

    def range_variances(self, axes: Axes, starts: Integers, stops: Integers) -> Floats:
        """The variances of many boxes over the same axes."""
        own = [self.along[a].own(starts[:, i], stops[:, i]) for i, a in enumerate(axes)]
        share = [self.along[a].shares(starts[:, i], stops[:, i]) ** 2 for i, a in enumerate(axes)]
        total = np.zeros(len(starts))
        for part in subsets(axes):
            factors = [own[i] if axis in part else share[i] for i, axis in enumerate(axes)]
            total += self.part_variance(part) * math.prod(factors, start=np.ones(len(starts)))
        return total

    def law(self, asked: Asked) -> NoiseSum:
        """The law of the noise in an answer: a weight for each class of each table's cells."""
        if asked.key not in self._laws:
            if len(self._laws) == _LAWS:
                self._laws.clear()
            self._laws[asked.key] = self._law(asked)
        return self._laws[asked.key]

    def _law(self, asked: Asked) -> NoiseSum:
        """Tables that share the same axes with the question are told apart by few numbers."""
        parts = asked.parts()
        weights, counts, noises = [], [], []
        for shared, telling in self._tellings_of(asked.axes):
            spread = [_spread(part, parts[part], asked, shared) for part in subsets(shared)]
            classes = asked.counts(shared).reshape(-1)
            weights.append((telling.shares @ np.stack(spread)).reshape(-1))
            counts.append(np.multiply.outer(telling.counts, classes).reshape(-1))
            noises.append(np.repeat(telling.noises, len(classes)))
        every = (np.concatenate(weights), np.concatenate(counts), np.concatenate(noises))
        return NoiseSum.merged(*every, list(self._noises))

    @cached_property
    def _noises(self) -> dict[KnownNoise, int]:
        """The distinct noises in order, numbered."""
        return {n: i for i, n in enumerate(sorted({table.noise for table in self.tables}))}

    def _tellings_of(self, axes: Axes) -> Sequence[tuple[Axes, _Telling]]:
        """What tables tell about a question of these axes, by which of them a table has."""
        if axes not in self._tellings:
            if len(self._tellings) * len(self.tables) > _ROWS:
                self._tellings.clear()
            sharing: dict[Axes, list[_Telling]] = {}
            for number, table in enumerate(self.tables):
                shared = tuple(axis for axis in axes if axis in table.axes)
                sharing.setdefault(shared, []).append(self._telling(shared, number))
            self._tellings[axes] = [(s, _Telling.joined(some)) for s, some in sharing.items()]
        return self._tellings[axes]

    def _telling(self, shared: Axes, number: int) -> _Telling:
        """How a table that shares these axes with a question counts in their parts."""
        if (shared, number) not in self._alone:
            self._alone[shared, number] = self._told(shared, number)
        return self._alone[shared, number]

    def _told(self, shared: Axes, number: int) -> _Telling:
        table = self.tables[number]
        others = [self.along[axis].classes for axis in table.axes if axis not in shared]
        share = [
            self.precision(part, number) * self.part_variance(part) for part in subsets(shared)
        ]
        weights = _outer([np.ones(1), *(weight for weight, _ in others)]).reshape(-1)
        counts = _outer([np.ones(1, np.int64), *(count for _, count in others)]).reshape(-1)
        noises = np.full(len(weights), self._noises[table.noise])
        return _Telling(np.multiply.outer(weights, share), counts, noises)


@dataclass(frozen=True, eq=False)
class _Telling:
    """How tables count in the parts of an answer: a row for each class of their other axes."""

    shares: Floats
    """In each part."""
    counts: Integers
    """How many coefficients are in each class."""
    noises: Integers
    """Which noise each has."""

    @classmethod
    def joined(cls, some: Sequence[_Telling]) -> _Telling:
        """What several tables tell."""
        columns = zip(*((one.shares, one.counts, one.noises) for one in some), strict=True)
        return cls(*map(np.concatenate, columns))


def _spread(part: Axes, weights: Floats, asked: Asked, axes: Axes) -> Floats:
    """The weights of a part, by the classes of these axes, with those of the total along others."""
    kept = iter(weights.shape)
    weights = weights.reshape([next(kept) if axis in part else 1 for axis in axes])
    for i, (axis, whole) in enumerate(zip(axes, asked.whole(axes), strict=True)):
        if axis not in part:
            weights = weights * _shaped(whole, i, len(axes))
    return np.asarray(weights.reshape(-1))


def _shaped(values: Floats, place: int, axes: int) -> Floats:
    """Values along one of several axes."""
    return values.reshape([-1 if i == place else 1 for i in range(axes)])


def _outer(along: Iterable[NDArray[Any]]) -> NDArray[Any]:
    return reduce(np.multiply.outer, along)
