"""SQL questions: SELECT attributes, COUNT(*) … and bare conditions.

The only part of the query side that needs sqlglot; import it when there is SQL to read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

from sqlglot import exp

from hushtable.errors import QueryError
from hushtable.query.box import Box, Boxes
from hushtable.query.condition import ConditionReader
from hushtable.query.grouping import COUNT, Group, Query, check_row_cap, group_count, group_nodes
from hushtable.query.literal import sql_name
from hushtable.query.predicate import boxes_of
from hushtable.query.result import Order
from hushtable.query.syntax import (
    SELECT_HELP,
    column_name,
    find_attribute,
    met,
    parse_select,
    quoted,
    refuse_extras,
    shallow,
    without_parentheses,
)

if TYPE_CHECKING:
    from hushtable.schema import Schema

__all__ = [
    "Group",
    "Query",
    "check_row_cap",
    "group_count",
    "group_nodes",
    "parse_query",
    "parse_where",
]

_CLAUSES = {"expressions", "from", "where", "group", "order", "limit", "offset"}


def parse_query(sql: str, schema: Schema) -> Query:
    """Read a SELECT … COUNT(*) statement over the schema's table.

    Raises `QueryError` with one line for anything it does not support.
    """
    with shallow():
        select = parse_select(sql)
        refuse_extras(select, _CLAUSES, SELECT_HELP)
        return _SelectReader(schema, _tables(select, schema)).read(select)


def parse_where(text: str | None, schema: Schema) -> Boxes:
    """Read a bare condition, as after WHERE; none at all selects everything."""
    if text is None or (isinstance(text, str) and not text.strip()):
        return (Box.full(schema.shape),)
    if not isinstance(text, str):
        raise QueryError('a condition is a text such as "age BETWEEN 20 AND 29"')
    with shallow():
        select = parse_select(f"SELECT 1 WHERE {text}")
        refuse_extras(select, {"expressions", "where"}, "a condition holds nothing after it")
        return _where(select, schema, {schema.name.casefold()})


class _Term(NamedTuple):
    """What a column of the SELECT list, GROUP BY or ORDER BY stands for."""

    axis: int | Literal["count"]
    level: int | None = None


class _Item(NamedTuple):
    """A column of the SELECT list."""

    term: _Term
    alias: str | None


@dataclass(frozen=True)
class _SelectReader:
    """Reads the clauses of one SELECT; `tables` are the names its table goes by."""

    schema: Schema
    tables: set[str]

    def read(self, select: exp.Select) -> Query:
        """The question a SELECT asks."""
        items = [self._item(node) for node in select.expressions]
        if [item.term.axis for item in items].count(COUNT) != 1:
            raise QueryError(f"the SELECT list needs COUNT(*), once; {SELECT_HELP}")
        terms = self._group_terms(select, items)
        columns = tuple(self._position(item.term, terms) for item in items)
        return Query(
            boxes=_where(select, self.schema, self.tables),
            groups=self._groups(terms, items),
            count_name=next(item.alias for item in items if item.term.axis == COUNT) or COUNT,
            order=self._order(select, items, terms),
            limit=_whole(select.args.get("limit"), "LIMIT"),
            offset=_whole(select.args.get("offset"), "OFFSET") or 0,
            columns=columns,
        )

    def _item(self, node: exp.Expression) -> _Item:
        if not isinstance(node, exp.Alias):
            return _Item(self._term(node), None)
        refuse_extras(node, {"this", "alias"}, SELECT_HELP)
        return _Item(self._term(node.this), str(node.alias))

    def _term(self, node: exp.Expression) -> _Term:
        """An attribute, LEVEL(attribute, k) or COUNT(*)."""
        node = without_parentheses(node)
        match node:
            case exp.Column() if not isinstance(node.this, exp.Star):
                return _Term(find_attribute(column_name(node, self.tables), self.schema))
            case exp.Count() if isinstance(node.this, exp.Star):
                refuse_extras(node.this, set(), "the count is COUNT(*)")
                refuse_extras(node, {"this", "big_int"}, "the count is COUNT(*)")
                return _Term(COUNT)
            case exp.Anonymous() if str(node.this).upper() == "LEVEL":
                return self._level(node)
            case _:
                raise QueryError(
                    f"{met(node)} is not supported; "
                    "columns are attributes, LEVEL(attribute, k) and COUNT(*)"
                )

    def _level(self, node: exp.Anonymous) -> _Term:
        """LEVEL(attribute, k), with k checked against the hierarchy."""
        arguments = [without_parentheses(argument) for argument in node.expressions]
        if len(arguments) != 2 or not isinstance(arguments[0], exp.Column):
            raise QueryError("LEVEL takes an attribute and a depth, as in LEVEL(occupation, 1)")
        axis = find_attribute(column_name(arguments[0], self.tables), self.schema)
        attribute = self.schema.attributes[axis]
        if attribute.hierarchy is None:
            raise QueryError(f"{attribute.name} has no hierarchy, so LEVEL does not apply to it")
        height = attribute.hierarchy.height
        level = _natural(arguments[1])
        if level is None or level > height:
            raise QueryError(
                f"LEVEL({sql_name(attribute.name)}, k) takes a whole k from 0 (the root) "
                f"to {height}, the height of the hierarchy, not {met(arguments[1])}"
            )
        return _Term(axis, level)

    def _group_terms(self, select: exp.Select, items: list[_Item]) -> list[_Term]:
        """The terms of GROUP BY: attributes, levels, aliases or positions in the SELECT list."""
        group = select.args.get("group")
        if group is None:
            return []
        refuse_extras(group, {"expressions"}, "GROUP BY takes attributes and LEVEL(attribute, k)")
        terms = [self._reference(node, items, "GROUP BY") for node in group.expressions]
        for i, term in enumerate(terms):
            if term.axis == COUNT:
                raise QueryError("GROUP BY takes attributes and LEVEL(attribute, k), not COUNT(*)")
            if term.axis in [earlier.axis for earlier in terms[:i]]:
                raise QueryError(f"{self._name(term)} stands twice in GROUP BY")
        return terms

    def _reference(self, node: exp.Expression, items: list[_Item], clause: str) -> _Term:
        """A term given by itself, by a position in the SELECT list, or by an alias there."""
        node = without_parentheses(node)
        if isinstance(node, exp.Literal):
            position = _natural(node)
            if position is None or not 1 <= position <= len(items):
                raise QueryError(
                    f"{clause} {met(node)}: positions go from 1 to {len(items)}, "
                    "the columns of the SELECT list"
                )
            return items[position - 1].term
        if isinstance(node, exp.Column) and not node.table:
            named = [
                item.term
                for item in items
                if item.alias is not None and item.alias.casefold() == node.name.casefold()
            ]
            if named and not (clause == "GROUP BY" and self._hides_another(named[0], node.name)):
                return named[0]
        return self._term(node)

    def _hides_another(self, term: _Term, alias: str) -> bool:
        """Whether an alias is another attribute's name: SQL groups by the attribute then."""
        return any(
            axis != term.axis and attribute.name.casefold() == alias.casefold()
            for axis, attribute in enumerate(self.schema.attributes)
        )

    def _position(self, term: _Term, terms: list[_Term]) -> int | Literal["count"]:
        """Which GROUP BY term a column shows."""
        if term.axis == COUNT:
            return COUNT
        if term not in terms:
            name = self._name(term)
            raise QueryError(f"{name} is not grouped; add GROUP BY {name}")
        return terms.index(term)

    def _name(self, term: _Term) -> str:
        if term.axis == COUNT:
            return "COUNT(*)"
        name = sql_name(self.schema.attributes[term.axis].name)
        return name if term.level is None else f"LEVEL({name}, {term.level})"

    def _groups(self, terms: list[_Term], items: list[_Item]) -> tuple[Group, ...]:
        """The groups with their column names: the alias, or else the attribute's name."""
        aliases = {item.term: item.alias for item in items}
        if len(aliases) < len(items):
            raise QueryError("the SELECT list shows a column twice")
        groups: list[Group] = []
        taken = {aliases[_Term(COUNT)]}
        for term in terms:
            assert term.axis != COUNT
            column = aliases.get(term) or self.schema.attributes[term.axis].name
            if column in taken:
                raise QueryError(
                    f"two columns are called {quoted(column)}; use AS to tell them apart"
                )
            taken.add(column)
            groups.append(Group(term.axis, term.level, column))
        return tuple(groups)

    def _order(
        self, select: exp.Select, items: list[_Item], terms: list[_Term]
    ) -> tuple[Order, ...]:
        """The terms of ORDER BY, which must be group columns or the count."""
        clause = select.args.get("order")
        if clause is None:
            return ()
        refuse_extras(clause, {"expressions"}, SELECT_HELP)
        order = []
        for node in clause.expressions:
            refuse_extras(node, {"this", "desc", "nulls_first"}, SELECT_HELP)
            term = self._reference(node.this, items, "ORDER BY")
            if term.axis != COUNT and term not in terms:
                raise QueryError(
                    f"ORDER BY {self._name(term)}: it is not among the GROUP BY columns"
                )
            descending, nulls_first = (
                bool(node.args.get("desc")),
                bool(node.args.get("nulls_first")),
            )
            order.append(Order(self._position(term, terms), descending, nulls_first))
        return tuple(order)


