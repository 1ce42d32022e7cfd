"""Tables of counts over attributes at levels, without noise: summed, spread and adjusted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from hushtable.arrays import Floats, Integers
from hushtable.families.network.fit import regroup
from hushtable.families.network.network import Network, Seen


@dataclass(frozen=True, eq=False)
class Alone:
    """The counts of each attribute by itself, by which coarser counts are spread over codes."""

    network: Network
    counts: tuple[Floats, ...]

    def at(self, seen: Seen) -> Floats:
        """An attribute's counts at a level."""
        axis, level = seen
        return np.asarray(np.bincount(self.network.levels[axis][level], self.counts[axis]), float)

    def spread(self, axis: int, coarse: int, fine: int) -> tuple[Integers, Floats]:
        """For each group at a finer level its group at a coarser one, and its share of that."""
        groups = regroup(self.network, axis, fine, coarse)
        counts = self.at((axis, fine))
        return groups, divided(counts, self.at((axis, coarse))[groups])


@dataclass(frozen=True, eq=False)
class Joint:
    """The counts of all combinations of some attributes' groups, in any order."""

    seen: tuple[Seen, ...]
    counts: Floats

    @property
    def levels(self) -> dict[int, int]:
        """The level of each of its attributes."""
        return dict(self.seen)

    def onto(self, seen: Sequence[Seen], alone: Alone) -> Joint:
        """The table of some of its attributes, each summed to a coarser level or spread."""
        axes, counts = [axis for axis, _ in self.seen], self.counts
        wanted = [axis for axis, _ in seen]
        counts = counts.sum(axis=tuple(i for i, axis in enumerate(axes) if axis not in wanted))
        axes = [axis for axis in axes if axis in wanted]
        for place, axis in enumerate(axes):
            before, after = self.levels[axis], dict(seen)[axis]
            if after > before:
                counts = summed(counts, place, regroup(alone.network, axis, before, after))
            elif after < before:
                groups, shares = alone.spread(axis, before, after)
                counts = counts.take(groups, axis=place) * along(shares, place, counts.ndim)
        return Joint(tuple(seen), counts.transpose([axes.index(axis) for axis in wanted]))

    def given_last(self) -> Floats:
        """The distribution of the last attribute, given the others."""
        return divided(self.counts, self.counts.sum(axis=-1, keepdims=True))

    def raked(self, targets: Iterable[Joint], alone: Alone, rounds: int) -> Joint:
        """Multiplied to agree with tables of some of its attributes, in turn; the last agrees best.

        Iterative proportional fitting: of all tables that agree, the one nearest to this one.
        """
        found, targets = self, list(targets)
        for _ in range(rounds):
            for target in targets:
                found = found._fitted(target, alone)
        return found

    def _fitted(self, target: Joint, alone: Alone) -> Joint:
        """Multiplied to agree with one table of some of its attributes, as fine or coarser."""
        ratio = divided(target.counts, self.onto(target.seen, alone).counts)
        axes = [axis for axis, _ in self.seen]
        for place, (axis, level) in enumerate(target.seen):
            ratio = ratio.take(regroup(alone.network, axis, self.levels[axis], level), axis=place)
        order = sorted(range(len(target.seen)), key=lambda i: axes.index(target.seen[i][0]))
        lengths = [
            length if axis in target.levels else 1
            for axis, length in zip(axes, self.counts.shape, strict=True)
        ]
        return Joint(self.seen, self.counts * ratio.transpose(order).reshape(lengths))


def summed(counts: Floats, place: int, groups: Integers) -> Floats:
    """Sums over groups along one axis; groups are in order."""
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    return np.asarray(np.add.reduceat(counts, starts, axis=place))


def along(values: Floats, place: int, axes: int) -> Floats:
    """Values along one of several axes."""
    return values.reshape([-1 if i == place else 1 for i in range(axes)])


def divided(counts: Floats, by: Floats) -> Floats:
    """A ratio; zero where nothing is divided by nothing."""
    counts, by = np.broadcast_arrays(counts, by)
    return np.divide(counts, by, out=np.zeros(counts.shape), where=by > 0)


def divergence(counts: Floats, other: Floats) -> float:
    """N times the Kullback–Leibler divergence of two tables of N rows."""
    some = (counts > 0) & (other > 0)
    return float((counts[some] * np.log(counts[some] / other[some])).sum())
