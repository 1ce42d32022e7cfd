"""How a table of counts is written: its attributes, and the level of a hierarchy that each is at.

Attributes are joined by `+`: `age+sex`. One may stand at a level of its hierarchy, `occupation@1`;
a name that holds `+`, `@`, `,` or `"` is quoted, `"a+b"@1`, with quotes inside doubled. A list of
tables has commas in between.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from hushtable.errors import OptionError

if TYPE_CHECKING:
    from hushtable.schema import Attribute, Schema

Item = tuple[str, int | None]
"""An attribute, and its level if not each value is told."""

# A plain name begins and ends with something else than a blank, as names do.
_NAME = r'"(?P<quoted>(?:[^"]|"")*)"|(?P<plain>[^\s"+@,](?:[^"+@,]*[^\s"+@,])?)'
_ITEM = re.compile(rf"\s*(?:{_NAME})\s*(?:@\s*(?P<level>[0-9]{{1,4}})\s*)?(?P<end>[+,]|$)")
_SPECIAL = re.compile(r'[+@,"]')


def split_tables(text: str) -> Iterator[list[Item]]:
    """The attributes and levels of each table of a list."""
    items: list[Item] = []
    place = 0
    while True:
        found = _ITEM.match(text, place)
        if not found:
            raise OptionError('tables are written as "age+sex, occupation@1+region"')
        quoted, plain, level, end = found.group("quoted", "plain", "level", "end")
        name = plain if quoted is None else quoted.replace('""', '"')
        items.append((name, None if level is None else int(level)))
        place = found.end()
        if end != "+":
            yield items
            items = []
        if not end:
            return


def write_table(items: Iterable[Item]) -> str:
    """A table as it is written."""
    return "+".join(_write_item(name, level) for name, level in items)


def places_of(items: Sequence[Item], schema: Schema) -> list[tuple[int, int | None]]:
    """The place of each attribute in the schema, and its level."""
    places = [(schema.index(name), _level(schema.attribute(name), at)) for name, at in items]
    if len({axis for axis, _ in places}) < len(places):
        raise OptionError("tables: a table has an attribute twice")
    return places


def _level(attribute: Attribute, level: int | None) -> int | None:
    """A level of the hierarchy; the lowest one is the codes themselves."""
    if level is None:
        return None
    if attribute.hierarchy is None:
        raise OptionError(f"tables: {attribute.name} has no hierarchy, so it has no levels")
    height = attribute.hierarchy.height
    if not 1 <= level <= height:
        raise OptionError(f"tables: {attribute.name} has levels 1 to {height}, not {level}")
    return None if level == height else level


def _write_item(name: str, level: int | None) -> str:
    shown = '"' + name.replace('"', '""') + '"' if _SPECIAL.search(name) else name
    return shown if level is None else f"{shown}@{level}"
