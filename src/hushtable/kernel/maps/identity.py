"""The identity transform: the counts themselves."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.kernel.maps.axis import (
    Floats,
    Integers,
    Row,
    ScaleClass,
    check_intervals,
    check_size,
)


@dataclass(frozen=True)
class Identity:
    """Leave the counts along an axis as they are: a row is one count, so it changes one by one."""

    size: int

    kind = "identity"
    levels = 1
    in_place = True

    def __post_init__(self) -> None:
        check_size(self.size)

    @property
    def coefficients(self) -> int:
        return self.size

    @property
    def overlap(self) -> Fraction:
        """Rows of different codes share nothing; with a single code they share their one count."""
        return Fraction(self.size == 1)

    @property
    def agreement(self) -> Fraction:
        return self.overlap

    @property
    def classes(self) -> tuple[ScaleClass, ...]:
        return (ScaleClass(0, self.size, Fraction(1)),)

    def matrix(self) -> Integers:
        return np.eye(self.size, dtype=np.int64)

    def forward(self, counts: Integers, axis: int) -> Integers:
        return counts

    def forward_lines(self, source: Integers, target: Integers, first: int, last: int) -> None:
        pass

    def inverse(self, values: NDArray[Any], axis: int) -> Floats:
        return np.asarray(values, dtype=np.float64)

    def inverse_lines(self, source: NDArray[Any], target: Floats, first: int, last: int) -> None:
        pass

    def row(self, start: int, stop: int) -> Row:
        """Every code of the interval counts once."""
        check_intervals([start], [stop], self.size)
        return Row(np.arange(start, stop), np.ones(stop - start))

    def rows(self, queries: NDArray[Any]) -> Floats:
        return np.array(queries, dtype=np.float64)

    def gains(self, starts: Any, stops: Any) -> Floats:
        low, high = check_intervals(starts, stops, self.size)
        return (high - low).astype(np.float64).reshape(-1, 1)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "size": self.size}
