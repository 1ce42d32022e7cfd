"""Every engine counts the corpus of odd values as DuckDB counts the same values in Arrow.

In parts of the table as in the whole: then no row changes how another is read, and none makes the
count fail.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import corpus
import pyarrow as pa
import pytest
from registry import ENGINES, Engine
from tests.shared_sizes import some_of

from hushtable.kernel.counting import count_table
from hushtable.schema import Schema

SALT = "5a17" * 8

Counted = Callable[..., Counter[int]]


@pytest.fixture(params=[pytest.param(name, marks=ENGINES[name].marks) for name in ENGINES])
def engine(request: pytest.FixtureRequest) -> Engine:
    return ENGINES[request.param]


@pytest.fixture
def counted(
    engine: Engine, fresh_folders: Iterator[Path], request: pytest.FixtureRequest
) -> Counted:
    """Load a table into an engine, in so many parts, and count it there."""
    if engine.alone:
        request.getfixturevalue("databases_as_ever")

    def count(table: Any, schema: Schema, parts: int = 1) -> Counter[int]:
        folder = next(fresh_folders)
        folder.mkdir()
        with engine.load(table, folder, parts) as data:
            return cells(data, schema)

    return count


def cells(data: Any, schema: Schema) -> Counter[int]:
    found = count_table(data, schema, salt=SALT)
    return Counter(dict(zip(found.codes.tolist(), found.counts.tolist(), strict=True)))


def kinds_of(engine: Engine, name: str) -> list[str]:
    """The kinds of a table of the corpus that an engine has; skip where it has none."""
    kinds = [kind for kind in corpus.TABLES[name] if kind in engine.kinds]
    if not kinds:
        pytest.skip("it has no columns of these types")
    return kinds


@cache
def _cells_of_rows(kinds: tuple[str, ...], outside: str) -> dict[int, int]:
    """The cell of every row that counts, by its number."""
    schema = corpus.schema(kinds, outside)
    found = cells(corpus.table(kinds), schema)
    assert {*found.values()} == {1}
    return {cell // (schema.cells // schema.shape[0]): cell for cell in found}


def expected(table: Any, kinds: Collection[str], outside: str) -> Counter[int]:
    """The cells of a part of the corpus."""
    of_rows = _cells_of_rows(tuple(kinds), outside)
    return Counter(of_rows[row] for row in table[corpus.ROW].to_pylist() if row in of_rows)


# ── values ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("outside", some_of(["other", "clip", "drop"], ["other"]))
@pytest.mark.parametrize("name", some_of(corpus.TABLES, ["texts", "numbers", "moments"]))
def test_every_value_is_read_as_duckdb_reads_it(
    engine: Engine, counted: Counted, name: str, outside: str
) -> None:
    kinds = kinds_of(engine, name)
    table = corpus.table(kinds, engine.holds)
    found = counted(table, corpus.schema(kinds, outside), 3)
    assert found == expected(table, kinds, outside)
    if outside == "other":
        assert found.total() == table.num_rows, "each row has a cell of its own"


@pytest.mark.thorough
@pytest.mark.parametrize("name", corpus.TABLES)
def test_no_row_changes_how_another_is_read(engine: Engine, counted: Counted, name: str) -> None:
    """Of any two rows, a part of the table has the first and not the second."""
    kinds = kinds_of(engine, name)
    table, schema = corpus.table(kinds, engine.holds), corpus.schema(kinds, "other")
    for part in corpus.splits(table):
        assert counted(part, schema) == expected(part, kinds, "other")


@pytest.mark.thorough
@pytest.mark.parametrize("outside", ["other", "clip", "drop"])
@pytest.mark.parametrize("name", corpus.TABLES)
def test_duckdb_reads_every_row_as_if_it_were_alone(name: str, outside: str) -> None:
    kinds = corpus.TABLES[name]
    table, schema = corpus.table(kinds), corpus.schema(kinds, outside)
    for place in range(table.num_rows):
        row = table.slice(place, 1)
        assert cells(row, schema) == expected(row, kinds, outside)


# ── people ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("kind", some_of(corpus.IDS, ["text"]))
def test_the_same_rows_of_a_person_count_in_any_order(
    engine: Engine, counted: Counted, kind: str
) -> None:
    if not {kind, "text", "integer"} <= {*engine.kinds, kind} or kind not in engine.ids:
        pytest.skip("it has no such ids, or other texts of them")
    table, schema = corpus.people(kind, engine.holds), corpus.schema_of_people(kind, 2)
    bounded = cells(table, schema)
    assert 0 < bounded.total() < cells(table, corpus.schema_of_people(kind, 9)).total()
    order = random.Random(1).sample(range(table.num_rows), table.num_rows)
    for parts in (1, 5):
        assert counted(table.take(pa.array(order)), schema, parts) == bounded


@pytest.mark.parametrize("kind", some_of(corpus.COUNTED, ["integer"]))
def test_a_row_stands_for_as_many_people_as_it_says(
    engine: Engine, counted: Counted, kind: str
) -> None:
    if kind not in engine.kinds:
        pytest.skip("it has no columns of this type")
    table, schema = corpus.table([kind], engine.holds), corpus.schema_of_counts(kind)
    people = cells(table, schema)
    assert counted(table, schema) == people and people.total() > len(people) > 1


# ── the corpus itself ────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", corpus.TABLES)
def test_of_any_two_rows_a_part_has_the_first_alone(name: str) -> None:
    table = corpus.table(corpus.TABLES[name])
    parts = [frozenset(part[corpus.ROW].to_pylist()) for part in corpus.splits(table)]
    rows = table[corpus.ROW].to_pylist()
    assert len(rows) == len({*rows})
    apart = {(one, other) for part in parts for one in part for other in {*rows} - part}
    assert apart == {(one, other) for one in rows for other in rows if one != other}


@pytest.mark.parametrize("name", corpus.TABLES)
def test_every_attribute_of_the_corpus_tells_values_apart(name: str) -> None:
    kinds = corpus.TABLES[name]
    schema = corpus.schema(kinds, "other")
    seen: list[set[int]] = [set() for _ in schema.shape]
    for cell in cells(corpus.table(kinds), schema):
        for axis in reversed(range(len(schema.shape))):
            cell, code = divmod(cell, schema.shape[axis])
            seen[axis].add(code)
    assert all(len(codes) > 1 for codes in seen)
