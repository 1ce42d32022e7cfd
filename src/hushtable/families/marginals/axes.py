"""How an attribute is measured and read: the same in all tables that are read together.

Along its axis a table holds noisy coefficients: plain counts, or counts of the nodes of a tree. A
sum Σ q(code)·count(code) is estimated by weights Wq on them, with variance ‖Wq‖² per unit. Two
things about the axis matter to all questions: κ = ‖W1‖², the variance of the total, and u, the
part of each code in it that makes the total uncorrelated with what is left, count − u·total. Of
plain counts κ is the number of codes and u is even.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hushtable.arrays import Floats, Integers
from hushtable.families.linear.read.transforms import AxisReading, reading_of
from hushtable.kernel.maps import AxisTransform, Identity


@dataclass(frozen=True, eq=False)
class ReadAxis:
    """An axis of tables that are read together."""

    reading: AxisReading

    @classmethod
    def of(cls, transform: AxisTransform) -> ReadAxis:
        return cls(reading_of(transform))

    @property
    def size(self) -> int:
        """How many codes there are."""
        return self.reading.transform.size

    @property
    def plain(self) -> bool:
        """Whether every code has its own noisy count, and nothing else has one."""
        return isinstance(self.reading.transform, Identity)

    @cached_property
    def whole(self) -> Floats:
        """W1: the weights of the coefficients in the total."""
        return self.reading.rows(np.ones(self.size))

    @cached_property
    def classes(self) -> tuple[Floats, Integers]:
        """The distinct weights of the coefficients in the total, and how many have each."""
        if self.plain:
            return np.ones(1), np.array([self.size])
        found, counts = np.unique(self.whole.round(12), return_counts=True)
        return found, counts

    @cached_property
    def gain(self) -> float:
        """κ: the variance of the total, for noise of variance one."""
        return float(self.size if self.plain else np.square(self.whole).sum())

    @cached_property
    def even(self) -> Floats:
        """u: what of the total falls to each code, if nothing else is known."""
        return self.reading.inverse(self.whole, 0) / self.gain

    @cached_property
    def ends(self) -> Floats:
        """What of the total falls to the codes before each of the n + 1 ends of intervals."""
        return np.concatenate([[0.0], np.cumsum(self.even)])

    def shares(self, starts: Integers, stops: Integers) -> Floats:
        """qᵀu of intervals: what of the total falls to each."""
        if self.plain:  # an axis may have 10¹² codes, of which none is listed
            return np.asarray((stops - starts) / self.size)
        return np.asarray(self.ends[stops] - self.ends[starts])

    def own(self, starts: Integers, stops: Integers) -> Floats:
        """The variance of each interval less its share of the total, for noise of variance one."""
        gains = self.reading.gains(starts, stops).sum(axis=1)
        own = gains - self.gain * self.shares(starts, stops) ** 2
        return np.asarray(np.maximum(own, 0.0))
