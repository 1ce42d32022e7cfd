"""Figures 13 and 14 of the Privelet paper: time against the number of people and of cells.

Two ordinal and two nominal attributes of m^(1/4) values, people spread evenly, wavelets along all
four axes. The time is from a Parquet file to a release on disk, the quickest of a few, once the
kernels are compiled. There is no ledger: nothing of this is private, and nothing is spent.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from functools import cache, partial
from pathlib import Path

import numpy as np
import pyarrow as pa

from hushtable.arrays import Floats
from hushtable.evaluation.experiment import Key, ResultRow, Task, task_entropy
from hushtable.generators import MadeUpTable, timing
from hushtable.scratch import spill_folder
from hushtable_papers.claims import Claim, Look, Results
from hushtable_papers.figure import Plot, Scope

MECHANISMS: dict[str, dict[str, str]] = {
    "basic": {},
    "privelet+": {"identity": ""},
    "privelet*": {"identity": ""},
}
EPSILON = "1"
SEED = 1
OFF_THE_LINE = 0.2
"""A time is linear if no point is further from a straight line than this share of it."""


def tasks(scope: Scope) -> list[Task]:
    """Time along n at a fixed m, and along m at a fixed n."""
    unit, repetitions = scope.size(2_000, 1_000_000), scope.size(1, 7)
    bits, people = (range(10, 16, 2), (1, 3, 5)) if scope.quick else (range(22, 27), range(1, 6))
    middle = 2 ** bits[len(bits) // 2]
    along_rows = [_task("rows", n * unit, middle, repetitions) for n in people]
    along_cells = [_task("cells", 5 * unit, 2**b, repetitions) for b in bits]
    return along_rows + along_cells


def _task(along: str, rows: int, cells: int, repetitions: int) -> Task:
    key: Key = {
        "experiment": "privelet-time",
        "along": along,
        "rows": rows,
        "cells": timing(rows, cells=cells, seed=SEED).schema.cells,
        "repetitions": repetitions,
        "epsilon": float(EPSILON),
        "seed": SEED,
    }

    def run() -> list[ResultRow]:
        return list(publish_times(timing(rows, cells=cells, seed=SEED), repetitions))

    return Task(key, run)


def publish_times(made: MadeUpTable, repetitions: int) -> Iterator[ResultRow]:
    """How long each mechanism takes from a file of the table to a release, so many times."""
    _compile()
    with spill_folder() as folder:
        made.write(folder / "people.parquet")
        for repetition in range(repetitions):
            for mechanism, settings in MECHANISMS.items():
                seconds = _seconds(folder, made, mechanism, settings)
                yield {"mechanism": mechanism, "repetition": repetition, "seconds": seconds}


@cache
def _compile() -> None:
    """Publish a small table by every mechanism: kernels are compiled once in a process."""
    made = timing(1_000, cells=2**12, seed=SEED)
    with spill_folder() as folder:
        made.write(folder / "people.parquet")
        for mechanism, settings in MECHANISMS.items():
            _seconds(folder, made, mechanism, settings)


def _seconds(folder: Path, made: MadeUpTable, mechanism: str, settings: Mapping[str, str]) -> float:
    from hushtable.evaluation.range_errors import experiment_release
    from hushtable.kernel.counting import count_table

    entropy = task_entropy({"mechanism": mechanism}, seed=SEED)
    with spill_folder() as place:
        start = time.perf_counter()
        experiment_release(
            count_table(folder / "people.parquet", made.schema),
            made.schema,
            place / "timed.release",
            mechanism=mechanism,
            epsilon=EPSILON,
            settings=settings,
            entropy=entropy,
        )
        return time.perf_counter() - start


def quickest(results: pa.Table) -> pa.Table:
    """The shortest time of each mechanism at each point: the others were disturbed."""
    keys = ["along", "mechanism", "rows", "cells"]
    best = results.group_by(keys).aggregate([("seconds", "min")])
    return best.rename_columns([*keys, "seconds"]).sort_by([(key, "ascending") for key in keys])


PLOTS = tuple(
    Plot(
        f"time-by-{along}", f"Time from a file to a release, by the number of {along}",
        along, "seconds", ("mechanism",), log=log, where={"along": along}, shown=quickest,
    )
    for along, log in (("rows", ""), ("cells", "xy"))
)  # fmt: skip
"""Both figures: straight axes for the people, logarithmic ones for the cells."""


def _line(results: Results, along: str, mechanism: str) -> tuple[Floats, Floats]:
    """The shortest time at each point."""
    curve = results.curve("seconds", along, along=along, mechanism=mechanism)
    return np.array(curve.values, np.float64), np.array([held.min() for held in curve.runs])


def _linear(along: str, results: Results) -> Look:
    seen, off = [], []
    for mechanism in MECHANISMS:
        x, seconds = _line(results, along, mechanism)
        slope, start = np.polyfit(x, seconds, 1)
        off.append(float(np.max(np.abs(start + slope * x - seconds) / seconds)))
        grown = f"{seconds[0]:.2g} s to {seconds[-1]:.2g} s (× {seconds[-1] / seconds[0]:.1f})"
        seen.append(f"{mechanism} {grown}, at most {off[-1]:.0%} off a line")
    times = f"{along} × {x[-1] / x[0]:.1f}"
    return Look(f"{times}: {'; '.join(seen)}", max(off) <= OFF_THE_LINE)


def _order(results: Results) -> Look:
    sums = {
        m: sum(float(_line(results, along, m)[1].sum()) for along in ("rows", "cells"))
        for m in MECHANISMS
    }
    relative = ", ".join(f"{m} {seconds / sums['basic']:.2f}" for m, seconds in sums.items())
    holds = sums["basic"] < sums["privelet+"] < sums["privelet*"]
    return Look(f"all times together, relative to Basic: {relative}", holds)


_CROOKED = f"a time is more than {OFF_THE_LINE:.0%} off a straight line"
CLAIMS = (
    Claim(
        "All three run in linear time with respect to n (Figure 13)",
        partial(_linear, "rows"),
        _CROOKED,
    ),
    Claim(
        "All three scale almost linearly with m (Figure 14)", partial(_linear, "cells"), _CROOKED
    ),
    Claim(
        "Privelet* takes longer than Privelet+, and both longer than Basic (§8.2)",
        _order,
        "much of the time is counting and writing, which all three share",
    ),
)
