"""Reading noisy Haar coefficients: how they enter the count of a range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats, Integers
from hushtable.families.linear.rows import WeightRow, add_rows, check_intervals
from hushtable.kernel.maps.haar import pairs
from hushtable.query.inverse import HaarInverse


@dataclass(frozen=True)
class HaarReading(HaarInverse):
    """Counts from sums and differences of halves, and their weights in ranges."""

    def _entries(self, starts: Any, stops: Any) -> tuple[Integers, Floats]:
        """For many intervals, positions and weights: arrays of 2·levels rows, a column for each.

        A position can stand there twice, in row k and row k + levels; then the weights add up.
        """
        low, high = check_intervals(starts, stops, self.transform.size)
        places_low, weights_low = self._prefix(low)
        places_high, weights_high = self._prefix(high)
        places = np.concatenate([places_high, places_low])
        return places, np.concatenate([weights_high, -weights_low])

    def row(self, start: int, stop: int) -> WeightRow:
        """The total and, for each splitting, the at most two nodes that the ends cut through."""
        places, weights = self._entries([start], [stop])
        return add_rows([WeightRow(places[:, 0], weights[:, 0])])

    def rows(self, queries: NDArray[Any]) -> Floats:
        """A sum of a pair weighs the mean of the two weights, a difference half of what they
        differ by."""
        weights = np.array(queries, dtype=np.float64)
        lines = np.moveaxis(weights, -1, 0)
        for split in range(self.transform.splits):
            left, right = pairs(lines, 1 << split)
            left += right
            left *= 0.5
            np.subtract(left, right, out=right)
        return weights

    def gains(self, starts: Any, stops: Any) -> Floats:
        places, weights = self._entries(starts, stops)
        (above, below), (more, less) = np.split(places, 2), np.split(weights, 2)
        # (w + w′)² where both ends cut the same node, w² + w′² where they cut two.
        squares = more * more + less * less + np.where(above == below, 2 * more * less, 0)
        return np.asarray(squares.sum(axis=0)).reshape(-1, 1)

    def touched(self, starts: Integers, stops: Integers) -> Integers:
        """The positions of the coefficients in the sums of some intervals, increasing."""
        marked = np.zeros(self.transform.size, bool)
        marked[self._entries(starts, stops)[0]] = True
        return np.flatnonzero(marked)

    def sums(
        self, lines: NDArray[Any], positions: Integers, starts: Integers, stops: Integers
    ) -> Floats:
        """The sums over intervals, from the coefficients at some positions of the first axis."""
        home = np.zeros(self.transform.size, np.int64)
        home[positions] = np.arange(len(positions))
        places, weights = self._entries(starts, stops)
        total = np.zeros((len(starts), *lines.shape[1:]))
        for place, weight in zip(places, weights, strict=True):
            total += weight.reshape(-1, *(1,) * (lines.ndim - 1)) * lines[home[place]]
        return total

    def kinds(self, starts: Integers, stops: Integers) -> Floats:
        """What tells intervals apart whose weights differ: their sizes in order, the total's last.

        No other coefficient is in the sum over all codes.
        """
        places, weights = self._entries(starts, stops)
        (above, below), (more, less) = np.split(places, 2), np.split(weights, 2)
        same = above == below
        sizes = np.concatenate([np.where(same, more + less, more), np.where(same, 0.0, less)])
        total = self.transform.levels - 1
        others = np.abs(np.delete(sizes, total, axis=0))
        return np.column_stack([np.sort(others.T, axis=1), sizes[total]])

    def _prefix(self, ends: Integers) -> tuple[Integers, Floats]:
        """Positions and weights of the sums over all codes before each end, a row per level.

        Going up from the code at the end, `share` is the weight of the node that holds it: the
        half sum of its halves' shares, which are 0 after the end and 1 before it. A difference
        weighs half the left share less the right one.
        """
        share = (ends == self.transform.size).astype(np.float64)
        places = np.zeros((self.transform.levels, len(ends)), np.int64)
        weights = np.zeros((self.transform.levels, len(ends)))
        node = ends.copy()
        for split in range(self.transform.splits):
            right = (node | 1) << split
            paired = (right < self.transform.size) & (ends < self.transform.size)
            other = node & 1  # the share of the other half: the left one lies before the end
            places[split] = np.where(paired, right, 0)
            weights[split] = np.where(paired, np.where(other, 1 - share, share) / 2, 0)
            share = np.where(paired, (share + other) / 2, share)
            node >>= 1
        weights[-1] = share
        return places, weights
