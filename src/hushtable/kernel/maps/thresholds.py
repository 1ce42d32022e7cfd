"""The thresholds at which a priority sample draws its candidates, from public figures alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache

from hushtable.kernel.maps import laws
from hushtable.kernel.maps.rules import LARGEST, Priority


@lru_cache(maxsize=256)
def first_threshold(places: int, scale: Fraction, theta: int, size: int) -> int:
    """A τ above which the empty places alone give more than `size` candidates, but not many more.

    Six standard deviations more than needed, so that a second round is hardly ever drawn. Where
    there are not so many places, θ: all that pass the filter.
    """
    wanted = size + 6 * math.isqrt(size) + 30
    least = smallest(
        lambda tau: places * laws.chance_of_threshold(scale, theta, tau) < wanted, start=theta
    )
    return max(least - 1, theta)


def descending_thresholds(places: int, scale: Fraction, rule: Priority) -> Iterator[int]:
    """The thresholds τ at which priority sampling draws candidates, until it has enough of them.

    From the first one down by halves; at θ or below nothing is left out.
    """
    tau = rule.first or first_threshold(places, scale, rule.theta, rule.size)
    while tau > rule.theta:
        yield tau
        tau = max(tau // 2, rule.theta)
    yield tau


def smallest(fits: Callable[[int], bool], start: int = 1) -> int:
    """The smallest whole number from `start` on that fits, where all larger ones do too."""
    low, step = start - 1, 1
    while not fits(low + step):
        low, step = low + step, 2 * step
        if low > LARGEST:
            return LARGEST
    high = low + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high
