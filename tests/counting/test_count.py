"""Counts and coded columns: of any domain that 64-bit codes can number, and of no other."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from slow_encoding import counted, make, slow_counts

from hushtable.errors import DataError
from hushtable.kernel.counting import code_table, count_table
from hushtable.kernel.counting.tally import Tally
from hushtable.schema import Schema


def ranges(*sizes: int, **more: Any) -> Schema:
    return make(
        *(
            {"name": f"a{i}", "kind": "ordinal", "range": [0, size - 1], "outside": "drop"}
            for i, size in enumerate(sizes)
        ),
        **more,
    )


def table(*rows: tuple[int, ...]) -> pa.Table:
    return pa.table(
        {f"a{i}": pa.array(column, pa.int64()) for i, column in enumerate(zip(*rows, strict=True))}
    )


def test_cells_are_numbered_with_the_last_attribute_fastest() -> None:
    schema = ranges(2, 3, 4)
    rows = [(1, 2, 3), (0, 0, 1), (1, 0, 0), (1, 2, 3), (1, 3, 0)]
    assert counted(table(*rows), schema) == {23: 2, 1: 1, 12: 1}
    assert counted(table(*rows), schema) == slow_counts(rows, schema)


def test_domains_of_up_to_2_to_the_62_cells_are_counted() -> None:
    schema = ranges(2**31, 2**31)
    assert schema.cells == 2**62
    last = 2**31 - 1
    assert counted(table((last, last), (0, 0), (last, 0)), schema) == {
        2**62 - 1: 1,
        0: 1,
        2**62 - 2**31: 1,
    }
    with pytest.raises(DataError, match=r"about 10\^18\.7 cells.*at most 2\^62"):
        count_table(table((0, 0)), ranges(2**31, 2**31 + 1))


@pytest.mark.parametrize("more", [0, 1])
def test_the_last_cell_is_counted_where_codes_become_wide(more: int) -> None:
    schema = ranges(2**16, 2**15 + more)
    last = (2**16 - 1, 2**15 + more - 1)
    assert counted(table(last, last), schema) == {schema.cells - 1: 2}


@pytest.mark.parametrize("attributes", [30, 700])
def test_larger_domains_are_refused_in_one_line(attributes: int) -> None:
    schema = ranges(*[10**12] * attributes)
    with pytest.raises(DataError, match=rf"about 10\^{12 * attributes}.0 cells") as caught:
        count_table(table((0,)), schema)
    assert len(str(caught.value)) < 120


def test_huge_domains_can_still_be_coded() -> None:
    schema = ranges(*[2**52] * 8, 1, 256, 257, 2**16 + 1)
    rows = [(2**52 - 1,) * 8 + (0, 255, 256, 2**16), (0,) * 12, (0,) * 9 + (256, 0, 0)]
    coded = code_table(table(*rows), schema)
    assert coded.shape == schema.shape
    assert sorted(zip(*(column.tolist() for column in coded.columns), strict=True)) == [
        rows[1],
        rows[0],
    ]
    assert [str(column.dtype) for column in coded.columns] == [
        *["uint64"] * 8,
        *("uint8", "uint8", "uint16", "uint32"),
    ]


def test_coded_columns_are_the_rows_that_are_counted() -> None:
    schema = ranges(5, 7, unit={"column": "a2", "max_rows": 2})
    source = np.random.default_rng(5)
    rows = [tuple(row) for row in source.integers(0, (6, 8, 1000), (3000, 3)).tolist()]
    kept = {person for *codes, person in rows if codes[0] < 5 and codes[1] < 7}
    coded = code_table(table(*rows), schema)
    assert len(kept) < len(coded.columns[0]) <= 2 * len(kept)
    assert counted(table(*rows), schema).total() == len(coded.columns[0])
    cells = np.ravel_multi_index([c.astype(int) for c in coded.columns], schema.shape)
    assert len(set(cells.tolist())) == math.prod(schema.shape)


@pytest.mark.parametrize("rows", [0, 1])
def test_tables_of_no_and_one_row_are_counted(rows: int) -> None:
    for more in ({}, {"unit": {"column": "id", "max_rows": 1}}):
        schema = make(
            {"name": "a0", "kind": "ordinal", "range": [0, 3]},
            {"name": "a1", "kind": "ordinal", "edges": [0, 0.5, 2]},
            {"name": "a2", "kind": "nominal", "values": ["1", "x"]},
            **more,
        )
        content = {name: pa.array([1] * rows, pa.int64()) for name in ("a0", "a1", "a2", "id")}
        counts = count_table(pa.table(content), schema)
        assert counts.codes.dtype == counts.counts.dtype == np.int64
        assert counts.codes.tolist() == [6] * rows and counts.counts.tolist() == [1] * rows
        coded = code_table(pa.table(content), schema)
        assert [column.dtype for column in coded.columns] == [np.uint8] * 3
        assert [column.tolist() for column in coded.columns] == [[1] * rows, [1] * rows, [0] * rows]


def test_a_stream_is_counted_while_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels are looked up in lists; a stream that was looked up in would be held as a whole."""
    jobs = [f"job {i}" for i in range(200)]
    schema = make({"name": "job", "kind": "nominal", "values": jobs})
    batch = pa.record_batch({"job": pa.array(jobs * 300)})
    made, seen = [0], list[int]()

    def batches() -> Iterator[Any]:
        for _ in range(30):
            made[0] += 1
            yield batch

    class Watched(Tally):
        def add(self, codes: Any, people: Any = None) -> None:
            seen.append(made[0])
            super().add(codes, people)

    monkeypatch.setattr("hushtable.kernel.counting.count.Tally", Watched)
    monkeypatch.setattr("hushtable.kernel.counting.count._BATCH", 2**14)
    stream = pa.RecordBatchReader.from_batches(batch.schema, batches())
    assert counted(stream, schema) == dict.fromkeys(range(200), 9000)
    assert seen[0] < made[0] == 30
