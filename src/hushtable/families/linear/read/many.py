"""Laws of answers with very many different weights: those of transforms that have tents.

A row of tents has a weight of its own for nearly every code, and a product of rows has one for
nearly every pair of them. Their sizes are gathered along each axis before they are multiplied.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hushtable.arrays import Floats, Integers
from hushtable.families.linear.rows import WeightRow
from hushtable.kernel.maps import AxisTransform, Identity, Tents
from hushtable.kernel.privacy.noises import KnownNoise
from hushtable.query.law import NoiseSum
from hushtable.query.law.gathered import Sizes
from hushtable.query.weighing import LawOfFactors, class_counts, class_weights

AxisSizes = list[tuple[Fraction, Sizes]]
"""The sizes of the weights along an axis, by scale factor."""

Spread = Counter[tuple[float, Fraction]]
"""How often each size of weight occurs, at each scale factor."""


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


@dataclass(frozen=True, eq=False)
class ClassedAxis:
    """The weights of an axis in each of several boxes: of coefficients that are alike, one column.

    There are so many coefficients of each, whose noise has such a scale factor.
    """

    weights: Floats
    counts: Integers
    factors: tuple[Fraction, ...]

    @property
    def shared(self) -> bool:
        """Whether all boxes have the same weights."""
        return bool((self.weights == self.weights[0]).all())

    def sizes(self) -> AxisSizes:
        """The sizes of weights that all boxes share."""
        kinds = {f: np.flatnonzero([f == one for one in self.factors]) for f in set(self.factors)}
        return [(f, Sizes.of(self.weights[0, w], self.counts[w])) for f, w in kinds.items()]


def laws_of_classes(noise: KnownNoise, along: Sequence[ClassedAxis]) -> LawOfFactors:
    """The laws of a linear question whose boxes differ along some axes and agree along the rest.

    What they share is a factor of every weight, and is gathered once.
    """
    own = [axis for axis in along if not axis.shared]
    shared = [axis.sizes() for axis in along if axis.shared]
    counts = class_counts([axis.counts for axis in own]).reshape(-1)
    kinds = np.zeros(1, object) + Fraction(1)
    for axis in own:
        kinds = np.multiply.outer(kinds, np.array(axis.factors, object)).reshape(-1)
    groups = {factor: np.flatnonzero(kinds == factor) for factor in dict.fromkeys(kinds)}

    def law(factors: Floats) -> NoiseSum:
        weights = class_weights(factors, [axis.weights for axis in own]).reshape(-1)
        mine = [(f, Sizes.of(weights[some], counts[some])) for f, some in groups.items()]
        return law_of_sizes(noise, [mine, *shared])

    return law


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


def counted(factor: Fraction, weights: Floats) -> Spread:
    """How often each size occurs among a few weights; rounding errors of zeros are left out."""
    sizes, counts = np.unique(np.abs(weights), return_counts=True)
    listed = zip(sizes.tolist(), counts.tolist(), strict=True)
    spread: Spread = Counter()
    for size, count in listed:
        if size > 1e-12:
            spread[float(f"{size:.12g}"), factor] += count
    return spread
