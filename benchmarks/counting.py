"""Counting 10 million Parquet rows of 4 attributes, beside grouping those columns by an engine.

And a table of counts, as it is and with a row for each person: 618,316 journeys of 34 million
people, the size of the commuting flows of a large country.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.machine import most_memory
from benchmarks.options import Options, alone
from benchmarks.table import Row, Section, Target
from benchmarks.timing import in_turn
from hushtable.kernel.counting import count_table
from hushtable.schema import CountColumn, Hierarchy, IntegerRange, Schema, nominal, ordinal

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


PLACES = 3_000
PAIRS = 618_316
QUICK_PAIRS = 10_000
PEOPLE_PER_PAIR = 66


def journeys(counts: CountColumn | None) -> Schema:
    """Between 3,000 places: 9·10⁶ cells."""
    places = [f"{place:05}" for place in range(PLACES)]
    ends = tuple(nominal(name, Hierarchy.flat(places)) for name in ("home", "work"))
    return Schema(name="journeys", budget=Fraction(10), attributes=ends, counts=counts)


def write_journeys(folder: Path, pairs: int) -> tuple[Path, Path]:
    """How many people go from where to where; and the same people, a row for each."""
    random = np.random.default_rng(1)
    cells = np.sort(random.choice(PLACES**2, pairs, replace=False))
    people = (
        np.ceil(random.pareto(1.2, pairs) * PEOPLE_PER_PAIR / 5).astype(np.int64).clip(1, 10**5)
    )
    places = pa.array([f"{place:05}" for place in range(PLACES)])
    ends = {"home": cells // PLACES, "work": cells % PLACES}
    table = pa.table({name: places.take(pa.array(end)) for name, end in ends.items()})
    table = table.append_column("commuters", pa.array(people))
    paths = folder / "counts.parquet", folder / "rows.parquet"
    pq.write_table(table, paths[0])
    with pq.ParquetWriter(paths[1], table.schema) as writer:
        for first in range(0, pairs, 50_000):
            piece = np.arange(first, min(first + 50_000, pairs))
            writer.write_table(table.take(np.repeat(piece, people[piece])))
    return paths


def _counts_and_rows(options: Options, rounds: int) -> list[Row]:
    """A table of counts as it is, beside a row for each person: the same counts."""
    of_counts, of_rows = journeys(CountColumn("commuters")), journeys(None)
    with tempfile.TemporaryDirectory() as folder:
        pairs = QUICK_PAIRS if options.quick else PAIRS
        short, long = map(str, write_journeys(Path(folder), pairs))
        found, expected = count_table(short, of_counts), count_table(long, of_rows)
        assert np.array_equal(found.codes, expected.codes)
        assert np.array_equal(found.counts, expected.counts)
        best = in_turn(
            rounds,
            {
                "counts": lambda: count_table(short, of_counts),
                "rows": lambda: count_table(long, of_rows),
            },
        )
        memory = [
            most_memory(count_table, data, schema) / 2**20
            for data, schema in ((short, of_counts), (long, of_rows))
        ]
    work = f"{pairs:,} rows that stand for {int(found.counts.sum()):,} people to counts"
    return [
        Row(work, best["counts"], "a row for each person", best["rows"], "s", Target(1)),
        Row(work, memory[0], "a row for each person", memory[1], "MiB at most", Target(1)),
    ]


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
        *_counts_and_rows(options, rounds),
    ]
    return Section("Counting: Parquet to sparse counts", found)


if __name__ == "__main__":
    alone(section)
