"""Parts of moments are read as documented, whatever the machine's zone, and nothing fails."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_encoding import BLANKS, make
from slow_moments import slow_part_code
from tests.shared_sizes import some_of

from hushtable.errors import DataError, SchemaError
from hushtable.kernel.counting import code_table
from hushtable.schema import Schema

YORK = "America/New_York"
ZONES = [YORK, "Europe/London", "Australia/Lord_Howe", "Asia/Kathmandu", "Pacific/Apia", "UTC"]
PARTS: list[dict[str, Any]] = [
    {"part": "hour"},
    {"part": "hour", "edges": [6, 9.5, 12, 18]},
    {"part": "weekday"},
    {"part": "weekday", "labels": ["Sunday", "Tuesday"]},
    {"part": "month"},
    {"part": "month", "edges": [1, 4, 13]},
    {"part": "quarter"},
    {"part": "year", "range": [2000, 2030]},
    {"part": "date", "dates": ["2020-01-15", "2024-11-05"], "by": "day"},
    {"part": "date", "dates": ["2020-01-15", "2024-11-05"], "by": "month"},
    {"part": "date", "dates": ["1990-01-01", "2024-11-05"], "by": "year"},
]
CLOCKED = [0, 1]  # the parts that are hours
ROW = {"name": "row", "kind": "ordinal", "range": [0, 10**6]}


def schema(zone: str | None, outside: str, parts: list[dict[str, Any]] = PARTS) -> Schema:
    """An attribute for each part, all from one column, beside the number of the row."""
    zoned = {} if zone is None else {"zone": zone}
    attributes = [
        {"name": f"a{i}", "kind": "ordinal", "from": "when", "outside": outside, **part, **zoned}
        for i, part in enumerate(parts)
    ]
    return make(ROW, *attributes)


def codes(data: Any, described: Schema) -> dict[int, tuple[int, ...]]:
    """The codes of each row that counts."""
    found = code_table(data, described).columns
    rows = zip(*(column.tolist() for column in found), strict=True)
    return {row: tuple(rest) for row, *rest in rows}


def expected(values: list[Any], described: Schema) -> dict[int, tuple[int, ...]]:
    slow = {}
    for row, value in enumerate(values):
        found = [slow_part_code(value, attribute) for attribute in described.attributes[1:]]
        if None not in found:
            slow[row] = tuple(code for code in found if code is not None)
    return slow


def table(values: Any) -> pa.Table:
    return pa.table({"when": values, "row": range(len(values))})


TEXTS: list[str | None] = [
    *("2024-07-01", "2024-7-1", "2024/07/01", "2024/7-1", "2024-07-01 00:00"),
    "2024-07-01T23:59:59",
    *("2024-07-01 10:11:12.5", "2024-07-01 10:11:12.999999999", "2024-07-01 9:05"),
    "2024-07-01 24:00",
    *("2024-07-01T02:00:00Z", "2024-07-01T02:00z", "2024-07-01 02:00:00 UTC"),
    "2024-07-01 02:00UTC",
    *("2024-07-01T23:30:00-05", "2024-07-01T23:30:00 -0530", "2024-07-01T00:30:00+05:45"),
    *("2024-07-01 10:00+23:59", "2024-07-01 10:00+24:00", "2024-07-01 10:00+9", "2024-07-01+02:00"),
    *("2024-07-01 10:00:00 PM", "2024-07-01 10:00:00 EST", "2024-07-01 10:00:00 Europe/Berlin"),
    *("2024-07-01 10:00:60", "2024-07-01 10:60", "2024-07-01 10", "2024-07-01T", "2024-02-30"),
    *("2024-07", "2024-13", "2024", "0000", "0000-01-01", "0001-01-01", "9999-12-31 23:59:59"),
    *("0001-01-01 00:00+01", "9999-12-31 23:59:59-01", "0001-01-01T00:00:00Z", "99999-01-01"),
    *("10:11", "10:11:12", "10:11:12.5", "7:05", "23:59:59.999999", "24:00", "24:00:00"),
    "10:11 PM",
    *("10:11+02", "10", "infinity", "-infinity", "epoch", "now", "today", "0044-03-15 (BC)"),
    *("294247-01-10 04:00:54.775806", "290309-12-22 (BC) 00:00:00", "1e5", "", " ", "x"),
    *("\0", None),
    *(" 2024-07-01 10:00 ", "\t2024-07-01T10:00Z\n", "20240701", "٢٠٢٤-07-01"),
    "2024-07-01T10:00:00.",
    "2024-07-01 10:00:00." + "9" * 300,
]  # fmt: skip


@pytest.mark.parametrize("outside", ["other", "drop"])
@pytest.mark.parametrize("zone", some_of([None, YORK, "Asia/Kathmandu"], [YORK]))
def test_text_is_read_as_documented_and_never_fails(zone: str | None, outside: str) -> None:
    described = schema(zone, outside)
    if outside == "drop":  # all parts at once would drop nearly every row
        for i in range(1, len(described.attributes)):
            one = schema(zone, outside, [PARTS[i - 1]])
            assert codes(table(TEXTS), one) == expected(TEXTS, one)
    else:
        assert codes(table(TEXTS), described) == expected(TEXTS, described)


def test_hours_are_hours_of_the_zone_and_weekdays_its_days() -> None:
    """By hand, so that the slow version is not wrong in the same way."""
    described = make(
        ROW,
        {"name": "h", "kind": "ordinal", "from": "when", "part": "hour", "zone": YORK},
        {"name": "w", "kind": "ordinal", "from": "when", "part": "weekday", "zone": YORK},
        {"name": "u", "kind": "ordinal", "from": "when", "part": "hour"},
    )
    monday_in_utc = ["2024-07-01T02:30:00Z", "2024-01-01 02:30:00+00:00", "2024-07-01 02:30"]
    found = codes(table(monday_in_utc), described)
    assert found == {0: (22, 6, 2), 1: (21, 6, 2), 2: (2, 0, 2)}


junk = st.text(st.sampled_from("0123456789-:/T Z+.z UTC"), max_size=30)
moments = st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59))
offsets = st.sampled_from(
    ["", "Z", "z", " UTC", "+02", "-0330", "+05:45", " -11:00", "+23:59", "+2"]
)
FORMS = ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S.%f", "%Y/%m/%d %H:%M:%S", "%H:%M"]
written = st.builds(
    lambda moment, form, offset: f"{moment:{form}}{offset}",
    moments,
    st.sampled_from(FORMS),
    offsets,
)


@settings(deadline=None, max_examples=25)
@given(st.lists(written | junk, min_size=1, max_size=40), st.sampled_from(["UTC", "Etc/GMT-14"]))
def test_any_text_is_read_as_documented(texts: list[str], zone: str) -> None:
    described = schema(zone, "other")
    assert codes(table(texts), described) == expected(texts, described)


# ── zones ────────────────────────────────────────────────────────────────────────────────────────


def changes(zone: str) -> Iterator[datetime]:
    """Moments around the changes of a zone's clocks, and some in between."""
    place, day = ZoneInfo(zone), timedelta(days=1)
    moment = datetime(1995, 1, 1, tzinfo=UTC)
    while moment.year < 2030:
        if moment.astimezone(place).utcoffset() != (moment + day).astimezone(place).utcoffset():
            low, high = moment, moment + day
            while high - low > timedelta(seconds=1):
                middle = low + (high - low) / 2
                same = middle.astimezone(place).utcoffset() == low.astimezone(place).utcoffset()
                low, high = (middle, high) if same else (low, middle)
            change = high.replace(microsecond=0)
            for hours in (-25, -2, -1, 0, 1, 2, 23):
                for micros in (-1, 0, 1):
                    yield change + timedelta(hours=hours, microseconds=micros)
        moment += day
    yield moment


