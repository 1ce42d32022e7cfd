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
    def log_moments(x: Floats, rates: Floats | float) -> Floats:
        """log E[exp(xN)] = −log(1 − 2v·sinh²(x/2)), without cancellation or overflow."""
        size = np.abs(x)
        root = np.exp((size - rates) / 2) * np.expm1(-size) / np.expm1(-np.asarray(rates))
        return np.asarray(-np.log1p(-np.square(root)))

    def decay(self, squares: Floats) -> Floats:
        """−log E[cos(tN)], by the squares sin²(t/2)."""
        return self.decays(squares, self.variance)

    @staticmethod
    def decays(squares: Floats, variances: Floats | float) -> Floats:
        """−log E[cos(tN)] = log(1 + 2v·sin²(t/2)), by the squares sin²(t/2): it grows with them."""
        return np.asarray(np.log1p(2 * variances * squares))


KnownNoise = DiscreteLaplace
"""Any noise whose law is known: the union of the classes above."""
