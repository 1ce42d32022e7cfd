"""Sets of attributes that hold all asked ones: where a search for tables begins.

Some are block designs: blocks of points that hold any two, or any three, of the points together.

Attributes are points and tables are blocks. In the affine plane over a field of q elements, two of
the q² points are on exactly one of the q² + q lines of q points; in the binary space of dimension
m, three of the 2^m points are in a hyperplane of 2^(m−1) points, of which there are 2^(m+1) − 2.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence

Axes = tuple[int, ...]

ORDERS = {2: (2, 1), 3: (3, 1), 4: (2, 2), 5: (5, 1), 7: (7, 1), 8: (2, 3), 9: (3, 2), 11: (11, 1)}
"""The sizes of small fields: a prime, and how many digits in it an element has."""

# Of fields with several digits: an irreducible polynomial, lowest digit first.
_POLYNOMIALS = {4: (1, 1, 1), 8: (1, 1, 0, 1), 9: (1, 0, 1)}


def affine_lines(order: int) -> Iterator[list[int]]:
    """The lines y = ax + b and x = c of the plane over a field; a point is order·x + y."""
    field = range(order)
    for slope in field:
        for offset in field:
            yield [order * x + _sum(_product(slope, x, order), offset, order) for x in field]
    for x in field:
        yield [order * x + y for y in field]


def hyperplanes(dimension: int) -> Iterator[list[int]]:
    """The halves of binary space that a parity of some digits makes."""
    points = range(2**dimension)
    for digits in range(1, 2**dimension):
        for parity in (0, 1):
            yield [point for point in points if (point & digits).bit_count() % 2 == parity]


def _sum(one: int, other: int, order: int) -> int:
    prime, length = ORDERS[order]
    pairs = zip(_digits(one, prime, length), _digits(other, prime, length), strict=True)
    return _number([(a + b) % prime for a, b in pairs], prime)


def _product(one: int, other: int, order: int) -> int:
    """Multiply as polynomials; what is too high is reduced by an irreducible one."""
    prime, length = ORDERS[order]
    product = [0] * (2 * length - 1)
    for i, a in enumerate(_digits(one, prime, length)):
        for j, b in enumerate(_digits(other, prime, length)):
            product[i + j] = (product[i + j] + a * b) % prime
    for high in range(2 * length - 2, length - 1, -1):
        for i, digit in enumerate(_POLYNOMIALS[order]):
            place = high - length + i
            product[place] -= product[high] * digit if place < high else 0
        product[high] = 0
    return _number([digit % prime for digit in product[:length]], prime)


def _digits(number: int, prime: int, length: int) -> list[int]:
    return [number // prime**i % prime for i in range(length)]


def _number(digits: list[int], prime: int) -> int:
    return sum(digit * prime**i for i, digit in enumerate(digits))


# ── tables to begin with ─────────────────────────────────────────────────────────────────────────


def first_sets(asked: Sequence[Axes], sizes: Sequence[int]) -> Iterator[list[Axes]]:
    """The asked tables, without those inside others; and designs that hold them all."""
    ways = max(map(len, asked))
    yield largest(asked)
    if len(asked) > len(largest(asked)):
        yield list(asked)
    used = sorted({axis for axes in asked for axis in axes})
    for room in (4, 8, 16, 32, 64):
        groups = _packed(used, sizes, room)
        if ways <= len(groups) < len(used):
            yield [
                tuple(sorted(itertools.chain(*some)))
                for some in itertools.combinations(groups, ways)
            ]
    if ways == 2:
        for order in ORDERS:
            if order**2 >= len(used) > order:
                yield _renamed(affine_lines(order), used)
    if ways == 3 and 4 < len(used) <= 32:
        yield _renamed(hyperplanes((len(used) - 1).bit_length()), used)


def largest(asked: Sequence[Axes]) -> list[Axes]:
    """Sets of attributes that are inside no other."""
    sets = dict.fromkeys(tuple(sorted(axes)) for axes in asked)
    sizes = {len(axes) for axes in sets}
    inside = {
        part
        for axes in sets
        for size in sizes
        if size < len(axes)
        for part in itertools.combinations(axes, size)
    }
    return [axes for axes in sorted(sets, key=len, reverse=True) if axes not in inside]


def _packed(used: Sequence[int], sizes: Sequence[int], room: int) -> list[Axes]:
    """Attributes in groups of at most so many combinations of codes, unless one alone has more."""
    groups: list[list[int]] = []
    for axis in sorted(used, key=lambda axis: -sizes[axis]):
        for group in groups:
            if math.prod(sizes[other] for other in (*group, axis)) <= room:
                group.append(axis)
                break
        else:
            groups.append([axis])
    return [tuple(group) for group in groups]


def _renamed(blocks: Iterable[Iterable[int]], used: Sequence[int]) -> list[Axes]:
    """Blocks of points as tables: points beyond the attributes are left out."""
    tables = {tuple(sorted(used[p] for p in block if p < len(used))) for block in blocks}
    return sorted(table for table in tables if table)
