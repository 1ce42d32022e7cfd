"""Moments: dates and times, read in a declared zone and never in the machine's.

Every expression here is total, as in `encode`. The engine's zone and calendar are settings of a
connection that may be the owner's: a moment with a zone is taken as a number of microseconds,
which depends on neither, and only years 1 to 9999 are made times of again, since the engine fails
on others. Where a schema names a zone, the engine's own database of zones is asked, by the one
calendar that is checked for.

Text is cast only if its form says what the cast will make of it: the engine overlooks what stands
behind a time, be it "PM" or a zone.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from hushtable.errors import DataError, SchemaError
from hushtable.kernel.counting.encoding.columns import engine_function, stripped
from hushtable.schema import Attribute, Dates
from hushtable.schema.origin import check_zone

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST, LAST = (
    (moment.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
    for moment in (datetime.min, datetime.max)
)
"""The ends of the years 1 to 9999, in microseconds since 1970."""

_INSTANT = "timestamp('UTC')"
_YEAR = "[0-9]{4}"
_MONTH = f"{_YEAR}-[0-9]{{1,2}}"
_DAY = f"({_MONTH}-[0-9]{{1,2}}|{_YEAR}/[0-9]{{1,2}}/[0-9]{{1,2}})"
_TIME = r"([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]+)?)?"
_OFFSET = " ?(Z|z|UTC|[+-]([01][0-9]|2[0-3])(:?[0-5][0-9])?)"

_DETAILS = {"weekday": "day", "quarter": "month"}


def is_timed(attribute: Attribute) -> bool:
    """Whether moments are read exactly: by a part or in a zone. Other dates are days as written."""
    return attribute.origin.part is not None or attribute.origin.zone is not None


def check_moments(kind: Any, attribute: Attribute, shown: str) -> None:
    """Refuse types that hold no moments, or not what is asked of them."""
    part = attribute.origin.part or "date"
    if kind.is_time() and part == "hour":
        return
    if kind.is_date() and part == "hour":
        raise DataError(f"{shown}, which has no hours")
    if not (kind.is_string() or kind.is_date() or kind.is_timestamp()):
        raise DataError(f"{shown}; the schema asks for the {part} of dates and times")


def check_zones(zones: Iterable[str], connection: Any) -> None:
    """Refuse zones that are unknown here or to the engine, and engines with another calendar."""
    for zone in sorted(set(zones)):
        check_zone(zone)
        known = connection.execute("SELECT name FROM pg_timezone_names() WHERE name = ?", [zone])
        if not known.fetchall():
            raise SchemaError(f"the engine does not know the time zone {zone!r}")
        ((calendar,),) = connection.execute("SELECT current_setting('Calendar')").fetchall()
        if calendar != "gregorian":
            raise DataError("this connection's calendar is not ours: SET Calendar = 'gregorian'")


def in_utc(column: Any) -> Any:
    """A column of moments with a zone as times in UTC; any other as it is."""
    return _time_of(_micros(column), None) if _has_zone(column) else column


def written(column: Any) -> Any:
    """A column as its moments are read: times of day as text."""
    is_text = column.type().is_string() or column.type().is_time()
    return stripped(column.cast("string")) if is_text else column


def local_time(moment: Any, zone: str | None) -> Any:
    """The time in a zone, of moments that have one of their own; NULL for what is no moment."""
    if moment.type().is_string():
        return _written_time(moment, zone)
    if _has_zone(moment):
        return _time_of(_micros(moment), zone)
    return _time_of(_micros(moment.try_cast("timestamp")), None)


def known_time(time: Any, moment: Any, attribute: Attribute) -> Any:
    """The local time of a moment; NULL where its text does not say what the attribute asks for."""
    import ibis

    if not moment.type().is_string():
        return time
    dates, part = attribute.values, attribute.origin.part or "date"
    detail = dates.by if isinstance(dates, Dates) else _DETAILS.get(part, part)
    dated = moment.like("____-%") | moment.like("____/%")
    says = {
        "year": dated | ~moment.contains(":"),
        "month": dated,
        "day": moment.like("____-%-%") | moment.like("____/%"),
        "hour": moment.contains(":"),
    }
    return ibis.cases((says[detail], time), else_=ibis.null("timestamp"))


def part_of(time: Any, attribute: Attribute) -> Any:
    """What of a time counts: a number, or the name of a weekday."""
    part = attribute.origin.part or "date"
    if part == "date":
        assert isinstance(attribute.values, Dates)
        return date_number(time, attribute.values)
    if part == "weekday":
        return time.day_of_week.full_name()
    return getattr(time, part)().try_cast("float64")


def date_number(time: Any, dates: Dates) -> Any:
    """The number of the day, month or year, as a float."""
    if dates.by == "day":
        number = time.try_cast("date").epoch_seconds() / 86_400
    elif dates.by == "month":
        number = time.year() * 12 + time.month() - 1
    else:
        number = time.year()
    return number.try_cast("float64")


def day_as_written(text: Any) -> Any:
    """The moment of an attribute of days as they are written; NULL for what is no date.

    Text is an ISO date or time, of which hours and time zones do not count, a month or a year.
    """
    import ibis

    if not text.type().is_string():
        return text.try_cast("timestamp")
    return ibis.coalesce(*((text + rest).try_cast("timestamp") for rest in ("", "-01", "-01-01")))


def _written_time(text: Any, zone: str | None) -> Any:
    """The time that a text of a known form stands for: in the zone, where it has an offset."""
    import ibis

    forms = [
        (f"{_DAY}([T ]{_TIME})?", text),
        (_TIME, ibis.literal("1970-01-01 ") + text),  # of a day that nobody asks for
        (_MONTH, text + "-01"),
        (_YEAR, text + "-01-01"),
    ]
    as_it_stands = ((form, _micros(full.try_cast("timestamp")), None) for form, full in forms)
    # With an offset, a cast to an instant depends on nothing else.
    at_once = text.upper().replace("UTC", "Z")
    for end in ("Z", "+", "-"):
        at_once = at_once.replace(f" {end}", end)
    instant = (f"{_DAY}[T ]{_TIME}{_OFFSET}", _micros(at_once.try_cast(_INSTANT)), zone)
    return ibis.cases(
        *(
            (text.re_search(f"^({form})$"), _time_of(micros, own))
            for form, micros, own in (*as_it_stands, instant)
        ),
        else_=ibis.null("timestamp"),
    )


def _time_of(micros: Any, zone: str | None) -> Any:
    """Microseconds since 1970 as a time, in a zone if they count from then in UTC."""
    if zone is not None:
        instant = engine_function("make_timestamptz", ("int64",), _INSTANT)(_inside(micros))
        local = engine_function("timezone", ("string", _INSTANT), "timestamp")(zone, instant)
        micros = _micros(local)
    return engine_function("make_timestamp", ("int64",), "timestamp")(_inside(micros))


def _inside(micros: Any) -> Any:
    """NULL outside the years 1 to 9999: the engine does not fail on what is left."""
    import ibis

    return ibis.cases((micros.between(FIRST, LAST), micros), else_=ibis.null("int64"))


def _micros(moment: Any) -> Any:
    """Microseconds since 1970: of a moment with a zone, since then in UTC; NULL if infinite."""
    return engine_function("epoch_us", (None,), "int64")(moment)


def _has_zone(column: Any) -> bool:
    return bool(column.type().is_timestamp() and column.type().timezone)
