"""Polars' lazy frames: worked out once for a count, in portions, and counted as if collected."""

from __future__ import annotations

import polars as pl
import pytest
from slow_encoding import counted, make

from hushtable.errors import DataError

AGES = {"name": "age", "kind": "ordinal", "range": [0, 9]}
SCHEMAS = {
    "rows": make(AGES),
    "persons": make(AGES, unit={"column": "person", "max_rows": 2}),
    "a table of counts": make(AGES, counts="many"),
}
ROWS = pl.DataFrame(
    {
        "age": [1, 2, None, 9, 12] * 50_000,
        "person": [f"{i % 70_000}" for i in range(250_000)],
        "many": [3, 0, 2, 1, 1] * 50_000,
    }
)


@pytest.mark.parametrize("which", SCHEMAS)
def test_a_lazy_frame_is_worked_out_once_and_counts_as_if_collected(which: str) -> None:
    seen: list[int] = []

    def look(part: pl.Series) -> pl.Series:
        seen.append(len(part))
        return part

    looked = pl.col("age").map_batches(look, return_dtype=pl.Int64, is_elementwise=True)
    lazy = ROWS.lazy().with_columns(looked)
    schema = SCHEMAS[which]
    assert counted(lazy, schema, salt="salt") == counted(ROWS.to_arrow(), schema, salt="salt")
    assert sum(seen) == len(ROWS)


def test_only_the_columns_that_are_needed_are_worked_out() -> None:
    fails = pl.col("many").map_elements(lambda _: 1 / 0, return_dtype=pl.Int64)
    lazy = ROWS.lazy().with_columns(fails.alias("never"))
    assert counted(lazy, SCHEMAS["rows"]) == counted(ROWS, SCHEMAS["rows"])


@pytest.mark.parametrize("row", [0, len(ROWS) - 1])
def test_a_lazy_frame_that_fails_halfway_is_no_shorter_one(row: int) -> None:
    """And what it says of why is not shown."""
    odd = pl.when(pl.int_range(pl.len()) == row).then(pl.lit("odd")).otherwise(pl.col("person"))
    fails = odd.str.to_integer(strict=True).alias("age")
    with pytest.raises(DataError, match="the table could not be counted") as refused:
        counted(ROWS.lazy().with_columns(fails), SCHEMAS["rows"])
    assert refused.value.__context__ is None


@pytest.mark.parametrize("version", ["1.20.0", "1.36.1"])
def test_versions_that_lose_failures_are_refused(
    version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pl, "__version__", version)
    with pytest.raises(DataError, match=r"lazy frames need Polars 1\.37"):
        counted(ROWS.lazy(), SCHEMAS["rows"])
    assert counted(ROWS, SCHEMAS["rows"]) == {1: 50_000, 2: 50_000, 9: 100_000}
