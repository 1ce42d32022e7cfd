"""Noisy cells as a table of people could be: whole numbers, none negative, of the same total.

This is for readers who cannot use noise: small cells gain what large ones lose, so that sums of
many small cells are biased, and no error bar holds any more.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import OptionError
from hushtable.release.synthesize import nearest_counts

_LARGEST = 2.0**53  # from here on floats do not hold every whole number


def whole_counts(cells: NDArray[Any]) -> NDArray[np.int64]:
    """The nearest non-negative numbers, rounded so that they still sum to the rounded total.

    All are rounded down; what is then missing goes to those that lost most, one each.
    """
    total = float(cells.sum(dtype=np.float64))
    if total > _LARGEST:
        raise OptionError("the noisy total is too large to be kept exactly: export plain cells")
    wanted = max(round(total), 0)
    if not wanted:
        return np.zeros(cells.shape, np.int64)
    nearest = nearest_counts(cells.reshape(-1), float(wanted))
    whole = np.floor(nearest).astype(np.int64)
    nearest -= whole
    missing = wanted - int(whole.sum())
    if missing > 0:
        lost_most = np.argpartition(np.negative(nearest, out=nearest), missing - 1)[:missing]
        whole[lost_most] += 1
    elif missing < 0:  # the nearest numbers sum to the total but for rounding
        whole[np.flatnonzero(whole)[:-missing]] -= 1
    return whole.reshape(cells.shape)
