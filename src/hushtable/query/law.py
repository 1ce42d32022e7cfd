"""The law of the noise in an answer, and the error bars that follow from it.

The sum S of k discrete Laplace noises of scale s, α = exp(−1/s), is the difference of two negative
binomial variables. Its tail is a sum of positive terms: for every n ≥ 0

    P[S > n] = P[I + B ≤ k − 1] = P[F > n + I],    I ~ NegativeBinomial(k, 1/(1+α)) (failures)
                                                   B ~ Binomial(n + k, 1 − α),  F = n + k − B

with I independent of B. (Write P[S = n] as a ₂F₁, apply Pfaff's transformation, which ends after k
positive terms, and sum the geometric tails.) Nothing cancels, so the tail is found to a relative
error near 10⁻¹², however small it is and whatever the scale; there is no grid to choose.

Long sums are inverted from their moment generating function instead, on a line through the saddle
point. What the trapezoid rule adds there is positive, so that it can only widen an interval.
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
"""Sums of up to this many noises have their tail added up term by term."""

SADDLE_VARIANCE = 4096.0
"""Longer sums are inverted at the saddle point if their variance is at least this."""

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
class DiscreteLaplaceSum:
    """The sum of independent discrete Laplace noises, each P[x] ∝ exp(−|x|/scale) on the integers.

    Half widths are exact: the smallest integer that covers, rounding outwards where a tail lies
    within about 10⁻¹² (10⁻⁹ for thousands of terms) of the asked one. Beyond 2⁵² a half width is
    minimal to within its last bits.
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

    def half_width(self, confidence: float) -> float:
        """The smallest t with P[|noise| ≤ t] ≥ confidence."""
        return self.reach(1 - checked_confidence(confidence))

    def reach(self, miss: float) -> float:
        """The smallest t with P[|noise| > t] ≤ miss."""
        return _reach(self.scale, self.terms, miss)


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
    miss = (1 - checked_confidence(confidence)) / max(rows, 1)
    each = 1 - miss
    each = each if 1 - each <= miss else math.nextafter(each, 1)  # rounded upwards
    if each == 1:
        raise QueryError(f"{rows:,} intervals cannot all hold so surely; ask for less confidence")
    return each


@lru_cache(maxsize=4096)
def _reach(scale: Fraction, terms: int, miss: float) -> float:
    """Choose the way to the half width: closed form, sum of the tail, or inversion."""
    rate = float(1 / scale)
    if terms == 0 or miss >= 1:
        return 0.0
    if terms == 1:
        return _one_term(rate, miss)
    variance = terms * _term_variance(rate)
    start = int(math.sqrt(variance)) + 1
    if terms <= EXACT_TERMS:
        tail, rounding = _log_tail_by_successes, 1e-13 * (10 + terms)
    elif variance < SADDLE_VARIANCE:
        tail, rounding = _log_tail_by_failures, 1e-9
    else:
        tail, rounding = _log_tail_by_saddle, 1e-10
    return _smallest(lambda n: tail(n, rate, terms), math.log(miss / 2) - rounding, start)


def _term_variance(rate: float) -> float:
    """The variance 2α/(1−α)² of one noise with α = exp(−rate), without cancellation."""
    return 2 * math.exp(-rate) / math.expm1(-rate) ** 2


def _one_term(rate: float, miss: float) -> float:
    """The half width of a single noise, from P[|X| > t] = 2α^(t+1)/(1+α)."""
    crossing = (math.log(2) - math.log1p(math.exp(-rate)) - math.log(miss)) / rate
    # A few ulps outwards: rounding may widen the interval but not narrow it.
    return float(max(0, math.ceil(crossing * (1 + 1e-15)) - 1))


def _smallest(log_tail: Callable[[int], float], target: float, start: int) -> float:
    """The smallest n ≥ 0 whose tail is the target at the most, by doubling and bisection."""
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


def _log_tail_by_saddle(n: int, rate: float, terms: int) -> float:
    """log P[S > n], or a little more, from E[exp(zS)] at z = c + iu, for long and wide sums.

    P[S > n]·exp(c·n) is a sum of Fourier coefficients; taken at N points of the circle it comes
    with P[S > n + jN]·exp(c·(n + jN)) for all j ≠ 0. These are positive, and e⁻³⁵ of it or less for
    N = n + 40σ and c ≥ 1/σ. Sizes fall along the line, so that what is left out at its end is at
    most the last one, where the size is e⁻⁴⁵/N of the first.
    """
    v = _term_variance(rate)
    sigma = math.sqrt(terms * v)
    c = min(max(n + 1, sigma) / sigma**2, rate / 2)
    points = math.ceil(n + 40 * sigma)
    end = min(1.2 * math.sqrt(2 * (45 + math.log(points))) / sigma, math.pi)
    u = 2 * math.pi / points * np.arange(math.ceil(end * points / (2 * math.pi)) + 1)
    # E[exp(zN)] = 1 / (1 − 2v·sinh²(z/2)), and sinh²(z/2) = (cosh z − 1)/2 without cancelling
    real = 2 * v * (math.sinh(c / 2) ** 2 * np.cos(u) - np.sin(u / 2) ** 2)
    turned = v * math.sinh(c) * np.sin(u)
    log_size = -terms / 2 * np.log1p(real**2 + turned**2 - 2 * real)
    angle = terms * np.arctan2(turned, 1 - real) - u * (n + 1)
    terms_of_sum = np.exp(log_size - log_size[0] + 1j * angle) / -np.expm1(-(c + 1j * u))
    whole = 2 * terms_of_sum.real.sum() - terms_of_sum[0].real + abs(terms_of_sum[-1]) * points
    return float(log_size[0] - c * (n + 1) + math.log(whole / points))


def wider_quantile(miss: float) -> float:
    """The half width of a normal or a Laplace law of variance 1, whichever is wider."""
    return max(normal_quantile(miss), -math.log(miss) / math.sqrt(2))


def normal_quantile(miss: float) -> float:
    """The half width of the normal law of variance 1."""
    from statistics import NormalDist  # only here: it brings in `random` and `decimal`

    return -NormalDist().inv_cdf(miss / 2)
