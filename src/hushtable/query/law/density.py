"""Densities of sums of noises on the integers, as logarithms, for any number of noises.

The inverse Fourier transform of the characteristic function is the density on the integers. Where a
sum is so wide that a table of all integers would be long, every h-th integer is tabulated: that
leaves out the frequencies beyond π/h, at which the characteristic function is nothing. A transform
is right to about 10⁻¹⁶ of the largest value, so that the far tails of its result are rounding; from
10⁻¹² on they are replaced by the slope they end with, that of the widest Laplace noise; without one
they would fall faster and faster, and go on with the last slope of the table.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hushtable.arrays import Floats
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.query.law.inversion import by_law, chernoff
from hushtable.query.law.noise_sum import NoiseSum

FLOOR = 1e-12
"""What is smaller than this part of the largest value is taken for rounding."""
FINE = 64
"""Tables have at least so many points to a standard deviation, or every integer."""
LONGEST = 2**18
"""No table has more points: where one noise is far wider than others, these hardly matter."""

_BEYOND = 1e-18  # the chance that a sum leaves its table
_TILTS = np.linspace(0.02, 0.98, 49)


@dataclass(frozen=True, eq=False)
class LogDensity:
    """The logarithm of a symmetric density: a table from zero on, and the slope of the tail."""

    step: int
    table: Floats
    slope: float

    def __call__(self, places: Floats) -> Floats:
        """At any places; between those of the table by a straight line."""
        away = np.abs(places) / self.step
        end = len(self.table) - 1
        low = np.minimum(away, end).astype(np.int64)
        above = np.minimum(low + 1, end)
        inside = self.table[low] + (self.table[above] - self.table[low]) * (
            np.minimum(away, end) - low
        )
        return np.asarray(inside - self.slope * self.step * np.maximum(away - end, 0.0))


def one_sided_reach(noise: NoiseSum, miss: float) -> float:
    """How far a sum goes on one side but for a chance of `miss`, or a little less far."""
    return chernoff(by_law(noise.terms), miss, _TILTS)


@lru_cache(maxsize=4096)
def log_density(noise: NoiseSum, step: int | None = None) -> LogDensity:
    """The density of a plain sum of one noise or more, by a step of its own or a given one."""
    slope = min((n.rate for _, n, _ in noise.terms if isinstance(n, DiscreteLaplace)), default=0.0)
    if slope and sum(count for _, _, count in noise.terms) == 1:  # (1−α)/(1+α)·α^|x|, a line
        return LogDensity(1, np.array([math.log(math.tanh(slope / 2))]), slope)
    reach = one_sided_reach(noise, _BEYOND)
    step = step or max(1, int(_grain(noise) / FINE), math.ceil(2 * reach / LONGEST))
    length = 1 << math.ceil(math.log2(2 * reach / step + 4))
    # sin²(t/2) at t = 2π·l/(length·step), l = 0 … length/2
    squares = np.sin(np.pi * np.arange(length // 2 + 1) / (length * step)) ** 2
    exponent = np.zeros(len(squares))
    for _, one, count in noise.terms:
        exponent += count * one.decay(squares)
    values = np.fft.irfft(np.exp(-exponent), length)[: length // 2] / step
    kept = int(np.argmax(values < FLOOR * values[0])) or len(values)
    logs = np.log(values[:kept])
    last = float(logs[-2] - logs[-1]) if kept > 1 else -math.log(FLOOR)
    return LogDensity(step, logs, slope or last / step)


def _grain(noise: NoiseSum) -> float:
    """What a table must be fine beside: the deviation, or the scale of a few noises, for a cusp."""
    few = [1 / one.rate for _, one, count in noise.terms if count < 8]
    return min([math.sqrt(noise.variance), *few])
