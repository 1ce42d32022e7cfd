"""SELECT statements and bare conditions: from their clauses to a question."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from sqlglot import exp

from hushtable.errors import QueryError
from hushtable.query.aggregate import Aggregate, Count, Having, Named
from hushtable.query.box import Box, Boxes
from hushtable.query.grouping import COUNT, Cases, Group, Query
from hushtable.query.predicate import boxes_of
from hushtable.query.result import Order
from hushtable.query.sql.aggregation import AggregateReader, is_aggregate
from hushtable.query.sql.condition import ConditionReader
from hushtable.query.sql.groups import GROUP_HELP, GroupReader, Term, grouping_sets
from hushtable.query.sql.source import written_out
from hushtable.query.sql.syntax import (
    SELECT_HELP,
    met,
    natural,
    parse_select,
    quoted,
    refuse_extras,
    shallow,
    without_parentheses,
    written,
)

if TYPE_CHECKING:
    from hushtable.schema import Schema

_CLAUSES = {"expressions", "from", "where", "group", "having", "order", "limit", "offset"}
_LONGEST_NAME = 60


def parse_query(sql: str, schema: Schema) -> Query:
    """Read a SELECT statement over the schema's table.

    Raises `QueryError` with one line for anything it does not support.
    """
    with shallow():
        select = parse_select(sql)
        if select.args.get("distinct"):
            raise QueryError(
                "DISTINCT is not supported: noise hides which values occur; use GROUP BY, "
                "which shows every value there may be"
            )
        names = [_name(node) for node in select.expressions]
        select, tables = written_out(select, schema)
        refuse_extras(select, _CLAUSES, SELECT_HELP)
        return _SelectReader(schema, tables).read(select, names)


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


class _Item(NamedTuple):
    """A column of the SELECT list: what it shows, its alias, and how it is written."""

    shows: Term | Aggregate
    alias: str | None
    text: str

    @property
    def grouped(self) -> bool:
        return isinstance(self.shows, Group | Cases)


@dataclass
class _Aggregates:
    """The aggregates of a query, each under a name of its own."""

    taken: set[str]
    found: list[Named] = field(default_factory=list)

    def add(self, aggregate: Aggregate, name: str) -> str:
        """Put one in under a name that no other column has."""
        unique, number = name, 1
        while unique in self.taken:
            unique, number = f"{name}_{number}", number + 1
        self.taken.add(unique)
        self.found.append(Named(unique, aggregate))
        return unique

    def find(self, aggregate: Aggregate, text: str) -> str:
        """The name of an aggregate, which is put in unless it is there."""
        known = (named.name for named in self.found if named.aggregate == aggregate)
        return next(known, None) or self.add(aggregate, _plain_name(aggregate, text))


@dataclass(frozen=True)
class _SelectReader:
    """Reads the clauses of one SELECT; `tables` are the names its table goes by."""

    schema: Schema
    tables: set[str]

    @property
    def _groups(self) -> GroupReader:
        return GroupReader(self.schema, self.tables)

    def read(self, select: exp.Select, names: list[str]) -> Query:
        """The question a SELECT asks; `names` are its columns as they are written."""
        _refuse_rows(select)
        windows = not select.args.get("having")
        columns = zip(select.expressions, names, strict=True)
        items = [self._item(node, name, windows) for node, name in columns]
        if all(item.grouped for item in items):
            raise QueryError(f"the SELECT list needs an aggregate, such as COUNT(*); {SELECT_HELP}")
        terms, sets = self._terms(select, items)
        groups = self._named_groups(terms, items)
        aggregates = _Aggregates({group.column for group in groups})
        return Query(
            boxes=_where(select, self.schema, self.tables),
            groups=groups,
            columns=self._columns(items, terms, aggregates),
            having=self._having(select, items),
            order=tuple(self._order(select, items, terms, aggregates)),
            aggregates=tuple(aggregates.found),
            limit=_whole(select.args.get("limit"), "LIMIT"),
            offset=_whole(select.args.get("offset"), "OFFSET") or 0,
            grouping_sets=sets,
        )

    # ── the SELECT list ──────────────────────────────────────────────────────────────────────────

    def _item(self, node: exp.Expression, name: str, windows: bool) -> _Item:
        alias = None
        if isinstance(node, exp.Alias):
            refuse_extras(node, {"this", "alias"}, SELECT_HELP)
            node, alias = node.this, str(node.alias)
        return _Item(self._shown(node, windows=windows), alias, name)

    def _shown(self, node: exp.Expression, *, windows: bool) -> Term | Aggregate:
        if is_aggregate(node):
            return AggregateReader(self.schema, self.tables, {}, windows).read(node)
        return self._groups.read(node)

    def _columns(
        self, items: list[_Item], terms: list[Term], aggregates: _Aggregates
    ) -> tuple[int | str, ...]:
        """What each column of the SELECT list is: a position in the groups, or an aggregate."""
        for item in items:
            if item.alias is not None and not item.grouped and item.alias in aggregates.taken:
                raise QueryError(_two_columns(item.alias))
            if item.alias is not None and not item.grouped:
                aggregates.add(_aggregate(item), item.alias)
        named = iter(list(aggregates.found))
        columns: list[int | str] = []
        for item in items:
            if isinstance(item.shows, Group | Cases):
                columns.append(self._position(item.shows, terms, item.text))
            elif item.alias is not None:
                columns.append(next(named).name)
            else:
                columns.append(aggregates.add(item.shows, _plain_name(item.shows, item.text)))
        return tuple(columns)

    def _position(self, term: Term, terms: list[Term], text: str) -> int:
        """Which GROUP BY term a column shows."""
        if term not in terms:
            name = self._groups.name(term) or text
            raise QueryError(f"{name} is not grouped; add GROUP BY {name}")
        return terms.index(term)

    # ── GROUP BY ─────────────────────────────────────────────────────────────────────────────────

    def _terms(
        self, select: exp.Select, items: list[_Item]
    ) -> tuple[list[Term], tuple[tuple[int, ...], ...] | None]:
        """The terms of GROUP BY, and the positions of those in each grouping set."""
        group = select.args.get("group")
        if group is None:
            return [], None
        allowed = {"expressions", "rollup", "cube", "grouping_sets"}
        refuse_extras(group, allowed, GROUP_HELP)
        nodes = grouping_sets(group)
        if nodes is None:
            return self._set(group.expressions, items), None
        if any(part.find(exp.Window) for part in select.expressions):
            raise QueryError("OVER () beside ROLLUP, CUBE or GROUPING SETS is not answered")
        sets = [list(dict.fromkeys(self._set(part, items, unique=False))) for part in nodes]
        for found in sets:
            self._check_axes(found)
        terms = list(dict.fromkeys(term for found in sets for term in found))
        return terms, tuple(tuple(terms.index(term) for term in found) for found in sets)

    def _set(
        self, nodes: list[exp.Expression], items: list[_Item], *, unique: bool = True
    ) -> list[Term]:
        """The terms of one set: attributes, levels, expressions, aliases or positions."""
        terms: list[Term] = []
        for node in nodes:
            found = self._reference(node, items, "GROUP BY")
            if not isinstance(found, Group | Cases):
                raise QueryError(f"{GROUP_HELP}, not aggregates such as COUNT(*)")
            terms.append(found)
        if unique:
            self._check_axes(terms)
        return terms

    def _check_axes(self, terms: list[Term]) -> None:
        """Refuse an attribute that is grouped by twice, be it at two levels."""
        axes: set[int] = set()
        for i, term in enumerate(terms):
            if isinstance(term, Group) and term.axis in axes:
                raise QueryError(f"{self._groups.name(term)} stands twice in GROUP BY")
            if isinstance(term, Group):
                axes.add(term.axis)
            elif term in terms[:i]:
                raise QueryError("an expression stands twice in GROUP BY")

    def _named_groups(self, terms: list[Term], items: list[_Item]) -> tuple[Group | Cases, ...]:
        """The groups with their column names: the alias, or else what is grouped by."""
        shown = [item for item in items if item.grouped]
        if len({item.shows for item in shown}) < len(shown):
            raise QueryError("the SELECT list shows a column twice")
        groups: list[Group | Cases] = []
        for number, term in enumerate(terms):
            item = next((item for item in shown if item.shows == term), None)
            column = self._column(term, item, number)
            if column in [group.column for group in groups]:
                raise QueryError(_two_columns(column))
            groups.append(replace(term, column=column))
        return tuple(groups)

    def _column(self, term: Term, item: _Item | None, number: int) -> str:
        if item is not None and item.alias is not None:
            return item.alias
        if isinstance(term, Group):
            return self.schema.attributes[term.axis].name
        return f"group_{number + 1}" if item is None else item.text[:_LONGEST_NAME]

    def _reference(self, node: exp.Expression, items: list[_Item], clause: str) -> Term | Aggregate:
        """What is given by itself, by a position in the SELECT list, or by an alias there."""
        node = without_parentheses(node)
        if isinstance(node, exp.Literal):
            position = natural(node)
            if position is None or not 1 <= position <= len(items):
                raise QueryError(
                    f"{clause} {met(node)}: positions go from 1 to {len(items)}, "
                    "the columns of the SELECT list"
                )
            return items[position - 1].shows
        if isinstance(node, exp.Column) and not node.table:
            named = [item.shows for item in items if _is_called(item, node.name)]
            if named and not (clause == "GROUP BY" and self._hides_another(named[0], node.name)):
                return named[0]
        if clause == "ORDER BY" and not is_aggregate(node) and _names_aggregate(node, items):
            return self._calculated(node, items)
        return self._shown(node, windows=True)

    def _calculated(self, node: exp.Expression, items: list[_Item]) -> Aggregate:
        """Arithmetic of aggregates by their aliases."""
        return AggregateReader(self.schema, self.tables, self._aliases(items)).read(node)

    def _hides_another(self, shown: Term | Aggregate, alias: str) -> bool:
        """Whether an alias is another attribute's name: SQL groups by the attribute then."""
        axis = shown.axis if isinstance(shown, Group) else None
        return any(
            place != axis and attribute.name.casefold() == alias.casefold()
            for place, attribute in enumerate(self.schema.attributes)
        )

    # ── HAVING and ORDER BY ──────────────────────────────────────────────────────────────────────

    def _having(self, select: exp.Select, items: list[_Item]) -> Having | None:
        clause = select.args.get("having")
        if clause is None:
            return None
        aliases = self._aliases(items)
        reader = AggregateReader(self.schema, self.tables, aliases, windows=False)
        return reader.having(clause.this)

    def _aliases(self, items: list[_Item]) -> dict[str, Aggregate]:
        """The aggregates with an alias that is no attribute's name."""
        own = {attribute.name.casefold() for attribute in self.schema.attributes}
        return {
            item.alias.casefold(): _aggregate(item)
            for item in items
            if item.alias is not None and not item.grouped and item.alias.casefold() not in own
        }

    def _order(
        self,
        select: exp.Select,
        items: list[_Item],
        terms: list[Term],
        aggregates: _Aggregates,
    ) -> Iterator[Order]:
        """The terms of ORDER BY, which must be group columns or aggregates."""
        clause = select.args.get("order")
        if clause is None:
            return
        refuse_extras(clause, {"expressions"}, SELECT_HELP)
        for node in clause.expressions:
            refuse_extras(node, {"this", "desc", "nulls_first"}, SELECT_HELP)
            descending, nulls = bool(node.args.get("desc")), bool(node.args.get("nulls_first"))
            found = self._reference(node.this, items, "ORDER BY")
            text = written(node.this).lower()
            if not isinstance(found, Group | Cases):
                yield Order(aggregates.find(found, text), descending, nulls)
            elif found in terms:
                yield Order(terms.index(found), descending, nulls)
            else:
                name = self._groups.name(found) or text
                raise QueryError(f"ORDER BY {name}: it is not among the GROUP BY columns")


