"""Synthetic rows from PrivBayes beside other implementations, by time and by distance: the table.

The peers are those of `benchmarks.privbayes`, which can do more by itself. Distances are total
variation, averaged over two- and three-way marginals, of as many rows as the table has.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import hushtable
from benchmarks import privbayes
from benchmarks.options import Options, alone
from benchmarks.table import Row, Section, Target
from hushtable.generators import own_dataset
from hushtable.release import Release
from hushtable.schema import Schema
from hushtable_papers.real_tables import adult
from hushtable_papers.synthetic_rows import CodedTable, Marginals, drawn_codes

QUICK_ROWS = 1000
RUNS = 3
SECONDS, QUICK_SECONDS = 900, 60
DRAWN, QUICK_DRAWN = 10**7, 10**5
WAYS = (2, 3)


def section(options: Options) -> Section:
    """A generated table and, where it is given, Adult; then a long stream of rows."""
    made = privbayes.generated(QUICK_ROWS) if options.quick else privbayes.generated()
    rows = _rows("generated", *made, options)
    if options.adult is not None:
        rows += _rows("Adult", *adult(options.adult), options)
    rows.append(_stream(*made, QUICK_DRAWN if options.quick else DRAWN))
    return Section("Synthetic rows: PrivBayes, degree 2, ε = 1", rows)


def _rows(name: str, schema: Schema, table: pa.Table, options: Options) -> list[Row]:
    true = Marginals(CodedTable.of(name, schema, table))
    ours, distances = _ours(schema, table, true, 1 if options.quick else RUNS)
    size = f"{name}, {table.num_rows:,} × {table.num_columns}"
    rows = []
    for peer in privbayes.PEERS if options.peers else ():
        limit = QUICK_SECONDS if options.quick else SECONDS
        found = privbayes.peer_rows(peer, schema, table, limit)
        took, apart = _theirs(found, true)
        speed = took if isinstance(took, str) else table.num_rows / took
        least = Target(100, "≥") if peer.name == "DataSynthesizer" else None
        rows.append(Row(f"{size}: network, marginals, rows", table.num_rows / ours, peer.name,
                        speed, "rows/s", least))  # fmt: skip
        rows += [
            Row(f"  distance of {ways}-way marginals", distances[ways], peer.name,
                apart if isinstance(apart, str) else apart[ways], "distance")
            for ways in WAYS
        ]  # fmt: skip
    return rows + list(_baselines(name, schema, table, true, distances))


def _theirs(found: Any, true: Marginals) -> tuple[float | str, dict[int, float] | str]:
    """A peer's time and distances; or twice the reason why there are none."""
    if isinstance(found, str):
        return found, found
    columns, took = found
    return took, true.distances(columns)


def _baselines(
    name: str, schema: Schema, table: pa.Table, true: Marginals, distances: dict[int, float]
) -> Iterator[Row]:
    """What rows are that keep no dependence, and rows drawn from the table itself."""
    known, random = CodedTable.of(name, schema, table), np.random.default_rng(1)
    again = known.take(random.integers(0, known.rows, known.rows))
    others = {
        "independent columns": [random.permutation(column) for column in known.columns],
        "bootstrap, not private": again.columns,
    }
    for beside, columns in others.items():
        apart = true.distances(columns)
        for ways in WAYS:
            work = f"{name}: distance of {ways}-way marginals"
            yield Row(work, distances[ways], beside, apart[ways], "distance")


def _ours(
    schema: Schema, table: pa.Table, true: Marginals, runs: int
) -> tuple[float, dict[int, float]]:
    """The best time after one to warm up, and the mean distances."""
    times, found = [], []
    for _ in range(runs + 1):
        start = time.perf_counter()
        with _release(schema, table, degree="2") as release:
            release.synthesize(table.num_rows)
            times.append(time.perf_counter() - start)
            found.append(true.distances(drawn_codes(release, table.num_rows)))
    return min(times[1:]), {k: float(np.mean([one[k] for one in found])) for k in found[0]}


def _stream(schema: Schema, table: pa.Table, rows: int) -> Row:
    """Rows of nine columns, batch after batch, beside numpy drawing as many plain columns."""
    narrow = Schema(schema.name, schema.budget, schema.attributes[:9])
    random, sizes = np.random.default_rng(1), narrow.shape
    with _release(narrow, table.select(range(9))) as release:
        release.synthesize(1000)
        start = time.perf_counter()
        for _ in release.synthetic_batches(rows):
            pass
        ours = time.perf_counter() - start
    start = time.perf_counter()
    for size in sizes:
        random.integers(0, size, rows)
    plain = time.perf_counter() - start
    return Row(f"{rows:,} rows of 9 columns from a network", rows / ours,
               "numpy: 9 uniform columns", rows / plain, "rows/s",
               Target(2e6, "≥", of="ours"))  # fmt: skip


@contextmanager
def _release(schema: Schema, table: pa.Table, **settings: str) -> Iterator[Release]:
    with tempfile.TemporaryDirectory() as folder:
        yield hushtable.publish(
            table, own_dataset(schema), epsilon="1", mechanism="privbayes", settings=settings,
            out=Path(folder, "release"), ledger=Path(folder, "ledger"),
        )  # fmt: skip


if __name__ == "__main__":
    alone(section)
