"""No value in an Arrow or Parquet column makes counting fail, or changes how others are read."""

from __future__ import annotations

import re
from datetime import date, time, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hushtable.errors import DataError
from hushtable.kernel.counting import code_table, count_table
from hushtable.kernel.counting.readers.readable import readable
from hushtable.schema import (
    Dates,
    Hierarchy,
    IntegerRange,
    Schema,
    Unit,
    nominal,
    ordinal,
)


def broken_text(values: list[bytes | None]) -> pa.Array:
    """A column that says it is text, whatever its bytes are."""
    return pa.Array.from_buffers(pa.string(), len(values), pa.array(values, pa.binary()).buffers())


def schema(values: Any, unit: Unit | None = None) -> Schema:
    return Schema("t", Fraction(1), (values, ordinal("row", IntegerRange(0, 99))), unit=unit)


TOWN = nominal("v", Hierarchy.flat(["a", "b"]), outside="other")
DAY = ordinal("v", Dates(date(2020, 1, 1), date(2020, 12, 31), "day"), outside="other")
AGE = ordinal("v", IntegerRange(0, 9), outside="other")


def sources(column: Any, folder: Path) -> dict[str, Any]:
    table = pa.table({"v": column, "row": list(range(len(column)))})
    memory = {"table": table, "reader": table.to_reader(max_chunksize=1)}
    if pa.types.is_timestamp(column.type) and column.type.unit == "s":
        return memory  # Parquet has no seconds
    pq.write_table(table, folder / "t.parquet")
    pq.write_table(table, folder / "d.parquet", use_dictionary=False)
    files = {"file": folder / "t.parquet", "no dictionary": str(folder / "d.parquet")}
    return memory | files


@pytest.mark.parametrize("attribute", [TOWN, DAY, AGE], ids=["label", "date", "number"])
def test_bytes_that_are_no_text_are_one_odd_value(tmp_path: Path, attribute: Any) -> None:
    column = broken_text([b"a", b"2020-01-02", b"5", b"\xff\xfe", None, b"b"])
    expected = {
        TOWN: [0, 2, 2, 2, 2, 1],
        DAY: [366, 1, 366, 366, 366, 366],
        AGE: [10, 10, 5, 10, 10, 10],
    }
    for name, source in sources(column, tmp_path).items():
        codes, rows = code_table(source, schema(attribute)).columns
        got = dict(zip(rows.tolist(), codes.tolist(), strict=True))
        assert [got[row] for row in range(6)] == expected[attribute], name


def test_categories_may_be_no_text_either() -> None:
    """Half of a label and a stray byte are not the label."""
    words = broken_text([b"a", b" a\xff ", b"b"])
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 1, None], pa.int8()), words)
    table = pa.table({"v": column, "row": list(range(5))})
    for source in (table, table.to_reader(max_chunksize=2)):
        codes, rows = code_table(source, schema(TOWN)).columns
        got = dict(zip(rows.tolist(), codes.tolist(), strict=True))
        assert [got[row] for row in range(5)] == [0, 2, 1, 2, 2]


def test_an_id_that_is_no_text_is_nobody_s(tmp_path: Path) -> None:
    """Marks in the place of bytes that are no text would make one person of two.

    An id with a question mark is a person's like any other.
    """
    column = broken_text([b"p", b"p", b"M\xfcller", b"M\xf6ller", b"M?ller", None])
    described = Schema("t", Fraction(1), (ordinal("row", IntegerRange(0, 99)),), unit=Unit("v", 2))
    for source in sources(column, tmp_path).values():
        counts = count_table(source, described)
        assert counts.counts.tolist() == [1, 1, 1] and counts.codes.tolist() == [0, 1, 4]


@pytest.mark.parametrize("odd", [0, 700, 1999])
def test_one_broken_text_among_many_leaves_the_others_as_they_are(odd: int) -> None:
    values = [f"t{i}".encode() for i in range(2000)]
    expected = [value.decode() for value in values]
    values[odd], expected[odd] = b"x\xffy", "x?y"
    table = readable(pa.table({"v": broken_text(values)}), ["v"])
    assert table["c0"].to_pylist() == expected


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize("attribute", [DAY, TOWN], ids=["date", "label"])
def test_times_beyond_any_calendar_are_odd_values(
    tmp_path: Path, unit: str, zone: str | None, attribute: Any
) -> None:
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    good = 1_577_923_200 * per_second  # 2020-01-02
    ticks = [good, 2**62, -(2**63), 2**63 - 1, -9223372022400000001, None]
    column = pa.array(ticks, pa.int64()).view(pa.timestamp(unit, zone))
    for name, source in sources(column, tmp_path).items():
        codes, rows = code_table(source, schema(attribute)).columns
        got = dict(zip(rows.tolist(), codes.tolist(), strict=True))
        assert len(got) == 6 and got[0] == (1 if attribute is DAY else 2), name


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_the_years_1_to_9999_are_the_calendar(unit: str) -> None:
    """The first and the last tick are clipped as times; those beyond are none, and dropped."""
    per_second = {"s": 1, "ms": 10**3, "us": 10**6}[unit]
    first, beyond = (seconds * per_second for seconds in (-62_135_596_800, 253_402_300_800))
    column = pa.array([first - 1, first, beyond - 1, beyond], pa.int64()).view(pa.timestamp(unit))
    clipped = ordinal("v", Dates(date(2020, 1, 1), date(2020, 12, 31), "day"), outside="clip")
    table = pa.table({"v": column, "row": list(range(4))})
    codes, rows = code_table(table, schema(clipped)).columns
    assert dict(zip(rows.tolist(), codes.tolist(), strict=True)) == {1: 0, 2: 365}


