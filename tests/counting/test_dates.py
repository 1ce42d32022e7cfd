"""Dates and times become days, months or years, whatever is written, and nothing fails."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone
from fractions import Fraction

import pyarrow as pa
import pytest
from tests.shared_sizes import some_of

from hushtable.errors import DataError, QueryError, SchemaError
from hushtable.kernel.counting import code_table
from hushtable.query.sql import parse_where
from hushtable.schema import Dates, IntegerRange, Schema, ordinal
from hushtable.schema.dates import DATE_STEPS, days_of

FIRST, LAST = date(2019, 11, 15), date(2021, 2, 3)

DAYS = {
    "2020-03-05": date(2020, 3, 5),
    " 2020-03-05 ": date(2020, 3, 5),
    "2020-03-05 10:11:12": date(2020, 3, 5),
    "2020-03-05T23:59:59.999999": date(2020, 3, 5),
    "2020-02-29": date(2020, 2, 29),
    "2020-03": date(2020, 3, 1),
    "2020": date(2020, 1, 1),
    "2019-11-15": FIRST,
    "2021-02-03 23:59": LAST,
    "1969-07-20": date(1969, 7, 20),
    "2500-01-01": date(2500, 1, 1),
}
NO_DAYS = ["2020-02-30", "2021-02-29", "05.03.2020", "yesterday", "", "x", "\0", "2020-13", "1e5"]
ODD = ["infinity", "-infinity", "99999999-01-01", "-5000-01-01", "294247-01-01", "epoch", "9" * 400]


def schema(by: str, outside: str) -> Schema:
    attribute = ordinal("day", Dates(FIRST, LAST, by), outside=outside)
    return Schema("t", Fraction(1), (attribute, ordinal("row", IntegerRange(0, 999))))


def coded(values: pa.Array | list, by: str, outside: str) -> dict[int, int]:
    table = pa.table({"day": values, "row": range(len(values))})
    codes, rows = code_table(table, schema(by, outside)).columns
    return dict(zip(rows.tolist(), codes.tolist(), strict=True))


def expected(day: date | None, by: str, outside: str) -> int | None:
    dates = Dates(FIRST, LAST, by)
    other = dates.size if outside == "other" else None
    if day is None:
        return other
    code = dates.number_of(day) - dates.low
    if 0 <= code < dates.size:
        return code
    return min(max(code, 0), dates.size - 1) if outside == "clip" else other


@pytest.mark.parametrize("outside", some_of(["clip", "drop", "other"], ["clip", "other"]))
@pytest.mark.parametrize("by", DATE_STEPS)
def test_text_typed_dates_and_times_agree(by: str, outside: str) -> None:
    texts = [*DAYS, *NO_DAYS, None]
    got = coded(pa.array(texts), by, outside)
    for row, text in enumerate(texts):
        assert got.get(row) == expected(DAYS.get(text), by, outside), text
    days = list(DAYS.values())
    plus = timezone(timedelta(0))
    typed = {
        "date": pa.array(days, pa.date32()),
        "time": pa.array([datetime(d.year, d.month, d.day, 23, 59) for d in days]),
        "zoned": pa.array([datetime(d.year, d.month, d.day, 1, tzinfo=plus) for d in days]),
    }
    for name, column in typed.items():
        got = coded(column, by, outside)
        for row, day in enumerate(days):
            assert got.get(row) == expected(day, by, outside), (name, day)


@pytest.mark.parametrize("by", DATE_STEPS)
def test_odd_dates_move_one_row_and_never_fail(by: str) -> None:
    plain = coded(pa.array(list(DAYS)), by, "clip")
    for odd in ODD:
        got = coded(pa.array([*DAYS, odd]), by, "clip")
        assert {row: code for row, code in got.items() if row < len(DAYS)} == plain, odd


def test_numbers_that_are_no_years_are_refused_by_their_type() -> None:
    with pytest.raises(DataError, match="the schema says dates"):
        coded(pa.array([1.5]), "year", "clip")
    assert coded(pa.array([2020, 1850]), "year", "drop") == {0: 1}


@pytest.mark.parametrize("by", DATE_STEPS)
def test_a_schema_of_dates_round_trips(by: str) -> None:
    assert Schema.from_dict(schema(by, "other").to_dict()) == schema(by, "other")
    dates = Dates(FIRST, LAST, by)
    for code in range(dates.size):
        assert dates.number_of(dates.start_of(code)) - dates.low == code
        first, _ = days_of(dates.label(code)) or (None, None)
        assert first == dates.start_of(code)


@pytest.mark.parametrize(
    "change",
    [{"dates": ["2020-01-01"]}, {"dates": ["2021-01-01", "2020-01-01"]}, {"by": "week"},
     {"dates": ["2020-01-01", "soon"]}, {"dates": [1, 2]}],
)  # fmt: skip
def test_a_wrong_schema_of_dates_is_one_line(change: dict) -> None:
    content = schema("day", "clip").to_dict()
    content["attribute"][0] |= change
    with pytest.raises(SchemaError, match="attribute 'day'") as told:
        Schema.from_dict(content)
    assert "\n" not in str(told.value)


def codes(where: str, by: str) -> set[int]:
    described = Schema("t", Fraction(1), (ordinal("day", Dates(FIRST, LAST, by)),))
    return {
        code
        for box in parse_where(where, described)
        for start, stop in box.sets[0].intervals
        for code in range(start, stop)
    }


@pytest.mark.parametrize("by", DATE_STEPS)
def test_conditions_on_dates_mean_what_they_say(by: str) -> None:
    dates = Dates(FIRST, LAST, by)
    starts = [dates.start_of(code) for code in range(dates.size)]
    for text in ("2020", "2020-01", "2020-01-01", "2018", "2030-05-05", "2020-12", "2020-12-31"):
        first, last = days_of(text) or (FIRST, FIRST)
        meanings = {
            "<": lambda day, first=first: day < first,
            ">=": lambda day, first=first: day >= first,
            "<=": lambda day, last=last: day <= last,
            ">": lambda day, last=last: day > last,
        }
        for sign, holds in meanings.items():
            try:
                got = codes(f"day {sign} '{text}'", by)
            except QueryError as refused:
                assert "lies inside" in str(refused) and by != "day"
            else:
                assert got == {c for c, day in enumerate(starts) if holds(day)}, (sign, text)


def test_dates_are_written_in_several_ways() -> None:
    assert codes("day >= DATE '2020-03-01'", "month") == codes("day >= '2020-03'", "month")
    assert codes("day = '2020-03'", "day") == codes(
        "day BETWEEN '2020-03-01' AND '2020-03-31'", "day"
    )
    assert codes("day = 2020", "year") == {1}
    for odd in ("day = 'soon'", "day = '2020-02-30'", "day = '1999'", "day <= '2020-03-15'"):
        with pytest.raises(QueryError):
            codes(odd, "month")
