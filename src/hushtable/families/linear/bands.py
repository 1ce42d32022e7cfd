"""Subbands: the coefficients of a product that come from the same levels of their trees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hushtable.kernel.maps.axis import AxisTransform
from hushtable.kernel.maps.haar import Haar
from hushtable.kernel.maps.identity import Identity
from hushtable.kernel.maps.nominal import Nominal
from hushtable.kernel.maps.product import Product

UNIT = 1024
"""Thresholds are stored as whole multiples of one part in this many."""


@dataclass(frozen=True, eq=False)
class Bands:
    """The subbands of a product of wavelets; every sub-matrix has its own."""

    numbers: tuple[NDArray[np.intp], ...]
    """The band of each coefficient, along each axis."""
    factors: tuple[NDArray[np.float64], ...]
    """The scale factor of each coefficient, along each axis."""

    @classmethod
    def of(cls, transform: Product) -> Bands:
        return cls(
            tuple(bands_of(axis) for axis in transform.axes),
            tuple(
                np.concatenate([np.full(c.stop - c.start, float(c.factor)) for c in axis.classes])
                for axis in transform.axes
            ),
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """How many bands there are along each axis."""
        return tuple(int(numbers.max()) + 1 for numbers in self.numbers)


def bands_of(axis: AxisTransform) -> NDArray[np.intp]:
    """The number of each coefficient's band along an axis, from 0.

    Along a plain axis every code is a band of its own: each is a sub-matrix, transformed by itself.
    """
    if isinstance(axis, Identity):
        return np.arange(axis.size, dtype=np.intp)
    if isinstance(axis, Haar):
        return _haar_levels(axis.size)
    if isinstance(axis, Nominal):
        return _depths(axis)
    raise TypeError("only wavelets have subbands")


def runs_of(positions: NDArray[np.intp]) -> list[slice]:
    """Increasing positions as slices: one if they are evenly spaced, else one per stretch."""
    steps = np.diff(positions)
    if len(steps) == 0 or (steps == steps[0]).all():
        return [
            slice(int(positions[0]), int(positions[-1]) + 1, int(steps[0]) if len(steps) else 1)
        ]
    stretches = np.split(positions, np.flatnonzero(steps != 1) + 1)
    return [slice(int(stretch[0]), int(stretch[-1]) + 1, 1) for stretch in stretches]


def _haar_levels(size: int) -> NDArray[np.intp]:
    """The total first; then by how many codes a coefficient compares, which is its lowest bit."""
    positions = np.arange(size)
    lowest = positions & -positions
    levels = np.zeros(size, np.intp)
    levels[1:] = np.log2(lowest[1:]).astype(np.intp) + 1
    return levels


def _depths(axis: Nominal) -> NDArray[np.intp]:
    """The depth of the node of each coefficient."""
    depths = np.repeat(np.arange(axis.tree.depth + 1), np.diff(axis.tree.offsets))
    return depths[axis.order].astype(np.intp)
