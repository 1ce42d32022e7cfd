"""The SQL statement that encodes a table's rows and bounds contributions, written once per schema.

It is a function of the schema and of the types of the columns: no value decides anything about it,
and no secret stands in it. Writing it takes longer than running it on a small table, so that the
last few are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from hushtable.kernel.counting.encoding.bound import bound_contributions
from hushtable.kernel.counting.encoding.columns import sql_text
from hushtable.kernel.counting.encoding.encode import encode
from hushtable.schema import Schema

Select = Callable[[Any, Schema], Any]
"""What is wanted of the encoded rows: an Ibis table made of the one that holds k0, k1, …"""

KEPT = 16
"""Statements of each kind that are kept."""

ROWS = "hush_rows"
SALT = "hush_salt"  # stands in the place of the secret while the statement is written


@dataclass(frozen=True, repr=False)
class SqlStatement:
    """SQL that reads c0, c1, … of a table it calls hush_rows, and the lists it looks labels up in.

    The lists are Arrow tables by their names in the SQL.
    """

    sql: str
    lists: dict[str, Any]
    salted: bool

    def about(self, rows: str) -> str:
        """The statement about the rows that a query tells."""
        return f"WITH {ROWS} AS ({rows}) SELECT * FROM ({self.sql})"

    @contextmanager
    def result(self, table: Any, salt: str) -> Iterator[Any]:
        """What the statement tells of an Ibis table of DuckDB, to be fetched meanwhile."""
        import ibis
        from ibis.expr.operations import InMemoryTable

        engine = table.get_backend()
        for part in table.op().find(InMemoryTable):  # which the engine must know
            engine.to_pyarrow(part.to_expr().limit(0))
        query = self.about(ibis.to_sql(table))
        for name, listed in self.lists.items():
            engine.con.register(name, listed)
        try:
            yield engine.con.sql(query, params={"salt": salt} if self.salted else None)
        finally:  # the engine may be the user's own
            for name in self.lists:
                engine.con.unregister(name)


@lru_cache(KEPT)
def statement(schema: Schema, types: Any, select: Select) -> SqlStatement:
    """Encode columns of these types by the schema, bound contributions, and select of the rows."""
    import ibis

    table = ibis.table(types, name=ROWS)
    return written(select(bound_contributions(encode(table, schema), schema, SALT), schema))


def written(rows: Any) -> SqlStatement:
    """An Ibis expression about the table hush_rows as SQL, without the salt."""
    import ibis
    from ibis.expr.operations import InMemoryTable

    sql = ibis.to_sql(rows, dialect="duckdb", pretty=False)
    lists = {part.name: part.data.to_pyarrow(part.schema) for part in rows.op().find(InMemoryTable)}
    salt = sql_text(SALT)
    return SqlStatement(sql.replace(salt, "$salt"), lists, salted=salt in sql)
