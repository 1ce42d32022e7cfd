"""Parquet files: read by the engine where it can read every value, else by Arrow.

The engine is faster, but fails on some values of some types: a time that no calendar has makes it
refuse the whole table. Which of the two reads a table is decided by the types that the files
declare, and never by a failure: read in another way because of one row, others might count
differently.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hushtable.errors import DataError
from hushtable.kernel.counting.encoding.columns import (
    ColumnError,
    match_columns,
    select_columns,
    sql_name,
    sql_paths,
)
from hushtable.kernel.counting.readers.elsewhere.remote import RemoteFile, seekable
from hushtable.kernel.counting.readers.paths import File
from hushtable.kernel.counting.readers.readable import (
    ID_MARK,
    MARK,
    check_type,
    is_long_decimal,
    readable_batch,
    readable_schema,
)
from hushtable.kernel.counting.readers.stream import Stream
from hushtable.progress import Gauge, listener, nobody

# What the engine reads whatever the bits: text with `?` for bytes that are none, numbers, days.
# An id with a real `?` would look like a broken one, so that Arrow reads the text of ids.
_EVERY_VALUE = {
    *("VARCHAR", "BOOLEAN", "FLOAT", "DOUBLE", "DATE", "UUID", "BLOB", '"NULL"'),
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT"),
    *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"),
}


@dataclass(frozen=True)
class _File:
    """What a file declares: all its columns as the engine names them, and those that are needed."""

    path: File
    names: tuple[str, ...]
    positions: tuple[int, ...]
    engine_types: tuple[str, ...]
    rows: int


def open_parquet(
    connection: Any, paths: Sequence[File], columns: Sequence[str], ids: Collection[str] = ()
) -> Any:
    """An Ibis table with these columns of the files, renamed to c0, c1, …

    Files of different types are refused: the engine would cast all to the types of the first, and
    fail or round by what they hold.
    """
    files = [_declared(connection, path, columns) for path in paths]
    if len({file.engine_types for file in files}) > 1:
        raise DataError("the Parquet files do not all have the same types of columns")
    kinds = dict(zip(columns, files[0].engine_types, strict=True))
    text_ids = any(kinds[name] == "VARCHAR" for name in ids)
    elsewhere = any(isinstance(path, RemoteFile) for path in paths)
    if _EVERY_VALUE.issuperset(kinds.values()) and not text_ids and not elsewhere:
        connection.con.execute(f"CREATE TEMP VIEW hush_source AS {_engine_source(files)}")
        if listener() is not nobody:  # it works out how far it is, for whoever asks
            connection.con.execute("SET enable_progress_bar_print = false")
            connection.con.execute("SET enable_progress_bar = true")
    else:
        marks = [ID_MARK if name in ids else MARK for name in columns]
        connection.con.register("hush_source", _arrow_source(files, marks))
    return select_columns(connection.table("hush_source"), range(len(columns)))


def _declared(connection: Any, path: File, columns: Sequence[str]) -> _File:
    with arrow_file(path) as file:
        names, rows = file.schema_arrow.names, file.metadata.num_rows
        positions = match_columns(names, columns)
        types = [file.schema_arrow.types[position] for position in positions]
        for position, kind, column in zip(positions, types, columns, strict=True):
            check_column(kind, file.schema, names[position], column)
    if isinstance(path, RemoteFile):  # Arrow reads it, whatever its types
        kinds = readable_schema(types)
        return _File(path, tuple(names), tuple(positions), tuple(map(str, kinds)), rows)
    described = connection.con.execute(f"DESCRIBE SELECT * FROM {_read([path])}").fetchall()
    return _File(
        path,
        tuple(name for name, *_ in described),
        tuple(positions),
        tuple(
            str(kind) if is_long_decimal(kind) else described[position][1]
            for position, kind in zip(positions, types, strict=True)
        ),
        rows,
    )


def check_column(kind: Any, written: Any, name: str, column: str) -> None:
    """Refuse a column that cannot be read, by its type in Arrow and in the file."""
    check_type(kind, column)
    if _is_decimal_of_any_length(written, name):
        raise ColumnError(column, "decimal of any length")


def _is_decimal_of_any_length(schema: Any, name: str) -> bool:
    """Of which a single one can be too long for its readers."""
    leaves = (schema.column(i) for i in range(len(schema.names)))
    return any(
        leaf.physical_type == "BYTE_ARRAY" and leaf.logical_type.type == "DECIMAL"
        for leaf in leaves
        if leaf.path == name
    )


def _engine_source(files: Sequence[_File]) -> str:
    """One SELECT for all files with the same names; the engine matches columns by these alone."""
    alike: dict[tuple[str, ...], list[_File]] = {}
    for file in files:
        alike.setdefault(file.names, []).append(file)
    selects = []
    for names, group in alike.items():
        needed = (sql_name(names[position]) for position in group[0].positions)
        listed = ", ".join(f"{name} AS c{i}" for i, name in enumerate(needed))
        selects.append(f"SELECT {listed} FROM {_read([str(file.path) for file in group])}")
    return " UNION ALL ".join(selects)


def _read(paths: Sequence[str]) -> str:
    return (
        f"read_parquet({sql_paths(paths)}, hive_partitioning = false,"
        " binary_as_string = false, utf8_validation = 'replace')"
    )


def _arrow_source(files: Sequence[_File], marks: Sequence[str]) -> Stream:
    """A stream of the needed columns in which every value can be read."""
    import pyarrow as pa

    tell = listener()

    def batches() -> Iterator[Any]:
        gauge = Gauge(tell, sum(file.rows for file in files))
        for file in files:
            for batch in _batches(file):
                yield readable_batch(batch, marks)
                gauge.add(len(batch))

    with arrow_file(files[0].path) as first:
        types = [first.schema_arrow.types[position] for position in files[0].positions]
    names = [f"c{i}" for i in range(len(types))]
    return Stream(pa.schema(list(zip(names, readable_schema(types), strict=True))), batches)


def _batches(declared: _File) -> Iterator[Any]:
    with arrow_file(declared.path) as file:
        names = [file.schema_arrow.names[position] for position in declared.positions]
    return row_groups(declared.path, names)


def row_groups(path: File, names: Sequence[str]) -> Iterator[Any]:
    """The needed columns, group of rows by group: what was fetched of one is held, not of all."""
    with arrow_file(path) as file:
        for group in range(file.num_row_groups):
            for batch in file.iter_batches(row_groups=[group], columns=list(dict.fromkeys(names))):
                yield batch.select(names)


def parquet_names(path: File) -> list[str]:
    """The names of a file's columns."""
    with arrow_file(path) as file:
        return list(file.schema_arrow.names)


def arrow_file(path: File) -> Any:
    """A file as Arrow reads it.

    Old times of 96 bits are read in microseconds: nanoseconds end in the year 2262.
    """
    import pyarrow.parquet as pq

    elsewhere = isinstance(path, RemoteFile)
    return pq.ParquetFile(seekable(path), coerce_int96_timestamp_unit="us", pre_buffer=elsewhere)
