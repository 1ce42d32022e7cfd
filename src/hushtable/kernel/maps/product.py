"""Products of transforms: one along each axis of a matrix of counts.

What one row changes is trusted, and checked by brute force on small shapes. Arithmetic is exact
modulo 2⁶⁴: a coefficient that did not fit would be the true one, noise included, folded into 64
bits, which tells no more than the true one does.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Integers
from hushtable.errors import OptionError
from hushtable.kernel.maps import slabs
from hushtable.kernel.maps.axis import AxisTransform
from hushtable.kernel.maps.squared import SquaredChange, over_axes

# Counts from which compiled code pays for its loading.
_LARGE = 1 << 18
# Domains of so few cells are searched for the pair of cells that differ most.
_FEW_CELLS = 64


@dataclass(frozen=True)
class Product:
    """One transform per axis, applied one after the other."""

    axes: tuple[AxisTransform, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "axes", tuple(self.axes))  # a list could change afterwards

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the counts it takes."""
        return tuple(axis.size for axis in self.axes)

    @property
    def coefficient_shape(self) -> tuple[int, ...]:
        """The shape of the coefficients it makes."""
        return tuple(axis.coefficients for axis in self.axes)

    @property
    def cells(self) -> int:
        """How many coefficients there are in all."""
        return math.prod(self.coefficient_shape)

    @property
    def entering(self) -> int:
        """What one row changes by appearing: over several axes the changes multiply."""
        return math.prod(axis.levels for axis in self.axes)

    @cached_property
    def moving(self) -> int:
        """What one row changes by becoming another: one leaves, one enters, less what they share.

        Let a = Πuᵢ and b = Πvᵢ be a coefficient of either row over its factor. Then
        |a − b| = |a| + |b| − (1 + σ)·min(|a|, |b|), where σ = Πσᵢ is the sign of ab, and
        min(|a|, |b|) ≥ Π min(|uᵢ|, |vᵢ|). Summed over all coefficients, the last terms factorise:
        Σ|a − b| ≤ 2·entering − Π overlapᵢ − Π agreementᵢ, as no agreement is negative. Per-axis
        figures for moving rows must not be multiplied: the true one can exceed their product.
        """
        if math.prod(self.shape) <= _FEW_CELLS:
            return math.ceil(_largest_difference(self.axes))
        overlap = math.prod(axis.overlap for axis in self.axes)
        agreement = math.prod(axis.agreement for axis in self.axes)
        return math.ceil(2 * self.entering - overlap - agreement)

    @cached_property
    def squared(self) -> SquaredChange:
        """What one row changes in squares, each coefficient over its factor."""
        return over_axes(axis.pairs for axis in self.axes)

    def blocks(self) -> Iterator[tuple[tuple[slice, ...], Fraction]]:
        """The parts of the coefficients whose noise has one scale, and the scale's factor."""
        for combined in itertools.product(*(axis.classes for axis in self.axes)):
            where = tuple(slice(c.start, c.stop) for c in combined)
            yield where, math.prod((c.factor for c in combined), start=Fraction(1))

    def forward(self, counts: Integers) -> Integers:
        """All coefficients of a dense matrix of counts, which it may overwrite."""
        if counts.size >= _LARGE:
            source = np.ascontiguousarray(counts)
            return slabs.apply(self._axis_maps(), source, source)
        for i, axis in enumerate(self.axes):
            counts = axis.forward(counts, i)
        return counts

    def forward_within(self, room: Integers) -> None:
        """All coefficients, in an array of their shape in whose first corner the counts stand.

        Where axes grow, this spares the memory of a second array.
        """
        if room.shape != self.coefficient_shape or not room.flags.carray:
            raise OptionError(f"this needs a C-contiguous array of shape {self.coefficient_shape}")
        if room.size >= _LARGE:
            slabs.apply_within(self._axis_maps(), room)
        else:
            corner = tuple(slice(size) for size in self.shape)
            room[...] = self.forward(room[corner].copy())

    def _axis_maps(self) -> list[slabs.AxisMap]:
        return [
            slabs.AxisMap(
                axis.forward_lines,
                axis.size,
                axis.coefficients,
                axis.in_place,
                axis.kind == "identity",
            )
            for axis in self.axes
        ]

    def to_dict(self) -> list[dict[str, Any]]:
        """How a manifest describes it."""
        return [axis.to_dict() for axis in self.axes]


@lru_cache(maxsize=1024)
def _largest_difference(axes: tuple[AxisTransform, ...]) -> Fraction:
    """The largest Σ|a − b| over all pairs of cells."""
    every: NDArray[Any] = np.ones((1, 1), object)
    for axis in axes:
        factors = [c.factor for c in axis.classes for _ in range(c.start, c.stop)]
        every = np.kron(every, axis.matrix().astype(object) / np.array(factors, object)[:, None])
    common = math.lcm(*(Fraction(entry).denominator for entry in every.flat))
    scaled = np.array([int(entry * common) for entry in every.flat], object).reshape(every.shape)
    largest = max(abs(scaled - column[:, None]).sum(axis=0).max() for column in scaled.T)
    return Fraction(int(largest), common)
