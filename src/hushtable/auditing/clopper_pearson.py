"""How small, or large, a chance may be when an event was seen k times in n runs.

Clopper and Pearson 1934: the smallest chance is the one at which k hits or more have probability α,
the largest the one at which k or fewer have. They hold for every true chance and every n.

>>> round(smallest_chance(10, 10, 0.025), 4), round(largest_chance(0, 10, 0.025), 4)
(0.6915, 0.3085)
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_STEPS = 60


def smallest_chance(hits: int, runs: int, alpha: float) -> float:
    """A chance that the true one is below with probability α at the most."""
    if hits == 0:
        return 0.0
    counts = np.arange(hits, runs + 1)
    low, high = 0.0, 1.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if _probability(counts, runs, middle) < alpha:
            low = middle
        else:
            high = middle
    return low  # the end at which the tail is still lighter than α: rounded to the safe side


def largest_chance(hits: int, runs: int, alpha: float) -> float:
    """A chance that the true one is above with probability α at the most."""
    return 1 - smallest_chance(runs - hits, runs, alpha)


def _probability(counts: NDArray[np.int64], runs: int, chance: float) -> float:
    """The probability that a binomial variable is one of these counts."""
    factorials = _log_factorials(runs)
    ways = factorials[runs] - factorials[counts] - factorials[runs - counts]
    return float(np.exp(ways + counts * np.log(chance) + (runs - counts) * np.log1p(-chance)).sum())


_KNOWN: dict[int, NDArray[np.float64]] = {}


def _log_factorials(runs: int) -> NDArray[np.float64]:
    """ln 0!, ln 1!, … ln n!"""
    if runs not in _KNOWN:
        _KNOWN.clear()
        _KNOWN[runs] = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, runs + 1)))])
    return _KNOWN[runs]
