"""Very many weights of one noise, gathered in classes of nearly equal size: what a law needs.

In place of its members w, each class counts their root mean square w′: then the variance is exact,
and what is left is D = Σ (w − w′)·N. No difference is larger than Δ, that of w′ and the farther end
of the class, and the logarithm of E[exp(xN)], or what is taken for it, is a convex function of x².
So that of (w − w′)·N is at most (w − w′)²/Δ² times that of Δ·N, and Σ (w − w′)²/Δ² noises of weight
Δ bound how far D reaches.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

import numpy as np

from hushtable.arrays import Floats, Integers

# The logarithms of a class' sizes differ by no more than this, before classes are multiplied.
_WIDTH = 1 / 96
# Small sizes, which together make up no more than this part of the variance, have classes so many
# times as wide.
_WIDER = ((1e-3, 16), (1e-6, 256), (1e-9, 2**16))
# Weights below this part of the largest are rounding errors of zeros.
_NOTHING = 1e-14


@dataclass(frozen=True, eq=False)
class Sizes:
    """Classes of weights, small ones first."""

    low: Floats
    """No member of the class is smaller."""
    high: Floats
    """No member of the class is larger."""
    counts: Floats
    """How many members it has."""
    sums: Floats
    """The sum of their sizes."""
    squares: Floats
    """The sum of the squares of these."""

    @classmethod
    def alike(cls, count: int) -> Sizes:
        """So many weights of one."""
        one, number = np.ones(int(count > 0)), np.full(int(count > 0), float(count))
        return cls(one, one, number, number, number)

    @classmethod
    def of(cls, weights: Floats, counts: Integers | None = None) -> Sizes:
        """Weights, each of which occurs once or as often as is given."""
        sizes = np.abs(weights).reshape(-1)
        often = np.ones(len(sizes)) if counts is None else counts.reshape(-1).astype(np.float64)
        some = (sizes > _NOTHING * sizes.max(initial=0.0)) & (often > 0)
        held, often = sizes[some], often[some]
        return cls(held, held, often, often * held, often * held**2)._gathered()

    def __mul__(self, other: Sizes) -> Sizes:
        """The products of all pairs."""
        parts = zip(self._parts, other._parts, strict=True)
        return Sizes(
            *(np.multiply.outer(mine, theirs).reshape(-1) for mine, theirs in parts)
        )._gathered()

    def __add__(self, other: Sizes) -> Sizes:
        """All weights of both."""
        parts = zip(self._parts, other._parts, strict=True)
        return Sizes(*map(np.concatenate, parts))._gathered()

    @property
    def stand_ins(self) -> Floats:
        """What counts in place of the members of each class: w′."""
        return np.sqrt(self.squares / self.counts)

    def terms(self) -> Iterable[tuple[float, int]]:
        """The sizes that stand for the classes, and how often each occurs."""
        counts = map(int, np.rint(self.counts).tolist())  # there may be more than 64 bits hold
        return zip(self.stand_ins.tolist(), counts, strict=True)

    def doubts(self) -> Iterable[tuple[float, float]]:
        """Weights of noises that reach at least as far as D, and how many there are of each."""
        size = self.stand_ins
        farthest = np.maximum(self.high - size, size - self.low)
        farthest += 1e-12 * size  # what rounding may hide, here and in the next line
        differences = np.maximum(2 * self.squares - 2 * size * self.sums, 0.0)
        numbers = np.minimum((differences + 1e-12 * self.squares) / farthest**2, self.counts)
        alone = self.low == self.high
        return zip(farthest[~alone].tolist(), numbers[~alone].tolist(), strict=True)

    @property
    def _parts(self) -> tuple[Floats, ...]:
        return self.low, self.high, self.counts, self.sums, self.squares

    def _gathered(self) -> Sizes:
        """Classes whose sizes are close together, as one."""
        if not len(self.counts):
            return self
        order = np.argsort(self.stand_ins)
        low, high, *added = (part[order] for part in self._parts)
        shares = np.cumsum(added[-1]) / added[-1].sum()
        steps = reduce(
            lambda found, wider: np.where(shares <= wider[0], wider[1], found),
            _WIDER,
            np.ones(len(order)),
        )
        logs = np.log(self.stand_ins[order]) / (_WIDTH * steps)
        new = np.diff(np.floor(logs), prepend=np.nan) != 0
        new |= np.diff(steps, prepend=0) != 0
        starts = np.flatnonzero(new)
        return Sizes(
            np.minimum.reduceat(low, starts),
            np.maximum.reduceat(high, starts),
            *(np.add.reduceat(part, starts) for part in added),
        )
