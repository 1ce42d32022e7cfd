"""Densities of sums of discrete Laplace noises, as logarithms, for any number of noises.

The characteristic function of such a sum is known, φ(t) = Π (1 + 2v·sin²(t/2))^−n over its terms of
variance v, and its inverse Fourier transform is the density on the integers. Where a sum is so wide
that a table of all integers would be long, every h-th integer is tabulated: that leaves out the
frequencies beyond π/h, at which φ is nothing. A transform is right to about 10⁻¹⁶ of the largest
value, so that the far tails of its result are rounding; from 10⁻¹² on they are replaced by the
slope they end with, that of the widest noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats
from hushtable.query.law import DiscreteLaplaceSum

FLOOR = 1e-12
"""What is smaller than this part of the largest value is taken for rounding."""
FINE = 64
"""Tables have at least so many points to a standard deviation, or every integer."""
LONGEST = 2**18
"""No table has more points: where one noise is far wider than others, these hardly matter."""

_BEYOND = 1e-18  # the chance that a sum leaves its table


@dataclass(frozen=True, slots=True)
class NoiseSum:
    """A sum of independent discrete Laplace noises: so many of one scale, and so many of another.

    An observation of a count errs by one: some cells, and perhaps the count of their region.
    """

    scale: Fraction
    terms: int
    other_scale: Fraction = Fraction(1)
    other_terms: int = 0

    @property
    def parts(self) -> list[tuple[Fraction, int]]:
        """Scales and numbers, of the terms that there are."""
        both = ((self.scale, self.terms), (self.other_scale, self.other_terms))
        return [(scale, terms) for scale, terms in both if terms]

    @property
    def variance(self) -> float:
        return math.fsum(DiscreteLaplaceSum(scale, terms).variance for scale, terms in self.parts)

    @property
    def widest(self) -> float:
        """The largest scale: far tails fall by a factor e over so much."""
        return max((float(scale) for scale, _ in self.parts), default=0.0)

    def reach(self, miss: float) -> float:
        """How far the sum goes on one side but for a chance of `miss` (Chernoff)."""
        rates = np.array([float(1 / scale) for scale, _ in self.parts])
        counts = np.array([terms for _, terms in self.parts], np.float64)
        tilt = np.linspace(0.02, 0.98, 49)[:, None] * rates.min()
        log_moments = (
            2 * np.log(-np.expm1(-rates))
            - np.log(-np.expm1(tilt - rates))
            - np.log(-np.expm1(-tilt - rates))
        ) @ counts
        return float(((log_moments - math.log(miss)) / tilt[:, 0]).min())


def sums_by(which: NDArray[Any], weights: NDArray[Any], size: int) -> Floats:
    """The sum of the weights of each of `size` kinds."""
    return np.asarray(np.bincount(which, weights, size), np.float64)


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


@lru_cache(maxsize=4096)
def log_density(noise: NoiseSum, step: int | None = None) -> LogDensity:
    """The density of a sum of one noise or more, by a step of its own or a given one."""
    slope = 1 / noise.widest
    if sum(terms for _, terms in noise.parts) == 1:  # (1−α)/(1+α)·α^|x|, a straight line
        return LogDensity(1, np.array([math.log(math.tanh(slope / 2))]), slope)
    reach = noise.reach(_BEYOND)
    step = step or max(1, int(_grain(noise) / FINE), math.ceil(2 * reach / LONGEST))
    length = 1 << math.ceil(math.log2(2 * reach / step + 4))
    # φ at 2π·l/(length·step), l = 0 … length/2
    sines = np.sin(np.pi * np.arange(length // 2 + 1) / (length * step)) ** 2
    exponent = np.zeros(length // 2 + 1)
    for scale, terms in noise.parts:
        exponent += terms * np.log1p(2 * DiscreteLaplaceSum(scale, 1).variance * sines)
    values = np.fft.irfft(np.exp(-exponent), length)[: length // 2] / step
    kept = int(np.argmax(values < FLOOR * values[0])) or len(values)
    return LogDensity(step, np.log(values[:kept]), slope)


def _grain(noise: NoiseSum) -> float:
    """What a table must be fine beside: the deviation, or the scale of a few noises, for a cusp."""
    few = [float(scale) for scale, terms in noise.parts if terms < 8]
    return min([math.sqrt(noise.variance), *few])


# ── sums that are close to normal ────────────────────────────────────────────────────────────────


def cumulants(scale: Fraction) -> tuple[float, float]:
    """The second and the fourth cumulant of one noise: v, and 3v² + v."""
    variance = DiscreteLaplaceSum(scale, 1).variance
    return variance, 3 * variance**2 + variance


@lru_cache(maxsize=1024)
def quadrature(noise: NoiseSum, nodes: int) -> tuple[Floats, Floats]:
    """Gauss's nodes and weights for the density of a sum: polynomials of degree 2·nodes − 1 exact.

    The recurrence of the orthogonal polynomials comes from the table (Stieltjes). The density is
    symmetric, so that nodes come in pairs ±x: the singular values of every other step of the
    recurrence, which make a matrix of half the size.
    """
    table = log_density(noise)
    ends = math.ceil(noise.reach(FLOOR) / table.step)
    x = table.step * np.arange(-ends, ends + 1.0)
    mass = np.exp(table(x))
    before, now = np.zeros(len(x)), np.sqrt(mass / mass.sum())
    steps = [0.0]
    for _ in range(min(2 * (nodes // 2), len(x) - 1) - 1):
        following = x * now - steps[-1] * before
        steps.append(float(np.linalg.norm(following)))
        if steps[-1] <= 1e-9 * ends * table.step:
            steps.pop()
            break
        before, now = now, following / steps[-1]
    odd = steps[1::2]
    if not odd:  # no noise at all
        return np.zeros(1), np.ones(1)
    even = np.array(steps[2::2])[: len(odd) - 1]
    left, values, _ = np.linalg.svd(np.diag(odd) + np.diag(even, -1))
    weights = left[0] ** 2 / 2
    return np.concatenate([-values, values]), np.concatenate([weights, weights])
