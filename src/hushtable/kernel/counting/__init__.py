"""From a table to counts, inside a database engine: encode, bound contributions, group by."""

from hushtable.kernel.counting.count import CodedColumns, Counts, code_table, count_table
from hushtable.kernel.counting.csvfile import CsvFormat

__all__ = ["CodedColumns", "Counts", "CsvFormat", "code_table", "count_table"]
