"""From a table to counts, inside a database engine: encode, bound contributions, group by."""

# First, so that a system without it is refused before anything else is loaded.
from hushtable.kernel.posix import STOPPING as STOPPING

# isort: split
from hushtable.kernel.counting.away import Counts, KnownTables, RowsAway
from hushtable.kernel.counting.count import CodedColumns, code_table, count_table, held_rows
from hushtable.kernel.counting.readers.csvfile import CsvFormat

__all__ = [
    "CodedColumns",
    "Counts",
    "CsvFormat",
    "KnownTables",
    "RowsAway",
    "code_table",
    "count_table",
    "held_rows",
]
