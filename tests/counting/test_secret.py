"""Which rows of a person count is decided by a secret that nobody but an audit can choose."""

from __future__ import annotations

import ast
from pathlib import Path
from threading import Thread
from typing import Any

import pyarrow as pa
import pytest
from slow_encoding import make

import hushtable
from hushtable.auditing.small_tables import Holdings, Table
from hushtable.kernel.counting import CodedColumns, code_table, count
from hushtable.kernel.counting.encoding.bound import fresh_salt
from hushtable.kernel.counting.encoding.statement import SqlStatement
from hushtable.kernel.counting.source import open_table

SCHEMA = make(
    {"name": "v", "kind": "ordinal", "range": [0, 99]}, unit={"column": "id", "max_rows": 1}
)
MANY = pa.table({"id": [str(i // 2) for i in range(200)], "v": [i % 100 for i in range(200)]})


def test_the_secret_is_fresh_from_the_system_and_drawn_before_counting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn: list[str] = []
    opened: list[int] = []
    used: list[str] = []
    result = SqlStatement.result

    def draw() -> str:
        drawn.append(fresh_salt())
        return drawn[-1]

    def opening(*arguments: Any, **options: Any) -> Any:
        opened.append(len(drawn))
        return open_table(*arguments, **options)

    def telling(written: SqlStatement, table: Any, salt: str) -> Any:
        used.append(salt)
        return result(written, table, salt)

    monkeypatch.setattr(count, "fresh_salt", draw)
    monkeypatch.setattr(count, "open_table", opening)
    monkeypatch.setattr(SqlStatement, "result", telling)
    for work in (count.count_table, count.code_table, count.count_table):
        work(MANY, SCHEMA)
    assert opened == [1, 2, 3]
    assert used == drawn and len(set(drawn)) == 3
    assert all(len(bytes.fromhex(salt)) >= 16 for salt in drawn)


def test_only_audits_give_a_salt_of_their_own() -> None:
    """What is published is counted with a secret: nothing else in the source may pass one.

    Counting itself passes on what it was given.
    """
    root = Path(hushtable.__file__).parent
    passing = {
        path.relative_to(root).as_posix()
        for path in root.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        for word in node.keywords
        if word.arg == "salt" and not (path == Path(count.__file__) and is_own(word.value))
    }
    assert passing == {"auditing/small_tables.py"}


def is_own(value: ast.expr) -> bool:
    """Whether it is what a function was given as its own salt."""
    return isinstance(value, ast.Name) and value.id == "salt"


def test_an_audit_leaves_the_counting_of_others_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """While it counts with a salt of its own, others draw theirs.

    A hundred people keep one of two rows each: twice the same ones with probability 2⁻¹⁰⁰.
    """
    found: list[CodedColumns] = []

    class Busy(Holdings):
        def _arrow(self, table: Table) -> object:
            other = Thread(target=lambda: found.append(code_table(MANY, SCHEMA)))
            other.start()
            other.join()
            return super()._arrow(table)

    for _ in range(2):
        Busy(SCHEMA).of((("1", "a"),))
    one, other = (sorted(table.columns[0].tolist()) for table in found)
    assert one != other
