"""The schema: the public description of a table, declared and never read off the data."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from hushtable.errors import OptionError, SchemaError, alternatives
from hushtable.kernel.privacy.loss import NEIGHBOURS, Exposure, Neighbours
from hushtable.schema.attribute import Attribute
from hushtable.schema.origin import OWN_COLUMN

MAX_NAME = 200
MAX_ROWS = 10**9
MAX_PEOPLE = 10**15
MAX_COUNT = 10**9


@dataclass(frozen=True)
class Unit:
    """Whom the guarantee protects: the person an id column names, with at most max_rows rows."""

    column: str
    max_rows: int

    def __post_init__(self) -> None:
        check_name(self.column, "the unit's column")
        if isinstance(self.max_rows, bool) or not isinstance(self.max_rows, int):
            raise SchemaError("unit: max_rows must be a whole number")
        if not 1 <= self.max_rows <= MAX_ROWS:
            raise SchemaError(f"unit: max_rows must be at least 1 and at most {MAX_ROWS}")

    def __str__(self) -> str:
        return f"{self.column}, at most {self.max_rows} row{'s' * (self.max_rows > 1)}"


@dataclass(frozen=True)
class CountColumn:
    """The column that says how many people a row stands for; more than `most` count as `most`.

    One person more or less changes one row's number by one, and so what it counts by one at most.
    """

    column: str
    most: int = MAX_COUNT

    def __post_init__(self) -> None:
        check_name(self.column, "the column of counts")
        if isinstance(self.most, bool) or not isinstance(self.most, int):
            raise SchemaError("counts: most must be a whole number")
        if not 1 <= self.most <= MAX_COUNT:
            raise SchemaError(f"counts: most must be at least 1 and at most {MAX_COUNT}")


@dataclass(frozen=True)
class Schema:
    """Attributes in order, the privacy unit, the neighbour relation and the total budget."""

    name: str
    budget: Fraction
    attributes: tuple[Attribute, ...]
    neighbours: Neighbours = "add-remove"
    unit: Unit | None = None
    reviewed: bool = True
    source: Path | None = field(default=None, compare=False)
    """The file it was read from; its ledger is beside it."""
    dataset: str | None = None
    """Whose budget is spent, where several tables about the same people share one.

    The guarantee is then about people: without a unit, each has one row in this table.
    """
    people: int | None = None
    """About how many rows there are: declared, round, and published as it is."""
    counts: CountColumn | None = None
    """Of a table of counts: how many people a row stands for, each of them a unit."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", tuple(self.attributes))
        check_name(self.name, "the table's name")
        if self.dataset is not None:
            _check_dataset(self.dataset)
        if self.neighbours not in NEIGHBOURS:
            raise SchemaError(f"neighbours must be {' or '.join(map(repr, NEIGHBOURS))}")
        if self.budget <= 0:
            raise SchemaError("budget must be above zero")
        if self.people is not None:
            checked_people(self.people)
        if not self.attributes:
            raise SchemaError("a schema needs at least one attribute")
        self._check_names()

    def _check_names(self) -> None:
        # Query languages match column names without regard to case.
        seen: set[str] = set()
        columns: dict[str, str] = {}
        for attribute in self.attributes:
            check_name(attribute.name, "an attribute's name")
            check_name(attribute.column, "the column of an attribute")
            if attribute.name.casefold() in seen:
                raise SchemaError(
                    f"two attributes are called {attribute.name!r}, or differ by case"
                )
            seen.add(attribute.name.casefold())
            written = columns.setdefault(attribute.column.casefold(), attribute.column)
            if written != attribute.column:
                raise SchemaError(f"write the column {written!r} in the same way everywhere")
        self._check_people(columns)

    def _check_people(self, columns: Container[str]) -> None:
        """Whose the rows are is said by one column, which says nothing else."""
        if self.unit is not None and self.counts is not None:
            raise SchemaError(
                "counts and unit exclude each other: a row that counts people names none of them"
            )
        if self.unit is not None and self.unit.column.casefold() in columns:
            raise SchemaError(
                f"{self.unit.column!r} names people: it cannot be both the unit and an attribute"
            )
        if self.counts is not None and self.counts.column.casefold() in columns:
            raise SchemaError(
                f"{self.counts.column!r} counts people: it cannot be an attribute as well"
            )

    @classmethod
    def load(
        cls, path: str | Path, *, allow_paths: str | Path | Iterable[str | Path] = ()
    ) -> Schema:
        """Read a schema from a TOML file.

        Hierarchy files that it names must be in its folder or in one of `allow_paths`, links
        followed.
        """
        from hushtable.schema.formats import load_toml

        return load_toml(Path(path), allow_paths=allow_paths)

    @classmethod
    def from_dict(cls, content: Any) -> Schema:
        """Read a self-contained schema, as `to_dict` writes it."""
        from hushtable.schema.formats import schema_from_dict

        return schema_from_dict(content)

    def save(self, path: str | Path) -> None:
        """Write the schema as one self-contained TOML file."""
        from hushtable.schema.formats import save_toml

        save_toml(self, Path(path))

    def to_dict(self) -> dict[str, Any]:
        """Write as plain tables, lists, text and numbers, with hierarchies inside."""
        from hushtable.schema.formats import schema_to_dict

        return schema_to_dict(self)

    @property
    def dataset_name(self) -> str:
        """The name under which the budget is kept: the table's own, unless tables share one."""
        return self.name if self.dataset is None else self.dataset

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of attributes, then that of counts: each once, but for the unit's."""
        counts = () if self.counts is None else (self.counts.column,)
        return tuple(dict.fromkeys([*(a.column for a in self.attributes), *counts]))

    @cached_property
    def own_columns(self) -> Schema:
        """The same attributes, each a column of its own name that holds its values as they are.

        So rows are described that were drawn from a release, or made up: one for each person.
        """
        attributes = tuple(replace(a, origin=OWN_COLUMN) for a in self.attributes)
        return replace(self, attributes=attributes, counts=None)

    @property
    def protects(self) -> str:
        """Whom the guarantee protects, in words."""
        if self.counts is not None:
            return f"one person counted in {self.counts.column}"
        return "one row" if self.unit is None else str(self.unit)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many codes each attribute has."""
        return tuple(attribute.size for attribute in self.attributes)

    @property
    def cells(self) -> int:
        """The size of the domain: how many combinations of codes there are."""
        return math.prod(self.shape)

    @property
    def exposure(self) -> Exposure:
        """How much of the table one privacy unit can change."""
        return Exposure(self.neighbours, self.unit.max_rows if self.unit else 1)

    @cached_property
    def _indices(self) -> dict[str, int]:
        return {attribute.name: i for i, attribute in enumerate(self.attributes)}

    def index(self, name: str) -> int:
        """The position of an attribute."""
        if name not in self._indices:
            others = alternatives(name, self._indices, "the schema has")
            raise OptionError(f"there is no attribute {name!r}; {others}")
        return self._indices[name]

    def attribute(self, name: str) -> Attribute:
        """The attribute of that name."""
        return self.attributes[self.index(name)]

    def _repr_html_(self) -> str:
        from hushtable.schema.html import schema_html

        return schema_html(self)


def check_name(name: Any, what: str) -> None:
    """Refuse names that no column can have."""
    if not isinstance(name, str) or not name or name != name.strip():
        raise SchemaError(f"{what} must be text, not empty and without blanks around it")
    if len(name) > MAX_NAME or not name.isprintable():
        raise SchemaError(f"{what} must be printable and at most {MAX_NAME} characters long")


def checked_people(people: Any) -> int:
    """A declared number of rows, if it is round: it is told to everyone, a count never is."""
    if isinstance(people, bool) or not isinstance(people, int) or not 0 < people <= MAX_PEOPLE:
        raise SchemaError("people must be a whole number above zero")
    if len(str(people).rstrip("0")) > 2:
        raise SchemaError(
            "people must be a round number, two digits and zeros, such as 48000: it is published,"
            " so it must not be counted from the rows"
        )
    return people


def _check_dataset(dataset: Any) -> None:
    check_name(dataset, "the dataset's name")
    if "/" in dataset or dataset.startswith(".") or len(dataset.encode()) > MAX_NAME:
        raise SchemaError(
            "the dataset's name is the name of its ledger's file: it must not begin with a dot, nor"
            f" have a slash in it, nor more than {MAX_NAME} bytes"
        )
