"""FROM: the table, or derived tables of it, whose columns and conditions are put in their places.

A derived table, in parentheses or named by WITH, may leave rows out and compute columns. Written
out, the statement is one about the table itself, and nothing after this knows of derived tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING

from sqlglot import exp

from hushtable.errors import QueryError
from hushtable.query.literal import sql_name
from hushtable.query.sql.syntax import JOIN_HELP, met, quoted, refuse_extras

if TYPE_CHECKING:
    from hushtable.schema import Schema

MOST_DERIVED = 20
MOST_NODES = 100_000
"""How long a statement may become when its derived tables are written out."""
_DERIVED_HELP = (
    "a derived table may leave rows out by WHERE and compute columns, "
    "as in (SELECT *, age // 10 AS decade FROM census WHERE age > 17)"
)
_BY_ALIAS = ("group", "having", "order")
"""Clauses that may name a column of the SELECT list by its alias."""


@dataclass(frozen=True)
class _Source:
    """A table as the table of the schema has it: columns by name, conditions on its rows."""

    names: set[str]
    columns: Mapping[str, tuple[str, exp.Expression]]
    """What each column is called and stands for, by its name without regard to case."""
    conditions: tuple[exp.Expression, ...] = ()


def written_out(select: exp.Select, schema: Schema) -> tuple[exp.Select, set[str]]:
    """A statement about the schema's table, and the names that the table goes by in it."""
    named = _named_tables(select)
    select.set("with_", None)
    select.set("with", None)
    refuse_joins(select)
    clause = from_clause(select, schema)
    if _is_derived(clause.this, named):
        source = _derived(clause.this, named, schema, 0)
        return _inlined(select, source), {schema.name.casefold()}
    return select, _check_table(clause.this, schema)


def from_clause(select: exp.Select, schema: Schema) -> exp.Expression:
    """The FROM of a statement."""
    clause = select.args.get("from_") or select.args.get("from")
    if not isinstance(clause, exp.Expression):
        raise QueryError(f"there is no FROM; write FROM {sql_name(schema.name)}")
    return clause


def refuse_joins(select: exp.Select) -> None:
    """Refuse a second table, with the reason."""
    if select.args.get("joins") or select.args.get("laterals"):
        raise QueryError(JOIN_HELP)


Tables = tuple[tuple[str, exp.Select], ...]
"""The tables that WITH names, in order: each sees those before it."""


def _named_tables(select: exp.Select) -> Tables:
    clause = select.args.get("with_") or select.args.get("with")
    if clause is None:
        return ()
    refuse_extras(clause, {"expressions"}, _DERIVED_HELP)
    if len(clause.expressions) > MOST_DERIVED:
        raise QueryError(f"WITH names more than {MOST_DERIVED} tables")
    return tuple(_named_table(table) for table in clause.expressions)


def _named_table(table: exp.Expression) -> tuple[str, exp.Select]:
    refuse_extras(table, {"this", "alias"}, _DERIVED_HELP)
    refuse_extras(table.args["alias"], {"this"}, _DERIVED_HELP)
    return table.alias.casefold(), _plain_select(table.this)


def _plain_select(node: exp.Expression) -> exp.Select:
    """The SELECT of a derived table, which is of single rows."""
    if not isinstance(node, exp.Select):
        raise QueryError(f"{met(node)} is not supported; {_DERIVED_HELP}")
    refuse_joins(node)
    refuse_extras(node, {"expressions", "from", "where"}, _DERIVED_HELP)
    return node


def _is_derived(table: exp.Expression, named: Tables) -> bool:
    if isinstance(table, exp.Subquery):
        return True
    plain = isinstance(table, exp.Table) and not table.args.get("db")
    return plain and table.name.casefold() in dict(named)


def _check_table(table: exp.Expression, schema: Schema) -> set[str]:
    """The name columns may be qualified with, after checking that this is the table."""
    write = f"write FROM {sql_name(schema.name)}"
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        raise QueryError(f"FROM {met(table)} is not supported; {write}")
    if table.args.get("joins"):
        raise QueryError(JOIN_HELP)
    refuse_extras(table, {"this", "alias"}, write)
    if table.name.casefold() != schema.name.casefold():
        raise QueryError(
            f"there is no table {quoted(table.name)}; this release holds {sql_name(schema.name)}"
        )
    return {(table.alias or table.name).casefold()}


def _source(table: exp.Expression, named: Tables, schema: Schema, depth: int) -> _Source:
    """What a table is in terms of the schema's."""
    if _is_derived(table, named):
        return _derived(table, named, schema, depth + 1)
    columns = {
        attribute.name.casefold(): (attribute.name, exp.column(attribute.name, quoted=True))
        for attribute in schema.attributes
    }
    return _Source(_check_table(table, schema), columns)


