"""How often each code occurs in a stream of them: sorted in memory, some millions at a time.

Sorting integers and looking where they change is several times as fast as the engine's grouping,
which hashes every row. What was counted before is merged with as many rows as it has codes, so that
long streams take no more than their distinct codes need, and no code is merged often. More distinct
codes than memory should hold are set aside in files (`runs`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Integers
from hushtable.kernel.counting.runs import Run, Runs, added_up, starts

_AT_ONCE = 2**24
_MOST = 2**25  # distinct codes in memory


class Tally:
    """Takes codes piece by piece; in the end, tells the distinct ones and how often each came."""

    def __init__(self, at_once: int = _AT_ONCE, most: int = _MOST) -> None:
        self._at_once, self._most = at_once, most
        self._waiting: list[NDArray[Any]] = []
        self._people: list[Integers] = []
        self._rows = 0
        self._run = Run(np.zeros(0, np.int64), np.zeros(0, np.int64))
        self._aside = Runs()

    def add(self, codes: NDArray[Any], people: Integers | None = None) -> None:
        """Take some more codes, of one person each or of several.

        Nothing else may change the codes from now on. All pieces say of how many people, or none.
        """
        self._waiting.append(codes)
        self._people += [] if people is None else [people]
        self._rows += len(codes)
        if self._rows >= max(self._at_once, len(self._run.codes)):
            self._merge()

    def result(self) -> tuple[Integers, Integers]:
        """The distinct codes in ascending order, and how often each came."""
        self._merge()
        return self._aside.merged_with(self._run) if self._aside else self._run

    def _merge(self) -> None:
        if not self._rows:
            return
        rows = np.concatenate(self._waiting)
        self._waiting, self._rows = [], 0
        run = _sums(rows, self._people) if self._people else _run_lengths(rows)
        self._people = []
        del rows
        if len(self._run.codes) + len(run.codes) <= self._most:
            run = added_up([self._run, run])
        elif len(self._run.codes):
            self._aside.add(self._run)
        self._run = run


def _run_lengths(codes: NDArray[Any]) -> Run:
    codes.sort()
    first = starts(codes)
    return Run(codes[first].astype(np.int64), np.diff(first, append=len(codes)))


def _sums(codes: NDArray[Any], people: list[Integers]) -> Run:
    order = np.argsort(codes, kind="stable")
    codes = codes[order]
    first = starts(codes)
    counts = np.add.reduceat(np.concatenate(people)[order], first)
    return Run(codes[first].astype(np.int64), counts)
