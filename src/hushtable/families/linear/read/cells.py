"""Answers from a dense matrix of noisy cells: sums over boxes, and the law of their noise.

Every cell has independent discrete Laplace noise of one scale, so the noise of a sum of k cells is
the sum of k of them, whatever the cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats, Integers
from hushtable.errors import QueryError
from hushtable.kernel.privacy.noises import KnownNoise
from hushtable.query.box import Boxes, cells
from hushtable.query.cutting import Cuts, cells_by_group, kinds_by_codes
from hushtable.query.law import NoiseLaw, NoiseSum
from hushtable.query.reader import Estimates, ReadBox
from hushtable.query.sums import hull, piece_sums, pieces
from hushtable.query.weighing import (
    LawOfFactors,
    Weighing,
    class_counts,
    class_weights,
    code_classes,
    factors_of,
    weighed_value,
)

NOTE = "sum of noisy cells"


@dataclass(frozen=True)
class NoisyCells:
    """A matrix of noisy counts, all with the same noise."""

    read: ReadBox
    noise: KnownNoise

    note = NOTE
    estimate = False
    adds_up = True

    def law(self, boxes: Boxes) -> NoiseLaw:
        """The law of the noise in the count of disjoint boxes."""
        return NoiseSum.of(self.noise, cells(boxes))

    def count(self, boxes: Boxes) -> tuple[int, NoiseLaw]:
        """The noisy count of disjoint boxes, and the law of its noise."""
        return int(self._sums(boxes, ())), self.law(boxes)

    def weigh(self, weighing: Weighing) -> tuple[float, NoiseLaw]:
        """The answer to a linear question, and the law of its noise."""
        return weighed_value(self, weighing), self.weighed_law(weighing)

    def weighed_law(self, weighing: Weighing) -> NoiseLaw:
        """The law of the noise in the answer to a linear question."""
        return self.weighed_laws(weighing)(factors_of(weighing))

    def weighed_laws(self, weighing: Weighing) -> LawOfFactors:
        """The laws of a linear question for any factors of its boxes."""
        if not weighing:
            return lambda _: NoiseSum(())
        along, counts = zip(
            *(code_classes(weighing, axis) for axis in range(len(weighing[0].box.sets))),
            strict=True,
        )
        cells = class_counts(counts).reshape(-1)
        alike = np.zeros(len(cells), np.intp)

        def law(factors: Floats) -> NoiseLaw:
            weights = class_weights(factors, along).reshape(-1)
            return NoiseSum.merged(weights, cells, alike, [self.noise])

        return law

    def group(self, boxes: Boxes, cuts: Cuts) -> Estimates:
        """The noisy count of disjoint boxes cut by groups of codes along some axes.

        Rows run through the groups with the last axis fastest.
        """
        values = self._sums(boxes, cuts)
        distinct, law_of_row = np.unique(cells_by_group(boxes, cuts), return_inverse=True)
        laws = tuple(NoiseSum.of(self.noise, int(count)) for count in distinct)
        return Estimates(values.reshape(-1), laws, law_of_row)

    def kinds(self, boxes: Boxes, cuts: Cuts) -> list[Integers]:
        """Which groups along each axis have as many codes in each of the boxes."""
        return [kinds_by_codes([box.sets[axis] for box in boxes], ends) for axis, ends in cuts]

    def cells(self) -> NDArray[Any]:
        """The noisy count of every cell."""
        return self.read()

    def cell_variances(self, codes: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
        """The noise variance of each of many cells: all have the same."""
        return np.full(len(codes[0]), self.noise.variance)

    def fresh_cells(self) -> NDArray[np.int64]:
        """The noisy count of every cell, in memory of its own."""
        return np.array(self.read(), np.int64)

    def range_variances(
        self, starts: NDArray[np.int64], stops: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """The noise variance of each of many boxes: so many cells' worth."""
        sizes = np.prod((stops - starts).astype(np.float64), axis=1)
        return np.asarray(sizes * self.noise.variance)

    def _sums(self, boxes: Boxes, cuts: Cuts) -> NDArray[np.int64]:
        """The sums over disjoint boxes by group, in the order of `cuts`."""
        sums = np.zeros([len(ranges) for _, ranges in cuts], np.int64)
        bound = 0
        for box in boxes:
            for piece in pieces(box):
                matrix = self.read(*hull(piece))
                bound += piece.cells * (np.iinfo(matrix.dtype).max + 1)
                sums += piece_sums(matrix, piece, cuts)
        if bound > np.iinfo(np.int64).max:
            self._refuse_overflow(boxes, cuts)
        return sums

    def _refuse_overflow(self, boxes: Boxes, cuts: Cuts) -> None:
        """Refuse sums that wrap around 64 bits: no honest noise is so large."""
        rough = np.zeros([len(ranges) for _, ranges in cuts], np.float64)
        for box in boxes:
            for piece in pieces(box):
                rough += piece_sums(self.read(*hull(piece)), piece, cuts, np.float64)
        if np.any(np.abs(rough) > 2.0**62):
            raise QueryError("the release's noisy counts are too large to add up")
