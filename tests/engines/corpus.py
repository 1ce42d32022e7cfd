"""Odd values of every type, and schemas over them that tell how each is read.

A table of the corpus has a column for each kind of value, and one with the number of the row. A row
holds one odd value; what stands beside it is plain. A cell says which row it is of, so that counts
tell how every single row was read. An engine that lacks a kind, or cannot hold a value, leaves it
out; all it holds, it must read as DuckDB reads the Arrow table here.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from hushtable.schema import Schema

ROW = "row"
YORK = "America/New_York"


@dataclass(frozen=True)
class Kind:
    """A type of column: values as Arrow stores them, one of them plain, and attributes over it."""

    arrow: Any
    plain: Any
    odd: tuple[Any, ...]
    attributes: tuple[dict[str, Any], ...]

    def column(self, values: Sequence[Any]) -> Any:
        """An Arrow column; bytes in text, and counts of days or microseconds, as they are."""
        stored = _stored_as(self.arrow)
        return pa.array(values, stored).view(self.arrow) if stored else pa.array(values, self.arrow)


def _stored_as(kind: Any) -> Any:
    """What a type is stored as, where not all that it can store is a value of Python."""
    if pa.types.is_string(kind):
        return pa.binary()
    if pa.types.is_date32(kind):
        return pa.int32()
    return pa.int64() if pa.types.is_timestamp(kind) else None


def day(text: str) -> int:
    """A date of the years 1 to 9999 as days since 1970."""
    return (dt.date.fromisoformat(text) - dt.date(1970, 1, 1)).days


def moment(text: str) -> int:
    """A time of the years 1 to 9999 as microseconds since 1970."""
    since = dt.datetime.fromisoformat(text) - dt.datetime(1970, 1, 1)
    return since // dt.timedelta(microseconds=1)


MICROSECONDS = 86_400 * 10**6
FIRST_DAY, LAST_DAY = day("0001-01-01"), day("9999-12-31")
FIRST, LAST = moment("0001-01-01"), moment("9999-12-31T23:59:59.999999")
BC_44, YEAR_20000 = FIRST_DAY - 44 * 365, LAST_DAY + 10_001 * 365
INFINITE_DAYS, INFINITE_TIMES = ((2**n - 1, 1 - 2**n) for n in (31, 63))  # as DuckDB stores them
ZERO_DAY = FIRST_DAY - 1


def _ordinal(**said: Any) -> dict[str, Any]:
    return {"kind": "ordinal", **said}


def _labels(*labels: str) -> dict[str, Any]:
    return {"kind": "nominal", "values": list(labels)}


_RANGE = _ordinal(range=[0, 3])
_EDGES = _ordinal(edges=[-1, 0.5, 2, 10])
_LARGE = _ordinal(edges=[-(2**53) + 1, 0, 2**31, 2**53 - 1])
_MONTHS = _ordinal(dates=["1999-01-01", "2000-12-31"], by="year")
_HOUR = _ordinal(part="hour", edges=[0, 6, 24])
_WEEKDAY = _ordinal(part="weekday", labels=["Monday", "Saturday", "Sunday"])
_DAY_IN_YORK = _ordinal(part="date", dates=["1999-12-31", "2000-01-01"], by="day", zone=YORK)

_LONG = b"x" * 70_000
_TEXTS = (
    *(b"", b" ", b"\t\r\n", b" clerk ", b"Clerk", b"CLERK", b"clerk\0", b"\0", b"cl\0erk"),
    *("é".encode(), "e\u0301".encode(), "É".encode(), "ß".encode(), b"ss", "\u0130".encode()),
    *("\u2028".encode(), "clerk\u00a0".encode(), "\ufeffclerk".encode(), "\ufffd".encode()),
    *("\U0001f600".encode(), "１".encode(), "٣".encode(), "\u202eclerk".encode()),
    *(b"\xff", b"cl\xfferk", b"\xc3", b"\xed\xa0\x80", b"\xc0\x80", b"clerk\xff"),
    *(b"'", b"''", b'"', b'""', b'"clerk"', b"a,b", b"a;b", b"a\tb", b"a\nb", b"a\r\nb", b"\\"),
    *(b"\\N", b"\\x41", b"NULL", b"null", b"NaN", b"nan", b"inf", b"-Infinity", b"N/A", b"--"),
    *(b"0", b"-0", b"-0.0", b"00", b"007", b"1", b"1.0", b"1.", b".5", b"+1", b"+-5", b" 2 "),
    *(b"2.5", b"2.50", b"1e0", b"1e400", b"-1e400", b"1e-400", b"0x10", b"1_000", b"1,000"),
    *(b"$1.50", b"(2)", b"9007199254740993", b"9" * 400, b"0." + b"3" * 400, b"1e99999999999"),
    *(b"true", b"FALSE", b"True", b"t", b"yes", b"on"),
    *(b"1999-12-31", b"2000-1-1", b"2000/01/01", b"2000-02-30", b"0001-01-01", b"9999-12-31"),
    *(b"10000-01-01", b"0044-03-15 BC", b"0044-03-15 (BC)", b"infinity", b"epoch", b"today"),
    *(b"2000-01-01 03:00", b"2000-01-01T03:00:00Z", b"2000-01-01 03:00:00+23:59", b"03:00"),
    *(b"2000-01-01 24:00", b"1999-12-31 23:59:60", b"2000", b"2000-01", b"1900-01-00", b"12:60"),
    *(b"=1+1", b"{}", b"[1]", b"%s", b"$1", b"?", b":x", _LONG, b"1" + b"0" * 5000),
)  # fmt: skip

KINDS: dict[str, Kind] = {
    "text": Kind(
        pa.string(),
        b"1",
        (None, *_TEXTS),
        (
            _labels("clerk", "boss", "é", "1", "2.50", "a,b", "007"),
            _RANGE,
            _EDGES,
            _ordinal(decimal=".", edges=[0, 1, 1000]),
            {"prefix": 2, **_labels("cl", "20", "00", "1")},
            *({"outside": "other", **said} for said in (_MONTHS, _HOUR, _DAY_IN_YORK)),
        ),
    ),
    "tiny": Kind(
        pa.int8(), 1, (None, 0, -1, 3, 4, 2**7 - 1, -(2**7)), (_RANGE, _labels("1", "-1", "127"))
    ),
    "small": Kind(
        pa.int16(), 1, (None, 0, -1, 3, 4, 2**15 - 1, -(2**15)), (_RANGE, _labels("1", "-1"))
    ),
    "integer": Kind(
        pa.int64(),
        1,
        (None, 0, -1, 2, 3, 4, 2**31, -(2**31) - 1, 2**53, 2**53 + 1, 2**63 - 1, -(2**63)),
        (_RANGE, _EDGES, _LARGE, _labels("0", "1", "-1.0", str(2**53), str(2**53 + 1))),
    ),
    "real": Kind(
        pa.float32(),
        1.0,
        (
            *(None, 0.0, -0.0, 0.1, 0.5, 3.99, 16777216.0, 3.4e38, 1e-45),
            *(float("nan"), float("inf"), float("-inf")),
        ),
        (_RANGE, _EDGES, _labels("0", "1", "0.5")),
    ),
    "double": Kind(
        pa.float64(),
        1.0,
        (
            *(None, 0.0, -0.0, 0.5, 2.0, 10.0, 3.9999999999999996, 0.1, 1 / 3, 5e-324, 1e15, 1e100),
            *(2.0**53, 2.0**53 + 2, 1.7976931348623157e308, -1e300),
            *(float("nan"), float("inf"), float("-inf")),
        ),
        (_RANGE, _EDGES, _LARGE, _labels("0", "1", "0.5", "10", "1000000000000000")),
    ),
    "price": Kind(
        pa.decimal128(10, 2),
        Decimal("1.00"),
        (None, *map(Decimal, ("0.00", "-0.01", "0.50", "2.50", "3.99", "10.00", "99999999.99"))),
        (_RANGE, _EDGES, _labels("1", "2.5", "-0.01", "99999999.99")),
    ),
    "number": Kind(  # of any number of digits: in Arrow, text that is as short as it can be
        pa.string(),
        b"1",
        (
            *(
                None,
                b"0",
                b"0.5",
                b"-0.5",
                b"2.5",
                b"3.99",
                b"10",
                b"1" + b"0" * 100,
                b"1" + b"0" * 400,
            ),
            *(b"-1" + b"0" * 400, b"0." + b"0" * 400 + b"1", b"9007199254740993"),
            *(b"NaN", b"Infinity", b"-Infinity", b"0.1" + b"2" * 60),
        ),
        (_RANGE, _EDGES, _LARGE, _labels("1", "2.5", "10.00", "9007199254740993")),
    ),
    "truth": Kind(pa.bool_(), True, (None, False), (_RANGE, _labels("true", "false"))),
    "date": Kind(
        pa.date32(),
        day("2000-01-01"),
        (
            *(None, 0, -1, day("1999-12-31"), day("2000-02-29"), FIRST_DAY, LAST_DAY, LAST_DAY + 1),
            *(ZERO_DAY, BC_44, YEAR_20000, *INFINITE_DAYS),
        ),
        (_MONTHS, _DAY_IN_YORK, _WEEKDAY, _labels("2000-01-01", "0001-01-01")),
    ),
    "time": Kind(
        pa.timestamp("us"),
        moment("2000-01-01T12:00"),
        (
            *(None, 0, -1, moment("2000-01-01"), moment("1999-12-31T23:59:59.999999")),
            *(moment("2262-04-12"), moment("1677-09-21"), FIRST, LAST, FIRST - 1, LAST + 1),
            *(moment("0001-01-01") - 44 * 365 * MICROSECONDS, LAST + 10_000 * 365 * MICROSECONDS),
            *INFINITE_TIMES,
        ),
        (_MONTHS, _HOUR, _WEEKDAY, _DAY_IN_YORK, _labels("2000-01-01 12:00:00")),
    ),
    "instant": Kind(
        pa.timestamp("us", "UTC"),
        moment("2000-01-01T12:00"),
        (
            *(
                None,
                0,
                moment("2000-01-01"),
                moment("2000-01-01T04:59:59"),
                moment("2000-01-01T05:00"),
            ),
            *(moment("1999-12-31T05:00"), moment("1999-12-31T04:59:59")),
            *(FIRST, LAST, FIRST - 1, LAST + 1, LAST + 10_000 * 365 * MICROSECONDS),
            *INFINITE_TIMES,
        ),
        (_MONTHS, _HOUR, _DAY_IN_YORK, _labels("2000-01-01 12:00:00")),
    ),
    "clock": Kind(
        pa.time64("us"),
        dt.time(12),
        (None, dt.time(0), dt.time(5, 59, 59, 999999), dt.time(23, 59, 59, 999999)),
        (_HOUR,),
    ),
    "uuid": Kind(
        pa.string(),
        b"00000000-0000-0000-0000-000000000001",
        (None, b"00000000-0000-0000-0000-000000000000", b"ffffffff-ffff-ffff-ffff-ffffffffffff"),
        (_labels(f"{1:08}-0000-0000-0000-{1:012}", "00000000-0000-0000-0000-000000000001"),),
    ),
}
"""What a column may hold. Bytes are text, integers of `date` and of moments days or microseconds
since 1970, and text of `number` and `uuid` is what their engines' values are written as."""

