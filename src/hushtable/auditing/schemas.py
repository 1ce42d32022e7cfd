"""Small schemas that show everything one person can do to a release, and rows for each of them.

An audit writes out every neighbour of every small table, so a schema of its own must be small too.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from hushtable.auditing.small_tables import Row, Table, as_table, possible_rows, possible_values
from hushtable.errors import OptionError
from hushtable.kernel.privacy.loss import Neighbours
from hushtable.schema import Schema, Unit

MOST_CELLS = 4096
"""A transcript holds every cell, and every one of its neighbours'."""
MOST_ROWS = 8
MOST_ROWS_OF_PEOPLE = 3
"""With a unit column a person has several rows, and there are many more people."""


@dataclass(frozen=True)
class AuditSchema:
    """A schema, and the rows that people may have in an audit."""

    name: str
    schema: Schema
    rows: tuple[Row, ...]
    kinds: int
    """How many kinds of rows the schema tells apart."""

    def crowds(self, neighbours: Neighbours) -> list[tuple[Table, Table]]:
        """Neighbouring tables of many people, on which scores change by nearly their bounds."""
        if self.name != "bits" or self != built_in("bits"):
            return []
        return [
            (as_table((*people, *before)), as_table((*people, *after)))
            for numbers, before, after in _CROWDS[neighbours]
            for people in [_people(numbers)]
        ]

    @property
    def tried(self) -> str:
        """How many of the kinds of rows people have."""
        return f"{len(self.rows)} of {self.kinds:,}"

    @property
    def words(self) -> str:
        """Which tables the exact check goes through."""
        unit = self.schema.unit
        people = "" if unit is None else f", at most {_rows(unit.max_rows)} of a person"
        crowds = len(self.crowds("add-remove"))
        larger = f", and {crowds} pairs of tables of many people" if crowds else ""
        return f"{self.schema.cells:,} cells, {self.tried} kinds of rows{people}{larger}"


def _rows(number: int) -> str:
    return "1 row" if number == 1 else f"{number} rows"


def small_enough(schema: Schema, *, most_rows: int = MOST_ROWS) -> AuditSchema:
    """A schema of one's own for an audit: people may have a few of its kinds of rows.

    Of the kinds of rows a random choice is taken, always the same, where there are too many. At
    most two rows of a person count: sensitivities are proportional to that number.
    """
    if schema.cells > MOST_CELLS:
        raise OptionError(
            f"an audit writes out all neighbours of small tables: its schema may have at most"
            f" {MOST_CELLS:,} cells; use coarser bins or fewer attributes"
        )
    if schema.unit is not None:
        rows_of_one = min(schema.unit.max_rows, 2)
        schema = replace(schema, unit=Unit(schema.unit.column, rows_of_one))
        most_rows = min(most_rows, MOST_ROWS_OF_PEOPLE)
    values = [possible_values(attribute) for attribute in schema.attributes]
    kinds = math.prod(map(len, values))
    if kinds <= most_rows:
        return AuditSchema(schema.name, schema, tuple(possible_rows(schema)), kinds)
    choice, chosen = np.random.default_rng(1), dict[Row, None]()
    while len(chosen) < most_rows:
        chosen[tuple(one[choice.integers(len(one))] for one in values)] = None
    return AuditSchema(schema.name, schema, tuple(chosen), kinds)


_AGE = {"name": "age", "kind": "ordinal", "range": [0, 1]}
_GRADE = {"name": "grade", "kind": "ordinal", "labels": ["a", "b"]}
_JOB = {
    "name": "job",
    "kind": "nominal",
    "tree": {"office": ["clerk", "boss"], "field": ["farmer", "driver", "miner"]},
}
_PLACE = {
    "name": "place",
    "kind": "nominal",
    "tree": {"north": ["a", "b"], "south": ["c", "d"]},
}
_BITS = [{"name": name, "kind": "ordinal", "labels": ["0", "1"]} for name in "xyz"]

_KNOWN: dict[str, tuple[list[dict[str, Any]], int, list[Row]]] = {
    # name: attributes, rows of a person that count (0: a row is a person), rows people may have
    "range": ([_AGE], 0, [("0",), ("1",), ("9",), ("?",), (None,)]),
    "other": ([_GRADE | {"outside": "other"}], 0, [("a",), ("b",), ("?",), (None,)]),
    "two": ([_AGE, _GRADE], 0, [("0", "a"), ("0", "b"), ("1", "a"), ("0", "?")]),
    "one-row": ([_AGE], 1, [("0",), ("9",)]),
    "several-rows": ([_AGE], 2, [("0",), ("9",)]),
    "ladder": (
        [_AGE | {"range": [0, 7]}],
        0,
        [("0",), ("1",), ("3",), ("4",), ("7",), (None,)],
    ),
    "tree": ([_JOB], 0, [("clerk",), ("boss",), ("farmer",), ("driver",), ("miner",), ("?",)]),
    "grid": (
        [_AGE | {"range": [0, 3]}, _JOB],
        0,
        [("0", "clerk"), ("1", "clerk"), ("3", "boss"), ("3", "farmer"), ("1", "miner")],
    ),
    "trees": (
        [_PLACE, _JOB],
        0,
        [("a", "clerk"), ("a", "boss"), ("c", "farmer"), ("d", "miner")],
    ),
    "bits": (_BITS, 0, [("0", "0", "1"), ("1", "1", "0"), ("0", "1", "1"), ("?", "1", "1")]),
}
BUILT_IN = tuple(_KNOWN)

# How many people have 000, 001, … 111 for bits; and who comes, or is replaced by whom. Found by
# climbing from random tables to where choices lose most. A person moves all scores that a network
# is chosen by a little, so small tables are far from their bounds.
_CROWDS: dict[Neighbours, list[tuple[tuple[int, ...], tuple[Row, ...], tuple[Row, ...]]]] = {
    "add-remove": [
        ((64, 340, 0, 157, 7, 54, 0, 0), (), (("1", "1", "0"),)),  # distance
        ((0, 15, 85, 9, 0, 127, 90, 0), (), (("0", "0", "0"),)),  # information
        ((8, 54, 24, 10, 0, 6, 0, 22), (), (("1", "0", "0"),)),  # assignment
    ],
    "replace-one": [
        ((38, 0, 0, 0, 0, 1175, 32, 0), (("0", "1", "0"),), (("1", "1", "1"),)),
        ((0, 62, 0, 0, 44, 25, 93, 2), (("0", "0", "0"),), (("0", "1", "1"),)),
        ((24, 28, 20, 2, 0, 3, 18, 2), (("0", "0", "0"),), (("1", "1", "0"),)),
    ],
}


def _people(numbers: tuple[int, ...]) -> list[Row]:
    kinds = itertools.product("01", repeat=len(_BITS))
    return [row for row, number in zip(kinds, numbers, strict=True) for _ in range(number)]


@cache
def built_in(name: str) -> AuditSchema:
    """A small schema by name."""
    if name not in _KNOWN:
        raise OptionError(f"there is no built-in schema {name!r}; there are {', '.join(BUILT_IN)}")
    attributes, rows_of_one, rows = _KNOWN[name]
    content: dict[str, Any] = {"name": name, "budget": "1000", "attribute": attributes}
    if rows_of_one:
        content["unit"] = {"column": "person", "max_rows": rows_of_one}
    schema = Schema.from_dict(content)
    kinds = math.prod(len(possible_values(attribute)) for attribute in schema.attributes)
    return AuditSchema(name, schema, tuple(rows), kinds)
