"""An attribute: how one column of the table becomes codes 0, 1, 2, …"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

from hushtable.errors import SchemaError
from hushtable.schema.dates import Dates
from hushtable.schema.hierarchy import Hierarchy, check_label
from hushtable.schema.origin import OWN_COLUMN, PART_NUMBERS, WEEKDAYS, Origin

Kind = Literal["ordinal", "nominal"]
Outside = Literal["clip", "drop", "other"]
OUTSIDE: tuple[Outside, ...] = get_args(Outside)

# Values are read as 64-bit floats. Integers up to here are exact in them, and nothing larger is
# rounded to one of these.
EXACT_INTEGERS = 2**53 - 1

_TRAILING_ZEROS = re.compile(r"-?[0-9]+\.[0-9]*0")


@dataclass(frozen=True)
class IntegerRange:
    """The integers low … high, both included; a fraction counts as the integer below it."""

    low: int
    high: int

    def __post_init__(self) -> None:
        if any(isinstance(end, bool) or not isinstance(end, int) for end in (self.low, self.high)):
            raise SchemaError("range must be two integers")
        if max(abs(self.low), abs(self.high)) > EXACT_INTEGERS:
            raise SchemaError("range must stay within ±(2^53 − 1)")
        if self.low > self.high:
            raise SchemaError(f"range [{self.low}, {self.high}] is reversed or empty")

    @property
    def size(self) -> int:
        return self.high - self.low + 1

    def label(self, code: int) -> int:
        return self.low + code


@dataclass(frozen=True)
class Edges:
    """Bins [e₀, e₁), [e₁, e₂), …; the last one is closed.

    >>> Edges((0, 10, 20)).label(0), Edges((0, 10, 20)).label(1), Edges((0, 0.5)).label(0)
    ('[0, 10)', '[10, 20]', '[0, 0.5]')
    """

    edges: tuple[int | float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", tuple(self.edges))
        if any(isinstance(e, bool) or not isinstance(e, int | float) for e in self.edges):
            raise SchemaError("edges must be numbers")
        if len(self.edges) < 2:
            raise SchemaError("edges must be at least two numbers")
        if not all(abs(e) <= EXACT_INTEGERS for e in self.edges):  # nor is NaN below anything
            raise SchemaError("edges must be finite and stay within ±(2^53 − 1)")
        if any(left >= right for left, right in zip(self.edges, self.edges[1:], strict=False)):
            raise SchemaError("edges must increase strictly")

    @property
    def size(self) -> int:
        return len(self.edges) - 1

    def label(self, code: int) -> str:
        end = "]" if code == self.size - 1 else ")"
        return f"[{_number(self.edges[code])}, {_number(self.edges[code + 1])}{end}"


@dataclass(frozen=True)
class Labels:
    """Named values, in the order of their codes.

    A value of the table has a label if its text, without the blanks around it, is the label. Where
    a whole number is declared as `2` or as `2.0`, both are read as it: tools turn one into the
    other for a whole column as soon as one value of it is missing. True and false are read in small
    and capital letters, as tools differ, and as 1 and 0 where only these are labels.
    """

    labels: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", tuple(self.labels))
        if not self.labels:
            raise SchemaError("an attribute needs at least one label")
        if any(check_label(label) != label for label in self.labels):
            raise SchemaError("labels must be text")
        if len(self._codes) < len(self.labels):
            twice = next(
                label for code, label in enumerate(self.labels) if self._codes[label] != code
            )
            raise SchemaError(f"label {twice!r} stands twice")

    @cached_property
    def _codes(self) -> dict[str, int]:
        return {label: code for code, label in enumerate(self.labels)}

    @property
    def size(self) -> int:
        return len(self.labels)

    def label(self, code: int) -> str:
        return self.labels[code]

    def code_of(self, label: str) -> int | None:
        return self._codes.get(label)

    @cached_property
    def spellings(self) -> dict[str, int]:
        """Every text that is read as a label, with the label's code."""
        codes = dict(self._codes)
        for label, code in self._codes.items():
            whole = label.removesuffix(".0")
            if is_integer_text(whole):
                codes.setdefault(whole, code)
                codes.setdefault(f"{whole}.0", code)
        for label, code in self._codes.items():  # as numbers are written that are not text
            if _TRAILING_ZEROS.fullmatch(label):
                codes.setdefault(label.rstrip("0").rstrip("."), code)
        for word, digit in (("true", "1"), ("false", "0")):
            read_as = next((label for label in codes if label.lower() == word), digit)
            for spelling in (word, word.capitalize(), word.upper()):
                if read_as in codes:
                    codes.setdefault(spelling, codes[read_as])
        return codes


