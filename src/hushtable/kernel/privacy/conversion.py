"""What ρ means as (ε, δ): exact bounds both ways, the samplers' distance η included.

A chance P(S) ≤ e^ε·Q(S) + δ for every set S of answers is what (ε, δ)-differential privacy
promises. After C. Canonne, G. Kamath, T. Steinke (The discrete Gaussian for differential privacy.
NeurIPS 2020), ρ promises it with

    δ(ε) = inf over α > 1 of e^((α−1)(αρ−ε))/(α−1) · (1 − 1/α)^α.

*Proof.* With Z = ln P/Q, no S needs more than δ = E[max(0, 1 − e^(ε−Z))], the mean over P. Of all
x ≥ 0, (1 − x)·x^(α−1) is largest at x = 1 − 1/α, where it is (1 − 1/α)^α/(α − 1). So 1 − x is at
most that, divided by x^(α−1); with x = e^(ε−Z) and E[e^((α−1)Z)] ≤ e^((α−1)αρ), the mean is the
formula.

It holds at *every* α. So a good α is looked for roughly, and what is stated is evaluated at this α
with each step rounded outwards. Logarithms turn it into ln δ = (α−1)(αρ − ε + ln(1−1/α)) − ln α,
which is solved for ε and for ρ. As a function of α this is convex, with the derivative

    (2α−1)ρ − ε + ln(1−1/α).

Where δ is given and ε or ρ follows from it at α, the sign of this is the sign of

    (α−1)²ρ + ln α − ln(1/δ).

Both are below zero before the best α and above zero after it, so halving finds it. (A ρ that
follows may be below zero: then α < 1/δ, and the sign is right too.)

Everything is decimal arithmetic in software, with logarithms and exponentials that are right to the
last digit: no machine finds another number.

Answers within a total-variation distance η of their ideal law on both tables add (1 + e^ε)·η to δ:
P'(S) ≤ P(S) + η ≤ e^ε·Q(S) + δ + η ≤ e^ε·(Q'(S) + η) + δ + η.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import (
    ROUND_CEILING,
    ROUND_FLOOR,
    ROUND_HALF_EVEN,
    Context,
    Decimal,
    DivisionByZero,
    InvalidOperation,
    localcontext,
)
from fractions import Fraction

from hushtable.errors import OptionError
from hushtable.kernel.privacy.loss import EpsilonLike, format_epsilon, parse_epsilon
from hushtable.kernel.privacy.measures import DIGITS


def _rounding(direction: str, digits: int) -> Context:
    """Arithmetic in which what is too large is infinite, and too small the smallest number."""
    traps = [InvalidOperation, DivisionByZero]
    return Context(prec=digits, rounding=direction, Emin=-999, Emax=9999, traps=traps)


UPWARDS = _rounding(ROUND_CEILING, 100)
DOWNWARDS = _rounding(ROUND_FLOOR, 100)
_ROUGHLY = _rounding(ROUND_HALF_EVEN, 30)

# α − 1 is looked for between these, by so many halvings of the ratio of its bounds. A relative
# error of x in it costs about x² of the result.
_LEAST, _MOST = Decimal("1e-60"), Decimal("1e300")
_HALVINGS = 48

_SHOWN = 4
_USUAL = (Fraction(1, 10**6), Fraction(1, 10**9))


def parse_delta(value: EpsilonLike) -> Fraction:
    """Read δ as ε is read; it is a chance, and below one."""
    delta = parse_epsilon(value, what="delta")
    if delta >= 1:
        raise OptionError("delta must be below one, such as 1e-9")
    return delta


def format_delta(delta: Fraction) -> str:
    """Write δ exactly, with a power of ten where it is small.

    >>> format_delta(Fraction(1, 10**9)), format_delta(Fraction(1, 40))
    ('1e-9', '0.025')
    """
    text = format_epsilon(delta)
    return f"{Decimal(text):e}" if delta < Fraction(1, 1000) and "/" not in text else text


def epsilon_above(rho: Fraction, delta: Fraction) -> Fraction:
    """The ε that ρ promises for a δ, rounded upwards."""
    _check(rho, delta)
    with localcontext(_ROUGHLY):
        share, slack = _decimal(rho), -_decimal(delta).ln()
        beta = _turning(lambda beta: share * beta**2 + (1 + beta).ln() - slack)
    return _shortened(max(_epsilon_at(beta, rho, delta), Decimal(0)), ROUND_CEILING)


def delta_above(rho: Fraction, epsilon: Fraction, *, eta: Fraction) -> Fraction:
    """The δ that ρ promises for an ε, drawn within η of the ideal law, rounded upwards."""
    if rho <= 0 or epsilon < 0 or eta < 0:
        raise OptionError("rho must be above zero, epsilon and eta not below")
    with localcontext(_ROUGHLY):
        share, bound = _decimal(rho), _decimal(epsilon)
        beta = _turning(lambda beta: (2 * beta + 1) * share - bound + (beta / (1 + beta)).ln())
    with localcontext(UPWARDS):
        total = _delta_at(beta, rho, epsilon) + _delta_of_eta(epsilon, eta)
    return _shortened(min(total, Decimal(1)), ROUND_CEILING)


def rho_below(epsilon: Fraction, delta: Fraction, *, eta: Fraction) -> Fraction:
    """The largest ρ that promises (ε, δ) of answers within η of their ideal law, rounded down."""
    _check(epsilon, delta)
    with localcontext(DOWNWARDS):
        left = _decimal(delta) - _delta_of_eta(epsilon, eta)
    if left <= 0:
        raise OptionError(
            "delta is smaller than what the samplers' precision costs at this epsilon: raise delta"
        )
    delta = Fraction(left)
    with localcontext(_ROUGHLY):
        bound, logarithm = _decimal(epsilon), _decimal(delta).ln()

        def past(beta: Decimal) -> Decimal:
            order, least = 1 + beta, (1 + beta).ln() + logarithm
            rho = (bound + least / beta - (beta / order).ln()) / order
            return rho * beta**2 + least

        beta = _turning(past)
    return _shortened(_rho_at(beta, epsilon, delta), ROUND_FLOOR)


@dataclass(frozen=True)
class Guarantee:
    """ρ and an (ε, δ) that follows from it, each rounded upwards to a few digits for people."""

    rho: Fraction
    epsilon: Fraction
    delta: Fraction


def guarantees(rho: Fraction, *, eta: Fraction, declared: Fraction | None) -> tuple[Guarantee, ...]:
    """What ρ means for the declared δ, if there is one, and for δ of 10⁻⁶ and 10⁻⁹.

    δ includes what the distance η of the samplers adds. Where that alone is more than the δ of a
    row, the row has a larger δ.
    """
    wanted = (*(() if declared is None else (declared,)), *_USUAL)
    return tuple(_guarantee(rho, delta, eta) for delta in dict.fromkeys(wanted))


def _guarantee(rho: Fraction, delta: Fraction, eta: Fraction) -> Guarantee:
    epsilon = _shown(epsilon_above(rho, delta))
    total = delta_above(rho, epsilon, eta=eta)
    return Guarantee(_shown(rho), epsilon, delta if total <= delta else _shown(total))


def _check(amount: Fraction, delta: Fraction) -> None:
    if amount <= 0 or not 0 < delta < 1:
        raise OptionError("rho and epsilon must be above zero, and delta between zero and one")


def _turning(rising: Callable[[Decimal], Decimal]) -> Decimal:
    """About where a function turns from below zero to above."""
    low, high = _LEAST, _MOST
    for _ in range(_HALVINGS):
        middle = (low * high).sqrt()
        low, high = (middle, high) if rising(middle) < 0 else (low, middle)
    return high


def _epsilon_at(beta: Decimal, rho: Fraction, delta: Fraction) -> Decimal:
    """αρ + ln(1−1/α) + (ln(1/δ) − ln α)/(α−1), or more."""
    low, high, ratio = _order(beta)
    with localcontext(DOWNWARDS):
        most = -(ln_below(low) + ln_below(_decimal(delta)))
    with localcontext(UPWARDS):
        return high * _decimal(rho) + ratio + most / beta


def _delta_at(beta: Decimal, rho: Fraction, epsilon: Fraction) -> Decimal:
    """e^((α−1)(αρ − ε + ln(1−1/α)) − ln α), or more."""
    low, high, ratio = _order(beta)
    with localcontext(DOWNWARDS):
        least = _decimal(epsilon)
    with localcontext(UPWARDS):
        return exp_above(beta * (high * _decimal(rho) - least + ratio) - ln_below(low))


def _rho_at(beta: Decimal, epsilon: Fraction, delta: Fraction) -> Decimal:
    """(ε + (ln δ + ln α)/(α−1) − ln(1−1/α))/α, or less, if that is above zero."""
    low, high, ratio = _order(beta)
    with localcontext(DOWNWARDS):
        least = ln_below(low) + ln_below(_decimal(delta))
        return (_decimal(epsilon) + least / beta - ratio) / high


def _delta_of_eta(epsilon: Fraction, eta: Fraction) -> Decimal:
    """(1 + e^ε)·η, or more."""
    with localcontext(UPWARDS):
        return (1 + exp_above(_decimal(epsilon))) * _decimal(eta) if eta else Decimal(0)


def _order(beta: Decimal) -> tuple[Decimal, Decimal, Decimal]:
    """α = 1 + β or less, α or more, and ln(1−1/α) or more."""
    with localcontext(DOWNWARDS):
        low = 1 + beta
    with localcontext(UPWARDS):
        return low, 1 + beta, ln_above(beta / low)


def _decimal(number: Fraction) -> Decimal:
    """A fraction, rounded as the context of the caller rounds."""
    return Decimal(number.numerator) / Decimal(number.denominator)


# Decimal rounds these to the nearest number, whatever its context: the next is beyond the truth.


def ln_above(number: Decimal) -> Decimal:
    """The logarithm of a number, or more."""
    return UPWARDS.next_plus(UPWARDS.ln(number))


def ln_below(number: Decimal) -> Decimal:
    """The logarithm of a number, or less."""
    return DOWNWARDS.next_minus(DOWNWARDS.ln(number))


def exp_above(number: Decimal) -> Decimal:
    """e to the power of a number, or more."""
    return UPWARDS.next_plus(UPWARDS.exp(number))


def _shortened(number: Decimal, direction: str) -> Fraction:
    return Fraction(_rounding(direction, DIGITS).plus(number))


def _shown(number: Fraction) -> Fraction:
    with localcontext(_rounding(ROUND_CEILING, _SHOWN)):
        return Fraction(_decimal(number))
