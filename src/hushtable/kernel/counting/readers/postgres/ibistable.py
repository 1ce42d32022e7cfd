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
    from ibis.expr.operations import DatabaseTable

    backend, node = table.get_backend(), table.op()
    address = _address(backend.con)
    if isinstance(node, DatabaseTable):
        parts = [node.namespace.database] * bool(node.namespace.database) + [node.name]
        named = ServerTable(address, ".".join(map(sql_name, parts)))
        return open_postgres(named, columns, ids, held)
    query = backend.compile(table)
    return open_query(address, str(query), table.columns, columns, ids, held)


def _address(connection: Any) -> str:
    """Where a connection of Ibis leads to, as Postgres' own library takes it."""
    given = {**connection.info.get_parameters(), "password": connection.info.password}
    return " ".join(f"{name}='{_escaped(value)}'" for name, value in given.items() if value)


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("'", "\\'")
