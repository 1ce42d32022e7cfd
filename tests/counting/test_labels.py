"""Labels that look like numbers or truth values count in every kind of table, or are refused."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from slow_encoding import counted, make, slow_counts

from hushtable.errors import DataError
from hushtable.schema import Schema


def labelled(*labels: str) -> Schema:
    return make({"name": "v", "kind": "nominal", "values": list(labels), "outside": "other"})


def tables(column: pa.Array, folder: Path) -> dict[str, Any]:
    """One column as every kind of table."""
    table = pa.table({"v": column})
    pq.write_table(table, folder / "t.parquet")
    frame = table.to_pandas(types_mapper=pd.ArrowDtype)
    frame.to_csv(folder / "t.csv", index=False)
    return {
        "arrow": table,
        "parquet": folder / "t.parquet",
        "csv": folder / "t.csv",
        "pandas": frame,
        "pandas, objects": pd.DataFrame({"v": pd.Series(column.to_pylist(), dtype=object)}),
        **({} if pa.types.is_decimal256(column.type) else {"polars": pl.from_arrow(table)}),
    }


@pytest.mark.parametrize(
    "labels",
    [
        *(("True", "False"), ("False", "true"), ("0", "1.0"), ("True", "False", "1", "0")),
        pytest.param(("true", "false"), marks=pytest.mark.thorough),
        pytest.param(("TRUE", "FALSE"), marks=pytest.mark.thorough),
        pytest.param(("1", "0"), marks=pytest.mark.thorough),
    ],
    ids=" ".join,
)
def test_truth_values_have_their_labels_however_they_are_written(
    labels: tuple[str, ...], tmp_path: Path
) -> None:
    schema = labelled(*labels)
    column = pa.array([True, False, True, None, True])
    for name, data in tables(column, tmp_path).items():
        assert counted(data, schema) == slow_counts([(v,) for v in column.to_pylist()], schema), (
            name
        )
    for written in (str, lambda value: str(value).lower(), lambda value: str(value).upper()):
        texts = [written(value) for value in (True, False, True)]
        expected = slow_counts([(text,) for text in texts], schema)
        assert expected.total() == 3 and expected[len(labels)] == 0
        for name, data in tables(pa.array(texts), tmp_path).items():
            assert counted(data, schema) == expected, name


def test_a_label_that_is_there_is_read_as_itself() -> None:
    schema = labelled("true", "TRUE", "1")
    assert counted(pa.table({"v": ["true", "TRUE", "True", "1"]}), schema) == {0: 2, 1: 1, 2: 1}


LONG = [2**53 + 1, 2**63 - 1, -(2**63), 1234567890123456789, 1234567890123456788, 10**18]


def test_integers_of_19_digits_are_told_apart(tmp_path: Path) -> None:
    schema = labelled(*map(str, LONG))
    expected = dict.fromkeys(range(len(LONG)), 1)
    for name, data in tables(pa.array(LONG, pa.int64()), tmp_path).items():
        assert counted(data, schema) == expected, name
    decimals = pa.array([Decimal(number) for number in LONG], pa.decimal128(38, 0))
    for name, data in tables(decimals, tmp_path).items():
        assert counted(data, schema) == expected, name


@pytest.mark.parametrize(
    "kind",
    [pa.decimal128(20, 0), pa.decimal128(20, 1), pa.decimal128(38, 20), pa.decimal256(50, 2)],
    ids=str,
)
def test_whole_decimals_have_the_labels_of_integers(kind: pa.DataType, tmp_path: Path) -> None:
    """However many places their type has."""
    numbers = [1, 2, 10, -100, 0, 1, None]
    column = pa.array([None if n is None else Decimal(n) for n in numbers], kind)
    schema = labelled("1", "2.0", "10", "-100", "0", "3", "-0", str(10**40), "x")
    for name, data in tables(column, tmp_path).items():
        if name != "csv":  # text is compared as it is written
            assert counted(data, schema) == {0: 2, 1: 1, 2: 1, 3: 1, 4: 1, 9: 1}, name


def test_labels_of_decimals_are_numbers(tmp_path: Path) -> None:
    """None of them counts twice, though several labels may be one number."""
    column = pa.array([Decimal(n) for n in ("0.50", "-1.25", "2.00", "7.00")], pa.decimal128(9, 2))
    schema = labelled("0.5", "-1.250", "2", "2.00", "2.000", "7.001", "1234567890")
    for name, data in tables(column, tmp_path).items():
        if name not in ("csv", "pandas, objects"):
            assert counted(data, schema) == {0: 1, 1: 1, 3: 1, 7: 1}, name
            assert counted(data, labelled("x")) == {1: 4}, name


@pytest.mark.parametrize("kind", [pa.decimal128(38, 8), pa.decimal256(40, 8)], ids=str)
def test_decimals_are_labels_in_every_kind_of_table(kind: pa.DataType, tmp_path: Path) -> None:
    """A tiny one is written with an exponent by some, and 2.50 as 2.5 by others."""
    numbers = ["0", "1.00", "2.50", "-2.5", "0.0000001", "7"]
    column = pa.array([Decimal(number) for number in numbers], kind)
    schema = labelled("0", "1.00", "2.50", "-2.5", "0.0000001")
    for name, data in tables(column, tmp_path).items():
        if name != "csv":  # text is compared as it is written
            assert counted(data, schema) == {0: 1, 1: 1, 2: 1, 3: 1, 4: 1, 5: 1}, name


def test_decimals_of_many_digits_are_not_rounded(tmp_path: Path) -> None:
    """Python's own decimals have 28 digits when they are computed with."""
    for digits in (29, 38):
        most = 10**digits - 1
        column = pa.array([Decimal(most), Decimal(-most), Decimal(1)], pa.decimal128(digits, 0))
        for name, data in tables(column, tmp_path).items():
            found = counted(data, labelled(str(most), str(-most), "1"))
            assert found == {0: 1, 1: 1, 2: 1}, (name, digits)


