"""How far off a summary's values may be: noise, sampling, and what a filter hides.

What was kept stands for sign(v)·max(abs(v), τ), which is unbiased for the noisy table (Horvitz and
Thompson), or for the noisy table after its filter. The error of a sum has two parts: the noise in
all its places, and the sampling, whose variance Σ τ·(τ − abs(v)) over kept v < τ estimates without
bias. It is never taken below what as many empty places would have.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.query.law import (
    DiscreteLaplaceSum,
    NoiseLaw,
    checked_confidence,
    wider_quantile,
)
from hushtable.summaries.forecast import moments

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


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


@dataclass(frozen=True, slots=True)
class SummaryNoise:
    """An estimated error, beside which the value may be off by some more: what a filter hides.

    What sampling has left out is not seen, so the estimated variance is too small where little was
    kept: nothing at all is kept of a sum S with a chance of about exp(−S/τ). A sum's variance is
    that of its noise and at most τ·S, and the half width is that of the largest S whose estimate
    may be as small as ours: off by h with h² = z²·(variance + τ·h), z the normal quantile.
    """

    variance: float
    bias: float
    """By how much at most the noisy counts that are missing would change the value."""
    tau: float

    @property
    def estimate(self) -> bool:
        return True

    def half_width(self, confidence: float) -> float:
        """The half width, under a normal or Laplace law for each S; the bias comes on top."""
        z = wider_quantile(1 - checked_confidence(confidence))
        middle = self.tau * z * z / 2
        return middle + math.sqrt(z * z * self.variance + middle * middle)


@dataclass(frozen=True, slots=True)
class CellNoise:
    """The error of one cell that is answered by its noisy count, or by 0 where it is missing.

    Let h be exceeded by the noise with half the chance of missing, m/2. If it is not, a cell that
    is there lies within h; and one of count c ≥ τ(1 − m/2) + h would have been sampled but for a
    chance of m/2. A missing cell below θ was filtered, whatever the chance.
    """

    scale: Fraction
    theta: int
    tau: float
    there: bool

    @property
    def variance(self) -> float:
        """The noise, and for a missing cell the worst count: c²(1 − c/τ) is at most 4τ²/27."""
        noise = DiscreteLaplaceSum(self.scale, 1).variance
        return noise if self.there else noise + max(4 * self.tau**2 / 27, (self.theta - 1.0) ** 2)

    @property
    def estimate(self) -> bool:
        return True

    def half_width(self, confidence: float) -> float:
        """Half the width of an interval that holds the true count with this confidence."""
        half = (1 - checked_confidence(confidence)) / 2
        noise = DiscreteLaplaceSum(self.scale, 1).half_width(1 - half)
        return noise if self.there else noise + max(self.tau * (1 - half), self.theta - 1.0)


@dataclass(frozen=True)
class Errors:
    """How a summary's values err: the scale of the noise, the filter, and the sampling."""

    scale: Fraction
    theta: int
    two_sided: bool
    tau: float

    @cached_property
    def noise(self) -> float:
        """The variance of the noise on one place."""
        return DiscreteLaplaceSum(self.scale, 1).variance

    @cached_property
    def _empty(self) -> tuple[float, float, float]:
        """Of an empty place: the mean, the variance after the filter, what sampling adds."""
        mean, square = moments(0.0, self.scale, self.theta, 0.0, self.two_sided)
        mean = 0.0 if self.two_sided else mean
        sampled = moments(0.0, self.scale, self.theta, self.tau, self.two_sided)[1]
        return mean, square - mean**2, max(sampled - square, 0.0)

    @property
    def complete(self) -> bool:
        """Whether all that is missing is zero: nothing was filtered or sampled."""
        return self.theta == 1 and self.two_sided and self.tau == 0

    @property
    def note(self) -> str:
        """What the values are, in words."""
        if self.complete:
            return "sum of noisy cells"
        if self.theta == 1 and self.two_sided:
            return "unbiased estimate from a sample of noisy counts; its error is estimated"
        what = "estimate from a sample of" if self.tau else "sum of"
        return (
            f"{what} noisy counts that passed a filter at {self.theta}: biased, because each one"
            f" that is missing may hide up to {self.theta - 1}; its error is estimated without that"
        )

    def weights(self, values: NDArray[Any]) -> NDArray[Any]:
        """What each kept value stands for; whole numbers stay whole."""
        values = values.astype(np.int64)  # stored ones are narrow, and tau is not
        if not self.tau:
            return values
        tau: Any = int(self.tau) if self.tau == int(self.tau) and self.tau < 2**62 else self.tau
        return np.asarray(np.sign(values) * np.maximum(np.abs(values), tau))

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
        _, filtered, sampling = self._empty
        noise = places * self.noise
        if self.theta > 1 or not self.two_sided:
            busy = np.minimum(passed, places)
            noise = busy * self.noise + (places - busy) * filtered
        return np.asarray(noise + np.maximum(spread, places * sampling))

    def place_variances(self, kept: KeptPlaces, places: Integers) -> Floats:
        """The variance of what each of some places by itself stands for."""
        there, found = kept.found(places)
        passed, spread = np.zeros(len(places)), np.zeros(len(places))
        chosen = kept.values[found[there]]
        passed[there], spread[there] = self.passed(chosen), self.spread(chosen)
        return self.variance(np.ones(len(places)), passed, spread)

    def bias(self, places: Floats, missing: Floats) -> Floats:
        """By how much at most sums over so many places, so many of them missing, are off."""
        mean = abs(self._empty[0])
        return np.asarray(missing * (self.theta - 1.0) + places * mean)

    def laws(self, variances: Floats, biases: Floats) -> tuple[tuple[NoiseLaw, ...], NDArray[Any]]:
        """The distinct laws of some sums, and which of them each has."""
        pairs = np.stack([variances, biases], axis=1)
        distinct, which = np.unique(pairs, axis=0, return_inverse=True)
        laws = tuple(SummaryNoise(float(v), float(b), self.tau) for v, b in distinct)
        return laws, which.reshape(-1)
