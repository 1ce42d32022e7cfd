"""Counting 10 million Parquet rows of 4 attributes, beside grouping those columns by an engine."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.options import Options, alone
from benchmarks.table import Row, Section, Target
from benchmarks.timing import in_turn
from hushtable.kernel.counting import count_table
from hushtable.schema import Hierarchy, IntegerRange, Schema, nominal, ordinal

ROWS = 10_000_000
QUICK_ROWS = 200_000
ROUNDS = 5
COLUMNS = ("age", "sex", "occupation", "income")


def schema(incomes: int = 1001) -> Schema:
    """101 ages, 2 sexes, 512 occupations in 3 levels, 1001 incomes: 1.03·10⁸ cells."""
    jobs = Hierarchy.from_paths([(f"job {i}", f"group {i // 32}", "*") for i in range(512)])
    return Schema(
        name="people",
        budget=Fraction(10),
        attributes=(
            ordinal("age", IntegerRange(0, 100)),
            nominal("sex", Hierarchy.flat(["F", "M"])),
            nominal("occupation", jobs),
            ordinal("income", IntegerRange(0, incomes - 1)),
        ),
    )


def write_table(path: Path, rows: int) -> None:
    """People as integers and text, as statistics offices have them."""
    random = np.random.default_rng(1)
    jobs = pa.array([f"job {i}" for i in range(512)])
    job = np.minimum(random.geometric(0.01, rows) - 1, 511).astype(np.int16)
    sex = random.integers(0, 2, rows, dtype=np.int8)
    table = pa.table(
        {
            "age": np.clip(random.normal(40, 20, rows), 0, 100).astype(np.int32),
            "sex": pa.DictionaryArray.from_arrays(sex, pa.array(["F", "M"])).cast(pa.string()),
            "occupation": pa.DictionaryArray.from_arrays(job, jobs).cast(pa.string()),
            "income": np.clip(random.lognormal(5, 1, rows), 0, 1000).astype(np.int32),
        }
    )
    pq.write_table(table, path)


def bare_group_by(path: Path) -> Callable[[], object]:
    """The same columns grouped by DuckDB, as they are."""
    query = f"SELECT {', '.join(COLUMNS)}, COUNT(*) FROM read_parquet(?) GROUP BY ALL"

    def group() -> object:
        with duckdb.connect() as connection:
            connection.execute("SET enable_progress_bar = false")
            return connection.sql(query, params=[str(path)]).to_arrow_table()

    return group


def _polars(path: Path) -> dict[str, Callable[[], object]]:
    """Polars' two engines; which one is faster depends on the data."""
    try:
        import polars
    except ImportError:
        return {}
    grouped = polars.scan_parquet(path).group_by(COLUMNS).len()
    return {
        "Polars": lambda: grouped.collect(),
        "Polars, streaming": lambda: grouped.collect(engine="streaming"),
    }


def section(options: Options) -> Section:
    """Parquet to sparse counts, beside DuckDB and Polars."""
    rows, rounds = (QUICK_ROWS, 2) if options.quick else (ROWS, ROUNDS)
    with tempfile.TemporaryDirectory() as folder:
        path, described = Path(folder, "people.parquet"), schema()
        write_table(path, rows)
        works = {
            "DuckDB": bare_group_by(path),
            **_polars(path),
            "ours": lambda: count_table(str(path), described),
        }
        best = in_turn(rounds, works)
    work, ours = f"{rows:,} rows × 4 attributes to counts", best["ours"]
    polars = min((best[name] for name in works if "Polars" in name), default="not installed")
    found = [
        Row(work, ours, "DuckDB's bare GROUP BY", best["DuckDB"], "s", Target(2)),
        Row(work, ours, "Polars' group_by", polars, "s"),
    ]
    return Section("Counting: Parquet to sparse counts", found)


if __name__ == "__main__":
    alone(section)
