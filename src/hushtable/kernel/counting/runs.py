"""Runs: distinct codes in ascending order, each with a count, in files of their own.

As many runs as there are become one without being held: cut at the same codes, their pieces are
merged one after another.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Integers
from hushtable.spilled import Spilled

_STEP = 2**18
_TOGETHER = 16  # runs that are merged as soon as there are so many of about one length


class Run(NamedTuple):
    """Distinct codes in ascending order, and how often each came."""

    codes: Integers
    counts: Integers


class Runs:
    """Runs that are set aside, and merged by sixteens, so that no code is merged often."""

    def __init__(self) -> None:
        self._levels: list[list[Run]] = []

    def __bool__(self) -> bool:
        return bool(self._levels)

    def add(self, run: Run) -> None:
        """Write a run to a file."""
        for level in self._levels:
            level.append(written([run]))
            if len(level) < _TOGETHER:
                return
            run = written(level)
            level.clear()
        self._levels.append([written([run])])

    def merged_with(self, last: Run) -> Run:
        """All of them and one more as one."""
        return written([*(run for level in self._levels for run in level), last])


def written(runs: Sequence[Run]) -> Run:
    """Some runs as one, in a file."""
    codes, counts = Spilled(0), Spilled(0)
    for pieces in _pieces(runs):
        piece = pieces[0] if len(pieces) == 1 else added_up(pieces)
        codes.add(piece.codes)
        counts.add(piece.counts)
    return Run(codes.array(), counts.array())


def added_up(runs: Sequence[Run]) -> Run:
    """Some runs as one; a stable sort of ascending runs is one pass over each pair of them."""
    codes = np.concatenate([run.codes for run in runs])
    order = np.argsort(codes, kind="stable")
    codes = codes[order]
    first = starts(codes)
    counts = np.concatenate([run.counts for run in runs])[order]
    return Run(codes[first], np.add.reduceat(counts, first) if len(first) else counts)


def starts(codes: NDArray[Any]) -> NDArray[np.intp]:
    """Where a code differs from the one before it."""
    return np.flatnonzero(np.concatenate([[True], codes[1:] != codes[:-1]])[: len(codes)])


def _pieces(runs: Sequence[Run]) -> Iterator[list[Run]]:
    """The runs cut at codes of theirs, so that a piece of them has two steps of each on average."""
    samples = np.sort(np.concatenate([run.codes[::_STEP] for run in runs]))
    borders = np.unique(samples[len(runs) :: len(runs)])
    cuts = [[0, *np.searchsorted(run.codes, borders).tolist(), len(run.codes)] for run in runs]
    for ends in zip(*(pairwise(cut) for cut in cuts), strict=True):
        yield [
            Run(run.codes[first:last], run.counts[first:last])
            for run, (first, last) in zip(runs, ends, strict=True)
        ]
