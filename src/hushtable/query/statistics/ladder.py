"""Where ratios of many groups leave their noise: how far it goes, worked out for some ratios alone.

Between two rungs the noise of S − r·C is bounded as `ratio` has it: beyond a rung, it goes further
by no more than that of C for every one of r.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats
from hushtable.query.statistics.ratio import Ends, excluded_beyond

# Up to so many ends are looked for one by one: they may be far apart.
_FEW = 12
# Between two rungs, t is overstated by no more than this part of it.
_COARSE = 0.01
_MOST_RUNGS = 2000


@dataclass(frozen=True, eq=False)
class Ladder:
    """How far the noise of S − r·C goes, worked out for some r."""

    noise: Callable[[float], float]
    reach: float
    """How far the noise of C goes, but for a chance that is paid for."""
    possible: Ends
    """What r is looked for in."""

    def excluded(self, totals: Floats, counts: Floats, sides: tuple[int, ...]) -> dict[int, Floats]:
        """The r beyond which S − r·C is further off than noise goes, on one side or on both.

        Of many S and C at once; every C must be more than `reach`.
        """
        if len(totals) * len(sides) <= _FEW:
            pairs = list(zip(totals.tolist(), counts.tolist(), strict=True))
            return {side: np.array([self._end(*pair, side) for pair in pairs]) for side in sides}
        rungs, heights = self._rungs(totals, counts, sides)
        places, values = _roof(rungs, heights, self.reach)
        found = {}
        for side in sides:
            turned = slice(None, None, side)  # to the left is to the right, in a mirror
            roof = side * places[turned], values[turned]
            found[side] = side * _crossings(*roof, self.reach, side * totals, counts)
        return found

    def _end(self, total: float, count: float, side: int) -> float:
        """The end of one ratio by itself."""

        @cache
        def excess(ratio: float) -> float:
            return side * (ratio * count - total) - self.noise(ratio)

        bound = self.possible[side > 0]
        if math.isfinite(bound) and excess(bound) <= 0:
            return bound
        inside = total / count
        # By what is left of rounding too: without noise, a step of nothing would get nowhere.
        return excluded_beyond(excess, inside, abs(excess(inside)) / count, side)

    def _rungs(
        self, totals: Floats, counts: Floats, sides: tuple[int, ...]
    ) -> tuple[Floats, Floats]:
        """Places from the least ratio to the largest, and on to where all are excluded."""
        ratios = np.clip(totals / counts, *self.possible)
        start = float(ratios.min() if 1 in sides else ratios.max())
        known = {start: self.noise(start)}
        for side in sides:
            place, stop = start, self.possible[side > 0]
            while len(known) < _MOST_RUNGS and side * place < side * stop and self.reach:
                if np.all(side * (place * counts - totals) > known[place]):
                    break
                place = side * min(
                    side * place + self._step(place, known[place], ratios), side * stop
                )
                known[place] = self.noise(place)
        rungs = np.array(sorted(known))
        return rungs, np.array([known[place] for place in rungs.tolist()])

    def _step(self, place: float, height: float, ratios: Floats) -> float:
        """So far that what is between is overstated by little; rounding must not hide it.

        Ratios may be far from zero and close together, as years are.
        """
        width = min(self.possible[1] - self.possible[0], abs(place))
        least = max(1e-5 * max(width, float(np.ptp(ratios)), 1e-9), 1e-12 * abs(place))
        return max(2 * _COARSE * height / self.reach, least)


def _roof(rungs: Floats, heights: Floats, slope: float) -> tuple[Floats, Floats]:
    """The largest function through the rungs, or below them, that is nowhere steeper than this."""
    heights = np.minimum.accumulate(heights - slope * rungs) + slope * rungs
    heights = np.minimum.accumulate((heights + slope * rungs)[::-1])[::-1] - slope * rungs
    if len(rungs) == 1 or not slope:
        return rungs, heights
    tops = (rungs[1:] + rungs[:-1]) / 2 + np.diff(heights) / (2 * slope)
    tops = np.clip(tops, rungs[:-1], rungs[1:])
    places, values = np.empty((2, 2 * len(rungs) - 1))
    places[::2], values[::2] = rungs, heights
    places[1::2], values[1::2] = tops, heights[:-1] + slope * (tops - rungs[:-1])
    return places, values


def _crossings(
    places: Floats, values: Floats, slope: float, totals: Floats, counts: Floats
) -> Floats:
    """Where r·C − S crosses a function of straight pieces, which goes on with a slope beyond."""

    def excess(number: NDArray[np.intp]) -> Floats:
        return np.asarray(places[number] * counts - totals - values[number])

    low = np.zeros(len(totals), np.intp)
    high = np.full(len(totals), len(places), np.intp)
    while np.any(low < high):  # the first place that is above zero
        middle = (low + high) // 2
        above = excess(np.minimum(middle, len(places) - 1)) > 0
        high, low = np.where(above, middle, high), np.where(above | (low >= high), low, middle + 1)
    rises = np.diff(values) / np.maximum(np.diff(places), 1e-300)
    rise = np.concatenate([[-slope], np.clip(rises, -slope, slope), [slope]])[low]
    near = np.minimum(low, len(places) - 1)
    return np.asarray(places[near] - excess(near) / (counts - rise))
