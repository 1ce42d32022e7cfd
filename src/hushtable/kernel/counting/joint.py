"""Joint counts of a few columns at a time: one pass over the rows for each table.

Columns are recoded once for every view of them (an attribute at some level). The code of a set of
parents is then made once and counted against each child that may have them. Kernels are serial and
hold no lock, so that threads share the work.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.compiled import compiled
from hushtable.kernel.counting.count import CodedColumns

WORTH_THREADS = 20_000
"""Below this many rows a table is counted faster than a thread is started."""


class JointCounter:
    """Counts tables of views of coded columns; a view is an axis and a group for each code."""

    def __init__(self, data: CodedColumns) -> None:
        self._data = data
        self._recoded: dict[Any, NDArray[Any]] = {}
        self._lock = threading.Lock()

    @property
    def rows(self) -> int:
        return len(self._data.columns[0])

    def tables(
        self,
        parents: Sequence[Any],
        children: Sequence[Any],
        found: Callable[[int, NDArray[np.int64]], None],
    ) -> None:
        """Count the parents against each child; tell the child's place and the counts."""
        codes = np.zeros(self.rows, np.int32)
        size = 1
        for view in parents:
            _extend(codes, self._column(view), view.size)
            size *= view.size
        for place, child in enumerate(children):
            counts = np.zeros((size, child.size), np.int64)
            _tally(codes, self._column(child), counts)
            found(place, counts)

    def _column(self, view: Any) -> NDArray[Any]:
        """The group of every row, recoded once."""
        with self._lock:
            if view.key not in self._recoded:
                narrow = np.uint16 if view.size <= 2**16 else np.int32
                self._recoded[view.key] = view.groups.astype(narrow)[self._data.columns[view.axis]]
            return self._recoded[view.key]


@compiled
def _extend(codes: NDArray[np.int32], column: NDArray[Any], size: int) -> None:
    for i in range(len(codes)):
        codes[i] = codes[i] * size + column[i]


@compiled
def _tally(codes: NDArray[np.int32], column: NDArray[Any], counts: NDArray[np.int64]) -> None:
    for i in range(len(codes)):
        counts[codes[i], column[i]] += 1
