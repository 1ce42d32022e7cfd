"""Connections to Postgres: one read-only transaction, whose state every reader of it shares.

What the server or its library say never leaves here: it may quote values, and the address, which
may hold a password.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from threading import Lock
from typing import Any

from hushtable.errors import DataError, OptionError
from hushtable.kernel.counting.silence import raise_alone, silent_engine

_MISSING = "tables of Postgres need a package: pip install 'hushtable[postgres]'"
_UNREACHABLE = (
    "the Postgres database could not be opened: check that its server runs, the address (host,"
    " port, database), the user and the password (PGPASSWORD, PGPASSFILE or a service file)"
)
_UNREADABLE = "Postgres could not read the table: check that it is still there, and try again"
_LOWEST = 130_000  # numbers lose their last zeros there
_PATIENCE = 10  # seconds, to be connected
_BATCH_BYTES = 2**22
_SETTINGS = {
    "client_encoding": "UTF8",
    "client_min_messages": "error",  # which the library would print
    "row_security": "off",  # an error, where rows would be hidden
    "idle_in_transaction_session_timeout": "0",
}
_NOBODYS_OWN = {"search_path": "pg_catalog"}  # no function stands in for one of the server's
_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


class Connection:
    """A connection in a transaction that reads one state of the database, and can be stopped."""

    def __init__(self, address: str, settings: Mapping[str, str], snapshot: str = "") -> None:
        driver, self._manager = _driver()
        self._held = ExitStack()
        try:
            with silent_engine(_UNREACHABLE):
                database = driver.connect(_patient(address))
                self._held.callback(database.close)
                self._connection = self._manager.AdbcConnection(database)
                self._held.callback(self._connection.close)
            self._begin(settings, snapshot)
        except BaseException:
            self.close()
            raise

    def _begin(self, settings: Mapping[str, str], snapshot: str) -> None:
        found = self.rows("SELECT CAST(unnest(current_schemas(false)) AS text)")
        self.path = [str(schema) for (schema,) in found]
        """The schemas whose tables need no other name than their own."""
        to = (f"set_config('{name}', '{value}', false)" for name, value in settings.items())
        self.rows(f"SELECT {', '.join(to)}")
        self._run(_BEGIN)
        if snapshot:
            self._run(f"SET TRANSACTION SNAPSHOT '{snapshot}'")

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """All that a short query tells."""
        found = [[column.to_pylist() for column in batch] for batch in self.batches(query)]
        return [row for columns in found for row in zip(*columns, strict=True)]

    def _run(self, command: str) -> None:
        with silent_engine(_UNREADABLE), ExitStack() as held:
            statement = self._manager.AdbcStatement(self._connection)
            held.callback(statement.close)
            statement.set_sql_query(command)
            statement.execute_update()

    def batches(self, query: str) -> Iterator[Any]:
        """What a query tells, some megabytes at a time."""
        import pyarrow as pa

        with silent_engine(_UNREADABLE), ExitStack() as held:
            statement = self._manager.AdbcStatement(self._connection)
            held.callback(statement.close)
            size = {"adbc.postgresql.batch_size_hint_bytes": str(_BATCH_BYTES)}
            statement.set_options(**size)
            statement.set_sql_query(query)
            handle, _ = statement.execute_query()
            yield from held.enter_context(pa.RecordBatchReader.from_stream(handle))

    def stop(self) -> None:
        """Let the server end what it does for this connection; another thread may ask for it."""
        with suppress(Exception):
            self._connection.cancel()

    def close(self) -> None:
        """End the transaction and the connection."""
        with suppress(Exception):  # of a connection that is broken, nothing is left to be closed
            self._held.close()


class Session:
    """One state of a database: a connection that holds it, and others that read it too."""

    def __init__(self, address: str, *, own_path: bool = False) -> None:
        self._address = address
        self._settings = _SETTINGS if own_path else _SETTINGS | _NOBODYS_OWN
        self._lock = Lock()
        self._stopped = False
        self.main = Connection(address, self._settings)
        self._others: list[Connection] = []
        try:
            _check_version(self.main)
            ((self._snapshot, self.encoding),) = self.main.rows(
                "SELECT pg_export_snapshot(), current_setting('server_encoding')"
            )
        except BaseException:
            self.main.close()
            raise

    def batches(self, query: str) -> Iterator[Any]:
        """What a query tells of that state, through a connection of its own."""
        with self._joined() as connection:
            yield from connection.batches(query)

    @contextmanager
    def _joined(self) -> Iterator[Connection]:
        connection = Connection(self._address, self._settings, self._snapshot)
        with self._lock:
            self._others.append(connection)
            stopped = self._stopped
        try:
            if stopped:
                raise DataError(_UNREADABLE)
            yield connection
        finally:
            with self._lock:
                self._others.remove(connection)
            connection.close()

    def stop(self) -> None:
        """Let the server end whatever it does for this session."""
        with self._lock:
            self._stopped = True
            for connection in self._others:
                connection.stop()

    def close(self) -> None:
        """End the transaction, and all connections."""
        with self._lock:
            others = list(self._others)
        for connection in (*others, self.main):
            connection.close()


@contextmanager
def open_session(address: str, *, own_path: bool = False) -> Iterator[Session]:
    """A session, which is closed in the end. With its user's own search path, tables are found by
    the names that the user gives them."""
    session = Session(address, own_path=own_path)
    try:
        yield session
    finally:
        session.close()


def _driver() -> tuple[Any, Any]:
    try:
        import adbc_driver_manager
        import adbc_driver_postgresql
    except ImportError:
        raise_alone(OptionError(_MISSING))
    return adbc_driver_postgresql, adbc_driver_manager


def _patient(address: str) -> str:
    """The address, with a limit to how long it takes to be connected, unless there is one."""
    if "connect_timeout" in address or "PGCONNECT_TIMEOUT" in os.environ:
        return address
    if "://" not in address:
        return f"{address} connect_timeout={_PATIENCE}"
    return f"{address}{'&' if '?' in address else '?'}connect_timeout={_PATIENCE}"


def _check_version(connection: Connection) -> None:
    """Refuse what only speaks like Postgres, and versions that are too old."""
    ((name, number),) = connection.rows(
        "SELECT version(), CAST(current_setting('server_version_num') AS int4)"
    )
    if not str(name).startswith(("PostgreSQL", "EnterpriseDB")) or number < _LOWEST:
        raise DataError(
            f"the server is no Postgres of version {_LOWEST // 10_000} or newer: export the table"
            " to Parquet"
        )
