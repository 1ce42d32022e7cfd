"""The statement that encodes and bounds: one per schema and types, without a secret in it."""

from __future__ import annotations

from dataclasses import replace

import ibis
import pyarrow as pa
import pytest
from slow_encoding import make

from hushtable.kernel.counting import count
from hushtable.kernel.counting.count import count_table
from hushtable.kernel.counting.encoding.statement import SqlStatement, statement
from hushtable.schema import Schema

SCHEMA = make(
    {"name": "v", "kind": "nominal", "values": ["1", "2"]},
    {"name": "w", "kind": "ordinal", "range": [0, 9]},
    unit={"column": "id", "max_rows": 1},
)
TABLE = pa.table({"v": ["1", "2", "2"], "w": [0, 9, 9], "id": ["a", "b", "c"]})
KINDS = {str(kind): kind for kind in (pa.string(), pa.int64(), pa.float64(), pa.decimal128(21, 2))}


def written(table: pa.Table, schema: Schema = SCHEMA) -> SqlStatement:
    columns = pa.table(table.columns, names=["c0", "c1", "c2"])
    return statement(schema, ibis.memtable(columns).schema(), count._linear_codes)


@pytest.mark.parametrize("schema", [SCHEMA, replace(SCHEMA, unit=None)], ids=["people", "rows"])
@pytest.mark.parametrize("first", KINDS)
def test_a_table_counts_alike_whatever_the_types_of_the_one_before(
    first: str, schema: Schema
) -> None:
    for kind in (first, *KINDS):
        table = TABLE.set_column(0, "v", pa.array([1, 2, 2]).cast(KINDS[kind]))
        found = count_table(table, schema)
        assert found.codes.tolist() == [0, 19] and found.counts.tolist() == [1, 2]


def test_equal_schemas_share_a_statement_and_other_types_have_their_own() -> None:
    again = Schema.from_dict(SCHEMA.to_dict())
    texts = TABLE.set_column(1, "w", pa.array(["0", "9", "9"]))
    assert written(TABLE) is written(TABLE.slice(0, 0), again)
    assert written(TABLE) is not written(texts)


def test_no_salt_stands_in_a_statement_that_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[SqlStatement] = []
    about = SqlStatement.about

    def telling(kept: SqlStatement, rows: str) -> str:
        seen.append(kept)
        return about(kept, rows)

    monkeypatch.setattr(SqlStatement, "about", telling)
    for salt in ("5alt", "pepper"):
        count_table(TABLE, SCHEMA, salt=salt)
    encoding, bounding, *again = seen
    assert again[0] is encoding and again[1] is bounding
    assert not any("5alt" in one.sql for one in seen)
    assert (encoding.sql.count("$salt"), bounding.sql.count("$salt")) == (0, 1)


def test_the_owner_s_engine_is_left_as_it_was() -> None:
    """Also where a table has the name that the statement gives to the rows."""
    engine = ibis.duckdb.connect()
    engine.con.register("given", TABLE)
    engine.con.execute("CREATE TABLE hush_rows AS FROM given")
    engine.con.unregister("given")
    table = engine.table("hush_rows")
    for _ in range(2):
        assert count_table(table, SCHEMA).counts.tolist() == [1, 2]
    assert engine.con.sql("SHOW TABLES").fetchall() == [("hush_rows",)]
