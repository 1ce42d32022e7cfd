"""What a check tells: figures and values of the true table, for its owner's eyes alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

OWNER_ONLY = "From the true table, not for publication: for the data owner only."

Outcome = Literal["dropped", "clipped", "other"]


@dataclass(frozen=True)
class Misfit:
    """The values of an attribute that have no code of their own, for one reason."""

    reason: str
    """empty, not a number, not a date, below, above or unknown."""
    words: str
    """The same in words, with the end of the range."""
    rows: int
    becomes: Outcome


@dataclass(frozen=True, repr=False)
class OddValue:
    """A value that does not fit, as text: control characters escaped, a long one shortened."""

    text: str
    rows: int
    reason: str
    becomes: Outcome
    hint: str | None = None
    """What it probably stands for."""


@dataclass(frozen=True, repr=False)
class AttributeCheck:
    """What becomes of the values of one attribute; each of them has one fate."""

    name: str
    as_is: int
    """Values that have a code of their own."""
    misfits: tuple[Misfit, ...]
    dropped_alone: int
    """Rows that are dropped because of no other attribute."""
    values: tuple[OddValue, ...]
    """The most frequent values that do not fit."""
    resembling: int = 0
    """Rows whose value is a label of the schema but for what `differ` names."""
    differ: tuple[str, ...] = ()

    def number(self, becomes: Outcome) -> int:
        """How many values are dropped, clipped, or go to `other`."""
        return sum(misfit.rows for misfit in self.misfits if misfit.becomes == becomes)

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain values."""
        outcomes: tuple[Outcome, ...] = ("clipped", "other", "dropped")
        return {
            "name": self.name,
            "as_is": self.as_is,
            **{outcome: self.number(outcome) for outcome in outcomes},
            "dropped_alone": self.dropped_alone,
            "reasons": [vars(misfit) for misfit in self.misfits],
            "values": [vars(value) for value in self.values],
            "resembling": self.resembling,
        }


@dataclass(frozen=True, repr=False)
class PeopleCheck:
    """How many rows people have, of those that the schema does not drop."""

    column: str
    max_rows: int
    numbers: tuple[tuple[int, int], ...]
    """Numbers of rows in ascending order, and how many people have so many."""

    @property
    def people(self) -> int:
        return sum(people for _, people in self.numbers)

    @property
    def rows(self) -> int:
        return self.kept_by(max(self.most, 1))

    @property
    def within(self) -> int:
        """People with at most max_rows rows."""
        return sum(people for rows, people in self.numbers if rows <= self.max_rows)

    @property
    def most(self) -> int:
        return self.numbers[-1][0] if self.numbers else 0

    @property
    def median(self) -> int:
        """So many rows or fewer have half of the people."""
        passed = 0
        for rows, people in self.numbers:
            passed += people
            if 2 * passed >= self.people:
                return rows
        return 0

    def kept_by(self, max_rows: int) -> int:
        """How many rows would count with another max_rows."""
        return sum(min(rows, max_rows) * people for rows, people in self.numbers)

    def enough_for(self, share: float) -> int:
        """The smallest max_rows by which this share of the rows counts."""
        return _smallest(range(1, self.most + 1), lambda n: self.kept_by(n) >= share * self.rows)

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain values."""
        return {
            "column": self.column,
            "max_rows": self.max_rows,
            "people": self.people,
            "people_within": self.within,
            "median_rows": self.median,
            "most_rows": self.most,
            "rows_beyond": self.rows - self.kept_by(self.max_rows),
            "max_rows_for_99_percent": self.enough_for(0.99),
        }


@dataclass(frozen=True, repr=False)
class CountsCheck:
    """How many people the rows of a table of counts stand for, of those that are not dropped."""

    column: str
    most: int
    people: int
    """All that count."""
    invalid: int
    """Rows that hold no whole number of people, and count none."""
    above: int
    """Rows that stand for more people than `most`, and count so many."""

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain values."""
        return vars(self).copy()


@dataclass(frozen=True, repr=False)
class CheckReport:
    """What counting would make of a table. Not private: for the data owner only.

    Every row that was read has one fate: it is kept, or dropped by the schema, or it is nobody's,
    or beyond max_rows of its person, or counts nobody. Lines of a CSV file that are no rows come on
    top.
    """

    table: str
    rows: int
    """Rows that were read."""
    kept: int
    dropped: int
    """Rows that the schema drops, for one attribute or several."""
    without_id: int
    beyond_max_rows: int
    short_lines: int
    """Lines of CSV files with too few fields."""
    broken_lines: int
    """Lines of CSV files that are not well-formed."""
    attributes: tuple[AttributeCheck, ...]
    people: PeopleCheck | None
    cells: int
    occupied: int
    """Cells with at least one row that is kept."""
    of_nobody: int = 0
    """Rows of a table of counts that count none."""
    counted: CountsCheck | None = None
    refused: tuple[str, ...] = ()
    """Columns that cannot be read as the schema says, which `publish` refuses."""
    advice: tuple[str, ...] = ()
    """What to do, the most important first."""

    @property
    def headline(self) -> str:
        """How many rows were read, and how many are kept."""
        share = f" ({show_share(self.kept, self.rows)})" if self.rows else ""
        return f"{self.table}: {self.rows:,} rows read, {self.kept:,} kept{share}"

    @property
    def number(self) -> int:
        """How many rows are kept; of a table of counts, how many people."""
        return self.kept if self.counted is None else self.counted.people

    @property
    def rows_per_cell(self) -> float | None:
        """How many of them an occupied cell has on average; None if there is none."""
        return self.number / self.occupied if self.occupied else None

    @property
    def suggested_people(self) -> int | None:
        """Their number in two digits, as `people` is declared; None if none is kept."""
        return int(float(f"{self.number:.1e}")) or None

    def __repr__(self) -> str:
        # No value of the table: a report may end up in a log.
        return f"<CheckReport of {self.headline}. {OWNER_ONLY}>"

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain values, for JSON, with the warning that belongs to them."""
        return {
            "owner_only": OWNER_ONLY,
            "table": self.table,
            "rows": self.rows,
            "kept": self.kept,
            "dropped": self.dropped,
            "without_id": self.without_id,
            "beyond_max_rows": self.beyond_max_rows,
            "of_nobody": self.of_nobody,
            "short_lines": self.short_lines,
            "broken_lines": self.broken_lines,
            "attributes": [attribute.to_dict() for attribute in self.attributes],
            "people": None if self.people is None else self.people.to_dict(),
            "counts": None if self.counted is None else self.counted.to_dict(),
            "cells": self.cells,
            "occupied": self.occupied,
            "rows_per_cell": self.rows_per_cell,
            "suggested_people": self.suggested_people,
            "refused": list(self.refused),
            "advice": list(self.advice),
        }


def show_share(part: int, whole: int) -> str:
    """A share in percent; never 0 % or 100 % of what is neither none nor all.

    >>> show_share(1, 3), show_share(1, 10**6), show_share(999_999, 10**6), show_share(2, 2)
    ('33 %', '<0.1 %', '>99.9 %', '100 %')
    """
    percent = 100 * part / whole
    if 0 < percent < 0.1:
        return "<0.1 %"
    if 99.9 < percent < 100:
        return ">99.9 %"
    return f"{percent:.0f} %" if 10 <= percent <= 90 or part in (0, whole) else f"{percent:.1f} %"


def _smallest(numbers: Sequence[int], fits: Any) -> int:
    """The first number that fits, as all behind it do; 0 if there is none."""
    from bisect import bisect_left

    place = bisect_left(numbers, True, key=fits)
    return numbers[place] if place < len(numbers) else 0
