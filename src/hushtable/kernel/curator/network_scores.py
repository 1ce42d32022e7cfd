"""Candidates: a child and its parents, each at a level, as a Bayesian network knows them.

The scores say how much a child depends on its parents. Each measure stands beside what one row can
change in it, in counts and not in probabilities: the number of rows is secret under add-remove, so
no bound may rest on it.

Scores are whole multiples of 1/UNIT, so that a choice by them is exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import OptionError
from hushtable.kernel.curator.partition import MOST_CELLS, View, check_views

UNIT = 1024
"""Scores are counted in parts of a row: so many to the row."""

MOST_ROWS = 2**31

JointCounts = NDArray[np.int64]
"""Counts of parents × child."""


class Measure(Protocol):
    """How much a child depends on its parents, and what one row can change in that."""

    @property
    def name(self) -> str: ...

    @property
    def entering(self) -> int:
        """The largest change, in units, when a row appears or disappears."""

    @property
    def moving(self) -> int:
        """The largest change, in units, when a row becomes another."""

    def of(self, table: JointCounts) -> int:
        """The score of a table, in units."""


@dataclass(frozen=True, slots=True)
class Distance:
    """n·R: half the distance, in rows, between the table and the one of independence.

    R = ½ Σ |c − a·b/n| over cells, with a and b the sums of rows and columns.

    A row that enters changes one c by 1, and a·b/n by (n·a[y] + n·b[x] + n[x, y] − a·b) / n(n+1),
    whose absolute values sum to at most (3n+1)/(n+1): together ½(4n+2)/(n+1) < 2. A row that moves
    changes two c by 1; with A and B the sums without it, a·b/n changes by (A[y] − A[y'] + B[x] −
    B[x'] + [x, y] − [x', y'])/n, at most (4n−2)/n: together ½(6n−2)/n < 3. Both are strict and
    scores are rounded down, so that in whole units the bounds hold as they stand.
    """

    name: str = "R"

    @property
    def entering(self) -> int:
        return 2 * UNIT

    @property
    def moving(self) -> int:
        return 3 * UNIT

    def of(self, table: JointCounts) -> int:
        rows = int(table.sum())
        if not rows:
            return 0
        if rows >= MOST_ROWS:  # else n·c and a·b are below 2⁶²
            table = table.astype(object)
        by_parents, by_child = table.sum(axis=1), table.sum(axis=0)
        apart = np.abs(rows * table - by_parents[:, None] * by_child)
        total = sum(map(int, apart.sum(axis=1)))
        return UNIT * total // (2 * rows)


@dataclass(frozen=True, slots=True)
class Information:
    """n·I: the mutual information of child and parents in nats, times the number of rows.

    What a row changes grows with the number of rows, so at most `limit` of them are looked at: the
    table is cut where its cells, in their order, add up to so many. A row that enters then enters
    the cut table, or moves another row of it, or does neither. For tables of at most N rows

        entering:                 N ln N − (N−1) ln(N−1)
        moving, one side binary:  the same
        moving, else:             2 ln((N+1)/2) + (N−1) ln((N+1)/(N−1))

    Three units more cover the rounding: sums of 2²⁴ terms c ln c, c ≤ 2³¹, are right to a unit.
    """

    limit: int
    binary: bool
    """Whether every candidate has two children or two combinations of parents."""
    name: str = "I"

    def __post_init__(self) -> None:
        if not isinstance(self.limit, int) or not 2 <= self.limit < MOST_ROWS:
            raise OptionError(f"mutual information looks at 2 to {MOST_ROWS - 1:,} rows")

    @property
    def entering(self) -> int:
        return self.moving  # the cut makes of some arrivals a move

    @property
    def moving(self) -> int:
        n = self.limit
        one = n * math.log(n) - (n - 1) * math.log(n - 1)
        both = 2 * math.log((n + 1) / 2) + (n - 1) * math.log((n + 1) / (n - 1))
        return math.ceil(UNIT * (one if self.binary else both)) + 3

    def of(self, table: JointCounts) -> int:
        table = _cut(table, self.limit)
        rows = int(table.sum())
        if not rows:
            return 0
        within, parents, child = (_sum_of_logs(c) for c in (table, table.sum(1), table.sum(0)))
        return math.floor(UNIT * (rows * math.log(rows) + within - parents - child))


@dataclass(frozen=True, slots=True)
class Assignment:
    """n·F, for a child of two values: how near the table is to one where parents decide the child.

    F = −min over assignments of a value to each combination of parents, of (½ − K₀)₊ + (½ − K₁)₊,
    K_v the share of rows that have value v and were assigned it. In doubled counts, with k_v rows,
    (n − 2k₀)₊ + (n − 2k₁)₊: a row that enters changes n by one and at most one k by one, so each
    term by at most one; a row that moves lowers at most one k and raises at most one, so the sum
    changes by at most two, for every assignment and so for the best. Halved: one row, both times.

    It takes memory for every row, of which a table of counts may name any number: as above, at most
    `limit` of them are looked at, and a row that enters or moves is again one that does, or none.
    """

    limit: int = 2**24
    name: str = "F"

    @property
    def entering(self) -> int:
        return UNIT

    @property
    def moving(self) -> int:
        return UNIT

    def of(self, table: JointCounts) -> int:
        table = _cut(table, self.limit)
        rows = int(table.sum())
        # best[k]: the largest k₁ among assignments with k₀ = k, beyond half of the rows pooled.
        half = rows // 2 + 1
        best = np.full(half + 1, -1, np.int64)
        best[0] = 0
        for zeros, ones in table.tolist():
            taken = np.full_like(best, -1)
            reached = min(zeros, half)
            taken[reached:] = best[: len(best) - reached]
            taken[half] = max(taken[half], int(best[max(half - zeros, 0) :].max()))
            best = np.maximum(taken, np.where(best >= 0, best + ones, -1))
        k0, k1 = np.arange(half + 1)[best >= 0], best[best >= 0]
        short = np.maximum(rows - 2 * k0, 0) + np.maximum(rows - 2 * k1, 0)
        return -(UNIT // 2) * int(short.min())


def _cut(table: JointCounts, limit: int) -> JointCounts:
    """As many rows of a table as that, those of its first cells."""
    return np.diff(np.minimum(np.cumsum(table), limit), prepend=0).reshape(table.shape)


MEASURES: tuple[type, ...] = (Distance, Information, Assignment)


class Candidate(NamedTuple):
    """A child and its parents, as places in a list of views."""

    child: int
    parents: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class CandidateScores:
    """Candidates, scored by one measure, each less a handicap that is public.

    A handicap is a number of units that does not depend on the data, so it changes no sensitivity.
    """

    shape: tuple[int, ...]
    views: Sequence[View]
    candidates: Sequence[Candidate]
    measure: Measure
    handicaps: Sequence[int] = ()

    def __post_init__(self) -> None:
        if type(self.measure) not in MEASURES:
            raise OptionError("the curator only knows the measures of `network_scores`")
        own = {
            "shape": tuple(self.shape),
            "views": tuple(self.views),
            "candidates": tuple(
                Candidate(child, tuple(parents)) for child, parents in self.candidates
            ),
            "handicaps": tuple(map(int, self.handicaps or [0] * len(self.candidates))),
        }
        for name, value in own.items():  # lists could change afterwards
            object.__setattr__(self, name, value)
        check_views(self.shape, self.views)
        self._check()

    def _check(self) -> None:
        if not self.candidates or len(self.handicaps) != len(self.candidates):
            raise OptionError("a choice needs candidates, and a handicap for each if any")
        sizes = [view.size for view in self.views]
        axes = [view.axis for view in self.views]
        for child, parents in self.candidates:
            combinations, seen = 1, {axes[child]}
            for place in parents:
                combinations *= sizes[place]
                seen.add(axes[place])
            if len(seen) <= len(parents):
                raise OptionError("a candidate has each attribute once")
            if combinations * sizes[child] > MOST_CELLS:
                raise OptionError(f"a candidate has at most {MOST_CELLS:,} cells")
            self._check_binary(sizes[child], combinations)

    def _check_binary(self, child: int, combinations: int) -> None:
        if isinstance(self.measure, Assignment) and child != 2:
            raise OptionError("F is a score for children of two values")
        promised = isinstance(self.measure, Information) and self.measure.binary
        if promised and min(child, combinations) > 2:
            raise OptionError("this candidate is not binary, and I was promised that all are")

    @property
    def entering(self) -> int:
        return self.measure.entering

    @property
    def moving(self) -> int:
        return self.measure.moving

    def to_dict(self) -> dict[str, Any]:
        return {"score": self.measure.name, "candidates": len(self.candidates)}


def _sum_of_logs(counts: NDArray[np.int64]) -> float:
    """Σ c ln c over the counts above zero."""
    positive = counts[counts > 1].astype(np.float64)  # 1 ln 1 is 0
    return float(np.sum(positive * np.log(positive)))
