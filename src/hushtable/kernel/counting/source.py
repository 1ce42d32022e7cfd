"""Where tables come from: files, data frames, Arrow and Ibis tables, all as one Ibis table.

Text stays text: nothing here looks at values to guess a type, a delimiter or a null, because one
odd row must not change how the others are read. Nothing an engine says reaches the user, since
engines quote values in their messages.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import ExitStack, contextmanager, suppress
from threading import Thread
from typing import Any, TypeVar

from hushtable.errors import DataError, OptionError
from hushtable.kernel.counting.encoding.columns import (
    ColumnError,
    match_columns,
    select_columns,
    uncollated,
)
from hushtable.kernel.counting.engines.spark.tables import is_spark
from hushtable.kernel.counting.readers.csvfile import CsvFormat, csv_source, header_names, is_csv
from hushtable.kernel.counting.readers.elsewhere.remote import RemoteFile
from hushtable.kernel.counting.readers.lakes.table import LakeTable
from hushtable.kernel.counting.readers.otherfiles import ENDINGS, is_other, open_other
from hushtable.kernel.counting.readers.parquet import open_parquet, parquet_names
from hushtable.kernel.counting.readers.paths import (
    File,
    TableIn,
    files_of,
    find_files,
    names_files,
    settled,
)
from hushtable.kernel.counting.readers.readable import readable
from hushtable.kernel.counting.readers.records import LostRecords
from hushtable.kernel.counting.readers.server import is_server, server_table
from hushtable.kernel.counting.readers.sqlite import sqlite_table
from hushtable.kernel.counting.readers.stream import Stream
from hushtable.kernel.counting.readers.values import id_text, value_text
from hushtable.kernel.counting.silence import (
    EngineError,
    hide_progress,
    raise_alone,
    silent_engine,
)
from hushtable.kernel.posix import STOPPING, pthread_sigmask
from hushtable.progress import Listener, listener, nobody
from hushtable.scratch import spill_folder
from hushtable.text import plain

_Result = TypeVar("_Result")

_ON_SPARK = (
    "a table of Spark is counted there, and not looked at here: write some of its rows to Parquet"
    " and look at these"
)
_PARQUET_ENDINGS = (".parquet", ".pq")
_POLARS = (1, 37)
# What a file says of all its rows at once must not decide which of them are read. Besides, a filter
# that is pushed down works out every code a second time, ten times as slowly for numbers in text.
# Nor is a stream, of which nothing is known, ever held as a whole to be looked up in: lists are.
_DISABLED = "filter_pushdown,join_filter_pushdown,statistics_propagation,build_side_probe_side"
SETTINGS = (
    f"SET disabled_optimizers = '{_DISABLED}'",
    # The machine's zone and calendar do not decide what a time is.
    "SET TimeZone = 'UTC'",
    "SET Calendar = 'gregorian'",
)
"""Of every engine that encodes rows, wherever it is."""
_STOPS_SERVER = "hush_stop"


@contextmanager
def open_table(
    data: Any,
    columns: Sequence[str],
    form: CsvFormat | None = None,
    *,
    ids: Collection[str] = (),
    lost: LostRecords | None = None,
) -> Iterator[Any]:
    """An Ibis table with these columns of the data, renamed to c0, c1, …

    In those that hold ids, text that is broken has a mark that no other text has. Records of CSV
    files that are not well-formed are counted among the `lost`, each time they are read.
    """
    import ibis

    data = settled(data)
    with spill_folder() as spill, _told_by_files(data), ExitStack() as held:
        # Extensions are never fetched: counting must not talk to anyone.
        connection = ibis.duckdb.connect(
            temp_directory=str(spill),
            autoinstall_known_extensions=False,
            allow_community_extensions=False,
        )
        try:
            hide_progress(connection.con)
            connection.con.execute("; ".join(SETTINGS))
            with silent_engine("the table could not be opened"):
                table = _any_table(connection, data, columns, form or CsvFormat(), ids, lost, held)
            yield table
        finally:
            connection.disconnect()


@contextmanager
def _told_by_files(data: Any) -> Iterator[None]:
    """Where an engine failed because a file elsewhere did, what was wrong with the file."""
    try:
        yield
    except EngineError:
        for file in files_of(data):
            problem = file.problem if isinstance(file, RemoteFile) else None
            if problem is not None:
                raise_alone(DataError(problem))
        raise


def interruptible(table: Any, work: Callable[[], _Result], others: Sequence[Any] = ()) -> _Result:
    """Let the engine of a table work in another thread, and stop it when a signal comes.

    Signals are handled between the steps of the main thread; an engine can take hours over one.
    Other engines that work for it may be added meanwhile: they are stopped, too.
    """
    tell = listener()
    found: Future[_Result] = Future()
    worker = Thread(target=_fulfil, args=(found, work))
    try:
        _start_undisturbed(worker)
        while not found.done():  # a signal that another thread takes does not end a wait
            wait([found], timeout=0.2)
            _tell_progress(table, tell)
        return found.result()
    except KeyboardInterrupt:
        while worker.is_alive():  # it may be between two queries
            _stop(table.get_backend(), others)
            worker.join(0.1)
        raise


def _stop(connection: Any, others: Sequence[Any]) -> None:
    """Stop what the engine and others do, and a server whose rows they wait for."""
    for engine in (connection.con, *others):
        with suppress(Exception):  # it may have been closed meanwhile
            engine.interrupt()
    getattr(connection, _STOPS_SERVER, lambda: None)()


def _tell_progress(table: Any, tell: Listener) -> None:
    """Tell how far the engine is where it reads the files itself; streams tell it by themselves."""
    if tell is not nobody:
        percent = table.get_backend().con.query_progress()
        if percent >= 0:
            tell(int(10 * percent), 1000)


def _start_undisturbed(worker: Thread) -> None:
    """Start a thread, which will hear no signals; one that comes meanwhile waits for that."""
    before = pthread_sigmask(signal.SIG_BLOCK, STOPPING)
    try:
        worker.start()
    finally:
        pthread_sigmask(signal.SIG_SETMASK, before)


def _fulfil(found: Future[_Result], work: Callable[[], _Result]) -> None:
    try:
        found.set_result(work())
    except BaseException as problem:
        found.set_exception(problem)


def _any_table(
    connection: Any,
    data: Any,
    columns: Sequence[str],
    form: CsvFormat,
    ids: Collection[str],
    lost: LostRecords | None,
    held: ExitStack,
) -> Any:
    import ibis

    if is_spark(data):
        raise DataError(_ON_SPARK)
    if is_server(data):
        return _open_server(connection, data, columns, ids, held)
    if names_files(data):
        return _open_files(connection, data, columns, form, ids, lost)
    if isinstance(data, ibis.Table):
        return _open_ibis(connection, data, columns, ids, held)
    with silent_engine("the table in memory could not be converted to Arrow"):
        return _register(connection, _in_memory(data, columns, ids), columns)


def _register(connection: Any, source: Any, columns: Sequence[str]) -> Any:
    connection.con.register("hush_source", source)
    return select_columns(connection.table("hush_source"), range(len(columns)))


def column_names(data: Any, form: CsvFormat | None = None) -> list[str]:
    """The names of a table's columns, for whoever describes it; not for anyone else's eyes."""
    if is_spark(data):
        raise DataError(_ON_SPARK)
    if is_server(data):
        from hushtable.kernel.counting.readers.postgres.table import postgres_names

        return postgres_names(server_table(data))
    data = settled(data)
    if isinstance(data, LakeTable):
        return list(data.schema.names)
    if names_files(data):
        paths = _checked_files(data)
        path = paths[0]
        if is_other(path):
            return list(open_other(str(path), _table_name(data)).names)
        if is_csv(path):
            return header_names(path, form or CsvFormat())
        with silent_engine(f"{path} is not a readable Parquet or CSV file"):
            return parquet_names(path)
    schema = getattr(data, "schema", None)  # all that a stream of batches tells
    names = (
        getattr(data, "column_names", None)
        or getattr(data, "columns", None)
        or getattr(schema, "names", None)
    )
    if names is None:
        raise DataError("the table must be a path, a pandas, Polars, Arrow or Ibis table")
    return [str(name) for name in names]


# ── files ────────────────────────────────────────────────────────────────────────────────────────


def _table_name(data: Any) -> str | None:
    return data.name if isinstance(data, TableIn) else None


def _checked_files(data: Any) -> list[File]:
    """The files of a table, unless they cannot be read together, or by the name of a table."""
    paths = find_files(data)
    if len(paths) > 1 and any(map(is_other, paths)):
        raise DataError("only CSV and Parquet files are read together; of other files, give one")
    if isinstance(paths[0], RemoteFile) and is_other(paths[0]):
        raise DataError("only CSV and Parquet files are read elsewhere; copy others here first")
    if _table_name(data) is not None and not is_other(paths[0]):
        raise OptionError(f"{paths[0]} is a table by itself: leave out --table (in Python, table=)")
    return paths


def _open_files(
    connection: Any,
    data: Any,
    columns: Sequence[str],
    form: CsvFormat,
    ids: Collection[str],
    lost: LostRecords | None,
) -> Any:
    if isinstance(data, LakeTable):
        from hushtable.kernel.counting.readers.lakes.reading import open_lake

        with silent_engine(f"{data.name} could not be read; check that it is complete"):
            return open_lake(connection, data, columns, ids)
    paths = _checked_files(data)
    shown = paths[0] if len(paths) == 1 else f"{paths[0]} or another file"
    with silent_engine(f"{shown} could not be opened; check that it is complete and readable"):
        if all(str(path).lower().endswith(_PARQUET_ENDINGS) for path in paths):
            return open_parquet(connection, paths, columns, ids)
        if is_other(paths[0]):
            held = open_other(str(paths[0]), _table_name(data))
            return held.open(connection, match_columns(held.names, columns), columns, ids)
        if not all(is_csv(path) for path in paths):
            raise DataError(
                f"{shown} is neither CSV nor Parquet by its ending, nor one of {', '.join(ENDINGS)}"
            )
        stream, positions = csv_source(paths, columns, form, lost)
        connection.con.register("hush_source", stream)
        return select_columns(connection.table("hush_source"), positions)


# ── tables in memory and in other engines ────────────────────────────────────────────────────────


def _in_memory(data: Any, columns: Sequence[str], ids: Collection[str]) -> Any:
    """What the engine reads of a table of another library: every value of it can be read."""
    if type(data).__module__.partition(".")[0] == "polars":
        return _from_polars(data, columns, ids)
    return readable(_arrow(data, columns, ids), columns, ids)


def _arrow(data: Any, columns: Sequence[str], ids: Collection[str]) -> Any:
    import pyarrow as pa

    library = type(data).__module__.partition(".")[0]
    if library == "pandas":
        return _from_pandas(data, columns, ids)
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    elif not isinstance(data, pa.Table | pa.RecordBatchReader):
        if not hasattr(data, "__arrow_c_stream__"):
            raise DataError("the table must be a path, a pandas, Polars, Arrow or Ibis table")
        data = pa.RecordBatchReader.from_stream(data)
    positions = match_columns(data.schema.names, columns)
    if isinstance(data, pa.Table):
        return data.select(positions)
    needed = pa.schema([data.schema.field(position) for position in positions])
    return pa.RecordBatchReader.from_batches(needed, (batch.select(positions) for batch in data))


def _from_pandas(frame: Any, columns: Sequence[str], ids: Collection[str]) -> Any:
    """Column by column; mixed columns become text value by value, so that none sets a type."""
    import pyarrow as pa

    arrays = []
    positions = match_columns([str(name) for name in frame.columns], columns)
    for name, position in zip(columns, positions, strict=True):
        series = frame.iloc[:, position]
        text = id_text if name in ids else value_text
        if hasattr(series, "cat"):
            arrays.append(_texts(series.cat.categories, text).take(_places(series.cat.codes)))
        elif series.dtype == object or getattr(series.dtype, "storage", None) == "python":
            arrays.append(_texts(series, text))
        else:
            arrays.append(pa.Array.from_pandas(series))
    return pa.table(arrays, names=[f"c{i}" for i in range(len(arrays))])


def _from_polars(frame: Any, columns: Sequence[str], ids: Collection[str]) -> Any:
    """Python objects are refused: what Polars hands over is where they lie in memory.

    A lazy frame is worked out while it is read, once for each time that it is, and never held.
    """
    import polars as pl

    present = frame.collect_schema()
    names = [present.names()[i] for i in match_columns(present.names(), columns)]
    for name, column in zip(names, columns, strict=True):
        if present[name] == pl.Object:
            raise ColumnError(column, "object")
    needed = frame.select(names)
    if isinstance(needed, pl.DataFrame):
        return readable(needed.to_arrow(), columns, ids)
    _check_polars(pl.__version__)
    empty = pl.DataFrame(schema=needed.collect_schema()).to_arrow()

    def batches() -> Iterator[Any]:
        for part in needed.collect_batches(maintain_order=False, engine="streaming", lazy=True):
            yield from readable(part.to_arrow(), columns, ids).to_batches()

    return Stream(readable(empty, columns, ids).schema, batches)


def _check_polars(version: str) -> None:
    """Refuse versions that take a frame which fails halfway for one that ends there."""
    if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) < _POLARS:
        raise DataError(
            f"lazy frames need Polars {'.'.join(map(str, _POLARS))}: pip install -U polars, or give"
            " the frame as .collect() makes it"
        )


def _places(codes: Any) -> Any:
    """Where each row's category stands; pandas writes −1 for a missing one."""
    import pyarrow as pa

    return pa.array(codes.to_numpy(), mask=codes.to_numpy() < 0)


