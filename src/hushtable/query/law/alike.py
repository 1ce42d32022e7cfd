"""The law of a sum of discrete Laplace noises that are all alike: exact, however many there are.

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
from functools import lru_cache

import numpy as np

from hushtable.arrays import Floats
from hushtable.kernel.privacy.noises import DiscreteLaplace

EXACT_TERMS = 4096
"""Sums of up to this many noises have their tail added up term by term."""

SADDLE_VARIANCE = 4096.0
"""Longer sums are inverted at the saddle point if their variance is at least this."""


@lru_cache(maxsize=4096)
def reach_of_alike(noise: DiscreteLaplace, terms: int, miss: float) -> float:
    """The smallest t with P[|S| > t] ≤ miss: in closed form, by the sum of the tail, or inversion.

    It rounds outwards where a tail lies within about 10⁻¹² (10⁻⁹ for thousands of terms) of the
    asked one. Beyond 2⁵² it is minimal to within its last bits.
    """
    if terms == 0 or miss >= 1:
        return 0.0
    if terms == 1:
        return noise.reach(miss)
    variance = terms * noise.variance
    start = int(math.sqrt(variance)) + 1
    if terms <= EXACT_TERMS:
        tail, rounding = _log_tail_by_successes, 1e-13 * (10 + terms)
    elif variance < SADDLE_VARIANCE:
        tail, rounding = _log_tail_by_failures, 1e-9
    else:
        tail, rounding = _log_tail_by_saddle, 1e-10
    return _smallest(lambda n: tail(n, noise, terms), math.log(miss / 2) - rounding, start)


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


def _log_tail_by_successes(n: int, noise: DiscreteLaplace, terms: int) -> float:
    """log P[S > n] as P[I + B ≤ terms − 1]: `terms` positive summands, for any scale."""
    rate = noise.rate
    log_i = _log_waiting(terms, rate, terms - 1)
    j = np.arange(terms, dtype=np.float64)
    log_success = math.log(-math.expm1(-rate))
    log_b = _log_binomials(n + terms, terms - 1) + j * log_success - rate * (n + terms - j)
    log_below = np.logaddexp.accumulate(log_b)  # log P[B ≤ j]
    return float(np.logaddexp.reduce(log_i + log_below[::-1]))


def _log_tail_by_failures(n: int, noise: DiscreteLaplace, terms: int) -> float:
    """log P[S > n] as P[F > n + I], for very many terms of which almost all are zero.

    I and F have means near terms·α, at most a few thousand here; 20 standard deviations and 200
    further leave out far less than any confidence can notice.
    """
    rate = noise.rate
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


def _log_tail_by_saddle(n: int, noise: DiscreteLaplace, terms: int) -> float:
    """log P[S > n], or a little more, from E[exp(zS)] at z = c + iu, for long and wide sums.

    P[S > n]·exp(c·n) is a sum of Fourier coefficients; taken at N points of the circle it comes
    with P[S > n + jN]·exp(c·(n + jN)) for all j ≠ 0. These are positive, and e⁻³⁵ of it or less for
    N = n + 40σ and c ≥ 1/σ. Sizes fall along the line, so that what is left out at its end is at
    most the last one, where the size is e⁻⁴⁵/N of the first.
    """
    v = noise.variance
    sigma = math.sqrt(terms * v)
    c = min(max(n + 1, sigma) / sigma**2, noise.rate / 2)
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
