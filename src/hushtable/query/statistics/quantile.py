"""Medians and other quantiles, by two one-sided tests of every value.

With C(v) rows up to v of N in all, v can be the quantile q if C(v) ≥ q·N, and the rows before it
are no more than q·N. Each is a linear question whose noise is known: a value is left out if one of
the two is refuted, which for the true one happens no more often than both may miss. Values that
hold many rows are treated as they should be: both tests hold for them. Values between two rows,
which SQL's continuous quantiles are, are off by less than one row.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats
from hushtable.query.box import Boxes
from hushtable.query.cutting import all_codes
from hushtable.query.grouping import projection
from hushtable.query.law import NoiseLaw, farther_end
from hushtable.query.reader import Answering, Reader
from hushtable.query.statistics.linear import one_side
from hushtable.query.statistics.values import CodeValues
from hushtable.query.weighing import WeighedBox, Weighing, WeighingReader, weigh, weighed_law

# Of more values, every so many are tested first, each stage at half the chance of missing.
_ONE_BY_ONE = 128


@dataclass(frozen=True, eq=False)
class QuantileLaw:
    """A quantile of the values of an axis over disjoint boxes that have one; and its error."""

    reader: Answering
    boxes: Boxes
    axis: int
    values: CodeValues
    share: float

    @cached_property
    def _codes(self) -> NDArray[np.int64]:
        """The codes that rows may have."""
        return all_codes(projection(self.boxes, self.axis))

    @cached_property
    def _counts(self) -> Floats:
        """The noisy counts of these codes."""
        codes = self._codes
        cuts = [(self.axis, np.stack([codes, codes + 1], axis=1))]
        return np.asarray(self.reader.group(self.boxes, cuts).values, np.float64)

    @cached_property
    def value(self) -> float:
        """From counts that rise as counts do: the isotonic regression of the noisy sums."""
        if not len(self._codes):
            return math.nan
        sums = isotonic(np.cumsum(self._counts))
        target = self.share * sums[-1]
        place = int(np.searchsorted(sums, target))
        place = min(place, len(sums) - 1)
        code = self._codes[place]
        low, high = self.values.low[code], self.values.high[code]
        before = sums[place - 1] if place else 0.0
        inside = sums[place] - before
        part = min(max((target - before) / inside, 0.0), 1.0) if inside > 0 else 0.5
        return float(low + part * (high - low))

    @property
    def variance(self) -> float:
        """That of a normal law with as wide an interval: about two thirds of the truths."""
        low, high = self.ends(0.6827)
        return ((high - low) / 2) ** 2

    @cached_property
    def estimate(self) -> bool:
        return bool(len(self._codes)) and self._test(len(self._codes) - 1)[1].estimate

    def half_width(self, confidence: float) -> float:
        """As far as the farther end."""
        return farther_end(self.value, self.ends(confidence))

    def ends(self, confidence: float) -> tuple[float, float]:
        """The least and the largest value that may be the quantile."""
        codes = self._codes
        if not len(codes):
            return -math.inf, math.inf
        size = len(codes)
        coarse = size > _ONE_BY_ONE
        level = (1 + confidence) / 2 if coarse else confidence
        few = self._enough(level)
        first = _first_that(lambda i: not few(i), size, coarse)
        many = self._too_many(level)
        last = size - 1 - _first_that(lambda i: not many(size - 1 - i), size, coarse)
        low, high = codes[min(first, size - 1)], codes[max(last, 0)]
        return (
            float(min(self.values.low[low], self.values.low[high])),
            float(max(self.values.high[high], self.values.high[low])),
        )

    def _enough(self, level: float) -> Callable[[int], bool]:
        """Whether the rows up to a value are surely too few for it to be the quantile."""

        def refuted(place: int) -> bool:
            if self._sums is not None and self._sums[place] + surely[place] < -self.share:
                return True
            value, law = self._test(place)
            return value + one_side(law, level)[1] < -self.share

        surely = self._deviations / math.sqrt(1 - level)  # Chebyshev's inequality

        return refuted

    def _too_many(self, level: float) -> Callable[[int], bool]:
        """Whether the rows before a value are surely too many for it to be the quantile."""

        def refuted(place: int) -> bool:
            if place == 0:
                return False
            if (
                self._sums is not None
                and self._sums[place - 1] - surely[place - 1] > 1 - self.share
            ):
                return True
            value, law = self._test(place - 1)
            return value - one_side(law, level)[0] > 1 - self.share

        surely = self._deviations / math.sqrt(1 - level)
        return refuted

    def _test(self, place: int) -> tuple[float, NoiseLaw]:
        """C(v) − q·N, and the law of its noise."""
        if self._sums is None:
            return weigh(self.reader, self._weighing(place))
        return float(self._sums[place]), weighed_law(self.reader, self._weighing(place))

    @cached_property
    def _sums(self) -> Floats | None:
        """C(v) − q·N for every value, where counts add up."""
        if not (isinstance(self.reader, WeighingReader) and self.reader.adds_up):
            return None
        return np.asarray(np.cumsum(self._counts) - self.share * self._counts.sum())

    @cached_property
    def _deviations(self) -> Floats:
        """More than the standard deviation of each of these sums, where it is known at once.

        C(v) and q·N deviate by no more together than one by one.
        """
        box = self.boxes[0]
        runs = [codes.intervals for codes in box.sets]
        whole = len(self.boxes) == 1 and all(len(intervals) == 1 for intervals in runs)
        if self._sums is None or not whole:
            return np.full(len(self._codes), math.inf)
        starts = np.array([[first for ((first, _),) in runs]] * len(self._codes))
        stops = np.array([[last for ((_, last),) in runs]] * len(self._codes))
        stops[:, self.axis] = self._codes + 1
        reader = cast(Reader, self.reader)
        each = np.sqrt(reader.range_variances(starts, stops))
        return np.asarray(each + self.share * each[-1])

    def _weighing(self, place: int) -> Weighing:
        weights = np.zeros(len(self.values.low))
        weights[self._codes] = -self.share
        weights[self._codes[: place + 1]] += 1.0
        return tuple(WeighedBox(box, 1.0, {self.axis: weights}) for box in self.boxes)


def _first_that(holds: Callable[[int], bool], size: int, coarse: bool) -> int:
    """The first of so many places of which something holds, tried in order; the last if of none.

    A place of which it does not hold rules out all before it, since rows only add up: so some may
    be skipped first. Only the first tried place that is not before the true one can go wrong, once
    in each stage.
    """
    start = 0
    if coarse:
        step = math.isqrt(size)
        tried = range(step - 1, size, step)
        start = next((place - step + 1 for place in tried if holds(place)), size - size % step)
    return next((place for place in range(start, size) if holds(place)), size - 1)


def isotonic(values: Floats) -> Floats:
    """The rising sequence that is nearest: neighbours that fall are averaged, again and again."""
    means: list[float] = []
    sizes: list[int] = []
    for value in values.tolist():
        mean, size = value, 1
        while means and means[-1] > mean:
            mean = (means[-1] * sizes[-1] + mean * size) / (sizes[-1] + size)
            size += sizes.pop()
            means.pop()
        means.append(mean)
        sizes.append(size)
    return np.repeat(means, sizes)