Values = IntegerRange | Edges | Labels | Dates


@dataclass(frozen=True)
class Attribute:
    """A named column, its codes, and where values outside them go."""

    name: str
    kind: Kind
    values: Values
    outside: Outside
    hierarchy: Hierarchy | None = None
    origin: Origin = OWN_COLUMN

    def __post_init__(self) -> None:
        if self.outside not in OUTSIDE:
            raise SchemaError(f"outside must be one of {', '.join(OUTSIDE)}")
        if self.outside == "clip" and isinstance(self.values, Labels):
            raise SchemaError("outside = 'clip' needs a range or edges; use 'drop' or 'other'")
        _check_origin(self.origin, self.values)

    @property
    def column(self) -> str:
        """The column of the table that its values are read from."""
        return self.name if self.origin.column is None else self.origin.column

    @property
    def declared(self) -> int:
        """How many codes stand for declared values."""
        return self.values.size

    @property
    def size(self) -> int:
        """How many codes there are, that of nulls and other values included."""
        return self.declared + (self.outside == "other")

    @property
    def other(self) -> int | None:
        """The code of nulls and undeclared values, where they have one."""
        return self.declared if self.outside == "other" else None

    def label(self, code: int) -> int | str | None:
        """What a code stands for; None is the code of nulls and undeclared values."""
        if not 0 <= code < self.size:
            raise IndexError(code)
        return None if code == self.other else self.values.label(code)


def ordinal(
    name: str,
    values: Values,
    *,
    outside: Outside | None = None,
    hierarchy: Hierarchy | None = None,
    origin: Origin = OWN_COLUMN,
) -> Attribute:
    """An attribute whose codes have an order; a hierarchy over it must respect that order."""
    if outside is None:
        outside = "drop" if isinstance(values, Labels) else "clip"
    if hierarchy is not None:
        if values.size > hierarchy.size:
            raise SchemaError("the hierarchy has fewer leaves than the attribute has values")
        hierarchy = hierarchy.restricted([str(values.label(code)) for code in range(values.size)])
    return Attribute(name, "ordinal", values, outside, hierarchy, origin)


def nominal(
    name: str, hierarchy: Hierarchy, *, outside: Outside = "drop", origin: Origin = OWN_COLUMN
) -> Attribute:
    """An attribute whose values are the leaves of a hierarchy."""
    values = Labels(hierarchy.leaves)
    return Attribute(name, "nominal", values, outside, hierarchy, origin)


def part_values(part: str | None) -> Values | None:
    """The values of a part of a moment, where they need not be declared."""
    if part == "weekday":
        return Labels(WEEKDAYS)
    return IntegerRange(*PART_NUMBERS[part]) if part in PART_NUMBERS else None


def _check_origin(origin: Origin, values: Values) -> None:
    """Refuse values that what is read of the column can never have."""
    if origin.part is not None:
        _check_part(origin.part, values)
    if origin.zone is not None and origin.part is None and not isinstance(values, Dates):
        raise SchemaError("zone goes with part or dates")
    if origin.decimal is not None and not isinstance(values, IntegerRange | Edges):
        raise SchemaError("decimal goes with range, edges or bins")
    if origin.prefix is not None:
        if not isinstance(values, Labels):
            raise SchemaError("prefix goes with labels or with nominal values")
        if any(len(label) > origin.prefix for label in values.labels):
            raise SchemaError(f"no prefix of {origin.prefix} characters is as long as every label")


def _check_part(part: str, values: Values) -> None:
    if part == "weekday":
        if not isinstance(values, Labels) or not set(WEEKDAYS).issuperset(values.labels):
            raise SchemaError(f"labels of part = 'weekday' must be of {', '.join(WEEKDAYS)}")
    elif part == "date":
        if not isinstance(values, Dates):
            raise SchemaError("part = 'date' needs dates = [first, last]")
    elif not isinstance(values, IntegerRange | Edges):
        raise SchemaError(f"part = {part!r} is a number: it needs a range or edges")
    elif part in PART_NUMBERS:
        first, last = PART_NUMBERS[part]
        low, high = (
            (values.low, values.high)
            if isinstance(values, IntegerRange)
            else (values.edges[0], values.edges[-1] - 1)
        )
        if low < first or high > last:
            raise SchemaError(f"part = {part!r} has the numbers {first} to {last} only")


def is_integer_text(text: str) -> bool:
    """Whether this is how an integer of 64 bits is written, with or without a sign."""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 20):
        return False
    return text == str(int(text)) and -(2**63) <= int(text) < 2**64


def _number(value: int | float) -> str:
    return str(int(value)) if value == int(value) else repr(value)
