"""How fast products of transforms run, beside copying the array and beside plain numpy.

The last two axes of a large array are transformed, forward and back. All contestants run in one
process, in turn with the copy, and the best of several rounds counts; all but plain numpy use
every core. Buffers have been written before they are measured, except where a transform grows and
needs memory of its own: the first touch of fresh pages costs more than a copy.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.noise.bulk import EntropyNoise
from hushtable.transforms import Haar, Identity, Nominal, Product

SHAPE = (128, 2, 512, 1024)
ROUNDS = 5
GROUP = 23  # leaves below each middle node of the nominal axis: 3 levels
QUERIES = 40_000


@dataclass(frozen=True)
class Row:
    """The best time of one piece of work in seconds, and its ratio to the copy."""

    work: str
    seconds: float
    ratio: float


def run(rounds: int = ROUNDS, shape: tuple[int, ...] = SHAPE) -> list[Row]:
    """Measure every piece of work, in turn with the copy."""
    works = _works(shape)
    best = dict.fromkeys(works, float("inf"))
    for turn in range(rounds + 1):  # the first one compiles and touches memory
        for name, work in works.items():
            if turn < 2 or "numpy" not in name:
                start = time.perf_counter()
                work()
                elapsed = time.perf_counter() - start
                best[name] = min(best[name], elapsed) if turn else float("inf")
    rows = [Row(name, seconds, seconds / best["copy"]) for name, seconds in best.items()]
    print(f"{' × '.join(map(str, shape))} int64, {os.cpu_count()} cores")
    for row in rows:
        print(f"{row.work:<40} {row.seconds:>8.3f} s {row.ratio:>7.2f} × copy")
    return rows


def _works(shape: tuple[int, ...]) -> dict[str, Callable[[], object]]:
    rest, (rows, columns) = tuple(map(Identity, shape[:-2])), shape[-2:]
    haar = Product((*rest, Haar(rows), Haar(columns)))
    groups = ((0, rows), *((k, min(k + GROUP, rows)) for k in range(0, rows - 1, GROUP)))
    nominal = Product((*rest, Nominal(rows, groups), Haar(columns)))
    counts, other = np.ones(shape, np.int64), np.zeros(shape, np.int64)
    wide = np.ones(nominal.coefficient_shape, np.int64)
    floats = other.view(np.float64)
    return {
        "copy": lambda: _copy(counts, other),
        "Haar × Haar forward, in place": lambda: haar.forward(counts),
        "Haar × Haar inverse": lambda: haar.inverse(counts, floats),
        "Haar × Haar inverse, in one memory": lambda: haar.inverse(counts, counts.view(np.float64)),
        "nominal × Haar forward, fresh memory": lambda: nominal.forward(counts),
        "nominal × Haar forward, within its room": lambda: nominal.forward_within(wide),
        "nominal × Haar inverse": lambda: nominal.inverse(wide, floats),
        "plain numpy: Haar × Haar forward": lambda: _plain_forward(haar, counts),
        "plain numpy: Haar × Haar inverse": lambda: _plain_inverse(counts, floats),
        "forward, exact noise, inverse": lambda: _whole_way(haar, counts),
        "plain numpy: forward, noise, inverse": lambda: _plain_way(haar, counts, floats),
        f"error bars of {QUERIES:,} boxes": lambda: _error_bars(nominal),
    }


def _copy(source: NDArray[np.int64], target: NDArray[np.int64]) -> None:
    """Copy with every core."""
    cores = os.cpu_count() or 1
    pieces = np.array_split(np.arange(len(source)), 8 * cores)
    ranges = [slice(piece[0], piece[-1] + 1) for piece in pieces if len(piece)]
    with ThreadPoolExecutor(cores) as pool:
        list(pool.map(lambda part: np.copyto(target[part], source[part]), ranges))


def _plain_forward(product: Product, counts: NDArray[np.int64]) -> None:
    for axis, transform in enumerate(product.axes):
        transform.forward(counts, axis)


def _plain_inverse(values: NDArray[Any], estimates: NDArray[np.float64]) -> None:
    """The last two axes, in place, as one would write it without compiled code."""
    np.copyto(estimates, values)
    for lines in (np.moveaxis(estimates, -2, 0), np.moveaxis(estimates, -1, 0)):
        apart = len(lines) // 2
        while apart:
            left, right = lines[:: 2 * apart], lines[apart :: 2 * apart]
            left += right
            left /= 2
            np.subtract(left, right, out=right)
            apart //= 2


def _whole_way(product: Product, counts: NDArray[np.int64]) -> None:
    product.forward(counts)
    EntropyNoise().add_laplace(counts, Fraction(product.entering))
    product.inverse(counts, counts.view(np.float64))
    counts[...] = 1


def _plain_way(product: Product, counts: NDArray[np.int64], estimates: NDArray[np.float64]) -> None:
    """The same with the noise of an ordinary generator, which is faster and not private."""
    _plain_forward(product, counts)
    noise = np.random.default_rng(1).laplace(scale=product.entering, size=counts.shape)
    np.add(counts, np.rint(noise, out=noise), out=estimates)
    _plain_inverse(estimates, estimates)
    counts[...] = 1


def _error_bars(product: Product) -> None:
    ends = np.random.default_rng(1).random((len(product.shape), 2, QUERIES))
    ends.sort(axis=1)
    sizes = np.array(product.shape).reshape(-1, 1, 1)
    codes = (ends * (sizes + 1)).astype(np.int64)
    gains = [axis.gains(*codes[i]) for i, axis in enumerate(product.axes)]
    product.variances(gains, lambda factor: 2 * float(factor) ** 2)


if __name__ == "__main__":
    run()
