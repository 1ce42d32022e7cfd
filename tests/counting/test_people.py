"""Rows of persons that memory could not hold are bounded in files, exactly as if it could."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_encoding import make
from tests.shared_sizes import some_of

from hushtable.errors import DataError
from hushtable.kernel.counting import code_table, count, count_table, people, source
from hushtable.kernel.counting.encoding.statement import SqlStatement, statement
from hushtable.kernel.counting.readers.stream import Stream
from hushtable.schema import Schema

PERSONS = st.sampled_from(["a", "A", "b", " b", "a|0", "a\0", "á", "", None, "longer than twelve"])
ROWS = st.lists(st.tuples(PERSONS, st.integers(-1, 3), st.integers(0, 300)), max_size=60)


def schema(max_rows: int) -> Schema:
    return make(
        {"name": "v", "kind": "ordinal", "range": [0, 2], "outside": "drop"},
        {"name": "w", "kind": "ordinal", "range": [0, 300]},
        unit={"column": "id", "max_rows": max_rows},
    )


def table(rows: list[tuple[Any, int, int]]) -> pa.Table:
    ids, *values = zip(*rows, strict=True) if rows else ((), (), ())
    columns = [pa.array(ids, pa.string()), *(pa.array(one, pa.int64()) for one in values)]
    return pa.table(columns, names=["id", "v", "w"])


def in_one_statement(data: pa.Table, schema: Schema) -> dict[int, int]:
    """The same rows encoded and bounded by one query, which holds them all."""

    def fetch(rows: Any) -> dict[int, int]:
        cells, counts = np.unique(np.asarray(rows.to_arrow_table()["cell"]), return_counts=True)
        return dict(zip(cells.tolist(), counts.tolist(), strict=True))

    def write(schema: Schema, types: Any) -> SqlStatement:
        return statement.__wrapped__(schema, types, count._linear_codes)

    return count.fetched(fetch, write, data, schema, None, "salt")


def in_files(data: Any, schema: Schema) -> dict[int, int]:
    found = count_table(data, schema, salt="salt")
    return dict(zip(found.codes.tolist(), found.counts.tolist(), strict=True))


@pytest.fixture(params=[0, 7], ids=["a file at once", "some files together"])
def small(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory that holds next to nothing, so that every row goes through a file."""
    monkeypatch.setattr(people, "_TOGETHER", request.param)
    monkeypatch.setattr(people, "_AT_ONCE", 3)


SKEWED = [("a", i % 3, i % 7) for i in range(80)] + [(f"p{i % 30}", i % 3, i) for i in range(80)]
TWINS = [("a", 1, 5)] * 50 + [("b", 1, 5)] * 3 + [("c", 0, 0), ("c", 0, 0), ("c", 2, 300)]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("max_rows", some_of([1, 2, 5, 10**9], [1, 5]))
@pytest.mark.parametrize("rows", [SKEWED, TWINS, []], ids=["skewed", "twins", "none"])
def test_the_rows_that_count_are_those_of_one_statement(
    rows: list[tuple[Any, int, int]], max_rows: int
) -> None:
    data = table(rows)
    assert in_files(data, schema(max_rows)) == in_one_statement(data, schema(max_rows))


@settings(deadline=None, max_examples=12)
@given(ROWS, st.sampled_from([1, 3]), st.sampled_from([0, 9]))
def test_so_they_are_of_any_rows(
    rows: list[tuple[Any, int, int]], max_rows: int, together: int
) -> None:
    data = table(rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(people, "_TOGETHER", together)
        found = in_files(data, schema(max_rows))
    assert found == in_one_statement(data, schema(max_rows))


@pytest.mark.usefixtures("small")
def test_ties_of_draws_are_broken_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the hash told no more than how long a text is."""
    about = SqlStatement.about
    hashed = "HASH(CONCAT_WS("

    def tied(self: SqlStatement, rows: str) -> str:
        return about(self, rows).replace(hashed, "LENGTH(CONCAT_WS(")

    assert hashed in statement.__wrapped__(schema(2), _types(), count._linear_codes).sql
    before = in_files(table(SKEWED), schema(2))
    monkeypatch.setattr(SqlStatement, "about", tied)
    found = in_files(table(SKEWED), schema(2))
    assert found == in_one_statement(table(SKEWED), schema(2)) != before


def _types() -> Any:
    import ibis

    columns = table([]).select(["v", "w", "id"]).rename_columns(["c0", "c1", "c2"])
    return ibis.memtable(columns).schema()


@pytest.mark.usefixtures("small")
def test_coded_rows_are_the_same_rows_in_narrow_columns() -> None:
    data, wanted = table(SKEWED), schema(2)
    coded = code_table(data, wanted, salt="salt")
    assert [column.dtype for column in coded.columns] == [np.uint8, np.uint16]
    cells, counts = np.unique(
        np.ravel_multi_index(tuple(c.astype(int) for c in coded.columns), coded.shape),
        return_counts=True,
    )
    assert dict(zip(cells.tolist(), counts.tolist(), strict=True)) == in_files(data, wanted)
    empty = code_table(table([]), wanted)
    assert [column.dtype for column in empty.columns] == [np.uint8, np.uint16]
    assert empty.number == 0


@pytest.mark.usefixtures("small")
def test_a_table_is_read_once() -> None:
    """One that changes meanwhile would be read twice as two tables, and a row counted twice."""
    read = []

    def batches() -> Iterator[Any]:
        read.append(1)
        return iter(table(SKEWED).to_batches(max_chunksize=9))

    found = in_files(Stream(table([]).schema, batches), schema(2))
    assert found == in_one_statement(table(SKEWED), schema(2)) and read == [1]


@pytest.mark.usefixtures("small")
def test_nothing_is_left_behind_and_nothing_is_said(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    in_files(table(SKEWED), schema(2))
    assert list(tmp_path.iterdir()) == []

    def broken(*_: Any) -> Any:
        raise ValueError("p17 could not be written")

    monkeypatch.setattr(people, "_written", broken)
    with pytest.raises(DataError, match="could not be counted") as failed:
        in_files(table(SKEWED), schema(2))
    assert "p17" not in str(failed.value) and failed.value.__context__ is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("databases_as_ever")
def test_the_engine_is_one_of_our_own_that_shows_nothing() -> None:
    engines: list[Any] = []
    codes = {"k0": pa.array([1], pa.uint8()), "k1": pa.array([2], pa.uint16())}
    rows = pa.table({"person": ["a"], **codes})
    kept = people.kept_statement(schema(2), count._linear_codes)
    with duckdb.connect() as theirs:
        found = theirs.from_arrow(rows)
        with people.bounded(found, kept, "salt", engines.append) as batches:
            assert [batch["cell"].to_pylist() for batch in batches.to_arrow_reader(1)] == [[303]]
            (engine,) = engines
            asked = ("enable_progress_bar", "memory_limit", "autoinstall_known_extensions")
            settings = ", ".join(f"current_setting('{name}')" for name in asked)
            told = engine.execute(f"SELECT {settings}").fetchall()
    assert told == [(False, "1.0 GiB", False)]


def test_it_is_stopped_with_the_engine_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also after one that was closed meanwhile."""
    stopped = Event()

    def ctrl_c(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    with duckdb.connect() as closed:
        pass
    table = SimpleNamespace(get_backend=lambda: SimpleNamespace(con=closed))
    monkeypatch.setattr(source, "wait", ctrl_c)
    with pytest.raises(KeyboardInterrupt):
        source.interruptible(
            table, lambda: stopped.wait(60), [SimpleNamespace(interrupt=stopped.set)]
        )
    assert stopped.is_set()
