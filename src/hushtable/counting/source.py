"""Where tables come from: files, data frames, Arrow and Ibis tables, all as one Ibis table.

Text stays text: nothing here looks at values to guess a type, a delimiter or a null, because one
odd row must not change how the others are read. Nothing an engine says reaches the user, since
engines quote values in their messages.
"""

from __future__ import annotations

import csv
import glob
import gzip
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hushtable.errors import DataError, HushError
from hushtable.scratch import spill_folder

_CSV_ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz", ".txt.gz")
_PARQUET_ENDINGS = (".parquet", ".pq")
_DELIMITERS = (",", ";", "\t", "|")
_HEADER_LIMIT = 2**20


@contextmanager
def open_table(data: Any, columns: Sequence[str]) -> Iterator[Any]:
    """An Ibis table with these columns of the data, renamed to c0, c1, …

    Names are matched exactly, or else without regard to case.
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
            yield _select(_any_table(connection, data, columns), columns)
        finally:
            connection.disconnect()


@contextmanager
def silent_engine(problem: str) -> Iterator[None]:
    """Replace whatever an engine says by one line of ours: its own text may quote values."""
    try:
        yield
    except HushError:
        raise
    except Exception:
        raise DataError(problem) from None


def _any_table(connection: Any, data: Any, columns: Sequence[str]) -> Any:
    import ibis

    if isinstance(data, str | Path):
        return _open_files(connection, str(data), columns)
    if isinstance(data, ibis.Table):
        return _open_ibis(connection, data, columns)
    with silent_engine("the table in memory could not be converted to Arrow"):
        return _register(connection, _arrow(data, columns))


def _register(connection: Any, arrow: Any) -> Any:
    connection.con.register("hush_source", arrow)
    return connection.table("hush_source")


def _select(table: Any, columns: Sequence[str]) -> Any:
    positions = match_columns(table.columns, columns)
    return table.select(
        **{f"c{i}": table[table.columns[position]] for i, position in enumerate(positions)}
    )


def match_columns(present: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """The position of each wanted column among those present.

    The names that are present are not shown: in a file without a header they are a person's row.
    """
    positions = []
    for name in wanted:
        found = [i for i, column in enumerate(present) if column.strip() == name]
        if not found:
            folded = name.casefold()
            found = [i for i, column in enumerate(present) if column.strip().casefold() == folded]
        if not found:
            raise DataError(
                f"the table has no column {name!r}; the schema needs "
                + ", ".join(repr(column) for column in wanted)
            )
        if len(found) > 1:
            raise DataError(f"the table has more than one column {name!r}")
        positions.append(found[0])
    return positions


def column_names(data: Any) -> list[str]:
    """The names of a table's columns, for whoever describes it; not for anyone else's eyes."""
    if isinstance(data, str | Path):
        paths = _paths(str(data))
        if paths[0].lower().endswith(_CSV_ENDINGS):
            header = _read_header(paths[0])
            return max((_fields(header, delimiter) for delimiter in _DELIMITERS), key=len)
        import pyarrow.parquet as pq

        with silent_engine(f"{data} is not a readable Parquet or CSV file"):
            return list(pq.read_schema(paths[0]).names)
    names = getattr(data, "column_names", None) or getattr(data, "columns", None)
    if names is None:
        raise DataError("the table must be a path, a pandas, Polars, Arrow or Ibis table")
    return [str(name) for name in names]


# ── files ────────────────────────────────────────────────────────────────────────────────────────


def _open_files(connection: Any, pattern: str, columns: Sequence[str]) -> Any:
    paths = _paths(pattern)
    if any(Path(path).is_dir() for path in paths):
        raise DataError(f"{pattern} is a folder; name its files, as in '{pattern}/*.parquet'")
    if all(path.lower().endswith(_PARQUET_ENDINGS) for path in paths):
        source = f"read_parquet({_sql_list(paths)})"
    elif all(path.lower().endswith(_CSV_ENDINGS) for path in paths):
        source = _csv_source(paths, columns)
    else:
        raise DataError(f"{pattern} is neither CSV nor Parquet by its ending (.csv, .parquet)")
    with silent_engine(f"{pattern} could not be opened; check that it is complete and readable"):
        connection.con.execute(f"CREATE TEMP VIEW hush_source AS SELECT * FROM {source}")
        return connection.table("hush_source")


def _paths(pattern: str) -> list[str]:
    paths = [pattern] if Path(pattern).exists() else sorted(glob.glob(pattern, recursive=True))
    if not paths:
        raise DataError(f"there is no file {pattern}")
    return paths


def _csv_source(paths: Sequence[str], columns: Sequence[str]) -> str:
    """Every field as text, by the header alone; a malformed line is a row that does not count."""
    headers = {_read_header(path) for path in paths}
    if len(headers) > 1:
        raise DataError("the CSV files do not all have the same first line")
    delimiter, names = _split_header(headers.pop(), columns)
    positions = match_columns(names, columns)
    # Columns are renamed by position: the engine would refuse headers that differ only by case.
    unique = {i: f"unused{i}" for i in range(len(names))}
    unique |= {position: columns[i] for i, position in enumerate(positions)}
    types = ", ".join(f"{_sql_text(unique[i])}: 'VARCHAR'" for i in range(len(names)))
    return (
        f"read_csv({_sql_list(paths)}, auto_detect = false, header = true, columns = {{{types}}},"
        f" delim = {_sql_text(delimiter)}, quote = '\"', escape = '\"', nullstr = '',"
        " ignore_errors = true, strict_mode = false, parallel = false)"
    )


def _read_header(path: str) -> str:
    opener = gzip.open if path.lower().endswith(".gz") else open
    try:
        with opener(path, "rb") as file:
            line = file.readline(_HEADER_LIMIT)
    except (OSError, EOFError):
        raise DataError(f"{path} could not be opened; check that it is complete") from None
    try:
        return line.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError:
        raise DataError(f"the first line of {path} is not UTF-8 text") from None


def _split_header(header: str, columns: Sequence[str]) -> tuple[str, list[str]]:
    """The delimiter under which the header has most of the schema's columns."""

    def score(delimiter: str) -> int:
        present = {name.strip().casefold() for name in _fields(header, delimiter)}
        return sum(name.casefold() in present for name in columns)

    delimiter = max(_DELIMITERS, key=score)
    return delimiter, _fields(header, delimiter)


