"""Summaries of sparse tables: time per non-zero as the domain grows, and beside a GROUP BY.

First, n non-zeros in domains of 10⁷ … 10¹⁸ cells, size = n: counts in memory to a kept summary.
Second, as many rows as non-zeros in 10¹² cells: a bare GROUP BY of the codes, then the summary of
its result, then a whole `publish` from Parquet to a release on disk.
"""

from __future__ import annotations

import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import hushtable
from hushtable.noise.entropy import SystemEntropy
from hushtable.noise.sparse import summarise
from hushtable.schema import IntegerRange, Schema, ordinal
from hushtable.summaries import Filter, Held, Priority, Rule, Structure, Threshold
from hushtable.summaries.forecast import filter_for_size, threshold_for_size

SCALE = Fraction(10)
COUNT = 100


def run(nonzeros: int = 10**6, large: int = 10**7) -> float:
    """Print both tables; returns the largest ratio of a summary to the GROUP BY."""
    by_domain(nonzeros)
    print()
    return beside_group_by(large)


def rules(places: int, n: int) -> dict[str, Rule]:
    """Every kind of summary, for as many places as the table has non-zeros."""
    theta = filter_for_size(places, SCALE, n)
    return {
        "filter": Filter(theta),
        "threshold": Threshold(threshold_for_size(places, SCALE, 1, n, float(COUNT * n))),
        "priority": Priority(n),
        "filter-priority": Priority(n, theta),
    }


def by_domain(n: int) -> None:
    """Nanoseconds per non-zero, by rule and size of the domain."""
    domains = [10**e for e in (7, 8, 10, 12, 15, 18)]
    random = np.random.default_rng(1)
    print(f"{n:,} non-zeros, size = n: ns per non-zero" + " " * 3 + "geometric where feasible")
    print(f"{'cells':>10}" + "".join(f"{name:>17}" for name in [*rules(10**7, n), "geometric"]))
    for domain in domains:
        codes = np.unique(random.integers(0, domain, n))
        held = Held(codes, np.full(len(codes), COUNT), domain)
        line = [_nanoseconds(held, rule) for rule in rules(domain, n).values()]
        dense = f"{_nanoseconds(held, Filter(1)):>17.0f}" if domain <= 10**8 else f"{'-':>17}"
        print(f"{domain:>10.0e}" + "".join(f"{figure:>17.0f}" for figure in line) + dense)


def _nanoseconds(held: Held, rule: Rule) -> float:
    seconds = [_seconds(lambda: summarise(held, rule, SCALE, SystemEntropy())) for _ in range(3)]
    return min(seconds) / len(held.places) * 1e9


def beside_group_by(n: int) -> float:
    """n rows of two attributes of a million codes each: nearly as many non-zeros."""
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        path, schema = Path(folder, "pairs.parquet"), _schema(Path(folder, "pairs.toml"))
        random = np.random.default_rng(1)
        pq.write_table(pa.table({k: random.integers(0, 10**6, n) for k in "ab"}), path)
        connection = duckdb.connect()
        connection.execute("SET enable_progress_bar = false")
        query = f"SELECT a * 1000000 + b AS cell, COUNT(*) AS n FROM '{path}' GROUP BY cell"
        grouped = [_seconds(lambda: connection.sql(query).to_arrow_table()) for _ in "123"]
        bare = statistics.median(grouped)
        found = connection.sql(query).to_arrow_table()
        codes, counts = (np.asarray(found[name]) for name in ("cell", "n"))
        print(f"{len(codes):,} non-zeros in 10^12 cells: GROUP BY {bare:.2f} s; times that:")
        for name, rule in rules(10**12, n).items():
            ratio = _seconds(lambda rule=rule: _summary(codes, counts, rule)) / bare  # type: ignore[misc]
            print(f"  {name:<18}{ratio:5.2f}  (sorting, noise and summary)")
            worst = max(worst, ratio)
        whole = _seconds(lambda: _publish(path, schema, Path(folder, "r"), n)) / bare
        print(f"  {'publish filter':<18}{whole:5.2f}  (Parquet to release, counting included)")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"peak memory {peak:.1f} GiB; the codes and counts alone {16 * n / 2**30:.2f} GiB")
    return worst


def _summary(codes: np.ndarray, counts: np.ndarray, rule: Rule) -> object:
    structure = Structure("cells", (10**6, 10**6))
    places, values = structure.forward(codes, counts)
    return summarise(Held(places, values, structure.places), rule, SCALE, SystemEntropy())


def _publish(path: Path, schema: Path, out: Path, n: int) -> object:
    return hushtable.publish(
        path, schema, epsilon="0.1", out=out, mechanism="filter", settings={"size": n}
    )


def _schema(path: Path) -> Path:
    attributes = tuple(ordinal(name, IntegerRange(0, 10**6 - 1)) for name in "ab")
    Schema(name="pairs", budget=Fraction(1), attributes=attributes).save(path)
    return path


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    run(*map(int, sys.argv[1:]))