def _name(node: exp.Expression) -> str:
    """A column of the SELECT list as it is written, in small letters."""
    return written(node.this if isinstance(node, exp.Alias) else node).lower()


def _refuse_rows(select: exp.Select) -> None:
    """Refuse what asks for single rows."""
    for node in select.expressions:
        rows = isinstance(node, exp.Column) and isinstance(node.this, exp.Star)
        if rows or isinstance(node, exp.Star):
            raise QueryError(
                f"{met(node)} is not supported: single rows are never shown; ask COUNT(*) … "
                f"GROUP BY attributes, or draw synthetic rows; {SELECT_HELP}"
            )


def _is_called(item: _Item, name: str) -> bool:
    return item.alias is not None and item.alias.casefold() == name.casefold()


def _names_aggregate(node: exp.Expression, items: list[_Item]) -> bool:
    """Whether an expression has the alias of an aggregate in it."""
    names = [column.name for column in node.find_all(exp.Column)]
    return any(_is_called(item, name) for item in items if not item.grouped for name in names)


def _aggregate(item: _Item) -> Aggregate:
    assert not isinstance(item.shows, Group | Cases)
    return item.shows


def _plain_name(aggregate: Aggregate, text: str) -> str:
    """What an aggregate without an alias is called."""
    return COUNT if aggregate == Count() and text == "count(*)" else text[:_LONGEST_NAME]


def _two_columns(name: str) -> str:
    return f"two columns are called {quoted(name)}; use AS to tell them apart"


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
    number = natural(clause.expression)
    if number is None:
        raise QueryError(f"{name} takes a whole number from 0, not {met(clause.expression)}")
    return number
