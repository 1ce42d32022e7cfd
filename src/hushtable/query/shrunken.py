"""Answers from coefficients that are soft-thresholded, subband by subband, when they are read."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.query.box import Box, CodeSet, Region
from hushtable.query.cells import Estimates, Groups, ReadBox
from hushtable.query.coefficients import NoisyCoefficients, cut_by, weights_of
from hushtable.query.law import NoiseLaw, checked_confidence, normal_half_width
from hushtable.transforms import Identity, Product
from hushtable.transforms.bands import bands_of

UNIT = 1024
"""Thresholds and errors are stored as whole multiples of one part in this many."""

# More sub-matrices than this share their thresholds.
_MOST_SUBMATRICES = 2**16

NOTE = "shrunken coefficients; the error is an estimate: Stein's, from the noisy coefficients"


@dataclass(frozen=True, eq=False)
class Bands:
    """The subbands of a product of wavelets."""

    numbers: tuple[NDArray[np.intp], ...]
    """The band of each coefficient, along each axis."""
    factors: tuple[NDArray[np.float64], ...]
    """The scale factor of each coefficient, along each axis."""

    @classmethod
    def of(cls, transform: Product) -> Bands:
        plain = math.prod(axis.size for axis in transform.axes if isinstance(axis, Identity))
        pooled = plain > _MOST_SUBMATRICES
        return cls(
            tuple(bands_of(axis, pooled=pooled) for axis in transform.axes),
            tuple(
                np.concatenate([np.full(c.stop - c.start, float(c.factor)) for c in axis.classes])
                for axis in transform.axes
            ),
        )

    @property
    def shape(self) -> tuple[int, ...]:
        """How many bands there are along each axis."""
        return tuple(int(numbers.max()) + 1 for numbers in self.numbers)

    def factors_at(self, positions: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
        """The scale factors at all combinations of positions."""
        factors = np.ones([1] * len(positions))
        for i, along in enumerate(positions):
            shape = [1] * len(positions)
            shape[i] = len(along)
            factors = factors * self.factors[i][along].reshape(shape)
        return factors


@dataclass(frozen=True, slots=True)
class EstimatedNoise:
    """An error of which only an estimate of the variance is known."""

    variance: float

    @property
    def exact(self) -> bool:
        return False

    def half_width(self, confidence: float) -> float:
        """The half width under a normal law."""
        return normal_half_width(self.variance, 0.0, 1 - checked_confidence(confidence))


@dataclass(frozen=True, eq=False)
class ShrunkenCoefficients:
    """Noisy coefficients with the threshold and the estimated error of each subband."""

    transform: Product
    read: ReadBox
    scale: Fraction
    bands: Bands
    thresholds: NDArray[np.int64]
    errors: NDArray[np.int64]

    note = NOTE

    @property
    def _plain(self) -> NoisyCoefficients:
        return NoisyCoefficients(self.transform, self.read, self.scale, NOTE, self._shrink)

    def _shrink(
        self, block: NDArray[np.float64], positions: list[NDArray[np.int64]]
    ) -> NDArray[np.float64]:
        """Soft-threshold a block: towards zero by θ, in units of each coefficient's factor."""
        chosen = np.ix_(*(n[p] for n, p in zip(self.bands.numbers, positions, strict=True)))
        theta = self.thresholds[chosen] / UNIT * self.bands.factors_at(positions)
        return np.sign(block) * np.maximum(np.abs(block) - theta, 0.0)

    def law(self, region: Region) -> NoiseLaw:
        """The estimated error of the count of a region."""
        return EstimatedNoise(float(self._variances(region, ()).sum()))

    def count(self, region: Region) -> tuple[float, NoiseLaw]:
        """The estimated count of a region, and its estimated error."""
        return self._plain.count(region)[0], self.law(region)

    def group(self, region: Region, groups: Groups) -> Estimates:
        """The estimated counts of a region cut by groups of codes along some axes."""
        values = self._plain.group(region, groups).values
        variances, which = np.unique(self._variances(region, groups), return_inverse=True)
        laws = tuple(EstimatedNoise(float(variance)) for variance in variances)
        return Estimates(values, laws, which.reshape(-1))

    def cells(self) -> NDArray[np.float64]:
        """The estimated count of every cell: M*."""
        whole = [np.arange(size) for size in self.transform.coefficient_shape]
        block = np.asarray(self.read(), np.float64)
        return self.transform.inverse(self._shrink(block, whole))

    def cell_variances(self, codes: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
        """The estimated square error of each of many cells."""
        places = np.stack([np.asarray(along) for along in codes], axis=1)
        distinct, which = np.unique(places, axis=0, return_inverse=True)
        boxes = [Box(tuple(CodeSet.single(int(c)) for c in place)) for place in distinct]
        found = np.array([self._variances((box,), ()).sum() for box in boxes])
        return np.asarray(found[which.reshape(-1)], np.float64)

    def fresh_cells(self) -> NDArray[np.float64]:
        """The estimated count of every cell, in memory of its own."""
        return self.cells()

    def range_variances(
        self, starts: NDArray[np.int64], stops: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """The estimated square error of each of many boxes."""
        square = np.square(self.errors / UNIT)
        spread = np.broadcast_to(square, (len(starts), *square.shape))
        for i in range(square.ndim):
            pairs = zip(starts[:, i].tolist(), stops[:, i].tolist(), strict=True)
            by_band = self._by_band(i, [CodeSet.of(pair) for pair in pairs])
            spread = np.einsum("qb...,qb->q...", spread, by_band)
        return np.asarray(spread)

    def _variances(self, region: Region, groups: Groups) -> NDArray[np.float64]:
        """The estimated square errors: weights² times each subband's, box by box."""
        total = np.zeros(math.prod(len(ranges) for _, ranges in groups))
        square = (self.errors / UNIT) ** 2
        order = [axis for axis, _ in groups]
        plain = [i for i in range(len(self.bands.numbers)) if i not in order]
        for box in region:
            if not box.cells:
                continue
            spread = square
            for i in reversed(range(spread.ndim)):
                along = self._by_band(i, cut_by(box, i, groups))
                spread = np.moveaxis(np.tensordot(along, spread, axes=(1, i)), 0, i)
            total += spread.transpose([*plain, *order]).reshape(-1)
        return total

    def _by_band(self, axis: int, parts: Sequence[CodeSet]) -> NDArray[np.float64]:
        """For each part of an axis, the sum of (weight · factor)² within each band."""
        numbers, factors = self.bands.numbers[axis], self.bands.factors[axis]
        rows = np.zeros((len(parts), self.bands.shape[axis]))
        for k, part in enumerate(parts):
            row = weights_of(self.transform.axes[axis], part)
            squares = np.square(row.weights * factors[row.positions])
            np.add.at(rows[k], numbers[row.positions], squares)
        return rows
