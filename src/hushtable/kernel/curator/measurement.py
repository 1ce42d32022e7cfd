"""What the curator answers: noisy integers, and how they were made."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.kernel.privacy.noises import DiscreteLaplace


@dataclass(frozen=True)
class Measurement:
    """Integers with independent noise of one law."""

    values: NDArray[np.int64]
    noise: DiscreteLaplace
    epsilon: Fraction
    what: dict[str, Any]

    @property
    def scale(self) -> Fraction:
        """The scale of the noise."""
        return self.noise.scale


@dataclass(frozen=True)
class Selection:
    """The candidate that the exponential mechanism chose."""

    choice: int
    epsilon: Fraction
    what: dict[str, Any]


@dataclass(frozen=True)
class Decisions:
    """Which boxes of a public tree were split, as `SplitBoxes` reads it."""

    values: NDArray[np.int64]
    scale: Fraction
    """Of the noise by which it was decided."""
    step: int
    """By how much counts were lowered at each depth."""
    epsilon: Fraction
