"""Where tables come from: files, data frames, Arrow and Ibis tables, all as one Ibis table.

Text stays text: nothing here looks at values to guess a type, a delimiter or a null, because one
odd row must not change how the others are read. Nothing an engine says reaches the user, since
engines quote values in their messages.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from threading import Thread
from typing import Any, TypeVar

from hushtable.errors import DataError, OptionError
from hushtable.kernel.counting.encoding.columns import (
    ColumnError,
    match_columns,
    select_columns,
    uncollated,
)
from hushtable.kernel.counting.readers.csvfile import CsvFormat, csv_source, header_names, is_csv
from hushtable.kernel.counting.readers.otherfiles import ENDINGS, is_other, open_other
from hushtable.kernel.counting.readers.parquet import open_parquet
from hushtable.kernel.counting.readers.paths import TableIn, find_files, names_files
from hushtable.kernel.counting.readers.readable import readable
from hushtable.kernel.counting.readers.records import LostRecords
from hushtable.kernel.counting.readers.sqlite import sqlite_table
from hushtable.kernel.counting.readers.stream import Stream
from hushtable.kernel.counting.readers.values import id_text, value_text
from hushtable.kernel.counting.silence import hide_progress, silent_engine
from hushtable.kernel.posix import STOPPING, pthread_sigmask
from hushtable.progress import Listener, listener, nobody
from hushtable.scratch import spill_folder

_Result = TypeVar("_Result")

_PARQUET_ENDINGS = (".parquet", ".pq")
# What a file says of all its rows at once must not decide which of them are read. Besides, a filter
# that is pushed down works out every code a second time, ten times as slowly for numbers in text.
_DISABLED = "filter_pushdown,join_filter_pushdown,statistics_propagation"


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

    with spill_folder() as spill:
        # Extensions are never fetched: counting must not talk to anyone.
        connection = ibis.duckdb.connect(
            temp_directory=str(spill),
            autoinstall_known_extensions=False,
            allow_community_extensions=False,
        )
        try:
            hide_progress(connection.con)
            connection.con.execute(f"SET disabled_optimizers = '{_DISABLED}'")
            # Nor does the machine's zone or calendar decide what a time is.
            connection.con.execute("SET TimeZone = 'UTC'; SET Calendar = 'gregorian'")
            with silent_engine("the table could not be opened"):
                table = _any_table(connection, data, columns, form or CsvFormat(), ids, lost)
            yield table
        finally:
            connection.disconnect()


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
            for engine in (table.get_backend().con, *others):
                with suppress(Exception):  # it may have been closed meanwhile
                    engine.interrupt()
            worker.join(0.1)
        raise


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
) -> Any:
    import ibis

    if names_files(data):
        return _open_files(connection, data, columns, form, ids, lost)
    if isinstance(data, ibis.Table):
        return _open_ibis(connection, data, columns, ids)
    with silent_engine("the table in memory could not be converted to Arrow"):
        return _register(connection, readable(_arrow(data, columns, ids), columns, ids), columns)


def _register(connection: Any, source: Any, columns: Sequence[str]) -> Any:
    connection.con.register("hush_source", source)
    return select_columns(connection.table("hush_source"), range(len(columns)))


def column_names(data: Any, form: CsvFormat | None = None) -> list[str]:
    """The names of a table's columns, for whoever describes it; not for anyone else's eyes."""
    if names_files(data):
        paths = _checked_files(data)
        path = paths[0]
        if is_other(path):
            return list(open_other(path, _table_name(data)).names)
        if is_csv(path):
            return header_names(path, form or CsvFormat())
        import pyarrow.parquet as pq

        with silent_engine(f"{path} is not a readable Parquet or CSV file"):
            return list(pq.read_schema(path).names)
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


def _checked_files(data: Any) -> list[str]:
    """The files of a table, unless they cannot be read together, or by the name of a table."""
    paths = find_files(data)
    if len(paths) > 1 and any(map(is_other, paths)):
        raise DataError("only CSV and Parquet files are read together; of other files, give one")
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
    paths = _checked_files(data)
    shown = paths[0] if len(paths) == 1 else f"{paths[0]} or another file"
    with silent_engine(f"{shown} could not be opened; check that it is complete and readable"):
        if all(path.lower().endswith(_PARQUET_ENDINGS) for path in paths):
            return open_parquet(connection, paths, columns, ids)
        if is_other(paths[0]):
            held = open_other(paths[0], _table_name(data))
            return held.open(connection, match_columns(held.names, columns), columns, ids)
        if not all(is_csv(path) for path in paths):
            raise DataError(
                f"{shown} is neither CSV nor Parquet by its ending, nor one of {', '.join(ENDINGS)}"
            )
        stream, positions = csv_source(paths, columns, form, lost)
        connection.con.register("hush_source", stream)
        return select_columns(connection.table("hush_source"), positions)


# ── tables in memory and in other engines ────────────────────────────────────────────────────────


def _arrow(data: Any, columns: Sequence[str], ids: Collection[str]) -> Any:
    import pyarrow as pa

    library = type(data).__module__.partition(".")[0]
    if library == "pandas":
        return _from_pandas(data, columns, ids)
    if library == "polars":
        return _from_polars(data.lazy(), columns)
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


def _from_polars(frame: Any, columns: Sequence[str]) -> Any:
    """Python objects are refused: what Polars hands over is where they lie in memory."""
    import polars as pl

    present = frame.collect_schema()
    names = [present.names()[i] for i in match_columns(present.names(), columns)]
    for name, column in zip(names, columns, strict=True):
        if present[name] == pl.Object:
            raise ColumnError(column, "object")
    return frame.select(names).collect().to_arrow()


def _places(codes: Any) -> Any:
    """Where each row's category stands; pandas writes −1 for a missing one."""
    import pyarrow as pa

    return pa.array(codes.to_numpy(), mask=codes.to_numpy() < 0)


def _texts(values: Any, text: Callable[[Any], str | None]) -> Any:
    import pyarrow as pa

    return pa.array([text(value) for value in values], pa.large_string())


def _open_ibis(connection: Any, table: Any, columns: Sequence[str], ids: Collection[str]) -> Any:
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
        declared = readable(needed.schema().to_pyarrow().empty_table(), columns).schema
        stream = Stream(declared, lambda: readable(needed.to_pyarrow_batches(), columns, ids))
        return _register(connection, stream, columns)


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
