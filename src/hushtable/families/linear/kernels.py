"""Compiled counts from the noisy coefficients of a tree: the fast twin of `TreeReading.inverse`.

A slab is a C-contiguous array (lines, length, columns); the kernel reads its middle axis in the
columns first ≤ column < last. It is serial and holds no lock, so that threads can share the work.
This module needs numba, and is imported when a large array is read.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats, Integers
from hushtable.compiled import compiled

Shape = tuple[Integers, Integers, Integers, Integers]
"""Of each node: where its coefficient stands, its first child, how many it has, its first code."""


@compiled
def read_tree(
    source: NDArray[Any],
    target: Floats,
    first: int,
    last: int,
    shape: Shape,
    numbers: tuple[Floats, Floats, Floats],
) -> None:
    """Consistent counts from noisy coefficients, as `least_squares` defines them."""
    nodes = len(shape[0])
    z, sums = np.empty((nodes, last - first)), np.empty((nodes, last - first))
    for line in range(len(source)):
        _read_up(source[line], z, sums, first, shape, numbers)
        _read_down(target[line], z, sums, first, shape, numbers)


@compiled
def _read_up(
    source: NDArray[Any],
    z: Floats,
    sums: Floats,
    first: int,
    shape: Shape,
    numbers: tuple[Floats, Floats, Floats],
) -> None:
    place, child, fanout, _ = shape
    nodes, columns = z.shape
    for node in range(nodes - 1, -1, -1):
        own, below = numbers[0][node], numbers[1][node]
        here, total, measured = z[node], sums[node], source[place[node]]
        for c in range(columns):
            here[c] = own * measured[first + c]
        if fanout[node]:
            _copy(z[child[node]], total)
            for k in range(child[node] + 1, child[node] + fanout[node]):
                _add(z[k], total)
            for c in range(columns):
                here[c] += below * total[c]


@compiled
def _copy(source: Floats, target: Floats) -> None:
    for c in range(len(target)):
        target[c] = source[c]


@compiled
def _add(source: Floats, target: Floats) -> None:
    for c in range(len(target)):
        target[c] += source[c]


@compiled
def _read_down(
    target: Floats,
    z: Floats,
    sums: Floats,
    first: int,
    shape: Shape,
    numbers: tuple[Floats, Floats, Floats],
) -> None:
    _, child, fanout, code = shape
    nodes, columns = z.shape
    for node in range(nodes):
        here, total = z[node], sums[node]
        for k in range(child[node], child[node] + fanout[node]):
            share, below = numbers[2][k], z[k]
            for c in range(columns):
                below[c] += share * (here[c] - total[c])
        if fanout[node] == 0:
            found = target[code[node]]
            for c in range(columns):
                found[first + c] = here[c]


@compiled
def read_tents(
    source: NDArray[Any],
    target: Floats,
    first: int,
    last: int,
    numbers: tuple[Floats, Integers, Floats, Floats],
) -> None:
    """Counts from noisy counts and sums under tents, as `tents_reading` defines them."""
    own, tents, parts, precision = numbers
    size, columns = len(own), last - first
    left, solved = np.empty((len(precision), columns)), np.empty((len(precision), columns))
    for line in range(len(source)):
        left[:] = source[line, size:, first:last]
        for code in range(size):
            for k in range(len(tents)):
                here, part, counts = left[tents[k, code]], parts[k, code], source[line, code]
                for c in range(columns):
                    here[c] -= part * counts[first + c]
        _solve(precision, left, solved)
        for code in range(size):
            found, counts = target[line, code], source[line, code]
            for c in range(first, last):
                found[c] = counts[c]
            for k in range(len(tents)):
                here, part = solved[tents[k, code]], parts[k, code]
                for c in range(columns):
                    found[first + c] += part * here[c]
            for c in range(first, last):
                found[c] /= own[code]


@compiled
def _solve(precision: Floats, left: Floats, solved: Floats) -> None:
    """A symmetric matrix times columns, of which there is often one alone."""
    if left.shape[1] == 1:
        for tent in range(len(precision)):
            total = 0.0
            for other in range(len(precision)):
                total += precision[tent, other] * left[other, 0]
            solved[tent, 0] = total
        return
    solved[:] = 0
    for tent in range(len(precision)):
        here = solved[tent]
        for other in range(len(precision)):
            part, there = precision[tent, other], left[other]
            for c in range(len(here)):
                here[c] += part * there[c]
