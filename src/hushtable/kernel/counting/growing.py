"""Columns that grow batch by batch, in one copy.

Batches that are kept until the last one has come, and then put together, take their memory twice. A
large array grows in its place instead: the system moves its pages, and copies none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_ROOM = 8  # an eighth more than is needed, so that columns seldom grow


class GrowingColumns:
    """Columns of some types; takes a piece of each with every batch."""

    def __init__(self, kinds: Sequence[str]) -> None:
        self._columns: list[NDArray[Any]] = [np.empty(0, kind) for kind in kinds]
        self._rows = 0

    def add(self, batch: Sequence[NDArray[Any]]) -> None:
        """Take some rows more."""
        rows = self._rows + len(batch[0])
        for column, more in zip(self._columns, batch, strict=True):
            if len(column) < rows:
                column.resize(rows + rows // _ROOM, refcheck=False)  # nobody else sees it yet
            column[self._rows : rows] = more
        self._rows = rows

    def arrays(self) -> list[NDArray[Any]]:
        """Each column, as long as there are rows."""
        for column in self._columns:
            column.resize(self._rows, refcheck=False)
        return self._columns
