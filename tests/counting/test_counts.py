"""A row of a table of counts stands for as many people as it says, each of them a unit."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_encoding import counted, make, slow_code, slow_number
from tests.shared_sizes import some_of

import hushtable as ht
from hushtable.errors import DataError, LedgerError
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.families import MECHANISMS
from hushtable.kernel.counting import CodedColumns, code_table
from hushtable.kernel.counting.joint import JointCounter
from hushtable.kernel.curator import Marginal, View, holding
from hushtable.kernel.curator.holding import dense_counts, part_counts, projected, split_data
from hushtable.schema import Schema

MOST = 3
ODD = ("true", "1,000")
"""What is no number of people, and what is one though no other number is written so."""
FROM = {"name": "from", "kind": "nominal", "values": ["a", "b"], "outside": "drop"}
TO = {"name": "to", "kind": "ordinal", "range": [0, 2]}


def schema(most: int = MOST, **more: Any) -> Schema:
    return make(FROM, TO, counts={"column": "n", "most": most}, **more)


def people_of(value: Any, most: int) -> int:
    """As documented: whole numbers of people count, up to the largest."""
    number = {"true": None, "1,000": 1000.0}.get(value) if value in ODD else slow_number(value)
    if number is None or number < 0 or (number < math.inf and number != math.floor(number)):
        return 0
    return most if number > most else int(number)


def slow_cells(rows: Sequence[tuple[Any, Any, Any]], most: int) -> Counter[int]:
    """Every person a row of their own."""
    attributes = schema().attributes
    cells: Counter[int] = Counter()
    for origin, goal, number in rows:
        codes = slow_code(origin, attributes[0]), slow_code(goal, attributes[1])
        if codes[0] is not None and codes[1] is not None:
            cells.update(itertools.repeat(3 * codes[0] + codes[1], people_of(number, most)))
    return cells


def columns(rows: Sequence[tuple[Any, Any, Any]], kind: Any = None) -> pa.Table:
    origins, goals, numbers = zip(*rows, strict=True) if rows else ((), (), ())
    return pa.table(
        {
            "n": pa.array(numbers, kind),
            "from": pa.array(origins, pa.string()),
            "to": pa.array(goals, pa.int64()),
        }
    )


def coded(data: Any, described: Schema) -> Counter[int]:
    """The same through the columns of codes."""
    held = code_table(data, described)
    assert held.people is not None and (held.people > 0).all()
    cells = np.ravel_multi_index([c.astype(np.int64) for c in held.columns], held.shape)
    found: Counter[int] = Counter()
    for cell, people in zip(cells.tolist(), held.people.tolist(), strict=True):
        found[cell] += people
    assert sum(found.values()) == held.number
    return found


WRITTEN = (
    *("", "0", "1", "2", "3", "4", " 2 ", "2.0", "2.5", "1e0", "1e400", "-1", "-0", "+2", "x"),
    *("inf", "NaN", "NULL", "9" * 400, "0x2", "1_0", "1,000", "２", "true"),
)
NUMBERS: dict[str, tuple[Any, st.SearchStrategy[Any]]] = {
    "int": (pa.int64(), st.integers(-(2**63), 2**63 - 1) | st.integers(-2, 9)),
    "byte": (pa.uint8(), st.integers(0, 255)),
    "large": (pa.uint64(), st.integers(0, 2**64 - 1) | st.integers(0, 5)),
    "float": (pa.float64(), st.floats() | st.sampled_from([0.0, -0.0, 1.0, 2.0, 2.5, 1e300])),
    "decimal": (pa.decimal128(9, 2), st.decimals(-5, 9999, places=2) | st.just(Decimal("2.00"))),
    "text": (pa.string(), st.sampled_from(WRITTEN)),
}
ORIGINS, GOALS = st.sampled_from(["a", "b", "c", None]), st.sampled_from([0, 1, 2, 7, None])


@pytest.mark.parametrize("kind", some_of(NUMBERS, ("int", "text")))
@settings(max_examples=12, deadline=None)
@given(st.data())
def test_people_are_counted_as_if_each_had_a_row(kind: str, data: st.DataObject) -> None:
    declared, numbers = NUMBERS[kind]
    row = st.tuples(ORIGINS, GOALS, st.none() | numbers)
    rows = data.draw(st.lists(row, max_size=8))
    most = data.draw(st.sampled_from([1, 3, 50]))
    described = schema(most)
    expected = slow_cells(rows, most)
    assert counted(columns(rows, declared), described) == expected
    assert coded(columns(rows, declared), described) == expected


def test_one_person_more_changes_one_count_by_one_at_most() -> None:
    """Of every small table, whichever row the person is added to: also one at the largest number.

    A row that is dropped when it has too many would take the others along.
    """
    numbers = (0, 1, MOST - 1, MOST, MOST + 1)
    described = schema()
    places = [("a", 0), ("b", 2)]
    for table in itertools.product(numbers, repeat=2):
        rows = [(*place, number) for place, number in zip(places, table, strict=True)]
        before = counted(columns(rows, pa.int64()), described)
        for more in range(2):
            grown = [(o, g, n + (i == more)) for i, (o, g, n) in enumerate(rows)]
            after = counted(columns(grown, pa.int64()), described)
            cells = before.keys() | after.keys()
            assert sum(abs(after[cell] - before[cell]) for cell in cells) <= 1
        newcomer = [*rows, ("b", 1, 1)]
        after = counted(columns(newcomer, pa.int64()), described)
        assert after - before == {4: 1} and before - after == {}


HALVES = 2**1024 - 2**970
"""The first whole number that a float takes for infinite."""

WAYS: dict[str, Callable[[int], str]] = {
    "plain": str,
    "float": lambda n: f"{n}.0",
    "power": lambda n: f"{n:.11e}",
    "commas": lambda n: f"{n:,}",
    "commas and a point": lambda n: f"{n:,}.00",
    "blanks": lambda n: f"{n:,}".replace(",", "\u202f"),
    "apostrophes": lambda n: f"{n:,}".replace(",", "'"),
    "lakhs": lambda n: re.sub(r"(?<=[0-9])(?=([0-9]{2})*[0-9]{3}$)", ",", str(n)),
}


@pytest.mark.parametrize("way", WAYS)
def test_one_person_more_is_one_more_however_numbers_are_written(way: str) -> None:
    """Also where that makes a number longer by a digit and a mark."""
    ends = [10**digits for digits in range(1, 9)]
    numbers = sorted({0, 1, 2, *(end + step for end in ends for step in (-1, 0, 1))})
    rows = [("a", 0, WAYS[way](number)) for number in numbers]
    held = code_table(columns(rows, pa.string()), schema(10**9))
    assert held.people is not None and held.people.tolist() == numbers[1:]


def test_a_number_too_long_for_any_type_is_one_above_the_largest() -> None:
    for number in (2**53, 2**64, HALVES - 1, HALVES, 10**400):
        rows = [("a", 0, str(number))]
        assert counted(columns(rows, pa.string()), schema()) == {0: MOST}


def test_what_is_no_number_counts_nobody_in_text_and_in_floats() -> None:
    """To the engine, NaN is whole and above all other numbers."""
    for kind, values in ((pa.float64(), [math.nan, 2.0]), (pa.string(), ["NaN", "-nan", "2"])):
        rows = [("a", 0, value) for value in values]
        assert counted(columns(rows, kind), schema()) == {0: 2}


def test_a_type_that_rounds_numbers_of_people_is_refused() -> None:
    """In 32 bits, 16,777,219 is two more than 16,777,218; in 16 bits, 65,520 is infinite."""
    for kind in (pa.float32(), pa.float16()):
        table = columns([("a", 0, None)], kind)
        with pytest.raises(DataError, match="'n' is of type float32, which rounds"):
            counted(table, schema())


def test_a_column_of_nulls_counts_nobody_like_one_of_a_known_type() -> None:
    """One value more, and a frame gives the column another type: neither is refused."""
    rows = [("a", 0, None), ("b", 1, None)]
    for data in (columns(rows, pa.null()), pl.from_arrow(columns(rows, pa.null()))):
        assert counted(data, schema()) == {}
        assert len(code_table(data, schema()).columns[0]) == 0


def test_a_cell_of_nobody_is_as_empty_as_one_that_no_row_names() -> None:
    nobody = columns([("a", 0, 0), ("a", 1, -4), ("b", 2, 1)], pa.int64())
    somebody = columns([("b", 2, 1)], pa.int64())
    for data in (nobody, somebody):
        assert counted(data, schema()) == {5: 1}
        assert len(code_table(data, schema()).columns[0]) == 1


def test_a_file_a_frame_and_a_query_count_the_same(tmp_path: Path) -> None:
    rows = [("a", 0, 2), ("b", 1, 9), ("b", 1, 1), ("c", 1, 5)]
    table = columns(rows, pa.int64())
    file = tmp_path / "n.csv"
    file.write_text("to,n,from\n" + "".join(f"{g},{n},{o}\n" for o, g, n in rows))
    for data in (table, file, table.to_pandas(), pl.from_arrow(table), _objects(table)):
        assert counted(data, schema()) == {0: 2, 4: 4}


def _objects(table: pa.Table) -> pd.DataFrame:
    return table.to_pandas().astype(object)


def test_a_column_that_counts_nothing_is_refused_in_one_line() -> None:
    table = columns([("a", 0, 1)], pa.int64())
    for value, kind in (("date", pa.date32()), ("boolean", pa.bool_())):
        others = table.set_column(0, "n", pa.array([None], kind))
        with pytest.raises(DataError, match=f"'n' is of type {value}; the schema says it counts"):
            counted(others, schema())
    with pytest.raises(DataError, match="'n'"):
        counted(table.drop_columns(["n"]), schema())


def test_one_column_is_counted_and_none_is_read_twice() -> None:
    """The column of counts comes behind those of attributes, however they are derived."""
    moved = make(
        {"name": "hour", "kind": "ordinal", "from": "at", "part": "hour"},
        {"name": "day", "kind": "ordinal", "from": "at", "part": "weekday"},
        counts="n",
    )
    table = pa.table({"at": ["2024-01-01 10:30"], "n": [7]})
    assert counted(table, moved) == {70: 7}


def test_a_check_tells_whom_the_rows_stand_for() -> None:
    rows = [("a", 0, 2), ("a", 1, 9), ("b", 2, -1), ("b", 2, 0), ("c", 0, 5), ("b", 1, None)]
    report = ht.check(columns(rows, pa.int64()), schema())
    assert (report.rows, report.kept, report.dropped, report.of_nobody) == (6, 2, 1, 3)
    assert report.counted is not None and report.number == 5
    told = {"column": "n", "most": MOST, "people": 5, "invalid": 2, "above": 1}
    assert report.to_dict()["counts"] == told
    assert report.rows == report.kept + report.dropped + report.of_nobody
    advice = "\n".join(report.advice)
    assert "2 rows (33 %) are of nobody: 'n' holds no whole number of people there" in advice
    assert "1 row (17 %) is of more people than most = 3, and counted as 3 each" in advice


def test_rows_that_count_one_each_are_told_as_rows() -> None:
    report = ht.check(columns([("a", 0, 2)], pa.int64()), make(FROM, TO))
    assert report.counted is None and report.number == 1 and report.of_nobody == 0


def test_a_ledger_keeps_rows_and_people_of_a_table_apart(tmp_path: Path) -> None:
    """A table whose rows had been protected, and stand for people now, is another one."""
    table = columns([("a", 0, 2)], pa.int64())
    file = tmp_path / "t.ledger"
    pay = {"epsilon": "0.1", "mechanism": "basic", "ledger": file}
    ht.publish(table, make(FROM, TO), out=tmp_path / "rows", **pay)
    with pytest.raises(
        LedgerError, match="it is pinned to unit 'none' and the schema says unit 'one person"
    ):
        ht.publish(table, schema(), out=tmp_path / "people", **pay)


HELD = CodedColumns(
    (2, 3),
    (np.array([0, 1, 1, 0], np.uint8), np.array([2, 0, 2, 2], np.uint8)),
    np.array([5, 1, 2, 7], np.int64),
)


def test_people_stay_with_their_rows_in_projections_and_parts() -> None:
    assert dense_counts(HELD, (2, 3)).tolist() == [[0, 0, 12], [1, 0, 2]]
    seen = projected(HELD, [View(1, np.array([0, 1, 1]))])
    assert dense_counts(seen, (2,)).tolist() == [1, 14]
    origins, goals = (Marginal((2, 3), [View(i, np.arange(n))]) for i, n in enumerate((2, 3)))
    assert [dense_counts(part, (2, 3)).sum() for part in split_data(HELD, origins)] == [12, 3]
    assert part_counts(HELD, goals).tolist() == [1, 0, 14]


def test_people_stay_with_their_rows_where_these_are_read_piece_by_piece(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    goals = Marginal((2, 3), [View(1, np.arange(3))])
    for size in (1, 2, 3):
        monkeypatch.setattr(holding, "_CHUNK", size)
        assert part_counts(HELD, goals).tolist() == [1, 0, 14]
        assert [dense_counts(part, (2, 3)).sum() for part in split_data(HELD, goals)] == [1, 0, 14]


def test_scores_of_candidates_are_those_of_people() -> None:
    origins, goals = (View(i, np.arange(n)) for i, n in enumerate((2, 3)))
    found = []
    JointCounter(HELD).tables([origins], [goals], lambda _, counts: found.append(counts.tolist()))
    assert found == [[[0, 0, 12], [1, 0, 2]]]


@pytest.mark.parametrize(
    "mechanism", some_of(MECHANISMS, ("basic", "filter", "sketch", "privbayes"))
)
def test_every_mechanism_makes_of_counts_what_it_makes_of_rows(
    mechanism: str, tmp_path: Path
) -> None:
    """With the same draws, the release answers the same to the last digit."""
    numbers = iter((4, 0, 9, 1, 30, 6))
    rows = [(o, g, next(numbers)) for o, g in itertools.product("ab", range(3))]
    table = columns(rows, pa.int64())
    each = table.take(np.repeat(np.arange(len(rows)), [n for *_, n in rows]))
    answers = []
    for name, data, more in (("counts", table, {"counts": "n"}), ("rows", each, {})):
        described = make(FROM, TO, **more, name=name, budget="9")
        release = ht.publish(
            data,
            described,
            epsilon=2,
            out=tmp_path / f"{name}.release",
            mechanism=mechanism,
            ledger=tmp_path / f"{name}.ledger",
            entropy=SeededEntropy(5),
        )

        answers.append(list(release.table("from", "to")))
    assert answers[0] == answers[1]
