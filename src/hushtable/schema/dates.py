"""Dates as an ordinal attribute: days, months or years in a row."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, Literal, get_args

from hushtable.errors import SchemaError

DateStep = Literal["day", "month", "year"]
DATE_STEPS: tuple[DateStep, ...] = get_args(DateStep)

_EPOCH = date(1970, 1, 1)
_WRITTEN = re.compile(r"(\d{4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?")


@dataclass(frozen=True)
class Dates:
    """The days, months or years from `first` to `last`, both included.

    >>> months = Dates(date(2020, 11, 5), date(2021, 2, 1), "month")
    >>> months.size, months.label(0), months.label(3)
    (4, '2020-11', '2021-02')
    """

    first: date
    last: date
    by: DateStep

    def __post_init__(self) -> None:
        if self.by not in DATE_STEPS:
            raise SchemaError(f"by must be one of {', '.join(DATE_STEPS)}")
        if self.first > self.last:
            raise SchemaError("dates are reversed: the first day comes first")

    @property
    def low(self) -> int:
        """The number of the first step, counted as `number_of` counts."""
        return self.number_of(self.first)

    @property
    def high(self) -> int:
        """The number of the last step."""
        return self.number_of(self.last)

    @property
    def size(self) -> int:
        return self.high - self.low + 1

    def number_of(self, day: date) -> int:
        """Days since 1970, months since the year 0, or the year."""
        if self.by == "day":
            return (day - _EPOCH).days
        return day.year * 12 + day.month - 1 if self.by == "month" else day.year

    def start_of(self, code: int) -> date:
        """The first day of a step."""
        number = self.low + code
        if self.by == "day":
            return _EPOCH + timedelta(days=number)
        if self.by == "month":
            return date(number // 12, number % 12 + 1, 1)
        return date(number, 1, 1)

    def label(self, code: int) -> str:
        length = {"day": 10, "month": 7, "year": 4}[self.by]
        return self.start_of(code).isoformat()[:length]


def parse_day(value: Any) -> date:
    """A day as TOML or ISO 8601 writes it."""
    if isinstance(value, datetime):
        return value.date()
    if isinstance(value, date):
        return value
    try:
        return date.fromisoformat(value)
    except (TypeError, ValueError):
        raise SchemaError("dates are written as 2024-12-31") from None


def days_of(text: str) -> tuple[date, date] | None:
    """The first and the last day that a year, a month or a day stands for, if it is one.

    >>> days_of("2024-02")
    (datetime.date(2024, 2, 1), datetime.date(2024, 2, 29))
    """
    written = _WRITTEN.fullmatch(text.strip())
    if written is None:
        return None
    year, month, day = (int(part) if part else None for part in written.groups())
    assert year is not None
    try:
        first = date(year, month or 1, day or 1)
        if day is not None:
            return first, first
        if month is None or month == 12:
            return first, date(year, 12, 31)
        return first, date(year, month + 1, 1) - timedelta(days=1)
    except ValueError:
        return None
