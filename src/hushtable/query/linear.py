"""The law of a weighted sum of independent discrete Laplace noises of several scales.

Transforms answer a count by weights on noisy coefficients. The noise X is then Σ w·N with known
weights and scales, so its characteristic function is known, and with it P[|X| ≤ t] as a sine
series. X may sit on a lattice, whose series hardly converges; a small independent jitter makes the
law smooth, and the half width is widened by as far as the jitter reaches, so that it still covers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.query.law import DiscreteLaplaceSum, checked_confidence, normal_quantile

Term = tuple[float, Fraction, int]
"""The size of a weight, the factor of the noise's scale, and how many such noises there are."""

Floats = NDArray[np.float64]

# Rarer misses are bounded (Chernoff), not computed: rounding would show in the series.
RARE = 1e-9

# How much of the chance of missing may be lost to the end of the series, and to its finite span.
_LOST = 1e-3
# The jitter reaches this part of a normal half width, or a larger one to keep the series short.
_FINE = 1 / 500
_MOST_STEPS = 2048
# Parts of a series that add up to less than this part of what may be lost are not computed.
_NOTHING = 1e-3
_STRETCHES = 64
# Numbers that are worked on at a time.
_AT_ONCE = 2**17


_TILTS = np.concatenate([np.geomspace(1e-6, 0.02, 40), np.linspace(0.03, 0.99, 65)])


@dataclass(frozen=True, slots=True)
class LinearNoise:
    """Σ weight · noise, over independent discrete Laplace noises of scale `scale` · factor.

    Half widths cover at least as asked, and are about half a percent wider than the smallest that
    do; where noise is rare but large, by up to 0.2 % of how far it reaches. Those of misses rarer
    than 10⁻⁹ are wider by what Chernoff's bound gives away.
    """

    scale: Fraction
    terms: tuple[Term, ...]

    @property
    def variance(self) -> float:
        """Σ count · weight² · variance of one noise."""
        if len(self.terms) == 1:  # to the last digit that of the plain sum
            weight, factor, count = self.terms[0]
            return weight**2 * DiscreteLaplaceSum(self.scale * factor, count).variance
        terms = _columns(self)
        return math.fsum(terms.counts * terms.weights**2 * terms.variances)

    @property
    def kurtosis(self) -> float:
        """The excess kurtosis: one discrete Laplace noise of variance v has 3 + 1/v."""
        w, _, n, v = _columns(self)
        return _over(math.fsum(n * w**4 * v * (1 + 3 * v)), self.variance**2)

    @property
    def estimate(self) -> bool:
        return False

    def half_width(self, confidence: float) -> float:
        """A t, close to the smallest, with P[|noise| ≤ t] ≥ confidence."""
        return self.reach(1 - checked_confidence(confidence))

    def reach(self, miss: float) -> float:
        """A t, close to the smallest, with P[|noise| > t] ≤ miss."""
        return _reach(self, miss)


class _Columns(NamedTuple):
    """The terms of a law, column by column."""

    weights: Floats
    rates: Floats
    counts: Floats
    variances: Floats
    """Of one noise each."""

    @property
    def variance(self) -> float:
        return float(self.counts @ (self.weights**2 * self.variances))


def _columns(law: LinearNoise) -> _Columns:
    factors = [factor.numerator / factor.denominator for _, factor, _ in law.terms]
    rates = float(1 / law.scale) / np.array(factors, np.float64)
    return _Columns(
        np.array([weight for weight, _, _ in law.terms], np.float64),
        rates,
        np.array([count for _, _, count in law.terms], np.float64),
        2 * np.exp(-rates) / np.expm1(-rates) ** 2,
    )


def linear_noise(scale: Fraction, terms: dict[tuple[float, Fraction], int]) -> LinearNoise:
    """The law of given terms; weights that differ by rounding only are taken for the largest.

    A weight of a few rounding errors of the largest is one that cancelled, and is left out.
    """
    counts: dict[tuple[float, Fraction], int] = {}
    largest: dict[tuple[float, Fraction], float] = {}
    residue = 1e-14 * max((abs(weight) for weight, _ in terms), default=0.0)
    for (weight, factor), count in terms.items():
        if count and abs(weight) > residue:
            key = (float(f"{abs(weight):.12g}"), factor)
            counts[key] = counts.get(key, 0) + count
            largest[key] = max(largest.get(key, 0.0), abs(weight))
    return LinearNoise(scale, tuple(sorted((largest[k], k[1], n) for k, n in counts.items())))


@lru_cache(maxsize=1 << 14)
def _reach(law: LinearNoise, miss: float) -> float:
    if len(law.terms) == 1:  # all alike: the sum of plain noises, stretched
        weight, factor, count = law.terms[0]
        # A third of a whole number lies at the very end: rounding must not leave it outside.
        room = 1.0 if (weight * 2**20).is_integer() else 1 + 1e-12
        return weight * DiscreteLaplaceSum(law.scale * factor, count).reach(miss) * room
    terms = _columns(law)
    if _chance_of_any(terms) <= miss:
        return 0.0
    return _chernoff(terms, miss) if miss < RARE else _by_series(terms, miss)


