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
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats
from hushtable.query.box import Box, Boxes, CodeSet
from hushtable.query.cutting import Cuts, all_codes
from hushtable.query.group_readers import AlikeReader, ShrinkingReader, SummingReader
from hushtable.query.law import NoiseSum, farther_end
from hushtable.query.reader import Answering
from hushtable.query.statistics.ladder import Ladder
from hushtable.query.statistics.linear import Linear
from hushtable.query.statistics.ratio import (
    FOR_COUNT,
    Ends,
    Ratio,
    RatioLaw,
    unrounded_ends,
)
from hushtable.query.weighing import (
    WeighedBox,
    Weighing,
    WeighingReader,
    within,
)

# Ends are moved out by this part of them: their last bits are not those of the answer.
_ROUNDING = 1e-14
# Counts that are held at once, of groups by the codes of a summed attribute.
_PIECE = 2**23


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups that cuts make, and which of them are alike."""

    reader: WeighingReader
    """What knows the laws of noise: its answers add up, with no other error."""
    shown: Answering
    """What answers."""
    moved: Answering | None
    """What these answers lack of the reader's, if anything: by so much they may be further off."""
    cuts: Cuts
    rows: NDArray[np.intp]
    """Which combinations of groups are asked for."""
    which: NDArray[np.intp]
    """The kind of each one that is."""
    first: NDArray[np.intp]
    """Of each kind, a group among those that are shown."""

    @classmethod
    def of(
        cls, reader: AlikeReader | ShrinkingReader, boxes: Boxes, cuts: Cuts, rows: NDArray[np.intp]
    ) -> Groups:
        """Groups of the same kinds along all axes are alike."""
        known: Any = reader.noisy if isinstance(reader, ShrinkingReader) else reader
        moved = reader.lost if isinstance(reader, ShrinkingReader) else None
        shown: Any = reader.shrunken if isinstance(reader, ShrinkingReader) else reader
        every = np.zeros((), np.int64)
        for along in known.kinds(boxes, cuts):
            every = np.add.outer(every * (int(along.max(initial=0)) + 1), along)
        found = np.unique(every.reshape(-1)[rows], return_index=True, return_inverse=True)
        return cls(known, shown, moved, cuts, rows, found[2].reshape(-1), found[1])

    def values(self, weighing: Weighing) -> Floats:
        """The answers of all groups to a linear question."""
        return self._sums(self.shown, weighing)

    def shifts(self, weighing: Weighing) -> Floats:
        """By how much each of them was moved."""
        return np.zeros(len(self.rows)) if self.moved is None else self._sums(self.moved, weighing)

    def _sums(self, reader: Answering, weighing: Weighing) -> Floats:
        total = np.zeros(len(self.rows))
        for part in weighing:
            if isinstance(reader, SummingReader):
                total += part.factor * reader.group_sums(part, self.cuts)[self.rows]
                continue
            for counts, weights in self._counts(reader, part):
                total += counts @ (part.factor * weights)
        return total

    def _counts(self, reader: Answering, part: WeighedBox) -> Iterator[tuple[Floats, Floats]]:
        """The counts of a box by group and, of its weighed axis, by code; and what these weigh."""
        rows = math.prod(len(ranges) for _, ranges in self.cuts)
        if not part.along:
            found = reader.group((part.box,), self.cuts).values.reshape(rows, 1)
            yield found[self.rows].astype(np.float64), np.ones(1)
            return
        ((axis, weights),) = part.along.items()
        codes = all_codes(part.box.sets[axis])
        step = max(_PIECE // max(rows, 1), 1)
        for start in range(0, len(codes), step):
            some = codes[start : start + step]
            cuts = [*self.cuts, (axis, np.stack([some, some + 1], axis=1))]
            found = reader.group((part.box,), cuts).values.reshape(rows, len(some))
            yield found[self.rows].astype(np.float64), weights[some]

    def of_kind(self, kind: int, weighing: Weighing) -> Weighing:
        """A linear question of one group of a kind."""
        if not weighing:
            return ()
        sizes = [len(ranges) for _, ranges in self.cuts]
        sets = [CodeSet.of((0, _last(weighing, i))) for i in range(len(weighing[0].box.sets))]
        places = np.unravel_index(self.rows[self.first[kind]], sizes)
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
        return float(low[self.row]), float(high[self.row])


def _outwards(low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Ends moved out by what rounding may have moved them in."""
    return low - _ROUNDING * np.abs(low), high + _ROUNDING * np.abs(high)


def _around(values: Floats, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Ends with the values between them, where there are any.

    Where bins have noisy counts below zero, the ends may have changed places.
    """
    return np.fmin(low, values), np.fmax(high, values)


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
        return np.array(each)[self.groups.which] + self.groups.shifts(self.linear.middle) ** 2

    @cached_property
    def _ends(self) -> tuple[Floats, Floats]:
        """The least and the largest sums, moved out by what they may lack."""
        low, high = self.linear.low, self.linear.high
        least = self.groups.values(low) - np.abs(self.groups.shifts(low))
        return least, self.groups.values(high) + np.abs(self.groups.shifts(high))

    def ends(self, confidence: float) -> tuple[Floats, Floats]:
        """The ends of all groups' intervals: each side misses half as often as both may."""
        if confidence not in self._known:
            kinds, which = range(len(self.groups.first)), self.groups.which
            margins = [
                np.array([self.groups.law(kind, end).half_width(confidence) for kind in kinds])
                for end in (self.linear.low, self.linear.high)
            ]
            low, high = (values + self.linear.offset for values in self._ends)
            room = self.linear.rounding
            ends = low - margins[0][which] - room, high + margins[1][which] + room
            self._known[confidence] = _outwards(*_around(self.values, *ends))
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
    def _totals(self) -> Floats:
        """With the least, the middle and the largest values."""
        return self._of_tops(self.groups.values)

    @cached_property
    def _shifts(self) -> tuple[Floats, Floats]:
        """By how much the totals and the counts were moved."""
        return self._of_tops(self.groups.shifts), self.groups.shifts(self.ratio.bottom)

    def _of_tops(self, of: Callable[[Weighing], Floats]) -> Floats:
        top = self.ratio.top
        middle = of(top.middle)
        return np.stack([middle] * 3 if top.exact else [of(top.low), middle, of(top.high)])

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
            shifts = self._shifts[0][1, rows] - ratios * self._shifts[1][rows]
            found[rows] = (_variances(law, ratios) + shifts**2) / self.counts[rows] ** 2
        return found

    def ends(self, confidence: float) -> tuple[Floats, Floats]:
        """The ends of all groups' intervals."""
        if confidence not in self._known:
            low, high = np.empty((2, len(self.counts)))
            for kind, law in enumerate(self._kinds):
                rows = self._rows(kind)
                ends = self._ends(law, rows, confidence)
                low[rows], high[rows] = unrounded_ends(*ends, law.possible)
            offset = self.ratio.offset
            around = _around(self.values, low + offset, high + offset)
            self._known[confidence] = _outwards(*around)
        return self._known[confidence]

    def _ends(
        self, law: RatioLaw, rows: NDArray[np.intp], confidence: float
    ) -> tuple[Floats, Floats]:
        least, most = law.possible
        low, high = np.full(len(rows), least), np.full(len(rows), most)
        miss = 1 - confidence
        reach = law.bottom_law.half_width(1 - FOR_COUNT * miss)
        totals, counts = self._apart(rows)
        sure = np.flatnonzero(counts.min(axis=0) > reach)
        if not len(sure):
            return low, high
        counts, level = counts[:, sure], 1 - (1 - FOR_COUNT) * miss
        for ladder, place, sides in self._ladders(law, level, reach):
            found = ladder.excluded(totals[:, place, sure].reshape(-1), counts.reshape(-1), sides)
            for side, ends in found.items():
                farthest = (side * ends.reshape(-1, len(sure))).max(axis=0) * side
                (low if side < 0 else high)[sure] = np.clip(farthest, least, most)
        return low, high

    def _apart(self, rows: NDArray[np.intp]) -> tuple[Floats, Floats]:
        """The totals and counts of which every ratio must be excluded, of each row.

        Where S was moved by s and C by c, S − r·C is off by noise and |s − r·c|: it is further off
        where (S + s) − r·(C + c) and (S − s) − r·(C − c) are both further off than noise.
        """
        totals, counts = self._totals[None, :, rows], self.counts[None, rows]
        if self.groups.moved is None:
            return totals, counts
        signs = np.array([1.0, -1.0])
        return (
            totals + signs[:, None, None] * self._shifts[0][:, rows],
            counts + signs[:, None] * self._shifts[1][rows],
        )

    def _ladders(
        self, law: RatioLaw, level: float, reach: float
    ) -> Iterator[tuple[Ladder, int, tuple[int, ...]]]:
        """One for both ends, or where bins are in it one for each; and which totals it is for."""
        top, possible = law.ratio.top, law.possible
        if top.exact:
            yield Ladder(partial(_reach, law, top.middle, level), reach, possible), 1, (-1, 1)
            return
        for side, place, tops in ((-1, 0, top.low), (1, 2, top.high)):
            yield Ladder(partial(_reach, law, tops, level), reach, possible), place, (side,)


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
