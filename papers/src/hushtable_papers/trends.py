"""Whether measurements fall, rise or differ: for verdicts that noise does not decide.

The same repetitions are measured at every value of a parameter and for every method, so differences
are taken repetition by repetition. A difference is clear if it is beyond three of its standard
errors, and visible: at least 2 % of what it is a difference from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from hushtable.arrays import Floats
from hushtable_papers.figure import Statement

Trend = Literal["falls", "rises", "falls, then rises", "no clear trend"]

ERRORS = 3.0
VISIBLE = 0.02
FEWEST = 3
"""Fewer repetitions than this have no standard error worth the name."""
TOO_FEW = f"fewer than {FEWEST} repetitions"


def runs(results: pa.Table, measure: str, **where: Any) -> Floats:
    """A measure by repetition, in the rows that have the given values."""
    kept = [
        (row["repetition"], row[measure])
        for row in results.to_pylist()
        if all(row.get(name) == value for name, value in where.items())
    ]
    return np.array([value for _, value in sorted(kept)], np.float64)


def values_of(results: pa.Table, column: str) -> list[Any]:
    """The values that a column has, in order; none if there is no such column."""
    if column not in results.column_names:
        return []
    return sorted({value for value in results[column].to_pylist() if value is not None})


def below(lower: Floats, upper: Floats) -> bool:
    """Whether the first of two measures is clearly below the second."""
    gaps = upper - lower
    if len(gaps) < FEWEST:
        return False
    error = float(gaps.std(ddof=1)) / len(gaps) ** 0.5
    visible = VISIBLE * abs(float(upper.mean()))
    return bool(gaps.mean() > max(ERRORS * error, visible))


def difference(lower: Floats, upper: Floats) -> str:
    """How much the second of two measures is above the first, and how well that is known."""
    gaps = upper - lower
    error = float(gaps.std(ddof=1)) / len(gaps) ** 0.5
    return f"the difference, {gaps.mean():,.2f}, has a standard error of {error:,.2f}"


def alike(one: Floats, other: Floats, within: float) -> bool:
    """Whether the means of two measures differ by at most a share of the second."""
    return abs(float(one.mean()) / float(other.mean()) - 1) <= within


@dataclass(frozen=True, eq=False)
class Curve:
    """A measure at some values of a parameter: a row for each value, by repetition."""

    values: Sequence[float]
    runs: Sequence[Floats]

    @classmethod
    def of(cls, results: pa.Table, measure: str, along: str, **where: Any) -> Curve:
        """The curve of a measure along a column, in the rows that have the given values."""
        values = values_of(results, along)
        found = [runs(results, measure, **{along: value}, **where) for value in values]
        kept = [i for i, held in enumerate(found) if len(held)]
        return cls([values[i] for i in kept], [found[i] for i in kept])

    @property
    def enough(self) -> bool:
        """Whether there is anything to judge by."""
        return len(self.runs) > 1 and min(map(len, self.runs)) >= FEWEST

    @property
    def means(self) -> list[float]:
        """The mean at each value."""
        return [float(held.mean()) for held in self.runs]

    @property
    def best(self) -> float:
        """The value with the lowest mean."""
        return self.values[int(np.argmin(self.means))]

    @property
    def ends_lower(self) -> bool:
        """Whether the last value is clearly better than the first."""
        return below(self.runs[-1], self.runs[0])

    def trend(self) -> Trend:
        """How the measure goes: by its first, its lowest and its last value."""
        first, lowest, last = self.runs[0], self.runs[int(np.argmin(self.means))], self.runs[-1]
        falls, rises = below(lowest, first), below(lowest, last)
        if falls and rises:
            return "falls, then rises"
        if self.ends_lower and not rises:
            return "falls"
        return "rises" if below(first, last) and not falls else "no clear trend"

    def stays(self, within: float) -> bool:
        """Whether the second half of the values makes no more than a small difference."""
        rest = self.means[len(self.means) // 2 :]
        return max(rest) <= (1 + within) * min(rest)

    def text(self, digits: int = 2) -> str:
        """The means, each with its value: '5.61 at 0, 4.63 at 5'."""
        pairs = zip(self.means, self.values, strict=True)
        return ", ".join(f"{mean:,.{digits}f} at {value:g}" for mean, value in pairs)


def trend_statement(
    paper: str, curve: Curve, wanted: Sequence[Trend], *, digits: int = 2, why: str = ""
) -> Statement:
    """Whether a curve goes as the paper says."""
    seen = curve.text(digits)
    if not curve.enough:
        return Statement(paper, seen, None, TOO_FEW)
    trend = curve.trend()
    holds = trend in wanted
    return Statement(paper, f"{trend}: {seen}", holds, "" if holds else why or "not clearly so")
