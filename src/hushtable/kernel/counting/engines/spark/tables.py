"""Tables of Spark: frames, classic or over Spark Connect, tables by their names, and Ibis tables.

What a table of Spark is made of is known by its types alone; no row is looked at here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from hushtable.errors import DataError
from hushtable.kernel.counting.encoding.columns import ColumnError, match_columns, select_columns
from hushtable.kernel.counting.engines.clusters import LAKES, SparkTable, check_no_lake
from hushtable.kernel.counting.engines.spark.sessions import opened_session
from hushtable.kernel.counting.readers.readable import readable

_LOOKED_INTO = 100  # folders of a table of files


def is_spark(data: Any) -> bool:
    """Whether a table is Spark's; PySpark is not imported to find out."""
    if isinstance(data, SparkTable):
        return True
    kind = type(data)
    library = kind.__module__.partition(".")[0]
    if library == "ibis":
        return _ibis_engine(data) == "pyspark"
    return library == "pyspark" and kind.__name__ == "DataFrame"


def _ibis_engine(data: Any) -> str | None:
    import ibis

    if not isinstance(data, ibis.Table):
        return None
    with suppress(Exception):  # of what has no engine, or several
        return str(data.get_backend().name)
    return None


@contextmanager
def spark_frame(data: Any, columns: Sequence[str]) -> Iterator[Any]:
    """A frame with these columns of a table, renamed to c0, c1, …"""
    if isinstance(data, SparkTable):
        with opened_session(data.address) as session:
            yield _renamed(_named_frame(session, data), columns)
    elif type(data).__module__.partition(".")[0] == "ibis":
        yield _ibis_frame(data, columns)
    else:
        yield _renamed(data, columns)


def _named_frame(session: Any, data: SparkTable) -> Any:
    if data.paths:
        # Old calendars are for files that old versions wrote, which say so themselves.
        modes = {"datetimeRebaseMode": "CORRECTED", "int96RebaseMode": "CORRECTED"}
        # Names of folders are no columns: their types would be guessed from the values.
        modes["recursiveFileLookup"] = "true"
        frame = session.read.options(**modes).parquet(*data.paths)
        if (
            len(data.paths) == 1 and not data.listed
        ):  # a folder, perhaps, that only the cluster sees
            _check_no_lake(session, data.paths[0], frame)
        return frame
    if not session.catalog.tableExists(data.name):
        raise DataError(f"the cluster has no table {data.name!r}, or it is not yours to read")
    return session.table(data.name)


def _check_no_lake(session: Any, path: str, frame: Any) -> None:
    """Refuse a folder of the cluster that is a table of another kind, or has one in it."""
    folders = {path.rstrip("/"), *(file.rpartition("/")[0] for file in frame.inputFiles())}
    for folder in sorted(folders)[:_LOOKED_INTO]:
        check_no_lake(path, [name for name in LAKES if _is_there(session, f"{folder}/{name}")])


def _is_there(session: Any, path: str) -> bool:
    """Whether the cluster has something by this name; to be there, it need not be read."""
    with suppress(Exception):
        return bool(session.read.text(path).columns)
    return False


def _renamed(frame: Any, columns: Sequence[str]) -> Any:
    """By position: names may be there twice, and hold points and quotes."""
    places = match_columns(frame.columns, columns)
    numbered = frame.toDF(*(f"hush_{place}" for place in range(len(frame.columns))))
    picked = numbered.select(*(f"hush_{place}" for place in places))
    # A column that is needed twice is there twice: once renamed, it has two names.
    return picked.toDF(*(f"c{place}" for place in range(len(places))))


def _ibis_frame(table: Any, columns: Sequence[str]) -> Any:
    from ibis.expr.operations import InMemoryTable

    needed = select_columns(table, match_columns(table.columns, columns))
    engine = table.get_backend()
    for part in needed.op().find(InMemoryTable):  # which the engine must know
        engine.to_pyarrow(part.to_expr().limit(0))
    return engine.raw_sql(engine.compile(needed))


def declared_types(frame: Any, columns: Sequence[str], ids: Collection[str]) -> Any:
    """The Arrow schema of a frame's columns once every value can be read, by their types alone."""
    import pyarrow as pa

    kinds = [
        _arrow_type(declared.dataType, name)
        for declared, name in zip(frame.schema.fields, columns, strict=True)
    ]
    empty = pa.table([pa.nulls(0, kind) for kind in kinds], names=frame.columns)
    return readable(empty, columns, ids).schema


def _arrow_type(kind: Any, column: str) -> Any:
    import pyarrow as pa

    name = kind.typeName()
    if name == "decimal":
        return pa.decimal128(kind.precision, kind.scale)
    plain = {
        "boolean": pa.bool_(),
        "byte": pa.int8(),
        "short": pa.int16(),
        "integer": pa.int32(),
        "long": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "string": pa.string(),
        "char": pa.string(),
        "varchar": pa.string(),
        "binary": pa.binary(),
        "date": pa.date32(),
        "time": pa.time64("ns"),
        "timestamp": pa.timestamp("us", "UTC"),
        "timestamp_ntz": pa.timestamp("us"),
        "void": pa.null(),
    }
    if name not in plain:
        raise ColumnError(column, name)
    return plain[name]
