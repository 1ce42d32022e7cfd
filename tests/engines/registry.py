"""Where the tables of the corpus can be counted, and how each place is filled with one.

To add an engine, add it to ENGINES: it then has to pass test_every_engine.py.
"""

from __future__ import annotations

import csv
import datetime as dt
import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import corpus
import duckdb
import ibis
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.engines import postgres_server, stores
from tests.shared_spark import frames

from hushtable.kernel.counting.readers import paths

Load = Callable[[Any, Path, int], AbstractContextManager[Any]]
"""From an Arrow table to what `count_table` takes, in so many parts; the folder is empty."""


@dataclass(frozen=True)
class Engine:
    """How a table gets there, which kinds of columns it has, and which of their values."""

    load: Load
    kinds: Collection[str] = frozenset(corpus.KINDS)
    holds: corpus.Holds = lambda kind, value: True
    ids: Collection[str] = frozenset(corpus.IDS)
    """Kinds of ids whose text is the same there; by it, rows of a person are chosen."""
    alone: bool = False
    """Whether each of its tables needs a database of ours for itself."""
    marks: Sequence[Any] = ()


def is_text(kind: str, value: Any) -> bool:
    """Whether bytes are text."""
    try:
        return not isinstance(value, bytes) or bool(value.decode()) or True
    except UnicodeDecodeError:
        return False


def parts_of(table: Any, parts: int) -> list[Any]:
    """The rows of a table, dealt to so many tables."""
    places = [list(range(part, table.num_rows, parts)) for part in range(parts)]
    return [table.take(pa.array(chosen, pa.int64())) for chosen in places]


# ── in memory ────────────────────────────────────────────────────────────────────────────────────


def in_memory(convert: Callable[[Any], Any]) -> Load:
    """Whatever a library makes of the table."""

    @contextmanager
    def load(table: Any, folder: Path, parts: int) -> Iterator[Any]:
        yield convert(pa.concat_tables(parts_of(table, parts)))

    return load


def _stream(table: Any) -> Any:
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches())


def _pandas(table: Any) -> Any:
    return table.to_pandas(types_mapper=pd.ArrowDtype)


def _ibis_polars(table: Any) -> Any:
    return ibis.polars.connect().create_table("corpus", pl.from_arrow(table))


# ── in files ─────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def parquet(table: Any, folder: Path, parts: int) -> Iterator[Any]:
    """A file for each part, with some rows in a group."""
    for number, part in enumerate(parts_of(table, parts)):
        pq.write_table(part, folder / f"{number}.parquet", row_group_size=7)
    yield str(folder / "*.parquet")


