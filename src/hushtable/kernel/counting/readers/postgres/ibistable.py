"""Ibis tables of Postgres, read through connections of our own.

Ibis fetches all rows at once, as objects of Python. So its table, or the query that an expression
stands for, is streamed like any other table of Postgres; only what is committed is seen there.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import ExitStack
from typing import Any

from hushtable.kernel.counting.encoding.columns import sql_name
from hushtable.kernel.counting.readers.postgres.table import Reading, open_postgres, open_query
from hushtable.kernel.counting.readers.server import ServerTable


def open_ibis_postgres(
    table: Any, columns: Sequence[str], ids: Collection[str], held: ExitStack
) -> Reading:
    """These columns of an Ibis table, renamed to c0, c1, …"""
    named = server_tables(table)
    if isinstance(table.op(), _stored_tables()):
        return open_postgres(named[0], columns, ids, held)
    backend = table.get_backend()
    query = str(backend.compile(table))
    tables = [one.name for one in named]
    return open_query(_address(backend.con), query, table.columns, tables, columns, ids, held)


def server_tables(table: Any) -> list[ServerTable]:
    """The tables of which an Ibis table is made."""
    address = _address(table.get_backend().con)
    return [ServerTable(address, _sql_name(node)) for node in table.op().find(_stored_tables())]


def _stored_tables() -> Any:
    from ibis.expr.operations import DatabaseTable

    return DatabaseTable


def _sql_name(node: Any) -> str:
    schema = node.namespace.database
    return ".".join(map(sql_name, [schema, node.name] if schema else [node.name]))


def _address(connection: Any) -> str:
    """Where a connection of Ibis leads to, as Postgres' own library takes it."""
    given = {**connection.info.get_parameters(), "password": connection.info.password}
    return " ".join(f"{name}='{_escaped(value)}'" for name, value in given.items() if value)


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("'", "\\'")
