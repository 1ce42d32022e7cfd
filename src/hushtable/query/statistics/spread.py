"""Variances and standard deviations: E(x − m)² at the mean m, which is known to an interval only.

The mean lies in its interval, but for half of the chance of missing; for every m in it, E(x − m)²
is a ratio with an interval of its own. All of them together hold the variance. A few m are tried:
between two that are d apart, squares are off by no more than d²/4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hushtable.arrays import Floats
from hushtable.query.averaging import SettledReader, settled
from hushtable.query.box import Boxes
from hushtable.query.law import farther_end, margins_of, simultaneous
from hushtable.query.reader import Answering
from hushtable.query.statistics.linear import Linear
from hushtable.query.statistics.ratio import Ratio, RatioLaw
from hushtable.query.statistics.values import CodeValues
from hushtable.query.weighing import counted, summed, weigh

_MEANS = 9


@dataclass(frozen=True, eq=False)
class SpreadLaw:
    """The variance of the values of an axis over disjoint boxes that have one; and its error."""

    reader: Answering
    boxes: Boxes
    axis: int
    values: CodeValues
    root: bool
    sample: bool

    @cached_property
    def _settled(self) -> Answering | SettledReader:
        """What answers all squares alike, whatever the mean is that they are about."""
        values = self.values.middle
        return settled(self.reader, summed(self.boxes, self.axis, (values - values.mean()) ** 2))

    @cached_property
    def _mean(self) -> RatioLaw:
        top = Linear.sum(self.boxes, self.axis, self.values)
        return RatioLaw(self._settled, Ratio(top, counted(self.boxes)))

    def _squares(self, mean: float) -> RatioLaw:
        """E(x − m)²; of binned values, of the nearest and the farthest places in their bins."""
        low, high = self.values.low - mean, self.values.high - mean
        squares = CodeValues(
            _nearest(low, high), (self.values.middle - mean) ** 2, np.maximum(low**2, high**2)
        )
        if not self.values.binned:
            squares = CodeValues(squares.middle, squares.middle, squares.middle)
        return RatioLaw(
            self._settled, Ratio(Linear.sum(self.boxes, self.axis, squares), counted(self.boxes))
        )

    @cached_property
    def value(self) -> float:
        mean = self._mean.value
        if math.isnan(mean):
            return math.nan
        count, _ = weigh(self._settled, counted(self.boxes))
        square = self._squares(mean).value
        if self.sample:
            square *= count / (count - 1) if count > 1 else math.nan
        return math.sqrt(square) if self.root else square

    @property
    def variance(self) -> float:
        """That of a normal law with as wide an interval: about two thirds of the truths."""
        low, high = self.ends(0.6827)
        return ((high - low) / 2) ** 2

    @property
    def estimate(self) -> bool:
        return self._mean.estimate

    def half_width(self, confidence: float) -> float:
        """As far as the farther end."""
        return farther_end(self.value, self.ends(confidence))

    def ends(self, confidence: float) -> tuple[float, float]:
        """The least and the largest spread that some mean, and the noise of squares, allow."""
        each = simultaneous(confidence, 3 if self.sample else 2)
        first, last = self._mean.ends(each)
        if not (math.isfinite(first) and math.isfinite(last)):
            return 0.0, math.inf
        means = np.linspace(first, last, _MEANS)
        found = [self._squares(mean).ends(each) for mean in means.tolist()]
        between = ((last - first) / (_MEANS - 1)) ** 2 / 4
        low = max(min(low for low, _ in found) - 2 * between, 0.0)
        high = max(high for _, high in found) + 2 * between
        high = high * self._correction(each) if high > 0 else 0.0
        return (math.sqrt(low), math.sqrt(high)) if self.root else (low, high)

    def _correction(self, confidence: float) -> float:
        """n/(n − 1) at the most."""
        if not self.sample:
            return 1.0
        count, law = weigh(self._settled, counted(self.boxes))
        least = count - margins_of(law, confidence)[0]
        return least / (least - 1) if least > 1 else math.inf


def _nearest(low: Floats, high: Floats) -> Floats:
    """The least square between two ends."""
    return np.asarray(np.where((low < 0) & (high > 0), 0.0, np.minimum(low**2, high**2)))
