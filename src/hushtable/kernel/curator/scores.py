"""Scores that the exponential mechanism may choose by, each beside what one row changes in it.

Scores are whole numbers, so that probabilities ∝ exp(ε·score / 2Δ) have rational exponents and
the choice is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hushtable.kernel.curator.partition import Partition


class Score(Protocol):
    """A score of each candidate, and by how much one row can change any of them."""

    @property
    def partition(self) -> Partition:
        """The parts whose counts the scores are computed from."""

    @property
    def entering(self) -> int:
        """The largest change of a score when a row appears or disappears."""

    @property
    def moving(self) -> int:
        """The largest change of a score when a row becomes another."""

    def scores(self, counts: NDArray[np.int64]) -> list[int]:
        """The score of each candidate, from the true counts of the parts."""

    def to_dict(self) -> dict[str, Any]:
        """How a record describes it."""


@dataclass(frozen=True, slots=True)
class LargestPart:
    """Each part scores its count: a row that appears or moves changes any one count by one."""

    partition: Partition

    @property
    def entering(self) -> int:
        return 1

    @property
    def moving(self) -> int:
        return 1

    def scores(self, counts: NDArray[np.int64]) -> list[int]:
        return [int(count) for count in counts]

    def to_dict(self) -> dict[str, Any]:
        return {"score": "largest-part", "parts": self.partition.parts}
