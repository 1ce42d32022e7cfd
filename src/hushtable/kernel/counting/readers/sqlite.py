"""SQLite tables, every value as text: their columns hold values of any type, whatever they declare.

Asked for text, SQLite's driver fails on bytes that are none: text is fetched as bytes, and decoded
here. Numbers are fetched as they are, since SQLite itself writes 15 digits of them, and ids that
differ must not become one.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Collection, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from hushtable.errors import DataError
from hushtable.kernel.counting.encoding.columns import ColumnError, sql_name, sql_text
from hushtable.kernel.counting.readers.filetable import FileTable, OneOf, open_stream
from hushtable.kernel.counting.readers.stream import Stream, portions
from hushtable.kernel.counting.readers.values import id_text, value_text
from hushtable.kernel.counting.silence import silent_engine

_ROWS = 2**16
_PATIENCE = 5.0  # seconds, where somebody writes
_VIRTUAL = 2  # how SQLite marks a column that it computes whenever it is read


def sqlite_table(table: Any, columns: Sequence[str], ids: Collection[str] = ()) -> Any:
    """The rows of an Ibis table of SQLite, whose columns are these, as text.

    Only the thread that opened a connection may use it. A table of a file is therefore streamed
    through another connection; what only Ibis' own can see, or work out, is fetched at once.
    """
    import ibis
    import pyarrow as pa

    connection, source = table.get_backend().con, f"({ibis.to_sql(table, dialect='sqlite')})"
    file, schema = _file_of(table, connection), _schema(len(columns))

    def batches() -> Iterator[Any]:
        with closing(_connection(file)) as own:
            yield from _batches(own, table.columns, source, columns, ids)

    if file:
        return Stream(schema, batches)
    fetched = _batches(connection, table.columns, source, columns, ids)
    return pa.Table.from_batches(list(fetched), schema)


_IS_TABLE = (
    "SELECT EXISTS (SELECT 1 FROM main.sqlite_master WHERE type = 'table' AND name = ?)"
    " AND NOT EXISTS (SELECT 1 FROM temp.sqlite_master WHERE name = ? COLLATE NOCASE)"
)


def _file_of(table: Any, connection: Any) -> str:
    """Where another connection can read the columns of a stored table; nowhere, if it cannot."""
    from ibis.expr.operations import DatabaseTable, Field, Project

    node = table.op()
    stored = isinstance(node, Project) and isinstance(node.parent, DatabaseTable)
    if not stored or not all(isinstance(column, Field) for column in node.values.values()):
        return ""
    ((is_table,),) = connection.execute(_IS_TABLE, [node.parent.name] * 2)
    files = {name: file for _, name, file in connection.execute("PRAGMA database_list")}
    alone = files.keys() <= {"main", "temp"} and not connection.in_transaction
    file = files["main"] if is_table and alone else ""
    return f"{Path(file).as_uri()}?mode=ro" if file else ""


def open_sqlite(path: str, table: str | None) -> FileTable:
    """A table of a database file, which is opened to be read and never written."""
    _check_complete(path)
    with _opened(path) as connection:
        tables = "type = 'table' AND rootpage > 0 AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        held = OneOf(path, _names(connection, tables), _names(connection, "type = 'view'"))
        name = held.choose(table)
        described = connection.execute(f"PRAGMA table_xinfo({sql_text(name)})").fetchall()
    shown = [(str(column[1]), column[6]) for column in described if column[6] != 1]
    names = [name for name, _ in shown]
    computed = {name for name, hidden in shown if hidden == _VIRTUAL}

    def open_columns(
        engine: Any, positions: Sequence[int], columns: Sequence[str], ids: Collection[str]
    ) -> Any:
        needed = [names[position] for position in positions]
        for column, own in zip(columns, needed, strict=True):
            if own in computed:
                raise ColumnError(column, line=f"column {column!r} {COMPUTED}")

        def batches() -> Iterator[Any]:
            with _opened(path) as connection:
                written = [sql_name(column) for column in needed]
                yield from _batches(connection, written, sql_name(name), columns, ids)

        return open_stream(engine, Stream(_schema(len(columns)), batches))

    return FileTable(tuple(names), open_columns)


COMPUTED = "is computed whenever it is read, and could fail by a value: store it as a column"


_UNREADABLE = (
    "{} could not be opened: check that it is a complete SQLite database, and that no other program"
    " is writing it"
)


def _check_complete(path: str) -> None:
    """Refuse a file that was cut: SQLite takes what a page lacks for zeros, and rows for empty."""
    with silent_engine(_UNREADABLE.format(path)), open(path, "rb") as file:
        start, size = file.read(100), os.fstat(file.fileno()).st_size
        page, pages = int.from_bytes(start[16:18]), int.from_bytes(start[28:32])
        valid = start[24:28] == start[92:96]  # or the number of pages is an old one
        if valid and size < pages * (2**16 if page == 1 else page):
            raise DataError(_UNREADABLE.format(path))


@contextmanager
def _opened(path: str) -> Iterator[Any]:
    """A connection that cannot write; whichever thread reads on has it for itself.

    Of a database that writes ahead, SQLite makes files beside it even to read it, unless it is told
    that nobody writes; that is then ours to find out.
    """
    place = Path(path).resolve()
    with silent_engine(_UNREADABLE.format(path)):
        ahead, before = _writes_ahead(place), _written(place)
        uri = f"{place.as_uri()}?mode=ro" + "&immutable=1" * ahead
        connection = _connection(uri)
        connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
    with closing(connection):
        yield connection
    if ahead and _written(place) != before:
        raise DataError(_UNREADABLE.format(path))


def _connection(uri: str) -> sqlite3.Connection:
    """A connection that threads may hand over to each other, as the engine's do."""
    return sqlite3.connect(uri, uri=True, check_same_thread=False, timeout=_PATIENCE)


