"""Intervals that hold however the regions of a release were chosen.

Regions follow from the noisy cells. A posterior takes them as given, and where regions were chosen
because of the noise, the truth lies outside its intervals more often than they say. What holds for
every choice, in every table:

* the noise of the cells that a question asks for is a sum of as many noises as it has cells. Which
  cells these are was settled before anything was drawn;
* the noise of the regions' counts is independent of all cells, and so of the regions. Given these,
  the counts of r regions err by the sum of r noises.

An interval is what both leave room for. Each may fail in its share of the chance of missing, so
that together they fail no more often than the confidence says (Bonferroni). The shares are settled
by the question alone, and of the counts of regions one thing is said only:

* a question of whole regions has their counts;
* any other question of most of the cells is all regions less the cells outside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats, Integers
from hushtable.families.regions.crossing import RegionLayout
from hushtable.families.regions.posterior import Estimator
from hushtable.query.law import NoiseSum, checked_confidence

CUT = -1
"""Instead of a number of regions, where a question cuts one."""

# Of the chance of missing: most for the cells, which nearly every interval rests on.
_FOR_CELLS = 0.75
_FOR_OUTSIDE = 0.25  # taken from these, where a question asks for most cells
_FOR_REGIONS = 0.25


@dataclass(frozen=True, eq=False)
class SeenQuestions:
    """What was seen of some questions, one to a place of each array."""

    cells: Integers
    """How many cells each asks for."""
    noisy: Floats
    """The sum of these noisy cells."""
    regions: Integers
    """How many regions it is made of, or `CUT`."""
    counted: Floats
    """The sum of their noisy counts."""

    def only(self, i: int) -> SeenQuestions:
        """One of the questions."""
        one = slice(i, i + 1)
        return SeenQuestions(self.cells[one], self.noisy[one], self.regions[one], self.counted[one])


@dataclass(frozen=True, eq=False)
class Promise:
    """The noise of a release of cells and regions, and what was seen of the whole table."""

    estimator: Estimator
    layout: RegionLayout

    def ends(self, seen: SeenQuestions, confidence: float) -> tuple[Floats, Floats]:
        """The ends of intervals that hold the truth at least as often as they say."""
        miss = 1 - checked_confidence(confidence)
        share = np.where(self._of_most(seen), _FOR_CELLS - _FOR_OUTSIDE, _FOR_CELLS)
        half = _half_widths(self._cells, seen.cells, share * miss)
        low, high = seen.noisy - half, seen.noisy + half
        sums, far = self._by_regions(seen, miss)
        closer, nearer = np.maximum(low, sums - far), np.minimum(high, sums + far)
        agree = closer <= nearer  # where not, one of them failed
        low, high = np.where(agree, closer, low), np.where(agree, nearer, high)
        if self.estimator.prior == "non-negative":
            low, high = np.maximum(low, 0.0), np.maximum(high, 0.0)
        return low, high

    def _by_regions(self, seen: SeenQuestions, miss: float) -> tuple[Floats, Floats]:
        """What the counts of regions say, and how far off that may be: infinitely, if nothing."""
        cut = seen.regions == CUT
        counted, noisy = self._everything
        sums = np.where(cut, counted - (noisy - seen.noisy), seen.counted)
        regions, outside = self._noises(seen)
        far = _half_widths(self._regions, regions, np.full(len(cut), _FOR_REGIONS * miss))
        far += _half_widths(self._cells, outside, np.full(len(cut), _FOR_OUTSIDE * miss))
        return sums, np.where(cut & ~self._of_most(seen), np.inf, far)

    def variances(self, seen: SeenQuestions) -> Floats:
        """The variance of the noise that an interval rests on: of both, the smaller."""
        cell, region = self.estimator.cell_noise.variance, self.estimator.region_noise.variance
        regions, outside = self._noises(seen)
        nothing = (seen.regions == CUT) & ~self._of_most(seen)
        other = np.where(nothing, np.inf, region * regions + cell * outside)
        return np.asarray(np.minimum(cell * seen.cells, other))

    def _noises(self, seen: SeenQuestions) -> tuple[Integers, Integers]:
        """How many regions tell a question's count, and how many cells are taken off them."""
        cut, every = seen.regions == CUT, len(self.layout.cells)
        outside = np.where(cut & self._of_most(seen), every - seen.cells, 0)
        return np.where(cut, self.layout.regions, seen.regions), outside

    def _of_most(self, seen: SeenQuestions) -> NDArray[np.bool_]:
        """Whether a question asks for most of the cells, but not for all."""
        every = len(self.layout.cells)
        return np.asarray((2 * seen.cells > every) & (seen.cells < every))

    @cached_property
    def _everything(self) -> tuple[float, float]:
        """All regions' counts together, and all cells."""
        return float(self.layout.counts.sum(dtype=np.float64)), float(self.layout.cells.sum())

    def _cells(self, number: int) -> NoiseSum:
        return NoiseSum.of(self.estimator.cell_noise, number)

    def _regions(self, number: int) -> NoiseSum:
        return NoiseSum.of(self.estimator.region_noise, number)


def _half_widths(noise: Callable[[int], NoiseSum], numbers: Integers, misses: Floats) -> Floats:
    """The half widths of sums of so many noises, each with a chance of missing."""
    kinds, which = np.unique(np.stack([numbers, misses]), axis=1, return_inverse=True)
    found = [noise(int(number)).reach(miss) for number, miss in kinds.T.tolist()]
    return np.array(found, np.float64)[which.reshape(-1)]


@dataclass(frozen=True, eq=False)
class PromisedLaw:
    """The error of a posterior mean, by intervals that hold however regions were chosen."""

    value: float
    promise: Promise
    seen: SeenQuestions
    """Of this one question."""
    note: str | None = None

    @property
    def variance(self) -> float:
        return float(self.promise.variances(self.seen)[0])

    @property
    def estimate(self) -> bool:
        return False

    def margins(self, confidence: float) -> tuple[float, float]:
        """How far the interval reaches below the value, and how far above."""
        low, high = (float(end[0]) for end in self.promise.ends(self.seen, confidence))
        return _as_far_as(self.value - low), _as_far_as(high - self.value)

    def half_width(self, confidence: float) -> float:
        """The longer of both sides."""
        return max(self.margins(confidence))


def _as_far_as(margin: float) -> float:
    """A margin that reaches an end in spite of rounding: the truth may lie just there."""
    return float(np.nextafter(margin, np.inf)) if margin > 0 else 0.0
