"""How fast products of transforms run, beside copying the array and beside plain numpy.

First the last two axes of a large array, forward and back. Then the whole way of `privelet+` (those
two axes) and `privelet` (all four) on matrices of up to 10⁸ cells: transform, noise, inverse.
Contestants take turns; all but plain numpy use every core. Buffers have been written before they
are measured, except where a transform grows and needs memory of its own: the first touch of fresh
pages costs more than a copy.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.options import Options, alone
from benchmarks.table import Row, Section, Target
from benchmarks.timing import in_turn
from hushtable.families.linear.read.transforms import ProductReading
from hushtable.kernel.maps import Haar, Identity, Nominal, Product
from hushtable.kernel.noise.bulk import EntropyNoise

SHAPE = (128, 2, 512, 1024)
# Plain numpy undoes only axes that are powers of two: `privelet` has them all.
WHOLE_WAYS = (
    ("privelet+", 2, (16, 2, 512, 1024)),
    ("privelet", 4, (16, 2, 512, 1024)),
    ("privelet+", 2, (101, 2, 512, 1024)),
    ("privelet", 4, SHAPE),
)
QUICK_SHAPE = (4, 2, 128, 512)
ROUNDS = 5
GROUP = 23  # leaves below each middle node of the nominal axis: 3 levels

Works = Mapping[str, Callable[[], object]]


def section(options: Options) -> Section:
    """The kernels beside a copy, then the whole ways beside a copy and plain numpy."""
    rounds = 1 if options.quick else ROUNDS
    rows = _kernel_rows(QUICK_SHAPE if options.quick else SHAPE, rounds)
    ways = [(name, axes, QUICK_SHAPE) for name, axes, _ in WHOLE_WAYS[:2]]
    for name, axes, shape in ways if options.quick else WHOLE_WAYS:
        rows += _whole_rows(
            name, axes, shape, rounds, judged=(name, shape[0]) == ("privelet+", 101)
        )
    return Section("Transforms: wavelets of large matrices", rows)


def _kernel_rows(shape: tuple[int, ...], rounds: int) -> list[Row]:
    best = in_turn(rounds, _kernels(shape))
    copy, size = best.pop("copy"), " × ".join(map(str, shape))
    return [
        Row(f"{work}, {size}", seconds, "copying it", copy, "s",
            Target(6) if work in ("Haar × Haar forward", "Haar × Haar inverse") else None)
        for work, seconds in best.items()
    ]  # fmt: skip


def _kernels(shape: tuple[int, ...]) -> Works:
    haar, nominal = _products(shape)
    haar_reading, nominal_reading = map(ProductReading.of, (haar, nominal))
    counts, other = np.ones(shape, np.int64), np.zeros(shape, np.int64)
    wide, floats = np.ones(nominal.coefficient_shape, np.int64), other.view(np.float64)
    return {
        "copy": lambda: _copy(counts, other),
        "Haar × Haar forward": lambda: haar.forward(counts),
        "Haar × Haar inverse": lambda: haar_reading.inverse(counts, floats),
        "Haar × Haar inverse, in one memory": lambda: haar_reading.inverse(
            counts, counts.view(np.float64)
        ),
        "nominal × Haar forward": lambda: nominal.forward_within(wide),
        "nominal × Haar forward, fresh memory": lambda: nominal.forward(counts),
        "nominal × Haar inverse": lambda: nominal_reading.inverse(wide, floats),
    }


def _products(shape: tuple[int, ...]) -> tuple[Product, Product]:
    rest, (rows, columns) = tuple(map(Identity, shape[:-2])), shape[-2:]
    groups = ((0, rows), *((k, min(k + GROUP, rows)) for k in range(0, rows - 1, GROUP)))
    nominal = Product((*rest, Nominal(rows, groups), Haar(columns)))
    return Product((*rest, Haar(rows), Haar(columns))), nominal


def _copy(source: NDArray[np.int64], target: NDArray[np.int64]) -> None:
    """Copy with every core."""
    cores = os.cpu_count() or 1
    pieces = np.array_split(np.arange(len(source)), 8 * cores)
    ranges = [slice(piece[0], piece[-1] + 1) for piece in pieces if len(piece)]
    with ThreadPoolExecutor(cores) as pool:
        list(pool.map(lambda part: np.copyto(target[part], source[part]), ranges))


# ── the whole way ────────────────────────────────────────────────────────────────────────────────


def _whole_rows(
    name: str, wavelets: int, shape: tuple[int, ...], rounds: int, *, judged: bool
) -> list[Row]:
    """Transform, noise and inverse; wavelets along the last axes, plain counts along the others."""
    rest = len(shape) - wavelets
    product = Product((*map(Identity, shape[:rest]), *map(Haar, shape[rest:])))
    counts, other = np.ones(shape, np.int64), np.zeros(shape, np.int64)
    works: dict[str, Callable[[], object]] = {
        "copy": lambda: _copy(counts, other),
        "ours": lambda: _whole_way(product, counts),
    }
    best = in_turn(rounds, works)
    plain = {"plain": lambda: _plain_way(product, wavelets, counts, other.view(np.float64))}
    best |= in_turn(min(rounds, 2), {"ours again": works["ours"], **plain})
    ours = min(best["ours"], best["ours again"])
    cells = float(counts.size)
    work = f"{name}, {counts.size:,} cells: forward, noise, inverse"
    return [
        Row(work, ours, "copying them", best["copy"], "s"),
        Row(work, cells / ours, "plain numpy, inexact noise", cells / best["plain"], "cells/s",
            Target(6, "≥") if judged else None),
    ]  # fmt: skip


def _whole_way(product: Product, counts: NDArray[np.int64]) -> None:
    product.forward(counts)
    EntropyNoise().add_laplace(counts, Fraction(product.entering))
    ProductReading.of(product).inverse(counts, counts.view(np.float64))
    counts[...] = 1


def _plain_way(
    product: Product, wavelets: int, counts: NDArray[np.int64], estimates: NDArray[np.float64]
) -> None:
    """The same with the noise of an ordinary generator, which is not private."""
    for axis, transform in enumerate(product.axes):
        transform.forward(counts, axis)
    noise = np.random.default_rng(1).laplace(scale=product.entering, size=counts.shape)
    np.add(counts, np.rint(noise, out=noise), out=estimates)
    _plain_inverse(estimates, wavelets)
    counts[...] = 1


def _plain_inverse(estimates: NDArray[Any], wavelets: int) -> None:
    """The last axes, in place, as one would write it without compiled code."""
    for axis in range(-wavelets, 0):
        lines = np.moveaxis(estimates, axis, 0)
        apart = len(lines) // 2
        while apart:
            left, right = lines[:: 2 * apart], lines[apart :: 2 * apart]
            left += right
            left /= 2
            np.subtract(left, right, out=right)
            apart //= 2


if __name__ == "__main__":
    alone(section)
