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
from tests.shared_sizes import some_of

from hushtable.errors import DataError
from hushtable.kernel.counting.silence import EngineError
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
        for zone in (None, "Asia/Tokyo" if unit == "ns" else "UTC")
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


def described(*kinds: str) -> Schema:
    """A schema that reads the same values in several ways, and the sex beside them."""
    return make(*({"name": kind, **ATTRIBUTES[kind]} for kind in kinds), SEX)


def any_bytes(values: Sequence[bytes | None]) -> pa.Array:
    """A column that says it is text, whatever its bytes are."""
    return pa.Array.from_buffers(pa.string(), len(values), pa.array(values, pa.binary()).buffers())


def table_of(column: pa.Array, odd: bytes | None = None) -> pa.Table:
    """The same column for every way of reading it; the sex of one row may be any bytes."""
    sexes = [b"F", b"M"] * (len(column) // 2)
    if odd is not None:
        sexes[7] = odd
    return pa.table({**dict.fromkeys(ATTRIBUTES, column), "sex": any_bytes(sexes)})


def write(path: Path, name: str, table: pa.Table) -> Path:
    pq.write_table(table, path, use_deprecated_int96_timestamps=name == "int96")
    return path


def ways(kind: pa.DataType) -> list[str]:
    """The ways in which a column of this type can be read."""
    is_a = pa.types
    if is_a.is_dictionary(kind):
        return ways(kind.value_type)
    if is_a.is_null(kind) or kind in (pa.string(), pa.large_string(), pa.string_view()):
        return [*ATTRIBUTES]
    if is_a.is_date(kind) or is_a.is_timestamp(kind):
        return ["labels", "dates"]
    if is_a.is_integer(kind):
        return [*ATTRIBUTES]
    if is_a.is_decimal(kind) and kind.precision > 38:  # read as text
        return [*ATTRIBUTES]
    if is_a.is_floating(kind) or is_a.is_decimal(kind) or is_a.is_boolean(kind):
        return ["labels", "range", "edges"]
    return ["labels"] if kind == pa.uuid() else []


def refusal(data: Any, schema: Schema) -> str:
    with pytest.raises(DataError) as caught:
        counted(data, schema)
    assert not isinstance(caught.value, EngineError), "by its type alone"
    return str(caught.value)


@pytest.mark.parametrize("name", some_of(COLUMNS, [*COLUMNS][::3]))
def test_text_that_is_none_changes_its_own_row_only(name: str, tmp_path: Path) -> None:
    """Whatever type stands beside it, and whatever the schema makes of that."""
    column = COLUMNS[name]
    good = write(tmp_path / "good.parquet", name, table_of(column))
    odd = write(tmp_path / "odd.parquet", name, table_of(column, b"\xff"))
    possible = ways(column.type)
    if possible:
        before, after = (counted(path, described(*possible)) for path in (good, odd))
        assert not after - before and (before - after).total() <= 1
        assert before.total() - after.total() == 1 or before.total() < ROWS
    for kind in ATTRIBUTES.keys() - set(possible):
        refused = [refusal(path, described(kind)) for path in (good, odd)]
        assert refused[0] == refused[1] and f"column '{kind}' is of type" in refused[0]


PLAIN: dict[str, dict[str, list[int]]] = {  # the codes of the three values
    "float16": {"labels": [0, 3, 9], "range": [0, 1, 9], "edges": [0, 1, 1]},
    "decimal32(4, 2)": {"labels": [0, 4, 9], "range": [0, 1, 9], "edges": [0, 1, 1]},
    "decimal256(30, 2)": {"labels": [0, 4, 9], "range": [0, 1, 9], "edges": [0, 1, 1]},
    "decimal256(50, 2)": {"labels": [0, 1, 9], "range": [0, 1, 9], "edges": [0, 1, 1]},
    "date64": {"labels": [5, 9, 9], "dates": [420, 420, 8399]},
    "timestamp ms UTC": {"labels": [6, 9, 9], "dates": [420, 420, 8399]},
    "timestamp ns Asia/Tokyo": {"labels": [6, 9, 9], "dates": [420, 420, 600]},
    "int96": {"labels": [6, 9, 9], "dates": [420, 420, 8399]},
    "uuid": {"labels": [9, 8, 9]},
}


@pytest.mark.parametrize("name", PLAIN)
def test_a_file_counts_as_the_same_table_in_memory(name: str, tmp_path: Path) -> None:
    """Each value where its documented meaning puts it."""
    schema = described(*PLAIN[name])
    expected: Counter[int] = Counter()
    for row in range(ROWS):
        code = 0
        for codes, size in zip(PLAIN[name].values(), schema.shape, strict=False):
            code = code * size + codes[row % 3]
        expected[2 * code + row % 2] += 1
    memory = table_of(COLUMNS[name])
    path = write(tmp_path / "t.parquet", name, memory)
    assert counted(path, schema) == expected
    assert counted(memory, schema) == expected


STORED = {
    "uint8": (pa.uint8(), {}),
    "float": (pa.float32(), {}),
    "date32": (pa.date32(), {}),
    "decimal64": (pa.decimal64(12, 2), {}),
    "decimal128": (pa.decimal128(38, 2), {}),
    "decimal256": (pa.decimal256(50, 2), {}),
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


@pytest.mark.parametrize("name", some_of(STORED, [*STORED][::2]))
def test_a_value_of_any_bits_is_one_odd_value(name: str, tmp_path: Path) -> None:
    """Values are overwritten in the file, by bits that their type may not allow."""
    kind, options = STORED[name]
    one = {pa.uuid(): bytes(16), pa.float16(): np.float16(1)}.get(kind, 1)
    possible = ways(kind)
    if pa.types.is_decimal(kind):
        one = Decimal(1)
        possible = [way for way in possible if way != "dates"]
    column = pa.array([one] * 600, kind)
    fields = [pa.field(way, kind, nullable=False) for way in possible]
    table = pa.table([column] * len(fields), schema=pa.schema(fields))
    path = tmp_path / "t.parquet"
    table = table.append_column("sex", [["F"] * len(column)])
    pq.write_table(table, path, compression="none", use_dictionary=False, **options)
    before = counted(path, described(*possible))
    odd = overwrite(path, len(fields), len(column))
    after = counted(path, described(*possible))
    assert before.total() == len(column) and (before - after).total() <= odd
    assert (after - before).total() <= odd


def overwrite(path: Path, columns: int, rows: int) -> int:
    """Put odd bits into every tenth row of the first columns; returns how many rows."""
    with pq.ParquetFile(path) as file:
        leaves = [file.schema.column(i) for i in range(columns)]
        chunks = [file.metadata.row_group(0).column(i) for i in range(columns)]
    content = bytearray(path.read_bytes())
    odd = []
    for leaf, chunk in zip(leaves, chunks, strict=True):
        width = WIDTHS.get(leaf.physical_type) or leaf.length
        end = chunk.data_page_offset + chunk.total_compressed_size
        odd = odd_bits(width)[: rows // 10]
        for place, value in enumerate(odd):
            start = end - (rows - 10 * place) * width
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
    for i, table in enumerate((first, *others)):
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


def test_a_value_beyond_what_a_file_says_of_its_rows_is_read(tmp_path: Path) -> None:
    """Its largest and least may be wrong: they must not decide which rows are looked at."""
    path = tmp_path / "t.parquet"
    fields = pa.schema(
        [pa.field("labels", pa.int64(), nullable=False), pa.field("sex", pa.string())]
    )
    table = pa.table([[5] * 40, ["F"] * 40], schema=fields)
    pq.write_table(table, path, compression="none", use_dictionary=False)
    assert overwrite(path, 1, 40) == 4
    values = {"kind": "nominal", "values": ["0", "-1"], "outside": "drop"}
    assert counted(path, make({"name": "labels", **values})) == {0: 2, 1: 2}


ODD_TEXTS = [b"\xff", b"F\xff", b"\xed\xa0\x80", b"\xf0\x9f", b"\xc3" * 70, b"F\0", b"", None, b"F"]
READ_AS = {**SEX, "values": ["?", "F?", "???", "??", "?" * 70, "F"], "outside": "other"}
TIME = {"name": "t", "kind": "ordinal", "dates": ["2020-01-01", "2020-12-31"], "by": "year"}


@pytest.mark.parametrize(
    ("encoding", "version"),
    [
        ("PLAIN", "1.0"),
        ("DELTA_LENGTH_BYTE_ARRAY", "2.0"),
        ("DELTA_BYTE_ARRAY", "2.0"),
        ("", "1.0"),
    ],
)
def test_broken_text_is_read_alike_however_it_is_stored(
    encoding: str, version: str, tmp_path: Path
) -> None:
    """As in memory, and beside a column for which Arrow reads the file."""
    times = pa.array([0] * len(ODD_TEXTS), pa.timestamp("us"))
    table = pa.table({"sex": any_bytes(ODD_TEXTS), "t": times})
    stored: dict[str, Any] = {"use_dictionary": not encoding, "data_page_version": version}
    if encoding:
        stored["column_encoding"] = {"sex": encoding}
    path = tmp_path / "t.parquet"
    pq.write_table(table, path, **stored)
    expected = {**dict.fromkeys(range(6), 1), 6: 3}
    assert counted(path, make(READ_AS)) == counted(path, make(READ_AS, TIME)) == expected
    assert encoding or counted(table, make(READ_AS)) == expected


def test_decimals_of_no_fixed_length_are_refused(tmp_path: Path) -> None:
    """A file that declares them, made by changing what one of fixed length declares."""
    path = write(tmp_path / "t.parquet", "x", table_of(decimals(pa.decimal128(20, 2))))
    content = path.read_bytes()
    fixed, by_length = b"\x15\x0e", b"\x15\x0c"  # the field `type`, in the footer's encoding
    length = b"\x15\x12"  # `type_length`, of nine bytes
    assert content.count(fixed + length) == len(ATTRIBUTES)
    path.write_bytes(content.replace(fixed + length, by_length + length))
    with pytest.raises(DataError, match="column 'range' is of type decimal of any length"):
        counted(path, described("range"))
