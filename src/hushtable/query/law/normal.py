"""Quantiles of normal laws, and of laws that are close to one: for estimates, and to size a search.

Nothing here bounds anything: an interval that is a promise never rests on it.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats

EXPANDED = 5e-4
"""Rarer misses on one side than this are extrapolated, not expanded."""


@lru_cache(maxsize=64)
def wider_quantile(miss: float) -> float:
    """The half width of a normal or a Laplace law of variance 1, whichever is wider."""
    return max(normal_quantile(miss), -math.log(miss) / math.sqrt(2))


def normal_quantile(miss: float) -> float:
    """The half width of the normal law of variance 1."""
    from statistics import NormalDist  # only here: it brings in `random` and `decimal`

    return -NormalDist().inv_cdf(miss / 2)


def cornish_fisher(cumulants: Floats, confidence: float) -> tuple[Floats, Floats]:
    """The ends of intervals of sums that are close to normal, by skewness and kurtosis.

    They lie half a step further out than those of a smooth law, for counts are whole, and 2 % of
    the way, for the terms that are left out. The expansion says nothing about rare misses. But the
    law is log-concave, as all its parts are: the logarithm of what lies beyond a point falls at
    least as fast further out as it does between two points before.
    """
    variance = cumulants[1]
    half = (1 - confidence) / 2
    further = 0.5 * (variance > 0)
    low, high = (sign * _quantile(cumulants, half, sign) for sign in (-1.0, 1.0))
    return cumulants[0] + low - further, cumulants[0] + high + further


def _quantile(cumulants: Floats, half: float, sign: float) -> Floats:
    """How far from the mean so little lies beyond, below it or above it."""
    if half >= EXPANDED:
        return _expanded(cumulants, half, sign)
    near, far = (_expanded(cumulants, chance, sign) for chance in (5 * EXPANDED, EXPANDED))
    return np.asarray(far + (far - near) * math.log(EXPANDED / half) / math.log(5))


def _expanded(cumulants: Floats, half: float, sign: float) -> Floats:
    """The expansion of Cornish and Fisher, and a little further."""
    z = normal_quantile(2 * half)
    skew, excess = shape(cumulants)
    bent = (
        z
        + sign * skew * (z**2 - 1) / 6
        + excess * (z**3 - 3 * z) / 24
        - skew**2 * (2 * z**3 - 5 * z) / 36
    )
    return np.asarray(np.sqrt(np.maximum(cumulants[1], 0.0)) * (bent + 0.02 * z))


def shape(cumulants: Floats) -> tuple[Floats, Floats]:
    """Skewness and excess kurtosis."""
    variance = np.where(cumulants[1] > 1e-100, cumulants[1], np.inf)  # none without noise
    return cumulants[2] / variance**1.5, cumulants[3] / variance**2


def nearly_normal(cumulants: Floats) -> NDArray[np.bool_]:
    """Whether skewness and kurtosis are so small that their expansion may be used."""
    skew, excess = shape(cumulants)
    return np.asarray((np.abs(skew) <= 0.3) & (np.abs(excess) <= 0.3))
