"""Expressions of a row: pieces of the table on which an expression has one form.

A number is linear in attributes, a label or date is an attribute's own, and functions such as FLOOR
have the values of steps (`stepwise`). CASE joins pieces with conditions of their own. Where no
piece applies, and where an attribute is NULL, so is the expression.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from sqlglot import exp

from hushtable.errors import QueryError
from hushtable.query.box import CodeSet
from hushtable.query.predicate import MAX_DEPTH, All, Any, Atom, Constant, Formula, Holds, Not
from hushtable.query.sql import stepwise
from hushtable.query.sql.condition import CONDITIONS, DATE_PARTS, ConditionReader
from hushtable.query.sql.stepwise import Label, Near, Rounding, Stepwise
from hushtable.query.sql.syntax import (
    called,
    column_name,
    exact,
    find_attribute,
    met,
    natural,
    refuse_extras,
    without_parentheses,
)
from hushtable.schema import Attribute, Edges, IntegerRange, Labels

if TYPE_CHECKING:
    from hushtable.schema import Schema

MOST_PIECES = 1_000
MOST_BRANCHES = 200
EVERYWHERE = Constant(True)
_WHOLE_TYPES = {"TINYINT", "SMALLINT", "INT", "BIGINT", "INT128"}
_REAL_TYPES = {"FLOAT", "DOUBLE", "REAL"}
_PARTS: dict[str, str] = {
    "Year": "year",
    "Quarter": "quarter",
    "Month": "month",
    "Day": "day",
    "DayOfMonth": "day",
    "DayOfWeek": "dow",
    "DayOfYear": "doy",
    "Week": "week",
    "WeekOfYear": "week",
}
"""Functions that take a part out of a date, as the parser calls them."""
_ROUNDINGS: dict[type[exp.Expression], Rounding] = {
    exp.Floor: stepwise.floor,
    exp.Ceil: stepwise.ceil,
    exp.Round: stepwise.half_away,
}
_HELP = (
    "expressions are of attributes and values, by + - * / //, FLOOR, CEIL, ROUND, CASE, "
    "DATE_TRUNC, EXTRACT, LEFT and SUBSTRING"
)


@dataclass(frozen=True, slots=True)
class Linear:
    """A number: a constant, and multiples of attributes, NULL where one of these is."""

    terms: tuple[tuple[int, Fraction], ...]
    constant: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Own:
    """The label or the date that an attribute has."""

    axis: int


Value = Linear | Stepwise | Own | str | bool


@dataclass(frozen=True, slots=True)
class Piece:
    """What an expression is where a condition holds."""

    where: Formula
    value: Value


RowValue = tuple[Piece, ...]


def not_null(axis: int, schema: Schema) -> Formula:
    """Where an attribute has a value."""
    attribute = schema.attributes[axis]
    if attribute.other is None:
        return EVERYWHERE
    return Atom(axis, CodeSet.of((0, attribute.declared)))


def known(piece: Piece, schema: Schema) -> Formula:
    """Where a piece applies and is not NULL."""
    match piece.value:
        case Linear(terms, _):
            return All((piece.where, *(not_null(axis, schema) for axis, _ in terms)))
        case Stepwise(axis, _):
            return All((piece.where, Atom(axis, piece.value.codes)))
        case Own(axis):
            return All((piece.where, not_null(axis, schema)))
        case _:
            return piece.where


@dataclass(frozen=True)
class RowReader:
    """Reads expressions of the rows of one schema; `tables` are the names that it goes by."""

    schema: Schema
    tables: set[str]

    def read(self, node: exp.Expression, depth: int = 0) -> RowValue:
        """The pieces of an expression, disjoint."""
        node = without_parentheses(node)
        if depth > MAX_DEPTH:
            raise QueryError("the expression is nested too deeply")
        match node:
            case exp.Column() if not isinstance(node.this, exp.Star):
                return (Piece(EVERYWHERE, self._own(node)),)
            case exp.Literal() | exp.Boolean():
                return (Piece(EVERYWHERE, _literal(node)),)
            case exp.Null():
                return ()
            case exp.Case() | exp.If():
                return self._case(node, depth)
            case exp.Coalesce():
                return self._coalesce(node, depth)
            case exp.Neg() | exp.Add() | exp.Sub() | exp.Mul() | exp.Div() | exp.IntDiv():
                return self._arithmetic(node, depth)
            case _ if isinstance(node, CONDITIONS):
                return self._truth(node)
            case _:
                return self._function(node, depth)

    def condition(self, node: exp.Expression) -> Formula:
        """The formula of a condition."""
        return ConditionReader(self.schema, self.tables).read(node)

    def attribute(self, node: exp.Expression) -> tuple[int, Attribute] | None:
        """The attribute that a node names, if it names one."""
        node = without_parentheses(node)
        if not isinstance(node, exp.Column) or isinstance(node.this, exp.Star):
            return None
        axis = find_attribute(column_name(node, self.tables), self.schema)
        return axis, self.schema.attributes[axis]

    def _own(self, node: exp.Column) -> Value:
        found = self.attribute(node)
        assert found is not None
        axis, attribute = found
        if isinstance(attribute.values, IntegerRange | Edges):
            return Linear(((axis, Fraction(1)),))
        return Own(axis)

    def _truth(self, node: exp.Expression) -> RowValue:
        """A condition as a value: true, false, or NULL."""
        formula = self.condition(node)
        return Piece(formula, True), Piece(Not(formula), False)

    # ── CASE ─────────────────────────────────────────────────────────────────────────────────────

    def _case(self, node: exp.Case | exp.If, depth: int) -> RowValue:
        """The first branch whose condition holds."""
        branches = [
            (self.condition(when), self.read(then, depth + 1)) for when, then in _branches(node)
        ]
        otherwise = node.args.get("default") or node.args.get("false")
        if otherwise is not None:
            branches.append((EVERYWHERE, self.read(otherwise, depth + 1)))
        return _first(branches)

    def _coalesce(self, node: exp.Coalesce, depth: int) -> RowValue:
        """The first value that is not NULL."""
        branches = []
        for part in (node.this, *node.expressions):
            pieces = self.read(part, depth + 1)
            branches.append((Any(tuple(known(piece, self.schema) for piece in pieces)), pieces))
        return _first(branches)

    # ── arithmetic ───────────────────────────────────────────────────────────────────────────────

    def _arithmetic(self, node: exp.Expression, depth: int) -> RowValue:
        left = self.read(node.this, depth + 1)
        if isinstance(node, exp.Neg):
            return _each(left, lambda value: self._times(value, Fraction(-1), node))
        refuse_extras(node, {"this", "expression"}, _HELP)
        right = self.read(node.expression, depth + 1)
        if len(left) * len(right) > MOST_PIECES:
            raise QueryError(f"{met(node)} has more than {MOST_PIECES} cases")
        return tuple(
            Piece(All((one.where, two.where)), self._combined(node, one.value, two.value))
            for one in left
            for two in right
        )

    def _combined(self, node: exp.Expression, left: Value, right: Value) -> Value:
        if isinstance(node, exp.Mul) and _constant(left) is not None:
            left, right = right, left
        number = _constant(right)
        match node:
            case exp.Add() | exp.Sub():
                return self._sum(left, right, 1 if isinstance(node, exp.Add) else -1, node)
            case exp.Mul() if number is not None:
                return self._times(left, number, node)
            case exp.Div() if number:
                return self._times(left, 1 / number, node)
            case exp.IntDiv() if number and number.denominator == 1 and self._whole(left):
                share = self._times(left, 1 / number, node)
                return self.rounded(share, stepwise.towards_zero, node)
            case _:
                raise QueryError(
                    f"{met(node)} cannot be answered: an attribute is multiplied or divided by a "
                    "number other than zero, and // is for whole numbers; use FLOOR(x / 10)"
                )

    def _sum(self, left: Value, right: Value, sign: int, node: exp.Expression) -> Value:
        match left, right:
            case Linear(), Linear():
                terms = dict(left.terms)
                for axis, factor in right.terms:
                    terms[axis] = terms.get(axis, Fraction(0)) + sign * factor
                constant = left.constant + sign * right.constant
                return Linear(tuple(sorted(terms.items())), constant)
            case Stepwise(), Linear((), constant):
                return left.mapped(lambda label: _number(label, node) + sign * constant)
            case Linear((), _), Stepwise():
                return self._sum(self._times(right, Fraction(sign), node), left, 1, node)
            case _:
                raise QueryError(f"{met(node)} is no sum of numbers that can be answered; {_HELP}")

    def _times(self, value: Value, factor: Fraction, node: exp.Expression) -> Value:
        match value:
            case Linear(terms, constant):
                scaled = tuple((axis, factor * weight) for axis, weight in terms)
                return Linear(scaled, factor * constant)
            case Stepwise():
                return value.mapped(lambda label: factor * _number(label, node))
            case _:
                raise QueryError(f"{met(node)} calculates with a text or a date; {_HELP}")

    def _whole(self, value: Value) -> bool:
        """Whether a value is always a whole number."""
        match value:
            case Linear(terms, constant):
                kinds = (self.schema.attributes[axis].values for axis, _ in terms)
                numbers = (constant, *(weight for _, weight in terms))
                whole = all(number.denominator == 1 for number in numbers)
                return whole and all(isinstance(kind, IntegerRange) for kind in kinds)
            case Stepwise(_, steps):
                return all(isinstance(n, Fraction) and n.denominator == 1 for n, _ in steps)
            case _:
                return False

    def rounded(self, value: Value, rounding: Rounding, node: exp.Expression) -> Value:
        """A number rounded, or as it is if the rounding is `exactly`."""
        match value:
            case Linear((), constant):
                return Linear((), rounding(Near(constant)))
            case Linear(((axis, factor),), constant):
                attribute = self.schema.attributes[axis]
                return stepwise.of_number(axis, attribute, factor, constant, rounding)
            case Linear():
                raise QueryError(f"{met(node)} is of several attributes; use one at a time")
            case Stepwise():
                return value.mapped(lambda label: rounding(Near(_number(label, node))))
            case bool():
                return Linear((), Fraction(value))
            case _:
                raise QueryError(f"{met(node)} rounds a text or a date; {_HELP}")

    # ── functions ────────────────────────────────────────────────────────────────────────────────

    def _function(self, node: exp.Expression, depth: int) -> RowValue:
        if type(node) in _ROUNDINGS:
            refuse_extras(node, {"this"}, "round to whole numbers: ROUND(x / 10) * 10")
            return self._rounding(node, _ROUNDINGS[type(node)], depth)
        if isinstance(node, exp.Cast):
            return self._cast(node, depth)
        found = self._of_date(node) or self._of_label(node)
        if found is None:
            raise QueryError(f"{met(node)} is not supported; {_HELP}")
        return (Piece(EVERYWHERE, found),)

    def _rounding(self, node: exp.Expression, rounding: Rounding, depth: int) -> RowValue:
        pieces = self.read(node.this, depth + 1)
        return _each(pieces, lambda value: self.rounded(value, rounding, node))

    def _cast(self, node: exp.Cast, depth: int) -> RowValue:
        refuse_extras(node, {"this", "to", "type", "_type"}, _HELP)
        name = node.to.this.name
        if name in _WHOLE_TYPES:
            return self._rounding(node, stepwise.half_even, depth)
        pieces = self.read(node.this, depth + 1)
        if name in _REAL_TYPES and all(isinstance(p.value, Linear | Stepwise) for p in pieces):
            return pieces
        raise QueryError(f"{met(node)} is not supported; cast numbers to INTEGER or DOUBLE")

    def _of_date(self, node: exp.Expression) -> Value | None:
        """A part of a date, or the day on which a month or the like begins."""
        column, part = _date_part(node)
        unit = _date_unit(node)
        if column is None and unit is None:
            return None
        axis, attribute = self._argument(node.this if column is None else column, node)
        if column is not None:
            return stepwise.of_date_part(axis, attribute, part)
        return stepwise.of_date_start(axis, attribute, unit or "")

    def _of_label(self, node: exp.Expression) -> Value | None:
        """The beginning, the end or the middle of a label."""
        function = _cutting(node)
        if function is None:
            return None
        axis, attribute = self._argument(node.this, node)
        if not isinstance(attribute.values, Labels):
            raise QueryError(f"{met(node)}: {attribute.name} has no labels to take a part of")
        return stepwise.of_label(axis, attribute, function)

    def _argument(self, argument: exp.Expression, node: exp.Expression) -> tuple[int, Attribute]:
        found = self.attribute(argument)
        if found is None:
            raise QueryError(f"{met(node)} is not supported; it takes an attribute by its name")
        return found


def _each(pieces: RowValue, function: Callable[[Value], Value]) -> RowValue:
    return tuple(Piece(piece.where, function(piece.value)) for piece in pieces)


def _first(branches: Sequence[tuple[Formula, RowValue]]) -> RowValue:
    """The pieces of the first branch that applies."""
    if len(branches) > MOST_BRANCHES:
        raise QueryError(f"a CASE has more than {MOST_BRANCHES} branches")
    pieces: list[Piece] = []
    before: list[Formula] = []
    for condition, value in branches:
        here = All((Holds(condition), *(Not(Holds(earlier)) for earlier in before)))
        pieces += [Piece(All((here, piece.where)), piece.value) for piece in value]
        before.append(condition)
        if len(pieces) > MOST_PIECES:
            raise QueryError(f"a CASE has more than {MOST_PIECES} cases")
    return tuple(pieces)


def _branches(node: exp.Case | exp.If) -> list[tuple[exp.Expression, exp.Expression]]:
    """The conditions of a CASE and what it is then."""
    if isinstance(node, exp.If):
        return [(node.this, node.args["true"])]
    operand = node.this
    return [
        (
            branch.this
            if operand is None
            else exp.EQ(this=operand.copy(), expression=branch.this.copy()),
            branch.args["true"],
        )
        for branch in node.args["ifs"]
    ]


def _constant(value: Value) -> Fraction | None:
    return value.constant if isinstance(value, Linear) and not value.terms else None


def _number(label: Label, node: exp.Expression) -> Fraction:
    if isinstance(label, bool) or not isinstance(label, Fraction):
        raise QueryError(f"{met(node)} calculates with a text or a date; {_HELP}")
    return label


def _literal(node: exp.Expression) -> Value:
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if node.is_string:
        return str(node.this)
    return Linear((), exact(node))


def _date_part(node: exp.Expression) -> tuple[exp.Expression | None, str]:
    """The column of a date of which a part is taken, and the part."""
    if isinstance(node, exp.Extract):
        return node.expression, str(node.this.name).lower()
    if called(node) in DATE_PARTS and len(node.expressions) == 2:
        return node.expressions[1], str(node.expressions[0].name).lower()
    part = _PARTS.get(type(node).__name__)
    return (None, "") if part is None else (_unwrapped(node.this), part)


def _unwrapped(node: exp.Expression) -> exp.Expression:
    """An argument without the conversion that the parser of some dialects puts around it."""
    return node.this if isinstance(node, exp.TsOrDsToDate) else node


def _date_unit(node: exp.Expression) -> str | None:
    """The unit of DATE_TRUNC."""
    if not isinstance(node, exp.DateTrunc | exp.TimestampTrunc):
        return None
    refuse_extras(node, {"this", "unit"}, "DATE_TRUNC takes a unit and an attribute")
    return str(node.args["unit"].name).lower()


def _cutting(node: exp.Expression) -> Callable[[str], str] | None:
    """What LEFT, RIGHT or SUBSTRING makes of a text."""
    match node:
        case exp.Left():
            size = _size(node.expression, node)
            return lambda text: text[:size]
        case exp.Right():
            size = _size(node.expression, node)
            return lambda text: text[max(len(text) - size, 0) :]
        case exp.Substring():
            start, length = node.args.get("start"), node.args.get("length")
            first = 1 if start is None else _size(start, node)
            if first < 1:
                raise QueryError(f"{met(node)}: characters are counted from 1")
            stop = None if length is None else first - 1 + _size(length, node)
            return lambda text: text[first - 1 : stop]
        case _:
            return None


def _size(node: exp.Expression, whole: exp.Expression) -> int:
    number = natural(node)
    if number is None:
        raise QueryError(f"{met(whole)} takes whole numbers of characters")
    return number