@pytest.mark.parametrize("zone", some_of(ZONES, ZONES[::2]))
def test_zones_are_those_of_the_time_zone_database(zone: str) -> None:
    described = schema(zone, "other")
    instants = list(changes(zone))
    slow = expected(instants, described)
    assert codes(table(pa.array(instants, pa.timestamp("us", "UTC"))), described) == slow
    texts = [instant.astimezone(ZoneInfo("Asia/Kathmandu")).isoformat() for instant in instants]
    assert codes(table(texts), described) == slow


def test_moments_without_a_zone_stand_as_they_are() -> None:
    naive = [datetime(2024, 3, 10, 2, 30), datetime(2024, 11, 3, 1, 30), datetime(1, 1, 1)]
    for zone in (None, YORK):
        described = schema(zone, "other")
        slow = expected(naive, described)
        assert codes(table(pa.array(naive, pa.timestamp("us"))), described) == slow
        assert codes(table([moment.isoformat() for moment in naive]), described) == slow


def test_dates_with_a_zone_are_days_of_that_zone_and_without_one_days_as_written() -> None:
    days = {"dates": ["2024-06-29", "2024-07-03"]}
    texts = ["2024-07-01T02:00:00Z", "2024-07-01T02:00:00+09:00", "2024-07-01 02:00"]
    for more, found in (({}, [2, 2, 2]), ({"zone": "UTC"}, [2, 1, 2]), ({"zone": YORK}, [1, 1, 2])):
        described = make(ROW, {"name": "when", "kind": "ordinal", **days, **more})
        assert codes(table(texts), described) == {row: (day,) for row, day in enumerate(found)}


