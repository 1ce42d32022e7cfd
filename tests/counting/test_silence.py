"""What an engine said stays nowhere on the errors that we raise instead."""

from __future__ import annotations

import ast
import sqlite3
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from slow_encoding import make

import hushtable
from hushtable.drafting import draft_schema
from hushtable.errors import DataError, OptionError
from hushtable.kernel.counting import CsvFormat, count_table
from hushtable.kernel.counting.silence import EngineError, raise_alone, silent_engine
from hushtable.kernel.counting.tally import Tally
from hushtable.schema import IntegerRange, Schema, ordinal

CANARY = "Zyxwvut-7f3a91"
SCHEMA = make(
    {"name": "a", "kind": "ordinal", "range": [0, 3]}, unit={"column": "id", "max_rows": 1}
)


def remembered(problem: BaseException) -> Iterator[BaseException]:
    """An error and all that it still knows of others, whether a traceback shows them or not."""
    waiting, seen = [problem], set[int]()
    while waiting:
        found = waiting.pop()
        if id(found) not in seen:
            seen.add(id(found))
            yield found
            waiting += [other for other in (found.__cause__, found.__context__) if other]


def assert_alone(problem: BaseException) -> None:
    for found in remembered(problem):
        assert CANARY not in f"{found!s} {found!r} {found.args} {getattr(found, '__notes__', '')}"
        assert isinstance(found, DataError | OptionError)


def failing_view() -> Any:
    engine = ibis.duckdb.connect()
    engine.con.execute(
        "CREATE VIEW v AS SELECT CAST(t AS INTEGER) AS a, t AS id"
        f" FROM (VALUES ('{CANARY}')) AS v(t)"
    )
    return engine.table("v")


def breaking_stream() -> Any:
    table = pa.table({"a": [CANARY], "id": [CANARY]})

    def batches() -> Iterator[Any]:
        yield from table.to_batches()
        raise ValueError(CANARY)

    return pa.RecordBatchReader.from_batches(table.schema, batches())


class Hostile:
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        raise ValueError(CANARY)


def broken_files(folder: Path) -> dict[str, Any]:
    pq.write_table(pa.table({"a": [CANARY] * 999, "id": [CANARY] * 999}), folder / "t.parquet")
    whole = (folder / "t.parquet").read_bytes()
    (folder / "t.parquet").write_bytes(whole[:4] + b"\xff" * 99 + whole[103:])
    (folder / "latin.csv").write_bytes(f"{CANARY}é,a,id\n".encode("latin-1"))
    (folder / "cut.csv.gz").write_bytes(CANARY.encode())
    (folder / "headless.csv").write_text(f"{CANARY},{CANARY}\n1,x\n")
    return {path.name: path for path in folder.iterdir()}


@pytest.mark.parametrize("name", ["t.parquet", "latin.csv", "cut.csv.gz", "headless.csv"])
def test_errors_of_files_stand_alone(name: str, tmp_path: Path) -> None:
    path = broken_files(tmp_path)[name]
    with pytest.raises(DataError) as caught:
        count_table(path, SCHEMA)
    assert_alone(caught.value)
    if name != "headless.csv":
        with pytest.raises(DataError) as caught:
            draft_schema(path, name="t")
        assert_alone(caught.value)


@pytest.mark.parametrize("make_table", [failing_view, breaking_stream, Hostile])
def test_errors_of_engines_stand_alone(make_table: Any) -> None:
    with pytest.raises(DataError) as caught:
        count_table(make_table(), SCHEMA)
    assert_alone(caught.value)


def test_a_draft_s_errors_stand_alone() -> None:
    with pytest.raises(DataError) as caught:
        draft_schema(failing_view(), name="t")
    assert_alone(caught.value)


def test_errors_of_options_stand_alone() -> None:
    with pytest.raises(OptionError) as caught:
        CsvFormat(encoding=CANARY)
    assert_alone(caught.value)


