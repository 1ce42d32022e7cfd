"""WHERE clauses: from sqlglot's tree to a formula over the attributes."""

from __future__ import annotations

import operator
import re
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from sqlglot import exp

from hushtable.errors import QueryError
from hushtable.query.box import CodeSet
from hushtable.query.literal import Value, between, compared, equal_to, like, sql_name
from hushtable.query.predicate import MAX_DEPTH, All, Any, Atom, Constant, Formula, Holds, Not
from hushtable.query.sql.syntax import (
    called,
    column_name,
    exact,
    find_attribute,
    met,
    quoted,
    refuse_extras,
    without_parentheses,
    written,
)
from hushtable.schema import Attribute, Dates, Schema

if TYPE_CHECKING:
    from hushtable.query.sql.stepwise import Label

Sign = Literal["=", "<>", "<", "<=", ">", ">="]
CONDITION_HELP = (
    "a condition joins =, <>, <, <=, >, >=, BETWEEN, IN, LIKE and IS NULL "
    "between an attribute and values by AND, OR and NOT"
)
COMPARISONS: dict[type[exp.Expression], Sign] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_TESTS: dict[Sign, Callable[[typing.Any, typing.Any], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_NO_SELECT = (
    "a SELECT inside a condition is not answered; "
    "ask it by itself, and compare with the values it gives"
)
_REGEXP = re.compile("REGEXP|REGEX|RLIKE|MATCH")
CONDITIONS = (
    *COMPARISONS,
    *(exp.And, exp.Or, exp.Not, exp.Between, exp.In, exp.Is, exp.Like, exp.ILike, exp.Escape),
)
"""The nodes that are conditions."""
_COMPUTED: tuple[type[exp.Expression], ...] = (
    *(exp.Floor, exp.Ceil, exp.Round, exp.IntDiv, exp.Cast, exp.Case, exp.Coalesce),
    *(exp.Extract, exp.DateTrunc, exp.TimestampTrunc, exp.Year, exp.Quarter, exp.Month),
    *(exp.Day, exp.Week, exp.DayOfWeek, exp.Left, exp.Right, exp.Substring),
)
"""Functions that have few values, each on codes of its own."""
DATE_PARTS = ("DATE_PART", "DATEPART")
_MIRRORED: dict[Sign, Sign] = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_UNKNOWN = Constant(None)


@dataclass(frozen=True)
class ConditionReader:
    """Reads conditions on the attributes of one schema; `tables` are the names it goes by."""

    schema: Schema
    tables: set[str]

    def read(self, node: exp.Expression, depth: int = 0) -> Formula:
        """The formula of a condition."""
        node = without_parentheses(node)
        if depth > MAX_DEPTH:
            raise QueryError(f"the condition is nested deeper than {MAX_DEPTH} levels")
        match node:
            case exp.And() | exp.Or():
                parts = tuple(self.read(part, depth + 1) for part in operands(node))
                return All(parts) if isinstance(node, exp.And) else Any(parts)
            case exp.Not():
                return Not(self.read(node.this, depth + 1))
            case exp.Boolean():
                return Constant(bool(node.this))
            case exp.Null():
                return _UNKNOWN
            case _:
                return self._comparison(node)

    def _comparison(self, node: exp.Expression) -> Formula:
        """The formula of a single comparison."""
        match node:
            case exp.Between():
                return self._between(node)
            case exp.In():
                return self._in(node)
            case exp.Is():
                return self._is_null(node)
            case exp.Like() | exp.ILike() | exp.Escape():
                return self._like(node)
            case exp.Exists() | exp.Query():
                raise QueryError(_NO_SELECT)
            case exp.Column():
                raise QueryError(f"{met(node)} is not a condition by itself; {CONDITION_HELP}")
        if isinstance(node, exp.SimilarTo | exp.RegexpLike | exp.RegexpILike) or _REGEXP.match(
            called(node)
        ):
            raise QueryError(f"{met(node)} is not supported; use LIKE with % and _, or IN")
        sign = COMPARISONS.get(type(node))
        if sign is None:
            raise QueryError(f"{met(node)} is not supported in WHERE; {CONDITION_HELP}")
        refuse_extras(node, {"this", "expression"}, CONDITION_HELP)
        left, right = without_parentheses(node.this), without_parentheses(node.expression)
        if _is_value(left) and not _is_value(right):
            left, right, sign = right, left, _MIRRORED[sign]
        return self._compare(left, sign, right)

    def _compare(self, left: exp.Expression, sign: Sign, right: exp.Expression) -> Formula:
        if _is_computed(left):
            return self._computed(left, sign, right)
        axis, attribute = self._attribute(left)
        value = _value(right, attribute)
        if value is None:
            return _UNKNOWN
        if sign in ("=", "<>"):
            equal = _atom(axis, attribute, equal_to(attribute, value))
            return equal if sign == "=" else Not(equal)
        return _atom(axis, attribute, compared(attribute, sign, value))

    def _between(self, node: exp.Between) -> Formula:
        refuse_extras(node, {"this", "low", "high"}, CONDITION_HELP)
        if _is_computed(node.this):
            low_end = self._computed(node.this, ">=", node.args["low"])
            return All((low_end, self._computed(node.this, "<=", node.args["high"])))
        axis, attribute = self._attribute(node.this)
        low, high = (_value(node.args[end], attribute) for end in ("low", "high"))
        if low is not None and high is not None:
            sets = between(attribute, low, high)
            return All(tuple(_atom(axis, attribute, codes) for codes in sets))
        ends = [(">=", low), ("<=", high)]
        return All(
            tuple(
                _UNKNOWN if v is None else _atom(axis, attribute, compared(attribute, sign, v))
                for sign, v in ends
            )
        )

    def _in(self, node: exp.In) -> Formula:
        if node.args.get("query") is not None:
            raise QueryError(_NO_SELECT)
        refuse_extras(node, {"this", "expressions"}, "IN takes a list of values")
        if _is_computed(node.this):
            return Any(tuple(self._computed(node.this, "=", item) for item in node.expressions))
        axis, attribute = self._attribute(node.this)
        values = [_value(item, attribute) for item in node.expressions]
        codes = CodeSet.union_of(equal_to(attribute, v) for v in values if v is not None)
        listed = _atom(axis, attribute, codes)
        # x IN (1, NULL) is x = 1 OR NULL: never false.
        return Any((listed, _UNKNOWN)) if None in values else listed

    def _is_null(self, node: exp.Is) -> Formula:
        if not isinstance(node.expression, exp.Null):
            raise QueryError(f"{met(node)} is not supported; IS goes with NULL or NOT NULL only")
        if _is_computed(node.this):
            from hushtable.query.sql.groups import GroupReader

            return Holds(GroupReader(self.schema, self.tables).values(node.this)[1])
        axis, attribute = self._attribute(node.this)
        other = attribute.other
        return Atom(axis, CodeSet.empty() if other is None else CodeSet.single(other))

    def _like(self, node: exp.Expression) -> Formula:
        """LIKE on the labels of an attribute: % is any text, _ any character."""
        escape = None
        if isinstance(node, exp.Escape):
            node, escape = without_parentheses(node.this), _text(node.expression)
            if len(escape or "") != 1:
                raise QueryError("ESCAPE takes one character")
        refuse_extras(node, {"this", "expression", "negate"}, "LIKE takes one text")
        axis, attribute = self._attribute(node.this)
        if isinstance(node.expression, exp.Null):
            return _UNKNOWN
        pattern = _text(node.expression)
        if pattern is None:
            raise QueryError(f"LIKE takes a text such as 'a%', not {met(node.expression)}")
        folded = isinstance(node, exp.ILike)
        found = _atom(axis, attribute, like(attribute, pattern, escape, folded=folded))
        return Not(found) if node.args.get("negate") else found

    def _computed(self, left: exp.Expression, sign: Sign, right: exp.Expression) -> Formula:
        """A comparison of what a function makes of an attribute, such as FLOOR(age / 10) = 2."""
        from hushtable.query.sql.groups import GroupReader

        values, null = GroupReader(self.schema, self.tables).values(left)
        right = without_parentheses(right)
        if isinstance(right, exp.Null):
            return _UNKNOWN
        wanted = _comparable(right, list(values), sign, left)
        true = Any(tuple(where for label, where in values.items() if _TESTS[sign](label, wanted)))
        # True, or else unknown where there is no value.
        return Any((Holds(true), All((Holds(null), _UNKNOWN))))

    def _attribute(self, node: exp.Expression) -> tuple[int, Attribute]:
        node = without_parentheses(node)
        if not isinstance(node, exp.Column):
            raise QueryError(self._not_an_attribute(node))
        axis = find_attribute(column_name(node, self.tables), self.schema)
        return axis, self.schema.attributes[axis]

    def _not_an_attribute(self, node: exp.Expression) -> str:
        """Say what stands in an attribute's place; a name with a hyphen reads as a subtraction."""
        text = written(node).replace(" ", "").casefold()
        for attribute in self.schema.attributes:
            if text == attribute.name.replace(" ", "").casefold():
                return f"write {sql_name(attribute.name)} in double quotes: it is not a plain word"
        if isinstance(node, exp.Query):
            return _NO_SELECT
        return f"{met(node)} stands where an attribute should; {CONDITION_HELP}"


def _atom(axis: int, attribute: Attribute, codes: CodeSet) -> Atom:
    """A comparison that is unknown for nulls and other values."""
    if attribute.other is None:
        return Atom(axis, codes)
    return Atom(axis, codes, CodeSet.single(attribute.other))


def _is_value(node: exp.Expression) -> bool:
    """Whether a node is a constant."""
    return not node.find(exp.Column)


def _is_computed(node: exp.Expression) -> bool:
    """Whether a node is a function of attributes that has few values."""
    if node.find(exp.Column) is None or isinstance(node, exp.Column):
        return False
    parts = any(called(part) in DATE_PARTS for part in node.find_all(exp.Anonymous))
    return parts or node.find(*_COMPUTED) is not None


def _text(node: exp.Expression) -> str | None:
    """The text that a literal is."""
    node = without_parentheses(node)
    return str(node.this) if isinstance(node, exp.Literal) and node.is_string else None


def _comparable(
    node: exp.Expression, labels: list[Label], sign: Sign, left: exp.Expression
) -> Label:
    """The constant with which the values of an expression are compared."""
    kinds = {type(label) for label in labels}
    negative = isinstance(node, exp.Neg)
    number = without_parentheses(node.this) if negative else node
    if kinds <= {Fraction} and isinstance(number, exp.Literal) and not number.is_string:
        return (-1 if negative else 1) * exact(number)
    text = _text(node)
    if kinds == {str} and text is not None:
        if sign not in ("=", "<>"):
            raise QueryError(f"{met(left)} is a text; compare it by = or IN")
        if text not in labels:
            raise QueryError(f"{met(left)} is never {met(node)}")
        return text
    raise QueryError(f"{met(node)} is not a value that {met(left)} can be compared with")


def operands(node: exp.Expression) -> Iterator[exp.Expression]:
    """The operands of a chain of ANDs or ORs, in order, however long: a loop, no recursion."""
    pending = [node]
    while pending:
        part = without_parentheses(pending.pop())
        if type(part) is type(node):
            pending += [part.args["expression"], part.this]
        else:
            yield part


def _value(node: exp.Expression, attribute: Attribute) -> Value | None:
    """The value of a literal; None for NULL."""
    node, negative = without_parentheses(node), False
    while isinstance(node, exp.Neg):
        node, negative = without_parentheses(node.this), not negative
    name = sql_name(attribute.name)
    match node:
        case exp.Null():
            return None
        case exp.Literal():
            text = str(node.this)
            value = Value(text) if node.is_string else Value.of_number(text)
            return value.negated() if negative else value
        case exp.Cast(this=exp.Literal(is_string=True)) if isinstance(attribute.values, Dates):
            return Value(str(node.this.this))  # DATE '2024-12-31'
        case exp.Column():
            text = quoted(node.name)
            raise QueryError(
                f"compare {name} with a value, and write texts in '…': {name} = {text}"
            )
        case _:
            raise QueryError(f"{met(node)} is not a value {name} can be compared with")
