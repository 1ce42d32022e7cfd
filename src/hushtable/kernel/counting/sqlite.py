"""SQLite tables, every value as text: their columns hold values of any type, whatever they declare.

Asked for text, SQLite's driver fails on bytes that are none: text is fetched as bytes, and decoded
here. Numbers are fetched as they are, since SQLite itself writes 15 digits of them, and ids that
differ must not become one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from hushtable.kernel.counting.values import id_text, value_text

_ROWS = 2**16


def sqlite_table(table: Any, columns: Sequence[str], ids: Collection[str] = ()) -> Any:
    """An Arrow table of text with the rows of an Ibis table of SQLite, whose columns are these.

    It is fetched at once: only the thread that opened a connection may use it.
    """
    import ibis
    import pyarrow as pa

    connection = table.get_backend().con
    ((encoding,),) = connection.execute("PRAGMA encoding").fetchall()
    names = table.columns
    wanted = ", ".join(f"typeof({name}), {_AS_IT_IS.format(name)}" for name in names)
    cursor = connection.execute(f"SELECT {wanted} FROM ({ibis.to_sql(table, dialect='sqlite')})")
    schema = pa.schema([(name, pa.large_string()) for name in names])
    batches = []
    while rows := cursor.fetchmany(_ROWS):
        parts = list(zip(*rows, strict=True))
        texts = [
            [text(kind, value, encoding) for kind, value in zip(kinds, values, strict=True)]
            for kinds, values, text in zip(
                parts[::2], parts[1::2], [_id if c in ids else _text for c in columns], strict=True
            )
        ]
        batches.append(pa.record_batch([pa.array(t, pa.large_string()) for t in texts], schema))
    return pa.Table.from_batches(batches, schema)


_AS_IT_IS = "CASE typeof({0}) WHEN 'text' THEN CAST({0} AS BLOB) ELSE {0} END"


def _text(kind: str, value: Any, encoding: str) -> str | None:
    is_bytes = kind in ("text", "blob")
    return bytes(value).decode(encoding, "replace") if is_bytes else value_text(value)


def _id(kind: str, value: Any, encoding: str) -> str | None:
    """An id; text that cannot be decoded is marked as such, and nobody's."""
    return bytes(value).decode(encoding, "replace") if kind == "text" else id_text(value)
