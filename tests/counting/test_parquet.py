"""A Parquet file is read in one way, whatever it holds: by what it declares, never by a failure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from slow_encoding import counted, make

from hushtable.errors import DataError
from hushtable.schema import Schema

ROWS = 12
DAYS = [date(2020, 1, 5), date(2020, 1, 6), date(9999, 12, 31)] * (ROWS // 3)
MOMENTS = [datetime(day.year, day.month, day.day, 2, 30) for day in DAYS]
NEAR = [min(moment, datetime(2200, 1, 1)) for moment in MOMENTS]  # where nanoseconds reach
NUMBERS = [0, 1, 9] * (ROWS // 3)
TEXTS = ["0", "1", "2020-01-05"] * (ROWS // 3)


def decimals(kind: pa.DataType) -> pa.Array:
    return pa.array([Decimal(number) for number in NUMBERS], kind)


def numbers(kind: pa.DataType) -> pa.Array:
    return pa.array(NUMBERS, kind)


def bytes_of(size: int) -> list[bytes]:
    return [bytes([number] * size) for number in NUMBERS]


WHOLE = (pa.int8(), pa.int16(), pa.int32(), pa.int64())
UNSIGNED = (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64())
DECIMALS = (
    *(pa.decimal32(4, 2), pa.decimal64(12, 2), pa.decimal128(4, 2), pa.decimal128(38, 2)),
    *(pa.decimal256(30, 2), pa.decimal256(50, 2)),
)
COLUMNS: dict[str, pa.Array] = {
    **{str(kind): numbers(kind) for kind in (*WHOLE, *UNSIGNED, pa.float32(), pa.float64())},
    "float16": pa.array(np.array(NUMBERS, np.float16)),
    "bool": pa.array([number > 0 for number in NUMBERS]),
    **{str(kind): decimals(kind) for kind in DECIMALS},
    "date32": pa.array(DAYS, pa.date32()),
    "date64": pa.array(DAYS, pa.date64()),
    **{
        f"timestamp {unit} {zone}": pa.array(
            NEAR if unit == "ns" else MOMENTS, pa.timestamp(unit, zone)
        )
        for unit in ("s", "ms", "us", "ns")
        for zone in (None, "UTC", "Asia/Tokyo")
    },
    "int96": pa.array(MOMENTS, pa.timestamp("us")),
    "time32": pa.array([time(1)] * ROWS, pa.time32("s")),
    "time64": pa.array([time(1)] * ROWS, pa.time64("us")),
    "duration": pa.array([timedelta(1)] * ROWS),
    "string": pa.array(TEXTS),
    "large string": pa.array(TEXTS, pa.large_string()),
    "string view": pa.array(TEXTS, pa.string_view()),
    "dictionary": pa.array(TEXTS).dictionary_encode(),
    "binary": pa.array(bytes_of(3)),
    "fixed binary": pa.array(bytes_of(3), pa.binary(3)),
    "uuid": pa.array(bytes_of(16), pa.uuid()),
    "json": pa.array(TEXTS, pa.json_()),
    "null": pa.nulls(ROWS),
    "list": pa.array([[number] for number in NUMBERS]),
    "struct": pa.array([{"x": number} for number in NUMBERS]),
    "map": pa.array([[("x", number)] for number in NUMBERS], pa.map_(pa.string(), pa.int64())),
}
LABELS = ["0", "1", "true", "1.0", "1.00", "2020-01-05", "2020-01-05 02:30:00"]
LABELS += ["2020-01-05 02:30:00+00", "01010101-0101-0101-0101-010101010101"]
ATTRIBUTES: dict[str, dict[str, Any]] = {
    "labels": {"kind": "nominal", "values": LABELS, "outside": "other"},
    "range": {"kind": "ordinal", "range": [0, 9], "outside": "other"},
    "edges": {"kind": "ordinal", "edges": [0, 0.5, 9.5], "outside": "clip"},
    "dates": {"kind": "ordinal", "dates": ["1600-01-01", "9999-12-31"], "by": "year"},
}
SEX = {"name": "sex", "kind": "nominal", "values": ["F", "M"], "outside": "drop"}


def with_x(kind: str) -> Schema:
    return make({"name": "x", **ATTRIBUTES[kind]}, SEX)


def any_bytes(values: Sequence[bytes | None]) -> pa.Array:
    """A column that says it is text, whatever its bytes are."""
    return pa.Array.from_buffers(pa.string(), len(values), pa.array(values, pa.binary()).buffers())


def write(folder: Path, name: str, column: pa.Array, odd: bytes | None = None) -> Path:
    sexes = [b"F", b"M"] * (len(column) // 2)
    if odd is not None:
        sexes[7] = odd
    path = folder / f"{'odd' if odd else 'good'}.parquet"
    options = {"use_deprecated_int96_timestamps": name == "int96"}
    pq.write_table(pa.table({"x": column, "sex": any_bytes(sexes)}), path, **options)
    return path


def outcome(data: Any, schema: Schema) -> Counter[int] | str:
    try:
        return counted(data, schema)
    except DataError as refusal:
        assert type(refusal) is DataError, "by its type, not because an engine failed"
        return str(refusal)


@pytest.mark.parametrize("name", COLUMNS)
def test_text_that_is_none_changes_its_own_row_only(name: str, tmp_path: Path) -> None:
    """Whatever type stands beside it, and whatever the schema makes of that."""
    column = COLUMNS[name]
    good, odd = write(tmp_path, name, column), write(tmp_path, name, column, b"\xff")
    counted_somehow = False
    for kind in ATTRIBUTES:
        schema = with_x(kind)
        before, after = outcome(good, schema), outcome(odd, schema)
        if isinstance(before, str) or isinstance(after, str):
            assert before == after and "is of type" in before
            continue
        counted_somehow = True
        assert not after - before and (before - after).total() <= 1
        # The row's sex is gone: it is the one that does not count, unless the other value is why.
        assert before.total() - after.total() == (1 if before.total() == ROWS else 0)
    refused = ("time32", "time64", "duration", "json", "list", "struct", "map")
    assert counted_somehow is (name not in (*refused, "binary", "fixed binary"))


PLAIN = {  # the codes of the three values, by labels, range, edges and years
    "int32": ([0, 1, 9], [0, 1, 9], [0, 1, 1], None),
    "uint64": ([0, 1, 9], [0, 1, 9], [0, 1, 1], None),
    "float16": ([9, 3, 9], [0, 1, 9], [0, 1, 1], "refused"),
    "decimal32(4, 2)": ([9, 4, 9], [0, 1, 9], [0, 1, 1], "refused"),
    "decimal128(38, 2)": ([9, 4, 9], [0, 1, 9], [0, 1, 1], "refused"),
    "decimal256(30, 2)": ([9, 4, 9], [0, 1, 9], [0, 1, 1], "refused"),
    "decimal256(50, 2)": ([9, 3, 9], [0, 1, 9], [0, 1, 1], "refused"),
    "date32": ([5, 9, 9], "refused", "refused", [420, 420, 8399]),
    "date64": ([5, 9, 9], "refused", "refused", [420, 420, 8399]),
    "timestamp ms UTC": ([6, 9, 9], "refused", "refused", [420, 420, 8399]),
    "timestamp us None": ([6, 9, 9], "refused", "refused", [420, 420, 8399]),
    "timestamp ns Asia/Tokyo": ([6, 9, 9], "refused", "refused", [420, 420, 600]),
    "int96": ([6, 9, 9], "refused", "refused", [420, 420, 8399]),
    "uuid": ([9, 8, 9], "refused", "refused", "refused"),
}


@pytest.mark.parametrize("name", PLAIN)
def test_a_file_counts_as_the_same_table_in_memory(name: str, tmp_path: Path) -> None:
    """Each value where its documented meaning puts it."""
    column = COLUMNS[name]
    path = write(tmp_path, name, column)
    memory = pa.table({"x": column, "sex": ["F", "M"] * (ROWS // 2)})
    for kind, codes in zip(ATTRIBUTES, PLAIN[name], strict=True):
        schema = with_x(kind)
        if codes == "refused":
            assert outcome(path, schema) == outcome(memory, schema), kind
            assert isinstance(outcome(path, schema), str), kind
        elif codes is not None:
            expected = Counter(
                {2 * code + sex: 2 * codes.count(code) for code in codes for sex in (0, 1)}
            )
            assert counted(path, schema) == counted(memory, schema) == expected, kind


STORED = {
    **{str(kind): (kind, {}) for kind in (*WHOLE, *UNSIGNED, pa.float32(), pa.float64())},
    **{str(kind): (kind, {}) for kind in (pa.date32(), *DECIMALS)},
    "decimal as int32": (pa.decimal128(4, 2), {"store_decimal_as_integer": True}),
    "decimal as int64": (pa.decimal128(18, 2), {"store_decimal_as_integer": True}),
    **{f"timestamp {unit}": (pa.timestamp(unit), {}) for unit in ("ms", "us", "ns")},
    "int96": (pa.timestamp("ns"), {"use_deprecated_int96_timestamps": True}),
    "float16": (pa.float16(), {}),
    "uuid": (pa.uuid(), {}),
}
WIDTHS = {"INT32": 4, "INT64": 8, "INT96": 12, "FLOAT": 4, "DOUBLE": 8}


def odd_bits(width: int) -> list[bytes]:
    """Ends and neighbours of what so many bytes hold, in either order, and some at random."""
    top = 2 ** (8 * width - 1)
    whole = (0, -1, top - 1, -top, 1 - top, 10**4, 10**9, 10**18, 10**38, 253_402_300_800_000)
    fitting = [value for value in whole if -top <= value < top]
    bits = [v.to_bytes(width, order, signed=True) for v in fitting for order in ("little", "big")]
    return bits + [np.random.default_rng(i).bytes(width) for i in range(20)]


@pytest.mark.parametrize("name", STORED)
def test_a_value_of_any_bits_is_one_odd_value(name: str, tmp_path: Path) -> None:
    """One value after the other is overwritten in the file, beyond what its type allows."""
    kind, options = STORED[name]
    bits = [b"", *odd_bits(16 if name == "uuid" else 12)]
    column = pa.array(NUMBERS * len(bits), pa.int64())
    column = {"uuid": lambda: pa.array(bytes_of(16) * len(bits), kind)}.get(
        name, lambda: _converted(column, kind)
    )()
    fields = [pa.field("x", kind, nullable=False), pa.field("sex", pa.string())]
    table = pa.table([column, ["F"] * len(column)], schema=pa.schema(fields))
    path = tmp_path / "t.parquet"
    pq.write_table(table, path, compression="none", use_dictionary=False, **options)
    schemas = [with_x(kind) for kind in ATTRIBUTES]
    before = [outcome(path, schema) for schema in schemas]
    overwritten = _overwrite(path, len(column))
    after = [outcome(path, schema) for schema in schemas]
    for one, other in zip(before, after, strict=True):
        if isinstance(one, str) or isinstance(other, str):
            assert one == other
            continue
        assert max((one - other).total(), (other - one).total()) <= overwritten
        assert one.total() >= len(column) - overwritten


def _converted(column: pa.Array, kind: pa.DataType) -> pa.Array:
    if pa.types.is_decimal(kind):
        return pa.array([Decimal(value) for value in column.to_pylist()], kind)
    if kind == pa.float16():
        return pa.array(column.to_numpy().astype(np.float16))
    return column.cast(pa.int32()).cast(kind) if kind == pa.date32() else column.cast(kind)


def _overwrite(path: Path, rows: int) -> int:
    """Put odd bits into every twelfth value of the first column; returns how many."""
    with pq.ParquetFile(path) as file:
        leaf, chunk = file.schema.column(0), file.metadata.row_group(0).column(0)
    width = WIDTHS.get(leaf.physical_type) or leaf.length
    end = chunk.data_page_offset + chunk.total_compressed_size
    content, odd = bytearray(path.read_bytes()), odd_bits(width)
    odd = odd[: rows // 12]
    for place, value in enumerate(odd):
        start = end - (rows - 12 * place) * width
        content[start : start + width] = value
    path.write_bytes(content)
    return len(odd)


def test_columns_are_found_by_name_in_each_file(tmp_path: Path) -> None:
    """In any order, and in any spelling that finds them in a file of its own."""
    schema = make({**SEX, "name": "a"}, {**SEX, "name": "b", "outside": "other"})
    first = pa.table({"a": ["F"] * 4, "b": ["M"] * 4})
    others = [
        pa.table({"b": ["M"] * 4, "a": ["F"] * 4}),
        pa.table({"B": ["M"] * 4, "z": [[1]] * 4, "A": ["M"] * 4, "a": ["F"] * 4}),
        pa.table({"a": ["F"] * 4, "A": ["M"] * 4, " B ": ["M"] * 4}),
    ]
    for times, when in ((0, [datetime(2020, 1, 1)] * 4), (1, None)):
        for i, table in enumerate((first, *others)):
            if times == 0:
                table = table.append_column("t", pa.array(when, pa.timestamp("us")))
            pq.write_table(table, tmp_path / f"{i}.parquet")
        assert counted(tmp_path / "*.parquet", schema) == {1: 16}
        odd = others[0].set_column(0, "b", any_bytes([b"M", b"\xff", b"M", b"M"]))
        pq.write_table(odd, tmp_path / "1.parquet")
        assert counted(tmp_path / "*.parquet", schema) == {1: 15, 2: 1}


def test_files_read_by_arrow_are_matched_by_name_as_well(tmp_path: Path) -> None:
    schema = make({**SEX, "name": "a"}, {**SEX, "name": "b"}, {"name": "t", **ATTRIBUTES["dates"]})
    day = pa.array([datetime(1600, 1, 1)] * 2, pa.timestamp("ms"))
    old = day.cast(pa.timestamp("us"))
    pq.write_table(pa.table({"a": ["F"] * 2, "b": ["M"] * 2, "t": day}), tmp_path / "1.parquet")
    flipped = pa.table({"t": old, "B": any_bytes([b"M", b"\xff"]), "A": ["M"] * 2, "a": ["F"] * 2})
    pq.write_table(flipped, tmp_path / "2.parquet", use_deprecated_int96_timestamps=True)
    assert counted(tmp_path / "*.parquet", schema) == {8400: 3}


def test_what_a_file_says_of_all_its_rows_decides_nothing(tmp_path: Path) -> None:
    """A byte that is no text is read as `?`, and stored among the largest of its column: a reader
    that skips by the largest and the least would count it only in some company."""
    schema = make({**SEX, "values": ["?", "@"], "outside": "drop"})
    for company in ([], [b"!"], [b"M"], [b"!", b"M"]):
        column = any_bytes([b"\xff", *company])
        pq.write_table(pa.table({"sex": column}), tmp_path / "t.parquet")
        assert counted(tmp_path / "t.parquet", schema) == {0: 1}, company


@pytest.mark.parametrize("encoding", ["PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY", None])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_broken_text_is_read_alike_however_it_is_stored(
    encoding: str | None, version: str, tmp_path: Path
) -> None:
    """As in memory, and beside a column for which Arrow reads the file."""
    odd = [b"\xff", b"F\xff", b"\xed\xa0\x80", b"\xf0\x9f", b"\xc3" * 70, b"F\0", b"", None, b"F"]
    labels = ["?", "F?", "???", "??", "?" * 70, "F\0", "F"]
    schema = make({**SEX, "values": labels, "outside": "other"})
    table = pa.table({"sex": any_bytes(odd), "t": pa.array([0] * len(odd), pa.timestamp("us"))})
    how: dict[str, Any] = {"use_dictionary": True}
    if encoding is not None:
        how = {"use_dictionary": False, "column_encoding": {"sex": encoding}}
    pq.write_table(table, tmp_path / "t.parquet", data_page_version=version, **how)
    timed = make({**SEX, "values": labels, "outside": "other"}, {"name": "t", **LATER})
    expected = {**dict.fromkeys(range(7), 1), 7: 2}
    for data in (tmp_path / "t.parquet", table):
        assert counted(data, schema) == counted(data, timed) == expected


LATER = {"kind": "ordinal", "dates": ["2020-01-01", "2020-12-31"], "by": "year"}


def test_decimals_of_no_fixed_length_are_refused(tmp_path: Path) -> None:
    """A file that declares them, made by changing what one of fixed length declares."""
    path = write(tmp_path, "x", decimals(pa.decimal128(20, 2)))
    content = path.read_bytes()
    fixed, by_length = b"\x15\x0e", b"\x15\x0c"  # the field `type`, in the footer's encoding
    footer = content.rindex(fixed + b"\x15\x12")  # … and `type_length`, of nine bytes
    path.write_bytes(content[:footer] + by_length + content[footer + 2 :])
    with pytest.raises(DataError, match="column 'x' has decimals of no fixed length"):
        counted(path, with_x("range"))
