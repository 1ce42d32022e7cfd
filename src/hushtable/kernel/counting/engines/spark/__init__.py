"""Spark: the encoder runs inside its tasks, and only cells with their counts come back."""

from hushtable.kernel.counting.engines.spark.count import code_rows, count_cells
from hushtable.kernel.counting.engines.spark.rows import kept_rows, known_tables
from hushtable.kernel.counting.engines.spark.tables import is_spark

__all__ = ["code_rows", "count_cells", "is_spark", "kept_rows", "known_tables"]
