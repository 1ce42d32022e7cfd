"""How far off a summary's values may be: noise, sampling, and what a filter hides.

What was kept stands for sign(v)·max(abs(v), τ), which is unbiased for the noisy table (Horvitz and
Thompson), or for the noisy table after its filter. The variance of a sum has two parts: the noise
in all its places, and the sampling, whose variance Σ τ·(τ − abs(v)) over kept v < τ estimates
without bias. It is never taken below what as many empty places would have.

Intervals hold what was not kept too. Two arguments share the chance of missing. The noises of all
places of a question, kept or not, add up to a sum whose law is known; where |sum| ≤ h, and a
missing noisy value lies below θ, the true sum is within h + (θ − 1) for each missing place. And
`behind.py` bounds the true sum by the law of what is kept, which is nearer where much is missing.
True counts are whole and not negative.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats, Integers
from hushtable.families.sparse.behind import KeepingLaw, hull, sides
from hushtable.families.sparse.expected import moments
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.query.law import NoiseLaw, NoiseSum, checked_confidence, wider_quantile


@dataclass(frozen=True, eq=False)
class KeptPlaces:
    """The places that were kept, in order, and their noisy values; read when first needed."""

    read_places: Callable[[], NDArray[Any]]
    read_values: Callable[[], NDArray[Any]]

    @cached_property
    def places(self) -> NDArray[Any]:
        return self.read_places()

    @cached_property
    def values(self) -> NDArray[Any]:
        return self.read_values()

    def found(self, places: Integers) -> tuple[NDArray[np.bool_], NDArray[np.intp]]:
        """Which of some places were kept, and where they stand among those."""
        if not len(self.places):
            return np.zeros(len(places), bool), np.zeros(len(places), np.intp)
        found = np.minimum(np.searchsorted(self.places, places), len(self.places) - 1)
        return self.places[found] == places, found


@dataclass(frozen=True)
class Errors:
    """How a summary's values err: the noise, the filter, and the sampling."""

    noise: DiscreteLaplace
    theta: int
    two_sided: bool
    tau: float
    priority: bool = False
    """Whether tau was found among the noisy values, also where it came out as 0 because everything
    fits: then places are not independent."""
    consistent: bool = False
    """Whether nodes with a missing ancestor were dropped."""

    @cached_property
    def rule(self) -> KeepingLaw:
        """What becomes of a count, place by place."""
        return KeepingLaw(self.noise, self.theta, self.two_sided, self.tau)

    @property
    def estimate(self) -> bool:
        """Whether intervals of sums of counts are estimates."""
        return self.priority or (self.tau > 0 and self.consistent)

    @property
    def estimate_of_weighted(self) -> bool:
        """Whether intervals of weighted sums of coefficients are."""
        return self.priority or self.tau > 0 or not self.two_sided

    @cached_property
    def _empty(self) -> tuple[float, float]:
        """Of an empty place: the variance after the filter, and what sampling adds."""
        mean, square = moments(0.0, self.noise.scale, self.theta, 0.0, self.two_sided)
        mean = 0.0 if self.two_sided else mean
        sampled = moments(0.0, self.noise.scale, self.theta, self.tau, self.two_sided)[1]
        return square - mean**2, max(sampled - square, 0.0)

    @property
    def mean_of_empty(self) -> float:
        """What an empty place stands for on average."""
        return moments(0.0, self.noise.scale, self.theta, self.tau, self.two_sided)[0]

    @property
    def complete(self) -> bool:
        """Whether all that is missing is zero: nothing was filtered or sampled."""
        unsampled = self.tau == 0 and not self.priority
        return unsampled and self.theta == 1 and self.two_sided and not self.consistent

    @property
    def note(self) -> str:
        """What the values are, in words."""
        if self.complete:
            return "sum of noisy cells"
        if self.theta == 1 and self.two_sided:
            return "unbiased estimate from a sample of noisy counts"
        what = "estimate from a sample of" if self.tau else "sum of"
        return (
            f"{what} noisy counts that passed a filter at {self.theta}: biased, because each one"
            f" that is missing may hide up to {self.theta - 1} and its noise; the interval holds it"
        )

    def weights(self, values: NDArray[Any]) -> NDArray[Any]:
        """What each kept value stands for; whole numbers stay whole."""
        values = values.astype(np.int64)  # stored ones are narrow, and tau is not
        if not self.tau:
            return values
        tau: Any = int(self.tau) if self.tau == int(self.tau) and self.tau < 2**62 else self.tau
        return np.asarray(np.sign(values) * np.maximum(np.abs(values), tau))

    def sampled(self, values: NDArray[Any]) -> NDArray[np.bool_]:
        """Which kept values stand for others that were not sampled."""
        return np.asarray(np.abs(values.astype(np.float64)) < self.tau)

    def spread(self, values: NDArray[Any]) -> Floats:
        """The estimated variance that sampling adds, by kept value."""
        sizes = np.abs(values.astype(np.float64))
        return np.asarray(self.tau * np.maximum(self.tau - sizes, 0.0))

    def passed(self, values: NDArray[Any]) -> Floats:
        """How many places past the filter each kept value stands for."""
        sizes = np.maximum(np.abs(values.astype(np.float64)), 1.0)
        return np.asarray(np.maximum(self.tau / sizes, 1.0))

    def variance(self, places: Floats, passed: Floats, spread: Floats) -> Floats:
        """Of sums over so many places, of which about `passed` have passed the filter."""
        filtered, sampling = self._empty
        noise = places * self.noise.variance
        if self.theta > 1 or not self.two_sided:
            busy = np.minimum(passed, places)
            noise = busy * self.noise.variance + (places - busy) * filtered
        return np.asarray(noise + np.maximum(spread, places * sampling))

    def place_variances(self, kept: KeptPlaces, places: Integers) -> Floats:
        """The variance of what each of some places by itself stands for."""
        there, found = kept.found(places)
        passed, spread = np.zeros(len(places)), np.zeros(len(places))
        chosen = kept.values[found[there]]
        passed[there], spread[there] = self.passed(chosen), self.spread(chosen)
        return self.variance(np.ones(len(places)), passed, spread)


