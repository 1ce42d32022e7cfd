"""Sums of counts and of values: linear questions, whose law is exact.

Of binned values, the least and the largest sum that the bins allow are two such questions; the
truth is between them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from hushtable.query.box import Boxes
from hushtable.query.law import NoiseLaw, farther_end, margins_of
from hushtable.query.reader import Answering
from hushtable.query.statistics.values import CodeValues
from hushtable.query.weighing import Weighing, counted, heaviest, scaled, summed, weigh


@dataclass(frozen=True, eq=False)
class Linear:
    """A linear question and a number that is added: its least, middle and largest weights."""

    low: Weighing
    middle: Weighing
    high: Weighing
    offset: float = 0.0

    @classmethod
    def exactly(cls, weighing: Weighing, offset: float = 0.0) -> Linear:
        return cls(weighing, weighing, weighing, offset)

    @classmethod
    def count(cls, boxes: Boxes) -> Linear:
        return cls.exactly(counted(boxes))

    @classmethod
    def sum(cls, boxes: Boxes, axis: int, values: CodeValues) -> Linear:
        middle = summed(boxes, axis, values.middle)
        if not values.binned:
            return cls.exactly(middle)
        return cls(summed(boxes, axis, values.low), middle, summed(boxes, axis, values.high))

    @property
    def exact(self) -> bool:
        """Whether no bins are in it."""
        return self.low is self.high

    @property
    def constant(self) -> bool:
        """Whether it is a number alone."""
        return not (self.low or self.middle or self.high)

    @property
    def rounding(self) -> float:
        """How far off sums of bins may be: as counts, in the fourth place of what a row counts.

        To other sums that is added where they are shown.
        """
        return 0.0 if self.exact else 1e-4 * max(heaviest(self.low), heaviest(self.high))

    def __add__(self, other: Linear) -> Linear:
        offset = self.offset + other.offset
        if self.exact and other.exact:
            return Linear.exactly(self.middle + other.middle, offset)
        return Linear(
            self.low + other.low, self.middle + other.middle, self.high + other.high, offset
        )

    def times(self, factor: float) -> Linear:
        """So many times; a negative number swaps the least and the largest."""
        middle, offset = scaled(self.middle, factor), self.offset * factor
        if self.exact:
            return Linear.exactly(middle, offset)
        ends = (self.low, self.high) if factor >= 0 else (self.high, self.low)
        return Linear(scaled(ends[0], factor), middle, scaled(ends[1], factor), offset)

    def answer(self, reader: Answering) -> tuple[float, NoiseLaw]:
        """The answer, and the law of its error."""
        value, law = weigh(reader, self.middle)
        if self.exact:
            return value + self.offset, law
        return value + self.offset, BinnedLaw(reader, self, value + self.offset, law)


@dataclass(frozen=True, eq=False)
class BinnedLaw:
    """The error of a sum of binned values: noise, and where in their bins the values are."""

    reader: Answering
    linear: Linear
    value: float
    noise: NoiseLaw

    @property
    def variance(self) -> float:
        """That of the noise."""
        return self.noise.variance

    @property
    def estimate(self) -> bool:
        return self.noise.estimate

    def half_width(self, confidence: float) -> float:
        """As far as the farther end."""
        return farther_end(self.value, self.ends(confidence))

    def ends(self, confidence: float) -> tuple[float, float]:
        """From the least sum, less its noise, to the largest and its noise: each misses half.

        Where noisy counts are below zero these may change places: the value is between them.
        """
        low, below = _side(self.reader, self.linear.low, confidence, 0)
        high, above = _side(self.reader, self.linear.high, confidence, 1)
        room = self.linear.rounding
        low, high = low - below - room, high + above + room
        low, high = low + self.linear.offset, high + self.linear.offset
        return min(low, self.value), max(high, self.value)


def _side(
    reader: Answering, weighing: Weighing, confidence: float, side: int
) -> tuple[float, float]:
    value, law = weigh(reader, weighing)
    return value, one_side(law, confidence)[side]


def one_side(law: NoiseLaw, confidence: float) -> tuple[float, float]:
    """How far to go below, and how far above, so that each side misses half as often as both may.

    A symmetric law does so by itself; of a skewed one, each side is given half.
    """
    skewed = getattr(type(law), "margins", None) is not None
    return margins_of(law, math.nextafter((1 + confidence) / 2, 1) if skewed else confidence)
