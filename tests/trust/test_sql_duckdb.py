"""What a SELECT means: its question, answered exactly from the rows, is what DuckDB answers."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import fields, is_dataclass, replace
from datetime import date, datetime
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from attack import Size, Tally
from slow_queries import Rows, answer
from sql_grammar import JUNK, disturbed
from sql_statements import (
    SCHEMA,
    Statement,
    database,
    in_the_middle,
    random_rows,
    statement,
)

import hushtable as ht
from hushtable.errors import QueryError
from hushtable.query.aggregate import Quantile, Spread
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


# ── whole statements, by a release without noise ─────────────────────────────────────────────────


def noiseless(values: list[tuple[Any, ...]], folder: Path) -> ht.Release:
    """A release of the rows at an ε that leaves no noise in any cell."""
    names = [attribute.name for attribute in SCHEMA.attributes]
    rows = pa.table(
        {name: list(of) for name, of in zip(names, zip(*values, strict=True), strict=True)}
    )
    schema = replace(SCHEMA, budget=Fraction(10**5))
    return ht.publish(
        rows, schema, epsilon=10**5, mechanism="basic", out=folder / "r", ledger=folder / "ledger"
    )


def is_exact(part: object) -> bool:
    """Whether an aggregate has one value only, be it of bins: sums, means, counts of them."""
    if isinstance(part, Quantile | Spread):
        return False
    if isinstance(part, tuple):
        return all(map(is_exact, part))
    return not is_dataclass(part) or all(is_exact(getattr(part, f.name)) for f in fields(part))


def check_answer(
    question: Statement, release: ht.Release, db: duckdb.DuckDBPyConnection
) -> tuple[int, int] | None:
    """Ask both; how many values were told, and how many of them are compared to the last digit.

    Of the others (quantiles, spreads) the intervals must hold the truth.
    """
    if refused(question.ours) is not None:
        return None
    query = parse_query(question.ours, SCHEMA)
    asked = {named.name: named.aggregate for named in query.aggregates}
    picked = [asked[term.column] for term in query.order if isinstance(term.column, str)]
    if not is_exact(query.having) or not all(map(is_exact, picked)):
        return 0, 0  # other rows may be shown
    try:
        found = release.sql(question.ours, row_cap=10**6)
    except QueryError as problem:
        assert str(problem) == "this divides by zero", question
        return None
    mine = told(found)
    theirs = [tuple(map(plain, row)) for row in db.execute(question.theirs).fetchall()]
    groups, exact = len(query.selected), [is_exact(asked[name]) for name in found.measures]

    def key(row: tuple[Any, ...], values: list[Any]) -> tuple[str, list[float]]:
        """A total has the labels of a group without any: then its values tell them apart."""
        digits = [_short(one) for one, known in zip(values, exact, strict=True) if known]
        return repr((row[:groups], *digits)), [math.inf if one is None else one for one in values]

    if not question.ordered:
        mine.sort(key=lambda row: key(row, [value for value, *_ in row[groups:]]))
        theirs.sort(key=lambda row: key(row, list(row[groups:])))
    assert len(mine) == len(theirs), question
    for one, two in zip(mine, theirs, strict=True):
        assert one[:groups] == two[:groups], (question, one, two)
        for known, (value, low, high), true in zip(exact, one[groups:], two[groups:], strict=True):
            assert not known or close(value, true), (question, one, two)
            if true is not None:
                room = 1e-7 * max(1.0, abs(true))
                assert low is None or low <= true + room, (question, one, two)
                assert high is None or high >= true - room, (question, one, two)
    return len(mine) * len(exact), len(mine) * sum(exact)


def _short(value: float | None) -> float | None:
    """A number without the digits in which two ways to add up may differ."""
    return value if value is None else float(f"{value:.6g}") + 0.0


def told(table: ht.ResultTable) -> list[tuple[Any, ...]]:
    """The labels of each row, and of each aggregate its value and the ends of its interval."""
    labels = zip(*(map(plain, of) for of in table.groups.values()), strict=True)
    keys = list(labels) if table.groups else [()] * len(table)
    columns = []
    for measure in table.measures.values():
        ends = measure.bounds(table.row_confidence)
        columns.append([tuple(map(plain, row)) for row in zip(measure.values, *ends, strict=True)])
    return [(*key, *bars) for key, bars in zip(keys, zip(*columns, strict=True), strict=True)]


@pytest.mark.parametrize("shard", range(SHARDS // 2))
def test_a_release_without_noise_answers_what_duckdb_does(
    shard: int, size: Size, tally: Tally, tmp_path: Path
) -> None:
    """From the text to the table: groups, HAVING, ORDER BY, LIMIT and intervals."""
    values = in_the_middle(random_rows(shard)[1])
    db, release = database(values), noiseless(values, tmp_path)
    chance = Random(100 + shard)
    answered: Counter[str] = Counter()
    for _ in range(size(8, 500)):
        found = check_answer(statement(chance, held=True), release, db)
        answered["answered" if found else "refused"] += 1
        answered["values"] += found[0] if found else 0
        answered["exact"] += found[1] if found else 0
    tally("SQL statements of a release", answered["answered"] + answered["refused"])
    tally("SQL statements that a release answered", answered["answered"])
    tally("values of a release beside DuckDB's", answered["values"])
    tally("of these, to the last digit", answered["exact"])
    assert answered["answered"] > answered["refused"] and answered["exact"]


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
