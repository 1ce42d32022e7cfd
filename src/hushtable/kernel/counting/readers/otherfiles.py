"""Files other than CSV and Parquet, each told by its ending, or by its first bytes."""

from __future__ import annotations

from hushtable.errors import DataError, OptionError
from hushtable.kernel.counting.readers.duckdbfile import open_duckdb
from hushtable.kernel.counting.readers.filetable import FileTable
from hushtable.kernel.counting.readers.paths import File
from hushtable.kernel.counting.readers.sqlite import open_sqlite
from hushtable.kernel.counting.readers.statfile import ENDINGS as STAT_ENDINGS
from hushtable.kernel.counting.readers.statfile import open_statfile
from hushtable.kernel.counting.readers.workbook import open_workbook
from hushtable.kernel.counting.silence import silent_engine

_WORKBOOKS = (".xlsx", ".xlsm")
_DATABASES = (".duckdb", ".sqlite", ".sqlite3", ".db")
ENDINGS = (*_WORKBOOKS, *_DATABASES, *STAT_ENDINGS)

# Where a database says what it is.
_SQLITE = slice(0, 16), b"SQLite format 3\0"
_DUCKDB = slice(8, 12), b"DUCK"


def is_other(path: File) -> bool:
    """Whether a file is one of these by its ending."""
    return str(path).lower().endswith(ENDINGS)


def open_other(path: str, table: str | None) -> FileTable:
    """The table of this name in a file; without one, the only table that it holds."""
    ending = path.lower()
    if ending.endswith(_WORKBOOKS):
        return open_workbook(path, table)
    if ending.endswith(_DATABASES):
        return _open_database(path, table)
    if table is not None:
        raise OptionError(f"{path} is a table by itself: leave out --table (in Python, table=)")
    return open_statfile(path)


def _open_database(path: str, table: str | None) -> FileTable:
    problem = f"{path} could not be opened; check that it is readable"
    with silent_engine(problem), open(path, "rb") as file:
        start = file.read(16)
    for (place, mark), opened in ((_SQLITE, open_sqlite), (_DUCKDB, open_duckdb)):
        if start[place] == mark:
            return opened(path, table)
    raise DataError(f"{path} is neither a SQLite nor a DuckDB database")