# ── columns with a type ──────────────────────────────────────────────────────────────────────────

INSTANTS = [datetime(2024, 7, 1, 2, 30, tzinfo=UTC), None, datetime(2024, 1, 1, tzinfo=UTC)]


@pytest.mark.parametrize("zone", some_of([None, YORK], [YORK]))
def test_every_way_to_hold_moments_counts_alike(zone: str | None, tmp_path: Path) -> None:
    described = schema(zone, "other")
    zoned = [m and m.astimezone(ZoneInfo("Asia/Tokyo")) for m in INSTANTS]
    forms: dict[str, Any] = {
        **{unit: table(pa.array(INSTANTS, pa.timestamp(unit, "Asia/Tokyo"))) for unit in _UNITS},
        "pandas": pd.DataFrame({"when": pd.to_datetime(zoned), "row": range(3)}),
        "objects": pd.DataFrame({"when": pd.Series(zoned, dtype=object), "row": range(3)}),
        "polars": pl.DataFrame({"when": zoned, "row": range(3)}),
        "text": table([m and m.isoformat() for m in zoned]),
    }
    pq.write_table(forms["us"], tmp_path / "t.parquet")
    forms["parquet"] = tmp_path / "t.parquet"
    slow = expected(INSTANTS, described)
    for name, data in forms.items():
        assert codes(data, described) == slow, name
    naive = [m and m.replace(tzinfo=None) for m in INSTANTS]
    slow = expected(naive, described)
    assert codes(table(pa.array(naive, pa.timestamp("ms"))), described) == slow
    assert codes(pd.DataFrame({"when": naive, "row": range(3)}), described) == slow


_UNITS = ("s", "ms", "us", "ns")


@pytest.mark.parametrize("session", ["Asia/Tokyo", "America/Los_Angeles", "UTC"])
def test_a_connection_s_zone_never_matters(session: str) -> None:
    connection = duckdb.connect()
    connection.execute('CREATE TABLE t ("when" TIMESTAMPTZ, row BIGINT)')
    connection.executemany("INSERT INTO t VALUES (?, ?)", [[m, i] for i, m in enumerate(INSTANTS)])
    native = ibis.duckdb.from_connection(connection).table("t")
    connection.execute(f"SET TimeZone = '{session}'")  # Ibis has set it to UTC
    for zone in (None, YORK):
        described = schema(zone, "other")
        assert codes(native, described) == expected(INSTANTS, described)
    days = {"name": "when", "kind": "ordinal", "dates": ["2023-12-01", "2024-12-31"]}
    assert codes(native, make(ROW, days)) == {0: (213,), 2: (31,)}  # in UTC, as from a file
    labels = {"name": "when", "kind": "ordinal", "labels": ["2024-01-01 00:00:00"]}
    assert codes(native, make(ROW, labels)) == {2: (0,)}
    assert connection.execute("SELECT current_setting('TimeZone')").fetchall() == [(session,)]


def test_the_machine_s_zone_never_matters(monkeypatch: pytest.MonkeyPatch) -> None:
    import time as clock

    described = schema(None, "other")
    for zone in ("Asia/Tokyo", "America/Los_Angeles"):
        monkeypatch.setenv("TZ", zone)
        clock.tzset()
        try:
            data = table(pa.array(INSTANTS, pa.timestamp("us", "Asia/Tokyo")))
            assert codes(data, described) == expected(INSTANTS, described)
        finally:
            monkeypatch.delenv("TZ")
            clock.tzset()


def test_another_calendar_is_refused_where_it_would_decide() -> None:
    connection = duckdb.connect()
    connection.execute("SET Calendar = 'hebrew'")
    connection.execute(
        "CREATE TABLE t AS SELECT TIMESTAMPTZ '2024-07-01 02:30Z' AS \"when\", 0 AS row"
    )
    native = ibis.duckdb.from_connection(connection).table("t")
    with pytest.raises(DataError, match="SET Calendar = 'gregorian'"):
        codes(native, schema(YORK, "other"))
    described = schema(None, "other")
    assert codes(native, described) == expected(INSTANTS[:1], described)


