"""Memory and time as tables grow: rows of persons, and summaries of many occupied cells.

    python -m benchmarks.large people [--rows 1e6 1e7] [--kind two one skewed]
    python -m benchmarks.large cells [--cells 1e6 1e7] [--mechanism filter]
    python -m benchmarks.large columns [--rows 1e6 1e7]

Every figure is that of a process of its own. `anonymous` is memory that the process alone has and
that cannot be taken back from it, looked at every 20 ms; `at most` counts pages of its files, too,
which the system takes back when memory is needed. 1e8 works everywhere; cells=1e9 wants some 60 GB
of disk in TMPDIR and half an hour.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import hushtable
from benchmarks.counting import schema
from benchmarks.machine import peak_memory
from benchmarks.options import own_state
from hushtable.kernel.counting import code_table, count_table
from hushtable.schema import CountColumn, IntegerRange, Schema, Unit, ordinal

WIDE = 10**12
COUNT = 100
_BATCH = 2**20
_JOBS = pa.array([f"job {i}" for i in range(512)])


def table_of(rows: int, batch: Callable[[np.random.Generator, int, int], pa.Table]) -> Any:
    """A stream of made-up rows, which is never in memory as a whole."""
    first = batch(np.random.default_rng(0), 0, 1).schema

    def batches() -> Iterator[pa.RecordBatch]:
        random = np.random.default_rng(1)
        for start in range(0, rows, _BATCH):
            yield from batch(random, start, min(_BATCH, rows - start)).to_batches()

    return pa.RecordBatchReader.from_batches(first, batches())


# ── rows of persons ──────────────────────────────────────────────────────────────────────────────

KINDS = ("two", "one", "skewed")
"""Two rows a person on average, one, or half of all rows of a single one."""


def write_people(path: Path, rows: int, kind: str) -> None:
    """The people of `counting`, with an id."""

    def batch(random: np.random.Generator, start: int, size: int) -> pa.Table:
        ids = np.arange(start, start + size)
        if kind != "one":
            ids = random.integers(1, rows // 2 + 2, size)
        if kind == "skewed":
            ids[random.random(size) < 0.5] = 0
        job = np.minimum(random.geometric(0.01, size) - 1, 511).astype(np.int16)
        sex = random.integers(0, 2, size, dtype=np.int8)
        columns = {
            "id": ids,
            "age": np.clip(random.normal(40, 20, size), 0, 100).astype(np.int32),
            "sex": pa.DictionaryArray.from_arrays(sex, pa.array(["F", "M"])).cast(pa.string()),
            "occupation": pa.DictionaryArray.from_arrays(job, _JOBS).cast(pa.string()),
            "income": np.clip(random.lognormal(5, 1, size), 0, 1000).astype(np.int32),
        }
        return pa.table(columns)

    _write(path, table_of(rows, batch))


def _write(path: Path, reader: Any) -> None:
    with pq.ParquetWriter(path, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)


def _count_people(path: str) -> str:
    found = count_table(path, replace(schema(), unit=Unit("id", 2)))
    return f"{int(found.counts.sum()):,} rows kept, {len(found.codes):,} cells"


def people(rows: int, kinds: list[str]) -> None:
    """Count rows, two of a person at most."""
    for kind in kinds:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "people.parquet")
            write_people(path, rows, kind)
            measure(f"{rows:.0e} rows, {kind} of a person", _count_people, str(path))


# ── many columns ─────────────────────────────────────────────────────────────────────────────────

NARROW = 30


def _coded(rows: int) -> str:
    attributes = tuple(ordinal(f"a{i}", IntegerRange(0, 9)) for i in range(NARROW))
    wide = Schema(name="wide", budget=Fraction(1), attributes=attributes)

    def batch(random: np.random.Generator, start: int, size: int) -> pa.Table:
        return pa.table({f"a{i}": random.integers(0, 10, size, np.int8) for i in range(NARROW)})

    found = code_table(table_of(rows, batch), wide)
    return f"{sum(column.nbytes for column in found.columns) / 2**30:.2f} GiB of codes"


def columns(rows: int) -> None:
    """Encode rows of thirty columns, for mechanisms that need them."""
    measure(f"{rows:.0e} rows × {NARROW} columns", _coded, rows)


# ── many cells ───────────────────────────────────────────────────────────────────────────────────


def _publish(rows: int, mechanism: str) -> str:
    """About as many occupied cells as rows, of a hundred people each, in 10¹² cells."""
    axes = tuple(ordinal(name, IntegerRange(0, 10**6 - 1)) for name in "ab")
    described = Schema(name="pairs", budget=Fraction(1), attributes=axes, counts=CountColumn("n"))

    def batch(random: np.random.Generator, start: int, size: int) -> pa.Table:
        ends = {name: random.integers(0, 10**6, size, np.int32) for name in "ab"}
        return pa.table({**ends, "n": np.full(size, COUNT, np.int32)})

    steps: list[tuple[str, float]] = []
    with tempfile.TemporaryDirectory() as folder, own_state():
        out = Path(folder, "release")
        hushtable.publish(
            table_of(rows, batch),
            described,
            epsilon="0.1",
            out=out,
            mechanism=mechanism,
            settings={"size": str(rows)},
            ledger=Path(folder, "ledger"),
            progress=lambda step: steps.append((step, time.perf_counter())),
        )
        size = sum(file.stat().st_size for file in out.iterdir()) / 2**30
        kept = len(np.load(out / "places.npy", mmap_mode="r"))
    took = {step: after - before for (step, before), (_, after) in pairwise(steps)}
    shown = ", ".join(f"{step} {s:.0f} s" for step, s in took.items() if s >= 0.5)
    return f"{kept:,} cells kept, {size:.2f} GiB; {shown}"


def cells(rows: int, mechanism: str) -> None:
    """Publish a summary of many occupied cells."""
    measure(f"{rows:.0e} occupied cells, {mechanism}", _publish, rows, mechanism)


# ── a process and its memory ─────────────────────────────────────────────────────────────────────


def measure(what: str, work: Callable[..., str], *given: object) -> None:
    """Run some work in a new process, and print its time and memory."""
    with get_context("spawn").Pool(1) as pool:
        found, wall, cpu, anonymous, most = pool.apply(_measured, (work, given))
    sizes = f"{anonymous / 2**30:5.2f} GiB anonymous, {most / 2**30:5.2f} at most"
    print(f"{what:40} {wall:7.1f} s {cpu:7.1f} s CPU  {sizes}  {found}", flush=True)


def _measured(
    work: Callable[..., str], given: tuple[object, ...]
) -> tuple[str, float, float, int, int]:
    most, done = [0], threading.Event()

    def look() -> None:
        while not done.wait(0.02):
            most[0] = max(most[0], _anonymous())

    watching = threading.Thread(target=look)
    watching.start()
    try:
        began, cpu = time.perf_counter(), _cpu()
        found = work(*given)
        return found, time.perf_counter() - began, _cpu() - cpu, most[0], peak_memory()
    finally:
        done.set()
        watching.join()


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def _anonymous() -> int:
    """The process's own memory, in bytes; 0 where the system does not tell."""
    status = Path(f"/proc/{os.getpid()}/status")
    if not status.exists():
        return 0
    for line in status.read_text(encoding="utf-8").splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    return 0


def _number(text: str) -> int:
    return int(float(text))


def main(arguments: list[str] | None = None) -> None:
    """Print one line for every size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("people", "columns", "cells"))
    parser.add_argument("--rows", type=_number, nargs="+", default=[10**6, 10**7])
    parser.add_argument("--cells", type=_number, nargs="+", default=[10**6, 10**7])
    parser.add_argument("--kind", choices=KINDS, nargs="+", default=list(KINDS))
    parser.add_argument("--mechanism", default="filter")
    given = parser.parse_args(arguments)
    for size in given.cells if given.what == "cells" else given.rows:
        match given.what:
            case "people":
                people(size, given.kind)
            case "columns":
                columns(size)
            case "cells":
                cells(size, given.mechanism)


if __name__ == "__main__":
    main()