# Which kinds stand in one table: the domain of a table must be below 2^62 cells.
TABLES: dict[str, tuple[str, ...]] = {
    "texts": ("text", "uuid"),
    "numbers": ("tiny", "small", "integer", "real", "double", "truth"),
    "decimals": ("price", "number"),
    "moments": ("date", "time", "instant", "clock"),
}

IDS = ("text", "integer", "double", "number", "date", "uuid")
"""Kinds that people may be known by."""

COUNTED = ("text", "integer", "double", "number")
"""Kinds that may say how many people a row stands for."""

TOWNS = ("north", "south", "east")

Holds = Callable[[str, Any], bool]
"""Whether an engine can hold a value of a kind."""


def table(kinds: Collection[str], holds: Holds = lambda kind, value: True) -> Any:
    """An Arrow table with a row for each odd value of these kinds, and one in which all are plain.

    Rows that an engine cannot hold are left out; those that stay keep their numbers.
    """
    odd = [(kind, value) for kind in kinds for value in KINDS[kind].odd]
    rows = [(number, *pair) for number, pair in enumerate(odd, start=1) if holds(*pair)]
    columns = {ROW: pa.array([0, *(number for number, *_ in rows)], pa.int64())}
    for name in kinds:
        kind = KINDS[name]
        values = [kind.plain, *(value if of == name else kind.plain for _, of, value in rows)]
        columns[name] = kind.column(values)
    return pa.table(columns)


