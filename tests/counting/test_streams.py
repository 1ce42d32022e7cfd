"""Streams whose length nobody knows: rows pass through the engine, which keeps none of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from slow_encoding import make

from hushtable.kernel.counting.encoding.statement import statement
from hushtable.kernel.counting.readers.stream import Stream
from hushtable.kernel.counting.source import open_table

SCHEMA = make(
    {"name": "town", "kind": "nominal", "values": [f"town {i}" for i in range(100)]},
    {"name": "job", "kind": "nominal", "values": [f"job {i}" for i in range(100)]},
)


def nodes(plan: Any) -> Iterator[Any]:
    for node in plan if isinstance(plan, list) else [plan]:
        yield node
        yield from nodes(node["children"])


def test_lists_of_labels_are_looked_up_and_rows_are_not() -> None:
    """Of two tables that are joined, the engine holds the second."""
    rows = pa.record_batch({"town": ["town 1"], "job": ["job 1"]})
    stream = Stream(rows.schema, lambda: [rows] * 3)
    with open_table(stream, SCHEMA.columns) as table:
        written = statement(SCHEMA, table.schema(), lambda rows, _: rows)
        with written.result(table, "salt") as told:
            query = f"EXPLAIN (FORMAT json) {told.sql_query()}"
            ((_, plan),) = table.get_backend().con.execute(query).fetchall()
    joins = [node for node in nodes(json.loads(plan)) if "JOIN" in node["name"]]
    assert joins
    for join in joins:
        passing, held = (str([*nodes(child)]) for child in join["children"])
        assert "'c0'" in passing and "'c0'" not in held
