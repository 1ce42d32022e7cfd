"""What pages, pictures and reports say of every release in the same words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hushtable.schema import Schema

NOT_PRIVATE = "Not private: made with injected randomness"
ESTIMATE = "Estimate: intervals may be too short"


def marks_of(*, private: bool, estimate: bool) -> list[str]:
    """What a picture of some numbers must say of them, wherever it goes."""
    return [*([] if private else [NOT_PRIVATE]), *([ESTIMATE] if estimate else [])]


def alike(schema: Schema) -> str:
    """What would change the numbers so little that nobody could tell: "if … were left out"."""
    change = "left out" if schema.neighbours == "add-remove" else "replaced by another"
    return f"if {_protected(schema)} were {change}"


def _protected(schema: Schema) -> str:
    """The privacy unit, as someone says it who has never heard of one."""
    if schema.unit is not None:
        rows = f"{schema.unit.max_rows:,} row{'s' * (schema.unit.max_rows > 1)}"
        return f"any one person, with at most {rows},"
    if schema.counts is not None:
        return "any one of the people counted"
    return "any one person, who has one row," if schema.dataset else "any one row of the table"
