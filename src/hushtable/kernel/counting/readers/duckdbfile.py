"""DuckDB database files: their tables, counted where they are.

The engine reads what it wrote itself. Only columns of tables are read, as they are stored: what is
computed on reading, a view or a generated column, may fail by a value or look elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hushtable.kernel.counting.encoding.columns import (
    ColumnError,
    select_columns,
    sql_name,
    sql_text,
)
from hushtable.kernel.counting.readers.filetable import FileTable, OneOf
from hushtable.kernel.counting.readers.sqlite import COMPUTED
from hushtable.kernel.counting.silence import silent_engine

_PLAIN = {
    *("VARCHAR", "BOOLEAN", "FLOAT", "DOUBLE", "DATE", "UUID", "BLOB", "TIME"),
    *("TINYINT", "SMALLINT", "INTEGER", "BIGINT"),
    *("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"),
    *("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE"),
}
_DECIMAL = "DECIMAL"
# Categories, and integers that other types cannot hold: a cast of one that is too large fails.
_AS_TEXT = ("ENUM", "HUGEINT", "UHUGEINT", "BIGNUM", "VARINT")


def open_duckdb(path: str, table: str | None) -> FileTable:
    """A table of a database file, which is opened to be read and never written."""
    with _attached(path) as database:
        places = {_shown(place): place for place in _places(database, "table")}
        views = [_shown(place) for place in _places(database, "view")]
        place = places[OneOf(path, list(places), views).choose(table)]
        described = database.execute(
            "SELECT column_name, data_type, is_generated FROM information_schema.columns WHERE"
            " table_catalog = 'hush_file' AND table_schema = ? AND table_name = ?"
            " ORDER BY ordinal_position",
            place,
        ).fetchall()

    def open_columns(
        engine: Any, positions: Sequence[int], columns: Sequence[str], ids: Collection[str]
    ) -> Any:
        needed = [described[position] for position in positions]
        written = [_written(*pair) for pair in zip(columns, needed, strict=True)]
        selected = [f"{column} AS c{i}" for i, column in enumerate(written)]
        _attach(engine.con, path)
        source = ".".join(map(sql_name, ("hush_file", *place)))
        statement = f"SELECT {', '.join(selected)} FROM {source}"
        engine.con.execute(f"CREATE TEMP VIEW hush_source AS {statement}")
        return select_columns(engine.table("hush_source"), range(len(columns)))

    return FileTable(tuple(name for name, *_ in described), open_columns)


def _written(column: str, declared: tuple[str, str, str]) -> str:
    """How a column is read, in SQL: by its declared type alone."""
    name, kind, generated = declared
    if generated != "NEVER":
        raise ColumnError(column, line=f"column {column!r} {COMPUTED}")
    family = kind.partition("(")[0]
    if kind.endswith("]") or (family not in (*_PLAIN, *_AS_TEXT, _DECIMAL)):
        raise ColumnError(column, family.lower())
    if family in _AS_TEXT:
        return f"CAST({sql_name(name)} AS VARCHAR)"
    # A column may say that 'a' is 'A' to it: a row would have two labels, two people one id.
    return f"{sql_name(name)} COLLATE C" if family == "VARCHAR" else sql_name(name)


@contextmanager
def _attached(path: str) -> Iterator[Any]:
    """A database in memory that has the file beside it."""
    import duckdb

    with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as database:
        _attach(database, path)
        yield database


def _attach(database: Any, path: str) -> None:
    with silent_engine(
        f"{path} could not be opened: check that it is a complete DuckDB database of this version"
        " or an older one, without a password, and that nothing has it open for writing"
    ):
        database.execute(f"ATTACH {sql_text(path)} AS hush_file (TYPE duckdb, READ_ONLY)")


def _places(database: Any, kind: str) -> list[tuple[str, str]]:
    """The schemas and names of all tables, or of all views."""
    found = database.execute(
        f"SELECT schema_name, {kind}_name FROM duckdb_{kind}s()"
        " WHERE database_name = 'hush_file' AND NOT internal ORDER BY ALL"
    )
    return [(str(schema), str(name)) for schema, name in found.fetchall()]


def _shown(place: tuple[str, str]) -> str:
    """A table's name, after that of its schema unless it is the usual one."""
    return place[1] if place[0] == "main" else ".".join(place)