def _derived(table: exp.Expression, named: Tables, schema: Schema, depth: int) -> _Source:
    """What a derived table is in terms of the schema's table."""
    if depth > MOST_DERIVED:
        raise QueryError(f"derived tables are nested deeper than {MOST_DERIVED} levels")
    refuse_extras(table, {"this", "alias"}, _DERIVED_HELP)
    if isinstance(table.args.get("alias"), exp.TableAlias):
        refuse_extras(table.args["alias"], {"this"}, _DERIVED_HELP)
    if isinstance(table, exp.Subquery):
        select = _plain_select(table.this)
    else:
        names = [name for name, _ in named]
        place = len(names) - 1 - names[::-1].index(table.name.casefold())
        select, named = named[place][1], named[:place]
    inner = _source(from_clause(select, schema).this, named, schema, depth)
    where = select.args.get("where")
    added = () if where is None else (_replaced(where.this, inner),)
    name = (table.alias_or_name or "").casefold()
    return _Source({name} - {""}, _projected(select, inner), (*inner.conditions, *added))


def _projected(select: exp.Select, inner: _Source) -> dict[str, tuple[str, exp.Expression]]:
    """The columns of a derived table."""
    columns: dict[str, tuple[str, exp.Expression]] = {}
    for node in select.expressions:
        for name, shown in _shown(node, inner):
            if name.casefold() in columns:
                raise QueryError(f"two columns of a derived table are called {quoted(name)}")
            columns[name.casefold()] = (name, shown)
    return columns


def _shown(node: exp.Expression, inner: _Source) -> list[tuple[str, exp.Expression]]:
    """The columns that an entry of the SELECT list of a derived table shows."""
    if isinstance(node, exp.Star):
        refuse_extras(node, set(), _DERIVED_HELP)
        return list(inner.columns.values())
    if node.find(exp.AggFunc, exp.Window, exp.Query):
        raise QueryError(f"{met(node)} is not supported in a derived table; {_DERIVED_HELP}")
    if not node.alias_or_name:
        raise QueryError(f"{met(node)} needs a name in a derived table; write {met(node)} AS name")
    value = node.this if isinstance(node, exp.Alias) else node
    return [(node.alias_or_name, _replaced(value, inner))]


def _inlined(select: exp.Select, source: _Source) -> exp.Select:
    """A statement about a derived table as one about the table itself."""
    aliases = {node.alias.casefold() for node in select.expressions if node.alias}
    select.set("expressions", [_named_column(node, source) for node in select.expressions])
    for key in _BY_ALIAS:
        if select.args.get(key) is not None:
            select.set(key, _replaced(select.args[key], source, aliases, first=key == "order"))
    where = select.args.get("where")
    conditions = [*source.conditions, *([] if where is None else [_replaced(where.this, source)])]
    if conditions:
        joined = reduce(lambda left, right: exp.And(this=left, expression=right), conditions)
        select.set("where", exp.Where(this=joined))
    return select


def _named_column(node: exp.Expression, source: _Source) -> exp.Expression:
    """An entry of the SELECT list; a bare column keeps its name."""
    found = _replaced(node, source)
    if isinstance(node, exp.Column) and found is not node:
        return exp.Alias(this=found, alias=exp.to_identifier(node.name, quoted=True))
    return found


def _replaced(
    node: exp.Expression,
    source: _Source,
    aliases: Set[str] = frozenset(),
    *,
    first: bool = False,
) -> exp.Expression:
    """An expression with what the columns of a derived table stand for.

    Names of `aliases` may stand for columns of the SELECT list, and do so before others if `first`.
    """
    columns = [found for found in node.find_all(exp.Column) if not isinstance(found.this, exp.Star)]
    own = [c for c in columns if not c.table and c.name.casefold() in aliases]
    left = {id(c) for c in own if first or c.name.casefold() not in source.columns}
    stands_for = {id(c): _stands_for(c, source) for c in columns if id(c) not in left}
    sizes = {name: sum(1 for _ in shown.walk()) for name, (_, shown) in source.columns.items()}
    if sum(sizes[c.name.casefold()] for c in columns if id(c) in stands_for) > MOST_NODES:
        raise QueryError("the statement is too long when its derived tables are written out")
    return node.transform(
        lambda part: stands_for[id(part)].copy() if id(part) in stands_for else part, copy=False
    )


def _stands_for(column: exp.Column, source: _Source) -> exp.Expression:
    refuse_extras(column, {"this", "table"}, "name a column")
    if column.table and column.table.casefold() not in source.names:
        raise QueryError(f"there is no table {quoted(column.table)} in this query")
    found = source.columns.get(column.name.casefold())
    if found is None:
        names = [sql_name(name) for name, _ in source.columns.values()]
        shown = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
        raise QueryError(
            f"there is no column {quoted(column.name)} in the derived table; it has {shown}"
        )
    return found[1] if isinstance(found[1], exp.Column) else exp.paren(found[1])
