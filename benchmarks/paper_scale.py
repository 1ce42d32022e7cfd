"""`privelet+` at the scale of the Privelet paper: 10 million people, 1.03·10⁸ cells, 40,000 ranges.

Every time stands beside the bare GROUP BY of the same file in the same run.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np

import hushtable as ht
from benchmarks.counting import ROWS, schema, write_table

QUERIES = 40_000


def run(rows: int = ROWS) -> None:
    """Publish twice (kernels cold and warm), ask, and print a line per stage."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["HUSHTABLE_STATE"] = str(folder / "state")
        write_table(folder / "people.parquet", rows)
        schema().save(folder / "people.toml")
        bare = min(_bare(folder) for _ in range(3))
        print(f"privelet+ at {schema().cells:,} cells from {rows:,} rows")
        print(f"  {'bare GROUP BY in DuckDB':<34}{bare:7.2f} s")
        for number, label in enumerate(("first", "second")):
            _child(folder, number, label, bare)
        _ask(folder / "1.release")


def _bare(folder: Path) -> float:
    start = time.perf_counter()
    with duckdb.connect() as connection:
        query = "SELECT age, sex, occupation, income, COUNT(*) FROM read_parquet(?) GROUP BY ALL"
        connection.sql(query, params=[str(folder / "people.parquet")]).to_arrow_table()
    return time.perf_counter() - start


def _child(folder: Path, number: int, label: str, bare: float) -> None:
    """Publish in a process of its own, so that its peak memory is its own."""
    script = f"from benchmarks.paper_scale import publish; publish({str(folder)!r}, {number})"
    cache = folder / "numba"
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, check=True, capture_output=True, text=True
    )
    *stages, total, peak = done.stdout.splitlines()
    size = sum(file.stat().st_size for file in (folder / f"{number}.release").iterdir())
    for stage in stages:
        print(f"    {label:<7}{stage}")
    print(f"  {label + ' publish':<34}{float(total):7.2f} s   {float(total) / bare:.2f} × GROUP BY")
    matrix = 8 * schema().cells
    print(
        f"  {'peak memory':<34}{float(peak) / 2**30:7.2f} GiB {float(peak) / matrix:.2f} × matrix"
    )
    print(f"  {'release on disk':<34}{size / 2**20:7.0f} MiB")


def publish(name: str, number: int) -> None:
    """The work of a child: print the time of every stage, the total and the peak memory."""
    folder = Path(name)
    marks: list[tuple[str, float]] = []
    start = time.perf_counter()
    ht.publish(
        folder / "people.parquet",
        folder / "people.toml",
        epsilon="0.5",
        out=folder / f"{number}.release",
        mechanism="privelet+",
        settings={"identity": "age,sex"},
        progress=lambda step: marks.append((step, time.perf_counter())),
    )
    end = time.perf_counter()
    for (step, began), (_, ended) in zip(marks, [*marks[1:], ("", end)], strict=True):
        print(f"{step:<25}{ended - began:7.2f} s")
    print(end - start)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)


def _ask(path: Path) -> None:
    random = np.random.default_rng(7)
    shape = schema().shape
    ends = [np.sort(random.integers(0, size + 1, (QUERIES, 2)), axis=1) for size in shape]
    starts, stops = (np.stack([end[:, k] for end in ends], axis=1) for k in (0, 1))
    begin = time.perf_counter()
    release = ht.open(path)
    first = release.count("age BETWEEN 20 AND 29 AND occupation = 'group 3'")
    print(f"  {'opening and first answer':<34}{time.perf_counter() - begin:7.2f} s   ({first})")
    begin = time.perf_counter()
    values, errors = ht.open(path).count_ranges(starts, stops)
    took = time.perf_counter() - begin
    print(f"  {f'{QUERIES:,} range counts with errors':<34}{took:7.2f} s   opening included")
    assert np.isfinite(values).all() and (errors >= 0).all()


if __name__ == "__main__":
    run()
