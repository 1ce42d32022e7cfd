"""What the tests of the curator build it from."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.kernel.counting import CodedColumns, Counts
from hushtable.kernel.curator import Curator
from hushtable.kernel.privacy.account import Account
from hushtable.kernel.privacy.loss import Exposure, Neighbours

SHAPE = (2, 3)


class ListedNoise:
    """Adds 1 to everything, chooses the last candidate, and lists what it was asked for."""

    private = False

    def __init__(self, eta: Fraction = Fraction(0)) -> None:
        self.eta = eta
        self.asked: list[Any] = []

    def add_laplace(self, values: NDArray[np.int64], scale: Fraction) -> Fraction:
        self.asked.append((values.copy(), scale))
        values += 1
        return self.eta

    def exceeding(
        self, values: NDArray[np.int64], threshold: int, scale: Fraction
    ) -> tuple[NDArray[np.bool_], Fraction]:
        self.asked.append((values.copy(), threshold, scale))
        return values > threshold, self.eta

    def choose(self, exponents: Sequence[Fraction]) -> tuple[int, Fraction]:
        self.asked.append(list(exponents))
        return len(exponents) - 1, self.eta


class BrokenNoise(ListedNoise):
    """Fails instead of drawing."""

    def add_laplace(self, values: NDArray[np.int64], scale: Fraction) -> Fraction:
        raise OSError("no entropy")

    def exceeding(
        self, values: NDArray[np.int64], threshold: int, scale: Fraction
    ) -> tuple[NDArray[np.bool_], Fraction]:
        raise OSError("no entropy")

    def choose(self, exponents: Sequence[Fraction]) -> tuple[int, Fraction]:
        raise OSError("no entropy")


def counts_of(dense: Any) -> Counts:
    dense = np.asarray(dense, np.int64)
    codes = np.flatnonzero(dense)[::-1]  # the order of the cells means nothing
    return Counts(dense.shape, codes, dense.ravel()[codes])


def columns_of(dense: Any) -> CodedColumns:
    dense = np.asarray(dense, np.int64)
    codes = np.repeat(np.arange(math.prod(dense.shape)), dense.ravel())
    columns = np.unravel_index(np.random.default_rng(1).permutation(codes), dense.shape)
    return CodedColumns(dense.shape, tuple(column.astype(np.uint8) for column in columns))


DENSE = np.array([[4, 0, 1], [0, 2, 7]])


def curator(
    *,
    epsilon: str = "1",
    neighbours: Neighbours = "add-remove",
    max_rows: int = 1,
    noise: Any = None,
    data: Any = None,
) -> Curator:
    return Curator(
        counts_of(DENSE) if data is None else data,
        exposure=Exposure(neighbours, max_rows),
        account=Account(Fraction(epsilon)),
        noise=ListedNoise() if noise is None else noise,
    )
