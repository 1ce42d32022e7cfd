"""Answers from a count sketch: every cell of a region is looked up in each row of buckets."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import QueryError
from hushtable.query.batch import range_boxes
from hushtable.query.box import Region
from hushtable.query.cells import Estimates, Groups, cells_by_group
from hushtable.query.cutting import listed_cells
from hushtable.query.law import DiscreteLaplaceSum, EstimatedNoise, NoiseLaw
from hushtable.summaries.sketch import Sketch

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Combination = Literal["mean", "median"]

MOST_CELLS = 2**23
"""Cells that one question may look up."""


@dataclass(frozen=True, eq=False)
class SketchReader:
    """The noisy buckets of a sketch, and how the rows' estimates become one."""

    sketch: Sketch
    read: Callable[[], NDArray[Any]]
    scale: Fraction
    combination: Combination

    @property
    def estimate(self) -> bool:
        return True

    @property
    def note(self) -> str:
        """Where its values and errors come from."""
        return f"{self.combination} of the rows of a count sketch; its error is estimated"

    @cached_property
    def buckets(self) -> NDArray[Any]:
        """The noisy buckets, read and verified when first needed."""
        return self.read()

    @cached_property
    def cell_variance(self) -> float:
        """The estimated variance of one cell: the noise, and what shares its buckets.

        A row's squares add up to those of the counts and of the noise; another cell shares the
        bucket of this one with chance 1/width. The variance of a median is π/2 times that of a mean
        for many rows, and less for few.
        """
        noise = DiscreteLaplaceSum(self.scale, 1).variance
        shared = 0.0
        if self.sketch.collides:
            squares = np.square(self.buckets.astype(np.float64)).mean()
            shared = max(float(squares) - noise, 0.0)
        rows = self.sketch.rows
        factor = 1 / rows if self.combination == "mean" else min(1.0, math.pi / 2 / rows)
        return (noise + shared) * factor

    def law(self, region: Region) -> NoiseLaw:
        """The estimated law of the error in the count of a region."""
        return EstimatedNoise(sum(box.cells for box in region) * self.cell_variance)

    def count(self, region: Region) -> tuple[float, NoiseLaw]:
        """The estimated count of a region, and the law of its error."""
        return self.group(region, ()).values[0].item(), self.law(region)

    def group(self, region: Region, groups: Groups) -> Estimates:
        """The estimated counts of a region cut by groups of codes along some axes."""
        self._check(sum(box.cells for box in region))
        places = cells_by_group(region, groups)
        sums = np.zeros((self.sketch.rows, len(places)))
        for box in region:
            if box.cells:
                owner, codes = listed_cells(box, groups, self.sketch.shape)
                for row in range(self.sketch.rows):
                    found = self._looked_up(row, codes)
                    sums[row] += np.bincount(owner, found, minlength=len(places))
        distinct, which = np.unique(places, return_inverse=True)
        laws = tuple(EstimatedNoise(int(number) * self.cell_variance) for number in distinct)
        return Estimates(self._combined(sums), laws, which)

    def _combined(self, rows: Floats) -> Floats:
        combine = np.mean if self.combination == "mean" else np.median
        return np.asarray(combine(rows, axis=0), np.float64)

    def _looked_up(self, row: int, codes: Integers) -> Floats:
        where, signs = self.sketch.hashed(row, codes)
        return np.asarray(signs * self.buckets[row][where].astype(np.float64))

    def _check(self, cells: int) -> None:
        if cells > MOST_CELLS:
            raise QueryError(
                f"a sketch looks up every cell, and these are {cells:,}: ask for at most"
                f" {MOST_CELLS:,} at once"
            )

    def cells(self) -> Floats:
        """The estimate of every cell."""
        self._check(self.sketch.cells)
        codes = np.arange(self.sketch.cells)
        rows = np.stack([self._looked_up(row, codes) for row in range(self.sketch.rows)])
        return self._combined(rows).reshape(self.sketch.shape)

    def fresh_cells(self) -> Floats:
        """The estimate of every cell, in memory of its own."""
        return self.cells()

    def cell_variances(self, codes: Sequence[NDArray[Any]]) -> Floats:
        """The estimated variance of each of many cells: all have the same."""
        return np.full(len(codes[0]), self.cell_variance)

    def range_variances(self, starts: Integers, stops: Integers) -> Floats:
        """The estimated variance of each of many boxes: so many cells' worth."""
        cells = np.prod((stops - starts).astype(np.float64), axis=1)
        return np.asarray(cells * self.cell_variance)

    def ranges(self, starts: Integers, stops: Integers) -> tuple[Floats, Floats]:
        """The counts of many boxes, and their variances."""
        values = np.array([self.count((box,))[0] for box in range_boxes(starts, stops)])
        return values, self.range_variances(starts, stops)
