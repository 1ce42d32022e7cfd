"""Means and shares: the ratio of two linear questions S/C, by what is known of S − r·C.

For the true ratio r, S − r·C is nothing but noise, whose law is known for every r. The interval has
all r for which it may be (Fieller's theorem with the exact law in the place of the normal one).
How far noise reaches is no smooth function of r, for it is of whole counts. But as long as the
noise of C is less than C, that of S − r·C changes by less than C for every one of r: so what lies
beyond an r that is excluded is excluded too. A small part of the chance of missing pays for this.
If C may be zero there is no telling, and the interval is all that counts of zero or more allow.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, cached_property

import numpy as np

from hushtable.arrays import Floats
from hushtable.query.averaging import SettledReader, settled
from hushtable.query.law import NoiseLaw, farther_end, margins_of
from hushtable.query.reader import Answering
from hushtable.query.statistics.linear import Linear, one_side
from hushtable.query.weighing import (
    LawOfFactors,
    Weighing,
    WeighingReader,
    class_weights,
    code_classes,
    factors_of,
    partitioned,
    remembering,
    scaled,
    weigh,
    weighed_law,
    weighed_laws,
)

# How closely an end is found, beside how far it is away.
_CLOSE = 1e-3
_STEPS = 40
# Ends are moved out by this part of the largest ratio: their last bits are not those of the answer.
_ROUNDING = 1e-12
# The part of the chance of missing that is for C to be off by more than there is of it.
FOR_COUNT = 0.1

Ends = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Ratio:
    """One linear question over another, without offsets, and a number that is added."""

    top: Linear
    bottom: Weighing
    offset: float = 0.0

    def times(self, factor: float) -> Ratio:
        return Ratio(self.top.times(factor), self.bottom, self.offset * factor)

    def plus(self, number: float) -> Ratio:
        return Ratio(self.top, self.bottom, self.offset + number)

    def answer(self, reader: Answering) -> tuple[float, NoiseLaw]:
        """The ratio of the answers, within what is possible, and the law of its error.

        It is not a number where the noisy answer below is none, or less than none.
        """
        law = RatioLaw(remembering(reader), self)
        return law.value, law


@dataclass(frozen=True, eq=False)
class RatioLaw:
    """The error of a ratio: its ends are found when they are asked for."""

    reader: Answering | SettledReader
    ratio: Ratio
    _known: dict[int, tuple[Weighing, LawOfFactors]] = field(default_factory=dict)
    """The laws of S and C together, of each S that was asked for: it is kept, so that its identity
    stays its own."""

    @cached_property
    def _settled(self) -> Answering | WeighingReader:
        """What answers so that S − r·C is what S and C make, whatever r is."""
        low, high = self.possible
        middle = (low + high) / 2 if math.isfinite(high - low) else 1.0
        found = settled(self.reader, self._difference(self.ratio.top.middle, middle))
        top = self.ratio.top
        return partitioned(found, top.low, top.middle, top.high, self.ratio.bottom)

    @cached_property
    def _below(self) -> tuple[float, NoiseLaw]:
        return weigh(self._settled, self.ratio.bottom)

    @cached_property
    def possible(self) -> Ends:
        """The least and the largest ratio that there can be, without the offset."""
        return possible(self.ratio.top, self.ratio.bottom)

    @property
    def bottom_law(self) -> NoiseLaw:
        """The law of the noise of C; reads no data."""
        return weighed_law(self._settled, self.ratio.bottom)

    def difference(self, ratio: float, top: Weighing | None = None) -> NoiseLaw:
        """The law of the noise of S − r·C; reads no data."""
        asked = self.ratio.top.middle if top is None else top
        if id(asked) not in self._known:
            both = (*asked, *self.ratio.bottom)
            self._known[id(asked)] = asked, weighed_laws(self._settled, both)
        below = -ratio * factors_of(self.ratio.bottom)
        return self._known[id(asked)][1](np.concatenate([factors_of(asked), below]))

    @cached_property
    def value(self) -> float:
        count, _ = self._below
        if count <= 0:
            return math.nan
        total, _ = weigh(self._settled, self.ratio.top.middle)
        low, high = self.possible
        return min(max(total / count, low), high) + self.ratio.offset

    @property
    def variance(self) -> float:
        """Nearly: the variance of S − r·C over C², at the answer."""
        if math.isnan(self.value):
            return math.inf
        return self.difference(self.value - self.ratio.offset).variance / self._below[0] ** 2

    @property
    def estimate(self) -> bool:
        return self.difference(1.0).estimate or self._below[1].estimate

    def half_width(self, confidence: float) -> float:
        """As far as the farther end."""
        return farther_end(self.value, self.ends(confidence))

    def ends(self, confidence: float) -> Ends:
        """All ratios that may be the true one."""
        count, law = self._below
        least, most = self.possible
        miss = 1 - confidence
        if count <= max(margins_of(law, 1 - FOR_COUNT * miss)):
            low, high = least, most
        else:
            level = 1 - (1 - FOR_COUNT) * miss
            low = max(self._end(self.ratio.top.low, level, -1), least)
            high = min(self._end(self.ratio.top.high, level, 1), most)
        sides = unrounded_ends(np.array(low), np.array(high), (least, most))
        low, high = (float(side) + self.ratio.offset for side in sides)
        if math.isnan(self.value):
            return low, high
        # Both may lie beyond what is possible; where noisy counts of bins are below zero, the ends
        # may have changed places.
        return min(low, self.value), max(high, self.value)

    def _end(self, top: Weighing, confidence: float, side: int) -> float:
        """The ratio beyond which all are excluded, on one side of the answer."""
        count = self._below[0]
        total, _ = weigh(self._settled, top)
        bound = self.possible[side > 0]

        @cache
        def excess(ratio: float) -> float:
            """How much further S − r·C is off than noise goes: above zero, r is excluded."""
            law = self.difference(ratio, top)
            sides = (
                margins_of(law, confidence) if self.ratio.top.exact else one_side(law, confidence)
            )
            return side * (ratio * count - total) - sides[side > 0]

        if math.isfinite(bound) and excess(bound) <= 0:
            return bound
        inside = total / count
        step = abs(excess(inside)) / count
        return excluded_beyond(excess, inside, step, side)

    def _difference(self, top: Weighing, ratio: float) -> Weighing:
        return (*top, *scaled(self.ratio.bottom, -ratio))


def unrounded_ends(low: Floats, high: Floats, possible: Ends) -> tuple[Floats, Floats]:
    """Ends moved out by what rounding of S and C may have moved them in, within what is possible.

    S is a sum of values of which some may be far larger than it. What is possible is not rounded.
    """
    least, most = possible
    largest = max((abs(end) for end in possible if math.isfinite(end)), default=0.0)
    below, above = (
        np.where((end == least) | (end == most), 0.0, _ROUNDING * np.maximum(np.abs(end), largest))
        for end in (low, high)
    )
    return np.maximum(low - below, least), np.minimum(high + above, most)


def excluded_beyond(
    excess: Callable[[float], float], inside: float, step: float, side: int
) -> float:
    """A place on one side of one inside that is excluded, and hardly further away than others.

    `excess` is above zero where places are excluded, from some place on.
    """
    noise = -excess(inside)
    if noise <= 0:
        return inside
    near, far = (inside, -noise), (inside + side * step, excess(inside + side * step))
    for doubling in range(1, _STEPS):
        if far[1] > 0:
            break
        place = inside + side * step * 2.0**doubling
        near, far = far, (place, excess(place))
    else:
        return side * math.inf
    for _ in range(_STEPS):
        if far[1] <= _CLOSE * noise:
            break
        part = -near[1] / (far[1] - near[1])
        # A little further than a straight line says, so that it is excluded too.
        place = near[0] + (far[0] - near[0]) * min(part + _CLOSE / 4, (1 + part) / 2)
        found = place, excess(place)
        near, far = (near, found) if found[1] > 0 else (found, far)
    return far[0]


def possible(top: Linear, bottom: Weighing) -> Ends:
    """The least and the largest ratio that any table of counts has, by the weights of its cells."""
    low, high, below = cell_weights(top.low, top.high, bottom)
    if np.any((below <= 0) & ((low != 0) | (high != 0) | (below < 0))):
        return -math.inf, math.inf
    held = below > 0
    if not held.any():
        return -math.inf, math.inf
    return float((low[held] / below[held]).min()), float((high[held] / below[held]).max())


def cell_weights(*weighings: Weighing) -> list[Floats]:
    """What each kind of cell counts in several linear questions, side by side."""
    every = tuple(part for weighing in weighings for part in weighing)
    if not every:
        return [np.zeros(0) for _ in weighings]
    along = [code_classes(every, axis)[0] for axis in range(len(every[0].box.sets))]
    found, first = [], 0
    for weighing in weighings:
        last = first + len(weighing)
        rows = [of[first:last] for of in along]
        found.append(class_weights(factors_of(weighing), rows).reshape(-1))
        first = last
    return found
