"""Every id is one person's: bytes, question marks and all, in every kind of table."""

from __future__ import annotations

import sqlite3
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import UUID

import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_encoding import counted, make

from hushtable.kernel.counting.readers.values import id_text, value_text

SCHEMA = make(
    {"name": "v", "kind": "ordinal", "range": [0, 9]}, unit={"column": "id", "max_rows": 1}
)


def tables(ids: list[Any], kind: pa.DataType, folder: Path) -> dict[str, Any]:
    """One row of each of these people, as every kind of table that can hold them."""
    table = pa.table({"id": pa.array(ids, kind), "v": [1] * len(ids)})
    pq.write_table(table, folder / "t.parquet")
    found = {
        "arrow": table,
        "stream": table.to_reader(max_chunksize=100),
        "parquet": folder / "t.parquet",
        "pandas": table.to_pandas(),
        "pandas, arrow": table.to_pandas(types_mapper=pd.ArrowDtype),
    }
    if pa.types.is_string(kind):
        (folder / "t.csv").write_text("id,v\n" + "".join(f"{i},1\n" for i in ids))
        found["csv"] = folder / "t.csv"
    if not pa.types.is_fixed_size_binary(kind):
        found["polars"] = pl.from_arrow(table)
    return found


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary(2)], ids=str)
def test_ids_of_any_bytes_are_all_people(kind: pa.DataType, tmp_path: Path) -> None:
    """A byte that would be a blank, a question mark or no text at all is one like any other."""
    ids = [bytes([first, last]) for first in (7, 63) for last in range(256)]
    if not pa.types.is_fixed_size_binary(kind):
        ids += [b"\x07", b"?"]  # what those with a blank behind it would be without that
    for name, data in tables(ids, kind, tmp_path).items():
        assert counted(data, SCHEMA) == {1: len(ids)}, name


def test_a_question_mark_in_an_id_is_a_character(tmp_path: Path) -> None:
    ids = ["M?ller", "M??ller", "?", "a?", "why?not", "plain"]
    for name, data in tables(ids, pa.string(), tmp_path).items():
        assert counted(data, SCHEMA) == {1: len(ids)}, name


class Name(StrEnum):
    ANNA = "anna"

    def __repr__(self) -> str:
        return "another name"

    __str__ = __repr__


class Alike:
    """All of them are equal; each prints itself otherwise."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Alike)

    def __hash__(self) -> int:
        return 1


SINGLE = np.float32(0.1)
EQUAL: dict[str, list[Any]] = {
    "bytes": [b"x", bytearray(b"x"), memoryview(b"x"), memoryview(b"zxz")[1:2], np.bytes_(b"x")],
    "decimals": [Decimal("1.1"), Decimal("1.10"), Decimal("11E-1"), Fraction(11, 10)],
    "large": [10**30, Decimal("1E+30"), Decimal(10**30), Fraction(10**30), Decimal("1.0E+30")],
    "a large float": [1e30, int(1e30), Decimal(int(1e30)), np.float64(1e30), Fraction(1e30)],
    "a half": [0.5, Fraction(1, 2), Decimal("0.5"), Decimal("0.50"), np.float32(0.5)],
    "a single": [SINGLE, np.float64(SINGLE), float(SINGLE), Fraction(float(SINGLE))],
    "whole": [5, 5.0, np.int8(5), np.uint64(5), np.float16(5), Decimal("5.00"), Fraction(5)],
    "zero": [0, 0.0, -0.0, Decimal("-0.00"), Fraction(0), False],
    "one": [True, 1, 1.0, np.bool_(True), np.int64(1)],
    "infinite": [float("inf"), np.float32("inf"), Decimal("Infinity")],
    "thirds": [Fraction(1, 3), Fraction(2, 6)],
    "small": [Decimal("-1E-400"), Fraction(-1, 10**400)],
    "text": ["anna", Name.ANNA, np.str_("anna"), " anna "],
    "uuids": [UUID(int=5), UUID(int=5), str(UUID(int=5))],
    "days": [date(2020, 1, 2), date(2020, 1, 2)],
}
NOBODY: list[Any] = [
    *(None, pd.NA, pd.NaT, float("nan"), Decimal("NaN"), Decimal("sNaN"), 10**5000, 1 + 0j),
    *(Decimal("1E+999999"), Decimal("1E-999999"), Alike(), Alike(), object(), frozenset("ab")),
    *((1,), [1], {1: 1}, np.array([1]), memoryview(np.array([1], np.int32)), timedelta(1)),
    *(datetime(2020, 1, 1), datetime(2020, 1, 1, tzinfo=UTC), pd.Timestamp("2020-01-01")),
    *(np.datetime64("2020-01-01"), np.timedelta64(1, "D"), pd.Interval(0, 1), pd.Period("2020")),
]


def of_objects(ids: list[Any]) -> pd.DataFrame:
    column = pd.Series([None] * len(ids), dtype=object)
    for place, value in enumerate(ids):
        column.iat[place] = value
    return pd.DataFrame({"id": column, "v": [1] * len(ids)})


@pytest.mark.parametrize("kind", EQUAL)
def test_equal_ids_in_a_column_of_objects_are_one_person(kind: str) -> None:
    assert len({(id_text(value) or "").strip() for value in EQUAL[kind]}) == 1
    assert counted(of_objects(EQUAL[kind]), SCHEMA) == {1: 1}


def test_ids_that_differ_in_a_column_of_objects_are_all_people() -> None:
    """Also beside values of which nobody knows when they are equal, which are nobody's."""
    ids = [values[0] for values in EQUAL.values()]
    assert counted(of_objects([*ids, *NOBODY]), SCHEMA) == {1: len(ids)}
    assert [id_text(value) for value in NOBODY] == [None] * len(NOBODY)


