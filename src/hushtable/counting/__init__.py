"""From a table to counts, inside a database engine: encode, bound contributions, group by."""

from hushtable.counting.count import CodedColumns, Counts, code_table, count_table

__all__ = ["CodedColumns", "Counts", "code_table", "count_table"]
