"""An answer with its error bar, and how numbers are shown to people."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import QueryError
from hushtable.query.law import NoiseLaw, checked_confidence, margins_of

ESTIMATE = "these intervals may hold less often than they say"
"""What it means that an interval is an estimate."""


# Half widths up to this, or this part of the value, are what is left of sums that have no error.
_NOTHING, _ROUNDING = 1e-11, 1e-11

Draws = frozenset[tuple[str, ...]] | None
"""The draws of the noise, where they are known to be unlike all others."""


class Source(NamedTuple):
    """Where an answer is from."""

    reader: Any
    """Who answered …"""
    asked: Any
    """… what: boxes of which the rows were counted, or another form of a question."""
    draws: Draws = None

    def drawn_as(self, draws: Draws) -> Source:
        """The same of known draws."""
        return Source(self.reader, self.asked, draws)

    def is_stranger_of(self, other: Source) -> bool:
        """Whether they surely have no noise in common.

        A release may be opened twice, copied or read in two ways, and not be another one.
        """
        if self.draws is None or other.draws is None:
            return False
        return self.draws.isdisjoint(other.draws)


@dataclass(frozen=True, slots=True)
class Answer:
    """A count, or another statistic, with the law of its error.

    Counts may be negative and are never clipped.
    """

    value: float | int
    law: NoiseLaw
    note: str = ""
    """Where the value and its error come from."""
    source: Source | None = field(default=None, repr=False, compare=False)
    """What was asked of whom, for arithmetic: answers of one release share their noise."""

    @property
    def stderr(self) -> float:
        """The standard error of the value."""
        return math.sqrt(self.law.variance)

    @property
    def estimate(self) -> bool:
        """Whether the interval is an estimate, which may hold less often than it says."""
        return self.law.estimate

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """The ends of an interval that holds the true value with this confidence."""
        ends = getattr(type(self.law), "ends", None)
        if ends is not None:
            low, high = ends(self.law, checked_confidence(confidence))
            return low, high
        below, above = (_shortest(self.value, side) for side in margins_of(self.law, confidence))
        if isinstance(self.value, int):
            return self.value - below, self.value + above
        low, high = unrounded(np.array([self.value]), np.array([below]), np.array([above]))
        return low.item(), high.item()

    def to_dict(self, confidence: float = 0.95) -> dict[str, Any]:
        """The answer as plain values, for JSON."""
        return {
            "value": finite(self.value),
            "stderr": finite(self.stderr),
            "interval": [finite(end) for end in self.interval(confidence)],
            "confidence": confidence,
            "estimate": self.estimate,
            "note": self.note,
        }

    def __getitem__(self, key: str) -> Any:
        """A part of it by the name that JSON has, such as "value" or "interval" (of 95 %)."""
        parts = self.to_dict()
        if not isinstance(key, str) or key not in parts:
            raise QueryError(f"an answer has {', '.join(parts)}")
        return parts[key]

    def __add__(self, other: Answer | float) -> Answer:
        return _calculated("+", self, other)

    def __radd__(self, other: float) -> Answer:
        return _calculated("+", other, self)

    def __sub__(self, other: Answer | float) -> Answer:
        return _calculated("-", self, other)

    def __rsub__(self, other: float) -> Answer:
        return _calculated("-", other, self)

    def __mul__(self, other: Answer | float) -> Answer:
        return _calculated("*", self, other)

    def __rmul__(self, other: float) -> Answer:
        return _calculated("*", other, self)

    def __truediv__(self, other: Answer | float) -> Answer:
        return _calculated("/", self, other)

    def __rtruediv__(self, other: float) -> Answer:
        return _calculated("/", other, self)

    def __neg__(self) -> Answer:
        return _calculated("*", -1.0, self)

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        half = self.law.half_width(0.95)
        level = show_level(0.95, estimate=self.estimate)
        return f"{show_number(self.value, half)} ± {show_bar(self.value, half)} ({level})"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from hushtable.query.html import answer_html

        return answer_html(self)


def _calculated(sign: Any, left: Any, right: Any) -> Answer:
    """Arithmetic of answers and numbers, with the error of the outcome."""
    for operand in (left, right):
        is_number = isinstance(operand, int | float | np.number) and not isinstance(operand, bool)
        if not (is_number or isinstance(operand, Answer)):
            return NotImplemented  # type: ignore[no-any-return]
    from hushtable.query.statistics.arithmetic import calculated

    return calculated(sign, left, right)


def finite(number: float | int) -> float | int | None:
    """A number for JSON, which knows finite ones only."""
    return number if math.isfinite(number) else None


def show_number(
    value: float, beside: float | None = None, *, rounding: str = ROUND_HALF_EVEN
) -> str:
    """A number for people: thousands apart, and without digits that its error `beside` it hides.

    An interval is a promise: its ends are rounded outwards.

    >>> show_number(35885.4, beside=240), show_number(0.12345, beside=0.02), show_number(1234.5)
    ('35,885', '0.123', '1,234')
    >>> show_number(0.1 + 0.2, beside=1e-16), show_number(-1e-14, beside=1e-12)
    ('0.3', '0')
    """
    if not math.isfinite(value):
        return "?" if math.isnan(value) else "∞" if value > 0 else "-∞"
    if float(value).is_integer():
        return f"{int(value):,}"
    if beside is not None and _is_rounding(beside, value):
        if abs(value) <= _NOTHING:
            return "0"
        # All that is not rounding.
        places, rounding = 8 - math.floor(math.log10(abs(value))), ROUND_HALF_EVEN
    elif beside is not None and math.isfinite(beside) and beside > 0:
        places = 1 - math.floor(math.log10(beside))  # two digits of the error
    else:
        places = 2 - math.floor(math.log10(abs(value)))  # three of its own
    step = Decimal(1).scaleb(-max(places, 0))
    rounded = Decimal(float(value)).quantize(step, rounding, Context(prec=1000))
    shown = f"{rounded if rounded else abs(rounded):,f}"  # nothing has no sign
    exact = beside is not None and _is_rounding(beside, value)
    return shown.rstrip("0").rstrip(".") if exact and "." in shown else shown


def _is_rounding(half: float, value: float) -> bool:
    """Whether a half width is none, but for the last bits of a sum."""
    return half <= max(_NOTHING, _ROUNDING * abs(value)) if math.isfinite(value) else half == 0


def show_ends(low: float, high: float, half: float) -> tuple[str, str]:
    """The ends of an interval for people: no narrower than it is."""
    return (
        show_number(low, half, rounding=ROUND_FLOOR),
        show_number(high, half, rounding=ROUND_CEILING),
    )


def show_bar(value: float, half: float) -> str:
    """A half width for people, beside a value as it is shown: it reaches both ends from there."""
    if _is_rounding(half, value):
        return "0"
    shown = show_number(value, half)
    moved = abs(float(shown.replace(",", "")) - value) if math.isfinite(value) else 0.0
    return show_number(half + moved, half, rounding=ROUND_CEILING)


def show_percent(confidence: float) -> str:
    """A confidence for people: 0.95 is "95 %"."""
    return f"{100 * confidence:.10g} %"


def show_level(confidence: float, *, estimate: bool, simultaneous: bool = False) -> str:
    """What an interval says of itself, for people: "95 %, all at once, estimate"."""
    together = ", all at once" if simultaneous else ""
    return show_percent(confidence) + together + (", estimate" if estimate else "")


def unrounded(
    values: NDArray[Any], below: NDArray[Any], above: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The ends of intervals around values that were rounded: the truth may lie at the very end.

    Whole numbers, and halves of halves of them, are exact. Others are differences of larger ones,
    as large as the table: up to 10¹¹ rows, they are right to the fourth place. Nobody counts below
    zero: an end that does not lie there is not moved there.
    """
    exact = (np.mod(values * 2.0**20, 1.0) == 0) & (np.abs(values) < 2.0**32)
    room = np.where(exact, 0.0, 1e-4 + 1e-12 * np.abs(values))
    low = values - below
    return np.where(low >= 0, np.maximum(low - room, 0.0), low - room), values + above + room


def _shortest(value: float, half: float) -> float:
    """The half width as an integer when value and width are whole, so that the ends are too."""
    return int(half) if isinstance(value, int) and half.is_integer() else half
