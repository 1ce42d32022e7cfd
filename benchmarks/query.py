"""How fast releases of 10⁸ cells open and answer, beside the least that anyone would have to do.

One release is `privelet+` at the paper's scale; it is asked from the command line, and 40,000
ranges at once. The other holds cells, written straight through the store: no table is needed to
measure reading. Every "first" figure is taken on a release opened afresh, so it includes the
checksums of what it touches. Files are in the page cache, as after they were copied.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import hushtable
from benchmarks.options import Options, alone
from benchmarks.paper_scale import asked_schema, people, publish
from benchmarks.table import Row, Section, Target
from benchmarks.timing import in_turn, seconds
from hushtable.release.store import FORMAT, write_arrays, write_manifest
from hushtable.schema import Schema

SHAPE = (1000, 1000, 100)
QUICK_SHAPE = (100, 100, 100)
ROUNDS = 5
QUERIES = 40_000
SLICED = 100  # of those queries are also answered by numpy, one by one
GROUPED = "SELECT a, c, COUNT(*) FROM cells GROUP BY a, c"
CONDITION = "age BETWEEN 20 AND 29 AND occupation = 'group 3'"


def section(options: Options) -> Section:
    """Questions to a release of coefficients, then to one of cells."""
    rounds = 1 if options.quick else ROUNDS
    with people(options) as folder:
        publish(folder)
        rows = [_first_answer(folder, rounds), _many_ranges(folder, options)]
    rows += _cells_rows(QUICK_SHAPE if options.quick else SHAPE, rounds)
    return Section("Queries: answers with error bars", rows)


# ── a release of coefficients ────────────────────────────────────────────────────────────────────


def _first_answer(folder: Path, rounds: int) -> Row:
    """What waits for an analyst who types a command."""
    question = f"SELECT COUNT(*) FROM people WHERE {CONDITION}"
    command = [sys.executable, "-m", "hushtable.cli", "query"]
    asked = [*command, str(folder / "people.release"), question]
    best = in_turn(
        rounds,
        {
            "numpy": lambda: _run([sys.executable, "-c", "import numpy"]),
            "ours": lambda: _run(asked),
        },
    )
    return Row("hush query, first answer", best["ours"], "python -c 'import numpy'",
               best["numpy"], "s", Target(0.5, of="ours"))  # fmt: skip


def _run(command: list[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _many_ranges(folder: Path, options: Options) -> Row:
    """All ranges with their errors, opening included; numpy adds up some slices, values alone."""
    shape, random = asked_schema(options).shape, np.random.default_rng(7)
    ends = [np.sort(random.integers(0, size + 1, (QUERIES, 2)), axis=1) for size in shape]
    starts, stops = (np.stack([end[:, k] for end in ends], axis=1) for k in (0, 1))
    release = folder / "people.release"
    ours = min(
        seconds(lambda: hushtable.open(release).count_ranges(starts, stops))
        for _ in range(1 if options.quick else 3)
    )
    values, errors = hushtable.open(release).count_ranges(starts, stops)
    assert np.isfinite(values).all() and (errors >= 0).all()
    cells = np.ones(shape, np.int64)
    sliced = seconds(lambda: _sums(cells, starts[:SLICED], stops[:SLICED]))
    return Row(f"{QUERIES:,} ranges with errors, opening included", ours,
               f"numpy's sums of slices ({SLICED} timed)", sliced / SLICED * QUERIES, "s",
               Target(2, of="ours"))  # fmt: skip


def _sums(cells: NDArray[np.int64], starts: NDArray[np.int64], stops: NDArray[np.int64]) -> None:
    for start, stop in zip(starts, stops, strict=True):
        cells[tuple(slice(a, b) for a, b in zip(start, stop, strict=True))].sum()


# ── a release of cells ───────────────────────────────────────────────────────────────────────────


def _cells_rows(shape: tuple[int, ...], rounds: int) -> list[Row]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "cells.release"
        write_release(folder, shape)
        plain = np.load(folder / "cells.npy", allow_pickle=False)
        sum_up = {"numpy": lambda: plain.sum(dtype=np.int64)}
        best = in_turn(rounds, {**sum_up, **_questions(folder)})
    beside = f"numpy's sum of {plain.size:,} cells in memory"
    numpy = best.pop("numpy")
    return [Row(f"cells: {work}", took, beside, numpy, "s") for work, took in best.items()]


def _questions(folder: Path) -> dict[str, Callable[[], object]]:
    box = "a = 50 AND b BETWEEN 10 AND 19 AND c < 50"
    ragged = f"c IN ({', '.join(map(str, range(0, 100, 2)))})"
    release = hushtable.open(folder)
    return {
        "open": lambda: hushtable.open(folder),
        "open, first small box": lambda: hushtable.open(folder).count(box),
        "open, first whole domain": lambda: hushtable.open(folder).count(),
        "open, verify": lambda: hushtable.open(folder).verify(),
        "small box again": lambda: release.count(box),
        "whole domain again": lambda: release.count(),
        "every second value of an attribute": lambda: release.count(ragged),
        "GROUP BY two attributes": lambda: release.sql(GROUPED),
    }


def write_release(folder: Path, shape: tuple[int, ...]) -> None:
    """Write a release of noise alone, two bytes a cell."""
    schema = Schema.from_dict(
        {
            "name": "cells",
            "budget": "1",
            "attribute": [
                {"name": name, "kind": "ordinal", "range": [0, size - 1]}
                for name, size in zip("abc", shape, strict=True)
            ],
        }
    )
    cells = np.random.default_rng(0).integers(-300, 300, shape)
    folder.mkdir()
    manifest = {
        "hushtable": "release",
        "format": FORMAT,
        "software": hushtable.__version__,
        "created": "2000-01-01",
        "private": False,
        "mechanism": "basic",
        "asked": "basic",
        "parameters": {},
        "privacy": {
            "epsilon": "0.02",
            "delta": 0.0,
            "neighbours": schema.neighbours,
            "unit": "one row",
            "guarantee": "none: made for a benchmark",
        },
        "reader": "cells",
        "noise": {"law": "discrete-laplace", "scale": "50", "on": "every cell"},
        "schema": schema.to_dict(),
        "reservation": "none",
        "ledger": {},
        "arrays": write_arrays(folder, {"cells": cells}),
    }
    write_manifest(folder, manifest)


if __name__ == "__main__":
    alone(section)