@contextmanager
def csv_file(table: Any, folder: Path, parts: int) -> Iterator[Any]:
    """A file for each part, all its fields in quotes."""
    for number, part in enumerate(parts_of(table, parts)):
        columns = [_texts(column) for column in part.columns]
        with open(folder / f"{number}.csv", "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
            writer.writerow(part.column_names)
            writer.writerows(zip(*columns, strict=True))
    yield str(folder / "*.csv")


def _texts(column: Any) -> list[str]:
    return [str(value) for value in column.to_pylist()]


def in_a_line(kind: str, value: Any) -> bool:
    """Whether a value is a field that is not the last line end of a CSV file."""
    return value is not None and is_text(kind, value) and not {10, 13} & {*value}


@contextmanager
def duckdb_file(table: Any, folder: Path, parts: int) -> Iterator[Any]:
    """A table of a database file."""
    path = folder / "corpus.duckdb"
    with duckdb.connect(str(path)) as database:
        database.execute("SET TimeZone = 'UTC'")
        database.register("given", table.slice(0, 0))
        database.execute("CREATE TABLE corpus AS FROM given")
        for part in parts_of(table, parts):
            database.register("given", part)
            database.execute("INSERT INTO corpus FROM given")
    yield str(path)


@contextmanager
def sqlite_file(table: Any, folder: Path, parts: int) -> Iterator[Any]:
    """A table of a database file, in which text may be any bytes."""
    path = folder / "corpus.sqlite"
    with closing(sqlite3.connect(path)) as database:
        names = ", ".join(f'"{name}"' for name in table.column_names)
        database.execute(f"CREATE TABLE corpus ({names})")
        marks = ", ".join(
            "CAST(? AS TEXT)" if pa.types.is_string(kind) else "?" for kind in table.schema.types
        )
        for part in parts_of(table, parts):
            columns = [_stored(column).to_pylist() for column in part.columns]
            rows = zip(*columns, strict=True)
            database.executemany(f"INSERT INTO corpus VALUES ({marks})", rows)
        database.commit()
    yield str(path)


def _stored(column: Any) -> Any:
    """Text as its bytes; Python would refuse what is none."""
    if not pa.types.is_string(column.type):
        return column
    return pa.chunked_array([chunk.view(pa.binary()) for chunk in column.chunks], pa.binary())


@contextmanager
def ibis_sqlite(table: Any, folder: Path, parts: int) -> Iterator[Any]:
    """A table that Ibis has of SQLite."""
    with sqlite_file(table, folder, parts) as path:
        backend = ibis.sqlite.connect(path)
        yield backend.table("corpus")
        backend.disconnect()


# ── on Spark ─────────────────────────────────────────────────────────────────────────────────────

_SPARK = frozenset(corpus.KINDS)
if find_spec("pyspark") is None or [*map(int, version("pyspark").split(".")[:2])] < [4, 1]:
    # They have no times of day.
    _SPARK -= {"clock"}


# ── in servers ───────────────────────────────────────────────────────────────────────────────────

# The types of Postgres, and how a value of Arrow is written as one.
_POSTGRES = {
    corpus.ROW: ("int8", "%s"),
    "town": ("text", "%s"),
    "age": ("int8", "%s"),
    "text": ('text COLLATE "ucs_basic"', "%s"),  # there may be none by which texts are alike
    "tiny": ("int2", "%s"),
    "small": ("int2", "%s"),
    "integer": ("int8", "%s"),
    "real": ("float4", "%s"),
    "double": ("float8", "%s"),
    "price": ("numeric(10, 2)", "%s"),
    "number": ("numeric", "CAST(%s AS numeric) * 1.000"),
    "truth": ("bool", "%s"),
    "date": ("date", "CAST(%s AS date)"),
    "time": ("timestamp", "CAST(%s AS timestamp)"),
    "instant": ("timestamptz", "CAST(%s AS timestamp) AT TIME ZONE 'UTC'"),
    "clock": ("time", "%s"),
    "uuid": ("uuid", "CAST(%s AS uuid)"),
}
_MOMENTS = ("date", "time", "instant")


@contextmanager
def postgres(table: Any, folder: Path, parts: int) -> Iterator[Any]:
    """A table of a real server, partitioned, with some rows in each part."""
    with server_table(table, parts) as name:
        yield paths.table_in(postgres_server.address(), name)


@contextmanager
def ibis_postgres(table: Any, folder: Path, parts: int) -> Iterator[Any]:
    """A table that Ibis has of a real server."""
    with server_table(table, parts) as name:
        backend = ibis.postgres.connect(
            host=str(postgres_server.server_folder()),
            user="owner",
            password=postgres_server.PASSWORD,
            database="postgres",
        )
        yield backend.table(name)
        backend.disconnect()


@contextmanager
def server_table(table: Any, parts: int) -> Iterator[str]:
    """The name of a table with the same rows, in as many partitions."""
    declared = ", ".join(f'"{name}" {_POSTGRES[name][0]}' for name in table.column_names)
    marks = ", ".join(_POSTGRES[name][1] for name in table.column_names)
    with postgres_server.connected() as server:
        server.execute(f"CREATE TABLE corpus (part int4, {declared}) PARTITION BY LIST (part)")
        try:
            for number, part in enumerate(parts_of(table, parts)):
                place = f"PARTITION OF corpus FOR VALUES IN ({number})"
                server.execute(f"CREATE TABLE part{number} {place}")
                columns = [_written(name, part[name]) for name in part.column_names]
                rows = list(zip(*columns, strict=True))
                insert = f"INSERT INTO corpus VALUES ({number}, {marks})"
                server.cursor().executemany(insert, rows)
            yield "corpus"
        finally:
            server.execute("DROP TABLE corpus")


def _written(name: str, column: Any) -> list[Any]:
    """Values as a program gives them to Postgres."""
    values = _as_integers(_stored(column)).to_pylist()
    return [None if value is None else _one(name, value) for value in values]


def _one(name: str, value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    if value in (*corpus.INFINITE_DAYS, *corpus.INFINITE_TIMES) and name in _MOMENTS:
        return f"{'-' * (value < 0)}infinity"
    if name == "date":
        return _day(value)
    return _time(value) if name in _MOMENTS else value


def _day(number: int) -> str:
    """A date of any year, as Postgres reads it: years of a calendar repeat after 400."""
    cycles, rest = divmod(number, 146_097)
    day = dt.date(1970, 1, 1) + dt.timedelta(days=rest)
    year = day.year + 400 * cycles
    return f"{year if year > 0 else 1 - year:04}-{day:%m-%d}{' BC' * (year <= 0)}"


def _time(number: int) -> str:
    """A moment of any year, likewise."""
    days, rest = divmod(number, corpus.MICROSECONDS)
    clock = (dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=rest)).time()
    date, _, era = _day(days).partition(" ")
    return f"{date} {clock} {era}"


def _as_integers(column: Any) -> Any:
    """Dates and moments as numbers of days or microseconds."""
    kind = column.type
    if not (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
        return column
    stored = pa.int32() if pa.types.is_date(kind) else pa.int64()
    return pa.chunked_array([chunk.view(stored) for chunk in column.chunks], stored)


def in_postgres(kind: str, value: Any) -> bool:
    """Whether Postgres has a value: text without zeros."""
    return is_text(kind, value) and not (isinstance(value, bytes) and 0 in value)


@contextmanager
def ibis_sqlite_query(table: Any, folder: Path, parts: int) -> Iterator[Any]:
    """A query that Ibis has of SQLite, and works out with functions of its own."""
    with ibis_sqlite(table, folder, parts) as stored:
        first = stored[stored.columns[0]]
        yield stored.filter(first.isnull() | (first.cast("string").length() >= 0))


_UNTYPED = frozenset({"text", "number", "uuid"})  # whose text is what the engine has of them
_SQLITE = _UNTYPED | {"small", "integer", "real", "double"}  # true is 1 there
_SQLITE_IDS = _UNTYPED | {"integer"}

# Delta has no type for hours of a day and for ids, Iceberg none for integers below four bytes.
_DELTA = frozenset(corpus.KINDS) - {"uuid", "clock"}
_ICEBERG = frozenset(corpus.KINDS) - {"tiny", "small"}

# Ways that share most of theirs with another are left to `make check`.
_LATER = (pytest.mark.thorough,)

ENGINES: dict[str, Engine] = {
    "arrow": Engine(in_memory(lambda table: table)),
    "arrow, stream": Engine(in_memory(_stream)),
    "pandas": Engine(in_memory(_pandas), holds=is_text),
    "polars": Engine(in_memory(pl.from_arrow), holds=is_text),
    "polars, lazy": Engine(
        in_memory(lambda table: pl.from_arrow(table).lazy()), holds=is_text, marks=_LATER
    ),
    "ibis, memory": Engine(in_memory(ibis.memtable), holds=is_text, marks=_LATER),
    "ibis, polars": Engine(in_memory(_ibis_polars), holds=is_text, marks=_LATER),
    "parquet": Engine(parquet),
    "csv": Engine(csv_file, _UNTYPED, in_a_line, _UNTYPED),
    "duckdb": Engine(duckdb_file, holds=is_text, alone=True),
    "sqlite": Engine(sqlite_file, _SQLITE, ids=_SQLITE_IDS),
    "ibis, sqlite": Engine(ibis_sqlite, _SQLITE, ids=_SQLITE_IDS),
    "spark": Engine(
        frames(lambda spark: spark.classic, "UTF8_LCASE"), _SPARK, marks=[pytest.mark.thorough]
    ),
    "spark, connect": Engine(
        frames(lambda spark: spark.connect), _SPARK, marks=[pytest.mark.thorough]
    ),
    "ibis, sqlite query": Engine(ibis_sqlite_query, _SQLITE, ids=_SQLITE_IDS, marks=_LATER),
    "postgres": Engine(postgres, holds=in_postgres),
    "s3, parquet": Engine(stores.in_a_bucket),
    "http, parquet": Engine(stores.on_the_web, marks=_LATER),
    "delta": Engine(stores.delta, _DELTA),
    "iceberg": Engine(stores.iceberg, _ICEBERG),
    "ibis, postgres": Engine(ibis_postgres, holds=in_postgres),
}
