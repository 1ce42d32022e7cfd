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
_UNREADABLE = (
    "Postgres could not read the table: check that it is still there and that nobody alters it, and"
    " try again"
)
BUSY = (
    "the table is being altered: somebody else holds a lock on it, or puts another in its place;"
    " try again when that is done"
)
_LOWEST = 130_000  # numbers lose their last zeros there
_PATIENCE = 10  # seconds, to be connected
_BATCH_BYTES = 2**22
# How long a lock is waited for at once: meanwhile, no signal is heard.
_LOCK_WAIT = "1s"
_NOT_NOW = ("55P03", "42P01")  # locked by somebody else, or gone under this name
_SETTINGS = {
    "client_encoding": "UTF8",
    "client_min_messages": "error",  # which the library would print
    "row_security": "off",  # an error, where rows would be hidden
    "idle_in_transaction_session_timeout": "0",
    "lock_timeout": _LOCK_WAIT,
}
_NOBODYS_OWN = {"search_path": "pg_catalog"}  # no function stands in for one of the server's
_BEGIN = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
# What looks for a table must see what became of its name once the table is locked.
_LOOK = "BEGIN ISOLATION LEVEL READ COMMITTED READ ONLY"


class Connection:
    """A connection in a transaction that only reads, and can be stopped.

    With a snapshot, all that it reads is of that state of the database.
    """

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
        self._run(_BEGIN if snapshot else _LOOK)
        if snapshot:
            self._run(f"SET TRANSACTION SNAPSHOT '{snapshot}'")

    def look_again(self) -> None:
        """Release all locks, in a new transaction."""
        self._run("ROLLBACK")
        self._run(_LOOK)

    def lock(self, source: str) -> bool:
        """Keep anybody from changing what these tables are, their heirs too, until the end.

        To plan a query locks all that it would read, and asks for no more than the right to read
        it; LOCK TABLE knows no materialized views. Without success, the transaction is broken.
        """
        try:
            with ExitStack() as held:
                statement = self._statement(held)
                statement.set_sql_query(f"SELECT 1 FROM {source} LIMIT 0")
                statement.execute_update()
        except Exception as problem:
            if getattr(problem, "sqlstate", None) in _NOT_NOW:
                return False
            raise_alone(DataError(_UNREADABLE))
        return True

    def tried(self, query: str) -> list[tuple[Any, ...]] | None:
        """All that a query tells that the server may refuse; the transaction goes on."""
        self._run("SAVEPOINT tried")
        try:
            return self.rows(query)
        except DataError:
            self._run("ROLLBACK TO tried")
            return None
        finally:
            self._run("RELEASE tried")

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """All that a short query tells."""
        found = [[column.to_pylist() for column in batch] for batch in self.batches(query)]
        return [row for columns in found for row in zip(*columns, strict=True)]

    def _run(self, command: str) -> None:
        with silent_engine(_UNREADABLE), ExitStack() as held:
            statement = self._statement(held)
            statement.set_sql_query(command)
            statement.execute_update()

    def _statement(self, held: ExitStack) -> Any:
        statement = self._manager.AdbcStatement(self._connection)
        held.callback(statement.close)
        return statement

    def batches(self, query: str) -> Iterator[Any]:
        """What a query tells, some megabytes at a time."""
        import pyarrow as pa

        with silent_engine(_UNREADABLE), ExitStack() as held:
            statement = self._statement(held)
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
    """One state of a database: a connection that looks for tables and locks them, and others that
    read them as they were when `hold` was called."""

    def __init__(self, address: str, *, own_path: bool = False) -> None:
        self._address = address
        self._settings = _SETTINGS if own_path else _SETTINGS | _NOBODYS_OWN
        self._lock = Lock()
        self._stopped = False
        self.main = Connection(address, self._settings)
        self._busy: list[Connection] = []
        self._idle: list[Connection] = []
        try:
            _check_version(self.main)
        except BaseException:
            self.main.close()
            raise

    def hold(self, source: str | None = None) -> None:
        """Hold the state as it is from here on; nothing gets between it and reading this source.

        Who waits to alter a table lets nobody else begin to read it, so that the connection that
        will read it takes its lock now, not when it is needed.
        """
        ((self._snapshot, self.encoding),) = self.main.rows(
            "SELECT pg_export_snapshot(), current_setting('server_encoding')"
        )
        reader = Connection(self._address, self._settings, self._snapshot)
        self._idle.append(reader)
        if source is not None and not reader.lock(source):
            raise DataError(BUSY)

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        """All that a short query tells of the database as it is now."""
        with self._lock:
            return self.main.rows(query)

    def batches(self, query: str) -> Iterator[Any]:
        """What a query tells of that state, through a connection of its own."""
        with self._joined() as connection:
            yield from connection.batches(query)

    @contextmanager
    def _joined(self) -> Iterator[Connection]:
        with self._lock:
            idle = self._idle.pop() if self._idle else None
        connection = idle or Connection(self._address, self._settings, self._snapshot)
        with self._lock:
            self._busy.append(connection)
            stopped = self._stopped
        whole = False
        try:
            if stopped:
                raise DataError(_UNREADABLE)
            yield connection
            whole = True
        finally:
            with self._lock:
                self._busy.remove(connection)
                self._idle += [connection] * whole
            if not whole:
                connection.close()

    def stop(self) -> None:
        """Let the server end whatever it does for this session."""
        with self._lock:
            self._stopped = True
            for connection in self._busy:
                connection.stop()

    def close(self) -> None:
        """End the transaction, and all connections."""
        with self._lock:
            others = [*self._busy, *self._idle]
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
