"""Functions of one attribute: FLOOR(age / 10), EXTRACT(YEAR FROM d), LEFT(label, 2).

Each becomes the codes on which it has each of its values. A number of an integer attribute is known
exactly; of a bin only its ends are, and a function that is not the same on a whole bin is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction

from hushtable.errors import QueryError
from hushtable.query.box import CodeSet
from hushtable.query.literal import sql_name
from hushtable.schema import Attribute, Dates, Edges, IntegerRange, Labels

MOST_STEPS = 100_000
Label = Fraction | str | bool


@dataclass(frozen=True, slots=True)
class Stepwise:
    """A function of one attribute: the codes of each of its values; NULL on all others."""

    axis: int
    steps: tuple[tuple[Label, CodeSet], ...]

    def mapped(self, function: Callable[[Label], Label]) -> Stepwise:
        """The same with a function of its values."""
        return _gathered(self.axis, ((function(label), codes) for label, codes in self.steps))

    @property
    def codes(self) -> CodeSet:
        """Where it is not NULL."""
        return CodeSet.union_of(codes for _, codes in self.steps)


def _gathered(axis: int, steps: Iterable[tuple[Label, CodeSet]]) -> Stepwise:
    """The codes of each value together."""
    found: dict[Label, list[CodeSet]] = {}
    for label, codes in steps:
        found.setdefault(label, []).append(codes)
    return Stepwise(axis, tuple((label, CodeSet.union_of(sets)) for label, sets in found.items()))


# ── numbers ──────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Near:
    """A number, or what comes right before (−1) or after it (1): the open end of a bin."""

    number: Fraction
    side: int = 0

    def linear(self, factor: Fraction, constant: Fraction) -> Near:
        """factor · x + constant."""
        side = self.side * ((factor > 0) - (factor < 0))
        return Near(factor * self.number + constant, side)


Rounding = Callable[[Near], Fraction]


def floor(x: Near) -> Fraction:
    """The whole number below."""
    whole = x.number.denominator == 1
    return Fraction(math.floor(x.number) - (whole and x.side < 0))


def ceil(x: Near) -> Fraction:
    """The whole number above."""
    return -floor(x.linear(Fraction(-1), Fraction(0)))


def towards_zero(x: Near) -> Fraction:
    """What is before the decimal point."""
    below = x.number < 0 or (x.number == 0 and x.side < 0)
    return ceil(x) if below else floor(x)


def half_away(x: Near) -> Fraction:
    """The nearest whole number, of two the one farther from zero: ROUND."""
    half = Fraction(1, 2)
    below = x.number < 0
    return ceil(x.linear(Fraction(1), -half)) if below else floor(x.linear(Fraction(1), half))


def half_even(x: Near) -> Fraction:
    """The nearest whole number, of two the even one: a cast to integers."""
    up = floor(x.linear(Fraction(1), Fraction(1, 2)))
    tie = x.side == 0 and (x.number * 2).denominator == 1 and x.number.denominator == 2
    return up - 1 if tie and up % 2 else up


def exactly(x: Near) -> Fraction:
    """The number itself."""
    return x.number


def of_number(
    axis: int,
    attribute: Attribute,
    factor: Fraction,
    constant: Fraction,
    rounding: Rounding,
) -> Stepwise:
    """The steps of rounding(factor · x + constant), for the values x of an attribute."""

    def value(x: Near) -> Fraction:
        return rounding(x.linear(factor, constant))

    if isinstance(attribute.values, Edges):
        return _gathered(axis, _of_bins(attribute, attribute.values, value, rounding))
    assert isinstance(attribute.values, IntegerRange)
    low, last = attribute.values.low, attribute.values.high
    # From one code to the next it moves by no more than that, however it is rounded.
    jump = abs(factor) + 1
    if abs(value(Near(Fraction(last))) - value(Near(Fraction(low)))) > jump * MOST_STEPS:
        raise QueryError(_too_many(attribute))
    return _gathered(axis, _runs(attribute, lambda code: value(Near(Fraction(low + code)))))


def _runs(
    attribute: Attribute, value: Callable[[int], Fraction]
) -> Iterable[tuple[Label, CodeSet]]:
    """The runs of codes on which a monotone function has one value, each found by bisection."""
    start, found = 0, 0
    while start < attribute.declared:
        first, stop, beyond = value(start), start + 1, 1
        while stop < attribute.declared and value(stop) == first:  # gallop, then bisect
            stop, beyond = min(stop + beyond, attribute.declared), 2 * beyond
        stop = _last(value, start, stop, first) + 1
        yield first, CodeSet.of((start, stop))
        start, found = stop, found + 1
        if found > MOST_STEPS:
            raise QueryError(_too_many(attribute))


def _last(value: Callable[[int], Fraction], low: int, high: int, wanted: Fraction) -> int:
    """The last code from low on, below high, at which a monotone function has a value."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if value(middle) == wanted else (low, middle)
    return low