def test_the_search_would_find_a_value_in_a_hidden_context() -> None:
    with pytest.raises(EngineError) as caught:
        try:
            raise ValueError(CANARY)
        except ValueError:
            raise EngineError("hidden") from None
    with pytest.raises(AssertionError):
        assert_alone(caught.value)


def test_an_error_that_is_raised_alone_has_no_context() -> None:
    with pytest.raises(EngineError) as caught, silent_engine("problem"):
        raise ValueError(CANARY)
    assert caught.value.__context__ is None and caught.value.__cause__ is None
    with pytest.raises(DataError) as raised:
        try:
            raise ValueError(CANARY)
        except ValueError:
            raise_alone(DataError("alone"))
    assert raised.value.__context__ is None


def owner_side() -> list[Path]:
    root = Path(hushtable.__file__).parent
    return [
        *sorted((root / "kernel" / "counting").rglob("*.py")),
        *sorted((root / "drafting").rglob("*.py")),
        root / "scratch.py",
    ]


def test_no_error_is_raised_while_another_is_handled() -> None:
    """It would keep the other as its context; `raise_alone` is the way."""
    found = [
        f"{path.name}:{inner.lineno}"
        for path in owner_side()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ExceptHandler)
        for inner in ast.walk(node)
        if isinstance(inner, ast.Raise) and inner.exc is not None
    ]
    assert found == [] and len(owner_side()) > 10


# Ibis asks pandas for an option that is on its way out.
@pytest.mark.filterwarnings("ignore:The 'future.infer_string' option is deprecated")
@pytest.mark.parametrize("encoding", ["UTF-8", "UTF-16le"])
def test_no_value_of_sqlite_makes_it_fail(encoding: str, tmp_path: Path) -> None:
    """Any value in any column, whatever it declares: bytes that are no text among them."""
    database = sqlite3.connect(tmp_path / "t.db")
    database.execute(f"PRAGMA encoding = '{encoding}'")
    database.execute("CREATE TABLE t (a INTEGER, id TEXT)")
    odd = [b"\xff\xfe\x00", "x", 2.5, None, 2**62, b"", "a\0b", float("inf"), -(2**63), b"2"]
    database.executemany("INSERT INTO t VALUES (?, ?)", [(2, f"p{i}") for i in range(5)])
    database.commit()
    people = ibis.sqlite.connect(tmp_path / "t.db")
    schema = make({"name": "a", "kind": "ordinal", "range": [0, 3], "outside": "other"})
    plain = count_table(people.table("t"), schema)
    assert (plain.codes.tolist(), plain.counts.tolist()) == ([2], [5])
    for number, value in enumerate(odd):
        database.execute("INSERT INTO t VALUES (?, ?)", (value, value))
        database.commit()
        counts = count_table(people.table("t"), schema)
        assert counts.counts.sum() == 6 + number
        count_table(people.table("t"), SCHEMA)
    database.close()
    people.disconnect()


def test_too_little_memory_does_not_tell_how_many_rows_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """NumPy says how large an array it wanted."""

    def full(self: object) -> None:
        raise MemoryError("Unable to allocate an array with shape (23654321,)")

    monkeypatch.setattr(Tally, "result", full)
    schema = Schema("t", Fraction(1), (ordinal("x", IntegerRange(0, 3)),))
    with pytest.raises(EngineError) as told:
        count_table(pa.table({"x": [1, 2]}), schema)
    assert "2365" not in str(told.value) and told.value.__context__ is None


def test_a_draft_leaves_out_a_value_that_can_be_no_label() -> None:
    """One odd value neither fails a draft nor is quoted."""
    table = pa.table({"x": ["a", "b", f"{CANARY}\0x", " ", ""]})
    draft = draft_schema(table, name="t")
    assert [draft.schema.attributes[0].label(i) for i in range(2)] == ["a", "b"]
