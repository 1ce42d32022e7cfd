"""The identity transform: the counts themselves."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from hushtable.arrays import Integers
from hushtable.kernel.maps.axis import ScaleClass, check_size
from hushtable.kernel.maps.squared import Pair


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
    def pairs(self) -> tuple[Pair, ...]:
        return (Pair(Fraction(1), Fraction(1), self.overlap),)

    @property
    def classes(self) -> tuple[ScaleClass, ...]:
        return (ScaleClass(0, self.size, Fraction(1)),)

    def matrix(self) -> Integers:
        return np.eye(self.size, dtype=np.int64)

    def forward(self, counts: Integers, axis: int) -> Integers:
        return counts

    def forward_lines(self, source: Integers, target: Integers, first: int, last: int) -> None:
        pass

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "size": self.size}