def schema(kinds: Collection[str], outside: str) -> Schema:
    """All attributes over these kinds; what is outside them becomes `other`, or is dropped, or is
    clipped if it can be, unless an attribute says for itself what becomes of it."""
    rows = sum(len(KINDS[kind].odd) for kind in kinds)
    attributes: list[dict[str, Any]] = [{"name": ROW, "kind": "ordinal", "range": [0, rows]}]
    for kind in kinds:
        for number, said in enumerate(KINDS[kind].attributes):
            labelled = outside == "clip" and ("labels" in said or "values" in said)
            named = {"name": f"{kind} {number}", "from": kind}
            attributes.append(named | {"outside": "other" if labelled else outside} | said)
    return Schema.from_dict({"name": "corpus", "budget": "1", "attribute": attributes})


def splits(rows: Any) -> list[Any]:
    """Parts of a table such that of any two rows, one part has the first and not the second."""
    numbers = rows[ROW].to_numpy()
    bits = range(int(numbers.max()).bit_length())
    return [rows.filter(pa.array((numbers >> bit) & 1 == has)) for bit in bits for has in (0, 1)]


def people(kind: str, holds: Holds = lambda kind, value: True) -> Any:
    """An Arrow table in which every value of a kind is the id of seven rows, some of them alike."""
    ids = [KINDS[kind].plain, *(value for value in KINDS[kind].odd if holds(kind, value))]
    rows = [(place % 3, place * number % 5) for number in range(len(ids)) for place in range(7)]
    return pa.table(
        {
            kind: KINDS[kind].column([value for value in ids for _ in range(7)]),
            "town": pa.array([TOWNS[town] for town, _ in rows]),
            "age": pa.array([age for _, age in rows], pa.int64()),
        }
    )


def schema_of_people(kind: str, max_rows: int) -> Schema:
    """Of each person's rows, so many count."""
    attributes = [{"name": "town", **_labels(*TOWNS)}, {"name": "age", **_ordinal(range=[0, 4])}]
    unit = {"column": kind, "max_rows": max_rows}
    return Schema.from_dict({"name": "p", "budget": "1", "attribute": attributes, "unit": unit})


def schema_of_counts(kind: str) -> Schema:
    """A row stands for as many people as its value of a kind says."""
    attributes = [{"name": ROW, "kind": "ordinal", "range": [0, len(KINDS[kind].odd)]}]
    counts = {"column": kind, "most": 500}
    return Schema.from_dict({"name": "p", "budget": "1", "attribute": attributes, "counts": counts})
