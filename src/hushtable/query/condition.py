"""WHERE clauses: from sqlglot's tree to a formula over the attributes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp

from hushtable.errors import QueryError
from hushtable.query.box import CodeSet
from hushtable.query.literal import Value, between, compared, equal_to, sql_name
from hushtable.query.predicate import MAX_DEPTH, All, Any, Atom, Constant, Formula, Not
from hushtable.query.syntax import (
    column_name,
    find_attribute,
    met,
    quoted,
    refuse_extras,
    without_parentheses,
    written,
)
from hushtable.schema import Attribute, Dates, Schema

CONDITION_HELP = (
    "a condition joins =, <>, <, <=, >, >=, BETWEEN, IN and IS NULL "
    "between an attribute and values by AND, OR and NOT"
)
_SIGNS: dict[type[exp.Expression], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
_MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
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
                parts = tuple(self.read(part, depth + 1) for part in _operands(node))
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
        sign = _SIGNS.get(type(node))
        if sign is None:
            raise QueryError(f"{met(node)} is not supported in WHERE; {CONDITION_HELP}")
        refuse_extras(node, {"this", "expression"}, CONDITION_HELP)
        left, right = without_parentheses(node.this), without_parentheses(node.expression)
        if isinstance(right, exp.Column) and not isinstance(left, exp.Column):
            left, right, sign = right, left, _MIRRORED[sign]
        return self._compare(left, sign, right)

    def _compare(self, left: exp.Expression, sign: str, right: exp.Expression) -> Formula:
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
        refuse_extras(node, {"this", "expressions"}, "IN takes a list of values")
        axis, attribute = self._attribute(node.this)
        values = [_value(item, attribute) for item in node.expressions]
        codes = CodeSet.union_of(equal_to(attribute, v) for v in values if v is not None)
        listed = _atom(axis, attribute, codes)
        # x IN (1, NULL) is x = 1 OR NULL: never false.
        return Any((listed, _UNKNOWN)) if None in values else listed

    def _is_null(self, node: exp.Is) -> Formula:
        if not isinstance(node.expression, exp.Null):
            raise QueryError(f"{met(node)} is not supported; IS goes with NULL or NOT NULL only")
        axis, attribute = self._attribute(node.this)
        other = attribute.other
        return Atom(axis, CodeSet.empty() if other is None else CodeSet.single(other))

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
        return f"{met(node)} stands where an attribute should; {CONDITION_HELP}"


def _atom(axis: int, attribute: Attribute, codes: CodeSet) -> Atom:
    """A comparison that is unknown for nulls and other values."""
    if attribute.other is None:
        return Atom(axis, codes)
    return Atom(axis, codes, CodeSet.single(attribute.other))


def _operands(node: exp.Expression) -> Iterator[exp.Expression]:
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
