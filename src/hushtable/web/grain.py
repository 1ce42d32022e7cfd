"""How coarsely an attribute is seen: its values one by one, a level of its hierarchy, or steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hushtable.errors import QueryError
from hushtable.query.literal import sql_name, sql_text
from hushtable.schema import Attribute, Dates, IntegerRange

MOST_BARS = 50
"""Of a hierarchy whose values are shown one by one at first."""

MOST_POINTS = 150
"""Of an axis of numbers that is shown one by one at first."""


@dataclass(frozen=True)
class Grain:
    """The values themselves."""

    @property
    def code(self) -> str:
        """What a URL calls it."""
        return "each"

    @property
    def words(self) -> str:
        """What a page calls it."""
        return "each value"

    def sql(self, name: str) -> str:
        """The column of SELECT."""
        return name

    def condition(self, attribute: Attribute, label: str | None) -> str:
        """What is true of the rows of one group alone."""
        name = sql_name(attribute.name)
        return f"{name} IS NULL" if label is None else f"{name} = {sql_text(label)}"

    def filter_of(self, attribute: Attribute, label: str | None) -> dict[str, Any]:
        """The filter that leaves the rows of one group."""
        return {"missing": True} if label is None else {"values": (label,)}

    def finer(self, attribute: Attribute, label: str | None) -> Grain | None:
        """How the inside of a group is seen; None where there is nothing inside."""
        return None


@dataclass(frozen=True)
class Level(Grain):
    """A level of a hierarchy, by its depth below the root."""

    depth: int = 1

    @property
    def code(self) -> str:
        return str(self.depth)

    @property
    def words(self) -> str:
        return f"groups, level {self.depth}"

    def sql(self, name: str) -> str:
        return f"LEVEL({name}, {self.depth})"

    def finer(self, attribute: Attribute, label: str | None) -> Grain | None:
        node = attribute.hierarchy.find(label) if attribute.hierarchy and label else None
        if node is None or node.is_leaf:
            return None
        return level_grain(attribute, self.depth + 1)


@dataclass(frozen=True)
class Steps(Grain):
    """Ranges of whole numbers, as wide as a step."""

    step: int = 10

    @property
    def code(self) -> str:
        return str(self.step)

    @property
    def words(self) -> str:
        return f"steps of {self.step:,}"

    def sql(self, name: str) -> str:
        return f"FLOOR({name} / {self.step}) * {self.step} AS {name}"

    def condition(self, attribute: Attribute, label: str | None) -> str:
        if label is None:
            return super().condition(attribute, label)
        first = _whole(attribute, label)
        name = sql_name(attribute.name)
        return f"{name} >= {first} AND {name} < {first + self.step}"

    def filter_of(self, attribute: Attribute, label: str | None) -> dict[str, Any]:
        if label is None:
            return {"missing": True}
        first = _whole(attribute, label)
        return {"first": str(first), "last": str(first + self.step - 1)}

    def finer(self, attribute: Attribute, label: str | None) -> Grain | None:
        if label is None:
            return None
        smaller = [step for step in _steps(attribute) if step < self.step]
        return Steps(smaller[-1]) if smaller and self.step > MOST_POINTS else Grain()


@dataclass(frozen=True)
class Spans(Grain):
    """Months or years of dates."""

    span: str = "month"

    @property
    def code(self) -> str:
        return self.span

    @property
    def words(self) -> str:
        return f"each {self.span}"

    def sql(self, name: str) -> str:
        return f"DATE_TRUNC('{self.span}', {name}) AS {name}"

    def condition(self, attribute: Attribute, label: str | None) -> str:
        return super().condition(attribute, label and self._written(label))

    def filter_of(self, attribute: Attribute, label: str | None) -> dict[str, Any]:
        if label is None:
            return {"missing": True}
        return {"values": (self._written(label),)}

    def _written(self, label: str) -> str:
        """The month or the year that begins with a day."""
        return label[: 4 if self.span == "year" else 7]

    def finer(self, attribute: Attribute, label: str | None) -> Grain | None:
        return None if label is None else Grain()


def grains_of(attribute: Attribute) -> list[Grain]:
    """All ways to see an attribute, the coarsest first."""
    values = attribute.values
    if attribute.hierarchy is not None and attribute.hierarchy.height > 1:
        return [*map(Level, range(1, attribute.hierarchy.height)), Grain()]
    if isinstance(values, IntegerRange):
        return [*map(Steps, reversed(_steps(attribute))), Grain()]
    if isinstance(values, Dates):
        spans = {"day": ("year", "month"), "month": ("year",), "year": ()}[values.by]
        return [*map(Spans, spans), Grain()]
    return [Grain()]


def default_grain(attribute: Attribute) -> Grain:
    """Where one begins: a hierarchy at its top, else the finest that a chart still shows."""
    if attribute.hierarchy is not None and attribute.hierarchy.height > 1:
        return Level(1)
    fitting = [one for one in grains_of(attribute) if _groups(attribute, one) <= _most(attribute)]
    return fitting[-1] if fitting else grains_of(attribute)[0]


def grain_called(attribute: Attribute, code: str) -> Grain:
    """The grain of a code in a URL."""
    stepped = isinstance(attribute.values, IntegerRange) and attribute.hierarchy is None
    if stepped and code.isdecimal() and len(code) < 17 and int(code) > 1:
        return Steps(int(code))
    for grain in grains_of(attribute):
        if grain.code == code:
            return grain
    known = ", ".join(grain.code for grain in grains_of(attribute))
    raise QueryError(f"{attribute.name} is not seen in this way; at is one of: {known}")


def level_grain(attribute: Attribute, depth: int) -> Grain:
    """A level of an attribute's hierarchy; the last one is that of its values."""
    assert attribute.hierarchy is not None
    return Level(depth) if depth < attribute.hierarchy.height else Grain()


def _most(attribute: Attribute) -> int:
    return MOST_POINTS if attribute.kind == "ordinal" else MOST_BARS


def _groups(attribute: Attribute, grain: Grain) -> int:
    match grain:
        case Level(depth) if attribute.hierarchy is not None:
            return len(attribute.hierarchy.level(depth))
        case Steps(step):
            return attribute.declared // step + 1
        case Spans(span) if isinstance(attribute.values, Dates):
            months = {"day": 30, "month": 1, "year": 1 / 12}[attribute.values.by]
            return int(attribute.declared / months / (12 if span == "year" else 1)) + 1
    return attribute.declared


def _steps(attribute: Attribute) -> list[int]:
    """Round widths that cut a range of numbers into a few parts or more, the narrowest first."""
    found, step = [], 1
    while step < attribute.declared:
        found += [step * factor for factor in (1, 2, 5) if step * factor > 1]
        step *= 10
    return [step for step in found if step * 2 <= attribute.declared]


def _whole(attribute: Attribute, label: str) -> int:
    try:
        return int(label)
    except ValueError:
        raise QueryError(f"{attribute.name} has numbers; give one") from None
