"""Workloads: what analysts will ask, as weighted sets of boxes.

A set holds every combination of one interval along each axis; its weight is that of the set as a
whole, shared evenly by its boxes. Questions in SQL stand for themselves, each with its weight.

>>> from hushtable.workload import ranges, marginals
>>> from hushtable.schema import Schema
>>> age = {"name": "age", "kind": "ordinal", "range": [0, 99]}
>>> schema = Schema.from_dict({"name": "t", "budget": "1", "attribute": [age]})
>>> (ranges(schema) + 2 * marginals(schema, 1)).name
'ranges + 2*marginals:1'
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hushtable.errors import OptionError
from hushtable.query.box import Boxes
from hushtable.schema import Schema
from hushtable.workload import intervals
from hushtable.workload.intervals import Along

MOST_SETS = 5_000
MOST_QUESTIONS = 10_000
EVERYDAY = 3
"""The most attributes that an everyday question names."""


@dataclass(frozen=True, eq=False)
class BoxSet:
    """All combinations of one interval along each axis."""

    along: tuple[Along, ...]
    weight: float

    @property
    def count(self) -> int:
        """How many boxes there are."""
        return math.prod(part.count for part in self.along)


@dataclass(frozen=True, eq=False)
class Question:
    """One count, of the cells that a WHERE clause selects."""

    boxes: Boxes
    weight: float


@dataclass(frozen=True, eq=False)
class Workload:
    """Weighted sets of boxes and questions over the attributes of one schema."""

    name: str
    shape: tuple[int, ...]
    box_sets: tuple[BoxSet, ...] = ()
    questions: tuple[Question, ...] = ()

    def __post_init__(self) -> None:
        if not self.box_sets and not self.questions:
            raise OptionError(f"the workload {self.name!r} asks nothing")
        if len(self.box_sets) > MOST_SETS or len(self.questions) > MOST_QUESTIONS:
            raise OptionError(f"the workload {self.name!r} is too large; ask for less")

    def __add__(self, other: Workload) -> Workload:
        """Both, each with its own weight."""
        if self.shape != other.shape:
            raise OptionError("workloads of different schemas cannot be joined")
        return Workload(
            f"{self.name} + {other.name}",
            self.shape,
            self.box_sets + other.box_sets,
            self.questions + other.questions,
        )

    def __rmul__(self, factor: float) -> Workload:
        """The same with another weight."""
        if isinstance(factor, bool) or not isinstance(factor, int | float):
            return NotImplemented
        if not 0 < factor < math.inf:
            raise OptionError("the weight of a workload must be a positive number")
        plain = " + " not in self.name
        return Workload(
            f"{factor:g}*{self.name}" if plain else f"{factor:g}*({self.name})",
            self.shape,
            tuple(replace(b, weight=b.weight * factor) for b in self.box_sets),
            tuple(replace(q, weight=q.weight * factor) for q in self.questions),
        )

    @property
    def weight(self) -> float:
        """The weights of all sets and questions together."""
        return math.fsum([b.weight for b in self.box_sets] + [q.weight for q in self.questions])

    @property
    def exact(self) -> bool:
        """Whether means are over all boxes: axes of millions of codes are sampled."""
        return all(along.exact for boxes in self.box_sets for along in boxes.along)


# ── the ones we know ─────────────────────────────────────────────────────────────────────────────


def ranges(schema: Schema) -> Workload:
    """Any range on every ordinal attribute, any node on every nominal one, all at once."""
    return _one("ranges", schema, [intervals.ranges(a) for a in schema.attributes])


def prefixes(schema: Schema) -> Workload:
    """Everything up to a value on every ordinal attribute, any node on every nominal one."""
    return _one("prefixes", schema, [intervals.prefixes(a) for a in schema.attributes])


def identity(schema: Schema) -> Workload:
    """Every cell."""
    return _one("identity", schema, [intervals.points(a) for a in schema.attributes])


def total(schema: Schema) -> Workload:
    """The number of rows."""
    return _one("total", schema, [intervals.whole(a) for a in schema.attributes])


def nodes(schema: Schema) -> Workload:
    """Any node of every hierarchy; attributes without a hierarchy are not asked about."""
    if all(a.hierarchy is None for a in schema.attributes):
        raise OptionError("the workload 'nodes' needs an attribute with a hierarchy")
    along = [
        intervals.whole(a) if a.hierarchy is None else intervals.nodes(a) for a in schema.attributes
    ]
    return _one("nodes", schema, along)


def marginals(schema: Schema, ways: int) -> Workload:
    """Every cell of every table of so many attributes; the tables weigh the same."""
    return _subsets(
        f"marginals:{ways}", schema, [ways], [intervals.points(a) for a in schema.attributes]
    )


def levels(schema: Schema, wanted: dict[str, int]) -> Workload:
    """The counts of GROUP BY LEVEL(attribute, k), …, for one or more attributes."""
    chosen = {schema.index(name): depth for name, depth in wanted.items()}
    if not chosen:
        raise OptionError("the workload 'level' needs an attribute: level:occupation=1")
    named = ",".join(f"{name}={depth}" for name, depth in wanted.items())
    along = [
        intervals.level(a, chosen[i]) if i in chosen else intervals.whole(a)
        for i, a in enumerate(schema.attributes)
    ]
    return _one(f"level:{named}", schema, along)


def everyday(schema: Schema) -> Workload:
    """What people ask: conditions on at most three attributes, whichever.

    How many there are and which weigh the same. Of an ordinal attribute it is a range or a single
    value, of a nominal one a node or a value. Tables of very many attributes are asked about two at
    a time.
    """
    asked = [intervals.everyday(a) for a in schema.attributes]
    ways = range(1, min(len(asked), EVERYDAY) + 1)
    while len(ways) > 2 and sum(math.comb(len(asked), size) for size in ways) > MOST_SETS:
        ways = ways[:-1]
    return _subsets("everyday", schema, list(ways), asked)


def paper(schema: Schema) -> Workload:
    """The random range counts of the Privelet paper, §8.1.

    Conditions on 1 to d attributes, in equal parts: a range of an ordinal one, a node below the
    top of a nominal one.
    """
    asked = [
        intervals.nodes(a, root=False) if a.kind == "nominal" else intervals.ranges(a)
        for a in schema.attributes
    ]
    return _subsets("paper", schema, list(range(1, len(asked) + 1)), asked)


def _one(name: str, schema: Schema, along: Sequence[Along]) -> Workload:
    return Workload(name, schema.shape, (BoxSet(tuple(along), 1.0),))


def _subsets(name: str, schema: Schema, ways: list[int], asked: Sequence[Along]) -> Workload:
    """Conditions on every subset of some sizes; the sizes weigh the same, and so do its subsets."""
    axes = len(asked)
    if not all(1 <= size <= axes for size in ways):
        raise OptionError(f"{name}: k is from 1 to {axes}, the number of attributes")
    if sum(math.comb(axes, size) for size in ways) > MOST_SETS:
        raise OptionError(f"{name}: there are too many combinations of {axes} attributes")
    free = [intervals.whole(a) for a in schema.attributes]
    return Workload(
        name,
        schema.shape,
        tuple(
            BoxSet(
                tuple(asked[i] if i in chosen else free[i] for i in range(axes)),
                1 / (len(ways) * math.comb(axes, size)),
            )
            for size in ways
            for chosen in itertools.combinations(range(axes), size)
        ),
    )
