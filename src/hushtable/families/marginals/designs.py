"""Block designs: blocks of points that hold any two, or any three, of the points together.

Attributes are points and tables are blocks. In the affine plane over a field of q elements, two of
the q² points are on exactly one of the q² + q lines of q points; in the binary space of dimension
m, three of the 2^m points are in a hyperplane of 2^(m−1) points, of which there are 2^(m+1) − 2.
"""

from __future__ import annotations

from collections.abc import Iterator

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
