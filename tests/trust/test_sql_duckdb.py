"""What a SELECT means: its question, answered exactly from the rows, is what DuckDB answers."""

from __future__ import annotations

import math
from collections import Counter
from datetime import date, datetime
from random import Random
from typing import Any

import duckdb
import pytest
from attack import Size, Tally
from slow_queries import Rows, answer
from sql_grammar import JUNK, disturbed
from sql_statements import SCHEMA, Statement, database, random_rows, statement

from hushtable.errors import QueryError
from hushtable.query.sql import parse_query

SHARDS = 4


def plain(value: Any) -> Any:
    """A value as both give it: numbers rounded, dates as text of a day."""
    if isinstance(value, datetime | date):
        return value.isoformat()[:10]
    if isinstance(value, str) and len(value) == 7 and value[4] == "-":
        return f"{value}-01"
    if value is None or isinstance(value, str | bool):
        return value
    number = float(value)
    return float(f"{number:.9g}") + 0.0 if math.isfinite(number) else None


def close(one: Any, two: Any) -> bool:
    if isinstance(one, float) and isinstance(two, float):
        return math.isclose(one, two, rel_tol=1e-7, abs_tol=1e-7)
    return bool(one == two)


WORDS = (
    *("FILTER", "OVER", "()", "ROLLUP", "CUBE", "WITHIN", "FLOOR(", "::double", "//", "EXTRACT"),
    *("PARTITION", "AVG(", "MEDIAN", "ORDER", "LIMIT", "NULLS", "FIRST", "DESC", "WHEN", "THEN"),
    *("ELSE", "END", "IGNORE", "RESPECT", "QUALIFY", "WINDOW", "ANY", "LATERAL", "EXCEPT", "TOP"),
    *("EXCLUDE", "REPLACE", "USING", "SAMPLE", "ROWS", "RANGE", "MATERIALIZED", "RECURSIVE", "t"),
)
DIFFERENT = ("SUM", "/", "LIMIT", "FILTER")
"""What may differ from DuckDB: sums of nothing, divisions by zero, and which of equal rows."""


def check_damaged(sql: str, rows: Rows, db: duckdb.DuckDBPyConnection) -> bool:
    """What is made of a damaged statement, DuckDB must make of it too, if it reads it."""
    question = Statement(sql, sql, ordered=False)
    if any(word in sql for word in DIFFERENT):
        return refused(sql) is None
    try:
        db.execute(sql)
    except duckdb.Error:
        return refused(sql) is None
    return check(question, rows, db)


def refused(sql: str) -> str | None:
    """The line of a refusal, which must be as every refusal is."""
    try:
        parse_query(sql, SCHEMA)
    except QueryError as problem:
        line = str(problem)
        assert line.isprintable() and 0 < len(line) < 1000, sql
        return line
    return None


def check(question: Statement, rows: Rows, db: duckdb.DuckDBPyConnection) -> bool:
    """Ask both; whether it was answered."""
    if refused(question.ours) is not None:
        return False
    query = parse_query(question.ours, SCHEMA)
    mine = [tuple(map(plain, row)) for row in answer(query, rows)]
    theirs = [tuple(map(plain, row)) for row in db.execute(question.theirs).fetchall()]
    if not question.ordered:
        mine, theirs = (sorted(found, key=repr) for found in (mine, theirs))
    assert len(mine) == len(theirs), question
    for one, two in zip(mine, theirs, strict=True):
        assert len(one) == len(two) and all(map(close, one, two)), (question, one, two)
    return True


@pytest.mark.parametrize("shard", range(SHARDS))
def test_every_question_is_what_duckdb_answers(shard: int, size: Size, tally: Tally) -> None:
    rows, values = random_rows(shard)
    db = database(values)
    chance = Random(shard)
    answered: Counter[bool] = Counter()
    for _ in range(size(50, 5_000)):
        answered[check(statement(chance), rows, db)] += 1
    tally("SQL statements", answered.total())
    tally("SQL statements answered", answered[True])
    assert answered[True] > answered.total() // 2 and answered[False]


@pytest.mark.parametrize("shard", range(SHARDS))
def test_damaged_questions_are_refused_or_mean_what_they_say(
    shard: int, size: Size, tally: Tally
) -> None:
    rows, values = random_rows(shard, 60)
    db = database(values)
    chance = Random(shard)
    answered: Counter[bool] = Counter()
    for _ in range(size(50, 3_000)):
        sql = disturbed(chance, statement(chance).ours, (*JUNK, *WORDS))
        answered[check_damaged(sql, rows, db)] += 1
    tally("SQL statements", answered.total())
    tally("SQL statements answered", answered[True])
    assert answered[False] > answered.total() // 4
    assert answered[True] or answered.total() < 1000
