"""A Bayesian network over the attributes of a schema: who depends on whom, and at which levels.

Attributes stand in an order in which parents come before their children. A parent may be seen at
any level of its attribute (`schema.levels`), 0 being its values. The tables that were measured are
those of links that no other link's contains; every link is read off one of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

from hushtable.arrays import Floats
from hushtable.errors import ReleaseError
from hushtable.schema import Schema
from hushtable.schema.levels import Grouping, levels_of

MOST_CODES = 2**16
"""Attributes with more codes than this are not for networks."""
MOST_CELLS = 2**24
MOST_ATTRIBUTES = 1000
MOST_ROWS = 2**40

Seen = tuple[int, int]
"""An attribute's axis and the level it is seen at."""


@dataclass(frozen=True, slots=True)
class Link:
    """An attribute and its parents, each at a level."""

    axis: int
    parents: tuple[Seen, ...] = ()

    @property
    def table(self) -> tuple[Seen, ...]:
        """The attributes of its table: the parents, then the attribute by its values."""
        return (*self.parents, (self.axis, 0))


@dataclass(frozen=True)
class Network:
    """The attributes in their order, each with its parents."""

    schema: Schema
    links: tuple[Link, ...]

    @cached_property
    def levels(self) -> tuple[tuple[Grouping, ...], ...]:
        """The groupings of every attribute's codes."""
        return tuple(levels_of(attribute) for attribute in self.schema.attributes)

    def size(self, seen: Seen) -> int:
        """How many groups an attribute has at a level."""
        axis, level = seen
        return int(self.levels[axis][level][-1]) + 1

    def shape(self, table: Sequence[Seen]) -> tuple[int, ...]:
        """The shape of a table of attributes at their levels."""
        return tuple(self.size(seen) for seen in table)

    @cached_property
    def measured(self) -> tuple[tuple[Seen, ...], ...]:
        """The links' tables that no other one contains, in the order of the network.

        In a network of degree k where the first k + 1 attributes all have each other as parents
        these are the d − k tables that Algorithm 1 measures.
        """
        tables = [link.table for link in self.links]
        return tuple(
            table
            for i, table in enumerate(tables)
            if not any(
                contains(other, table) and (j < i or not contains(table, other))
                for j, other in enumerate(tables)
                if j != i
            )
        )

    def home(self, link: Link) -> int:
        """The measured table that a link is read off: of those that contain it, the smallest."""
        able = [i for i, table in enumerate(self.measured) if contains(table, link.table)]
        return min(able, key=lambda i: math.prod(self.shape(self.measured[i])))

    def lines(self) -> list[str]:
        """The network in words, a line for each attribute."""
        return [
            f"{self.schema.attributes[link.axis].name} ← "
            f"{', '.join(self.name(seen) for seen in link.parents) or '(nothing)'}"
            for link in self.links
        ]

    def name(self, seen: Seen) -> str:
        """An attribute's name, with how many groups it is seen in if not by its values."""
        axis, level = seen
        name = self.schema.attributes[axis].name
        return name if level == 0 else f"{name} in {self.size(seen)} groups"

    def to_dict(self) -> list[dict[str, Any]]:
        """The network as plain values."""
        names = [attribute.name for attribute in self.schema.attributes]
        return [
            {
                "attribute": names[link.axis],
                "parents": [
                    {"attribute": names[axis], "level": level} for axis, level in link.parents
                ],
            }
            for link in self.links
        ]

    @classmethod
    def from_dict(cls, schema: Schema, content: Any) -> Network:
        """Read what `to_dict` wrote; anyone may have written it."""
        check_schema_size(schema)
        if not isinstance(content, list) or len(content) != len(schema.attributes):
            raise ReleaseError("the network does not have every attribute once")
        axes = {attribute.name: i for i, attribute in enumerate(schema.attributes)}
        network = cls(schema, tuple(_link(entry, axes) for entry in content))
        network._check()
        return network

    def _check(self) -> None:
        done: set[int] = set()
        for link in self.links:
            axes = [axis for axis, _ in link.parents]
            if link.axis in done or not set(axes) <= done or len(set(axes)) < len(axes):
                raise ReleaseError("the network's attributes do not follow their parents")
            if any(not 0 <= level < len(self.levels[axis]) for axis, level in link.parents):
                raise ReleaseError("the network names a level that its attribute does not have")
            if math.prod(self.shape(link.table)) > MOST_CELLS:
                raise ReleaseError("a table of the network is too large")
            done.add(link.axis)


class Distributions(Protocol):
    """A network with a distribution of every attribute given its parents."""

    @property
    def network(self) -> Network:
        """The attributes in their order, each with its parents."""

    @property
    def conditionals(self) -> tuple[Floats, ...]:
        """For each link Pr[child | parents]; axes are the parents, then the child."""


def contains(table: Sequence[Seen], other: Sequence[Seen]) -> bool:
    """Whether a table has every attribute of another, as finely or finer."""
    finest = dict(table)
    return all(axis in finest and finest[axis] <= level for axis, level in other)


def check_schema_size(schema: Schema) -> None:
    """Refuse schemas whose levels alone would take long to lay out."""
    if len(schema.attributes) > MOST_ATTRIBUTES:
        raise ReleaseError(f"a network has at most {MOST_ATTRIBUTES:,} attributes")
    if max(schema.shape) > MOST_CODES:
        raise ReleaseError(f"an attribute of a network has at most {MOST_CODES:,} codes")


def _link(entry: Any, axes: dict[str, int]) -> Link:
    parents = entry.get("parents") if isinstance(entry, dict) else None
    if not isinstance(parents, list) or len(parents) >= len(axes):
        raise ReleaseError("the network's entries are an attribute and a list of parents")
    return Link(
        _axis(entry, axes), tuple((_axis(parent, axes), _level(parent)) for parent in parents)
    )


def _axis(entry: Any, axes: dict[str, int]) -> int:
    name = entry.get("attribute") if isinstance(entry, dict) else None
    if not isinstance(name, str) or name not in axes:
        raise ReleaseError("the network names an attribute that the schema does not have")
    return axes[name]


def _level(entry: dict[str, Any]) -> int:
    level = entry.get("level")
    if not isinstance(level, int) or isinstance(level, bool):
        raise ReleaseError("the network's levels are whole numbers")
    return level