def _chance_of_any(terms: _Columns) -> float:
    """A bound on the chance that any noise is not zero."""
    return float(terms.counts @ (2 / (1 + np.exp(np.minimum(terms.rates, 700.0)))))


def _by_series(terms: _Columns, miss: float) -> float:
    """Invert P[|X + jitter| ≤ t] = t/R + Σ 2/(πk)·φ(πk/R)·sin(πkt/R), on a span of ±R.

    The jitter is the sum of m uniform ones, which end the series the sooner the more there are:
    m = log(1/lost) is best. What lies beyond the span would seem to lie inside, so all that may be
    lost is taken off the chance of missing first.
    """
    lost = _LOST * miss
    reach = _chernoff(terms, lost)
    jitter = max(_FINE * math.sqrt(terms.variance) * normal_quantile(miss), reach / _MOST_STEPS)
    parts = max(2, round(-math.log(lost)))
    reach += jitter
    corner = parts * reach / (math.pi * jitter)  # |sinc| ≤ corner/k
    length = math.ceil(corner * (parts * lost) ** (-1 / parts))
    k = np.arange(length)
    smooth = np.sinc(k / (math.pi * corner)) ** parts
    phi = _characteristic(terms, math.pi / reach, length, _NOTHING * lost)
    series = 2 / (math.pi * np.maximum(k, 1)) * phi
    # All t of a grid at once: sin(πkj/n) comes round again at k + 2n.
    n = 1 << math.ceil(math.log2(8 * reach / jitter))
    folded = np.zeros(-(-length // (2 * n)) * 2 * n)
    folded[1:length] = (series * smooth)[1:]
    sines = -np.fft.rfft(folded.reshape(-1, 2 * n).sum(axis=0)).imag
    missed = 1 - np.arange(n + 1) / n - sines
    covering = np.flatnonzero(missed > miss - 2.1 * lost)[-1] + 1
    return float(covering * reach / n + jitter)


def _characteristic(terms: _Columns, step: float, length: int, nothing: float) -> Floats:
    """E[cos(tX)] at t = 0, step, 2·step, …: the product of 1/(1 + 2v·sin²(wt/2)), v the variances.

    Stretches that add up to less than `nothing` in a series of 2/(πk) are left at 0.
    """
    phi = np.zeros(length)
    phi[0] = 1.0
    for start, stop in _stretches(terms, step, length, nothing):
        phi[start:stop] = _stretch(terms, step, start, stop)
    return phi


def _stretches(
    terms: _Columns, step: float, length: int, nothing: float
) -> Iterator[tuple[int, int]]:
    """Where the characteristic function may matter, from start to stop.

    On a stretch sin² is at least the smaller of its ends, or 0 where a multiple of π lies between.
    """
    ends = np.unique(np.append(np.geomspace(1, length, _STRETCHES).astype(np.int64), length))
    angles = np.multiply.outer(terms.weights * (step / 2), ends)
    squares, turns = np.sin(angles) ** 2, np.floor(angles / math.pi)
    least = np.minimum(squares[:, 1:], squares[:, :-1])
    least[turns[:, 1:] != turns[:, :-1]] = 0.0
    log_bound = -terms.counts @ np.log1p(2 * terms.variances[:, None] * least)
    # The numbers 2/(πk) of a series add up to less than 1 and the logarithm of its length.
    matters = log_bound > math.log(nothing / (1 + math.log(length)))
    changes = np.flatnonzero(np.diff(np.concatenate([[False], matters, [False]])))
    for first, last in changes.reshape(-1, 2):
        yield int(ends[first]), int(ends[last])


def _stretch(terms: _Columns, step: float, start: int, stop: int) -> Floats:
    """The characteristic function from start to stop.

    Sines at k = a·side + b come from those at a·side and at b, many terms at a time.
    """
    side = math.isqrt(stop - start - 1) + 1
    fine, coarse = np.arange(side), start + side * np.arange(-(-(stop - start) // side))
    exponent = np.zeros((len(coarse), side))
    at_once = max(1, _AT_ONCE // exponent.size)
    for first in range(0, len(terms.weights), at_once):
        some = slice(first, first + at_once)
        low = np.multiply.outer(terms.weights[some] * (step / 2), fine)
        high = np.multiply.outer(terms.weights[some] * (step / 2), coarse)
        sines = np.stack([np.sin(high), np.cos(high)], axis=2) @ np.stack(
            [np.cos(low), np.sin(low)], axis=1
        )
        sines *= sines
        sines *= 2 * terms.variances[some, None, None]
        exponent += np.tensordot(terms.counts[some], np.log1p(sines, out=sines), 1)
    return np.asarray(np.exp(-exponent).reshape(-1)[: stop - start])


def _chernoff(terms: _Columns, miss: float) -> float:
    """The smallest t that 2·exp(−θt)·E[exp(θX)] ≤ miss proves, over many θ."""
    weights, rates, counts, _ = terms
    theta = _TILTS * (rates / weights).min()
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
