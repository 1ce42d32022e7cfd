"""Engines in which tables are counted where they are: each brings DuckDB's encoder to its rows."""