def _texts(values: Any, text: Callable[[Any], str | None]) -> Any:
    import pyarrow as pa

    return pa.array([text(value) for value in values], pa.large_string())


def _open_server(
    connection: Any, data: Any, columns: Sequence[str], ids: Collection[str], held: ExitStack
) -> Any:
    """A table of a database server, of which every reading is of one state."""
    from hushtable.kernel.counting.readers.postgres.table import open_postgres

    reading = open_postgres(server_table(data), columns, ids, held)
    setattr(connection, _STOPS_SERVER, reading.stop)
    return _register(connection, reading.stream, columns)


def _open_ibis(
    connection: Any, table: Any, columns: Sequence[str], ids: Collection[str], held: ExitStack
) -> Any:
    """A DuckDB table is counted where it is; of others, the columns are streamed over.

    Engines differ in what they cast and when they fail, so that encoding runs in DuckDB only.
    """
    needed = select_columns(table, match_columns(table.columns, columns))
    engine = table.get_backend().name
    if engine == "duckdb":
        return _own_table(needed)
    with silent_engine("the Ibis table could not be read from its engine"):
        if engine == "sqlite":
            return _register(connection, sqlite_table(needed, columns, ids), columns)
        if engine == "postgres":
            from hushtable.kernel.counting.readers.postgres.ibistable import open_ibis_postgres

            reading = open_ibis_postgres(table, columns, ids, held)
            setattr(connection, _STOPS_SERVER, reading.stop)
            return _register(connection, reading.stream, columns)
        if engine == "polars":
            frame = table.get_backend().compile(table)
            return _register(connection, _in_memory(frame, columns, ids), columns)
    raise DataError(
        f"Ibis tables of {plain(engine)} are not read: export this one to Parquet, and give that"
    )


def _own_table(table: Any) -> Any:
    """A DuckDB table of somebody's own connection, whose text is compared as it is."""
    with silent_engine("the Ibis table could not be read from its engine"):
        asked = table.get_backend().con.execute("SELECT current_setting('default_collation')")
        ((collation,),) = asked.fetchall()
    if collation:
        raise DataError(
            "the connection of the Ibis table takes texts that differ for equal ones: tell it"
            " SET default_collation = ''"
        )
    texts = [name for name, kind in table.schema().items() if kind.is_string()]
    return table.mutate(**{name: uncollated(table[name]) for name in texts})
