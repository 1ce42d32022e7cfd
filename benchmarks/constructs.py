"""Every construct of SQL that a release answers: its answer, its error bar and the truth.

    python -m benchmarks.constructs [--adult FOLDER] [--mechanism auto] [--epsilon 1]

A generated census, in which everyone also has a day of interview, and if it is given the Adult
table, which is read where it is. The truth is what DuckDB answers on the true table, which has its
values as the schema clips them. Of groups, the first row is shown, and how many of all rows'
intervals hold their truth. Noise is the system's: other runs have other answers.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

import hushtable as ht
from benchmarks.options import existing_folder, own_state
from hushtable.errors import QueryError
from hushtable.generators import census, census_schema
from hushtable.query.answer import show_number
from hushtable.schema import Schema, ordinal
from hushtable.schema.dates import Dates
from hushtable_papers.real_tables import adult

FIRST, DAYS = date(2024, 1, 1), 182
# Statements; {t} is the table, {x} a number, {who} and {other} groups, {part} a condition.
CONSTRUCTS = {
    "SUM": "SELECT SUM({x}) AS y FROM {t} WHERE {part}",
    "AVG": "SELECT AVG({x}) AS y FROM {t} WHERE {part}",
    "MEDIAN": "SELECT MEDIAN({x}) AS y FROM {t}",
    "QUANTILE_CONT": "SELECT QUANTILE_CONT({x}, 0.9) AS y FROM {t}",
    "PERCENTILE_CONT": "SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY {x}) AS y FROM {t}",
    "VARIANCE": "SELECT VARIANCE({x}) AS y FROM {t}",
    "STDDEV": "SELECT STDDEV({x}) AS y FROM {t}",
    "COUNT(1)": "SELECT COUNT(1) AS y FROM {t}",
    "FILTER": "SELECT COUNT(*) FILTER (WHERE {part}) AS y FROM {t}",
    "arithmetic": "SELECT 100.0 * COUNT(*) FILTER (WHERE {part}) / COUNT(*) AS y FROM {t}",
    "several aggregates": "SELECT {who}, AVG({x}) AS y, COUNT(*) AS n FROM {t} GROUP BY {who}",
    "HAVING": "SELECT {other}, COUNT(*) AS y FROM {t} GROUP BY {other} HAVING COUNT(*) > 2000",
    "CASE in SELECT": "SELECT SUM(CASE WHEN {part} THEN 1 ELSE 0 END) AS y FROM {t}",
    "CASE in GROUP BY": "SELECT CASE WHEN {x} < 30 THEN 'young' ELSE 'old' END AS age_group,"
    " COUNT(*) AS y FROM {t} GROUP BY 1",
    "LIKE": "SELECT COUNT(*) AS y FROM {t} WHERE {other} LIKE '%e%s'",
    "FLOOR": "SELECT FLOOR({x} / 10) AS decade, COUNT(*) AS y FROM {t} GROUP BY 1",
    "ROLLUP": "SELECT {who}, {other}, COUNT(*) AS y FROM {t} GROUP BY ROLLUP ({who}, {other})",
    "CUBE": "SELECT {who}, {other}, AVG({x}) AS y FROM {t} GROUP BY CUBE ({who}, {other})",
    "GROUPING SETS": "SELECT {who}, {other}, COUNT(*) AS y FROM {t}"
    " GROUP BY GROUPING SETS (({who}), ({other}), ())",
    "ORDER BY, LIMIT": "SELECT {other}, AVG({x}) AS y FROM {t} GROUP BY {other}"
    " ORDER BY y DESC LIMIT 3",
    "window share": "SELECT {other}, COUNT(*) / SUM(COUNT(*)) OVER () AS y FROM {t}"
    " GROUP BY {other}",
    "derived table": "SELECT decade, COUNT(*) AS y FROM"
    " (SELECT *, {x} // 10 AS decade FROM {t} WHERE {part}) AS d GROUP BY decade",
}
OF_CENSUS = {
    "binned AVG": "SELECT AVG(income) AS y FROM census WHERE sex = 'F'",
    "binned MEDIAN": "SELECT MEDIAN(income) AS y FROM census",
    "DATE_TRUNC": "SELECT DATE_TRUNC('month', day) AS m, COUNT(*) AS y FROM census GROUP BY 1",
    "EXTRACT": "SELECT EXTRACT(MONTH FROM day) AS m, AVG(age) AS y FROM census GROUP BY 1",
}
REFUSED = {
    "join": "SELECT COUNT(*) FROM {t} JOIN {t} AS u ON TRUE",
    "COUNT(DISTINCT)": "SELECT COUNT(DISTINCT {who}) FROM {t}",
    "MIN": "SELECT MIN({x}) FROM {t}",
    "SUM of labels": "SELECT SUM({who}) FROM {t}",
}
CENSUS = {"t": "census", "x": "age", "who": "sex", "other": "occupation", "part": "sex = 'F'"}
ADULT = {
    "t": "adult",
    "x": "age",
    "who": "sex",
    "other": "education",
    "part": """"salary-class" = '>50K'""",
}
COLUMNS = ("sex", "age", "education", "salary-class")


def dated_census(rows: int) -> tuple[Schema, pa.Table]:
    """A generated census, and everyone's day of interview, of which the month is told."""
    random = np.random.default_rng(9)
    days = [FIRST + timedelta(int(day)) for day in random.integers(0, DAYS, rows)]
    months = ordinal("day", Dates(FIRST, FIRST + timedelta(DAYS - 1), "month"))
    schema = census_schema()
    table = census(rows).append_column("day", pa.array(days, pa.date32()))
    return Schema("census", schema.budget, (*schema.attributes, months)), table


