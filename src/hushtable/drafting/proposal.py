"""What a draft proposes for a column, and why: nothing is decided without a word."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from hushtable.drafting.looks import Look
from hushtable.errors import SchemaError
from hushtable.schema.hierarchy import check_label


@dataclass(frozen=True)
class Proposal:
    """Attributes that are read from one column, as a schema writes them."""

    tables: tuple[dict[str, Any], ...]
    why: tuple[str, ...]
    looked: str = ""
    """What of it was read off the data, and could reveal someone."""

    def called(self, name: str) -> Proposal:
        """The same attribute under another name."""
        return replace(self, tables=({**self.tables[0], "name": name},))


@dataclass(frozen=True)
class LeftOut:
    """Why a column is no attribute, and what to do about it."""

    reason: str
    names_people: bool = False
    """Whether its values look like ids of people."""


NO_LABELS = "some values can be no labels: they count as other"

Recogniser = Callable[[Look], Proposal | LeftOut | None]
"""Looks at a column; None if it is of no kind that this one knows."""


def one_attribute(
    look: Look, kind: str, values: dict[str, Any], *why: str, looked: str = "", other: str = ""
) -> Proposal:
    """An attribute of the column's own name.

    What counts as other is told by `other`; rows without a value do, so that they are not lost.
    """
    told = tuple(line for line in (other, blanks(look)) if line)
    table = {"name": look.name, "kind": kind, **values}
    if told:
        table["outside"] = "other"
    return Proposal((table,), why + told, looked)


def blanks(look: Look) -> str:
    """What becomes of the rows without a value, if there are any."""
    percent = 100 * look.blank / max(look.rows, 1)
    rows = f"about {percent:.0f} %" if percent >= 1 else "fewer than 1 %"
    return f"{rows} of the rows have no value: they count as other" if look.blank else ""


def number_text(value: float) -> str:
    """A number as people write it.

    >>> number_text(3.0), number_text(0.25), number_text(1e6)
    ('3', '0.25', '1000000')
    """
    return str(int(value)) if value == int(value) else f"{value:.10g}"


def can_be_label(value: Any) -> bool:
    """Whether a value may stand in a schema; one that may not is left out, and never quoted."""
    with suppress(SchemaError):
        return bool(check_label(value))
    return False
