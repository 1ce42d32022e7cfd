"""The laws of the noise that is added to integers: a class for each, under its name in manifests.

Both sides use these values: the curator says by them what it has drawn, and readers say by them
how far answers may be off. Another kind of noise is another class with the same operations.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from hushtable.arrays import Floats


@dataclass(frozen=True, order=True)
class DiscreteLaplace:
    """Discrete Laplace noise N: P[N = x] ∝ α^|x| on the integers, α = exp(−1/scale)."""

    scale: Fraction

    law: ClassVar[str] = "discrete-laplace"

    def __post_init__(self) -> None:
        if self.scale <= 0:
            raise ValueError("a noise needs a positive scale")

    @cached_property
    def _hash(self) -> int:
        return hash(self.scale)

    def __hash__(self) -> int:  # once: laws of many terms are looked up, and fractions hash slowly
        return self._hash

    def times(self, factor: Fraction) -> DiscreteLaplace:
        """Noise of the same law whose scale is so many times as large."""
        return DiscreteLaplace(self.scale * factor)

    def to_dict(self) -> dict[str, str]:
        """How a manifest describes it."""
        return {"law": self.law, "scale": str(self.scale)}

    @cached_property
    def rate(self) -> float:
        """1/scale; E[exp(xN)] is finite for sizes of x below it."""
        return float(1 / self.scale)

    @property
    def breadth(self) -> float:
        """What decays follow from: the variance."""
        return self.variance

    @cached_property
    def variance(self) -> float:
        """2α/(1−α)², without cancellation."""
        return 2 * math.exp(-self.rate) / math.expm1(-self.rate) ** 2

    @property
    def fourth_cumulant(self) -> float:
        """3v² + v, for a variance v."""
        return 3 * self.variance**2 + self.variance

    @cached_property
    def chance_of_any(self) -> float:
        """P[N ≠ 0] = 2α/(1+α)."""
        return 2 / (1 + math.exp(min(self.rate, 700.0)))

    def reach(self, miss: float) -> float:
        """The smallest t with P[|N| > t] ≤ miss, from P[|N| > t] = 2α^(t+1)/(1+α)."""
        crossing = math.log(2) - math.log1p(math.exp(-self.rate)) - math.log(miss)
        # A few ulps outwards: rounding may widen an interval but not narrow it.
        return float(max(0, math.ceil(crossing / self.rate * (1 + 1e-15)) - 1))

    def log_moment(self, x: Floats) -> Floats:
        """log E[exp(xN)]."""
        return self.log_moments(x, self.rate)

    @staticmethod
    def largest_tilt(weights: Floats, counts: Floats, rates: Floats, miss: float) -> float:
        """No larger θ is of use to bound where a sum is exceeded: E[exp(θS)] would be infinite."""
        return float((rates / weights).min())

    @staticmethod
    def log_moments(x: Floats, rates: Floats | float) -> Floats:
        """log E[exp(xN)] = −log(1 − 2v·sinh²(x/2)), without cancellation or overflow."""
        size = np.abs(x)
        root = np.exp((size - rates) / 2) * np.expm1(-size) / np.expm1(-np.asarray(rates))
        return np.asarray(-np.log1p(-np.square(root)))

    def decay(self, squares: Floats) -> Floats:
        """−log E[cos(tN)], by the squares sin²(t/2)."""
        return self.decays(squares, self.breadth)

    @staticmethod
    def decays(squares: Floats, breadths: Floats | float) -> Floats:
        """−log E[cos(tN)] = log(1 + 2v·sin²(t/2)), by the squares sin²(t/2): it grows with them."""
        return np.asarray(np.log1p(2 * breadths * squares))


@dataclass(frozen=True, order=True)
class DiscreteGaussian:
    """Discrete Gaussian noise N: P[N = x] ∝ f(x) = exp(−x²/2σ²) on the integers.

    By Poisson's formula the sum of f(n − μ) over the integers is σ·√(2π)·(1 + 2Σ q^(k²)·cos 2πkμ),
    q = exp(−2π²σ²), which is largest for μ = 0. So E[exp(xN)], which is exp(x²σ²/2) times that sum
    for μ = xσ² over that for μ = 0, is exp(x²σ²/2) at most: the noise is sub-Gaussian, and its
    variance is at most σ². From σ = 2 on q is below 10⁻³⁴, and either is the same in doubles.
    """

    sigma_squared: Fraction

    law: ClassVar[str] = "discrete-gaussian"

    def __post_init__(self) -> None:
        if self.sigma_squared <= 0:
            raise ValueError("a noise needs a positive σ²")

    @cached_property
    def _hash(self) -> int:
        return hash(self.sigma_squared)

    def __hash__(self) -> int:
        return self._hash

    def times(self, factor: Fraction) -> DiscreteGaussian:
        """Noise of the same law whose σ is so many times as large."""
        return DiscreteGaussian(self.sigma_squared * factor**2)

    def to_dict(self) -> dict[str, str]:
        """How a manifest describes it."""
        return {"law": self.law, "sigma_squared": str(self.sigma_squared)}

    @cached_property
    def sigma(self) -> float:
        """σ, which is a little more than the deviation where that is small."""
        return math.sqrt(self.sigma_squared)

    @cached_property
    def rate(self) -> float:
        """1/σ."""
        return 1 / self.sigma

    @cached_property
    def breadth(self) -> float:
        """What decays follow from: σ²."""
        return float(self.sigma_squared)

    @cached_property
    def variance(self) -> float:
        """Σ n²·P[N = n]."""
        return self._moment(2) if self.breadth < _SMOOTH else self.breadth

    @cached_property
    def fourth_cumulant(self) -> float:
        """E[N⁴] − 3v², for a variance v: nothing from σ = 2 on."""
        if self.breadth >= _SMOOTH:
            return 0.0
        return self._moment(4) - 3 * self.variance**2

    def _moment(self, power: int) -> float:
        places, sides = self._side
        return float(2 * (places**power @ sides) / (1 + 2 * sides.sum()))

    @cached_property
    def chance_of_any(self) -> float:
        """P[N ≠ 0]."""
        if self.breadth >= _SMOOTH:
            return 1 - 1 / (math.sqrt(2 * math.pi) * self.sigma)
        beside = 2 * float(self._side[1].sum())
        return beside / (1 + beside)

    @property
    def _side(self) -> tuple[Floats, Floats]:
        """1, 2, … and f of them, as far as doubles go."""
        places = np.arange(1.0, math.ceil(40 * self.sigma) + 2)
        return places, np.exp(-np.square(places) / (2 * self.breadth))

    @cached_property
    def _tails(self) -> Floats:
        """P[|N| > t] for t = 0, 1, …, rising: the farthest first."""
        above = np.cumsum(self._side[1][::-1])
        return np.asarray(above / (above[-1] + 0.5))

    def reach(self, miss: float) -> float:
        """The smallest t with P[|N| > t] ≤ miss; for a large σ, at most one more.

        P[|N| > t] ≤ erfc((t + ½)/(σ·√2)): cells of one about the integers have no less of the
        integral of f where f is convex, beyond σ, and no more where it is concave. So this holds by
        the cells beyond t if t + ½ ≥ σ, and otherwise by those up to t.
        """
        least = miss * (1 - 1e-12)  # rounding may widen an interval but not narrow it
        if miss >= 1:
            return 0.0
        if self.sigma <= _LISTED:
            return float(len(self._tails) - np.searchsorted(self._tails, least, side="right"))
        low, high, spread = -1, math.ceil(40 * self.sigma), math.sqrt(2) * self.sigma
        while high - low > max(1, high >> 52):
            middle = (low + high) // 2
            if math.erfc((middle + 0.5) / spread) <= least:
                high = middle
            else:
                low = middle
        return float(high)

    def log_moment(self, x: Floats) -> Floats:
        """log E[exp(xN)], or a little more."""
        return self.log_moments(x, self.rate)

    @staticmethod
    def largest_tilt(weights: Floats, counts: Floats, rates: Floats, miss: float) -> float:
        """No larger θ is of use to bound where a sum is exceeded: by Chernoff for a normal law of
        these noises alone the best is half of it, and other noises make it less.
        """
        spread = math.sqrt(float(counts @ np.square(weights / rates)))
        return 2 * math.sqrt(-2 * math.log(miss)) / spread

    @staticmethod
    def log_moments(x: Floats, rates: Floats | float) -> Floats:
        """log E[exp(xN)], or a little more: x²σ²/2."""
        return np.asarray(np.square(x / rates) / 2)

    def decay(self, squares: Floats) -> Floats:
        """−log E[cos(tN)], by the squares sin²(t/2)."""
        return self.decays(squares, np.asarray(self.breadth))

    @staticmethod
    def decays(squares: Floats, breadths: Floats) -> Floats:
        """−log E[cos(tN)] by the squares sin²(t/2), for an array of σ²: it grows with them.

        E[cos(tN)] is the sum of exp(−σ²(t + 2πk)²/2) over all k, divided by that for t = 0; for a
        σ² below 1 it is found from the probabilities, without cancellation.
        """
        angles = 2 * np.arcsin(np.sqrt(np.minimum(squares, 1.0)))
        wide = breadths >= 1
        if wide.all():
            return _decays_of_wide(angles, breadths)
        narrow = _decays_of_narrow(angles, np.minimum(breadths, 1.0))
        return np.where(wide, _decays_of_wide(angles, np.maximum(breadths, 1.0)), narrow)


# Of a larger σ², sums over the integers are integrals; up to this σ, tails are added up.
_SMOOTH = 4.0
_LISTED = 64.0


def _decays_of_wide(angles: Floats, breadths: Floats) -> Floats:
    """By the terms of −1, 0 and 1: others are below 10⁻¹⁷ of these."""
    around = 2 * math.pi * breadths
    beside = np.exp(-around * (math.pi - angles)) + np.exp(-around * (math.pi + angles))
    whole = np.log1p(2 * np.exp(-around * math.pi))
    return np.asarray(breadths * np.square(angles) / 2 - np.log1p(beside) + whole)


def _decays_of_narrow(angles: Floats, breadths: Floats) -> Floats:
    """1 − E[cos(tN)] = 4Σ P[N = n]·sin²(nt/2): beyond nine there is nothing."""
    changed, beside = np.zeros(np.broadcast(angles, breadths).shape), np.zeros(breadths.shape)
    for n in range(1, 10):
        weight = np.exp(-(n**2) / (2 * breadths))
        changed += weight * np.square(np.sin(n * angles / 2))
        beside += weight
    return np.asarray(-np.log1p(-4 * changed / (1 + 2 * beside)))


KnownNoise = DiscreteLaplace | DiscreteGaussian
"""Any noise whose law is known: the union of the classes above."""