# Ibis asks pandas for an option that is on its way out.
@pytest.mark.filterwarnings("ignore:The 'future.infer_string' option is deprecated")
@pytest.mark.parametrize("declared", ["", "REAL", "BLOB", "TEXT"])
def test_ids_of_sqlite_are_one_person_where_they_are_equal(declared: str, tmp_path: Path) -> None:
    """SQLite writes 15 digits of a number, and bytes need be no text: both stay who they are."""
    people: dict[str, list[list[Any]]] = {
        "": [[1, 1.0], [0, 0.0, -0.0], [2.5], [b"ab"], [b"ab "], [b"\xff"], [b"\xfe"], ["anna"]],
        "REAL": [[1234567890123456.0], [1234567890123457.0], [7, "7"], [0.1], [0.1 + 2**-55]],
        "BLOB": [[bytes([n, 255 - n])] for n in range(256)],
        "TEXT": [["anna", "anna "], ["ann"], ["7", 7], ["\u00e9"]],
    }
    database = sqlite3.connect(tmp_path / "people.db")
    database.execute(f"CREATE TABLE people (id {declared}, v INTEGER)")
    rows = [(value,) for person in people[declared] for value in person]
    database.executemany("INSERT INTO people VALUES (?, 1)", rows)
    database.commit()
    database.close()
    connection = ibis.sqlite.connect(tmp_path / "people.db")
    assert counted(connection.table("people"), SCHEMA) == {1: len(people[declared])}
    connection.disconnect()


NUMBERS = st.one_of(
    st.integers(-(10**25), 10**25),
    st.floats(allow_nan=False),
    st.decimals(allow_nan=False),
    st.fractions(),
    st.floats(width=32, allow_nan=False).map(np.float32),
)


@settings(deadline=None, max_examples=500)
@given(NUMBERS)
def test_equal_numbers_have_one_text_whatever_their_type(number: Any) -> None:
    text = id_text(number)
    if text is None:
        assert isinstance(number, Decimal) and abs(number.adjusted()) > 1000
        return
    if text.endswith("inf"):
        same: list[Any] = [float(text), Decimal(text), np.float32(text)]
    else:
        exact = Fraction(*number.as_integer_ratio())
        same = [exact, *([int(exact)] if exact.denominator == 1 else [])]
        same += (
            [Decimal(text)] if Fraction(Decimal(text) if "/" not in text else 0) == exact else []
        )
        same += [float(exact)] if Fraction(float(exact)) == exact else []
    assert {id_text(other) for other in same} == {text}


def test_a_value_that_is_no_id_has_the_text_that_labels_and_dates_have() -> None:
    values = ["", b"5", pd.Interval(0, 1), pd.Period("2020-01"), np.datetime64("2020-01-02")]
    assert [value_text(value) for value in values] == [
        *("", None, "(0, 1]", "2020-01", "2020-01-02 00:00:00")
    ]


def test_times_in_two_zones_are_one_value_by_their_day_in_utc() -> None:
    east = datetime(2020, 1, 2, 1, tzinfo=timezone(timedelta(hours=2)))
    texts = {value_text(east), value_text(east.astimezone(UTC)), value_text(pd.Timestamp(east))}
    assert texts == {"2020-01-01 23:00:00+00:00"}
    days = {"name": "v", "kind": "ordinal", "dates": ["2020-01-01", "2020-01-03"]}
    frame = of_objects([east, east.astimezone(UTC), datetime(2020, 1, 2), date(2020, 1, 3)])
    frame = frame.drop(columns="v").rename(columns={"id": "v"})
    assert counted(frame, make(days)) == {0: 2, 1: 1, 2: 1}
