"""The measures of privacy loss, and what each kind of question costs in them.

With P and Q the laws of all answers on two neighbouring tables, whichever is called P:

| measure  | amount | promises                                                          |
|----------|--------|-------------------------------------------------------------------|
| pure     | ε      | ln P/Q is at most ε everywhere                                    |
| zcdp     | ρ      | D_α(P‖Q) ≤ αρ for every α > 1, with Rényi's divergence            |
|          |        | D_α(P‖Q) = ln E[(P/Q)^(α−1)]/(α−1), the mean over P               |

The second is zero-concentrated differential privacy (M. Bun, T. Steinke. Concentrated differential
privacy: simplifications, extensions, and lower bounds. TCC 2016). Amounts of one measure add up;
those of two never do. `conversion` says what ρ means as (ε, δ).

**What a bounded ratio costs in ρ.** Let a = ln P/Q lie in an interval of width w, wherever that is.
K(t) = ln E[e^(ta)], the mean over Q, has K(0) = K(1) = 0, and K″(t) is the variance of a under some
law, at most w²/4. So K(t) − t(t − 1)·w²/8 is concave and 0 at 0 and at 1, hence not above 0 beyond
1, and D_α = K(α)/(α − 1) ≤ α·w²/8.

* A pure question of ε has a between −ε and ε: w = 2ε, and it costs ε²/2.
* A choice with P ∝ e^(ε·score/2Δ) has a = (change of score)·ε/2Δ + a constant, and the changes are
  between −Δ and Δ: w = ε, and it costs ε²/8.

**Discrete Gaussian noise** of variances σ²·factor² on integers costs Δ²/2σ², where Δ² is the
largest Σ (change/factor)² between neighbours (C. Canonne, G. Kamath, T. Steinke. The discrete
Gaussian for differential privacy. NeurIPS 2020): with f(x) = e^(−x²/2σ²), a change of d in one
number has Σ f(x − d)^α·f(x)^(1−α) = e^(α(α−1)d²/2σ²)·Σ f(x − αd), and the last sum, over all
integers x, is no larger than Σ f(x), by Poisson's formula. In the pure measure no σ is enough.
"""

from __future__ import annotations

import math
from enum import Enum
from fractions import Fraction

from hushtable.errors import OptionError
from hushtable.kernel.privacy.loss import EpsilonLike, parse_epsilon

DIGITS = 15
"""Numbers that have no end are given this many digits, in the direction that promises less."""


class Measure(Enum):
    """How the loss of a dataset is measured: by ε, or by ρ."""

    PURE = "pure"
    ZCDP = "zcdp"

    @classmethod
    def named(cls, name: object) -> Measure:
        """The measure of a name, or an OptionError."""
        found = [measure for measure in cls if isinstance(name, str) and measure.value == name]
        if not found:
            raise OptionError("the measure of privacy must be 'pure' or 'zcdp'")
        return found[0]

    @property
    def sign(self) -> str:
        """What people call an amount."""
        return "ε" if self is Measure.PURE else "ρ"

    @property
    def word(self) -> str:
        """The same where letters are plain: in options, settings and messages."""
        return "epsilon" if self is Measure.PURE else "rho"

    def parse(self, value: EpsilonLike) -> Fraction:
        """Read an amount as ε is read: exactly, above zero, of few digits."""
        return parse_epsilon(value, what=self.word)

    def price(self, epsilon: Fraction) -> Fraction:
        """What a question costs whose answers' chances differ by e^ε at most."""
        return epsilon if self is Measure.PURE else epsilon**2 / 2

    def price_of_choice(self, epsilon: Fraction) -> Fraction:
        """What a choice by the exponential mechanism costs, with chances ∝ e^(ε·score/2Δ)."""
        return epsilon if self is Measure.PURE else epsilon**2 / 8

    def price_of_gaussian(self, squared: Fraction | int, sigma_squared: Fraction) -> Fraction:
        """What Gaussian noise of variance σ² costs, where a person's change has the square Δ²."""
        self.check_gaussian()
        return squared / (2 * sigma_squared)

    def epsilon(self, amount: Fraction) -> Fraction:
        """The largest ε, as nearly as we write it, of a question that an amount pays for."""
        return amount if self is Measure.PURE else root_below(2 * amount)

    def epsilon_of_choice(self, amount: Fraction) -> Fraction:
        """The largest ε, as nearly as we write it, of a choice that an amount pays for."""
        return amount if self is Measure.PURE else root_below(8 * amount)

    def check_gaussian(self) -> None:
        """Refuse Gaussian noise where no amount pays for it."""
        if self is not Measure.ZCDP:
            raise OptionError("Gaussian noise needs a dataset with privacy = 'zcdp'")


def root_below(square: Fraction) -> Fraction:
    """√square: exactly where that is a fraction, otherwise its first digits.

    >>> root_below(Fraction(4, 9)), float(root_below(Fraction(2)))
    (Fraction(2, 3), 1.414213562373095)
    """
    top, bottom = square.numerator, square.denominator
    root = Fraction(math.isqrt(top), math.isqrt(bottom))
    if root**2 == square:
        return root
    # √square ≥ 10^((digits above − digits below − 1)/2): at least DIGITS digits of it are kept.
    places = DIGITS - 1 - (len(str(top)) - len(str(bottom)) - 1) // 2
    scaled = Fraction(10) ** (2 * places) * square
    return Fraction(math.isqrt(math.floor(scaled))) / Fraction(10) ** places
