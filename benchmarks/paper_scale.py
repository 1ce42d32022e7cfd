"""`privelet+` at the scale of the Privelet paper: 10 million people, 1.03·10⁸ cells.

Publishing and the bare GROUP BY of the same file take turns, each in a process of its own, and each
twice there: the first time memory is fresh and modules are loaded, the second time neither. The
very first publication also compiles the kernels.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import hushtable as ht
from benchmarks.counting import QUICK_ROWS, ROWS, bare_group_by, schema, write_table
from benchmarks.machine import peak_memory
from benchmarks.options import Options, alone
from benchmarks.table import Grid, Row, Section, Target
from benchmarks.timing import seconds
from hushtable.generators import own_dataset

QUICK_INCOMES = 64
ROUNDS = 3


@dataclass(frozen=True)
class Published:
    """What a child tells of its two publications."""

    fresh: float
    again: float
    stages: tuple[tuple[str, float], ...]
    peak: float
    size: int


def section(options: Options) -> Section:
    """Publish with kernels cold, then warm, in turn with the GROUP BY."""
    rows = QUICK_ROWS if options.quick else ROWS
    with people(options) as folder:
        first, bare, ours = _published(folder), [], []
        for _ in range(1 if options.quick else ROUNDS):
            bare.append(_child(folder, "group"))
            ours.append(_published(folder))
    best = min(ours, key=lambda one: one.fresh)
    again, matrix = min(one.again for one in ours), 8.0 * asked_schema(options).cells
    fresh_group, group_again = (min(float(times[i]) for times in bare) for i in (0, 1))
    work = f"privelet+: {rows:,} rows to {matrix / 8:.3g} cells on disk"
    found = [
        Row(work, best.fresh, "DuckDB's bare GROUP BY", fresh_group, "s", Target(3)),
        Row("  again in the same process", again, "that GROUP BY again", group_again, "s",
            Target(3)),
        Row("  peak memory", best.peak, "the matrix of 64-bit counts", matrix, "B", Target(2.5)),
        Row("  release on disk", float(best.size), "that matrix", matrix, "B"),
        Row("  compiling, at the first publication", max(first.fresh - best.fresh, 0.0),
            "publishing again", best.fresh, "s", Target(10, of="ours")),
    ]  # fmt: skip
    stages = tuple((name, f"{took:.2f}") for name, took in best.stages)
    return Section("Publishing: Parquet in, release on disk", found,
                   [Grid("Stages: fresh, then again", ("stage", "s"), stages)])  # fmt: skip


def asked_schema(options: Options) -> ht.Schema:
    """The paper's domain, or one with few incomes."""
    return schema(QUICK_INCOMES) if options.quick else schema()


@contextmanager
def people(options: Options) -> Iterator[Path]:
    """A folder with the table and its schema."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_table(folder / "people.parquet", QUICK_ROWS if options.quick else ROWS)
        own_dataset(asked_schema(options)).save(folder / "people.toml")
        yield folder


def _published(folder: Path) -> Published:
    """Publish twice in a process of its own."""
    *stages, fresh, again, peak, size = _child(folder, "tell")
    told = tuple((name, float(took)) for name, took in (stage.rsplit("=") for stage in stages))
    return Published(float(fresh), float(again), told, float(peak), int(size))


def _child(folder: Path, work: str) -> list[str]:
    """The lines that a function below prints; compiled kernels are kept beside the table."""
    script = f"from benchmarks.paper_scale import {work}; {work}({str(folder)!r})"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parent.parent,
        env=os.environ | {"NUMBA_CACHE_DIR": str(folder / "numba")},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.splitlines()


def group(name: str) -> None:
    """Print how long the GROUP BY takes, first and again."""
    work = bare_group_by(Path(name) / "people.parquet")
    for _ in range(2):
        print(seconds(work))


def tell(name: str) -> None:
    """Print the time of every stage, both totals, the peak memory and the size on disk."""
    folder, totals, size = Path(name), [], 0
    for _ in range(2):
        start = time.perf_counter()
        marks = publish(folder)
        end = time.perf_counter()
        for (step, began), (_, ended) in zip(marks, [*marks[1:], ("", end)], strict=True):
            print(f"{step}={ended - began}")
        totals.append(end - start)
        size = sum(file.stat().st_size for file in (folder / "people.release").iterdir())
        shutil.rmtree(folder / "people.release")
    print(*totals, peak_memory(), size, sep="\n")


def publish(folder: Path) -> list[tuple[str, float]]:
    """Publish the people of a folder there; tells when each stage began."""
    marks: list[tuple[str, float]] = []
    ht.publish(
        folder / "people.parquet",
        folder / "people.toml",
        epsilon="0.5",
        out=folder / "people.release",
        mechanism="privelet+",
        settings={"identity": "age,sex"},
        progress=lambda step: marks.append((step, time.perf_counter())),
    )
    return marks


if __name__ == "__main__":
    alone(section)
