"""The discrete Gaussian at the speed of memory, and what it costs in exactness.

X has P[x] ∝ f(x) = exp(−x²/2σ²) on the integers. Like a Laplace draw it is looked up by 16 random
bits, but the digits of a Gaussian depend on one another. So the integers are cut into cells of
w = 2^bits, cell h from hw to hw + w − 1, of which σ is 32 to 64 wide (for σ ≤ 64 each integer is a
cell). A proposal is a cell, with probability ∝ F(h), the largest f in it, and one of its places,
all alike; it is accepted with probability f(place)/F(h), or another is made. Every integer is then
proposed and accepted with probability ∝ f.

**Accepted unseen.** In each cell f/F is at least some cut c(h), a multiple of 2^-16. A uniform
V < f/F decides on a proposal, so V < c(h) accepts any. Whether V is so small is drawn with the
cell: the table has two pieces for each, one of weight F·c whose places are accepted, and one of
weight F·(1 − c) whose places are tested with a V uniform between c and 1.

**The test** is exact. With ℓ the distance of a place from that of its cell that is nearest zero,
at m, γ = ℓ(ℓ + 2m)/2σ² is below 1/2, as w ≤ σ/32 and m < 14σ. In doubles, whose sums and products
are correctly rounded, γ is right to 2^-49, exp(−γ) by 16 terms of its series to 2^-48, and V, of
which 64 bits are drawn, to 2^-50. If they are within 2^-40 of each other, V is given as many bits,
and exp(−γ) as many digits, as tell them apart.

How far from the ideal law: the pieces' weights are computed with 320 bits, by products of numbers
below 1, each off by at most 2^-320 for either factor and for the cut; with fewer than 2^12 steps
they are off by less than 2^-290. What lies beyond the last cell is less than 2^-190 of the whole.
So thresholds, rounded to 128 bits, are within 2^-128 of the truth, and a proposal within
(thresholds + 2)·2^-128 of its law, as `tables` argues. A draw is not when a proposal is not, of
which 33/32 at most are expected: the weight of all cells is that of all integers and two cells at
most, since F of a cell is at most any f of the cell before it, and the sum of f is at least
σ·√(2π) (Poisson's formula), so that two cells of f ≤ 1 weigh 2/(32·√(2π)) < 1/32 of it at most.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.kernel.noise.entropy import Entropy
from hushtable.kernel.noise.tables import halves, passed_by_prefixes

# σ is no more cells than this.
_CELLS = 64
_CUTS = 1 << 16
_PRECISION = 320
_ONE = 1 << _PRECISION
# Cells of which f is below 2^-200 are left out.
_NOTHING = 1 << (_PRECISION - 200)
_DECIMAL = Context(prec=120, rounding=ROUND_HALF_EVEN)


class GaussianTables(NamedTuple):
    """Everything a draw looks up.

    Pieces are numbered by twice the cell, plus one for that whose places are tested. Piece v ends
    before the threshold in row `origin` + v, and the next begins with it. `entries[p]` is the first
    piece that a uniform beginning with the 16 bits p can have, if that is the only one and needs no
    test; otherwise it is made odd. The cut of cell h is `cuts[first + h]` in 2^-16.
    """

    sigma_squared: Fraction
    bits: int
    entries: NDArray[np.int16]
    thresholds: NDArray[np.uint64]
    origin: int
    cuts: NDArray[np.int64]
    first: int

    @property
    def eta(self) -> Fraction:
        """A bound on the total-variation distance between one draw and the ideal law."""
        return Fraction(33, 32) * Fraction(len(self.thresholds) + 2, 1 << 128)


@lru_cache(maxsize=128)
def gaussian_tables(sigma_squared: Fraction) -> GaussianTables:
    """Return the tables of the discrete Gaussian law, P[x] ∝ exp(−x²/(2·sigma_squared))."""
    if sigma_squared <= 0:
        raise ValueError("σ² is above zero")
    bits = 0
    while sigma_squared > _CELLS**2 << 2 * bits:
        bits += 1
    width = 1 << bits
    # The places nearest zero are 0, w, 2w, … and −1, −1 − w, −1 − 2w, …
    above, below = (_bell(start, width, sigma_squared) for start in (0, 1))
    largest = below[::-1] + above
    cuts = [_CUTS] * len(largest)
    if bits:
        cuts = _cuts(below)[::-1] + _cuts(above)
    pieces = [
        weight * part
        for weight, cut in zip(largest, cuts, strict=True)
        for part in (cut, _CUTS - cut)
    ]
    whole = sum(pieces)
    ends = [((end << 129) // whole + 1) >> 1 for end in accumulate(pieces)]
    inside = [end for end in ends if 0 < end < 1 << 128]
    thresholds = halves(inside)
    origin = 2 * len(below) - ends.count(0)
    least, most = passed_by_prefixes(thresholds)
    entries = np.asarray((least - origin) | (most > least), dtype=np.int16)
    tables = GaussianTables(
        sigma_squared, bits, entries, thresholds, origin, np.array(cuts), len(below)
    )
    for array in (tables.entries, tables.thresholds, tables.cuts):
        array.setflags(write=False)
    return tables


def _bell(start: int, step: int, sigma_squared: Fraction) -> list[int]:
    """Return f(start), f(start + step), … as multiples of 2^-320, until they vanish."""
    value = _exp(-(start**2) / (2 * sigma_squared))
    ratio = _exp(-(2 * start * step + step**2) / (2 * sigma_squared))
    fall = _exp(-(step**2) / sigma_squared)
    bell = []
    while value > _NOTHING:
        bell.append(value)
        value, ratio = value * ratio >> _PRECISION, ratio * fall >> _PRECISION
    return bell


def _exp(exponent: Fraction) -> int:
    quotient = _DECIMAL.divide(exponent.numerator, exponent.denominator)
    return int(_DECIMAL.multiply(_DECIMAL.exp(quotient), _ONE))


def _cuts(largest: list[int]) -> list[int]:
    """What f is at least in each cell, over the largest: that of the next cell is less still."""
    following = [*largest[1:], 0]
    return [max(_CUTS * b // a - 1, 0) for a, b in zip(largest, following, strict=True)]


def is_accepted(proposal: int, bits: int, tables: GaussianTables, entropy: Entropy) -> bool:
    """Tell whether V < f/F, for a V between the cut and 1 of which 64 bits are given.

    More are drawn, and exp(−γ) is computed to more digits, until that is certain.
    """
    cell = proposal >> tables.bits
    nearest = cell << tables.bits if cell >= 0 else 1 - ((cell + 1) << tables.bits)
    gamma = (proposal**2 - nearest**2) / (2 * tables.sigma_squared)
    cut = Fraction(int(tables.cuts[tables.first + cell]), _CUTS)
    known = 64
    while True:
        low = cut + (1 - cut) * Fraction(bits, 1 << known)
        high = low + (1 - cut) * Fraction(1, 1 << known)
        # For γ < 1 the quotient and its exponential are off by at most 10^-known together.
        context = Context(prec=known)
        exponent = context.divide(-gamma.numerator, gamma.denominator)
        chance, room = Fraction(context.exp(exponent)), Fraction(1, 10**known)
        if high <= chance - room:
            return True
        if low >= chance + room:
            return False
        bits, known = bits << 64 | entropy.bits(64), known + 64
