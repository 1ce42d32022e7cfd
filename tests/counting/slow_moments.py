"""Parts of moments as they are documented, by Python's own calendar and zones, value by value."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from slow_encoding import BLANKS

from hushtable.schema import Attribute, Dates, Edges, IntegerRange, Labels
from hushtable.schema.origin import WEEKDAYS

_CLOCK = r"(?P<h>\d{1,2}):(?P<i>\d\d)(:(?P<s>\d\d)(\.(?P<f>\d+))?)?"
_DAY = r"(?P<y>\d{4})([-/])(?P<m>\d{1,2})\2(?P<d>\d{1,2})"
_OFFSET = r" ?(?P<o>Z|z|UTC|(?P<sign>[+-])(?P<oh>\d\d)(:?(?P<om>\d\d))?)"
_MOMENT = re.compile(f"{_DAY}([T ]{_CLOCK}({_OFFSET})?)?", re.ASCII)
_MONTH = re.compile(r"(?P<y>\d{4})-(?P<m>\d{1,2})", re.ASCII)
_YEAR = re.compile(r"(?P<y>\d{4})", re.ASCII)

NEEDS = {"hour": 4, "weekday": 3, "month": 2, "quarter": 2, "year": 1}
BY = {"day": 3, "month": 2, "year": 1}


def slow_moment(value: Any, needs: int, zone: str | None) -> datetime | None:
    """The local time of a value, if it says enough: 1 is the year, 4 the hour."""
    if isinstance(value, datetime):
        return value if value.tzinfo is None else _local(value, zone)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    if value is None:
        return None
    text = value.strip(BLANKS)
    try:
        return _written(text, needs, zone)
    except (ValueError, OverflowError):
        return None


def _written(text: str, needs: int, zone: str | None) -> datetime | None:
    if (found := _MOMENT.fullmatch(text)) and (found["h"] or needs < 4):
        day = datetime(int(found["y"]), int(found["m"]), int(found["d"]))
        if found["h"] is None:
            return day
        moment = day + _clock(found)
        return moment if found["o"] is None else _local(_instant(moment, found), zone)
    if needs == 4 and (found := re.fullmatch(_CLOCK, text, re.ASCII)):
        return datetime(2000, 1, 1) + _clock(found)
    if needs <= 2 and (found := _MONTH.fullmatch(text)):
        return datetime(int(found["y"]), int(found["m"]), 1)
    if needs == 1 and (found := _YEAR.fullmatch(text)):
        return datetime(int(found["y"]), 1, 1)
    return None


def _clock(found: re.Match[str]) -> timedelta:
    hours, minutes, seconds = (int(found[key] or 0) for key in "his")
    if hours > 23 or minutes > 59 or seconds > 59:
        raise ValueError
    micros = int((found["f"] or "0")[:6].ljust(6, "0"))
    return timedelta(hours=hours, minutes=minutes, seconds=seconds, microseconds=micros)


def _instant(moment: datetime, found: re.Match[str]) -> datetime:
    hours, minutes = int(found["oh"] or 0), int(found["om"] or 0)
    if hours > 23 or minutes > 59:
        raise ValueError
    ahead = timedelta(hours=hours, minutes=minutes) * (-1 if found["sign"] == "-" else 1)
    return (moment - ahead).replace(tzinfo=UTC)


def _local(instant: datetime, zone: str | None) -> datetime:
    return instant.astimezone(UTC if zone is None else ZoneInfo(zone)).replace(tzinfo=None)


def slow_part_code(value: Any, attribute: Attribute) -> int | None:
    """The code of a value of an attribute with a part or a zone; None where its row is dropped."""
    values, part = attribute.values, attribute.origin.part
    needs = BY[values.by] if isinstance(values, Dates) else NEEDS[part or ""]
    moment = slow_moment(value, needs, attribute.origin.zone)
    if moment is None:
        return attribute.other
    if isinstance(values, Labels):
        found = values.code_of(WEEKDAYS[moment.weekday()])
        return attribute.other if found is None else found
    if isinstance(values, Dates):
        number = values.number_of(moment.date())
    else:
        quarter = (moment.month + 2) // 3
        number = quarter if part == "quarter" else getattr(moment, part or "")
    return _number_code(number, attribute)


def _number_code(number: int, attribute: Attribute) -> int | None:
    values = attribute.values
    if isinstance(values, Edges):
        below, above = number < values.edges[0], number > values.edges[-1]
        code = min(sum(number >= edge for edge in values.edges) - 1, values.size - 1)
    else:
        assert isinstance(values, IntegerRange | Dates)
        below, above = number < values.low, number > values.high
        code = number - values.low
    if below or above:
        clipped = 0 if below else attribute.declared - 1
        return clipped if attribute.outside == "clip" else attribute.other
    return code