EXTREMES = [
    *("'infinity'", "'-infinity'", "'294247-01-10 04:00:54.775806'"),
    "'290309-12-22 (BC) 00:00:00'",
    *("'0001-12-31 (BC) 23:59:59'", "'10000-01-01'"),
    *("'0001-01-01'", "'9999-12-31 23:59:59.999999'", "NULL", "'2024-07-01 02:30'"),
]  # fmt: skip


@pytest.mark.parametrize(
    "kind", ["TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP_S", "TIMESTAMP_NS", "DATE"]
)
@pytest.mark.parametrize(
    "zone", some_of([None, "Pacific/Kiritimati", "Etc/GMT+12"], [None, "Etc/GMT+12"])
)
def test_no_moment_of_the_engine_makes_it_fail(kind: str, zone: str | None) -> None:
    """Years 1 to 9999 count, and what lies outside moves no other row."""
    engine = ibis.duckdb.connect()
    engine.con.execute(f'CREATE TABLE t (row BIGINT, "when" {kind})')
    for row, text in enumerate(EXTREMES):
        value = f"TRY_CAST(TRY_CAST({text} AS TIMESTAMP) AS {kind})"
        engine.con.execute(f"INSERT INTO t SELECT {row}, {value}")
    parts = PARTS[2:] if kind == "DATE" else PARTS
    described = schema(zone, "other", parts)
    missing = expected([None], described)[0]
    found = codes(engine.table("t"), described)
    assert len(found) == len(EXTREMES)
    outside = 6 if kind != "TIMESTAMP_NS" else 9  # its years end in 2262
    assert {found[row] for row in (*range(outside), 8)} == {missing}
    plain = codes(engine.table("t").filter(ibis._.row == 9), described)
    assert plain[9] == found[9] != missing


