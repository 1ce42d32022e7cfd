"""`marginals` of 10 million rows of 30 columns: all tables of two attributes can be asked for.

Publishing stands beside one bare GROUP BY for each table that it measured; they take turns, each in
a process of its own. Then the release is opened and asked 10,000 questions of one to three
attributes, ranges, OR, NOT and GROUP BY among them, each with its error bar; DuckDB counts some of
the same conditions in the table itself, without error bars.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import hushtable as ht
from benchmarks.machine import peak_memory
from benchmarks.options import Options, alone
from benchmarks.table import Row, Section, Target
from benchmarks.timing import seconds
from hushtable.schema import IntegerRange, Schema, ordinal

ROWS, QUICK_ROWS = 10_000_000, 20_000
BATCH = 1_000_000
SIZES = (32, 9, 32, 16, 16, 7, 15, 6, 5, 2, 32, 32, 32, 42, 2) * 2
QUICK_COLUMNS = 8
QUESTIONS, QUICK_QUESTIONS = 10_000, 500
COUNTED = 100  # of those questions are also counted by DuckDB
ROUNDS = 2


def schema(columns: int = len(SIZES)) -> Schema:
    """Columns of integers, as large as those of the Adult table, twice."""
    attributes = [ordinal(f"c{i}", IntegerRange(0, n - 1)) for i, n in enumerate(SIZES[:columns])]
    return Schema(name="wide", budget=Fraction(1000), attributes=tuple(attributes))


def write_table(path: Path, rows: int, described: Schema) -> None:
    """People of eight kinds, in which each column leans to values of its own."""
    random = np.random.default_rng(1)
    leaning = [random.dirichlet(np.full(size, 0.5), 8).cumsum(axis=1) for size in described.shape]
    writer = None
    for start in range(0, rows, BATCH):
        number = min(BATCH, rows - start)
        kinds, columns = random.integers(0, 8, number), {}
        for attribute, chances in zip(described.attributes, leaning, strict=True):
            ends = (chances + np.arange(8)[:, None]).reshape(-1)  # of all kinds, one after another
            drawn = np.searchsorted(ends, kinds + random.random(number)) - kinds * attribute.size
            columns[attribute.name] = np.clip(drawn, 0, attribute.size - 1).astype(np.int32)
        table = pa.table(columns)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


@dataclass(frozen=True)
class Told:
    """What a child tells of its work: seconds, the most memory it held, and how much it did."""

    took: float
    peak: int
    number: int


def section(options: Options) -> Section:
    """Publish and group in turn, then ask."""
    rows = QUICK_ROWS if options.quick else ROWS
    described = schema(QUICK_COLUMNS) if options.quick else schema()
    questions = QUICK_QUESTIONS if options.quick else QUESTIONS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_table(folder / "wide.parquet", rows, described)
        described.save(folder / "wide.toml")
        ours, bare = [], []
        for _ in range(1 if options.quick else ROUNDS):
            ours.append(_child(folder, "publish"))
            bare.append(_child(folder, "group"))
        opened = _child(folder, "first")
        asked, counted = _child(folder, "ask", questions), _child(folder, "count", questions)
        coded = float(rows * len(described.shape))
    best, least = (min(told, key=lambda one: one.took) for told in (ours, bare))
    work = f"marginals: {rows:,} rows × {len(described.shape)} columns, {best.number} tables"
    each = "DuckDB in the table, no error bars"
    return Section("Wide tables: marginals, every pair of columns, ε = 1", [
        Row(work, best.took, "a GROUP BY for each table in DuckDB", least.took, "s", Target(3)),
        Row("  peak memory", float(best.peak), "these GROUP BYs", float(least.peak), "B"),
        Row("  peak memory", float(best.peak), "the columns, a byte for a value", coded, "B"),
        Row("  open, first answer", opened.took, "the GROUP BYs", least.took, "s",
            Target(0.5, of="ours")),
        Row(f"  {asked.number:,} questions with error bars", asked.number / asked.took, each,
            counted.number / counted.took, "questions/s", Target(1000, "≥", of="ours")),
    ])  # fmt: skip


def _child(folder: Path, work: str, *given: int) -> Told:
    """What a function below returns, from a process of its own."""
    call = f"{work}({', '.join(map(repr, (str(folder), *given)))})"
    script = f"from benchmarks import wide; wide.tell(lambda: wide.{call})"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parent.parent,
        env=os.environ | {"NUMBA_CACHE_DIR": str(folder / "numba")},
        check=True,
        capture_output=True,
        text=True,
    )
    return Told(*json.loads(done.stdout))


def tell(work: Callable[[], tuple[float, int]]) -> None:
    """Print what became of it, and the most memory that was held."""
    took, number = work()
    print(json.dumps([took, peak_memory(), number]))


def publish(name: str) -> tuple[float, int]:
    """Publish, and how many tables were measured."""
    folder, out = Path(name), Path(name, "wide.release")
    shutil.rmtree(out, ignore_errors=True)
    took = seconds(
        lambda: ht.publish(
            folder / "wide.parquet", folder / "wide.toml", epsilon="1", out=out,
            mechanism="marginals",
        )
    )  # fmt: skip
    return took, len(ht.open(out).tables)


def group(name: str) -> tuple[float, int]:
    """The counts of every measured table, one query after the other."""
    tables = ht.open(Path(name, "wide.release")).tables
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        took = seconds(lambda: [_grouped(connection, name, table) for table in tables])
    return took, len(tables)


def _grouped(connection: duckdb.DuckDBPyConnection, name: str, table: str) -> pa.Table:
    columns = ", ".join(table.split("+"))
    query = f"SELECT {columns}, COUNT(*) FROM read_parquet(?) GROUP BY ALL"
    return connection.sql(query, params=[str(Path(name, "wide.parquet"))]).to_arrow_table()


def first(name: str) -> tuple[float, int]:
    """Open, and ask one question."""
    query = "SELECT COUNT(*) FROM wide WHERE c0 BETWEEN 3 AND 9 AND c2 = 4"
    return seconds(lambda: ht.open(Path(name, "wide.release")).sql(query).rows()), 1


def ask(name: str, number: int) -> tuple[float, int]:
    """All questions, with the intervals of every row."""
    release = ht.open(Path(name, "wide.release"))
    asked = questions(release.schema, release.tables, number)
    return seconds(lambda: [release.sql(one).rows() for one in asked]), number


def count(name: str, number: int) -> tuple[float, int]:
    """The first of these questions, of the table itself."""
    release = ht.open(Path(name, "wide.release"))
    asked = questions(release.schema, release.tables, number)[:COUNTED]
    with duckdb.connect() as connection:
        connection.execute("SET enable_progress_bar = false")
        path = str(Path(name, "wide.parquet"))
        connection.execute(f"CREATE VIEW wide AS SELECT * FROM read_parquet('{path}')")
        return seconds(lambda: [connection.sql(one).fetchall() for one in asked]), len(asked)


def questions(described: Schema, tables: tuple[str, ...], number: int) -> list[str]:
    """Of one, two and three attributes; a tenth have OR, a tenth NOT, a tenth GROUP BY."""
    random = np.random.default_rng(5)
    sizes = {attribute.name: attribute.size for attribute in described.attributes}
    triples = [table.split("+") for table in tables if table.count("+") == 2]

    def between(name: str) -> str:
        low, high = np.sort(random.integers(0, sizes[name], 2)).tolist()
        return f"{name} = {low}" if random.random() < 0.3 else f"{name} BETWEEN {low} AND {high}"

    found = []
    for i in range(number):
        one, two = (str(name) for name in random.choice(list(sizes), 2, replace=False))
        names = [one, two] if i % 10 < 6 or not triples else triples[i % len(triples)]
        names = [one] if i % 10 < 2 else names
        where = " AND ".join(between(name) for name in names)
        if i % 10 == 7:
            where = f"{between(one)} OR {between(two)}"
        elif i % 10 == 8:
            where = f"{between(one)} AND NOT {between(two)}"
        elif i % 10 == 9:
            where = f"{between(two)} GROUP BY {one}"
        found.append(f"SELECT {one + ', ' if i % 10 == 9 else ''}COUNT(*) FROM wide WHERE {where}")
    return found


if __name__ == "__main__":
    alone(section)
