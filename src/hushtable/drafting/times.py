"""Days, moments and times of day."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import date
from typing import Any

from hushtable.drafting.looks import Look
from hushtable.drafting.names import words_of
from hushtable.drafting.proposal import LeftOut, Proposal, blanks, one_attribute

_DAY = "[0-9]{4}(-[0-9]{1,2}(-[0-9]{1,2})?|/[0-9]{1,2}/[0-9]{1,2})"
_CLOCK = r"([01]?[0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]+)?)?"
_OFFSET = " ?(Z|z|UTC|[+-][0-9]{2}(:?[0-9]{2})?)"
_is_day: Callable[[str], Any] = re.compile(_DAY).fullmatch
_is_moment: Callable[[str], Any] = re.compile(f"{_DAY}([ T]{_CLOCK}({_OFFSET})?)?").fullmatch
_has_clock: Callable[[str], Any] = re.compile(".*[ T].*[1-9].*").fullmatch
_has_offset: Callable[[str], Any] = re.compile(f".*:.*{_OFFSET}").fullmatch
_is_clock: Callable[[str], Any] = re.compile(_CLOCK).fullmatch
_MONTH = r"[A-Za-z]{3,9}\.?"
_is_other_day: Callable[[str], Any] = re.compile(
    rf"[0-9]{{1,2}}([/.-])[0-9]{{1,2}}\1([0-9]{{4}}|[0-9]{{2}})(,? .*)?"
    rf"|[0-9]{{1,2}}[ -]{_MONTH}[ -][0-9]{{2,4}}(,? .*)?|{_MONTH} [0-9]{{1,2}},? [0-9]{{4}}(,? .*)?"
).fullmatch
_is_packed_day: Callable[[str], Any] = re.compile(
    r"(19|20)[0-9]{2}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])"
).fullmatch

_FEW_WORDS = 3  # as in "unknown", beside days
_YEARS = range(1850, 2101)  # others stand for something else, such as 9999 for never
_HOW = (
    "dates are read as 2024-12-31 and moments as 2024-12-31 23:59: write them so, for instance"
    " with pandas.to_datetime, and draft again"
)


def recognise_times(look: Look) -> Proposal | LeftOut | None:
    """Days and moments, by their type or as ISO 8601 writes them; others with what to do."""
    if look.kind in ("truth", "number"):
        return _numbered_times(look)
    if look.kind in ("day", "moment") or _nearly_all(look.listed, _is_moment):
        return _days(look)
    if look.kind == "clock" or _nearly_all(look.listed, _is_clock):
        return _clock(look)
    if _nearly_all(look.listed, _is_other_day):
        return LeftOut(f"its dates are written in another way; {_HOW}")
    return _numbered_times(look)


def _nearly_all(texts: Iterable[str], test: Callable[[str], Any]) -> bool:
    """Whether texts pass a test, up to a few words, which stand for a missing value."""
    failed = passed = 0
    for text in texts:
        if test(text):
            passed += 1
        else:
            failed += 1
            if failed > _FEW_WORDS:
                return False
    return passed > failed


def _numbered_times(look: Look) -> LeftOut | None:
    """Days as 20241231, moments as seconds since 1970: only where the name says so."""
    if not {"date", "day", "time", "timestamp", "datetime", "ts", "at"} & set(words_of(look.name)):
        return None
    if _nearly_all(look.listed, _is_packed_day):
        return LeftOut(f"its dates are written as numbers; {_HOW}")
    seconds = (look.numbers > 1e8) & (look.numbers < 1e10)
    if len(seconds) and (seconds | (look.numbers > 1e11) & (look.numbers < 1e13)).all():
        return LeftOut(f"its moments look like seconds or milliseconds since 1970; {_HOW}")
    return None


def _days(look: Look) -> Proposal | LeftOut:
    days, lost = _days_seen(look)
    if not days:
        return LeftOut("it holds dates, but none of the years 1850 to 2100")
    first, last, by = _rounded(min(days), max(days))
    whole = {"day": "months", "month": "years", "year": "years"}[by]
    dates = {"dates": [first.isoformat(), last.isoformat()], "by": by}
    looked = f"the first and the last day, rounded to whole {whole}"
    other = "values that are no dates, or of years far away, count as other" if lost else ""
    if not any(map(_has_clock, look.listed)):
        return one_attribute(look, "ordinal", dates, f"dates: by {by}", looked=looked, other=other)
    if not all(":" in text for text in look.texts.to_pylist()):
        other = "values that are no dates with a time, or of years far away, count as other"
    parts: dict[str, dict[str, Any]] = {"date": dates, "weekday": {}, "hour": {}}
    return _parts(look, parts, looked, other)


def _parts(look: Look, parts: dict[str, dict[str, Any]], looked: str, other: str) -> Proposal:
    """Attributes for the parts of moments, all from one column."""
    why = ["dates with times: read by day, weekday and hour"]
    shared: dict[str, Any] = {}
    if look.zoned or any(map(_has_offset, look.listed)):
        shared["zone"] = "UTC"
        why.append("its moments have a time zone: name the one in which you want days and hours")
    told = [line for line in (other, blanks(look)) if line]
    outside = {"outside": "other"} if told else {}
    tables = tuple(
        {"name": f"{look.name}_{part}", "kind": "ordinal", "from": look.name, "part": part}
        | {**shared, **values, **outside}
        for part, values in parts.items()
    )
    return Proposal(tables, (*why, *told), looked)


def _days_seen(look: Look) -> tuple[set[date], bool]:
    """The days, and whether there are values that are none, or far from any other."""
    import pyarrow.compute as pc

    written = pc.unique(pc.utf8_slice_codeunits(look.texts, 0, 10)).to_pylist()
    found = {day for day in map(_day, written) if day is not None and day.year in _YEARS}
    words = any(not _is_day(text.split("T")[0].split(" ")[0]) for text in written)
    return found, words or any((d := _day(text)) and d.year not in _YEARS for text in written)


def _day(text: str) -> date | None:
    """The day that a text begins with; of a month, its first."""
    found = re.match("([0-9]{4})[-/]([0-9]{1,2})(?:[-/]([0-9]{1,2}))?", text)
    if found is None:
        return None
    try:
        return date(int(found[1]), int(found[2]), int(found[3] or 1))
    except ValueError:
        return None


def _rounded(first: date, last: date) -> tuple[date, date, str]:
    """Ends that are rounded outwards, and by which steps not too many days lie between."""
    years = last.year - first.year + (last.month - first.month) / 12
    if years > 40:
        return date(first.year, 1, 1), date(last.year, 12, 31), "year"
    if (last - first).days > 366:
        return date(first.year, 1, 1), date(last.year, 12, 31), "month"
    following = date(last.year + last.month // 12, last.month % 12 + 1, 1)
    return first.replace(day=1), date.fromordinal(following.toordinal() - 1), "day"


def _clock(look: Look) -> Proposal:
    """Times of day."""
    words = any(not _is_clock(text) for text in look.listed)
    other = "values that are no times count as other" if words else ""
    values = {"from": look.name, "part": "hour"}
    found = one_attribute(look, "ordinal", values, "times of day: read by the hour", other=other)
    return found.called(f"{look.name}_hour")
