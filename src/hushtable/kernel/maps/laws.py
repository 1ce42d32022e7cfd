"""The laws of an empty place: how likely a rule keeps its noise, to 100 digits.

G. Cormode, C. Procopiuc, D. Srivastava, T. Tran. Differentially private summaries for sparse data.
ICDT 2012. The noise is discrete Laplace, P[v] = (1−α)/(1+α)·α^abs(v), α = exp(−1/scale).

| kept                                       | probability                                     |
|--------------------------------------------|-------------------------------------------------|
| v ≥ θ                                      | α^θ/(1+α)                                       |
| abs(v) ≥ θ                                 | 2α^θ/(1+α)                                      |
| of these with probability min(abs(v)/τ, 1) | 2α^θ·(θ(1−α) + α(1−α^(τ−θ))) / (τ(1−α²)), θ ≤ τ |

How exact: every step is correctly rounded to 150 digits. 1 − α loses at most 19 of them at scales
up to 2^61 and the bracket no more once again, so that 100 are right.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import lru_cache

# Room for exp(−10⁴) and far below; nothing that matters is smaller.
_CONTEXT = Context(prec=150, rounding=ROUND_HALF_EVEN, Emin=-(10**9), Emax=10**9)
_SMALLEST_EXPONENT = Fraction(10**4)
_SCALE_DIGITS = Context(prec=80, rounding=ROUND_HALF_EVEN)
_ONE = Decimal(1)

NEVER = Decimal(10) ** -60
"""A chance below this is no chance: over 2^62 places it would not add up to 2^-130."""


def power(scale: Fraction, exponent: int) -> Decimal:
    """α^exponent; zero where it is below 10^-4000."""
    rate = exponent / Fraction(scale)
    if rate > _SMALLEST_EXPONENT:
        return Decimal(0)
    return _CONTEXT.exp(_CONTEXT.divide(Decimal(-rate.numerator), Decimal(rate.denominator)))


@lru_cache(maxsize=1024)
def chance_of_filter(scale: Fraction, theta: int, *, two_sided: bool) -> Decimal:
    """The probability that an empty place passes the filter."""
    sides = Decimal(2 if two_sided else 1)
    passing = _CONTEXT.multiply(sides, power(scale, theta))
    return _CONTEXT.divide(passing, _CONTEXT.add(_ONE, power(scale, 1)))


@lru_cache(maxsize=1024)
def chance_of_threshold(scale: Fraction, theta: int, tau: int) -> Decimal:
    """The probability that an empty place passes the two-sided filter and is sampled at tau."""
    if tau <= theta:
        return chance_of_filter(scale, theta, two_sided=True)
    c, alpha = _CONTEXT, power(scale, 1)
    missing = c.subtract(_ONE, alpha)
    ramp = c.multiply(alpha, c.subtract(_ONE, power(scale, tau - theta)))
    bracket = c.add(c.multiply(Decimal(theta), missing), ramp)
    below = c.multiply(Decimal(tau), c.multiply(missing, c.add(_ONE, alpha)))
    return c.divide(c.multiply(Decimal(2), c.multiply(power(scale, theta), bracket)), below)


@lru_cache(maxsize=1024)
def chance_between(scale: Fraction, theta: int, tau: int, above: int) -> Decimal:
    """The probability of being sampled at tau, given not at the higher threshold `above`."""
    c, before = _CONTEXT, chance_of_threshold(scale, theta, above)
    gained = c.subtract(chance_of_threshold(scale, theta, tau), before)
    return c.divide(gained, c.subtract(_ONE, before))


@lru_cache(maxsize=1024)
def chance_of_head(scale: Fraction, theta: int, tau: int) -> Decimal:
    """The share of K = 0 in the law with weights θ, α, α², … α^(τ−θ) for K = 0, 1, 2, … τ−θ.

    Given kept, abs(v) is θ + K + a geometric variable: min(v, τ) for v ≥ θ counts the thresholds
    j = 1 … τ with j ≤ v, of which θ lie at θ or below, and each adds a geometric tail at max(j, θ).
    """
    c, alpha = _CONTEXT, power(scale, 1)
    ramp = c.multiply(alpha, c.subtract(_ONE, power(scale, tau - theta)))
    others = c.divide(ramp, c.subtract(_ONE, alpha))
    return c.divide(Decimal(theta), c.add(Decimal(theta), others))


@lru_cache(maxsize=1024)
def gap_scale(chance: Decimal) -> Fraction:
    """The scale S with exp(−1/S) = 1 − chance: gaps between chosen places are geometric with it.

    Rounded to 80 digits, which changes the chance by less than 10^-79 of itself.
    """
    c = _CONTEXT
    # Not `-x`: that would round to the 28 digits of Python's own context.
    return Fraction(_SCALE_DIGITS.divide(_ONE, c.minus(c.ln(c.subtract(_ONE, chance)))))