def _writes_ahead(place: Path) -> bool:
    """Whether a database keeps what is new in a file beside it; refused where there is any."""
    with place.open("rb") as file:
        ahead = file.read(20)[18:] == b"\2\2"
    beside = place.with_name(f"{place.name}-wal")
    if ahead and beside.exists() and beside.stat().st_size:
        raise DataError(
            f"{place} has changes that are not in it yet, but in a file beside it: close the"
            " programs that have it open, or let one of them run PRAGMA wal_checkpoint(TRUNCATE)"
        )
    return ahead


def _written(place: Path) -> tuple[int, ...]:
    """What is another when a file was written."""
    beside = place.with_name(f"{place.name}-wal")
    files = [place.stat(), *([beside.stat()] if beside.exists() else [])]
    return tuple(number for file in files for number in (file.st_mtime_ns, file.st_size))


def _names(connection: Any, which: str) -> list[str]:
    found = connection.execute(f"SELECT name FROM sqlite_master WHERE {which} ORDER BY rowid")
    return [str(name) for (name,) in found]


def _schema(columns: int) -> Any:
    import pyarrow as pa

    return pa.schema([(f"c{i}", pa.large_string()) for i in range(columns)])


def _batches(
    connection: Any,
    names: Sequence[str],
    source: str,
    columns: Sequence[str],
    ids: Collection[str],
) -> Iterator[Any]:
    """Columns of text, some rows at a time; the names are as SQL writes them."""
    import pyarrow as pa

    ((encoding,),) = connection.execute("PRAGMA encoding").fetchall()
    wanted = ", ".join(f"typeof({name}), {_AS_IT_IS.format(name)}" for name in names)
    cursor = connection.execute(f"SELECT {wanted} FROM {source}")
    ways = [_id if column in ids else _text for column in columns]
    for rows in portions(cursor, _ROWS, _length):
        parts = list(zip(*rows, strict=True))
        texts = [
            [text(kind, value, encoding) for kind, value in zip(kinds, values, strict=True)]
            for kinds, values, text in zip(parts[::2], parts[1::2], ways, strict=True)
        ]
        arrays = [pa.array(text, pa.large_string()) for text in texts]
        yield pa.record_batch(arrays, _schema(len(names)))


def _length(row: tuple[Any, ...]) -> int:
    return sum(len(value) for value in row if isinstance(value, bytes))


_AS_IT_IS = "CASE typeof({0}) WHEN 'text' THEN CAST({0} AS BLOB) ELSE {0} END"


def _text(kind: str, value: Any, encoding: str) -> str | None:
    is_bytes = kind in ("text", "blob")
    return bytes(value).decode(encoding, "replace") if is_bytes else value_text(value)


def _id(kind: str, value: Any, encoding: str) -> str | None:
    """An id; text that cannot be decoded is marked as such, and nobody's."""
    return bytes(value).decode(encoding, "replace") if kind == "text" else id_text(value)
