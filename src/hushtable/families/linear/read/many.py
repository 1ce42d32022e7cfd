"""Laws of answers with very many different weights: those of transforms that have tents.

A row of tents has a weight of its own for nearly every code, and a product of rows has one for
nearly every pair of them. Their sizes are gathered along each axis before they are multiplied.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from hushtable.arrays import Floats, Integers
from hushtable.families.linear.rows import WeightRow
from hushtable.kernel.maps import AxisTransform, Identity, Tents
from hushtable.kernel.privacy.noises import KnownNoise
from hushtable.query.law import NoiseSum
from hushtable.query.law.gathered import Sizes

AxisSizes = list[tuple[Fraction, Sizes]]
"""The sizes of the weights along an axis, by scale factor."""


def has_many(axes: Sequence[AxisTransform]) -> bool:
    """Whether boxes may have so many different weights."""
    return any(isinstance(axis, Tents) for axis in axes)


def law_of_rows(
    noise: KnownNoise, axes: Sequence[AxisTransform], rows: Sequence[WeightRow]
) -> NoiseSum:
    """The law of a box, from a row of weights along each axis."""
    return law_of_sizes(noise, [_sizes(axis, row) for axis, row in zip(axes, rows, strict=True)])


def law_of_sizes(noise: KnownNoise, along: Sequence[AxisSizes]) -> NoiseSum:
    """The law of a product of rows, from the sizes of their weights."""
    found: dict[Fraction, Sizes] = {}
    for parts in itertools.product(*along):
        factor = math.prod((factor for factor, _ in parts), start=Fraction(1))
        sizes = Sizes.alike(1)
        for _, one in parts:
            sizes = sizes * one
        found[factor] = found[factor] + sizes if factor in found else sizes
    return NoiseSum.gathered((noise.times(factor), sizes) for factor, sizes in found.items())


def _sizes(axis: AxisTransform, row: WeightRow) -> AxisSizes:
    if isinstance(axis, Identity):
        return [(Fraction(1), Sizes.alike(len(row.positions)))]
    return [
        (axis.classes[number].factor, Sizes.of(row.weights[which]))
        for number, which in _by_class(axis, row.positions)
    ]


def _by_class(axis: AxisTransform, positions: Integers) -> list[tuple[int, Integers]]:
    numbers = np.searchsorted([c.stop for c in axis.classes], positions, side="right")
    return [(int(n), np.flatnonzero(numbers == n)) for n in np.unique(numbers)]


class Gathering:
    """The sizes of weights that come piece by piece, by scale factor."""

    def __init__(self) -> None:
        self._found: dict[Fraction, Sizes] = {}

    def add(self, factor: Fraction, weights: Floats) -> None:
        """Some more weights; those that are rounding errors of zeros are left out."""
        held = np.abs(weights) > 1e-12
        sizes = Sizes.of(weights[held])
        self._found[factor] = self._found[factor] + sizes if factor in self._found else sizes

    def law(self, noise: KnownNoise) -> NoiseSum:
        return NoiseSum.gathered((noise.times(f), sizes) for f, sizes in self._found.items())
