"""SQLite tables, every value as text: their columns hold values of any type, whatever they declare.

Asked for text, SQLite's driver fails on bytes that are none. Every value can be cast to bytes, and
bytes are decoded here: what cannot be decoded becomes a mark of that.
"""

from __future__ import annotations

from typing import Any

_ROWS = 2**16


def sqlite_table(table: Any) -> Any:
    """An Arrow table of text with the rows of an Ibis table of SQLite.

    It is fetched at once: only the thread that opened a connection may use it.
    """
    import ibis
    import pyarrow as pa

    connection = table.get_backend().con
    ((encoding,),) = connection.execute("PRAGMA encoding").fetchall()
    names = table.columns
    wanted = ", ".join(f"CAST({name} AS BLOB)" for name in names)
    cursor = connection.execute(f"SELECT {wanted} FROM ({ibis.to_sql(table, dialect='sqlite')})")
    schema = pa.schema([(name, pa.large_string()) for name in names])
    batches = []
    while rows := cursor.fetchmany(_ROWS):
        columns = (
            [_text(value, encoding) for value in column] for column in zip(*rows, strict=True)
        )
        batches.append(pa.record_batch([pa.array(c, pa.large_string()) for c in columns], schema))
    return pa.Table.from_batches(batches, schema)


def _text(value: bytes | None, encoding: str) -> str | None:
    return None if value is None else value.decode(encoding, "replace")
