"""Tables of database servers, named by an address and a name.

An address may hold a password, so that it is shown nowhere: not in an error, nor by `repr`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hushtable.errors import DataError
from hushtable.kernel.counting.silence import silent_engine

_POSTGRES = re.compile(r"postgres(ql)?(\+[a-z0-9_]+)?:/", re.IGNORECASE)
_OTHERS = re.compile(
    r"(mysql|mariadb|mssql|sqlserver|oracle|db2|snowflake|bigquery|redshift|clickhouse|trino|presto"
    r"|databricks|cockroachdb|mongodb|sqlite|duckdb|odbc|jdbc)(\+[a-z0-9_]+)?:",
    re.IGNORECASE,
)

_READ: ContextVar[list[str] | None] = ContextVar("_READ", default=None)


@dataclass(frozen=True, repr=False)
class ServerTable:
    """A table of Postgres: where the server is, as its library takes it, and the table's name."""

    address: str
    name: str | None = None

    def __repr__(self) -> str:
        return "ServerTable(...)"


def is_server(data: Any) -> bool:
    """Whether a table is given by the address of a database server."""
    return isinstance(data, ServerTable) or (
        isinstance(data, str | Path) and _is_address(str(data))
    )


def _is_address(text: str) -> bool:
    return _POSTGRES.match(text) is not None or _OTHERS.match(text) is not None


def server_table(data: Any, name: str | None = None) -> ServerTable:
    """The table of this name in the server that an address leads to."""
    if isinstance(data, ServerTable):
        return data
    if not isinstance(data, str) or not _POSTGRES.match(data):
        raise DataError(
            "of database servers, Postgres is read, by an address as text (postgresql://…); export"
            " a table of another one to Parquet, and name a file by its path alone"
        )
    return ServerTable("postgresql://" + data.partition(":/")[2].removeprefix("/"), name)


def identities_of(data: Any) -> list[str]:
    """What is known of tables of Postgres by whatever address; none where the data are elsewhere.

    An address may hold a password, which is no part of it.
    """
    if is_server(data):
        tables = [server_table(data)]
    elif _is_ibis_of_postgres(data):
        from hushtable.kernel.counting.readers.postgres.ibistable import server_tables

        tables = server_tables(data)
    else:
        return []
    from hushtable.kernel.counting.readers.postgres.table import postgres_identities

    return [identity for table in tables for identity in postgres_identities(table)]


@contextmanager
def noting_read() -> Iterator[list[str]]:
    """The identities of the tables of Postgres that are opened meanwhile.

    A name may lead to another table than it did a moment before; these are those that are read.
    """
    noted: list[str] = []
    token = _READ.set(noted)
    try:
        yield noted
    finally:
        _READ.reset(token)


def note_read(tell: Callable[[], list[str]]) -> None:
    """Note what is read, where somebody wants to know."""
    noted = _READ.get()
    if noted is not None:
        noted += tell()


def _is_ibis_of_postgres(data: Any) -> bool:
    if not type(data).__module__.startswith("ibis."):
        return False
    with silent_engine("the Ibis table could not be read from its engine"):
        return bool(data.get_backend().name == "postgres")
