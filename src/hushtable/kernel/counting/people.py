"""Rows of persons, bounded in memory that does not grow with their number.

What bounds them holds all rows of a person at once. A short table is bounded as a whole. The rows
of a longer one are written to private files, all of a person's to one, by a hash of who that is;
these are then bounded one after another. Which rows count is the same either way: it follows from
each person's rows and the secret alone. An engine of our own does both, with little memory: where
one person has more rows than fit, it goes on in its own files.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from hushtable.kernel.counting.encoding.bound import kept_rows, narrow_kinds, rows_of_people
from hushtable.kernel.counting.encoding.columns import sql_paths, sql_text
from hushtable.kernel.counting.encoding.encode import encode
from hushtable.kernel.counting.encoding.statement import (
    KEPT,
    ROWS,
    SALT,
    Select,
    SqlStatement,
    written,
)
from hushtable.kernel.counting.silence import hide_progress
from hushtable.schema import Schema
from hushtable.scratch import spill_folder

_AT_ONCE = 2**20
_TOGETHER = 2**22  # rows that are bounded at once
_MEMORY = 2**29  # bytes of these: ids may be long
_FILES = 64
_PART = "hush_part"
_SETTINGS: dict[str, Any] = {
    "memory_limit": "1GiB",
    "preserve_insertion_order": False,
    "partitioned_write_flush_threshold": 2**15,  # rows of a file that a thread holds back
    "autoinstall_known_extensions": False,  # nothing is ever fetched
}


@dataclass(frozen=True)
class Batches:
    """Batches of rows, to be read once."""

    batches: Iterator[Any]

    def to_arrow_reader(self, most: int) -> Iterator[Any]:
        """The batches: as many rows in each as they come with."""
        return self.batches


@lru_cache(KEPT)
def people_statement(schema: Schema, types: Any) -> SqlStatement:
    """Encode columns of these types; whose row it is, and its codes, of the narrowest types."""
    import ibis

    rows = rows_of_people(encode(ibis.table(types, name=ROWS), schema), schema)
    codes = {name: rows[name].cast(kind) for name, kind in _columns(schema).items()}
    return written(rows.select(**codes))


@lru_cache(KEPT)
def kept_statement(schema: Schema, select: Select) -> SqlStatement:
    """Bound rows of whole persons, and select of those that count."""
    import ibis

    rows = ibis.table(_columns(schema), name=ROWS)
    return written(select(kept_rows(rows, schema, SALT), schema))


def _columns(schema: Schema) -> dict[str, str]:
    return {"person": "string", **narrow_kinds(schema)}


@contextmanager
def bounded(
    rows: Any, kept: SqlStatement, salt: str, started: Callable[[Any], None]
) -> Iterator[Batches]:
    """What a statement tells of an engine's rows of persons, which are read once.

    The engine that works on them is told to `started`, so that it can be interrupted.
    """
    import duckdb

    with (
        spill_folder() as folder,
        duckdb.connect(config=_SETTINGS | {"temp_directory": str(folder)}) as engine,
    ):
        hide_progress(engine)
        started(engine)
        yield Batches(_bounded(engine, folder / "people", rows, kept, salt))


def _bounded(engine: Any, folder: Path, rows: Any, kept: SqlStatement, salt: str) -> Iterator[Any]:
    """Of a short table all at once; of a longer one, a few files at a time."""
    import pyarrow as pa

    reader = rows.to_arrow_reader(_AT_ONCE)
    first, found, held = deque[Any](), 0, 0
    while found <= _TOGETHER and held <= _MEMORY and (batch := next(reader, None)) is not None:
        first.append(batch)
        found += len(batch)
        held += batch.nbytes
    if found <= _TOGETHER and held <= _MEMORY:
        engine.register(_PART, pa.Table.from_batches(first, reader.schema))
        yield from _told(engine, f"FROM {_PART}", kept, salt)
        return
    every = pa.RecordBatchReader.from_batches(reader.schema, _all_of(first, reader))
    for paths in _written(engine, folder, every):
        part = f"FROM read_parquet({sql_paths(paths)}, hive_partitioning = false)"
        yield from _told(engine, part, kept, salt)


def _all_of(first: deque[Any], rest: Iterator[Any]) -> Iterator[Any]:
    """All batches; those that were waiting are let go of."""
    while first:
        yield first.popleft()
    yield from rest


def _told(engine: Any, part: str, kept: SqlStatement, salt: str) -> Iterator[Any]:
    yield from engine.sql(kept.about(part), params={"salt": salt}).to_arrow_reader(_AT_ONCE)


def _written(engine: Any, folder: Path, rows: Any) -> Iterator[list[str]]:
    """Write rows to files, all of a person's to one; files with as many rows as fit together."""
    import pyarrow.parquet as pq

    engine.register(_PART, rows)
    engine.execute(
        f"COPY (SELECT *, CAST(hash(person) % {_FILES} AS UTINYINT) AS file FROM {_PART})"
        f" TO {sql_text(str(folder))} (FORMAT parquet, COMPRESSION lz4, PARTITION_BY (file))"
    )
    engine.unregister(_PART)
    together, found = list[str](), 0
    for one in sorted(folder.iterdir()):
        paths = sorted(map(str, one.iterdir()))
        more = sum(pq.read_metadata(path).num_rows for path in paths)
        if together and found + more > _TOGETHER:
            yield together
            together, found = [], 0
        together, found = together + paths, found + more
    yield together
