"""Compiled transforms of slabs: the fast twins of the forward maps in numpy.

A slab is a C-contiguous array (lines, length, columns); a kernel transforms its middle axis in the
columns first ≤ column < last. Kernels are serial and hold no lock, so that threads can share the
work. This module alone needs numba, and is imported when a large array of counts is transformed.

The Haar kernels join two splittings in one pass (four elements become four), and go on with the
sums of a block as soon as they are complete, while they are still in the cache.
"""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from hushtable.arrays import Integers
from hushtable.compiled import compiled

Shape = tuple[Integers, Integers, Integers, Integers]
"""Of each node: where its coefficient stands, its first child, how many it has, its first code."""


@compiled
def haar_forward(slab: Integers, first: int, last: int) -> None:
    """Replace counts by sums and differences, in place."""
    lines, length, columns = slab.shape
    if columns == 1:
        for single in slab.reshape(lines, length):
            _forward_line(single)
        return
    for line in range(lines):
        for place in range(0, length, 4):
            _forward_four(slab, line, place, 1, first, last)
            apart = 4
            while apart < length and ((place + 4) % (4 * apart) == 0 or place + 4 >= length):
                _forward_four(slab, line, place - place % (4 * apart), apart, first, last)
                apart *= 4


@compiled
def _forward_four(slab: Integers, line: int, place: int, apart: int, first: int, last: int) -> None:
    """Pair four elements, some of which may lie beyond the end, and then their sums."""
    p, q, r, s = place, place + apart, place + 2 * apart, place + 3 * apart
    length = slab.shape[1]
    if s < length:
        for c in range(first, last):
            w, x, y, z = slab[line, p, c], slab[line, q, c], slab[line, r, c], slab[line, s, c]
            slab[line, p, c] = (w + x) + (y + z)
            slab[line, q, c] = w - x
            slab[line, r, c] = (w + x) - (y + z)
            slab[line, s, c] = y - z
    elif r < length:
        for c in range(first, last):
            w, x, y = slab[line, p, c], slab[line, q, c], slab[line, r, c]
            slab[line, p, c] = (w + x) + y
            slab[line, q, c] = w - x
            slab[line, r, c] = (w + x) - y
    elif q < length:
        for c in range(first, last):
            w, x = slab[line, p, c], slab[line, q, c]
            slab[line, p, c] = w + x
            slab[line, q, c] = w - x


@compiled
def _forward_line(line: Integers) -> None:
    """The same for a single column, whose elements are adjacent in memory."""
    apart = 1
    while apart < len(line):
        place = 0
        while place + 3 * apart < len(line):
            w, x = line[place], line[place + apart]
            y, z = line[place + 2 * apart], line[place + 3 * apart]
            line[place] = (w + x) + (y + z)
            line[place + apart] = w - x
            line[place + 2 * apart] = (w + x) - (y + z)
            line[place + 3 * apart] = y - z
            place += 4 * apart
        if place + apart < len(line):
            w, x = line[place], line[place + apart]
            line[place], line[place + apart] = w + x, w - x
        if place + 2 * apart < len(line):
            w, y = line[place], line[place + 2 * apart]
            line[place], line[place + 2 * apart] = w + y, w - y
        apart *= 4


@compiled
def node_sums(source: Integers, target: Integers, first: int, last: int, shape: Shape) -> None:
    """The sum below every node that has a coefficient; children come before their parents."""
    place, child, fanout, code = shape
    for line in range(len(source)):
        for node in range(len(place) - 1, -1, -1):
            if place[node] < 0:
                continue
            total = target[line, place[node]]
            if fanout[node] == 0:
                _copy(source[line, code[node]], total, first, last)
            else:
                _copy(target[line, place[child[node]]], total, first, last)
            for k in range(child[node] + 1, child[node] + fanout[node]):
                _add(target[line, place[k]], total, first, last)


@compiled
def _copy(source: NDArray[Any], target: NDArray[Any], first: int, last: int) -> None:
    for c in range(first, last):
        target[c] = source[c]


@compiled
def _add(source: NDArray[Any], target: NDArray[Any], first: int, last: int) -> None:
    for c in range(first, last):
        target[c] += source[c]


@compiled
def sibling_differences(target: Integers, first: int, last: int, shape: Shape) -> None:
    """Replace sums by f times the sum of a node less that of its parent, children first."""
    place, child, fanout, _ = shape
    for line in range(len(target)):
        for node in range(len(place) - 1, -1, -1):
            f, above = fanout[node], target[line, place[node]]
            for k in range(child[node], child[node] + f):
                here = target[line, place[k]]
                for c in range(first, last):
                    here[c] = f * here[c] - above[c]


@compiled
def tent_sums(
    source: Integers,
    target: Integers,
    first: int,
    last: int,
    columns: tuple[Integers, Integers, Integers],
) -> None:
    """The own part of every code, then the sums under the tents."""
    own, tents, weights = columns
    size = len(own)
    for line in range(len(source)):
        target[line, size:, first:last] = 0
        for code in range(size):
            counts = source[line, code]
            _weigh(counts, target[line, code], first, last, own[code])
            for k in range(len(tents)):
                if weights[k, code]:
                    here = target[line, size + tents[k, code]]
                    for c in range(first, last):
                        here[c] += weights[k, code] * counts[c]


@compiled
def _weigh(source: Integers, target: Integers, first: int, last: int, weight: int) -> None:
    for c in range(first, last):
        target[c] = weight * source[c]