def distinct_laws(
    make: Callable[..., NoiseLaw], columns: Iterable[NDArray[Any]]
) -> tuple[tuple[NoiseLaw, ...], NDArray[np.intp]]:
    """The distinct laws made from the rows of some columns, and which of them each row has."""
    known: dict[tuple[Any, ...], int] = {}
    rows = zip(*(column.tolist() for column in columns), strict=True)
    which = [known.setdefault(row, len(known)) for row in rows]
    return tuple(make(*row) for row in known), np.array(which, np.intp)


# ── laws ─────────────────────────────────────────────────────────────────────────────────────────


class _TwoSided(ABC):
    """An error that reaches further to one side than to the other."""

    __slots__ = ()

    @abstractmethod
    def margins(self, confidence: float) -> tuple[float, float]:
        """How far the truth may be below the value, and how far above."""

    def half_width(self, confidence: float) -> float:
        """The longer of both sides."""
        return max(self.margins(checked_confidence(confidence)))


@dataclass(frozen=True, slots=True)
class SummedNoise(_TwoSided):
    """The error of a sum over places that each hold a count."""

    errors: Errors
    variance: float
    value: float
    places: int
    kept: int
    """How many of the places are there …"""
    sampled: int
    """… and how many of those stand for others."""

    @property
    def estimate(self) -> bool:
        return self.errors.estimate

    def margins(self, confidence: float) -> tuple[float, float]:
        """How far the true sum may be below the value, and how far above."""
        miss = 1 - confidence
        ends = self._of_sample(miss) if self.errors.tau else self._of_filter(miss)
        return _margins(self.value, *ends)

    def _of_filter(self, miss: float) -> tuple[float, float]:
        if self.places == 1:
            return self._by_noise(miss)
        low, high = self._by_noise(0.7 * miss)
        if self.kept == self.places:
            return low, high
        low = max(low, self.value - self._side(1, 0.2 * miss))
        return low, min(high, self._largest(0.1 * miss))

    def _by_noise(self, miss: float) -> tuple[float, float]:
        """By the noise of all places, and θ − 1 for each that is missing."""
        return _filtered(self.errors, self.value, self.places, self.kept, miss)

    def _of_sample(self, miss: float) -> tuple[float, float]:
        low = self.value - self._side(1, miss / 2)
        if self.errors.theta == 1:
            return low, self.value + self._side(-1, miss / 2)
        return low, min(self.value + self._side(-1, miss / 4), self._largest(miss / 4))

    def _side(self, sign: int, miss: float) -> float:
        sure, some = self.kept - self.sampled, self.sampled
        return sides(self.errors.rule, sign).margin(self.places, sure, some, math.log(miss))

    def _largest(self, miss: float) -> float:
        return hull(self.errors.rule).largest(self.places, self.value, math.log(miss))


