"""No value in an Arrow or Parquet column makes counting fail, or changes how others are read."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hushtable.counting import code_table, count_table
from hushtable.errors import DataError
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
    words = broken_text([b"a", b"a\xff", b"b"])
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 1, None], pa.int8()), words)
    table = pa.table({"v": column, "row": list(range(5))})
    for source in (table, table.to_reader(max_chunksize=2)):
        codes, rows = code_table(source, schema(TOWN)).columns
        got = dict(zip(rows.tolist(), codes.tolist(), strict=True))
        assert [got[row] for row in range(5)] == [0, 2, 1, 2, 2]


def test_an_id_that_is_no_text_is_an_id(tmp_path: Path) -> None:
    column = broken_text([b"p", b"p", b"\xff\xfe", None])
    described = Schema("t", Fraction(1), (ordinal("row", IntegerRange(0, 99)),), unit=Unit("v", 1))
    for source in sources(column, tmp_path).values():
        assert count_table(source, described).counts.sum() == 2


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


@pytest.mark.parametrize("kind", [pa.duration("s"), pa.time64("us"), pa.time32("s")])
def test_spans_and_hours_are_refused_by_their_type(kind: Any) -> None:
    table = pa.table({"v": pa.array([1], kind), "row": [0]})
    with pytest.raises(DataError):
        count_table(table, schema(TOWN))


def test_true_counts_do_not_print_themselves() -> None:
    table = pa.table({"v": ["a"], "row": [77]})
    assert "77" not in repr(code_table(table, schema(TOWN)))
    assert "array" not in repr(count_table(table, schema(TOWN)))
