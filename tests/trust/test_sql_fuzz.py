"""Any SQL is answered as an explicit table of cells answers it, or refused in one line."""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from attack import Size, Tally
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from release_folders import make_release
from sql_grammar import (
    SCHEMA,
    Statement,
    counts,
    damaged,
    explicit_table,
    plain_statement,
    statement,
)

import hushtable
from hushtable.errors import QueryError
from hushtable.query.box import CodeSet

CELLS = counts(1)
SHARDS = 4


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> hushtable.Release:
    return make_release(tmp_path_factory.mktemp("fuzz") / "r", SCHEMA, CELLS)


@pytest.fixture(scope="module")
def tables() -> list[sqlite3.Connection]:
    return [explicit_table(CELLS, upper=upper) for upper in (False, True)]


def asked(release: hushtable.Release, sql: str) -> hushtable.query.result.ResultTable | None:
    """The answer, or None if it was refused as every refusal must be."""
    try:
        return release.sql(sql)
    except QueryError as problem:
        line = str(problem)
        assert line.isprintable() and 0 < len(line) < 1000, sql
        return None


def rows_of(result: Any) -> list[tuple[Any, ...]]:
    columns = [list(column) for column in result.groups.values()]
    return list(zip(*columns, result.values.tolist(), strict=True))


def check(release: hushtable.Release, db: sqlite3.Connection, question: Statement) -> bool:
    """Ask both; whether it was answered."""
    result = asked(release, question.ours)
    if result is None:
        return False
    found = db.execute(question.theirs).fetchall()
    cell_error = release.cell_stderr
    mine = [
        (*row, round((error / cell_error) ** 2))
        for row, error in zip(rows_of(result), result.stderr.tolist(), strict=True)
    ]
    if question.ordered:
        assert mine == found, question
    else:
        assert Counter(mine) == Counter(found), question
    for error, row in zip(result.stderr.tolist(), found, strict=True):
        assert not question.ordered or math.isclose(error, cell_error * math.sqrt(row[-1]))
    return True


def check_damaged(release: hushtable.Release, db: sqlite3.Connection, sql: str) -> bool:
    """What hushtable makes of a damaged statement, SQLite must make of it too.

    SQLite does not read names that it reserves (`FROM census CASE`): nothing to compare then.
    """
    result = asked(release, sql)
    if result is None:
        return False
    try:
        found = db.execute(sql).fetchall()
    except (sqlite3.Error, ValueError):
        return False
    assert Counter(rows_of(result)) == Counter(found), sql
    return True


def fuzz(work: Any, examples: int, each: int, number: int) -> None:
    """Run work on examples·each random sources of Hypothesis; alone, they can be shrunk."""

    @seed(number)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=[Phase.generate, *([Phase.shrink] if each == 1 else [])],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.randoms(use_true_random=each > 1))
    def run(chance: Random) -> None:
        for _ in range(each):
            work(chance)

    run()


@pytest.mark.parametrize("shard", range(SHARDS))
def test_every_accepted_statement_is_the_sum_over_its_cells(
    shard: int,
    release: hushtable.Release,
    tables: list[sqlite3.Connection],
    size: Size,
    tally: Tally,
) -> None:
    answered: Counter[bool] = Counter()

    def work(chance: Random) -> None:
        question = statement(chance)
        answered[check(release, tables[sum(answered.values()) % 2], question)] += 1

    fuzz(work, size(50, 400), size(1, 60), shard + SHARDS * size(0, 1))
    tally("SQL statements", answered.total())
    tally("SQL statements answered", answered[True])
    assert answered[True] > answered.total() // 4 and answered[False]


@pytest.mark.parametrize("shard", range(SHARDS))
def test_damaged_statements_are_refused_or_mean_what_they_say(
    shard: int,
    release: hushtable.Release,
    tables: list[sqlite3.Connection],
    size: Size,
    tally: Tally,
) -> None:
    answered: Counter[bool] = Counter()

    def work(chance: Random) -> None:
        answered[check_damaged(release, tables[0], damaged(chance))] += 1

    fuzz(work, size(50, 100), size(1, 60), shard + SHARDS * size(0, 1))
    tally("SQL statements", answered.total())
    tally("SQL statements answered", answered[True])
    assert answered[False] > answered.total() // 4
    assert answered[True] or answered.total() < 1000


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT , COUNT(*) FROM census",
        "SELECT COUNT(*), FROM census",
        "SELECT age, , COUNT(*) FROM census GROUP BY age",
        "SELECT COUNT(*) FROM census WHERE age IN (1, , 2)",
        "SELECT COUNT(*) FROM census WHERE age IN (1,)",
        "SELECT COUNT(*) FROM census WHERE age IN (, 1)",
        "SELECT COUNT(*) FROM census WHERE age BETWEEN 1 2",
        "SELECT COUNT(*) FROM census WHERE age BETWEEN (1) (2)",
        "SELECT COUNT(*) FROM census WHERE age BETWEEN 1 NULL",
    ],
)
def test_what_the_parser_overlooks_is_refused(release: hushtable.Release, sql: str) -> None:
    assert asked(release, sql) is None


def test_groups_are_ordered_by_their_codes_though_some_are_missing(
    release: hushtable.Release,
) -> None:
    """The first group has no 'low': it comes first in the next all the same."""
    result = release.sql(
        "SELECT age, grade, COUNT(*) FROM census WHERE age = 1 AND grade <> 'low' OR age = 3"
        " GROUP BY age, grade ORDER BY age DESC, grade"
    )
    order = [(3, "low"), (3, "mid"), (3, "high"), (1, "mid"), (1, "high")]
    assert [row[:2] for row in rows_of(result)] == order


def test_an_alias_does_not_hide_an_attribute_from_group_by(release: hushtable.Release) -> None:
    assert asked(release, "SELECT income AS age, COUNT(*) FROM census GROUP BY age") is None
    assert asked(release, "SELECT income AS x, COUNT(*) FROM census GROUP BY x") is not None
    assert asked(release, "SELECT LEVEL(age, 1) AS age, COUNT(*) FROM census GROUP BY age")


def test_undamaged_statements_are_answered(
    release: hushtable.Release, tables: list[sqlite3.Connection]
) -> None:
    chance = Random(1)
    answered = [check_damaged(release, tables[0], plain_statement(chance)) for _ in range(50)]
    assert sum(answered) > 25


@pytest.mark.parametrize(
    "raw", [b"", b"\0", b"\xff" * 10, b"SELECT" * 1000, b"(" * 5000, b"'" * 99]
)
def test_bytes_are_refused(release: hushtable.Release, raw: bytes) -> None:
    for encoding in ("latin-1", "utf-16-le"):
        assert asked(release, raw.decode(encoding, "replace")) is None


def test_a_wrong_sum_would_be_noticed(
    release: hushtable.Release, tables: list[sqlite3.Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Complements that forget their last gap: the comparison sees it."""

    def wrong(self: CodeSet, size: int) -> CodeSet:
        return CodeSet(complement(self, size).intervals[:1])

    complement = CodeSet.complement
    monkeypatch.setattr(CodeSet, "complement", wrong)
    chance = Random(2)
    with pytest.raises(AssertionError):
        for _ in range(300):
            check(release, tables[0], statement(chance))


def test_the_explicit_table_has_every_cell(tmp_path: Path, tables: Any) -> None:
    (total, cells) = (
        tables[1].execute("SELECT COUNT(*), COUNT(DISTINCT cell) FROM census").fetchone()
    )
    assert (total, cells) == (CELLS.sum(), CELLS.size)
