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

from hushtable.kernel.maps.axis import (
    Floats,
    Integers,
    Row,
    ScaleClass,
    add_rows,
    check_intervals,
    check_size,
)


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
            left, right = _pairs(lines, 1 << split)
            left += right
            right *= -2
            right += left
        return counts

    def forward_lines(self, source: Integers, target: Integers, first: int, last: int) -> None:
        from hushtable.kernel.maps import kernels

        kernels.haar_forward(target, first, last)

    # From here on: the analyst's half.

    def inverse(self, values: NDArray[Any], axis: int) -> Floats:
        """Replace each pair (s, d) by ((s + d)/2, (s − d)/2), the last sums first."""
        counts = np.array(values, dtype=np.float64)
        lines = np.moveaxis(counts, axis, 0)
        for split in reversed(range(self.splits)):
            left, right = _pairs(lines, 1 << split)
            left += right
            left *= 0.5
            np.subtract(left, right, out=right)
        return counts

    def inverse_lines(self, source: NDArray[Any], target: Floats, first: int, last: int) -> None:
        from hushtable.kernel.maps import kernels

        kernels.haar_inverse(target, first, last)

    def entries(self, starts: Any, stops: Any) -> tuple[Integers, Floats]:
        """For many intervals, positions and weights: arrays of 2·levels rows, a column for each.

        A position can stand there twice, in row k and row k + levels; then the weights add up.
        """
        low, high = check_intervals(starts, stops, self.size)
        places_low, weights_low = self._prefix(low)
        places_high, weights_high = self._prefix(high)
        places = np.concatenate([places_high, places_low])
        return places, np.concatenate([weights_high, -weights_low])

    def row(self, start: int, stop: int) -> Row:
        """The total and, for each splitting, the at most two nodes that the ends cut through."""
        places, weights = self.entries([start], [stop])
        return add_rows([Row(places[:, 0], weights[:, 0])])

    def rows(self, queries: NDArray[Any]) -> Floats:
        """A sum of a pair weighs the mean of the two weights, a difference half of what they
        differ by."""
        weights = np.array(queries, dtype=np.float64)
        lines = np.moveaxis(weights, -1, 0)
        for split in range(self.splits):
            left, right = _pairs(lines, 1 << split)
            left += right
            left *= 0.5
            np.subtract(left, right, out=right)
        return weights

    def gains(self, starts: Any, stops: Any) -> Floats:
        places, weights = self.entries(starts, stops)
        (above, below), (more, less) = np.split(places, 2), np.split(weights, 2)
        # (w + w′)² where both ends cut the same node, w² + w′² where they cut two.
        squares = more * more + less * less + np.where(above == below, 2 * more * less, 0)
        return np.asarray(squares.sum(axis=0)).reshape(-1, 1)

    def _prefix(self, ends: Integers) -> tuple[Integers, Floats]:
        """Positions and weights of the sums over all codes before each end, a row per level.

        Going up from the code at the end, `share` is the weight of the node that holds it: the
        half sum of its halves' shares, which are 0 after the end and 1 before it. A difference
        weighs half the left share less the right one.
        """
        share = (ends == self.size).astype(np.float64)
        places = np.zeros((self.levels, len(ends)), np.int64)
        weights = np.zeros((self.levels, len(ends)))
        node = ends.copy()
        for split in range(self.splits):
            right = (node | 1) << split
            paired = (right < self.size) & (ends < self.size)
            other = node & 1  # the share of the other half: the left one lies before the end
            places[split] = np.where(paired, right, 0)
            weights[split] = np.where(paired, np.where(other, 1 - share, share) / 2, 0)
            share = np.where(paired, (share + other) / 2, share)
            node >>= 1
        weights[-1] = share
        return places, weights

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "size": self.size}


def _pairs(lines: NDArray[Any], apart: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """The left and right elements of the pairs of one splitting; the odd last one has no pair."""
    right = lines[apart :: 2 * apart]
    return lines[:: 2 * apart][: len(right)], right
