"""A count sketch: every cell falls into one bucket of each row, with a sign, by public functions.

M. Charikar, K. Chen, M. Farach-Colton. Finding frequent items in data streams. ICALP 2002.

The functions are cubic polynomials over the integers modulo 2^61 − 1, whose coefficients are taken
from SHA-256 of the row's number: anyone can compute them, and they know nothing of the data. Where
all cells fit into the buckets of a row, each cell has one of its own.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import OptionError
from hushtable.kernel.maps.squared import SquaredChange

PRIME = 2**61 - 1
MOST_ROWS = 64
MOST_BUCKETS = 2**28

_Words = NDArray[np.uint64]
_LOW31, _LOW30 = np.uint64(2**31 - 1), np.uint64(2**30 - 1)
_30, _31, _61 = np.uint64(30), np.uint64(31), np.uint64(61)
_P = np.uint64(PRIME)
_PIECE = 2**20  # cells whose buckets are worked out at once


@dataclass(frozen=True, slots=True)
class Sketch:
    """`rows` rows of `width` buckets over a domain of some shape."""

    rows: int
    width: int
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        for name, value, most in (
            ("rows", self.rows, MOST_ROWS),
            ("width", self.width, MOST_BUCKETS),
        ):
            if type(value) is not int or not 1 <= value <= most:
                raise OptionError(f"a sketch's {name} must be a whole number from 1 to {most}")
        if not self.shape or any(type(size) is not int or size < 1 for size in self.shape):
            raise OptionError("a domain has one size from 1 for each attribute")
        if self.cells >= PRIME:
            raise OptionError(
                f"the domain has about 10^{math.log10(self.cells):.1f} cells; a sketch takes at"
                " most 2^61, about 10^18.3: use coarser bins or fewer attributes"
            )

    @property
    def cells(self) -> int:
        """How many cells the domain has."""
        return math.prod(self.shape)

    @property
    def collides(self) -> bool:
        """Whether cells have to share buckets."""
        return self.cells > self.width

    @property
    def entering(self) -> int:
        """A row of the table that appears changes one bucket of every row of the sketch by ±1."""
        return self.rows

    @property
    def moving(self) -> int:
        """A row that moves changes two buckets of every row of the sketch, or one by two."""
        return 2 * self.rows

    @property
    def squared(self) -> SquaredChange:
        """What a row changes in squares. One that moves within a bucket may change it by two.

        Whether two cells do share one in every row of the sketch, with opposite signs each time, is
        up to the hash functions; where buckets are shared, it is taken for granted.
        """
        each = 4 if self.collides else 2
        return SquaredChange(Fraction(self.rows), Fraction(each * self.rows))

    def hashed(self, row: int, codes: NDArray[np.int64]) -> tuple[NDArray[np.int64], ...]:
        """The bucket of each cell in one row of the sketch, and its sign."""
        x = codes.astype(np.uint64)
        value = np.zeros_like(x)
        for coefficient in _coefficients(row):
            value = _reduced(_times(value, x) + np.uint64(coefficient))
        bucket = (value >> np.uint64(1)) % np.uint64(self.width) if self.collides else x
        return bucket.astype(np.int64), 1 - 2 * (value & np.uint64(1)).astype(np.int64)

    def forward(self, codes: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The true buckets of non-empty cells."""
        buckets = np.zeros((self.rows, self.width), np.int64)
        for first in range(0, len(codes), _PIECE):
            here = slice(first, first + _PIECE)
            for row in range(self.rows):
                where, signs = self.hashed(row, codes[here])
                np.add.at(buckets[row], where, signs * counts[here])
        return buckets

    def to_dict(self) -> dict[str, Any]:
        """How a manifest describes it."""
        return {"rows": self.rows, "width": self.width, "hash": "cubic modulo 2^61 - 1"}


@lru_cache(maxsize=MOST_ROWS)
def _coefficients(row: int) -> tuple[int, ...]:
    """The coefficients of a row's polynomial, the highest power first."""
    texts = (f"hushtable sketch, row {row}, coefficient {k}" for k in range(4))
    return tuple(int.from_bytes(hashlib.sha256(t.encode()).digest()) % PRIME for t in texts)


def _times(a: _Words, b: _Words) -> _Words:
    """a·b modulo 2^61 − 1, up to a multiple of it: below 2^62. Both are below 2^61.

    In 31-bit digits, since 2^61 is 1 there: a₁b₁·2^62 counts twice, and of the middle products
    times 2^31 the bits from 30 up wrap around.
    """
    a1, a0, b1, b0 = a >> _31, a & _LOW31, b >> _31, b & _LOW31
    middle = a1 * b0 + a0 * b1
    total = np.uint64(2) * a1 * b1 + (middle >> _30) + ((middle & _LOW30) << _31) + a0 * b0
    return np.asarray((total & _P) + (total >> _61))


def _reduced(value: _Words) -> _Words:
    """The value modulo 2^61 − 1, for values below 2^63."""
    folded = (value & _P) + (value >> _61)
    return np.where(folded >= _P, folded - _P, folded)
