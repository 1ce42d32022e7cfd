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

# Rows whose cells are worked out at once: they stay in a core's cache.
_ROWS = 2**16

WORTH_THREADS = 20_000
"""Below this many rows a table is counted faster than a thread is started."""


class JointCounter:
    """Counts tables of views of coded columns; a view is an axis and a group for each code."""

    def __init__(self, data: CodedColumns) -> None:
        self._data = data
        self._people = data.people_of_rows()
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
            _tally(codes, self._column(child), self._people, counts)
            found(place, counts)

    def _column(self, view: Any) -> NDArray[Any]:
        """The group of every row, recoded once."""
        with self._lock:
            if view.key not in self._recoded:
                narrow = np.uint16 if view.size <= 2**16 else np.int32
                self._recoded[view.key] = view.groups.astype(narrow)[self._data.columns[view.axis]]
            return self._recoded[view.key]


def count_rows(data: CodedColumns, counts: NDArray[np.int64]) -> None:
    """Add each row to the cell that its codes name, in an array with an axis for each column."""
    columns, people = data.columns, data.people_of_rows()
    for column, size in zip(columns, counts.shape, strict=True):
        if len(column) and int(column.max()) >= size:  # compiled code writes wherever it is told
            raise ValueError("a code is beyond its axis")
    flat = counts.reshape(-1)
    places = np.cumprod([1, *counts.shape[:0:-1]], dtype=np.int64)[::-1]
    for first in range(0, len(columns[0]), _ROWS):
        codes = np.zeros(len(columns[0][first : first + _ROWS]), np.int64)
        for column, place in zip(columns, places, strict=True):
            _add_codes(codes, column[first : first + _ROWS], place)
        _count(codes, people[first : first + _ROWS], flat)


@compiled
def _add_codes(codes: NDArray[np.int64], column: NDArray[Any], place: int) -> None:
    for i in range(len(codes)):
        codes[i] += np.int64(column[i]) * place


@compiled
def _count(codes: NDArray[np.int64], people: NDArray[np.int64], flat: NDArray[np.int64]) -> None:
    for i in range(len(codes)):
        flat[codes[i]] += people[i]


@compiled
def _extend(codes: NDArray[np.int32], column: NDArray[Any], size: int) -> None:
    for i in range(len(codes)):
        codes[i] = codes[i] * size + column[i]


@compiled
def _tally(
    codes: NDArray[np.int32],
    column: NDArray[Any],
    people: NDArray[np.int64],
    counts: NDArray[np.int64],
) -> None:
    for i in range(len(codes)):
        counts[codes[i], column[i]] += people[i]
