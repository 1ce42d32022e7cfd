"""The law of a weighted sum of independent discrete Laplace noises of several scales.

Transforms answer a count by weights on noisy coefficients. The noise X is then Σ w·N with known
weights and scales, so its characteristic function is known, and with it P[|X| ≤ t] as a sine
series. X may sit on a lattice, whose series hardly converges; a small independent jitter makes the
law smooth, and the half width is widened by as far as the jitter reaches, so that it still covers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hushtable.query.law import DiscreteLaplaceSum, checked_confidence

Term = tuple[float, Fraction, int]
"""The size of a weight, the factor of the noise's scale, and how many such noises there are."""

Floats = NDArray[np.float64]

# The normal limit is for sums with tails so light, and a standard deviation of so many times the
# largest weight that the steps of their lattice do not matter.
LIMIT_KURTOSIS = 0.05
LIMIT_SPREAD = 50.0
# Rarer misses are bounded (Chernoff), not computed.
RARE = 1e-6

# How much of the chance of missing may be lost to the end of the series, and to its finite span.
_LOST = 1e-3
# The jitter reaches this part of a normal half width, or a larger one to keep the series short.
_FINE = 1 / 500
_MOST_STEPS = 2048


@dataclass(frozen=True, slots=True)
class LinearNoise:
    """Σ weight · noise, over independent discrete Laplace noises of scale `scale` · factor.

    Half widths cover at least as asked, and are about half a percent wider than the smallest that
    do; where noise is rare but large, by up to 0.2 % of how far it reaches. Those of misses rarer
    than 10⁻⁶ are wider by what Chernoff's bound gives away.
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
        return _over(fourth, self.variance**2)

    @property
    def estimate(self) -> bool:
        return False

    @property
    def exact(self) -> bool:
        """Whether half widths come from the exact law rather than from the normal limit."""
        if len(self.terms) <= 1:
            return True
        largest = max(weight for weight, _, _ in self.terms)
        return self.kurtosis > LIMIT_KURTOSIS or self.variance < (LIMIT_SPREAD * largest) ** 2

    def half_width(self, confidence: float) -> float:
        """A t, close to the smallest, with P[|noise| ≤ t] ≥ confidence."""
        return _half_width(self, checked_confidence(confidence))

    def _spread(self) -> list[tuple[float, int, float]]:
        return [
            (weight, count, DiscreteLaplaceSum(self.scale * factor, 1).variance)
            for weight, factor, count in self.terms
        ]


def linear_noise(scale: Fraction, terms: dict[tuple[float, Fraction], int]) -> LinearNoise:
    """The law of given terms; weights that differ by rounding only are taken together.

    A weight of a few rounding errors of the largest is one that cancelled, and is left out.
    """
    merged: dict[tuple[float, Fraction], int] = {}
    residue = 1e-14 * max((abs(weight) for weight, _ in terms), default=0.0)
    for (weight, factor), count in terms.items():
        if count and abs(weight) > residue:
            key = (float(f"{abs(weight):.12g}"), factor)
            merged[key] = merged.get(key, 0) + count
    return LinearNoise(scale, tuple(sorted((w, f, n) for (w, f), n in merged.items())))


@lru_cache(maxsize=1 << 14)
def _half_width(law: LinearNoise, confidence: float) -> float:
    miss = 1 - confidence
    if len(law.terms) == 1:  # all alike: the sum of plain noises, stretched
        weight, factor, count = law.terms[0]
        return weight * DiscreteLaplaceSum(law.scale * factor, count).half_width(confidence)
    if _chance_of_any(law) <= miss:
        return 0.0
    if miss < RARE:
        return _chernoff(law, miss)
    return _by_series(law, miss) if law.exact else _by_normal_limit(law, miss)


def _chance_of_any(law: LinearNoise) -> float:
    """A bound on the chance that any noise is not zero."""
    _, rates, counts = _rates(law)
    return float(counts @ (2 / (1 + np.exp(np.minimum(rates, 700.0)))))


def _rates(law: LinearNoise) -> tuple[Floats, Floats, Floats]:
    """The weights, the rates 1/scale and the counts of the terms."""
    weights = np.array([weight for weight, _, _ in law.terms], np.float64)
    rates = np.array([float(1 / (law.scale * factor)) for _, factor, _ in law.terms], np.float64)
    return weights, rates, np.array([count for _, _, count in law.terms], np.float64)


def _by_normal_limit(law: LinearNoise, miss: float) -> float:
    """The normal limit with its fourth and sixth cumulants (Cornish and Fisher), and half a step.

    One noise of variance v has the sixth cumulant v + 15v² + 30v³. A lattice as coarse as the
    largest weight would miss half a step more often than its smooth limit.
    """
    z, k4, spread = _normal_quantile(miss), law.kurtosis, law._spread()
    sixth = math.fsum(n * w**6 * v * (1 + 15 * v + 30 * v**2) for w, n, v in spread)
    quantile = (
        z
        + k4 * (z**3 - 3 * z) / 24
        + sixth / law.variance**3 * (z**5 - 10 * z**3 + 15 * z) / 720
        - k4**2 * (3 * z**5 - 24 * z**3 + 29 * z) / 384
    )
    return math.sqrt(law.variance) * quantile + max(weight for weight, _, _ in spread) / 2


def _normal_quantile(miss: float) -> float:
    from statistics import NormalDist  # only here: it brings in `random` and `decimal`

    return -NormalDist().inv_cdf(miss / 2)


def _by_series(law: LinearNoise, miss: float) -> float:
    """Invert P[|X + jitter| ≤ t] = t/R + Σ 2/(πk)·φ(πk/R)·sin(πkt/R), on a span of ±R.

    The jitter is the sum of m uniform ones, which end the series the sooner the more there are:
    m = log(1/lost) is best. What lies beyond the span would seem to lie inside, so all that may be
    lost is taken off the chance of missing first.
    """
    lost = _LOST * miss
    reach = _chernoff(law, lost)
    jitter = max(_FINE * math.sqrt(law.variance) * _normal_quantile(miss), reach / _MOST_STEPS)
    parts = max(2, round(-math.log(lost)))
    reach += jitter
    corner = parts * reach / (math.pi * jitter)  # |sinc| ≤ corner/k
    length = math.ceil(corner * (parts * lost) ** (-1 / parts))
    k = np.arange(length)
    smooth = np.sinc(k / (math.pi * corner)) ** parts
    series = 2 / (math.pi * np.maximum(k, 1)) * _characteristic(law, math.pi / reach, length)
    # All t of a grid at once: sin(πkj/n) comes round again at k + 2n.
    n = 1 << math.ceil(math.log2(8 * reach / jitter))
    folded = np.zeros(-(-length // (2 * n)) * 2 * n)
    folded[1:length] = (series * smooth)[1:]
    sines = -np.fft.rfft(folded.reshape(-1, 2 * n).sum(axis=0)).imag
    missed = 1 - np.arange(n + 1) / n - sines
    covering = np.flatnonzero(missed > miss - 2 * lost)[-1] + 1
    return float(covering * reach / n + jitter)


def _characteristic(law: LinearNoise, step: float, length: int) -> Floats:
    """E[cos(tX)] at t = 0, step, 2·step, …: the product of 1/(1 + 2v·sin²(wt/2)), v the variances.

    Sines at k = a·side + b come from those at a·side and at b, and logarithms are taken once for
    all terms of one count.
    """
    side = math.isqrt(length - 1) + 1
    fine, coarse = np.arange(side), side * np.arange(-(-length // side))
    products: dict[int, Floats] = {}
    with np.errstate(over="ignore"):
        for weight, count, v in law._spread():
            angle = weight * step / 2
            high = np.stack([np.sin(angle * coarse), np.cos(angle * coarse)], axis=1)
            sines = high @ np.stack([np.cos(angle * fine), np.sin(angle * fine)])
            sines *= sines
            sines *= 2 * v
            sines += 1
            if count in products:
                sines *= products[count]
            products[count] = sines
        exponent = sum(count * np.log(product) for count, product in products.items())
    phi: Floats = np.exp(-np.asarray(exponent)).reshape(-1)[:length]
    return phi


def _chernoff(law: LinearNoise, miss: float) -> float:
    """The smallest t that 2·exp(−θt)·E[exp(θX)] ≤ miss proves, over a few θ."""
    weights, rates, counts = _rates(law)
    theta = np.linspace(0.02, 0.98, 49) * (rates / weights).min()
    tilt = np.multiply.outer(theta, weights)
    # E[exp(xN)] = (1−α)² / ((1−αeˣ)(1−αe⁻ˣ)), without cancellation at any scale
    log_moments = (
        2 * np.log(-np.expm1(-rates))
        - np.log(-np.expm1(tilt - rates))
        - np.log(-np.expm1(-tilt - rates))
    ) @ counts
    return float(((log_moments + math.log(2 / miss)) / theta).min())


def _over(one: float, other: float) -> float:
    return one / other if other else 0.0