def _of_bins(
    attribute: Attribute, values: Edges, value: Callable[[Near], Fraction], rounding: Rounding
) -> Iterable[tuple[Label, CodeSet]]:
    edges = [Fraction(repr(edge)) for edge in values.edges]
    for code in range(values.size):
        last = code == values.size - 1
        lower, upper = Near(edges[code]), Near(edges[code + 1], 0 if last else -1)
        if value(lower) != value(upper) or rounding is exactly:
            name = sql_name(attribute.name)
            raise QueryError(
                f"the bin {values.label(code)} of {attribute.name} would fall into several groups; "
                f"group by {name} itself, or by a CASE with conditions at its edges"
            )
        yield value(lower), CodeSet.single(code)


def _too_many(attribute: Attribute) -> str:
    return f"an expression of {attribute.name} has more than {MOST_STEPS:,} values to group by"


# ── labels ───────────────────────────────────────────────────────────────────────────────────────


def of_label(axis: int, attribute: Attribute, function: Callable[[str], str]) -> Stepwise:
    """The steps of a function of the labels of an attribute."""
    assert isinstance(attribute.values, Labels)
    labels = enumerate(attribute.values.labels)
    return _gathered(axis, ((function(label), CodeSet.single(code)) for code, label in labels))


# ── dates ────────────────────────────────────────────────────────────────────────────────────────

Part = Callable[[date], int]
PARTS: dict[str, tuple[str, Part]] = {
    "year": ("year", lambda day: day.year),
    "decade": ("year", lambda day: day.year // 10),
    "quarter": ("month", lambda day: (day.month + 2) // 3),
    "month": ("month", lambda day: day.month),
    "day": ("day", lambda day: day.day),
    "dow": ("day", lambda day: day.isoweekday() % 7),
    "isodow": ("day", lambda day: day.isoweekday()),
    "doy": ("day", lambda day: day.timetuple().tm_yday),
    "week": ("day", lambda day: day.isocalendar()[1]),
}
"""What EXTRACT takes out of a day, and how finely dates must be known for it."""

STARTS: dict[str, tuple[str, Callable[[date], date]]] = {
    "decade": ("year", lambda day: date(max(day.year // 10 * 10, 1), 1, 1)),
    "year": ("year", lambda day: date(day.year, 1, 1)),
    "quarter": ("month", lambda day: date(day.year, (day.month - 1) // 3 * 3 + 1, 1)),
    "month": ("month", lambda day: date(day.year, day.month, 1)),
    "week": ("day", lambda day: day - timedelta(days=min(day.weekday(), day.toordinal() - 1))),
    "day": ("day", lambda day: day),
}
"""What DATE_TRUNC makes of a day."""
_FINENESS = ("year", "month", "day")


def of_date_part(axis: int, attribute: Attribute, part: str) -> Stepwise:
    """The steps of EXTRACT(part FROM x)."""
    part = {"dayofweek": "dow", "weekday": "dow", "dayofyear": "doy"}.get(part, part)
    if part not in PARTS:
        raise QueryError(f"EXTRACT takes {', '.join(PARTS)}, not {part[:40]!r}")
    needed, function = PARTS[part]
    return _of_days(axis, attribute, needed, lambda day: Fraction(function(day)))


def of_date_start(axis: int, attribute: Attribute, unit: str) -> Stepwise:
    """The steps of DATE_TRUNC(unit, x): the first day of each."""
    if unit not in STARTS:
        raise QueryError(f"DATE_TRUNC takes {', '.join(STARTS)}, not {unit[:40]!r}")
    needed, function = STARTS[unit]
    return _of_days(axis, attribute, needed, lambda day: function(day).isoformat())


def _of_days(
    axis: int, attribute: Attribute, needed: str, function: Callable[[date], Label]
) -> Stepwise:
    values = attribute.values
    if not isinstance(values, Dates):
        raise QueryError(f"{attribute.name} has no dates, so EXTRACT and DATE_TRUNC do not apply")
    if _FINENESS.index(values.by) < _FINENESS.index(needed):
        raise QueryError(f"{attribute.name} is by {values.by}: a {needed} cannot be told from it")
    found: dict[Label, list[tuple[int, int]]] = {}
    for code in range(values.size):
        found.setdefault(function(values.start_of(code)), []).append((code, code + 1))
    if len(found) > MOST_STEPS:
        raise QueryError(_too_many(attribute))
    return Stepwise(axis, tuple((label, CodeSet.of(*codes)) for label, codes in found.items()))
