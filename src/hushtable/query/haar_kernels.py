"""Compiled counts from Haar coefficients: the fast twin of `HaarInverse.inverse`.

A slab is a C-contiguous array (lines, length, columns); a kernel reads its middle axis in the
columns first ≤ column < last. It is serial and holds no lock, so that threads can share the work.
Two splittings are joined in one pass: four elements become four. This module needs numba, and is
imported when a large array is read.
"""

from __future__ import annotations

from hushtable.arrays import Floats
from hushtable.compiled import compiled


@compiled
def haar_inverse(slab: Floats, first: int, last: int) -> None:
    """Replace sums and differences by counts, in place; halves appear."""
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
    """Take four elements apart, some of which may lie beyond the end: sums first, then pairs."""
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
    """The same for a single column, whose elements are adjacent in memory."""
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
