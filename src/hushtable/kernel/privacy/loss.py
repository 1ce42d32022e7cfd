"""Privacy loss as exact numbers: ε as a Fraction, the neighbour relation, the sampler's η.

The guarantee of a release, in words: ε-differential privacy under the stated neighbour relation and
privacy unit, plus δ ≤ (1 + e^ε)·η for the finite precision of the samplers, where η bounds the
total-variation distance from the ideal law of all the draws by which neighbours can be told apart.

η is known before a question is answered, from public numbers and the question. Where questions
follow from earlier answers, so does the sum of their η. The guarantee is then about every set of
releases that state this η or a smaller one: in them nothing changes if the curator refuses all
questions that would lead beyond it, and what that curator publishes is within η of the ideal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, TypeVar, get_args

from hushtable.errors import OptionError

if TYPE_CHECKING:
    from hushtable.kernel.privacy.noises import DiscreteLaplace

Neighbours = Literal["add-remove", "replace-one"]
NEIGHBOURS: tuple[Neighbours, ...] = get_args(Neighbours)

# All draws of a release together are this close to the ideal law, or it is refused. What a release
# states is far less: it adds up its own draws.
ETA_LIMIT = Fraction(1, 2**60)

# Stated in steps of 2⁵, from 2⁻¹⁰⁰ on: what a mechanism asked after seeing answers hardly shows.
_SMALLEST_ETA = 100
_ETA_STEP = 5

# More digits than this is no budget but a way to make exact arithmetic slow. Ratios get more room:
# they come from dividing a budget between many calls.
_DIGITS = 40
_RATIO_DIGITS = 200

# Noise of a larger scale would not fit 64-bit integers with certainty.
LARGEST_SCALE = 2**55

Change = TypeVar("Change", int, Fraction)

EpsilonLike = str | int | float | Decimal | Fraction


def parse_epsilon(value: EpsilonLike, *, what: str = "epsilon") -> Fraction:
    """Read ε from its decimal text, exactly; a float counts as what it prints.

    >>> parse_epsilon("0.1") + parse_epsilon(0.2) == parse_epsilon("0.3")
    True
    """
    if isinstance(value, bool):
        raise OptionError(f"{what} must be a positive decimal number with a point, such as 0.5")
    if isinstance(value, int | Fraction):
        epsilon = _checked_ratio(Fraction(value), what)
    else:
        # float.__repr__, because subclasses (NumPy's) print their type's name as well.
        text = float.__repr__(value) if isinstance(value, float) else str(value)
        epsilon = _parse_decimal(text, what)
    if epsilon <= 0:
        raise OptionError(f"{what} must be above zero, such as 0.5")
    return epsilon


def _checked_ratio(ratio: Fraction, what: str) -> Fraction:
    if max(abs(ratio.numerator), ratio.denominator) >= 10**_RATIO_DIGITS:
        raise OptionError(f"{what} must have at most {_RATIO_DIGITS} digits above and below")
    return ratio


def _parse_decimal(text: str, what: str) -> Fraction:
    try:
        # Decimal also reads 1_0 and the digits of every script; a budget should not need them.
        number = Decimal(text.strip() if text.isascii() and "_" not in text else "junk")
    except InvalidOperation:
        raise OptionError(
            f"{what} must be a positive decimal number with a point, such as 0.5"
        ) from None
    if not number.is_finite():
        raise OptionError(f"{what} must be finite")
    _, digits, exponent = number.as_tuple()
    if len(digits) > _DIGITS or abs(int(exponent)) > _DIGITS:
        raise OptionError(f"{what} must have at most {_DIGITS} digits")
    return Fraction(number)


def format_epsilon(epsilon: Fraction) -> str:
    """Write ε as decimal text where that is exact and readable, else as a ratio.

    >>> format_epsilon(Fraction(3, 10)), format_epsilon(Fraction(2)), format_epsilon(Fraction(1, 3))
    ('0.3', '2', '1/3')
    """
    rest, twos, fives = epsilon.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    places = max(twos, fives)
    scaled = abs(epsilon.numerator) * 10**places // epsilon.denominator
    if rest != 1 or places > _DIGITS or scaled >= 10**_DIGITS:
        return f"{epsilon.numerator}/{epsilon.denominator}"
    digits = str(scaled).rjust(places + 1, "0")
    sign = "-" if epsilon < 0 else ""
    return sign + (digits if places == 0 else f"{digits[:-places]}.{digits[-places:]}")


def parse_stored_epsilon(text: str) -> Fraction:
    """Read back what `format_epsilon` wrote: a decimal or a ratio."""
    numerator, slash, denominator = text.partition("/")
    short = len(text) <= 2 * _RATIO_DIGITS + 1
    ratio = short and slash and numerator.isdecimal() and denominator.isdecimal()
    if ratio and int(denominator) > 0:
        return parse_epsilon(Fraction(int(numerator), int(denominator)))
    return parse_epsilon(text)


def stated_eta(eta: Fraction) -> Fraction:
    """What a release says of its η: the first of 2⁻¹⁰⁰, 2⁻⁹⁵, 2⁻⁹⁰, … that is no smaller.

    >>> stated_eta(Fraction(3, 2**92)) == Fraction(1, 2**90)
    True
    """
    bits = _SMALLEST_ETA
    while eta > Fraction(1, 2**bits):
        bits -= _ETA_STEP
    return Fraction(1, 2**bits)


def format_eta(eta: Fraction) -> str:
    """Write a stated η as the power of two that it is.

    >>> format_eta(Fraction(1, 2**95))
    '2^-95'
    """
    return f"2^-{eta.denominator.bit_length() - 1}"


def check_scale(scale: Fraction) -> Fraction:
    """The scale, unless noise of it would not fit."""
    if scale > LARGEST_SCALE:
        raise OptionError("epsilon is so small that noise would not fit 64-bit integers")
    return scale


def check_variance(sigma_squared: Fraction) -> Fraction:
    """The variance, unless noise of it would not fit."""
    if sigma_squared > LARGEST_SCALE**2:
        raise OptionError("rho is so small that noise would not fit 64-bit integers")
    return sigma_squared


@dataclass(frozen=True)
class Exposure:
    """How much of the table one privacy unit can change: the relation and the rows a person has."""

    neighbours: Neighbours
    max_rows: int = 1

    def __post_init__(self) -> None:
        if self.neighbours not in NEIGHBOURS:
            raise OptionError("neighbours must be 'add-remove' or 'replace-one'")
        if self.max_rows < 1:
            raise OptionError("max_rows must be at least 1")

    def sensitivity(self, *, entering: Change, moving: Change) -> Change:
        """Turn what one row can change into what one person can change.

        `entering` bounds the change when a row appears or disappears, `moving` when a row changes
        into another. Under replace-one a person's rows pair up with the newcomer's; rows left over
        on either side (fewer rows, or rows that the schema drops) enter or leave, so each of the
        at most max_rows pairs costs the larger of the two.
        """
        return self.max_rows * self._of_row(entering, moving)

    def scale(self, epsilon: Fraction, *, entering: int, moving: int) -> Fraction:
        """What to divide a number by, so that one person's change of it costs ε."""
        return check_scale(self.sensitivity(entering=entering, moving=moving) / epsilon)

    def squared_sensitivity(self, *, entering: Fraction, moving: Fraction) -> Fraction:
        """Turn what one row can change in squares into what one person can.

        k rows may all change the same: k times as much, and k² times in squares. No more is
        possible. A person changes Σ mᵢaᵢ − Σ nᵢaᵢ, where aᵢ is what a row in the cell i changes,
        and Σ mᵢ and Σ nᵢ are at most k. The sum of squares is a convex function of the numbers mᵢ
        and nᵢ, so it is largest at a corner: where either k rows are in one cell, or none is.
        """
        return self.max_rows**2 * self._of_row(entering, moving)

    def _of_row(self, entering: Change, moving: Change) -> Change:
        return entering if self.neighbours == "add-remove" else max(entering, moving)

    def sigma_squared(self, rho: Fraction, *, entering: Fraction, moving: Fraction) -> Fraction:
        """The variance of Gaussian noise, over factor², that makes one person's change cost ρ."""
        squared = self.squared_sensitivity(entering=entering, moving=moving)
        return check_variance(squared / (2 * rho))

    def noise(self, epsilon: Fraction, *, entering: int, moving: int) -> DiscreteLaplace:
        """The noise that makes one person's change cost ε."""
        from hushtable.kernel.privacy.noises import DiscreteLaplace  # only here: it brings in NumPy

        return DiscreteLaplace(self.scale(epsilon, entering=entering, moving=moving))


@dataclass(frozen=True)
class Loss:
    """A privacy loss: ε, and the distance η of the samplers from the ideal law."""

    epsilon: Fraction
    eta: Fraction = Fraction(0)

    def __add__(self, other: Loss) -> Loss:
        return Loss(self.epsilon + other.epsilon, self.eta + other.eta)

    @property
    def delta(self) -> float:
        """An upper bound of (1 + e^ε)·η."""
        if not self.eta:
            return 0.0
        try:
            growth = Fraction(math.exp(float(self.epsilon)))
        except OverflowError:
            return 1.0
        # exp and its rounded argument are off by less than 2⁻⁴⁰, relatively.
        bound = (1 + growth) * self.eta * (1 + Fraction(1, 2**40))
        return min(1.0, math.nextafter(float(bound), math.inf)) if bound < 1 else 1.0
