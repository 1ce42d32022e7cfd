"""The columns that a schema names, found in a table; names and paths, written for the engine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from functools import cache
from glob import escape
from typing import Any

from hushtable.errors import DataError


class ColumnError(DataError):
    """A column that cannot be read as the schema says, which its type alone tells."""

    def __init__(
        self, column: str, shown: str = "", *, line: str | None = None, attribute: str | None = None
    ) -> None:
        plain = f"column {column!r} is of type {shown}; the schema needs plain values"
        self.column, self.attribute, self.reason = column, attribute, line or plain
        super().__init__(f"{self.reason} (hush check DATA --schema S looks at all columns)")


class MissingColumn(DataError):
    """A column that the table does not have; where another has a name like it, its place."""

    def __init__(self, name: str, wanted: Sequence[str], present: Sequence[str]) -> None:
        needed = ", ".join(repr(column) for column in wanted)
        line = f"the table has no column {name!r}; the schema needs {needed}"
        for alike in get_close_matches(name.strip().casefold(), present, 1, 0.75):
            place = present.index(alike) + 1
            line += f" (its column {place} has a name like {name!r}: rename it, or say from = …)"
        super().__init__(line)


def match_columns(present: Sequence[str], wanted: Sequence[str]) -> list[int]:
    """The position of each wanted column among those present: exactly, or else whatever its case.

    The names that are present are not shown: in a file without a header they are a person's row.
    """
    positions = []
    stripped = [column.strip() for column in present]
    folded = [column.casefold() for column in stripped]
    for name in wanted:
        found = [i for i, column in enumerate(stripped) if column == name.strip()]
        if not found:
            found = [i for i, column in enumerate(folded) if column == name.strip().casefold()]
        if not found:
            raise MissingColumn(name, wanted, folded)
        if len(found) > 1:
            raise DataError(f"the table has more than one column {name!r}")
        positions.append(found[0])
    return positions


def select_columns(table: Any, positions: Iterable[int]) -> Any:
    """Columns of an Ibis table as c0, c1, …

    By position: engines rename columns whose names differ only by case.
    """
    return table.select(
        **{f"c{i}": table[table.columns[position]] for i, position in enumerate(positions)}
    )


def uncollated(text: Any) -> Any:
    """Text that equals no other: a column may say that 'a' is 'A' to it, which casts do not end.

    A row would have two labels, and two people one id.
    """
    import ibis

    return ibis.cases((text.notnull(), ibis.array([text]).join("")), else_=ibis.null("string"))


def stripped(text: Any) -> Any:
    """Text without the blanks around it: spaces, tabs, line ends and feeds.

    Stripping is slow, so that the engine strips only what begins or ends with a character up to
    the space.
    """
    import ibis

    blank = (text < "!") | (text.right(1) <= " ")
    return ibis.cases((blank, text.strip()), else_=text)


@cache
def engine_function(name: str, takes: tuple[str | None, ...], gives: str) -> Any:
    """A function that the engine has, by its own name; it takes one value or two."""
    import ibis

    def one(value):  # type: ignore[no-untyped-def]
        """What the engine calls so."""

    def two(first, second):  # type: ignore[no-untyped-def]
        """What the engine calls so."""

    function = one if len(takes) == 1 else two
    return ibis.udf.scalar.builtin(function, name=name, signature=(takes, gives))


def sql_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def sql_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def sql_paths(paths: Sequence[str]) -> str:
    """Paths for the engine, which takes every one for a pattern."""
    return "[" + ", ".join(sql_text(escape(path)) for path in paths) + "]"
