"""Answers from coefficients that are soft-thresholded, subband by subband, when they are read.

Shrinking moves an answer by a known amount, the *shift*: what the coefficients lose, weighted like
the coefficients themselves. So an answer errs by the noise of the answer without shrinking, whose
law is known, less the shift; and an interval that is wider by the shift holds for every table.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.families.linear.bands import UNIT, Bands
from hushtable.families.linear.read.coefficients import NoisyCoefficients, Refine
from hushtable.families.linear.read.transforms import ProductReading
from hushtable.kernel.maps import Product
from hushtable.kernel.privacy.noises import KnownNoise
from hushtable.query.batch import (
    WORTH_A_TABLE,
    accumulate,
    box_sums,
    cells_as_ranges,
    range_boxes,
)
from hushtable.query.box import Boxes
from hushtable.query.cutting import Cuts
from hushtable.query.law import NoiseLaw
from hushtable.query.reader import Estimates, ReadBox
from hushtable.query.weighing import LawOfFactors, Weighing, factors_of

NOTE = (
    "shrunken coefficients; the error is bounded from above:"
    " the noise before shrinking, and how far shrinking moved the answer"
)

# Coefficients that are shrunk at once when all are.
_PIECE = 2**17


@dataclass(frozen=True, slots=True)
class ShiftedNoise:
    """The error of an answer that shrinking moved: noise of a known law, less the shift."""

    noise: NoiseLaw
    shift: float

    @property
    def variance(self) -> float:
        """The mean square of noise and shift, as if they were strangers; mostly too much."""
        return self.noise.variance + self.shift**2

    @property
    def estimate(self) -> bool:
        return self.noise.estimate

    def half_width(self, confidence: float) -> float:
        """Where |noise| ≤ h, the error is at most h + |shift|, whatever the table was."""
        return self.noise.half_width(confidence) + abs(self.shift)


@dataclass(frozen=True, eq=False)
class _Shared:
    """A law that many answers share, whose figures are worked out once."""

    noise: NoiseLaw

    @cached_property
    def variance(self) -> float:
        return self.noise.variance

    @property
    def estimate(self) -> bool:
        return self.noise.estimate

    @lru_cache(maxsize=1 << 14)  # noqa: B019 - few and small
    def half_width(self, confidence: float) -> float:
        return self.noise.half_width(confidence)


@dataclass(frozen=True, eq=False)
class ShrunkenCoefficients:
    """Noisy coefficients with the threshold of each subband."""

    transform: Product
    read: ReadBox
    noise: KnownNoise
    bands: Bands
    thresholds: NDArray[np.int64]

    note = NOTE
    estimate = False
    adds_up = False

    @cached_property
    def _transform_reading(self) -> ProductReading:
        return ProductReading.of(self.transform)

    def _reading(self, refine: Refine | None) -> NoisyCoefficients:
        return NoisyCoefficients(self._transform_reading, self.read, self.noise, NOTE, refine)

    @property
    def noisy(self) -> NoisyCoefficients:
        """The answers without shrinking."""
        return self._reading(None)

    @property
    def shrunken(self) -> NoisyCoefficients:
        """The answers, as sums of shrunken coefficients."""
        return self._reading(self._shrink)

    @property
    def lost(self) -> NoisyCoefficients:
        """The shifts, as sums of what coefficients lose."""
        return self._reading(self._lost)

    def _lost(
        self, block: NDArray[np.float64], positions: list[NDArray[np.int64]]
    ) -> NDArray[np.float64]:
        """What shrinking takes off: θ, or all where it is less, in units of each one's factor."""
        theta = self._thresholds_at(positions)
        return np.clip(block, -theta, theta, out=theta)

    def _thresholds_at(self, positions: list[NDArray[np.int64]]) -> NDArray[np.float64]:
        """θ times the factor of each coefficient at all combinations of positions."""
        theta: NDArray[Any] = self.thresholds
        last = theta.ndim - 1
        # Axes of which little is asked first, so that little is laid out.
        shares = [len(p) / bands for p, bands in zip(positions, self.bands.shape, strict=True)]
        for i in np.argsort(shares, kind="stable").tolist():
            theta = np.take(theta, self.bands.numbers[i][positions[i]], axis=i)
            factors = self.bands.factors[i][positions[i]]
            if (factors != 1).any():
                theta = theta * factors.reshape(-1, *[1] * (last - i))
        return np.asarray(theta, np.float64) / UNIT

    def _shrink(
        self, block: NDArray[np.float64], positions: list[NDArray[np.int64]]
    ) -> NDArray[np.float64]:
        """Soft-threshold a block: towards zero by θ."""
        lost = self._lost(block, positions)
        return np.subtract(block, lost, out=lost)

    def law(self, boxes: Boxes) -> NoiseLaw:
        """The error of a count of disjoint boxes; reads the coefficients, for they have a part."""
        shift, noise = self._reading(self._lost).count(boxes)
        return _law(noise, shift)

    def count(self, boxes: Boxes) -> tuple[float, NoiseLaw]:
        """The estimated count of disjoint boxes, and its error."""
        return self._reading(self._shrink).count(boxes)[0], self.law(boxes)

    def weigh(self, weighing: Weighing) -> tuple[float, NoiseLaw]:
        """The answer to a linear question, and its error."""
        return self._reading(self._shrink).weigh(weighing)[0], self.weighed_law(weighing)

    def weighed_law(self, weighing: Weighing) -> NoiseLaw:
        """The error of a linear question; reads the coefficients, for they have a part."""
        return self.weighed_laws(weighing)(factors_of(weighing))

    def weighed_laws(self, weighing: Weighing) -> LawOfFactors:
        """The errors of a linear question for any factors of its boxes."""
        lost = self._reading(self._lost)
        noises = lost.weighed_laws(weighing)
        shifts = lost.weighed_values(weighing)
        return lambda factors: _law(noises(factors), float(factors @ shifts))

    def group(self, boxes: Boxes, cuts: Cuts) -> Estimates:
        """The estimated counts of disjoint boxes cut by groups of codes along some axes."""
        values = self._reading(self._shrink).group(boxes, cuts).values
        lost = self._reading(self._lost).group(boxes, cuts)
        shared = [_Shared(law) for law in lost.laws]
        keys = list(zip(lost.law_of_row.tolist(), lost.values.tolist(), strict=True))
        numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
        laws = tuple(_law(shared[law], shift) for law, shift in numbers)
        return Estimates(values, laws, np.array([numbers[key] for key in keys], np.intp))

    def cells(self) -> NDArray[np.float64]:
        """The estimated count of every cell: M*."""
        return self._cells(self._shrink)

    def fresh_cells(self) -> NDArray[np.float64]:
        """The estimated count of every cell, in memory of its own."""
        return self.cells()

    def cell_variances(self, codes: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
        """The estimated square error of each of many cells."""
        return self.range_variances(*cells_as_ranges(codes))

    def range_variances(
        self, starts: NDArray[np.int64], stops: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """The estimated square error of each of many boxes."""
        noise = self._reading(None).range_variances(starts, stops)
        if len(starts) >= WORTH_A_TABLE or "_shift_sums" in self.__dict__:
            shifts = box_sums(self._shift_sums, starts, stops)
        else:
            lost = self._reading(self._lost)
            boxes = range_boxes(starts, stops)
            shifts = np.array([lost.count((box,))[0] for box in boxes], np.float64)
        return np.asarray(noise + shifts**2)

    @cached_property
    def _shift_sums(self) -> NDArray[np.float64]:
        """The table of sums of what shrinking takes off every cell."""
        return np.asarray(accumulate(self._cells(self._lost)), np.float64)

    def _cells(self, refine: Refine) -> NDArray[np.float64]:
        """The cells of all coefficients, refined piece by piece."""
        block = np.array(self.read(), np.float64)
        every = [np.arange(size) for size in block.shape]
        for cut in _pieces(block.shape):
            block[cut] = refine(block[cut], [p[c] for p, c in zip(every, cut, strict=True)])
        return self._transform_reading.inverse(block)


def _pieces(shape: tuple[int, ...]) -> Iterator[tuple[slice, ...]]:
    """Cut a block along its first axes, so that pieces are small."""
    room, steps = _PIECE, []
    for size in reversed(shape):
        steps.append(min(size, max(room, 1)))
        room //= size
    starts = (range(0, size, step) for size, step in zip(shape, reversed(steps), strict=True))
    for corner in itertools.product(*starts):
        yield tuple(slice(c, c + step) for c, step in zip(corner, reversed(steps), strict=True))


def _law(noise: NoiseLaw, shift: float) -> NoiseLaw:
    return ShiftedNoise(noise, shift) if shift else noise
