"""Every id is one person's: bytes, question marks and all, in every kind of table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from slow_encoding import counted, make

SCHEMA = make(
    {"name": "v", "kind": "ordinal", "range": [0, 9]}, unit={"column": "id", "max_rows": 1}
)


def tables(ids: list[Any], kind: pa.DataType, folder: Path) -> dict[str, Any]:
    """One row of each of these people, as every kind of table that can hold them."""
    table = pa.table({"id": pa.array(ids, kind), "v": [1] * len(ids)})
    pq.write_table(table, folder / "t.parquet")
    found = {
        "arrow": table,
        "stream": table.to_reader(max_chunksize=100),
        "parquet": folder / "t.parquet",
        "pandas": table.to_pandas(),
        "pandas, arrow": table.to_pandas(types_mapper=pd.ArrowDtype),
    }
    if pa.types.is_string(kind):
        (folder / "t.csv").write_text("id,v\n" + "".join(f"{i},1\n" for i in ids))
        found["csv"] = folder / "t.csv"
    if not pa.types.is_fixed_size_binary(kind):
        found["polars"] = pl.from_arrow(table)
    return found


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.binary(2)], ids=str)
def test_ids_of_any_bytes_are_all_people(kind: pa.DataType, tmp_path: Path) -> None:
    """A byte that would be a blank, a question mark or no text at all is one like any other."""
    ids = [bytes([first, last]) for first in (7, 63) for last in range(256)]
    if not pa.types.is_fixed_size_binary(kind):
        ids += [b"\x07", b"?"]  # what those with a blank behind it would be without that
    for name, data in tables(ids, kind, tmp_path).items():
        assert counted(data, SCHEMA) == {1: len(ids)}, name


def test_a_question_mark_in_an_id_is_a_character(tmp_path: Path) -> None:
    ids = ["M?ller", "M??ller", "?", "a?", "why?not", "plain"]
    for name, data in tables(ids, pa.string(), tmp_path).items():
        assert counted(data, SCHEMA) == {1: len(ids)}, name
