"""Many boxes at once get the answers and errors that each gets by itself."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import hushtable as ht
from hushtable.errors import QueryError
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.query.batch import WORTH_A_TABLE, accumulate, box_sums
from hushtable.schema import Hierarchy, IntegerRange, Schema, nominal, ordinal

JOBS = Hierarchy.from_tree({"A": ["a", "b", "c"], "B": ["d", "e"]})
SCHEMA = Schema(
    "t",
    Fraction(100),
    (
        ordinal("x", IntegerRange(0, 12)),
        nominal("job", JOBS, outside="other"),
        ordinal("y", IntegerRange(0, 6)),
    ),
)


def ranges(count: int, shape: tuple[int, ...], seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    ends = [np.sort(random.integers(0, size + 1, (count, 2)), axis=1) for size in shape]
    return np.stack([e[:, 0] for e in ends], 1), np.stack([e[:, 1] for e in ends], 1)


def test_a_summed_area_table_gives_the_sums_of_boxes() -> None:
    cells = np.random.default_rng(2).integers(-9, 9, (5, 1, 7, 3))
    starts, stops = ranges(300, cells.shape)
    expected = [
        cells[tuple(slice(a, b) for a, b in zip(low, high, strict=True))].sum()
        for low, high in zip(starts, stops, strict=True)
    ]
    assert box_sums(accumulate(cells.copy()), starts, stops).tolist() == expected


@pytest.mark.parametrize(
    "mechanism", ["basic", "privelet", "privelet+", "privelet*", "hierarchical"]
)
def test_many_boxes_are_answered_as_one_by_one(tmp_path: Path, mechanism: str) -> None:
    random = np.random.default_rng(3)
    table = pa.table(
        {
            "x": random.integers(0, 13, 500),
            "job": random.choice(["a", "b", "c", "d", "e", "?"], 500),
            "y": random.integers(0, 7, 500),
        }
    )
    options = {"identity": "y"} if mechanism in ("privelet+", "privelet*") else {}
    release = ht.publish(
        table,
        SCHEMA,
        epsilon="1",
        out=tmp_path / "r",
        mechanism=mechanism,
        settings=options,
        ledger=tmp_path / "ledger",
        entropy=SeededEntropy(4),
    )
    few = ranges(20, SCHEMA.shape)
    one_by_one, errors = release.count_ranges(*few)
    many = [np.concatenate([part] * (WORTH_A_TABLE // 20)) for part in few]
    values, more_errors = release.count_ranges(*many)
    assert values[:20] == pytest.approx(one_by_one, abs=1e-6)
    assert more_errors[:20] == pytest.approx(errors)
    for value, error, low, high in zip(one_by_one, errors, *few, strict=True):
        box = tuple(slice(a, b) for a, b in zip(low, high, strict=True))
        assert value == pytest.approx(release.cells()[box].sum(), abs=1e-6)
        assert (error == 0) == bool((low == high).any())
    where = "x BETWEEN 2 AND 8 AND y < 4"
    answer = release.count(where)
    (value,), (error,) = release.count_ranges([[2, 0, 0]], [[9, 6, 4]])
    assert (value, error) == (pytest.approx(answer.value), pytest.approx(answer.stderr))


@pytest.mark.parametrize(
    ("starts", "stops"),
    [([[0, 0]], [[1, 1]]), ([[0, 0, 5]], [[1, 1, 4]]), ([[0, 0, 0]], [[1, 1, 8]]),
     ([[-1, 0, 0]], [[1, 1, 1]]), ([[0.5, 0, 0]], [[1, 1, 1]]), ([0], [1])],
)  # fmt: skip
def test_ranges_that_are_none_are_refused(tmp_path: Path, starts: list, stops: list) -> None:
    table = pa.table({"x": [1], "job": ["a"], "y": [2]})
    out, ledger = tmp_path / "r", tmp_path / "ledger"
    release = ht.publish(table, SCHEMA, epsilon="1", out=out, ledger=ledger)
    with pytest.raises(QueryError):
        release.count_ranges(starts, stops)
