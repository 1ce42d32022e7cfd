"""What a comparison of an attribute with a literal means: the codes on which it is true."""

from __future__ import annotations

import math
import re
from bisect import bisect_right
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal, InvalidOperation

from hushtable.errors import QueryError
from hushtable.query.box import CodeSet
from hushtable.schema import Attribute, Dates, Edges, IntegerRange, Labels
from hushtable.schema.dates import days_of

MAX_SUGGESTED_FROM = 10_000
"""Looking for a close match among more labels than this would take too long."""


@dataclass(frozen=True, slots=True)
class Value:
    """A literal: its text, and its exact number when it was written as one."""

    text: str
    number: Decimal | None = None

    @classmethod
    def of_number(cls, text: str) -> Value:
        """A numeric literal, exactly as written."""
        try:
            number = Decimal(text)
        except InvalidOperation:
            raise QueryError(f"{text[:40]!r} is not a number") from None
        if not number.is_finite():
            raise QueryError(f"{text[:40]!r} is not a number")
        return cls(text, number)

    def negated(self) -> Value:
        """The literal with a minus sign before it."""
        if self.number is None:
            raise QueryError(f"-{self} is not a number")
        return Value(f"-{self.text}", self.number.copy_negate())

    def __str__(self) -> str:
        return self.text[:40] if self.number is not None else repr(self.text[:60])


def equal_to(attribute: Attribute, value: Value) -> CodeSet:
    """The codes on which attribute = value; a hierarchy node stands for all the values below it."""
    if value.number is None:
        return _named(attribute, value)
    match attribute.values:
        case IntegerRange():
            return _integer(attribute, attribute.values, value, value.number)
        case Edges():
            raise QueryError(_single_value(attribute, attribute.values, value.number))
        case Labels() | Dates():
            return _named(attribute, value)


def compared(attribute: Attribute, sign: str, value: Value) -> CodeSet:
    """The codes on which attribute `sign` value holds, for <, <=, > and >=."""
    if attribute.kind == "nominal":
        raise QueryError(
            f"{attribute.name} is nominal, its values have no order for {sign}; use = or IN"
        )
    match attribute.values:
        case IntegerRange(low, _):
            below = _integers_below(sign, _number(attribute, sign, value)) - low
        case Edges():
            below = _bins_below(attribute, attribute.values, sign, _number(attribute, sign, value))
        case Dates():
            below = _steps_below(attribute, attribute.values, sign, value)
        case Labels():
            below = _ordered_label(attribute, value) + (sign in ("<=", ">"))
    below = min(max(below, 0), attribute.declared)
    return CodeSet.of((0, below) if sign in ("<", "<=") else (below, attribute.declared))


def between(attribute: Attribute, low: Value, high: Value) -> tuple[CodeSet, CodeSet]:
    """The codes on which attribute >= low, and those on which attribute <= high."""
    above = compared(attribute, ">=", low)
    try:
        return above, compared(attribute, "<=", high)
    except QueryError:
        if isinstance(attribute.values, Edges) and high.number is not None:
            text = _between_bins(attribute, attribute.values, low, high.number)
            raise QueryError(text) from None
        raise


def like(attribute: Attribute, pattern: str, escape: str | None, *, folded: bool) -> CodeSet:
    """The codes of the labels that a pattern of LIKE matches; `folded` is ILIKE."""
    if not isinstance(attribute.values, Labels):
        raise QueryError(f"{attribute.name} has no labels for LIKE; compare it by =, < or BETWEEN")
    matching = re.compile(_regular(pattern, escape), re.DOTALL | (re.IGNORECASE if folded else 0))
    labels = enumerate(attribute.values.labels)
    return CodeSet.of(*((code, code + 1) for code, label in labels if matching.fullmatch(label)))


def _regular(pattern: str, escape: str | None) -> str:
    """A pattern of LIKE as a regular expression.

    Between the first and the last text, each is taken where it first occurs: no way back is needed,
    however many % there are.
    """
    texts, characters = [""], iter(pattern)
    for character in characters:
        if character == escape:
            character = next(characters, "")
            if not character:
                raise QueryError("a pattern of LIKE ends with its ESCAPE character")
            texts[-1] += re.escape(character)
        elif character == "%":
            texts.append("")
        else:
            texts[-1] += "." if character == "_" else re.escape(character)
    first, *others = texts
    if not others:
        return first
    *between, last = others
    return first + "".join(f"(?>.*?{text})" for text in between) + ".*" + last


