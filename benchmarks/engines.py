"""Counting one table where it lies: Parquet by DuckDB and in Spark, and the same rows in Postgres.

    python -m benchmarks.engines --rows 1e6 1e7 [--max-rows 2] [--only duckdb,postgres,spark[2]]

Every count is made in a process of its own, which first counts a few rows; of that process, and of
the server that works for it, the time, the time of all cores and the most memory are measured. What
processes of a server share is counted once. The counts of all engines must be equal.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import on_spark
from benchmarks.machine import machine, peak_memory
from benchmarks.options import Options
from benchmarks.processes import watched
from benchmarks.table import Row, Section, Target
from hushtable.kernel.counting import count_table
from hushtable.kernel.counting.readers.paths import table_in
from hushtable.schema import Edges, Hierarchy, IntegerRange, Schema, Unit, nominal, ordinal

ROWS = 10_000_000
QUICK_ROWS = 100_000
AT_ONCE = 10**6
SALT = "5a17" * 8
JOBS, TOWNS = 512, 8


# ── the table ────────────────────────────────────────────────────────────────────────────────────


def schema(max_rows: int | None) -> Schema:
    """Ten ages, two sexes, 512 occupations, eleven incomes, eight towns: 9·10⁵ cells."""
    incomes = [0, 20, 40, 60, 80, 100, 150, 200, 300, 500, 700, 1000]
    return Schema(
        name="people",
        budget=Fraction(10),
        attributes=(
            ordinal("age", Edges(tuple(range(0, 101, 10)))),
            nominal("sex", Hierarchy.flat(["F", "M"])),
            nominal("occupation", Hierarchy.flat([f"job {i}" for i in range(JOBS)])),
            ordinal("income", Edges(tuple(incomes))),
            ordinal("town", IntegerRange(0, TOWNS - 1)),
        ),
        unit=None if max_rows is None else Unit("person", max_rows),
    )


def people(random: np.random.Generator, rows: int, persons: int) -> Any:
    """Rows as integers and text, as statistics offices have them, of so many persons."""
    jobs = pa.array([f"job {i}" for i in range(JOBS)])
    job = np.minimum(random.geometric(0.01, rows) - 1, JOBS - 1).astype(np.int16)
    sex = random.integers(0, 2, rows, dtype=np.int8)
    return pa.table(
        {
            "person": random.integers(0, persons, rows),
            "age": np.clip(random.normal(40, 20, rows), 0, 100).astype(np.int32),
            "sex": pa.DictionaryArray.from_arrays(sex, pa.array(["F", "M"])).cast(pa.string()),
            "occupation": pa.DictionaryArray.from_arrays(job, jobs).cast(pa.string()),
            "income": np.clip(random.lognormal(5, 1, rows), 0, 1000).astype(np.int32),
            "town": random.integers(0, TOWNS, rows, dtype=np.int32),
        }
    )


def write_people(path: Path, rows: int) -> None:
    """A table of that many rows, a third as many persons; never in memory as a whole."""
    random = np.random.default_rng(1)
    with pq.ParquetWriter(path, people(random, 0, 1).schema) as writer:
        for first in range(0, rows, AT_ONCE):
            writer.write_table(people(random, min(AT_ONCE, rows - first), max(rows // 3, 1)))


# ── engines ──────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Place:
    """Where a table is: what to count, and the number of the server that holds it."""

    data: Any
    server: int | None = None


Engine = Callable[[Path], AbstractContextManager[Place]]
"""From a Parquet file to the same table in an engine."""


def in_parquet(path: Path) -> AbstractContextManager[Place]:
    """The file itself."""
    return nullcontext(Place(str(path)))


@contextmanager
def in_postgres(path: Path) -> Iterator[Place]:
    """A table of a server that is started for it."""
    import adbc_driver_postgresql.dbapi as adbc
    from tests.engines import postgres_server

    server = _postgres()
    address = postgres_server.address("postgres", server.folder)
    with adbc.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
        batches = pq.ParquetFile(path).iter_batches(AT_ONCE)
        for number, batch in enumerate(batches):
            cursor.adbc_ingest("people", batch, mode="append" if number else "create")
        cursor.execute("VACUUM ANALYZE people")
    try:
        yield Place(table_in(address, "people"), server.process.pid)
    finally:
        with adbc.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
            cursor.execute("DROP TABLE people")


_SERVERS: list[Any] = []


def _postgres() -> Any:
    """The server of this run; it ends with it."""
    from tests.engines import postgres_server

    if not _SERVERS:
        _SERVERS.append(postgres_server.start())
    return _SERVERS[0]


def _seconds_of_children(process: int) -> float:
    """What the children of a process that have ended used of all cores."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


ENGINES: dict[str, Engine] = {"duckdb": in_parquet, "postgres": in_postgres}


