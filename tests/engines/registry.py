"""Where the tables of the corpus can be counted, and how each place is filled with one.

To add an engine, add it to ENGINES: it then has to pass test_conformance.py.
"""

from __future__ import annotations

import csv
import sqlite3
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
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
from tests.shared_spark import frames

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

_SPARK = frozenset(corpus.KINDS) - {"clock"}  # versions before 4.1 have no times of day


_UNTYPED = frozenset({"text", "number", "uuid"})  # whose text is what the engine has of them
_SQLITE = _UNTYPED | {"small", "integer", "real", "double"}  # true is 1 there
_SQLITE_IDS = _UNTYPED | {"integer"}

ENGINES: dict[str, Engine] = {
    "arrow": Engine(in_memory(lambda table: table)),
    "arrow, stream": Engine(in_memory(_stream)),
    "pandas": Engine(in_memory(_pandas), holds=is_text),
    "polars": Engine(in_memory(pl.from_arrow), holds=is_text),
    "polars, lazy": Engine(in_memory(lambda table: pl.from_arrow(table).lazy()), holds=is_text),
    "ibis, memory": Engine(in_memory(ibis.memtable), holds=is_text),
    "ibis, polars": Engine(in_memory(_ibis_polars), holds=is_text),
    "parquet": Engine(parquet),
    "csv": Engine(csv_file, _UNTYPED, in_a_line, _UNTYPED),
    "duckdb": Engine(duckdb_file, holds=is_text, alone=True),
    "sqlite": Engine(sqlite_file, _SQLITE, ids=_SQLITE_IDS),
    "ibis, sqlite": Engine(ibis_sqlite, _SQLITE, ids=_SQLITE_IDS),
    "spark": Engine(frames(lambda spark: spark.classic), _SPARK, marks=[pytest.mark.thorough]),
    "spark, connect": Engine(
        frames(lambda spark: spark.connect), _SPARK, marks=[pytest.mark.thorough]
    ),
}
