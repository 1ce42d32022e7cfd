"""How often each code occurs in a stream of them: sorted in memory, some millions at a time.

Sorting integers and looking where they change is several times as fast as the engine's grouping,
which hashes every row. What was counted before is merged with as many rows as it has codes, so that
long streams take no more than their distinct codes need, and no code is merged often.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Integers

_AT_ONCE = 2**25


class Tally:
    """Takes codes piece by piece; in the end, tells the distinct ones and how often each came."""

    def __init__(self, at_once: int = _AT_ONCE) -> None:
        self._at_once = at_once
        self._waiting: list[NDArray[Any]] = []
        self._people: list[Integers] = []
        self._rows = 0
        self._codes: Integers = np.zeros(0, np.int64)
        self._counts: Integers = np.zeros(0, np.int64)

    def add(self, codes: NDArray[Any], people: Integers | None = None) -> None:
        """Take some more codes, of one person each or of several.

        Nothing else may change the codes from now on. All pieces say of how many people, or none.
        """
        self._waiting.append(codes)
        self._people += [] if people is None else [people]
        self._rows += len(codes)
        if self._rows >= max(self._at_once, len(self._codes)):
            self._merge()

    def result(self) -> tuple[Integers, Integers]:
        """The distinct codes in ascending order, and how often each came."""
        self._merge()
        return self._codes, self._counts

    def _merge(self) -> None:
        if not self._rows:
            return
        rows = np.concatenate(self._waiting)
        codes, counts = _sums(rows, self._people) if self._people else _run_lengths(rows)
        self._waiting, self._people, self._rows = [], [], 0
        if len(self._codes):
            codes, counts = _merged(self._codes, self._counts, codes, counts)
        self._codes, self._counts = codes, counts


def _run_lengths(codes: NDArray[Any]) -> tuple[Integers, Integers]:
    codes.sort()
    starts = _starts(codes)
    return codes[starts].astype(np.int64), np.diff(starts, append=len(codes))


def _sums(codes: NDArray[Any], people: list[Integers]) -> tuple[Integers, Integers]:
    order = np.argsort(codes, kind="stable")
    codes = codes[order]
    starts = _starts(codes)
    return codes[starts].astype(np.int64), np.add.reduceat(np.concatenate(people)[order], starts)


def _merged(
    codes: Integers, counts: Integers, more: Integers, more_counts: Integers
) -> tuple[Integers, Integers]:
    """Two tallies as one; a stable sort of two ascending runs is one pass over them."""
    both = np.concatenate([codes, more])
    order = np.argsort(both, kind="stable")
    both = both[order]
    starts = _starts(both)
    return both[starts], np.add.reduceat(np.concatenate([counts, more_counts])[order], starts)


def _starts(codes: NDArray[Any]) -> NDArray[np.intp]:
    """Where a code differs from the one before it."""
    return np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]]))
