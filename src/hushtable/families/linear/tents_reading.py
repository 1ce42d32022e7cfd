"""Reading noisy counts and sums under tents: least squares in closed form.

The coefficients are y₀ = b₀·x and y₁ = B·x with noise of one scale. With T = B/b₀ and
S = I + T·Tᵀ, a matrix as small as there are few tents, least squares are

    x̂ = (y₀ + Tᵀ·S⁻¹·(y₁ − T·y₀)) / b₀.

So a sum Σ q(code)·x̂(code) weighs, with r = q/b₀, the tents by S⁻¹·T·r and the codes by
r − Tᵀ·S⁻¹·T·r; the squares of these weights add up to ‖r‖² − ‖L⁻¹·T·r‖², where S = L·Lᵀ. For an
interval, both are differences of what is before its two ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats, Integers
from hushtable.families.linear.rows import WeightRow, check_intervals, interval_sums
from hushtable.kernel.maps import Tents

# Numbers that are held at once while gains are added up.
_AT_ONCE = 2**22


@dataclass(frozen=True)
class TentsReading:
    """Counts from noisy counts and sums under tents."""

    transform: Tents

    def inverse(self, values: NDArray[Any], axis: int) -> Floats:
        """The counts of the codes by least squares."""
        size = self.transform.size
        lines = np.moveaxis(np.asarray(values, np.float64), axis, 0)
        own, sums = lines[:size].reshape(size, -1), lines[size:].reshape(len(lines) - size, -1)
        counts = own + self._spread(self._solved(sums - self._gathered(own)))
        counts /= self._own[:, None]
        shaped = counts.reshape(size, *lines.shape[1:])
        return np.ascontiguousarray(np.moveaxis(shaped, 0, axis))

    def inverse_lines(self, source: NDArray[Any], target: Floats, first: int, last: int) -> None:
        """The compiled twin of `inverse`: the middle axis of a slab, some of its columns."""
        from hushtable.families.linear import kernels

        tents = self.transform.columns.tents
        kernels.read_tents(
            source, target, first, last, (self._own, tents, self._parts, self._precision)
        )

    def rows(self, queries: NDArray[Any]) -> Floats:
        """The weights of all coefficients in Σ q(code)·x̂(code), for queries along the last axis."""
        wanted = np.moveaxis(np.asarray(queries, np.float64), -1, 0)
        shares = wanted.reshape(len(wanted), -1) / self._own[:, None]
        sums = self._solved(self._gathered(shares))
        weights = np.concatenate([shares - self._spread(sums), sums])
        return np.moveaxis(weights.reshape(len(weights), *wanted.shape[1:]), 0, -1)

    def row(self, start: int, stop: int) -> WeightRow:
        """The weights of an interval, without those that are zero."""
        check_intervals([start], [stop], self.transform.size)
        query = np.zeros(self.transform.size)
        query[start:stop] = 1
        weights = self.rows(query)
        positions = np.flatnonzero(weights)
        return WeightRow(positions, weights[positions])

    def gains(self, starts: Any, stops: Any) -> Floats:
        """For many intervals, the sum of squared weights."""
        low, high = check_intervals(starts, stops, self.transform.size)
        ends, which = np.unique(np.concatenate([low, high]), return_inverse=True)
        half = len(low) // 2
        if half and len(ends) * self.transform.number > 2 * _AT_ONCE:  # few ends at a time
            parts = self.gains(low[:half], high[:half]), self.gains(low[half:], high[half:])
            return np.concatenate(parts)
        before, tents = self._before(ends), self._tents_before(ends)
        first, last = np.split(which.reshape(-1), 2)
        squares = before[last] - before[first]
        step = max(_AT_ONCE // self.transform.number, 1)
        for k in range(0, len(squares), step):
            some = slice(k, k + step)
            between = tents[last[some]] - tents[first[some]]
            squares[some] -= np.einsum("it,it->i", between, between)
        return np.maximum(squares, 0.0).reshape(-1, 1)

    def single(self, codes: Integers) -> tuple[Floats, Floats, Floats]:
        """Of the weights of single codes: the sum of squares, that of the code's own coefficient,
        and a bound on that of any other.

        With s = pᵀ·S⁻¹·p, for the parts p of a code under its tents, they add up to (1 − s)/b₀²;
        the own one has (1 − s)²/b₀². Products under S⁻¹ are at most the roots of both squares.
        """
        tents, parts = self.transform.columns.tents, self._parts
        shares = sum(
            mine * theirs * self._precision[one, other]
            for one, mine in zip(tents, parts, strict=True)
            for other, theirs in zip(tents, parts, strict=True)
        )
        every = np.clip(np.asarray(shares), 0.0, 1.0)
        most = max(float(every.max()), float(self._precision.diagonal().max()))
        share, own = every[codes], self._own[codes]
        left = (1 - share) / own**2
        return left, left * (1 - share), share * most / own**2

    def touched(self, starts: Integers, stops: Integers) -> Integers:
        """The positions of the coefficients in the sums of some intervals: all of them."""
        return np.arange(self.transform.coefficients)

    def sums(
        self, lines: NDArray[Any], positions: Integers, starts: Integers, stops: Integers
    ) -> Floats:
        """The sums over disjoint intervals of the first axis, in order."""
        return interval_sums(self.inverse(lines, 0), starts, stops)

    def kinds(self, starts: Integers, stops: Integers) -> Integers:
        """No two intervals have the same weights."""
        return np.stack([starts, stops], axis=1)

    @cached_property
    def _own(self) -> Floats:
        """b₀."""
        return self.transform.columns.own.astype(np.float64)

    @cached_property
    def _parts(self) -> Floats:
        """T, column by column: the parts of each code under its four tents."""
        return np.asarray(self.transform.columns.weights / self._own)

    @cached_property
    def _root(self) -> Floats:
        """L⁻¹."""
        tents, number = self.transform.columns.tents, self.transform.number
        products = np.eye(number).reshape(-1)
        for one, mine in zip(tents, self._parts, strict=True):
            for other, theirs in zip(tents, self._parts, strict=True):
                products += np.bincount(one * number + other, mine * theirs, number**2)
        root = np.linalg.cholesky(products.reshape(number, number))
        return np.asarray(np.linalg.inv(root))

    @cached_property
    def _precision(self) -> Floats:
        """S⁻¹."""
        return np.ascontiguousarray(self._root.T @ self._root)

    def _solved(self, sums: Floats) -> Floats:
        return np.asarray(self._precision @ sums)

    def _gathered(self, lines: Floats) -> Floats:
        """T times lines of the codes: those under one tent stand side by side."""
        sums = np.zeros((self.transform.number, lines.shape[1]))
        for tents, parts in zip(self.transform.columns.tents, self._parts, strict=True):
            starts = _runs(tents)
            sums[tents[starts]] += np.add.reduceat(parts[:, None] * lines, starts, axis=0)
        return sums

    def _spread(self, sums: Floats) -> Floats:
        """Tᵀ times lines of the tents."""
        lines = np.zeros((self.transform.size, sums.shape[1]))
        for tents, parts in zip(self.transform.columns.tents, self._parts, strict=True):
            lines += parts[:, None] * sums[tents]
        return lines

    def _before(self, ends: Integers) -> Floats:
        """‖r‖² of all codes before each end."""
        return np.concatenate([[0.0], np.cumsum(1 / self._own**2)])[ends]

    def _tents_before(self, ends: Integers) -> Floats:
        """L⁻¹·T·r of all codes before each end; of many ends, from a table that is kept."""
        every = self.transform.size + 1
        if 4 * len(ends) > every and every * self.transform.number <= _AT_ONCE:
            return np.asarray(self._tents_before_all[ends])
        return self._tents_before_some(ends)

    @cached_property
    def _tents_before_all(self) -> Floats:
        return self._tents_before_some(np.arange(self.transform.size + 1))

    def _tents_before_some(self, ends: Integers) -> Floats:
        under = np.zeros((len(ends), self.transform.number))
        for tents, parts in zip(self.transform.columns.tents, self._parts, strict=True):
            starts = _runs(tents)
            stops = np.append(starts[1:], len(tents))
            sums = np.concatenate([[0.0], np.cumsum(parts / self._own)])
            under[:, tents[starts]] += sums[np.clip(ends[:, None], starts, stops)] - sums[starts]
        return np.asarray(under @ self._root.T)


def _runs(tents: Integers) -> Integers:
    """Where each tent's codes begin."""
    return np.flatnonzero(np.diff(tents, prepend=-1))
