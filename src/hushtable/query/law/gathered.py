"""Very many weights of one noise, gathered in classes of nearly equal size: what a law needs.

Sizes fall into classes by their logarithms, so that those of a product of rows follow from the
classes of each row. In place of its members w, each class counts their root mean square w′: then
the variance is exact, and what is left is D = Σ (w − w′)·N. No difference is beyond the width Δ of
the class, and the logarithm of E[exp(xN)] is a convex function of x². So that of (w − w′)·N is at
most (w − w′)²/Δ² times that of Δ·N, and Σ (w − w′)²/Δ² noises of weight Δ bound how far D reaches.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hushtable.arrays import Floats, Integers

# The logarithms of a class' sizes differ by no more than this.
_WIDTH = 1 / 256
# Small sizes, which together make up no more than this part of the variance, have classes so many
# times as wide.
_WIDER = ((1e-3, 16), (1e-6, 256))
# Weights below this part of the largest are rounding errors of zeros.
_NOTHING = 1e-14


@dataclass(frozen=True, eq=False)
class Sizes:
    """How many weights each class has, and the sums of their sizes and of the squares of these."""

    first: int
    """The number of the first class: it begins at exp(first·width)."""
    axes: int
    """Of how many rows it is the product: a class is so many times as wide."""
    counts: Floats
    sums: Floats
    squares: Floats

    @classmethod
    def alike(cls, count: int) -> Sizes:
        """So many weights of one."""
        only = np.array([float(count)])
        return cls(0, 0, only, only, only)

    @classmethod
    def of(cls, weights: Floats, counts: Integers | None = None) -> Sizes:
        """Weights, each of which occurs once or as often as is given."""
        sizes, often = np.abs(weights).reshape(-1), counts
        held = np.flatnonzero(sizes > _NOTHING * sizes.max(initial=0.0))
        sizes = sizes[held]
        often = np.ones(len(held)) if often is None else often.reshape(-1)[held].astype(np.float64)
        if not len(held):
            return cls.alike(0)
        classes = np.floor(np.log(sizes) / _WIDTH).astype(np.int64)
        first = int(classes.min())
        parts = [np.bincount(classes - first, often * sizes**power) for power in (0, 1, 2)]
        return cls(first, 1, *parts)

    def __mul__(self, other: Sizes) -> Sizes:
        """The products of all pairs."""
        pairs = (
            (self.counts, other.counts),
            (self.sums, other.sums),
            (self.squares, other.squares),
        )
        parts = [np.convolve(mine, theirs) for mine, theirs in pairs]
        return Sizes(self.first + other.first, self.axes + other.axes, *parts)

    def __add__(self, other: Sizes) -> Sizes:
        """All weights of both."""
        first = min(self.first, other.first)
        last = max(self.first + len(self.counts), other.first + len(other.counts))
        parts = np.zeros((3, last - first))
        for one in (self, other):
            place = slice(one.first - first, one.first - first + len(one.counts))
            parts[:, place] += np.stack([one.counts, one.sums, one.squares])
        return Sizes(first, max(self.axes, other.axes), *parts)

    def classes(self) -> Classes:
        """The classes that have any, and what their members differ from what stands for them."""
        shares = np.cumsum(self.squares) / max(self.squares.sum(), np.finfo(float).tiny)
        steps = np.ones(len(shares), np.int64)
        for share, step in _WIDER:
            steps[shares <= share] = step
        numbers = np.arange(len(steps)) // steps
        held = np.flatnonzero(self.counts > 0)
        new = np.diff(numbers[held], prepend=-1) != 0
        new |= np.diff(steps[held], prepend=-1) != 0
        starts = np.flatnonzero(new)
        if not len(starts):
            return Classes(*np.zeros((4, 0)))
        counts, sums, squares = (
            np.add.reduceat(part[held], starts) for part in (self.counts, self.sums, self.squares)
        )
        size = np.sqrt(squares / counts)
        span = (steps[held][starts] - 1 + self.axes) * _WIDTH
        differences = np.maximum(2 * squares - 2 * size * sums, 0.0)
        differences += 1e-12 * squares  # what rounding may hide
        return Classes(size, counts, size * np.expm1(span), differences)


class Classes(NamedTuple):
    """Of each class: what stands for its members w, how many there are, Δ, and Σ (w − w′)²."""

    sizes: Floats
    counts: Floats
    widths: Floats
    differences: Floats

    def terms(self) -> Iterable[tuple[float, int]]:
        """The sizes, and how often each occurs."""
        counts = np.rint(self.counts).astype(np.int64)
        return zip(self.sizes.tolist(), counts.tolist(), strict=True)

    def doubts(self) -> Iterable[tuple[float, float]]:
        """Weights of noises that reach at least as far as D, and how many there are of each."""
        some = self.widths > 0
        numbers = self.differences[some] / self.widths[some] ** 2
        return zip(self.widths[some].tolist(), numbers.tolist(), strict=True)
