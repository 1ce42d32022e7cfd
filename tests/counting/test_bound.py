"""At most max_rows rows of each person count, chosen by that person's rows and a secret alone."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from slow_encoding import counted, make

from hushtable.errors import DataError
from hushtable.schema import Schema

Rows = list[tuple[Any, int]]


def schema(max_rows: int, size: int = 10) -> Schema:
    return make(
        {"name": "v", "kind": "ordinal", "range": [0, size - 1], "outside": "drop"},
        unit={"column": "id", "max_rows": max_rows},
    )


def kept(rows: Rows, max_rows: int, size: int = 10, salt: str | None = None) -> Counter[int]:
    people, values = zip(*rows, strict=True) if rows else ((), ())
    kind = pa.string() if all(p is None or isinstance(p, str) for p in people) else None
    table = pa.table({"id": pa.array(people, kind), "v": pa.array(values, pa.int64())})
    return counted(table, schema(max_rows, size), salt=salt)


def people(count: int, *, seed: int) -> Rows:
    """People with 1 to 6 rows each; values tell whose they are: person p has 100p … 100p+9."""
    source = np.random.default_rng(seed)
    return [
        (f"p{person}", 100 * person + int(value))
        for person in range(count)
        for value in source.integers(0, 10, source.integers(1, 7))
    ]


SIZE = 100 * 60


def test_each_person_keeps_min_of_max_rows_and_their_rows() -> None:
    rows = people(60, seed=1)
    owned = Counter(value // 100 for _, value in rows)
    assert min(owned.values()) == 1 and max(owned.values()) == 6
    for max_rows in (1, 3, 6, 10**9):
        cells = kept(rows, max_rows, SIZE)
        assert cells <= Counter(value for _, value in rows), "kept rows are the person's own"
        per_person: Counter[int] = Counter()
        for cell, count in cells.items():
            per_person[cell // 100] += count
        assert per_person == {p: min(max_rows, n) for p, n in owned.items()}


def test_nobody_is_displaced_by_anybody_else() -> None:
    rows = people(60, seed=2)
    before = kept(rows, 2, SIZE, salt="s")
    for person in (0, 17, 59):
        without = kept([row for row in rows if row[0] != f"p{person}"], 2, SIZE, salt="s")
        gone = before - without
        assert not without - before
        assert {cell // 100 for cell in gone} == {person} and gone.total() <= 2
    newcomer = kept([("new", 5), *rows, ("new", 7), ("new", 5)], 2, SIZE, salt="s")
    assert not before - newcomer and (newcomer - before).total() == 2


def test_nobody_is_displaced_by_people_with_rows_like_theirs() -> None:
    """Rows of one cell are told apart within a person, never across people."""
    rows = [(f"p{person}", value) for person in range(60) for value in (1, 1, 1, 4, 4, 7)]
    newcomer: Rows = [("new", 1), ("new", 1), ("new", 4)]
    before = kept(rows, 2, salt="s")
    for after in (kept([*newcomer, *rows], 2, salt="s"), kept([*rows, *newcomer], 2, salt="s")):
        assert not before - after and (after - before).total() == 2
    assert kept(rows[::-1], 2, salt="s") == before


def test_the_choice_does_not_depend_on_the_order_of_rows() -> None:
    rows = people(60, seed=3)
    shuffled = [rows[i] for i in np.random.default_rng(0).permutation(len(rows))]
    assert shuffled != rows
    assert (
        kept(rows, 2, SIZE, salt="s")
        == kept(shuffled, 2, SIZE, salt="s")
        == kept(rows[::-1], 2, SIZE, salt="s")
    )


def test_rows_that_the_schema_drops_do_not_use_up_a_persons_share() -> None:
    rows = people(20, seed=4)
    outside = [(person, 10**6) for person, _ in rows]
    assert kept(rows + outside, 2, SIZE, salt="s") == kept(rows, 2, SIZE, salt="s")


def test_a_fresh_secret_makes_a_fresh_choice() -> None:
    rows = people(60, seed=5)
    assert kept(rows, 1, SIZE) != kept(rows, 1, SIZE)


def test_rows_without_an_id_are_dropped() -> None:
    nameless: Rows = [(name, 1) for name in (None, "", " ", "\t\n ", None)]
    assert kept(nameless, 5) == {}
    assert kept([*nameless, ("x", 1), ("0", 2), ("null", 3)], 5) == {1: 1, 2: 1, 3: 1}
    missing = float("nan")
    assert kept([(missing, 1), (missing, 2), (None, 3), (0.0, 4)], 5) == {4: 1}
    table = pa.table({"id": pa.nulls(3), "v": [1, 2, 3]})
    assert counted(table, schema(5)) == {}


def test_blanks_around_an_id_do_not_make_another_person() -> None:
    assert kept([("7", 1), (" 7", 1), ("7 ", 1), ("7\t", 1), ("8", 1)], 2) == {1: 3}


def test_ids_that_look_alike_are_different_people() -> None:
    names = ["a", "A", "a|1", "a|", "|", "á", "a\u0301", "a\0", "0", "00", "0.0", "'", "NaN"]
    assert kept([(name, 1) for name in names for _ in range(3)], 2) == {1: 2 * len(names)}


@pytest.mark.parametrize(
    "kind",
    [
        *(pa.int8(), pa.int64(), pa.uint64(), pa.float32(), pa.float64(), pa.decimal128(20, 2)),
        *(pa.date32(), pa.large_string()),
        *(pa.binary(), pa.bool_(), pa.float16(), pa.decimal256(50, 2), pa.uuid()),
    ],
    ids=str,
)
def test_ids_may_be_of_any_type(kind: pa.DataType) -> None:
    ids: list[Any] = [1, 1, 1, 0, 0, None]
    if pa.types.is_large_string(kind):
        ids = [None if i is None else str(i) for i in ids]
    elif pa.types.is_binary(kind):
        ids = [None if i is None else bytes([255, i]) for i in ids]
    elif pa.types.is_boolean(kind):
        ids = [None if i is None else bool(i) for i in ids]
    elif kind == pa.uuid():
        ids = [None if i is None else bytes([i] * 16) for i in ids]
    elif pa.types.is_temporal(kind):
        ids = pa.array(ids, pa.int32() if kind == pa.date32() else pa.int64()).cast(kind)
    table = pa.table({"id": pa.array(ids, kind), "v": [1] * 6})
    assert counted(table, schema(2)) == {1: 4}


@pytest.mark.parametrize("kind", [pa.list_(pa.string()), pa.time32("s"), pa.json_()], ids=str)
def test_ids_that_are_no_plain_values_are_refused_by_type_alone(kind: pa.DataType) -> None:
    with pytest.raises(DataError, match=r"'id' is of type|the unit's column holds times"):
        counted(pa.table({"id": pa.nulls(1, kind), "v": [1]}), schema(2))


@pytest.mark.parametrize("kind", [pa.timestamp("us"), pa.timestamp("ns", "UTC")], ids=str)
def test_times_are_refused_as_ids(kind: pa.DataType) -> None:
    """Read to the microsecond, those of two people could be one."""
    with pytest.raises(DataError, match="the unit's column holds times"):
        counted(pa.table({"id": pa.nulls(1, kind), "v": [1]}), schema(2))


def test_zero_is_one_person_with_either_sign(tmp_path: Path) -> None:
    table = pa.table({"id": [0.0, -0.0, 0.0], "v": [1, 1, 1]})
    pq.write_table(table, tmp_path / "t.parquet")
    for source in (table, tmp_path / "t.parquet", table.to_pandas()):
        assert counted(source, schema(1)) == {1: 1}


def test_equal_numbers_of_python_are_one_person() -> None:
    ids = [1, 1.0, np.float32(1), Decimal("1.0"), np.int8(1), 1.5, float("inf"), 2**70]
    frame = pd.DataFrame({"id": pd.Series(ids, dtype=object), "v": [1] * len(ids)})
    assert counted(frame, schema(1)) == {1: 4}


def test_long_decimals_are_told_apart_as_ids(tmp_path: Path) -> None:
    """As floats they would be one."""
    ids = pa.array([Decimal(10**20), Decimal(10**20 + 1), Decimal(10**20)], pa.decimal256(40, 0))
    table = pa.table({"id": ids, "v": [1, 1, 1]})
    pq.write_table(table, tmp_path / "t.parquet")
    for source in (table, tmp_path / "t.parquet"):
        assert counted(source, schema(1)) == {1: 2}


@pytest.mark.parametrize("name", ["M\ufffdller", "a\udc80"])
def test_ids_with_marks_of_broken_characters_are_nobody_s(name: str) -> None:
    frame = pd.DataFrame({"id": [name, "b", "b"], "v": [1, 1, 1]}, dtype=object)
    assert counted(frame, schema(1)) == {1: 1}


def test_python_objects_of_polars_are_refused_as_ids() -> None:
    """Handed over as addresses, one person's would differ, and their rows would all count."""
    names = pl.Series("id", ["".join(["per", "son"]) for _ in range(9)], dtype=pl.Object)
    with pytest.raises(DataError, match="column 'id' is of type object"):
        counted(pl.DataFrame({"id": names, "v": [1] * 9}), schema(2))


def test_the_choice_is_even_over_cells_and_twins() -> None:
    """One person in 4000 copies, each a person of their own, so each with their own draw.

    Five rows, two of them alike: of all pairs each row is kept with probability 2/5.
    """
    copies = 4000
    rows = [(f"p{copy}", value) for copy in range(copies) for value in (0, 3, 3, 6, 9)]
    cells = kept(rows, 2)
    assert cells.total() == 2 * copies
    for cell, twins in ((0, 1), (3, 2), (6, 1), (9, 1)):
        mean = 0.4 * twins * copies
        assert abs(cells[cell] - mean) < 8 * (mean * 0.6) ** 0.5, cell


def test_the_choice_of_one_person_is_even_over_secrets() -> None:
    rows = [("somebody", value) for value in range(3)]
    chosen = Counter(next(iter(kept(rows, 1))) for _ in range(40))
    assert chosen.keys() == {0, 1, 2}  # one is missing with probability 3·(2/3)^40 < 3e-7
