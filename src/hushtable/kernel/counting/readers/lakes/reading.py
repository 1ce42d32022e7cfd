"""Snapshots of lakes as streams, one group of rows of one file after the other.

A column is of the type that the table declares. A file may have been written when it was a narrower
one, or when the table did not have it. Whether that is so is told by types alone.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hushtable.errors import DataError
from hushtable.kernel.counting.encoding.columns import match_columns
from hushtable.kernel.counting.readers.filetable import open_stream
from hushtable.kernel.counting.readers.lakes.table import LakeFile, LakeTable
from hushtable.kernel.counting.readers.parquet import arrow_file, check_column, row_groups
from hushtable.kernel.counting.readers.readable import (
    ID_MARK,
    MARK,
    check_type,
    readable_batch,
    readable_schema,
)
from hushtable.kernel.counting.readers.stream import Stream
from hushtable.progress import Gauge, listener

_FIELD_ID = b"PARQUET:field_id"


@dataclass(frozen=True)
class _Column:
    """A column of a table: its name or number in files, what users call it, what becomes of it."""

    name: str
    number: int | None
    shown: str
    kind: Any
    mark: str


def open_lake(
    connection: Any, table: LakeTable, columns: Sequence[str], ids: Collection[str] = ()
) -> Any:
    """An Ibis table with these columns of a snapshot, renamed to c0, c1, …"""
    import pyarrow as pa

    needed = _needed(table, columns, ids)
    sources = [(file, _found(table, file, needed)) for file in table.files]
    tell = listener()

    def batches() -> Iterator[Any]:
        gauge = Gauge(tell, len(sources))
        for file, names in sources:
            yield from _rows(file, names, needed)
            gauge.add(1)

    fields = [(f"c{i}", column.kind) for i, column in enumerate(needed)]
    return open_stream(connection, Stream(pa.schema(fields), batches))


def _needed(table: LakeTable, columns: Sequence[str], ids: Collection[str]) -> list[_Column]:
    positions = match_columns(table.schema.names, columns)
    fields = [table.schema.field(position) for position in positions]
    for field, shown in zip(fields, columns, strict=True):
        check_type(field.type, shown)
    kinds = readable_schema([field.type for field in fields])
    numbers = table.ids or [None] * len(table.schema)
    return [
        _Column(field.name, numbers[position], shown, kind, ID_MARK if shown in ids else MARK)
        for position, field, shown, kind in zip(positions, fields, columns, kinds, strict=True)
    ]


def _found(table: LakeTable, file: LakeFile, needed: Sequence[_Column]) -> list[str | None]:
    """What a file calls the needed columns, none where it was written without them."""
    with arrow_file(file.file) as opened:
        schema, written = opened.schema_arrow, opened.schema
    names = [_own_name(table, schema, column) for column in needed]
    for name, column in zip(names, needed, strict=True):
        if name is not None and column.name not in file.constants:
            check_column(schema.field(name).type, written, name, column.shown)
            (kind,) = readable_schema([schema.field(name).type])
            if not _widens(kind, column.kind):
                raise DataError(
                    f"column {column.shown!r} is of another type in a file of {table.name} than in"
                    " the table: write the table anew"
                )
    return names


def _own_name(table: LakeTable, schema: Any, column: _Column) -> str | None:
    if column.number is None:
        same = [name for name in schema.names if name == column.name]
    else:
        numbers = {field.name: (field.metadata or {}).get(_FIELD_ID) for field in schema}
        if None in numbers.values():
            raise DataError(
                f"a file of {table.name} does not number its columns, as files do that were added"
                " to it as they were: write the table anew"
            )
        same = [name for name, number in numbers.items() if int(number or 0) == column.number]
    if len(same) > 1:
        raise DataError(f"a file of {table.name} has more than one column {column.shown!r}")
    return same[0] if same else None


def _widens(kind: Any, wanted: Any) -> bool:
    """Whether every value of a type is one of another, or of the same type."""
    import pyarrow as pa

    is_integer, is_float = pa.types.is_signed_integer, pa.types.is_floating
    if (is_integer(kind) and is_integer(wanted)) or (is_float(kind) and is_float(wanted)):
        return bool(kind.bit_width <= wanted.bit_width)
    if pa.types.is_decimal(kind) and pa.types.is_decimal(wanted):
        return bool(kind.scale == wanted.scale and kind.precision <= wanted.precision)
    # Old times of 96 bits say nothing of a zone; in a lake, they are in UTC.
    in_utc = wanted == pa.timestamp("us", "UTC") and kind == pa.timestamp("us")
    return bool(kind == wanted or in_utc)


def _rows(file: LakeFile, names: Sequence[str | None], needed: Sequence[_Column]) -> Iterator[Any]:
    """The rows of a file that were not deleted."""
    import pyarrow as pa

    stored = [
        name
        for name, column in zip(names, needed, strict=True)
        if name is not None and column.name not in file.constants
    ]
    first = 0
    for batch in row_groups(file.file, stored):
        columns = dict(zip(stored, batch.columns, strict=True))
        given = [
            _values(file, len(batch), columns, *pair) for pair in zip(names, needed, strict=True)
        ]
        raw = pa.RecordBatch.from_arrays(given, [f"c{i}" for i in range(len(given))])
        whole = readable_batch(raw, [column.mark for column in needed])
        as_declared = [
            values.cast(column.kind) for values, column in zip(whole.columns, needed, strict=True)
        ]
        made = pa.RecordBatch.from_arrays(as_declared, whole.schema.names)
        if file.kept is not None:
            made = made.filter(pa.array(file.kept[first : first + len(batch)]))
        yield made
        first += len(batch)


def _values(
    file: LakeFile, rows: int, columns: dict[str, Any], name: str | None, column: _Column
) -> Any:
    import pyarrow as pa

    if column.name in file.constants:
        return pa.repeat(file.constants[column.name], rows)
    return pa.nulls(rows, column.kind) if name is None else columns[name]
