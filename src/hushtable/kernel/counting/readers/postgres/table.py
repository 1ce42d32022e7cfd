"""A table of Postgres as a stream of columns, every value of which can be read."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from hushtable.errors import DataError
from hushtable.kernel.counting.encoding.columns import match_columns
from hushtable.kernel.counting.readers.postgres.catalog import (
    Table,
    describe_query,
    find_table,
    identities,
    lock_query,
    lock_table,
)
from hushtable.kernel.counting.readers.postgres.columns import readable_rows, schema_of, way_of
from hushtable.kernel.counting.readers.postgres.session import BUSY, Session, open_session
from hushtable.kernel.counting.readers.readable import ID_MARK, MARK
from hushtable.kernel.counting.readers.server import ServerTable, note_read
from hushtable.kernel.counting.readers.stream import Stream
from hushtable.kernel.counting.silence import EngineError, raise_alone


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
    found = lock_table(session.main, table.name)
    note_read(lambda: identities(session.main, table.name))
    return _reading(session, found, columns, ids, held)


def open_query(
    address: str,
    query: str,
    names: Sequence[str],
    tables: Sequence[str | None],
    columns: Sequence[str],
    ids: Collection[str],
    held: ExitStack,
) -> Reading:
    """Likewise of a query of these tables, whose columns are called so; tables have the names that
    its user sees.

    Whoever wrote the query answers for what it computes: it may fail by a value.
    """
    session = held.enter_context(open_session(address, own_path=True))
    lock_query(session.main, query)
    note_read(lambda: [one for table in tables for one in identities(session.main, table)])
    found = describe_query(session.main, query, names)
    return _reading(session, found, columns, ids, held)


def _reading(
    session: Session,
    table: Table,
    columns: Sequence[str],
    ids: Collection[str],
    held: ExitStack,
) -> Reading:
    session.hold(table.source)
    positions = match_columns([column.name for column in table.columns], columns)
    needed = [table.columns[position] for position in positions]
    ways = [
        way_of(column, called, session.encoding)
        for column, called in zip(needed, columns, strict=True)
    ]
    marks = [ID_MARK if column in ids else MARK for column in columns]
    selected = ", ".join(f"{way.sql} AS c{i}" for i, way in enumerate(ways))
    query = f"SELECT {selected} FROM {table.source}"

    problems = held.enter_context(_told())

    def batches() -> Iterator[Any]:
        try:
            for batch in session.batches(query):
                yield readable_rows(batch, ways, marks)
            _check_same(session, table)
        except DataError as problem:
            problems.append(str(problem))
            raise

    return Reading(Stream(schema_of(ways, marks), batches), session.stop)


@contextmanager
def _told() -> Iterator[list[str]]:
    """Where an engine failed because a reading did, what was wrong with that."""
    problems: list[str] = []
    try:
        yield problems
    except EngineError:
        if problems:
            raise_alone(DataError(problems[0]))
        raise


def _check_same(session: Session, table: Table) -> None:
    """Refuse what was read if it was not of the table alone that was found.

    No lock keeps a schema from being renamed, nor a table from getting more partitions.
    """
    if table.now and session.ask(table.now) != table.was:
        raise DataError(BUSY)
