"""Engines that are places elsewhere: a store of objects, a web server, and lakes."""

from __future__ import annotations

import atexit
import itertools
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import write_deltalake
from pyiceberg.catalog import load_catalog
from tests.shared_stores import Bucket, new_bucket, s3_server, web_server

_NUMBERS = itertools.count()


@cache
def _server() -> str:
    """One server for all tests of a process, ended with it."""
    held = ExitStack()
    atexit.register(held.close)
    return held.enter_context(s3_server())


@contextmanager
def _bucket() -> Iterator[Bucket]:
    bucket = new_bucket(_server(), f"corpus-{next(_NUMBERS)}")
    with mock.patch.dict("os.environ", bucket.environment):
        yield bucket


def _parts(table: Any, folder: Path, parts: int) -> Iterator[Path]:
    """A Parquet file for each part, with some rows in a group."""
    for number, part in enumerate(_parts_of(table, parts)):
        path = folder / f"{number}.parquet"
        pq.write_table(part, path, row_group_size=7)
        yield path


@contextmanager
def in_a_bucket(table: Any, folder: Path, parts: int) -> Iterator[Any]:
    with _bucket() as bucket:
        for path in _parts(table, folder, parts):
            bucket.put(f"corpus/{path.name}", path)
        yield f"s3://{bucket.name}/corpus/*.parquet"


@contextmanager
def on_the_web(table: Any, folder: Path, parts: int) -> Iterator[Any]:
    with web_server() as site, mock.patch.dict("os.environ", {"NO_PROXY": "127.0.0.1"}):
        files = {path.name: path.read_bytes() for path in _parts(table, folder, parts)}
        site.files |= files
        yield [site.address(name) for name in files]


@contextmanager
def delta(table: Any, folder: Path, parts: int) -> Iterator[Any]:
    """A version of a table with a file for each part."""
    for part in _parts_of(table, parts):
        before = {*folder.glob("*.parquet")}
        write_deltalake(folder, _nothing(table), mode="append")
        (file,) = {*folder.glob("*.parquet")} - before
        _fill(file, part)
    yield folder


@contextmanager
def iceberg(table: Any, folder: Path, parts: int) -> Iterator[Any]:
    """A snapshot of a table with a file for each part."""
    place = {"uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}"}
    catalog = load_catalog(f"corpus{next(_NUMBERS)}", type="sql", **place)
    catalog.create_namespace("db")
    made = catalog.create_table("db.corpus", table.schema)
    for part in _parts_of(table, parts):
        before = {*folder.rglob("*.parquet")}
        made.append(_nothing(table))
        (file,) = {*folder.rglob("*.parquet")} - before
        _fill(file, part)
    catalog.engine.dispose()
    yield made.metadata_location.removeprefix("file://")


def _parts_of(table: Any, parts: int) -> list[Any]:
    dealt = (pa.array(range(part, table.num_rows, parts), pa.int64()) for part in range(parts))
    return [table.take(rows) for rows in dealt]


def _nothing(table: Any) -> Any:
    """A row without values: the writers of lakes fail on some that other engines write."""
    return pa.table([pa.nulls(1, kind) for kind in table.schema.types], names=table.column_names)


def _fill(file: Path, table: Any) -> None:
    """Put other rows into a file, and leave its columns as they are."""
    written = pq.read_schema(file)
    columns = [
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(table.columns, written, strict=True)
    ]
    pq.write_table(pa.table(columns, schema=written), file, row_group_size=7)
