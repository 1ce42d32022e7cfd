"""SQL text to questions: SELECT statements, and bare conditions.

The only part of the query side that needs sqlglot; import it when there is SQL to read. A statement
is parsed (`syntax`), its derived tables are put in their places (`source`), and its clauses are
read: conditions become boxes (`condition`), expressions of a row pieces on which they have one form
(`row_value`, `stepwise`), and these become groups (`groups`) or what is asked of each of them
(`aggregation`).
"""

from hushtable.query.sql.select import parse_query, parse_where

__all__ = ["parse_query", "parse_where"]
