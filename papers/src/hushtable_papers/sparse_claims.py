"""What a paper says as a claim that looks at the results: its figures, and whether it holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from hushtable_papers.figure import Statement

Look = tuple[str, bool]
"""The figures that speak for or against a claim, and whether it holds."""


class NotMeasuredError(Exception):
    """Rows that a claim needs are not among the results."""


class Means:
    """Means of measures over those rows of the results that have given values."""

    def __init__(self, results: pa.Table) -> None:
        self._rows: list[dict[str, Any]] = results.to_pylist()

    def mean(self, measure: str, **where: Any) -> float:
        """The mean of a measure over the rows with these values; an error if there are none."""
        found = [row[measure] for row in self._chosen(where) if row.get(measure) is not None]
        if not found:
            raise NotMeasuredError
        return float(sum(found) / len(found))

    def values(self, column: str, **where: Any) -> list[Any]:
        """The different values of a column, in order; an error if there are none."""
        found = {row.get(column) for row in self._chosen(where)} - {None}
        if not found:
            raise NotMeasuredError
        return sorted(found)

    def ratios(
        self, measure: str, by: str, one: dict[str, Any], other: dict[str, Any], **where: Any
    ) -> dict[Any, float]:
        """One mean divided by another, for each value of a column, where both were measured."""
        shared = [v for v in self.values(by, **where, **one) if v in self.values(by, **other)]
        if not shared:
            raise NotMeasuredError
        return {
            value: self.mean(measure, **where, **one, **{by: value})
            / self.mean(measure, **where, **other, **{by: value})
            for value in shared
        }

    def _chosen(self, where: dict[str, Any]) -> list[dict[str, Any]]:
        return [
            row for row in self._rows if all(row.get(name) == want for name, want in where.items())
        ]


@dataclass(frozen=True)
class Claim:
    """A statement of a paper, and how it is judged."""

    paper: str
    look: Callable[[Means], Look]
    why: str = "no reason is known"
    """Why it does not hold, if it does not."""


def verdict_of(*claims: Claim) -> Callable[[pa.Table], Sequence[Statement]]:
    """What judges all claims by a table of results."""

    def verdict(results: pa.Table) -> list[Statement]:
        means = Means(results)
        return [_judged(claim, means) for claim in claims]

    return verdict


def _judged(claim: Claim, means: Means) -> Statement:
    try:
        seen, holds = claim.look(means)
    except NotMeasuredError:
        return Statement(claim.paper, "", None, "not everything it needs was measured")
    return Statement(claim.paper, seen, holds, "" if holds else claim.why)


def listed(numbers: dict[Any, float], form: str = ".2f") -> str:
    """Figures by what they belong to, as a line of text."""
    return ", ".join(f"{_short(name)}: {number:{form}}" for name, number in numbers.items())


def _short(name: Any) -> str:
    return f"{name:,}" if isinstance(name, int) else str(name)