def few_columns(folder: Path) -> tuple[Schema, pa.Table]:
    """Four columns of the Adult table."""
    schema, table = adult(folder)
    chosen = tuple(a for a in schema.attributes if a.name in COLUMNS)
    return Schema("adult", schema.budget, chosen), table.select([a.name for a in chosen])


def true_table(name: str, table: pa.Table) -> duckdb.DuckDBPyConnection:
    """The rows as the schema sees them: ages are numbers, and incomes are clipped."""
    connection = duckdb.connect()
    connection.register("rows", table)
    change = "age::INTEGER AS age"
    if name == "census":
        change += ", least(greatest(income, 0), 300) AS income"
    connection.execute(f"CREATE TABLE {name} AS SELECT * REPLACE ({change}) FROM rows")
    return connection


def truths(connection: duckdb.DuckDBPyConnection, statement: str) -> dict[tuple[str, ...], float]:
    """DuckDB's answer by group, before rows are picked: those of a release are others."""
    found = connection.sql(re.sub(r" HAVING .*| ORDER BY y .*", "", statement))
    place = found.columns.index("y")
    return {tuple(map(_label, row[:place])): row[place] for row in found.fetchall()}


def _label(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value)[:10] if isinstance(value, date) else str(value)


def told(release: ht.Release, truth: Mapping[tuple[str, ...], float], statement: str) -> list[str]:
    """The first row's answer, its interval and its truth, and how many of all hold theirs."""
    answer = release.sql(statement)
    found = answer.select(list(answer.groups), ["y"])
    low, high = found.bounds
    keys = [tuple(map(_label, key)) for key in zip(*found.groups.values(), strict=True)] or [()]
    true = [float(truth.get(key) or 0) for key in keys]
    held = int(np.sum((low <= true) & (true <= high)))
    value, half = float(found.values[0]), float(found.half_widths[0])
    shown = [show_number(one, half / 10) for one in (value, float(low[0]), float(high[0]), true[0])]
    word = " (estimate)" if found.estimates[0] else ""
    ends = f"{shown[1]} … {shown[2]}{word}"
    return [", ".join(keys[0]), shown[0], ends, shown[3], f"{held} of {len(keys)}"]


def show(schema: Schema, table: pa.Table, names: Mapping[str, str], given: Any) -> None:
    """Publish a table and print what every construct answers, and why others are refused."""
    statements = CONSTRUCTS | (OF_CENSUS if schema.name == "census" else {})
    with own_state(), tempfile.TemporaryDirectory() as folder:
        where = {"out": Path(folder, "r"), "ledger": Path(folder, "ledger")}
        release = ht.publish(
            table, schema, epsilon=given.epsilon, mechanism=given.mechanism, **where
        )
        connection = true_table(schema.name, table)
        print(f"\n{schema.name}: {table.num_rows:,} rows, {release!r}\n")
        print("| construct | first row | answer | 95 % | truth | inside |")
        print("|---|---|---|---|---|---|")
        for construct, text in statements.items():
            statement = text.format(**names)
            found = told(release, truths(connection, statement), statement)
            print(f"| {construct} | {' | '.join(found)} |", flush=True)
        print("\n| refused | line |\n|---|---|")
        for construct, text in REFUSED.items():
            try:
                release.sql(text.format(**names))
            except QueryError as refusal:
                print(f"| {construct} | {refusal} |")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=100_000, help="of the census")
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--mechanism", default="auto")
    parser.add_argument("--adult", type=existing_folder, metavar="FOLDER", help="the Adult table")
    given = parser.parse_args(arguments)
    show(*dated_census(given.rows), CENSUS, given)
    if given.adult:
        show(*few_columns(given.adult), ADULT, given)
    return 0


if __name__ == "__main__":
    sys.exit(main())