def _fields(header: str, delimiter: str) -> list[str]:
    return next(csv.reader([header], delimiter=delimiter), [])


def _sql_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _sql_list(texts: Sequence[str]) -> str:
    return "[" + ", ".join(_sql_text(text) for text in texts) + "]"


# ── tables in memory and in other engines ────────────────────────────────────────────────────────


def _arrow(data: Any, columns: Sequence[str]) -> Any:
    import pyarrow as pa

    library = type(data).__module__.partition(".")[0]
    if library == "pandas":
        return _from_pandas(data, columns)
    if library == "polars":
        frame = data.collect() if type(data).__name__ == "LazyFrame" else data
        positions = match_columns(frame.columns, columns)
        return frame.select([frame.columns[position] for position in positions]).to_arrow()
    if isinstance(data, pa.Table | pa.RecordBatchReader):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if hasattr(data, "__arrow_c_stream__"):
        return pa.table(data)
    raise DataError("the table must be a path, a pandas, Polars, Arrow or Ibis table")


def _from_pandas(frame: Any, columns: Sequence[str]) -> Any:
    """Column by column; mixed columns become text value by value, so that none sets a type."""
    import pyarrow as pa

    names = [str(name) for name in frame.columns]
    arrays = {}
    for name, position in zip(columns, match_columns(names, columns), strict=True):
        series = frame.iloc[:, position]
        if series.dtype == object:
            arrays[name] = pa.array([_as_text(value) for value in series], pa.large_string())
        else:
            arrays[name] = pa.Array.from_pandas(series)
    return pa.table(arrays)


def _as_text(value: Any) -> str | None:
    if value is None or value != value:  # NaN and NaT are not equal to themselves
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value).encode("utf-8", "replace").decode("utf-8")


def _open_ibis(connection: Any, table: Any, columns: Sequence[str]) -> Any:
    """A DuckDB table is counted where it is; of others, the columns are streamed over.

    Engines differ in what they cast and when they fail, so that encoding runs in DuckDB only.
    """
    if table.get_backend().name == "duckdb":
        return table
    positions = match_columns(table.columns, columns)
    with silent_engine("the Ibis table could not be read from its engine"):
        needed = table.select([table.columns[position] for position in positions])
        return _register(connection, needed.to_pyarrow_batches())
