"""Sums, means and shares of many groups at once.

Groups that are alike along the axes that cut them have the same noise, whatever is summed along the
others: a law is worked out once for every kind of groups. Of ratios, how far the noise of S − r·C
reaches, t(r), is worked out for a ladder of r alone. Between two rungs it is bounded as `ratio` has
it: beyond a rung, t grows by no more than the reach of the noise of C for every one of r, and the
chance that C is off by more is paid for. So every end is a little further out than that of one
group by itself, never nearer.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats, Integers
from hushtable.query.box import Box, CodeSet
from hushtable.query.cutting import Cuts, all_codes
from hushtable.query.law import NoiseSum, farther_end
from hushtable.query.reader import Answering
from hushtable.query.statistics.linear import Linear
from hushtable.query.statistics.ratio import FOR_COUNT, Ends, Ratio, RatioLaw
from hushtable.query.weighing import WeighedBox, Weighing, WeighingReader, within

# Up to so many groups of a kind have a ladder each, for their ratios may be far apart.
_FEW = 6
# Between two rungs, t is overstated by no more than this part of it.
_COARSE = 0.01
_MOST_RUNGS = 2000
# Ends are moved out by this part of them: their last bits are not those of the answer.
_ROUNDING = 1e-14
# Counts that are held at once, of groups by the codes of a summed attribute.
_PIECE = 2**23


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups that cuts make, and which of them are alike."""

    reader: WeighingReader
    cuts: Cuts
    shown: NDArray[np.intp]
    """Which combinations of groups are asked for."""
    which: NDArray[np.intp]
    """The kind of each one that is."""
    first: NDArray[np.intp]
    """Of each kind, a group among those that are shown."""

    @classmethod
    def of(
        cls, reader: WeighingReader, kinds: Sequence[Integers], cuts: Cuts, shown: NDArray[np.intp]
    ) -> Groups:
        """Groups of the same kinds along all axes are alike."""
        every = np.zeros((), np.int64)
        for along in kinds:
            every = np.add.outer(every * (int(along.max(initial=0)) + 1), along)
        found = np.unique(every.reshape(-1)[shown], return_index=True, return_inverse=True)
        return cls(reader, cuts, shown, found[2].reshape(-1), found[1])

    def values(self, weighing: Weighing) -> Floats:
        """The answers of all groups to a linear question."""
        total = np.zeros(len(self.shown))
        for part in weighing:
            for counts, weights in self._counts(part):
                total += counts @ (part.factor * weights)
        return total

    def _counts(self, part: WeighedBox) -> Iterator[tuple[Floats, Floats]]:
        """The counts of a box by group and, of its weighed axis, by code; and what these weigh."""
        rows = math.prod(len(ranges) for _, ranges in self.cuts)
        reader: Answering = self.reader  # type: ignore[assignment]
        if not part.along:
            found = reader.group((part.box,), self.cuts).values.reshape(rows, 1)
            yield found[self.shown].astype(np.float64), np.ones(1)
            return
        ((axis, weights),) = part.along.items()
        codes = all_codes(part.box.sets[axis])
        step = max(_PIECE // max(rows, 1), 1)
        for start in range(0, len(codes), step):
            some = codes[start : start + step]
            cuts = [*self.cuts, (axis, np.stack([some, some + 1], axis=1))]
            found = reader.group((part.box,), cuts).values.reshape(rows, len(some))
            yield found[self.shown].astype(np.float64), weights[some]

    def of_kind(self, kind: int, weighing: Weighing) -> Weighing:
        """A linear question of one group of a kind."""
        if not weighing:
            return ()
        sizes = [len(ranges) for _, ranges in self.cuts]
        sets = [CodeSet.of((0, _last(weighing, i))) for i in range(len(weighing[0].box.sets))]
        places = np.unravel_index(self.shown[self.first[kind]], sizes)
        for (axis, ranges), place in zip(self.cuts, places, strict=True):
            sets[axis] = CodeSet.of((int(ranges[place][0]), int(ranges[place][1])))
        return within(weighing, (Box(tuple(sets)),))

    def law(self, kind: int, weighing: Weighing) -> NoiseSum:
        """The law of the noise of a linear question in a group of some kind."""
        law = self.reader.weighed_law(self.of_kind(kind, weighing))
        assert isinstance(law, NoiseSum)  # answers are sums of noisy counts
        return law


def _last(weighing: Weighing, axis: int) -> int:
    return max(part.box.sets[axis].intervals[-1][1] for part in weighing)


@dataclass(frozen=True, eq=False)
class RowLaw:
    """The error of one group's answer; all groups' are worked out together."""

    groups: GroupedSums | GroupedRatios
    row: int

    estimate = False

    @property
    def variance(self) -> float:
        return float(self.groups.variances[self.row])

    def half_width(self, confidence: float) -> float:
        """As far as the farther end."""
        return farther_end(float(self.groups.values[self.row]), self.ends(confidence))

    def ends(self, confidence: float) -> Ends:
        low, high = self.groups.ends(confidence)
        first, last = float(low[self.row]), float(high[self.row])
        return first - _ROUNDING * abs(first), last + _ROUNDING * abs(last)


@dataclass(frozen=True, eq=False)
class GroupedSums:
    """Sums of binned values by group: the least and the largest that the bins allow."""

    groups: Groups
    linear: Linear
    _known: dict[float, tuple[Floats, Floats]] = field(default_factory=dict)

    @cached_property
    def values(self) -> Floats:
        return self.groups.values(self.linear.middle) + self.linear.offset

    @cached_property
    def variances(self) -> Floats:
        kinds = range(len(self.groups.first))
        each = [self.groups.law(kind, self.linear.middle).variance for kind in kinds]
        return np.array(each)[self.groups.which]

    @cached_property
    def _ends(self) -> tuple[Floats, Floats]:
        return self.groups.values(self.linear.low), self.groups.values(self.linear.high)

    def ends(self, confidence: float) -> tuple[Floats, Floats]:
        """The ends of all groups' intervals: each side misses half as often as both may."""
        if confidence not in self._known:
            kinds, which = range(len(self.groups.first)), self.groups.which
            margins = [
                np.array([self.groups.law(kind, end).half_width(confidence) for kind in kinds])
                for end in (self.linear.low, self.linear.high)
            ]
            low, high = (values + self.linear.offset for values in self._ends)
            self._known[confidence] = low - margins[0][which], high + margins[1][which]
        return self._known[confidence]


@dataclass(frozen=True, eq=False)
class GroupedRatios:
    """Means and shares by group."""

    groups: Groups
    ratio: Ratio
    _known: dict[float, tuple[Floats, Floats]] = field(default_factory=dict)

    @cached_property
    def counts(self) -> Floats:
        return self.groups.values(self.ratio.bottom)

    @cached_property
    def _totals(self) -> tuple[Floats, Floats, Floats]:
        top = self.ratio.top
        middle = self.groups.values(top.middle)
        if top.exact:
            return middle, middle, middle
        return self.groups.values(top.low), middle, self.groups.values(top.high)

    @cached_property
    def _kinds(self) -> list[RatioLaw]:
        """What is known of the ratio of one group of each kind."""
        reader: Answering = self.groups.reader  # type: ignore[assignment]
        return [RatioLaw(reader, self._of(kind)) for kind in range(len(self.groups.first))]

    def _of(self, kind: int) -> Ratio:
        top, of_kind = self.ratio.top, self.groups.of_kind
        middle = of_kind(kind, top.middle)
        seen = (
            Linear.exactly(middle)
            if top.exact
            else Linear(of_kind(kind, top.low), middle, of_kind(kind, top.high))
        )
        return Ratio(seen, of_kind(kind, self.ratio.bottom), self.ratio.offset)

    def _rows(self, kind: int) -> NDArray[np.intp]:
        return self._sorted[1][self._sorted[0][kind] : self._sorted[0][kind + 1]]

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The groups kind by kind, and where each kind begins."""
        order = np.argsort(self.groups.which, kind="stable")
        kinds = np.arange(len(self.groups.first) + 1)
        return np.searchsorted(self.groups.which[order], kinds), order

    @cached_property
    def values(self) -> Floats:
        """The ratios of the answers, within what is possible; of nobody, there is none."""
        low, high = np.array([law.possible for law in self._kinds])[self.groups.which].T
        some = self.counts > 0
        found = np.full(len(self.counts), math.nan)
        found[some] = self._totals[1][some] / self.counts[some]
        return np.asarray(np.clip(found, low, high) + self.ratio.offset)

    @cached_property
    def variances(self) -> Floats:
        """Nearly: the variance of S − r·C over C², which is quadratic in r."""
        found = np.full(len(self.counts), math.inf)
        for kind, law in enumerate(self._kinds):
            rows = self._rows(kind)
            rows = rows[self.counts[rows] > 0]
            if not len(rows):
                continue
            ratios = self.values[rows] - self.ratio.offset
            found[rows] = _variances(law, ratios) / self.counts[rows] ** 2
        return found

    def ends(self, confidence: float) -> tuple[Floats, Floats]:
        """The ends of all groups' intervals."""
        if confidence not in self._known:
            low, high = np.empty((2, len(self.counts)))
            for kind, law in enumerate(self._kinds):
                rows = self._rows(kind)
                low[rows], high[rows] = self._ends(law, rows, confidence)
            self._known[confidence] = low + self.ratio.offset, high + self.ratio.offset
        return self._known[confidence]

    def _ends(
        self, law: RatioLaw, rows: NDArray[np.intp], confidence: float
    ) -> tuple[Floats, Floats]:
        least, most = law.possible
        low, high = np.full(len(rows), least), np.full(len(rows), most)
        miss = 1 - confidence
        reach = law.bottom_law.half_width(1 - FOR_COUNT * miss)
        sure = np.flatnonzero(self.counts[rows] > reach)
        if not len(sure):
            return low, high
        counts, level = self.counts[rows[sure]], 1 - (1 - FOR_COUNT) * miss
        lots = np.arange(len(sure))[:, None] if len(sure) <= _FEW else [np.arange(len(sure))]
        for lot in lots:
            below, _, above = (of[rows[sure[lot]]] for of in self._totals)
            for ladder, totals, sides in self._ladders(law, level, reach, below, above):
                found = ladder.excluded(totals, counts[lot], sides)
                for side, ends in found.items():
                    (low if side < 0 else high)[sure[lot]] = np.clip(ends, least, most)
        return low, high

    def _ladders(
        self, law: RatioLaw, level: float, reach: float, below: Floats, above: Floats
    ) -> Iterator[tuple[Ladder, Floats, tuple[int, ...]]]:
        """One for both ends, or where bins are in it one for each."""
        top, possible = law.ratio.top, law.possible
        if top.exact:
            noise = partial(_reach, law, top.middle, level)
            yield Ladder(noise, reach, possible), below, (-1, 1)
            return
        for side, tops, totals in ((-1, top.low, below), (1, top.high, above)):
            noise = partial(_reach, law, tops, level)
            yield Ladder(noise, reach, possible), totals, (side,)


def _reach(law: RatioLaw, top: Weighing, level: float, ratio: float) -> float:
    return law.difference(ratio, top).half_width(level)


def _variances(law: RatioLaw, ratios: Floats) -> Floats:
    """The variance of S − r·C for many r: a quadratic function, by three places."""
    middle = float(ratios.mean())
    step = float(np.abs(ratios - middle).max()) or 1.0
    below, here, above = (law.difference(middle + i * step).variance for i in (-1, 0, 1))
    away = (ratios - middle) / step
    found = here + away * (above - below) / 2 + away**2 * ((above + below) / 2 - here)
    return np.maximum(found, 0.0)


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
        rungs, heights = self._rungs(totals, counts, sides)
        places, values = _roof(rungs, heights, self.reach)
        found = {}
        for side in sides:
            turned = slice(None, None, side)  # to the left is to the right, in a mirror
            roof = side * places[turned], values[turned]
            found[side] = side * _crossings(*roof, self.reach, side * totals, counts)
        return found

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
        """So far that what is between is overstated by little; rounding must not hide it."""
        least = 1e-5 * max(abs(place), float(np.ptp(ratios)), 1e-9)
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