# ── measuring ────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Measured:
    """What one count took: seconds, seconds of all cores, bytes; and what came out."""

    wall: float
    cpu: float
    memory: int
    counts: str
    of_server: int = 0
    """The part of the memory that a server held."""


def measure(place: Place, max_rows: int | None) -> Measured:
    """Count a table in a new process."""
    if place.server is None:
        return _in_new_process(place.data, max_rows)
    before = _seconds_of_children(place.server)
    with watched(place.server) as most:
        found = _in_new_process(place.data, max_rows)
    used = _settled(place.server) - before
    return replace(found, cpu=found.cpu + used, memory=found.memory + most[0], of_server=most[0])


def _in_new_process(data: Any, max_rows: int | None) -> Measured:
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(_counted, (data, max_rows))


def _settled(server: int) -> float:
    """What a server used, once its processes have ended."""
    before = -1.0
    while (now := _seconds_of_children(server)) != before:
        before = now
        time.sleep(0.3)
    return now


def _counted(data: Any, max_rows: int | None) -> Measured:
    described = schema(max_rows)
    count_table(people(np.random.default_rng(1), 1000, 300), described, salt=SALT)
    wall, cpu = time.perf_counter(), time.process_time()
    counts = count_table(data, described, salt=SALT)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    told = hashlib.sha256(counts.codes.tobytes() + counts.counts.tobytes()).hexdigest()
    return Measured(wall, cpu, peak_memory(), told)


def measured(
    rows: int, max_rows: int | None, engines: Sequence[str], rounds: int = 1
) -> dict[str, Measured]:
    """The fastest of some counts by each engine, all of one table."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "people.parquet")
        write_people(path, rows)
        found = {name: _fastest(name, path, max_rows, rounds) for name in engines}
    if len({one.counts for one in found.values()}) > 1:
        raise SystemExit("the engines' counts differ")
    return found


def _fastest(name: str, path: Path, max_rows: int | None, rounds: int) -> Measured:
    if name in on_spark.SESSIONS:
        counts = (
            Measured(*on_spark.count(on_spark.SESSIONS[name], path, schema(max_rows)))
            for _ in range(rounds)
        )
        return min(counts, key=lambda one: one.wall)
    with ENGINES[name](path) as place:
        return min((measure(place, max_rows) for _ in range(rounds)), key=lambda one: one.wall)


def section(options: Options) -> Section:
    """Postgres beside DuckDB on Parquet, with and without bounding."""
    rows, rounds = (QUICK_ROWS, 1) if options.quick else (ROWS, 2)
    missing, found = without_postgres(), []
    for max_rows in (None, 2):
        work = f"{rows:,} rows" + f", max_rows = {max_rows}" * bool(max_rows)
        ours = measured(rows, max_rows, ["duckdb"] if missing else ["duckdb", "postgres"], rounds)
        if missing:
            duckdb = ours["duckdb"].wall
            found.append(Row(f"{work} of Parquet, DuckDB", duckdb, "Postgres", missing, "s"))
        else:
            found += _beside(f"{work} of Postgres", ours["postgres"], ours["duckdb"])
    return Section("Engines: one table, counted where it lies", found)


def _beside(work: str, postgres: Measured, duckdb: Measured) -> list[Row]:
    """The time, the time of all cores and the memory of one against the other."""
    peer, mib = "Parquet by DuckDB", 2**20
    return [
        Row(work, postgres.wall, peer, duckdb.wall, "s", Target(6)),
        Row(work, postgres.cpu, peer, duckdb.cpu, "s of all cores"),
        Row(work, postgres.memory / mib, peer, duckdb.memory / mib, "MiB at most"),
    ]


def without_postgres() -> str:
    """Why no server can be started here; empty where one runs."""
    if find_spec("adbc_driver_postgresql") is None or find_spec("pytest") is None:
        return "not installed"
    from tests.engines import postgres_server

    try:
        _postgres()
    except postgres_server.NoPostgresError as problem:
        return str(problem)
    return ""


def main() -> None:
    """Measure what is asked for, one count after the other."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=float, nargs="+", default=[1e6])
    parser.add_argument("--max-rows", type=int)
    parser.add_argument(
        "--only", default=",".join([*ENGINES, *on_spark.SESSIONS]), help="engines, by commas"
    )
    parser.add_argument("--rounds", type=int, default=1)
    given = parser.parse_args()
    print(machine(), f"load {os.getloadavg()[0]:.1f}", sep="\n")
    for rows in map(int, given.rows):
        found = measured(rows, given.max_rows, given.only.split(","), given.rounds)
        for name, one in found.items():
            print(
                f"{rows:>12,} rows, max_rows {given.max_rows}, {name:>10}: {one.wall:8.2f} s,"
                f" {one.cpu:8.2f} s of all cores, {one.memory / 2**20:8,.0f} MiB"
                + f", {one.of_server / 2**20:,.0f} of the server"
                * bool(one.of_server),
                flush=True,
            )


if __name__ == "__main__":
    main()
