"""Reading noisy coefficients: the estimates they give, and the exact noise in them.

Every forward transform of `kernel.maps` has a reading; that of a product is one for each axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats, Integers
from hushtable.families.linear.haar_reading import HaarReading
from hushtable.families.linear.least_squares import TreeReading
from hushtable.families.linear.rows import WeightRow, check_intervals, interval_sums
from hushtable.kernel.maps import AxisTransform, Haar, Identity, Nominal, Product, Tents, Tree
from hushtable.query.box import CodeSet
from hushtable.query.cutting import all_codes
from hushtable.query.inverse import AxisInverse, inverse

# Numbers held at once while variances are added up over classes.
_BATCH = 1 << 22


class AxisReading(AxisInverse, Protocol):
    """How the noisy coefficients of one axis are read."""

    def __hash__(self) -> int:
        """Readings of equal transforms are equal."""

    def row(self, start: int, stop: int) -> WeightRow:
        """The weights of the coefficients in the estimated sum over the codes of an interval."""

    def rows(self, queries: NDArray[Any]) -> Floats:
        """The weights of all coefficients in Σ q(code)·count(code), for q along the last axis."""

    def gains(self, starts: Any, stops: Any) -> Floats:
        """For many intervals, the sum of squared weights within each class of coefficients."""

    def touched(self, starts: Integers, stops: Integers) -> Integers:
        """The positions of the coefficients in the sums of many intervals, increasing."""

    def sums(
        self, lines: NDArray[Any], positions: Integers, starts: Integers, stops: Integers
    ) -> Floats:
        """The sums over many intervals, from the coefficients that they touch.

        These run along the first axis; intervals are disjoint, in order and not empty.
        """

    def kinds(self, starts: Integers, stops: Integers) -> NDArray[Any]:
        """A row for each of many intervals; those with equal rows have weights of equal sizes.

        That is, the same sizes equally often in each class of coefficients and, within it, among
        those that have the same weight in the sum over all codes; if that is not zero, also the
        same signs. No interval is empty.
        """


@dataclass(frozen=True)
class IdentityReading:
    """Noisy counts, read as they are."""

    transform: Identity

    def inverse(self, values: NDArray[Any], axis: int) -> Floats:
        return np.asarray(values, dtype=np.float64)

    def inverse_lines(self, source: NDArray[Any], target: Floats, first: int, last: int) -> None:
        pass

    def row(self, start: int, stop: int) -> WeightRow:
        """Every code of the interval counts once."""
        check_intervals([start], [stop], self.transform.size)
        return WeightRow(np.arange(start, stop), np.ones(stop - start))

    def rows(self, queries: NDArray[Any]) -> Floats:
        return np.array(queries, dtype=np.float64)

    def gains(self, starts: Any, stops: Any) -> Floats:
        low, high = check_intervals(starts, stops, self.transform.size)
        return (high - low).astype(np.float64).reshape(-1, 1)

    def touched(self, starts: Integers, stops: Integers) -> Integers:
        return all_codes(CodeSet(tuple(zip(starts.tolist(), stops.tolist(), strict=True))))

    def sums(
        self, lines: NDArray[Any], positions: Integers, starts: Integers, stops: Integers
    ) -> Floats:
        first = np.searchsorted(positions, starts)
        return interval_sums(lines, first, first + stops - starts)

    def kinds(self, starts: Integers, stops: Integers) -> Integers:
        return (stops - starts).reshape(-1, 1)


def reading_of(transform: AxisTransform) -> AxisReading:
    """How the coefficients of a transform are read.

    It works out what it needs once: keep it while there is more to read.
    """
    if isinstance(transform, Identity):
        return IdentityReading(transform)
    if isinstance(transform, Haar):
        return HaarReading(transform)
    if isinstance(transform, Nominal | Tree):
        return TreeReading(transform)
    if isinstance(transform, Tents):
        from hushtable.families.linear.tents_reading import TentsReading

        return TentsReading(transform)
    raise TypeError("only the transforms of hushtable.kernel.maps can be read")


@dataclass(frozen=True)
class ProductReading:
    """How the coefficients of a product of transforms are read: a reading for each axis."""

    axes: tuple[AxisReading, ...]

    @classmethod
    def of(cls, product: Product) -> ProductReading:
        return cls(tuple(map(reading_of, product.axes)))

    @cached_property
    def product(self) -> Product:
        """What made the coefficients."""
        return Product(tuple(axis.transform for axis in self.axes))

    def inverse(self, values: NDArray[Any], out: Floats | None = None) -> Floats:
        """The counts that noisy coefficients suggest, in `out` if it is given.

        Where no axis changes its length, `out` may be the memory of the values themselves.
        """
        return inverse(self.axes, values, out)

    def variances(self, gains: Sequence[Floats], variance: Callable[[Fraction], float]) -> Floats:
        """The noise variance of many boxes, from the gains of each along each axis.

        `variance` is that of the noise on one coefficient, by its scale factor.
        """
        spread = self.class_variances(variance)
        batch = max(_BATCH // spread.size, 1)
        parts = []
        for first in range(0, max(len(gains[0]), 1), batch):
            total = np.broadcast_to(spread, (len(gains[0][first : first + batch]), *spread.shape))
            for gain in gains:
                total = np.einsum("qk...,qk->q...", total, gain[first : first + batch])
            parts.append(total)
        return np.concatenate(parts)

    def class_variances(self, variance: Callable[[Fraction], float]) -> Floats:
        """The variance of one coefficient, by its class along each axis."""
        factors = [factor for _, factor in self.product.blocks()]
        known = {factor: variance(factor) for factor in set(factors)}
        shape = [len(axis.transform.classes) for axis in self.axes]
        return np.array([known[factor] for factor in factors]).reshape(shape)
