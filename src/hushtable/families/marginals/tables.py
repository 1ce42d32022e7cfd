"""The small tables of a wide one: which attributes each has, and at which level.

They are written as `query/table_names.py` says: `age+sex, occupation@1+region`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hushtable.arrays import Integers
from hushtable.errors import OptionError
from hushtable.families.linear.choices import parse
from hushtable.kernel.maps import AxisTransform, Identity, Product, Tents, Tree
from hushtable.query.table_names import places_of, split_tables, write_table
from hushtable.schema import Schema

MOST_AXES = 12
"""Attributes of one table: its parts are all their subsets."""

MOST_CELLS = 2**20
"""Of one table, unless the owner allows more."""
MOST_TABLES = 20_000
MOST_LAYERS = 256
"""Sets of tables in which each attribute has one level."""


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
        items = ((schema.attributes[seen.axis].name, seen.level) for seen in self.seen)
        return write_table(items)


Transforms = Mapping[int, AxisTransform]
"""What is measured along the axes that are not counted plainly, code by code."""


def transform_at(schema: Schema, seen: Seen, transforms: Transforms) -> AxisTransform:
    """What is measured along an attribute; at a level of its hierarchy it is counts."""
    if seen.level is None and seen.axis in transforms:
        return transforms[seen.axis]
    return Identity(size_at(schema, seen))


def parse_transforms(texts: Mapping[str, str], schema: Schema) -> dict[int, AxisTransform]:
    """The transforms that are written for some attributes: their noise has one scale."""
    found: dict[int, AxisTransform] = {}
    for name, text in texts.items():
        transform = parse(text, schema.attribute(name))
        if not isinstance(transform, Identity | Tree | Tents) or len(transform.classes) > 1:
            raise OptionError(
                f"along {name}: a tree such as tree:10x10, each level alike, or tents"
            )
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
    tables = [_table(items, schema) for items in split_tables(text)]
    if len(tables) > MOST_TABLES:
        raise OptionError(f"tables: at most {MOST_TABLES:,} can be measured")
    if len(set(tables)) < len(tables):
        raise OptionError("tables: a table is listed twice")
    return tuple(tables)


def _table(items: Sequence[tuple[str, int | None]], schema: Schema) -> SmallTable:
    seen = [Seen(*place) for place in places_of(items, schema)]
    return SmallTable(tuple(sorted(seen, key=lambda one: one.axis)))


def subsets(axes: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All subsets of some axes, the empty one first, each in order."""
    for bits in range(1 << len(axes)):
        yield tuple(axis for i, axis in enumerate(axes) if bits >> i & 1)
