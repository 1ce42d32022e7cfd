"""The slow, obvious version: every cell of the domain, and generalised least squares over them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hushtable.families.marginals.least_squares import Measured
from hushtable.kernel.maps import AxisTransform
from hushtable.query.box import Box
from hushtable.schema import Schema


def schema_of(sizes: Sequence[int]) -> Schema:
    """Attributes a, b, c, … of integers from 0."""
    attributes = [
        {"name": chr(97 + i), "kind": "ordinal", "range": [0, size - 1]}
        for i, size in enumerate(sizes)
    ]
    return Schema.from_dict({"name": "t", "budget": "9", "attribute": attributes})


@dataclass(frozen=True, eq=False)
class DenseTables:
    """Noisy tables as the rows of one large matrix of questions about the cells."""

    transforms: Sequence[AxisTransform]
    tables: Sequence[Measured]

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(transform.size for transform in self.transforms)

    @cached_property
    def questions(self) -> NDArray[np.float64]:
        return np.concatenate([self._questions(table) for table in self.tables])

    def _questions(self, table: Measured) -> NDArray[np.float64]:
        """A row for each coefficient of a table; an axis that it lacks is summed up."""
        rows = np.ones((1, 1))
        for axis, transform in enumerate(self.transforms):
            along = transform.matrix() if axis in table.axes else np.ones((1, transform.size))
            rows = np.kron(rows, along)
        return rows

    @cached_property
    def precision(self) -> NDArray[np.float64]:
        """1/variance of each noisy coefficient."""
        sizes = [len(self._questions(table)) for table in self.tables]
        return np.repeat([1 / table.noise.variance for table in self.tables], sizes)

    @cached_property
    def covariance(self) -> NDArray[np.float64]:
        # What tables tell nothing about is a null space, which rounding must not invert.
        told = self.questions.T @ (self.precision[:, None] * self.questions)
        return np.linalg.pinv(told, rcond=1e-10, hermitian=True)

    def variances(self, questions: NDArray[np.float64]) -> NDArray[np.float64]:
        """The variance of the best answer to each question about the cells, a row each."""
        flat = questions.reshape(len(questions), -1)
        return np.asarray(((flat @ self.covariance) * flat).sum(axis=1))

    def weights(self, region: Sequence[Box]) -> NDArray[np.float64]:
        """The weights of all noisy cells in the best unbiased answer."""
        asked = np.zeros(self.shape)
        for box in region:
            codes = [
                [code for code in range(size) if code in held]
                for held, size in zip(box.sets, self.shape, strict=True)
            ]
            asked[np.ix_(*codes)] = 1
        return self.weights_of(asked)

    def weights_of(self, asked: NDArray[np.float64]) -> NDArray[np.float64]:
        """The same for a linear question: what each cell counts."""
        return self.precision * (self.questions @ (self.covariance @ asked.reshape(-1)))

    def weights_by_table(self, region: Sequence[Box]) -> list[NDArray[np.float64]]:
        """The same weights, table by table."""
        ends = np.cumsum([len(self._questions(table)) for table in self.tables])
        return np.split(self.weights(region), ends[:-1])

    def count(self, region: Sequence[Box]) -> tuple[float, float]:
        """The answer, and its variance."""
        noisy = np.concatenate([table.read().reshape(-1) for table in self.tables])
        weights = self.weights(region)
        return float(weights @ noisy), float(weights**2 @ (1 / self.precision))