@dataclass(frozen=True, slots=True)
class RootedNoise(_TwoSided):
    """The error of a sum over nodes, where nodes with a missing ancestor were dropped.

    A missing node whose parents are all there was dropped by the filter itself. Any other lies in
    one that was, whose count is no smaller; nodes of a sum share no cell, so all that lie in the
    same one are no more than it together. What ancestors have is independent of the noise of the
    nodes that were asked for, none of which is an ancestor of another.
    """

    errors: Errors
    variance: float
    value: float
    reached: int
    """How many of the nodes that were asked for have all their ancestors."""
    kept: int
    around: int
    """How many missing nodes hold all the others."""
    ancestors: int
    """A bound on how many nodes there are above those that were asked for."""

    @property
    def estimate(self) -> bool:
        return self.errors.estimate

    def margins(self, confidence: float) -> tuple[float, float]:
        """How far the true sum may be below the value, and how far above."""
        miss, errors = 1 - confidence, self.errors
        low, high = _filtered(errors, self.value, self.reached, self.kept, 0.6 * miss)
        lower = sides(errors.rule, 1).margin(self.reached, self.kept, 0, math.log(0.1 * miss))
        # No ancestor's noise is further down than this: one side of so many noises.
        noise = errors.noise.reach(2 * 0.3 * miss / max(self.ancestors, 1))
        above = self.around * (errors.theta - 1 + noise)
        return _margins(self.value, max(low, self.value - lower), high + above)


@dataclass(frozen=True, slots=True)
class WeightedNoise(_TwoSided):
    """The error of a weighted sum over coefficients, some of which are missing.

    Where coefficients were sampled, or those below 0 dropped, this is an estimate. What sampling
    has left out is not seen, so the estimated variance is too small where little was kept. A sum's
    variance is that of its noise and at most τ·S, and the half width is that of the largest S whose
    estimate may be as small as ours: off by h with h² = q²·(variance + τ·h), q a quantile.
    """

    errors: Errors
    variance: float
    value: float
    noise: NoiseSum
    missing: float
    """The weights of the coefficients that are missing, added up."""

    @property
    def estimate(self) -> bool:
        return self.errors.estimate_of_weighted

    def margins(self, confidence: float) -> tuple[float, float]:
        """How far the true sum may be below the value, and how far above."""
        half, miss = self.missing * (self.errors.theta - 1), 1 - confidence
        if self.errors.tau:
            quantile = wider_quantile(miss)
            middle = self.errors.tau * quantile**2 / 2
            half += middle + math.sqrt(quantile**2 * self.variance + middle**2)
        else:
            half += self.noise.reach(miss)
        return _margins(self.value, self.value - half, self.value + half)


@dataclass(frozen=True, slots=True)
class CellNoise(_TwoSided):
    """The error of one cell of a sample: its noisy count, or 0 where it is missing.

    Let h be exceeded by the noise with half the chance of missing, m/2. If it is not, a cell that
    is there lies within h; and one of count c ≥ τ(1 − m/2) + h would have been sampled but for a
    chance of m/2. A missing cell below θ was filtered, whatever the chance.
    """

    errors: Errors
    there: bool

    @property
    def variance(self) -> float:
        """The noise, and for a missing cell the worst count: c²(1 − c/τ) is at most 4τ²/27."""
        tau, theta = self.errors.tau, self.errors.theta
        noise = self.errors.noise.variance
        return noise if self.there else noise + max(4 * tau**2 / 27, (theta - 1.0) ** 2)

    @property
    def estimate(self) -> bool:
        return self.errors.estimate

    def margins(self, confidence: float) -> tuple[float, float]:
        """How far the true count may be below the value, and how far above."""
        half = (1 - confidence) / 2
        noise = self.errors.noise.reach(half)
        if self.there:
            return noise, noise
        return 0.0, noise + max(self.errors.tau * (1 - half), self.errors.theta - 1.0)


def _filtered(
    errors: Errors, value: float, places: int, kept: int, miss: float
) -> tuple[float, float]:
    """The ends of a true sum by the noise of all its places, and θ − 1 for each missing one.

    Nothing is known of how far below θ a missing value is where a filter is one-sided; but that no
    count is negative.
    """
    noise = NoiseSum.of(errors.noise, places).reach(miss)
    hidden = (errors.theta - 1) * (places - kept)
    low = value - noise - hidden if errors.two_sided or kept == places else 0.0
    return low, value + noise + hidden


def _margins(value: float, low: float, high: float) -> tuple[float, float]:
    """How far a whole number that is not negative, between these ends, is from a value."""
    room = 1e-9 * (1 + abs(value))  # the rounding of a sum of floats
    low, high = max(math.ceil(low - room), 0), math.floor(high + room)
    return max(float(value - low), 0.0), max(float(high - value), 0.0)