def test_times_of_day_have_hours_and_nothing_else(tmp_path: Path) -> None:
    times = [time(0), time(23, 59, 59, 999999), None, time(7, 5)]
    described = schema(YORK, "other", [{"part": "hour"}])
    forms: dict[str, Any] = {
        str(kind): table(pa.array(times, pa.time64("us")).cast(kind, safe=False))
        for kind in (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns"))
    }
    pq.write_table(forms["time64[us]"], tmp_path / "t.parquet")
    forms["parquet"] = tmp_path / "t.parquet"
    forms["objects"] = pd.DataFrame({"when": pd.Series(times, dtype=object), "row": range(4)})
    forms["text"] = table([t and t.isoformat() for t in times])
    engine = ibis.duckdb.connect()
    engine.con.execute(
        "CREATE TABLE t AS SELECT * FROM (VALUES (TIME '00:00', 0), ('23:59:59.999999', 1),"
        " (NULL, 2), ('07:05', 3)) v(\"when\", row)"
    )
    forms["native"] = engine.table("t")
    for name, data in forms.items():
        assert codes(data, described) == {0: (0,), 1: (23,), 2: (24,), 3: (7,)}, name
    odd = pa.array([-1, 86_400, 2**31 - 1, 86_399], pa.int32()).view(pa.time32("s"))
    assert codes(table(odd), described) == {0: (24,), 1: (24,), 2: (24,), 3: (23,)}
    engine.con.execute("CREATE TABLE midnight AS SELECT TIME '24:00:00' AS \"when\", 0 AS row")
    assert codes(engine.table("midnight"), described) == {0: (24,)}
    for part in ({"part": "weekday"}, {"labels": ["07:05:00"]}, {"range": [0, 9]}):
        with pytest.raises(DataError, match="column 'when' is of type time"):
            codes(forms["native"], schema(None, "other", [part]))


@pytest.mark.parametrize(
    ("values", "part", "why"),
    [
        (pa.array([date(2024, 7, 1)]), "hour", "which has no hours"),
        (pa.array([1720000000]), "hour", "the schema asks for the hour of dates and times"),
        (pa.array([2024.0]), "month", "the schema asks for the month of dates and times"),
        (pa.array([True]), "weekday", "the schema asks for the weekday"),
        (pa.array([b"2024"]), "weekday", "plain values"),
    ],
)
def test_types_without_moments_are_refused(values: pa.Array, part: str, why: str) -> None:
    with pytest.raises(DataError, match=why) as refused:
        codes(table(values), schema(None, "other", [{"part": part}]))
    assert "column 'when' is of type" in str(refused.value)


def test_times_that_the_engine_writes_in_its_own_zone_are_refused() -> None:
    engine = ibis.duckdb.connect()
    engine.con.execute('CREATE TABLE t AS SELECT NULL::TIMESTAMPTZ_NS AS "when", 0 AS row')
    for part in ({"part": "hour"}, {"labels": ["x"]}, {"dates": ["2020-01-01", "2020-01-02"]}):
        with pytest.raises(DataError, match="column 'when' is of type"):
            codes(engine.table("t"), schema(None, "other", [part]))


def test_zones_that_are_unknown_are_refused_before_anything_is_counted() -> None:
    for zone in ("Mars/Olympus", "BST"):  # to the engine, that is Bangladesh
        with pytest.raises(SchemaError, match=f"there is no time zone '{zone}'"):
            codes(table(TEXTS), schema(zone, "other"))


# ── several attributes of one column, and prefixes ───────────────────────────────────────────────


def test_columns_are_found_once_whatever_their_case_and_order() -> None:
    described = make(
        {"name": "b", "kind": "ordinal", "from": "when", "part": "month"},
        {"name": "when", "kind": "ordinal", "from": "row", "range": [0, 9]},
        {"name": "a", "kind": "ordinal", "from": "when", "part": "year", "range": [2000, 2030]},
        unit={"column": "id", "max_rows": 1},
    )
    rows = {
        "ID": ["x", "y", "x"],
        "When": ["2024-07-01", "2020-01-02", "2024-07-01"],
        "ROW": [3, 4, 3],
    }
    for data in (pa.table(rows), pd.DataFrame(rows), pl.DataFrame(rows)):
        found = [column.tolist() for column in code_table(data, described).columns]
        assert sorted(zip(*found, strict=True)) == [(0, 4, 20), (6, 3, 24)]


CODES = [
    "36061000100",
    " 36061",
    "3606",
    "36",
    "3",
    "",
    None,
    "36 61",
    "é6061",
    "😀6",
    "ab\u0301c",
    "36047x",
]


@settings(deadline=None, max_examples=25)
@given(
    st.lists(st.text(max_size=8) | st.sampled_from(CODES), min_size=1, max_size=40),
    st.integers(1, 6),
)
def test_a_prefix_is_the_first_characters_of_the_text(texts: list[Any], length: int) -> None:
    texts = [text and text.replace("\0", "") for text in texts]
    stripped = [(text or "").strip(BLANKS)[:length].strip(BLANKS) for text in texts]
    labels = sorted({text for text in stripped if text == text.strip() and text}) or ["-"]
    described = make(
        ROW,
        {"name": "p", "kind": "nominal", "from": "when", "values": labels, "prefix": length,
         "outside": "other"},
    )  # fmt: skip
    spelled = described.attributes[1].values.spellings  # type: ignore[union-attr]
    slow = {row: (spelled.get(text, len(labels)),) for row, text in enumerate(stripped)}
    assert codes(table(pa.array(texts, pa.string())), described) == slow


def test_a_prefix_of_whole_numbers_is_that_of_their_digits() -> None:
    tract = {"kind": "nominal", "from": "when"}
    described = make(
        ROW,
        {"name": "county", **tract, "values": ["36061", "-1"], "prefix": 5},
        {"name": "state", **tract, "values": ["36", "-1"], "prefix": 2},
    )
    values = pa.array([36061000100, 36061, 3606, -1])
    for kind in (pa.int64(), pa.string()):
        assert codes(table(values.cast(kind)), described) == {0: (0, 0), 1: (0, 0), 3: (1, 1)}
    for odd in (pa.array([36061.0]), pa.array([True]), pa.array([date(2024, 1, 1)])):
        with pytest.raises(DataError, match="a prefix is taken of text or whole numbers"):
            codes(table(odd), described)


def test_bits_of_any_pattern_are_moments_or_nothing() -> None:
    rng = np.random.default_rng(5)
    ticks = rng.integers(-(2**63), 2**63 - 1, 2000)
    ticks[:1000] >>= rng.integers(0, 40, 1000)
    described = schema(YORK, "other")
    for unit in _UNITS:
        column = pa.array(ticks).view(pa.timestamp(unit, "UTC"))
        assert len(codes(table(column), described)) == len(ticks)
