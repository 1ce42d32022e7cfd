"""The small tables of a wide one: which attributes each has, and at which level.

A table is written as its attributes, joined by `+`: `age+sex`. An attribute may stand at a level of
its hierarchy, `occupation@1`; a name that holds `+`, `@`, `,` or `"` is quoted, `"a+b"@1`, with
quotes inside doubled. A list of tables has commas in between.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hushtable.arrays import Integers
from hushtable.errors import OptionError
from hushtable.families.linear.choices import parse
from hushtable.kernel.maps import AxisTransform, Identity, Product, Tree
from hushtable.schema import Attribute, Schema

MOST_AXES = 12
"""Attributes of one table: its parts are all their subsets."""

MOST_CELLS = 2**20
"""Of one table, unless the owner allows more."""
MOST_TABLES = 20_000
MOST_LAYERS = 256
"""Sets of tables in which each attribute has one level."""

# A plain name begins and ends with something else than a blank, as names do.
_NAME = r'"(?P<quoted>(?:[^"]|"")*)"|(?P<plain>[^\s"+@,](?:[^"+@,]*[^\s"+@,])?)'
_ITEM = re.compile(rf"\s*(?:{_NAME})\s*(?:@\s*(?P<level>[0-9]{{1,4}})\s*)?(?P<end>[+,]|$)")
_SPECIAL = re.compile(r'[+@,"]')


@dataclass(frozen=True)
class Seen:
    """An attribute of a table: its place in the schema, and its level if not each code is told."""

    axis: int
    level: int | None = None


@dataclass(frozen=True)
class SmallTable:
    """The counts of all combinations of a few attributes' values, in the schema's order."""

    seen: tuple[Seen, ...]

    @classmethod
    def of(cls, *axes: int) -> SmallTable:
        """The table of some attributes, each code by itself."""
        return cls(tuple(Seen(axis) for axis in sorted(axes)))

    @property
    def axes(self) -> tuple[int, ...]:
        return tuple(seen.axis for seen in self.seen)

    @cached_property
    def levels(self) -> dict[int, int | None]:
        """The level of each of its attributes."""
        return {seen.axis: seen.level for seen in self.seen}

    def shape(self, schema: Schema) -> tuple[int, ...]:
        """How many groups of codes each of its attributes has."""
        return tuple(size_at(schema, seen) for seen in self.seen)

    def product(self, schema: Schema, transforms: Transforms) -> Product:
        """What is measured of it."""
        return Product(tuple(transform_at(schema, seen, transforms) for seen in self.seen))

    def cells(self, schema: Schema) -> int:
        return math.prod(self.shape(schema))

    def name(self, schema: Schema) -> str:
        """As it is written in a setting."""
        return "+".join(_item(schema.attributes[seen.axis].name, seen.level) for seen in self.seen)


Transforms = Mapping[int, AxisTransform]
"""What is measured along the axes that are not counted plainly, code by code."""


def transform_at(schema: Schema, seen: Seen, transforms: Transforms) -> AxisTransform:
    """What is measured along an attribute; at a level of its hierarchy it is counts."""
    if seen.level is None and seen.axis in transforms:
        return transforms[seen.axis]
    return Identity(size_at(schema, seen))


def parse_transforms(texts: Mapping[str, str], schema: Schema) -> dict[int, AxisTransform]:
    """The transforms that are written for some attributes: trees, whose noise has one scale."""
    found: dict[int, AxisTransform] = {}
    for name, text in texts.items():
        transform = parse(text, schema.attribute(name))
        if not isinstance(transform, Identity | Tree) or len(transform.classes) > 1:
            raise OptionError(f"along {name}: a tree such as tree:10x10, each level alike")
        if not isinstance(transform, Identity):
            found[schema.index(name)] = transform
    return found


def size_at(schema: Schema, seen: Seen) -> int:
    """How many groups of codes there are; nothing is listed, since there may be 10¹²."""
    attribute = schema.attributes[seen.axis]
    if seen.level is None:
        return attribute.size
    assert attribute.hierarchy is not None
    return len(attribute.hierarchy.level(seen.level)) + (attribute.other is not None)


def groups_at(schema: Schema, seen: Seen) -> Integers:
    """The group of each code of an attribute: the code itself, or the node above it at a level."""
    attribute = schema.attributes[seen.axis]
    if seen.level is None:
        return np.arange(attribute.size)
    assert attribute.hierarchy is not None
    nodes = attribute.hierarchy.level(seen.level)
    groups = np.repeat(np.arange(len(nodes)), [node.stop - node.start for node in nodes])
    return groups if attribute.other is None else np.append(groups, len(nodes))


def parse_tables(text: str, schema: Schema) -> tuple[SmallTable, ...]:
    """The tables of a list such as `age+sex, occupation@1+region`, each once."""
    tables = [_table(items, schema) for items in _lists(text)]
    if len(tables) > MOST_TABLES:
        raise OptionError(f"tables: at most {MOST_TABLES:,} can be measured")
    if len(set(tables)) < len(tables):
        raise OptionError("tables: a table is listed twice")
    return tuple(tables)


def _lists(text: str) -> Iterator[list[tuple[str, int | None]]]:
    """The names and levels of each table of a list."""
    items: list[tuple[str, int | None]] = []
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


def _table(items: Sequence[tuple[str, int | None]], schema: Schema) -> SmallTable:
    seen = [Seen(schema.index(name), _level(schema.attribute(name), at)) for name, at in items]
    if len({one.axis for one in seen}) < len(seen):
        raise OptionError("tables: a table has an attribute twice")
    return SmallTable(tuple(sorted(seen, key=lambda one: one.axis)))


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


def _item(name: str, level: int | None) -> str:
    shown = '"' + name.replace('"', '""') + '"' if _SPECIAL.search(name) else name
    return shown if level is None else f"{shown}@{level}"


def subsets(axes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All subsets of some axes, the empty one first, each in order."""
    for bits in range(1 << len(axes)):
        yield tuple(axis for i, axis in enumerate(axes) if bits >> i & 1)
