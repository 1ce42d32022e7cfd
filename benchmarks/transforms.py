"""How fast a product of Haar transforms runs, beside copying the array and beside plain numpy.

The last two axes of a large array are transformed, forward and back. Each row is the best of
several rounds in one run, with the copy in turn; all but plain numpy use every core. All buffers
have been written before: the first touch of fresh memory would be measured instead.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from hushtable.transforms import Haar, Identity, Nominal, Product, Tree

SHAPE = (128, 2, 512, 1024)
ROUNDS = 5
PIECES = 32


@dataclass(frozen=True)
class Row:
    """The best time of one piece of work in seconds, and its ratio to the copy."""

    work: str
    seconds: float
    ratio: float


def run(rounds: int = ROUNDS, shape: tuple[int, ...] = SHAPE) -> list[Row]:
    """Measure every piece of work, in turn with the copy."""
    best: dict[str, float] = {}
    for name, work, turns in _works(shape, rounds):
        for _ in range(turns):
            start = time.perf_counter()
            work()
            best[name] = min(best.get(name, float("inf")), time.perf_counter() - start)
    rows = [Row(name, seconds, seconds / best["copy"]) for name, seconds in best.items()]
    print(f"{' × '.join(map(str, shape))} int64, {os.cpu_count()} cores")
    for row in rows:
        print(f"{row.work:<44} {row.seconds:>8.3f} s {row.ratio:>7.2f} × copy")
    return rows


def _works(
    shape: tuple[int, ...], rounds: int
) -> list[tuple[str, Callable[[], object], int]]:
    """What is measured: name, work, rounds. The copy is measured before and after the others."""
    haar = Product((*map(Identity, shape[:-2]), *map(Haar, shape[-2:])))
    counts, other = np.ones(shape, np.int64), np.zeros(shape, np.int64)
    estimates = other.view(np.float64)
    nominal = Product((*haar.axes[:-2], _occupations(shape[-2]), haar.axes[-1]))
    tree = Product((*haar.axes[:-2], Tree.uniform(shape[-2], 16), haar.axes[-1]))
    small = Product((Haar(8), Haar(8)))
    small.forward(np.ones((8, 8), np.int64))
    return [
        ("copy", lambda: _copy(counts, other), 2 * rounds),
        ("Haar × Haar forward, in place", lambda: haar.forward(counts), rounds + 1),
        ("Haar × Haar inverse, int64 to float64", lambda: haar.inverse(counts, estimates), rounds + 1),
        ("the same, in one memory", lambda: haar.inverse(counts, counts.view(np.float64)), 2),
        ("copy", lambda: _copy(other, counts), rounds),
        ("nominal × Haar forward", lambda: nominal.forward(counts.copy()), 2),
        ("tree × Haar forward", lambda: tree.forward(counts.copy()), 2),
        ("plain numpy forward", lambda: _numpy_forward(haar, counts), 1),
        ("plain numpy inverse", lambda: _numpy_inverse(haar, counts), 1),
    ]
