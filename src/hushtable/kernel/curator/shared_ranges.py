"""Counts of ranges of consecutive parts, which may overlap: each has its share of ε."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hushtable.arrays import Integers
from hushtable.errors import OptionError
from hushtable.kernel.maps.squared import SquaredChange
from hushtable.kernel.noise.closeness import laplace_eta

MOST_RANGES = 2**21
LARGEST_WHOLE = 2**40


@dataclass(frozen=True, eq=False)
class SharedRanges:
    """Ranges of consecutive parts whose counts are asked for, each for its share of ε.

    `shares` are whole numbers, of `whole`. A row is in one part, and in the ranges that hold it: a
    row that appears changes each of these counts by one, which costs ε·share/whole for each. So no
    part may be in ranges whose shares are more than the whole. A row that moves changes at most the
    counts of the ranges of two parts.
    """

    starts: Integers
    stops: Integers
    shares: Integers
    whole: int

    def __post_init__(self) -> None:
        for name in ("starts", "stops", "shares"):
            given = np.array(getattr(self, name))  # a copy of our own, which nobody changes
            if given.dtype != np.int64 or given.ndim != 1 or len(given) != len(self.starts):
                raise OptionError("ranges of parts are given by arrays of 64-bit integers")
            given.setflags(write=False)
            object.__setattr__(self, name, given)
        if type(self.whole) is not int or not 1 <= self.whole <= LARGEST_WHOLE:
            raise OptionError("shares are parts of a whole number of at most 2^40")

    def check(self, parts: int) -> None:
        """Refuse ranges beyond the parts, and shares that together are more than the whole."""
        if not len(self.starts):
            raise OptionError("there is a range of parts at least")
        held = (self.starts >= 0) & (self.starts < self.stops) & (self.stops <= parts)
        if not held.all() or not ((self.shares >= 1) & (self.shares <= self.whole)).all():
            raise OptionError("a range of parts is not empty, within them, and has a share")
        if self.most_shared(parts) > self.whole:
            raise OptionError("the shares of the ranges that hold a part are more than the whole")

    def most_shared(self, parts: int) -> int:
        """The largest sum of the shares of the ranges that hold a part."""
        if len(self.starts) > MOST_RANGES:
            raise OptionError(f"there are at most {MOST_RANGES:,} ranges of parts")
        changes = np.zeros(parts + 1, np.int64)
        np.add.at(changes, self.starts, self.shares)
        np.subtract.at(changes, self.stops, self.shares)
        return int(np.cumsum(changes).max(initial=0))

    def squared(self, parts: int) -> SquaredChange:
        """What one row changes in squares, each count over its factor, which is whole/share.

        Ranges of all parts hold a row before and after it moves; of the others, it may change all
        that hold either part. There may be no two parts in which so much comes together.
        """
        # Squares add up to less than the square of the sum of their roots.
        fits = self.most_shared(parts) < 2**31
        squares = self.shares.astype(np.int64 if fits else object) ** 2
        # Where ranges end and others begin, the sum is never larger on the way than after it.
        order = np.argsort(np.concatenate([self.stops, self.starts]), kind="stable")
        most = int(np.cumsum(np.concatenate([-squares, squares])[order]).max())
        always = int(squares[(self.starts == 0) & (self.stops == parts)].sum())
        whole = self.whole**2
        return SquaredChange(Fraction(most, whole), Fraction(2 * (most - always), whole))

    def sums(self, counts: Integers) -> Integers:
        """The count of each range."""
        running = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        return np.asarray(running[self.stops] - running[self.starts])

    def blocks(self) -> Sequence[tuple[Integers, Fraction]]:
        """The ranges of each share, and how many times less than the whole it is."""
        kinds, which = np.unique(self.shares, return_inverse=True)
        order = np.argsort(which, kind="stable")
        ends = np.searchsorted(which[order], np.arange(len(kinds) + 1))
        return [
            (order[ends[i] : ends[i + 1]], Fraction(self.whole, int(share)))
            for i, share in enumerate(kinds)
        ]


def ranges_eta(scales: Sequence[Fraction]) -> Fraction:
    """η of noise of some scales on any number of ranges.

    Counted as if there were the most, since how many there are may follow from earlier answers.
    """
    return MOST_RANGES * max(laplace_eta(scale) for scale in scales)