DECIMALS = [
    *(pa.decimal32(4, 2), pa.decimal64(12, 2), pa.decimal128(4, 2), pa.decimal128(38, 2)),
    *(pa.decimal256(30, 2), pa.decimal256(60, 2)),
]


@pytest.mark.parametrize("attribute", [AGE, TOWN], ids=["number", "label"])
@pytest.mark.parametrize("kind", DECIMALS, ids=str)
def test_decimals_of_more_digits_than_their_type_has_are_odd_values(
    kind: Any, attribute: Any
) -> None:
    """Arrow stores what it is given; the engine fails on the least of 128 bits."""
    width = kind.bit_width // 8
    top = 2 ** (kind.bit_width - 1)
    beyond = [value for value in (top - 1, -top, 10**kind.precision) if -top <= value < top]
    units = [300, *beyond, 10**kind.precision - 1]
    content = b"".join(value.to_bytes(width, "little", signed=True) for value in units)
    column = pa.Array.from_buffers(kind, len(units), [None, pa.py_buffer(content)])
    clipped = ordinal("v", IntegerRange(0, 9), outside="clip") if attribute is AGE else attribute
    table = pa.table({"v": column, "row": list(range(len(units)))})
    codes, rows = code_table(table, schema(clipped)).columns
    got = dict(zip(rows.tolist(), codes.tolist(), strict=True))
    if attribute is AGE:  # those beyond are none, and dropped; the last is the largest there is
        assert got == {0: 3, len(units) - 1: 9}
    else:
        assert got == dict.fromkeys(range(len(units)), 2)


def test_decimals_that_no_number_of_digits_can_write_are_refused() -> None:
    for kind in (pa.decimal128(5, -2), pa.decimal128(5, 7)):
        with pytest.raises(DataError, match="column 'v' is of type decimal128"):
            count_table(pa.table({"v": pa.nulls(1, kind), "row": [0]}), schema(AGE))


def test_columns_in_pieces_are_columns() -> None:
    """Of several chunks, none, or runs; each column broken at places of its own."""
    texts = pa.chunked_array([broken_text([b"a", b"\xff"]), broken_text([]), broken_text([b"b"])])
    categories = pa.chunked_array([pa.array([word]).dictionary_encode() for word in "aab"])
    runs = pa.RunEndEncodedArray.from_arrays(
        pa.array([2, 3], pa.int32()), broken_text([b"a", b"b"])
    )
    expected = {0: [0, 2, 1], 1: [0, 0, 1], 2: [0, 0, 1]}
    for number, column in enumerate((texts, categories, runs)):
        table = pa.table({"v": column, "row": pa.chunked_array([[0], [1, 2]])})
        for source in (table, table.to_reader(max_chunksize=2)):
            codes, rows = code_table(source, schema(TOWN)).columns
            got = dict(zip(rows.tolist(), codes.tolist(), strict=True))
            assert [got[row] for row in range(3)] == expected[number]
    none = pa.table(
        {"v": pa.chunked_array([], pa.string()), "row": pa.chunked_array([], pa.int8())}
    )
    assert not len(count_table(none, schema(TOWN)).codes)


def frames() -> dict[str, Any]:
    """Types of pandas and Polars that Arrow has no plain values for, with two rows each."""
    return {
        "pandas period": pd.DataFrame({"v": pd.period_range("2020-01", periods=2, freq="M")}),
        "pandas interval": pd.DataFrame({"v": pd.interval_range(0, 2)}),
        "pandas timedelta": pd.DataFrame({"v": pd.to_timedelta([1, 2], unit="s")}),
        "polars duration": pl.DataFrame({"v": [timedelta(1), timedelta(2)]}),
        "polars time": pl.DataFrame({"v": [time(1), time(2)]}),
        "polars list": pl.DataFrame({"v": [[1], [2]]}),
        "polars object": pl.DataFrame({"v": pl.Series([object(), object()], dtype=pl.Object)}),
    }


@pytest.mark.parametrize("name", frames())
def test_types_of_data_frames_that_are_no_plain_values_are_refused(name: str) -> None:
    frame = frames()[name]
    if isinstance(frame, pl.DataFrame):
        frame = frame.with_columns(row=pl.lit(1))
    else:
        frame["row"] = 1
    with pytest.raises(DataError, match=r"column 'v' is of type .*; the schema needs plain values"):
        count_table(frame, schema(AGE))


def test_decimals_and_zones_of_data_frames_are_read() -> None:
    numbers = pl.DataFrame({"v": ["3", "9.5"], "row": [0, 1]}).cast({"v": pl.Decimal(9, 2)})
    codes, _ = code_table(numbers, schema(AGE)).columns
    assert sorted(codes.tolist()) == [3, 9]
    times = pd.to_datetime(["2020-01-01 05:00", "2020-01-02 12:00"]).tz_localize("Asia/Tokyo")
    frame = pd.DataFrame({"v": times, "row": [0, 1]})
    for data in (frame, pl.from_pandas(frame)):  # the first is the last day of 2019 in UTC
        codes, _ = code_table(data, schema(DAY)).columns
        assert sorted(codes.tolist()) == [1, 366]


@pytest.mark.parametrize("kind", [pa.duration("s"), pa.time64("us"), pa.time32("s")])
def test_spans_and_hours_are_refused_by_their_type(kind: Any) -> None:
    table = pa.table({"v": pa.array([1], kind), "row": [0]})
    with pytest.raises(DataError):
        count_table(table, schema(TOWN))


def test_true_counts_do_not_print_themselves() -> None:
    table = pa.table({"v": ["a"], "row": [77]})
    shown = re.sub(r"0x[0-9a-f]+", "", repr(code_table(table, schema(TOWN))))  # an address
    assert "77" not in shown
    assert "array" not in repr(count_table(table, schema(TOWN)))
