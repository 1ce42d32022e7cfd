"""Questions and answers: boxes of cells, SQL conditions, and counts with their error bars.

The analyst's side. Its modules need numpy; `hushtable.query.sql` also needs sqlglot, so import it
only when there is SQL to read.
"""
