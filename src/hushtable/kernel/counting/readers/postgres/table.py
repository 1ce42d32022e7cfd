"""A table of Postgres as a stream of columns, every value of which can be read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from hushtable.kernel.counting.encoding.columns import match_columns
from hushtable.kernel.counting.readers.postgres.catalog import (
    Table,
    describe_query,
    find_table,
    identities,
)
from hushtable.kernel.counting.readers.postgres.columns import readable_rows, schema_of, way_of
from hushtable.kernel.counting.readers.postgres.session import Session, open_session
from hushtable.kernel.counting.readers.readable import ID_MARK, MARK
from hushtable.kernel.counting.readers.server import ServerTable
from hushtable.kernel.counting.readers.stream import Stream


def postgres_names(table: ServerTable) -> list[str]:
    """The names of a table's columns."""
    with open_session(table.address) as session:
        return [column.name for column in find_table(session.main, table.name).columns]


def postgres_identities(table: ServerTable) -> list[str]:
    """What is known of a table and its parts by whatever address: nothing of that, nor a value."""
    with open_session(table.address) as session:
        return identities(session.main, table.name)


@dataclass(frozen=True)
class Reading:
    """Columns c0, c1, … as they are streamed, and what lets the server stop."""

    stream: Stream
    stop: Callable[[], None]


def open_postgres(
    table: ServerTable, columns: Sequence[str], ids: Collection[str], held: ExitStack
) -> Reading:
    """These columns of a table. The state that is read is held until `held` is closed."""
    session = held.enter_context(open_session(table.address))
    return _reading(session, find_table(session.main, table.name), columns, ids)


def open_query(
    address: str,
    query: str,
    names: Sequence[str],
    columns: Sequence[str],
    ids: Collection[str],
    held: ExitStack,
) -> Reading:
    """Likewise of a query, whose columns are called so; tables have the names that its user sees.

    Whoever wrote the query answers for what it computes: it may fail by a value.
    """
    session = held.enter_context(open_session(address, own_path=True))
    return _reading(session, describe_query(session.main, query, names), columns, ids)


def _reading(
    session: Session, table: Table, columns: Sequence[str], ids: Collection[str]
) -> Reading:
    positions = match_columns([column.name for column in table.columns], columns)
    needed = [table.columns[position] for position in positions]
    ways = [
        way_of(column, called, session.encoding)
        for column, called in zip(needed, columns, strict=True)
    ]
    marks = [ID_MARK if column in ids else MARK for column in columns]
    selected = ", ".join(f"{way.sql} AS c{i}" for i, way in enumerate(ways))
    query = f"SELECT {selected} FROM {table.source}"

    def batches() -> Iterator[Any]:
        for batch in session.batches(query):
            yield readable_rows(batch, ways, marks)

    return Reading(Stream(schema_of(ways, marks), batches), session.stop)
