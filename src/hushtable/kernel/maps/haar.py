"""The Haar transform of an ordered axis, as integers: sums and differences of halves.

X. Xiao, G. Wang, J. Gehrke. Differential privacy via wavelet transforms. IEEE TKDE 23(8), 2011,
section 4.

| paper                                    | here                                               |
|------------------------------------------|----------------------------------------------------|
| coefficient c of a node, (a₁ − a₂)/2     | leaf sum of its left half − that of its right half |
| base coefficient c₀, the mean            | the total                                          |
| weight W(c), noise Lap(λ/W(c)) on c      | W(c)·c is the integer; its noise has scale λ       |
| 2^l entries, padded with dummy values    | any length: an odd last element passes up unpaired |
| order by levels                          | in place: a node stands where its right half began |

The transform replaces pairs (a, b) by (a + b, a − b), then pairs of sums two apart, then four
apart, and so on. So position 0 ends as the total, and position p > 0, with h the lowest set bit of
p, as the difference between the codes [p − h, p) and [p, p + h); level by level, the coefficients
are the slices [h::2h].
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Integers
from hushtable.kernel.maps.axis import ScaleClass, check_size
from hushtable.kernel.maps.squared import Pair, not_outdone


@dataclass(frozen=True)
class Haar:
    """Sums and differences of halves, of halves of halves, and so on: one per count."""

    size: int

    kind = "haar"
    in_place = True

    def __post_init__(self) -> None:
        check_size(self.size)

    @property
    def coefficients(self) -> int:
        return self.size

    @property
    def splits(self) -> int:
        """How many times the axis can be halved: ⌈log₂ size⌉."""
        return (self.size - 1).bit_length()

    @property
    def levels(self) -> int:
        """One row changes the total by 1, and at each splitting at most one difference by ±1."""
        return 1 + self.splits

    @property
    def overlap(self) -> Fraction:
        """Two codes share the total and the node that parts them; one code shares all with itself.

        That is two coefficients at least, of size 1, unless the axis has only one.
        """
        return Fraction(min(self.size, 2))

    @property
    def agreement(self) -> Fraction:
        """The total agrees, and so do the nodes above the one that parts the codes, which does not.

        So agreeing coefficients are at least as many as disagreeing ones.
        """
        return Fraction(self.size == 1)

    @property
    def pairs(self) -> tuple[Pair, ...]:
        return halved(self.size)

    @property
    def classes(self) -> tuple[ScaleClass, ...]:
        return (ScaleClass(0, self.size, Fraction(1)),)

    def matrix(self) -> Integers:
        rows = np.zeros((self.size, self.size), np.int64)
        rows[0] = 1
        for p in range(1, self.size):
            half = p & -p
            rows[p, p - half : p] = 1
            rows[p, p : p + half] = -1
        return rows

    def forward(self, counts: Integers, axis: int) -> Integers:
        """Replace each pair (a, b) by (a + b, a − b), in place, then go on with the sums."""
        lines = np.moveaxis(counts, axis, 0)
        for split in range(self.splits):
            left, right = pairs(lines, 1 << split)
            left += right
            right *= -2
            right += left
        return counts

    def forward_lines(self, source: Integers, target: Integers, first: int, last: int) -> None:
        from hushtable.kernel.maps import kernels

        kernels.haar_forward(target, first, last)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "size": self.size}


def halved(size: int) -> tuple[Pair, ...]:
    """The pairs of codes of a halved axis that differ most.

    Two codes agree in the total and in the nodes above the one that parts them, and disagree in
    that: their product is the number of the nodes above. It is 0 for codes in different halves of
    the axis. The left half is full, and each of its codes changes as many coefficients as any can.
    Of r codes on the right, the first is in ⌈log₂ r⌉ differences there, and none is in more. Where
    that is fewer, two codes on the left change more, with a product of 1 if they are in different
    halves of it; no other two do without sharing a node.
    """
    if size == 1:
        return (Pair.alike(Fraction(1)),)
    splits = (size - 1).bit_length()
    rest = size - (1 << (splits - 1))
    most, right = Fraction(1 + splits), Fraction(2 + (rest - 1).bit_length())
    return not_outdone((Pair(most, right, Fraction(0)), Pair(most, most, Fraction(right < most))))


def pairs(lines: NDArray[Any], apart: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """The left and right elements of the pairs of one splitting; the odd last one has no pair."""
    right = lines[apart :: 2 * apart]
    return lines[:: 2 * apart][: len(right)], right