def sql_name(name: str) -> str:
    """A name as SQL writes it: in double quotes where it would be read as something else."""
    from sqlglot.tokens import Tokenizer

    if name.isascii() and name.isidentifier() and name.upper() not in Tokenizer.KEYWORDS:
        return name
    return '"' + name.replace('"', '""') + '"'


def sql_text(text: str) -> str:
    """A text as SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def _number(attribute: Attribute, sign: str, value: Value) -> Decimal:
    if value.number is None:
        raise QueryError(f"{attribute.name} {sign} needs a number, not the text {value}")
    return value.number


def _integer(attribute: Attribute, values: IntegerRange, value: Value, number: Decimal) -> CodeSet:
    inside = values.low <= number <= values.high
    if not inside or number != math.floor(number):
        what = "is outside" if not inside else "is not one of"
        raise QueryError(
            f"{attribute.name}: {value} {what} the integers {values.low} to {values.high}"
        )
    return CodeSet.single(int(number) - values.low)


def _integers_below(sign: str, number: Decimal) -> int:
    """The integer at which the comparison starts or stops holding."""
    # Ranges stay within ±2⁵³; an absurd exponent must not become an absurd integer.
    number = min(max(number, Decimal(-(2**60))), Decimal(2**60))
    return math.ceil(number) if sign in ("<", ">=") else math.floor(number) + 1


def _named(attribute: Attribute, value: Value) -> CodeSet:
    """The codes of a value or hierarchy node given by its name."""
    if isinstance(attribute.values, Labels):
        code = attribute.values.code_of(value.text)
        if code is not None:
            return CodeSet.single(code)
    node = attribute.hierarchy.find(value.text) if attribute.hierarchy else None
    if node is not None:
        return CodeSet.of((node.start, node.stop))
    if isinstance(attribute.values, IntegerRange) and value.text.strip().lstrip("+-").isdecimal():
        return equal_to(attribute, Value.of_number(value.text.strip()))
    if isinstance(attribute.values, Dates):
        codes = compared(attribute, ">=", value).intersection(compared(attribute, "<=", value))
        if codes:
            return codes
        ends = f"{attribute.label(0)} to {attribute.label(attribute.declared - 1)}"
        raise QueryError(f"{attribute.name}: {value} lies outside {ends}")
    if isinstance(attribute.values, Edges):
        for code in range(attribute.declared):
            if attribute.values.label(code) == value.text:
                return CodeSet.single(code)
    raise QueryError(_unknown_label(attribute, value))


def _steps_below(attribute: Attribute, values: Dates, sign: str, value: Value) -> int:
    """The step before which a threshold cuts: one day after its last day for <= and >."""
    days = days_of(value.text)
    if days is None:
        raise QueryError(f"{attribute.name}: {value} is no date; write '2024', '2024-12' or a day")
    after = sign in ("<=", ">")
    below = values.number_of(days[after]) - values.low
    if values.by == "day" or not 0 <= below < values.size:
        return below + after
    start, code = values.start_of(below), below
    following = values.start_of(code + 1) if code + 1 < values.size else None
    if not after and days[0] == start:
        return code
    if after and (following is None or days[1] + timedelta(days=1) == following):
        return code + 1
    raise QueryError(
        f"{attribute.name} is by {values.by}: {value} lies inside {values.label(code)};"
        f" compare with whole {values.by}s, as in '{values.label(code)}'"
    )


def _ordered_label(attribute: Attribute, value: Value) -> int:
    assert isinstance(attribute.values, Labels)
    code = attribute.values.code_of(value.text)
    if code is not None:
        return code
    if attribute.hierarchy and attribute.hierarchy.find(value.text):
        raise QueryError(
            f"{attribute.name}: {value} is a group of values and has no place in an order; "
            "use = or IN, or compare with a single value"
        )
    raise QueryError(_unknown_label(attribute, value))


def _unknown_label(attribute: Attribute, value: Value) -> str:
    """Say that there is no such value, with the closest names there are."""
    from difflib import get_close_matches

    known = _names(attribute)
    folded = value.text.casefold()
    close = [name for name in known if name.casefold() == folded]
    close = close or get_close_matches(value.text, known[:MAX_SUGGESTED_FROM], n=3)
    text = f"{attribute.name} has no value {value}"
    if close:
        return f"{text}; did you mean {' or '.join(map(repr, close))}?"
    if isinstance(attribute.values, IntegerRange):
        return f"{text}; its values are {attribute.values.low} to {attribute.values.high}"
    shown = ", ".join(map(repr, known[:5])) + (", …" if len(known) > 5 else "")
    return f"{text}; it has {shown}"


def _names(attribute: Attribute) -> list[str]:
    """Every name = accepts, values first; none for plain integers, which are too many to list."""
    own: list[str] = []
    if not isinstance(attribute.values, IntegerRange | Dates):
        own = [str(attribute.label(code)) for code in range(attribute.declared)]
    nodes = attribute.hierarchy.nodes if attribute.hierarchy else ()
    return list(dict.fromkeys([*own, *(node.label for node in nodes)]))


def _edges(values: Edges) -> list[Decimal]:
    """The edges as they are written: 0.1 is the decimal 0.1, not the nearest binary fraction."""
    return [Decimal(repr(edge)) for edge in values.edges]


def _bins_below(attribute: Attribute, values: Edges, sign: str, number: Decimal) -> int:
    """The bin before which the threshold cuts, refused when it would cut through a bin."""
    edges = _edges(values)
    beyond = number > edges[-1] or (number == edges[-1] and sign in ("<=", ">"))
    if beyond:
        return values.size
    if number < edges[0]:
        return 0
    if sign in ("<", ">=") and number in edges[:-1]:
        return edges.index(number)
    raise QueryError(_cut_bin(attribute, values, sign, number))


def _bin_holding(values: Edges, number: Decimal) -> int:
    return min(bisect_right(_edges(values), number) - 1, values.size - 1)


def _cut_bin(attribute: Attribute, values: Edges, sign: str, number: Decimal) -> str:
    """Say which bin a threshold cuts, and which thresholds do not."""
    code = _bin_holding(values, number)
    name, lower, upper = sql_name(attribute.name), *_bin_ends(values, code)
    inside = number not in (Decimal(lower), Decimal(upper))
    if inside:
        problem = f"{attribute.name}: {_short(number)} lies inside the bin {values.label(code)}"
    else:
        problem = f"{name} {sign} {_short(number)} cuts the bin {values.label(code)}"
    if inside and sign in ("<", ">=") and code < values.size - 1:
        return f"{problem}; use {lower} or {upper}"
    below, above = _threshold(name, sign, values, code), _threshold(name, sign, values, code + 1)
    return f"{problem}; use {below} or {above}"


def _threshold(name: str, sign: str, values: Edges, edge: int) -> str:
    """A comparison that cuts exactly at an edge; at the last, closed one < becomes <=."""
    low_side = sign in ("<", "<=")
    last = edge == values.size
    allowed = ("<=" if last else "<") if low_side else (">" if last else ">=")
    return f"{name} {allowed} {_show(values.edges[edge])}"


def _between_bins(attribute: Attribute, values: Edges, low: Value, high: Decimal) -> str:
    """Say which bin the upper end of a BETWEEN cuts, and how to write it without."""
    code = _bin_holding(values, high)
    name = sql_name(attribute.name)
    lower, upper = _threshold(name, "<", values, code), _threshold(name, "<", values, code + 1)
    problem = f"{name} BETWEEN {low} AND {_short(high)} cuts the bin {values.label(code)}"
    return f"{problem}; use {name} >= {low} AND {lower}, or {name} >= {low} AND {upper}"


def _single_value(attribute: Attribute, values: Edges, number: Decimal) -> str:
    """Say that a bin cannot tell one number from those beside it."""
    edges = _edges(values)
    if not edges[0] <= number <= edges[-1]:
        ends = f"{_show(values.edges[0])} to {_show(values.edges[-1])}"
        return f"{attribute.name}: {_short(number)} lies outside the edges {ends}"
    code = _bin_holding(values, number)
    lower, upper = _bin_ends(values, code)
    return (
        f"{attribute.name} is in bins: {_short(number)} lies in {values.label(code)}, between the "
        f"edges {lower} and {upper}; use {sql_name(attribute.name)} = '{values.label(code)}'"
    )


def _bin_ends(values: Edges, code: int) -> tuple[str, str]:
    return _show(values.edges[code]), _show(values.edges[code + 1])


def _short(number: Decimal) -> str:
    return str(number)[:40]


def _show(edge: int | float) -> str:
    return str(int(edge)) if edge == int(edge) else repr(edge)
