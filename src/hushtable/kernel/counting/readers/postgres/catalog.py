"""Which tables a database of Postgres holds, and what their columns are; no row is looked at.

What is stored is read: tables, with their partitions and the tables that inherit from them, and
materialized views. A view is computed when it is read, and may fail by a value; a foreign table is
somewhere else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from hushtable.errors import DataError
from hushtable.kernel.counting.encoding.columns import sql_name
from hushtable.kernel.counting.readers.postgres.columns import Column
from hushtable.kernel.counting.readers.postgres.session import BUSY, Connection

_STORED = "rpm"  # tables, those in partitions, and materialized views
_MOST_SHOWN = 20
_TRIES = 10  # to lock a table, about a second each
_NAME_IT = "name one with --table (in Python, table=)"

_RELATIONS = """
SELECT CAST(c.oid AS int8), CAST(n.nspname AS text), CAST(c.relname AS text),
  CAST(c.relkind AS text), c.relispartition
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'm', 'v', 'f') AND n.nspname !~ '^(pg_|information_schema$)'
AND has_schema_privilege(n.oid, 'USAGE')
ORDER BY n.nspname, c.relname
"""
# The table and all from which its rows come.
_HEIRS = """
WITH RECURSIVE heirs AS (
  SELECT CAST({oid} AS oid) AS oid
  UNION
  SELECT i.inhrelid FROM heirs h JOIN pg_inherits i ON i.inhparent = h.oid)
"""
_NUMBERS = """
SELECT (SELECT CAST(oid AS int8) FROM pg_database WHERE datname = current_database()),
  CAST(h.oid AS int8) FROM heirs h ORDER BY 2
"""
# What the name of a table leads to now, and from where its rows come.
_CHANGED = (
    _HEIRS
    + """
SELECT to_regclass({name}) IS DISTINCT FROM CAST({oid} AS oid), CAST(oid AS int8) FROM heirs
ORDER BY 2
"""
)
_CLUSTER = "SELECT system_identifier FROM pg_control_system()"
_PLACES = (
    _HEIRS
    + """
SELECT bool_or(c.relkind = 'f'),
  bool_or(row_security_active(c.oid) AND c.oid = {oid}),
  bool_and(has_table_privilege(c.oid, 'SELECT') OR c.oid <> {oid}
    OR has_any_column_privilege(c.oid, 'SELECT'))
FROM heirs h JOIN pg_class c ON c.oid = h.oid
"""
)
_OF_TABLE = (
    _HEIRS
    + """,
