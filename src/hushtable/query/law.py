"""The law of the noise in an answer, and the error bars that follow from it.

The sum S of k discrete Laplace noises of scale s, α = exp(−1/s), is the difference of two negative
binomial variables. Its tail is a sum of positive terms: for every n ≥ 0

    P[S > n] = P[I + B ≤ k − 1] = P[F > n + I],    I ~ NegativeBinomial(k, 1/(1+α)) (failures)
                                                   B ~ Binomial(n + k, 1 − α),  F = n + k − B

with I independent of B. (Write P[S = n] as a ₂F₁, apply Pfaff's transformation, which ends after k
positive terms, and sum the geometric tails.) Nothing cancels, so the tail is found to a relative
error near 10⁻¹², however small it is and whatever the scale; there is no grid to choose.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import QueryError

EXACT_TERMS = 4096
"""Sums of up to this many noises always use the exact law."""

LIMIT_VARIANCE = 4096.0
"""Longer sums use the normal limit only when their variance is at least this."""

Floats = NDArray[np.float64]


@runtime_checkable
class NoiseLaw(Protocol):
    """What an answer has to know about its noise, which is symmetric about zero."""

    @property
    def variance(self) -> float:
        """The variance of the noise."""
        ...

    @property
    def estimate(self) -> bool:
        """Whether intervals are estimates, which may hold less often than they say.

        Where this is false an interval is a promise: over releases, the truth lies in it at least
        as often as its confidence says.
        """
        ...

    def half_width(self, confidence: float) -> float:
        """The smallest t with P[|noise| ≤ t] ≥ confidence."""
        ...


@runtime_checkable
class SkewedLaw(NoiseLaw, Protocol):
    """A law with a longer side; its half width is that of the longer one."""

    def margins(self, confidence: float) -> tuple[float, float]:
        """How far an interval of this confidence reaches below the value, and how far above."""
        ...


def margins_of(law: NoiseLaw, confidence: float) -> tuple[float, float]:
    """How far an interval reaches below the value, and how far above."""
    if isinstance(law, SkewedLaw):
        return law.margins(checked_confidence(confidence))
    half = law.half_width(confidence)
    return half, half


@dataclass(frozen=True, slots=True)
class EstimatedNoise:
    """An error of which only an estimate of the variance is known."""

    variance: float

    @property
    def estimate(self) -> bool:
        return True

    def half_width(self, confidence: float) -> float:
        """The half width under a normal law."""
        return normal_half_width(self.variance, 0.0, 1 - checked_confidence(confidence))


@dataclass(frozen=True, slots=True)
class DiscreteLaplaceSum:
    """The sum of independent discrete Laplace noises, each P[x] ∝ exp(−|x|/scale) on the integers.

    Half widths are exact up to `EXACT_TERMS` terms, and for longer sums of variance below
    `LIMIT_VARIANCE`: the smallest integer that covers, rounding outwards where a tail lies within
    about 10⁻¹² (10⁻⁹ for thousands of terms) of the asked one. Other sums use the normal limit with
    its kurtosis term, rounded up to an integer. Their excess kurtosis is below 10⁻³, and wherever
    the tests compare them with the exact law the chance of missing exceeds the asked one by less
    than a millionth of itself. Beyond 2⁵² a half width is minimal to within its last bits.
    """

    scale: Fraction
    terms: int

    def __post_init__(self) -> None:
        if self.scale <= 0 or self.terms < 0:
            raise ValueError("a noise needs a positive scale and a number of terms of at least 0")

    @property
    def variance(self) -> float:
        """terms · 2α/(1−α)², the variance of the sum."""
        return self.terms * _term_variance(float(1 / self.scale))

    @property
    def estimate(self) -> bool:
        return False

    @property
    def exact(self) -> bool:
        """Whether half widths come from the exact law rather than from the normal limit."""
        return self.terms <= EXACT_TERMS or self.variance < LIMIT_VARIANCE

    def half_width(self, confidence: float) -> float:
        """The smallest t with P[|noise| ≤ t] ≥ confidence."""
        return _half_width(self.scale, self.terms, checked_confidence(confidence))


def checked_confidence(confidence: float) -> float:
    """The confidence as a float strictly between 0 and 1, or a `QueryError`."""
    try:
        value = float(confidence)
    except (TypeError, ValueError):
        value = math.nan
    if not 0 < value < 1:
        raise QueryError(f"confidence must lie strictly between 0 and 1, not {confidence!s:.40}")
    return value


def simultaneous(confidence: float, rows: int) -> float:
    """The confidence each of many intervals needs for all to hold at once (Bonferroni).

    Valid however the rows depend on one another.
    """
    return checked_confidence(1 - (1 - checked_confidence(confidence)) / max(rows, 1))


@lru_cache(maxsize=4096)
def _half_width(scale: Fraction, terms: int, confidence: float) -> float:
    """Choose the way to the half width: closed form, exact tail, or the normal limit."""
    rate = float(1 / scale)
    miss = 1 - confidence
    if terms == 0:
        return 0.0
    if terms == 1:
        return _one_term(rate, miss)
    variance = terms * _term_variance(rate)
    start = int(math.sqrt(variance)) + 1
    if terms <= EXACT_TERMS:
        return _smallest(lambda n: _log_tail_by_successes(n, rate, terms), miss, start, terms)
    if variance < LIMIT_VARIANCE:
        return _smallest(lambda n: _log_tail_by_failures(n, rate, terms), miss, start, terms)
    return _normal_limit(variance, 3 / terms + 1 / variance, miss)


def _term_variance(rate: float) -> float:
    """The variance 2α/(1−α)² of one noise with α = exp(−rate), without cancellation."""
    return 2 * math.exp(-rate) / math.expm1(-rate) ** 2


def _one_term(rate: float, miss: float) -> float:
    """The half width of a single noise, from P[|X| > t] = 2α^(t+1)/(1+α)."""
    crossing = (math.log(2) - math.log1p(math.exp(-rate)) - math.log(miss)) / rate
    # A few ulps outwards: rounding may widen the interval but not narrow it.
    return float(max(0, math.ceil(crossing * (1 + 1e-15)) - 1))


def _smallest(log_tail: Callable[[int], float], miss: float, start: int, terms: int) -> float:
    """The smallest n ≥ 0 with 2·P[S > n] ≤ miss, by doubling and bisection."""
    target = math.log(miss / 2) - 1e-13 * (10 + terms)  # the rounding of a sum of logs, outwards
    low, high = -1, start
    while log_tail(high) > target:
        low, high = high, 2 * high
    while high - low > max(1, high >> 52):
        middle = (low + high) // 2
        if log_tail(middle) > target:
            low = middle
        else:
            high = middle
    return float(high)


def _log_tail_by_successes(n: int, rate: float, terms: int) -> float:
    """log P[S > n] as P[I + B ≤ terms − 1]: `terms` positive summands, for any scale."""
    log_i = _log_waiting(terms, rate, terms - 1)
    j = np.arange(terms, dtype=np.float64)
    log_success = math.log(-math.expm1(-rate))
    log_b = _log_binomials(n + terms, terms - 1) + j * log_success - rate * (n + terms - j)
    log_below = np.logaddexp.accumulate(log_b)  # log P[B ≤ j]
    return float(np.logaddexp.reduce(log_i + log_below[::-1]))


def _log_tail_by_failures(n: int, rate: float, terms: int) -> float:
    """log P[S > n] as P[F > n + I], for very many terms of which almost all are zero.

    I and F have means near terms·α, at most a few thousand here; 20 standard deviations and 200
    further leave out far less than any confidence can notice.
    """
    mean = (n + terms) * math.exp(-rate)
    last = min(int(mean + 20 * math.sqrt(mean) + 200), terms - 1)
    log_i = _log_waiting(terms, rate, last)
    f = np.arange(n + 2 + last, dtype=np.float64)
    log_success = math.log1p(-math.exp(-rate))
    log_f = _log_binomials(n + terms, n + 1 + last) - rate * f + (n + terms - f) * log_success
    log_above = np.logaddexp.accumulate(log_f[:n:-1])[::-1]  # log P[F > n + i]
    return float(np.logaddexp.reduce(log_i + log_above))


def _log_waiting(terms: int, rate: float, last: int) -> Floats:
    """log P[I = i] for i = 0 … last: failures before `terms` successes of chance 1/(1+α)."""
    i = np.arange(1, last + 1, dtype=np.float64)
    log_odds = math.log1p(math.exp(-rate))
    steps = np.log((terms - 1 + i) / i) - rate - log_odds
    return np.concatenate(([0.0], np.cumsum(steps))) - terms * log_odds


def _log_binomials(trials: int, last: int) -> Floats:
    """log C(trials, j) for j = 0 … last ≤ trials."""
    j = np.arange(1, last + 1, dtype=np.float64)
    return np.concatenate(([0.0], np.cumsum(np.log((trials + 1 - j) / j))))


def _normal_limit(variance: float, kurtosis: float, miss: float) -> float:
    """The normal limit on the integers: |S| ≤ t there is |S| < t + ½ for the continuous limit."""
    return float(max(0, math.ceil(normal_half_width(variance, kurtosis, miss) - 0.5)))


def normal_half_width(variance: float, kurtosis: float, miss: float) -> float:
    """The normal limit, with the Cornish–Fisher term of the excess kurtosis."""
    from statistics import NormalDist  # only here: it brings in `random` and `decimal`

    z = -NormalDist().inv_cdf(miss / 2)
    return math.sqrt(variance) * (z + kurtosis * (z**3 - 3 * z) / 24)
