"""How fast a release of 10⁸ cells opens and answers, beside a plain numpy sum of the same numbers.

The release is written straight through the store: no table is needed to measure reading. Every
"first" figure is taken on a release opened afresh, so it includes the checksums of what it touches;
the others ask an open release again. The file is in the page cache, as after it was copied.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import hushtable
from hushtable.release.store import FORMAT, write_arrays, write_manifest
from hushtable.schema import Schema

SHAPE = (1000, 1000, 100)
ROUNDS = 5
GROUPED = "SELECT a, c, COUNT(*) FROM cells GROUP BY a, c"


@dataclass(frozen=True)
class Row:
    """The best time of a question in seconds, and its ratio to the plain sum."""

    question: str
    seconds: float
    ratio: float


def run(rounds: int = ROUNDS) -> list[Row]:
    """Measure every question, in turn with the plain sum."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "cells.release"
        write_release(folder)
        plain = np.load(folder / "cells.npy")
        baseline = "numpy sum in memory"
        questions = {baseline: lambda: plain.sum(dtype=np.int64), **_questions(folder)}
        best = dict.fromkeys(questions, float("inf"))
        for _ in range(rounds):
            for name, ask in questions.items():
                start = time.perf_counter()
                ask()
                best[name] = min(best[name], time.perf_counter() - start)
    rows = [Row(name, seconds, seconds / best[baseline]) for name, seconds in best.items()]
    for row in rows:
        print(f"{row.question:<34} {row.seconds * 1e3:>9.2f} ms {row.ratio:>9.2f} × numpy")
    return rows


def _questions(folder: Path) -> dict[str, Callable[[], object]]:
    box = "a = 500 AND b BETWEEN 100 AND 199 AND c < 50"
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
        "GROUP BY, 100,000 rows": lambda: release.sql(GROUPED),
    }


def write_release(folder: Path) -> None:
    """Write a release of noise alone, two bytes a cell."""
    schema = Schema.from_dict(
        {
            "name": "cells",
            "budget": "1",
            "attribute": [
                {"name": name, "kind": "ordinal", "range": [0, size - 1]}
                for name, size in zip("abc", SHAPE, strict=True)
            ],
        }
    )
    cells = np.random.default_rng(0).integers(-300, 300, SHAPE)
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


def main() -> None:
    """Print the table."""
    print(f"A release of {np.prod(SHAPE):,} cells, two bytes each")
    run()


if __name__ == "__main__":
    main()