types AS (
  SELECT CAST(a.attnum AS int4) AS place, CAST(a.attname AS text) AS name,
    a.atttypid AS kind, 0 AS depth,
    EXISTS (SELECT FROM heirs h JOIN pg_attribute b ON b.attrelid = h.oid
      WHERE b.attname = a.attname AND b.attgenerated = 'v') AS computed
  FROM pg_attribute a
  WHERE a.attrelid = {oid} AND a.attnum > 0 AND NOT a.attisdropped"""
)
_OF_QUERY = """
WITH RECURSIVE types AS (
  SELECT place, CAST(NULL AS text) AS name, CAST(kind AS oid) AS kind, 0 AS depth, false AS computed
  FROM (VALUES {types}) AS given (place, kind)"""
_DESCRIBED = """
  UNION ALL
  SELECT d.place, d.name, t.typbasetype, d.depth + 1, d.computed
  FROM types d JOIN pg_type t ON t.oid = d.kind WHERE t.typtype = 'd')
SELECT d.name, CAST(t.typname AS text), n.nspname = 'pg_catalog', CAST(t.typcategory AS text),
  CASE WHEN d.depth > 0 THEN format('%I.%I', n.nspname, t.typname) END, d.computed
FROM types d JOIN pg_type t ON t.oid = d.kind
JOIN pg_namespace n ON n.oid = t.typnamespace
WHERE t.typtype <> 'd' ORDER BY d.place
"""


@dataclass(frozen=True)
class Table:
    """A table or a query, as SQL names it, and its columns."""

    source: str
    columns: tuple[Column, ...]
    now: str = ""
    """What asks whether the table is what it was; nothing of a query."""
    was: Sequence[tuple[Any, ...]] = ()
    """What that told when the table was locked."""


@dataclass(frozen=True)
class _Relation:
    """A table, a view or the like, and where it is."""

    number: int
    schema: str
    name: str
    kind: str
    is_part: bool
    """Whether its rows are those of another table too, in one of its partitions."""

    @property
    def source(self) -> str:
        return f"{sql_name(self.schema)}.{sql_name(self.name)}"


def find_table(connection: Connection, name: str | None) -> Table:
    """The table of this name in a database; without one, the only table that there is."""
    return _described(connection, _found(connection, name))


def lock_table(connection: Connection, name: str | None) -> Table:
    """Likewise; until the transaction ends, nobody can put another one in its place."""
    for _ in range(_TRIES):
        found = _found(connection, name)
        if connection.lock(found.source):
            was = connection.rows(_now_query(found))
            if _found(connection, name) == found:
                return replace(_described(connection, found), was=was)
        connection.look_again()
    raise DataError(BUSY)


def lock_query(connection: Connection, query: str) -> None:
    """Keep anybody from changing the tables of which a query is made."""
    for _ in range(_TRIES):
        if connection.lock(f"({query}) AS q"):
            return
        connection.look_again()
    raise DataError(BUSY)


def _found(connection: Connection, name: str | None) -> _Relation:
    relations = [_Relation(*row) for row in connection.rows(_RELATIONS)]
    chosen = _choose(_shown(relations, connection.path), name)
    _check_readable(connection, chosen)
    return chosen


def _described(connection: Connection, chosen: _Relation) -> Table:
    columns = _columns(connection, _OF_TABLE.format(oid=chosen.number))
    return Table(chosen.source, columns, _now_query(chosen))


def _now_query(chosen: _Relation) -> str:
    """What tells whether a table is still the one of its name, and made of the same parts."""
    name = chosen.source.replace("'", "''")
    return _CHANGED.format(oid=chosen.number, name=f"E'{name.replace(chr(92), chr(92) * 2)}'")


def identities(connection: Connection, name: str | None) -> list[str]:
    """What is known of a table, and of those from which its rows come, by whatever address."""
    relations = [_Relation(*row) for row in connection.rows(_RELATIONS)]
    chosen = _choose(_shown(relations, connection.path), name)
    heirs = connection.rows(_HEIRS.format(oid=chosen.number) + _NUMBERS)
    told = connection.tried(_CLUSTER)
    cluster = told[0][0] if told else "a server"  # that does not tell
    return [f"postgres {cluster} database {database} table {number}" for database, number in heirs]


def describe_query(connection: Connection, query: str, names: Sequence[str]) -> Table:
    """A query of somebody's own; what its columns are is told without running it."""
    kinds = ", ".join(f"CAST(CAST(pg_typeof(q.{sql_name(name)}) AS oid) AS int8)" for name in names)
    row = connection.rows(f"SELECT {kinds} FROM (SELECT) AS o LEFT JOIN ({query}) AS q ON false")[0]
    types = ", ".join(f"({place}, {kind})" for place, kind in enumerate(row))
    columns = _columns(connection, _OF_QUERY.format(types=types))
    named = (replace(column, name=name) for column, name in zip(columns, names, strict=True))
    return Table(f"({query}) AS q", tuple(named))


def _columns(connection: Connection, types: str) -> tuple[Column, ...]:
    return tuple(Column(*row) for row in connection.rows(types + _DESCRIBED))


# ── which table is meant ─────────────────────────────────────────────────────────────────────────


def _shown(relations: Sequence[_Relation], path: Sequence[str]) -> dict[str, _Relation]:
    """Relations by the names they are shown by: those in the search path by their own."""
    shown: dict[str, _Relation] = {}
    ranks = {schema: rank for rank, schema in enumerate(path)}
    for relation in sorted(relations, key=lambda r: ranks.get(r.schema, len(ranks))):
        plain = relation.name
        if relation.schema not in ranks or plain in shown:
            plain = f"{relation.schema}.{relation.name}"
        shown.setdefault(plain, relation)
    return shown


def _choose(shown: Mapping[str, _Relation], name: str | None) -> _Relation:
    tables = [one for one, r in shown.items() if r.kind in _STORED and not r.is_part]
    if name is None:
        if len(tables) == 1:
            return shown[tables[0]]
        raise DataError(f"the database {_held(tables)}" + f"; {_NAME_IT}" * bool(tables))
    found = {r.number: r for one, r in shown.items() if name in _spellings(one, r)}
    if len(found) > 1:
        raise DataError(f"several tables of the database are called {name!r}: quote its parts")
    if not found:
        near = get_close_matches(name, tables, 3)
        told = f"is it {' or '.join(map(repr, near))}?" if near else f"it {_held(tables)}"
        raise DataError(f"the database has no table {name!r}; {told}")
    (relation,) = found.values()
    _check_stored(relation, name)
    return relation


def _spellings(shown: str, relation: _Relation) -> set[str]:
    """How a table may be named: with its schema or without, quoted or not."""
    schemas = (relation.schema, sql_name(relation.schema))
    names = (relation.name, sql_name(relation.name))
    alone = names if shown == relation.name else ()
    return {shown, *alone, *(f"{schema}.{name}" for schema in schemas for name in names)}


def _held(tables: Sequence[str]) -> str:
    if not tables:
        return "holds no table that its user may see (views are not read)"
    more = [f"{len(tables) - _MOST_SHOWN} more"] * (len(tables) > _MOST_SHOWN)
    return f"holds {', '.join([*map(repr, tables[:_MOST_SHOWN]), *more])}"


# ── whether it can be read ───────────────────────────────────────────────────────────────────────


def _check_stored(relation: _Relation, name: str) -> None:
    if relation.kind in _STORED:
        return
    what = "a view" if relation.kind == "v" else "in another place (a foreign table)"
    raise DataError(
        f"{name!r} is {what}, and only what this database stores is read: make a table of it with"
        " CREATE TABLE ... AS SELECT, or a materialized view"
    )


def _check_readable(connection: Connection, relation: _Relation) -> None:
    query = _PLACES.format(oid=relation.number)
    ((is_elsewhere, is_hidden, is_allowed),) = connection.rows(query)
    shown = repr(relation.name)
    if not is_allowed:
        raise DataError(f"the user may not read the table {shown}: grant it SELECT")
    if is_elsewhere:
        raise DataError(
            f"some rows of {shown} are in another place (a foreign table): copy all to one table"
        )
    if is_hidden:
        raise DataError(
            f"row security hides rows of {shown} from the user: connect as one who sees all of them"
            " (BYPASSRLS), or make a table of those that are to count"
        )