def _tables(select: exp.Select, schema: Schema) -> set[str]:
    """The names columns may be qualified with, after checking that FROM names the table."""
    clause = select.args.get("from_") or select.args.get("from")
    if clause is None:
        raise QueryError(f"there is no FROM; write FROM {sql_name(schema.name)}")
    table = clause.this
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        raise QueryError(f"FROM {met(table)} is not supported; write FROM {sql_name(schema.name)}")
    refuse_extras(table, {"this", "alias"}, f"write FROM {sql_name(schema.name)}")
    if table.name.casefold() != schema.name.casefold():
        raise QueryError(
            f"there is no table {quoted(table.name)}; this release holds {sql_name(schema.name)}"
        )
    return {(table.alias or table.name).casefold()}


def _where(select: exp.Select, schema: Schema, tables: set[str]) -> Boxes:
    """The boxes the WHERE clause selects."""
    where = select.args.get("where")
    if where is None:
        return (Box.full(schema.shape),)
    return boxes_of(ConditionReader(schema, tables).read(where.this), schema)


def _whole(clause: exp.Expression | None, name: str) -> int | None:
    """The number after LIMIT or OFFSET."""
    if clause is None:
        return None
    if not isinstance(clause, exp.Limit | exp.Offset):
        raise QueryError(f"{met(clause)} is not supported; use LIMIT and OFFSET")
    refuse_extras(clause, {"expression"}, f"{name} takes a whole number")
    number = _natural(clause.expression)
    if number is None:
        raise QueryError(f"{name} takes a whole number from 0, not {met(clause.expression)}")
    return number


def _natural(node: exp.Expression) -> int | None:
    """The whole number a literal is, up to 18 digits, or None."""
    node = without_parentheses(node)
    if not isinstance(node, exp.Literal) or node.is_string:
        return None
    text = str(node.this)
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 18 else None
