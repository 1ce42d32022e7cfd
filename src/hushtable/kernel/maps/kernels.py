"""Compiled transforms of slabs: the fast twins of what the transforms say in numpy.

A slab is a C-contiguous array (lines, length, columns); a kernel transforms its middle axis in the
columns first ≤ column < last. Kernels are serial and hold no lock, so that threads can share the
work. This module alone needs numba, and is imported when a large array is transformed.

The Haar kernels join two splittings in one pass (four elements become four), and go on with the
sums of a block as soon as they are complete, while they are still in the cache.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.compiled import compiled
from hushtable.kernel.maps.axis import Floats, Integers

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
    """The same for a single column, whose elements are neighbours in memory."""
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
def haar_inverse(slab: Floats, first: int, last: int) -> None:
    """Undo `haar_forward`, in floats: halves appear."""
    lines, length, columns = slab.shape
    widest = 1
    while 4 * widest < length:
        widest *= 4
    if columns == 1:
        for single in slab.reshape(lines, length):
            _inverse_line(single, widest)
        return
    for line in range(lines):
        for place in range(0, length, 4):
            apart = widest
            while apart > 1:
                if place % (4 * apart) == 0:
                    _inverse_four(slab, line, place, apart, first, last)
                apart //= 4
            _inverse_four(slab, line, place, 1, first, last)


@compiled
def _inverse_four(slab: Floats, line: int, place: int, apart: int, first: int, last: int) -> None:
    """Undo `_forward_four`."""
    p, q, r, s = place, place + apart, place + 2 * apart, place + 3 * apart
    length = slab.shape[1]
    if s < length:
        for c in range(first, last):
            left = (slab[line, p, c] + slab[line, r, c]) * 0.5
            right = left - slab[line, r, c]
            d, e = slab[line, q, c], slab[line, s, c]
            slab[line, p, c] = (left + d) * 0.5
            slab[line, q, c] = (left - d) * 0.5
            slab[line, r, c] = (right + e) * 0.5
            slab[line, s, c] = (right - e) * 0.5
    elif r < length:
        for c in range(first, last):
            left = (slab[line, p, c] + slab[line, r, c]) * 0.5
            right, d = left - slab[line, r, c], slab[line, q, c]
            slab[line, p, c] = (left + d) * 0.5
            slab[line, q, c] = (left - d) * 0.5
            slab[line, r, c] = right
    elif q < length:
        for c in range(first, last):
            both, d = slab[line, p, c], slab[line, q, c]
            slab[line, p, c] = (both + d) * 0.5
            slab[line, q, c] = (both - d) * 0.5


@compiled
def _inverse_line(line: Floats, widest: int) -> None:
    """Undo `_forward_line`."""
    apart = widest
    while apart >= 1:
        place = 0
        while place + 3 * apart < len(line):
            left = (line[place] + line[place + 2 * apart]) * 0.5
            right = left - line[place + 2 * apart]
            d, e = line[place + apart], line[place + 3 * apart]
            line[place] = (left + d) * 0.5
            line[place + apart] = (left - d) * 0.5
            line[place + 2 * apart] = (right + e) * 0.5
            line[place + 3 * apart] = (right - e) * 0.5
            place += 4 * apart
        if place + 2 * apart < len(line):
            left = (line[place] + line[place + 2 * apart]) * 0.5
            line[place], line[place + 2 * apart] = left, left - line[place + 2 * apart]
        if place + apart < len(line):
            left = (line[place] + line[place + apart]) * 0.5
            line[place], line[place + apart] = left, left - line[place + apart]
        apart //= 4


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
def read_tree(
    source: NDArray[Any],
    target: Floats,
    first: int,
    last: int,
    shape: Shape,
    numbers: tuple[Floats, Floats, Floats],
) -> None:
    """Consistent counts from noisy coefficients, as `consistency` defines them."""
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
            _copy(z[child[node]], total, 0, columns)
            for k in range(child[node] + 1, child[node] + fanout[node]):
                _add(z[k], total, 0, columns)
            for c in range(columns):
                here[c] += below * total[c]


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
