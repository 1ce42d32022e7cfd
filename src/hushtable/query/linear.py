"""The law of a weighted sum of independent discrete Laplace noises of several scales.

Transforms answer a count by weights on noisy coefficients. The noise X is then Σ w·N with known
weights and scales, so its characteristic function is known exactly, and with it P[|X| ≤ t] as a
quickly converging sine series. X sits on a fine lattice; a small independent jitter of known width
makes its law smooth, and the half width is widened by as much, so that intervals cover.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hushtable.query.law import DiscreteLaplaceSum, checked_confidence, normal_half_width

Term = tuple[float, Fraction, int]
"""The size of a weight, the factor of the noise's scale, and how many such noises there are."""

# Sums with less excess kurtosis use the normal limit with its kurtosis term, which misses the
# asked chance by less than about κ²/10 of itself.
LIMIT_KURTOSIS = 0.05
# Rarer misses are bounded (Chernoff), not computed: the series is exact to about 10⁻⁸.
RARE = 1e-6

_STEPS = 512  # jitters in the width of the law
_SERIES = 40 * _STEPS


@dataclass(frozen=True, slots=True)
class LinearNoise:
    """Σ weight · noise, over independent discrete Laplace noises of scale `scale` · factor.

    Half widths cover at least as asked. They are wider than the smallest that do by at most 0.4 %
    of the span of the law; for misses rarer than 10⁻⁶, by what Chernoff's bound gives away.
    """

    scale: Fraction
    terms: tuple[Term, ...]

    @property
    def variance(self) -> float:
        """Σ count · weight² · variance of one noise."""
        return math.fsum(count * weight**2 * v for weight, count, v in self._spread())

    @property
    def kurtosis(self) -> float:
        """The excess kurtosis: one discrete Laplace noise of variance v has 3 + 1/v."""
        fourth = math.fsum(n * w**4 * v * (1 + 3 * v) for w, n, v in self._spread())
        variance = self.variance
        return fourth / variance**2 if variance else 0.0

    @property
    def exact(self) -> bool:
        """Whether half widths come from the exact law rather than from the normal limit."""
        return self.kurtosis > LIMIT_KURTOSIS or len(self.terms) <= 1

    def half_width(self, confidence: float) -> float:
        """A t, close to the smallest, with P[|noise| ≤ t] ≥ confidence."""
        return _half_width(self, checked_confidence(confidence))

    def _spread(self) -> list[tuple[float, int, float]]:
        return [
            (weight, count, DiscreteLaplaceSum(self.scale * factor, 1).variance)
            for weight, factor, count in self.terms
        ]


def linear_noise(scale: Fraction, terms: dict[tuple[float, Fraction], int]) -> LinearNoise:
    """The law of given terms; weights that differ by rounding only are taken together."""
    merged: dict[tuple[float, Fraction], int] = {}
    for (weight, factor), count in terms.items():
        if weight and count:
            key = (float(f"{abs(weight):.12g}"), factor)
            merged[key] = merged.get(key, 0) + count
    return LinearNoise(scale, tuple(sorted((w, f, n) for (w, f), n in merged.items())))


@lru_cache(maxsize=1 << 14)
def _half_width(law: LinearNoise, confidence: float) -> float:
    if not law.terms:
        return 0.0
    if len(law.terms) == 1:  # all alike: the sum of plain noises, stretched
        weight, factor, count = law.terms[0]
        return weight * DiscreteLaplaceSum(law.scale * factor, count).half_width(confidence)
    miss = 1 - confidence
    if not law.exact:
        return normal_half_width(law.variance, law.kurtosis, miss)
    if miss < RARE:
        return _chernoff(law, miss)
    return _by_series(law, miss)


def _rates(law: LinearNoise) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """The weights, the rates 1/scale and the counts of the terms."""
    weights = np.array([weight for weight, _, _ in law.terms])
    rates = np.array([float(1 / (law.scale * factor)) for _, factor, _ in law.terms])
    return weights, rates, np.array([count for _, _, count in law.terms])


def _by_series(law: LinearNoise, miss: float) -> float:
    """Invert P[|X + jitter| ≤ t] = t/R + Σ 2/(πk)·φ(πk/R)·sin(πkt/R) on a span of ±R."""
    weights, rates, counts = _rates(law)
    reach = 12 * math.sqrt(law.variance) + 60 * float((weights / rates).max())
    jitter = reach / _STEPS
    k = np.arange(1, _SERIES + 1)
    t = math.pi * k / reach
    log_phi = np.zeros(_SERIES)
    for weight, rate, count in zip(weights, rates, counts, strict=True):
        # (1−α)² / ((1−α)² + 4α sin²(wt/2)), without cancellation
        ratio = 4 * math.exp(-rate) / math.expm1(-rate) ** 2
        log_phi -= count * np.log1p(ratio * np.sin(weight * t / 2) ** 2)
    # The jitter is the sum of four uniform ones of width `jitter`, so at most twice that.
    series = 2 / (math.pi * k) * np.exp(log_phi) * np.sinc(t * jitter / (2 * math.pi)) ** 4

    def missed(width: float) -> float:
        return 1 - width / reach - float(series @ np.sin(t * width))

    return _bisect(missed, miss - 1e-8, 0.0, reach) + 2 * jitter


def _chernoff(law: LinearNoise, miss: float) -> float:
    """The smallest t that 2·exp(−θt)·E[exp(θX)] ≤ miss proves, over θ."""
    weights, rates, counts = _rates(law)
    best = math.inf
    for part in np.linspace(0.02, 0.98, 49):
        theta = part * float((rates / weights).min())
        ratio = 4 * np.exp(-rates) / np.expm1(-rates) ** 2
        inside = 1 - ratio * np.sinh(weights * theta / 2) ** 2
        if (inside > 0).all():
            log_moment = -float(counts @ np.log(inside))
            best = min(best, (log_moment + math.log(2 / miss)) / theta)
    return best


def _bisect(missed: Callable[[float], float], miss: float, low: float, high: float) -> float:
    for _ in range(50):
        middle = (low + high) / 2
        if missed(middle) > miss:
            low = middle
        else:
            high = middle
    return high
