"""Where a uniform of 128 bits lies among thresholds, compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hushtable.compiled import compiled


@compiled
def passed(thresholds: NDArray[np.uint64], row: int, upper: np.uint64, lower: np.uint64) -> bool:
    """Tell whether a threshold is at most the uniform, whose 128 bits are (upper, lower)."""
    if thresholds[row, 0] == upper:
        return bool(thresholds[row, 1] <= lower)
    return bool(thresholds[row, 0] < upper)