def test_zero_has_no_sign(tmp_path: Path) -> None:
    for name, data in tables(pa.array([-0.0, 0.0, 1.0]), tmp_path).items():
        if name != "csv":
            assert counted(data, labelled("0", "1")) == {0: 2, 1: 1}, name


def test_integers_without_a_sign_may_be_longer(tmp_path: Path) -> None:
    labels = [2**64 - 1, 2**63, 2**63 - 1, 5]
    schema = labelled(*map(str, labels), "-1", str(2**64))
    for name, data in tables(pa.array([*labels, 6], pa.uint64()), tmp_path).items():
        assert counted(data, schema) == {0: 1, 1: 1, 2: 1, 3: 1, 6: 1}, name


@pytest.mark.parametrize(("kind", "label"), [(pa.float64(), 2**53), (pa.float32(), 2**24)])
def test_labels_that_floats_would_round_are_refused_by_type(
    kind: pa.DataType, label: int, tmp_path: Path
) -> None:
    """As pandas turns integers into floats where one is missing."""
    for data in (pa.table({"v": pa.nulls(1, kind)}), pl.DataFrame({"v": []}).cast(pl.Float64)):
        if kind == pa.float32() and isinstance(data, pl.DataFrame):
            continue
        with pytest.raises(DataError, match=r"rounds labels beyond .*; store it as integers"):
            counted(data, labelled("1", str(label)))
        assert counted(data, labelled("1", str(label - 1))).total() == len(data)


@pytest.mark.parametrize(
    ("kind", "labels"),
    [(pa.bool_(), ("yes", "no")), (pa.int32(), ("007", "low")), (pa.uint8(), ("1.5",))],
    ids=str,
)
def test_labels_that_no_value_of_a_type_can_have_are_refused(
    kind: pa.DataType, labels: tuple[str, ...]
) -> None:
    with pytest.raises(DataError, match=r"column 'v' is of type .*; .* labels for it"):
        counted(pa.table({"v": pa.nulls(2, kind)}), labelled(*labels))


def test_blanks_around_quotes_do_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('v, note\n"a b", 1\n "a b" ,"x"\n\t"a b"\t,1\na b,1\n "a"b,1\n')
    assert counted(path, labelled("a b")) == {0: 4}
