"""Encoding is a function of one value: total, and the same whatever stands in other rows."""

from __future__ import annotations

import random
from collections import Counter
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from slow_encoding import counted, make, slow_code, slow_counts
from tests.shared_sizes import some_of

from hushtable.errors import DataError
from hushtable.kernel.counting.encoding.encode import MAX_COMPARED, encode
from hushtable.kernel.counting.source import open_table
from hushtable.schema import Schema

TOP = 2**53 - 1
UNEVEN = [float(i * i) / 7 - 3 for i in range(MAX_COMPARED + 20)]

KINDS: dict[str, dict[str, Any]] = {
    "small": {"range": [-3, 9]},
    "negative": {"range": [-100, -7]},
    "positive": {"range": [7, 100]},
    "widest": {"range": [-TOP, TOP]},
    "one": {"range": [0, 0]},
    "even": {"edges": [-10, 0, 10, 20]},
    "thirds": {"edges": [i * 6004799503160660 - TOP for i in range(4)]},
    "uneven": {"edges": [-5, 0.1, 0.30000000000000004, 7, 1e15]},
    "fine": {"edges": UNEVEN},
    "labels": {"labels": ["7", "low", "true", "1.5", "-3", "a b", "é", "1e+20"]},
    "floats": {"labels": ["7.0", "07", "0", "1", "1.0", "false", "2.50"]},
}


def every_kind(*ways: str) -> Schema:
    """Every kind of attribute with each of these ways to treat what lies outside."""
    attributes = [
        {"name": f"{name}-{outside}", "kind": "ordinal", "outside": outside, **values}
        for name, values in KINDS.items()
        for outside in ways
        if outside != "clip" or "labels" not in values
    ]
    return make({"name": "row", "kind": "ordinal", "range": [0, 10**9]}, *attributes)


FULL = every_kind("clip", "drop", "other")
CLIPPED = every_kind("clip")
BRIEF = every_kind("other")

TEXTS: list[str | None] = [
    *(None, "", " ", "nan", "NaN", "-nan", "inf", "-inf", "+inf", "Infinity", "-0", "0", "-0.0"),
    *("1e400", "-1e400", "1e-400", "5e-324", "1e300", "0x10", " 7 ", "\t7\n", "\v7\f", "7.", ".5"),
    *("1_0", "1__0", "_1", "1_", "1e5_0", "+5", "+-5", "++5", "- 5", "1e", "e5", "1e+", "1e1.5"),
    *("1,5", "1.5", "2.5", "2.50", "2.500", "7.0", "7.00", "07", "7", "-3", "-3.0", "-3.5", "1.0"),
    *("9.999", "9.9999999999999999999", "10", "20", "20.0000000000000001", "20.1", "-10", "-10.1"),
    *("0.1", "0.30000000000000004", "0.3", "0.09999999999999999", "6.999999", "-2.9999", "0.0"),
    *(
        " true ",
        "true",
        "TRUE",
        "True",
        "false",
        "t",
        "yes",
        "NULL",
        "null",
        "None",
        "NA",
        "low",
        "Low",
    ),
    *(
        "٣",
        "１",
        "½",
        "7\u00a0",
        "\u30007",
        "7\0",
        "\0",
        "a b",
        "a  b",
        "é",
        "e\u0301",
        "😀",
        "1e+20",
    ),
    *(
        "100000000000000000000",
        "9" * 400,
        "9" * 5000,
        "-" + "9" * 400,
        "0" * 400 + "7",
        "x" * 10**5,
    ),
    *(str(n) for b in (2**53, 2**63, 2**64, 10**15) for n in (b - 2, b - 1, b, b + 1, -b, 1 - b)),
    *(str(edge) for edge in UNEVEN[::5]),
    *("4503599627370496.5", "-4503599627370496.5", "4503599627370497.5", "1e15", "1e16", "-1e15"),
    *(
        "'; DROP TABLE hush_source; --",
        "%s",
        "{}",
        "\\N",
        "\\",
        '"',
        "'",
        "\ufeff7",
        "\x1f7",
        "7 8",
    ),
]

INTEGERS = [0, 1, -1, 2, 7, -3, -4, 9, 10, 20, 21, -10, -11, -100, 100, 101]
HUGE = [n for b in (2**51, 2**53, 2**62) for n in (b - 2, b - 1, b, b + 1, -b, 1 - b, -b - 1)]
FLOATS = [
    *(0.0, -0.5, 0.1, 0.3, 0.30000000000000004, 1.5, 2.5, 7.0, 1.0, 9.999, 20.0, 20.000001),
    *(1e15, 1e16, 1e20, 1e300, -1e300, float("inf"), -float("inf"), 5e-324, -5e-324, 2.0**53),
    *(2.0**63, -(2.0**63), 2.0**64, *UNEVEN, *np.nextafter(UNEVEN, -np.inf).tolist()),
]

TYPED: dict[str, Any] = {
    "text": pa.array(TEXTS, pa.string()),
    "large text": pa.array(TEXTS, pa.large_string()),
    "text views": pa.array(TEXTS, pa.string_view()),
    "categories": pa.array(TEXTS, pa.string()).dictionary_encode(),
    "nulls": pa.nulls(5),
    "int8": pa.array([None, *INTEGERS, -128, 127], pa.int8()),
    "int64": pa.array([None, *INTEGERS, *HUGE, 2**63 - 1, -(2**63)], pa.int64()),
    "uint64": pa.array([None, 0, 7, 2**53, 2**63 - 1, 2**63, 2**64 - 1], pa.uint64()),
    "float64": pa.array([None, float("nan"), *FLOATS], pa.float64()),
    "float32": pa.array([None, 0.5, 1.5, 7, 1e15, 3e38, float("inf"), float("nan")], pa.float32()),
    "boolean": pa.array([None, True, False], pa.bool_()),
    "decimal": pa.array(
        [None, *map(Decimal, (*INTEGERS, *HUGE, 10**37, -(10**37)))], pa.decimal128(38, 0)
    ),
    "fraction": pa.array([None, *map(Decimal, ("0.1", "7", "-3.5"))], pa.decimal128(12, 3)),
}


def coded(values: Any, schema: Schema) -> list[tuple[int | None, ...]]:
    """The codes of each value under every attribute, None where its row is dropped."""
    names = [attribute.name for attribute in schema.attributes]
    rows = pa.array(range(len(values)), pa.int64())
    data = pa.table([rows, *[values] * (len(names) - 1)], names=names)
    with open_table(data, names) as table:
        encoded = encode(table, schema).select(*(f"k{i}" for i in range(len(names))))
        arrow = encoded.get_backend().to_pyarrow(encoded)
    rows = sorted(zip(*(column.to_pylist() for column in arrow.columns), strict=True))
    assert [row[0] for row in rows] == list(range(len(rows))), "no row may vanish or multiply"
    return [row[1:] for row in rows]


def expected(values: list[Any], schema: Schema) -> list[tuple[int | None, ...]]:
    return [tuple(slow_code(value, a) for a in schema.attributes[1:]) for value in values]


def differences(values: list[Any], got: Any, wanted: Any, schema: Schema) -> list[Any]:
    return [
        (str(value)[:30], attribute.name, mine, its)
        for value, row, other in zip(values, wanted, got, strict=True)
        for attribute, mine, its in zip(schema.attributes[1:], row, other, strict=True)
        if mine != its
    ]


@pytest.mark.parametrize("kind", some_of(TYPED, [*TYPED][::2]))
def test_the_engine_agrees_with_the_documented_meaning(kind: str) -> None:
    schema = {"text": FULL, "int64": CLIPPED, "float64": CLIPPED}.get(kind, BRIEF)
    values = TYPED[kind].to_pylist()
    wanted = expected(values, schema)
    assert differences(values, coded(TYPED[kind], schema), wanted, schema) == []


def test_the_comparison_with_the_documented_meaning_is_not_idle() -> None:
    codes = expected(TYPED["text"].to_pylist(), FULL)
    for column, attribute in zip(zip(*codes, strict=True), FULL.attributes[1:], strict=True):
        assert len(set(column)) >= min(3, attribute.size)
        assert (None in column) == (attribute.outside != "other")
    assert differences(["8"], expected(["8"], FULL), expected(["9"], FULL), FULL) != []


def test_random_numbers_fall_where_they_belong() -> None:
    source = random.Random(7)
    edges = [edge for kind in KINDS.values() for edge in kind.get("edges", kind.get("range", []))]
    near = [float(np.nextafter(edge, end)) for edge in edges for end in (-np.inf, np.inf)]
    values = [*near, *(source.uniform(-200, 1100) for _ in range(500)), *map(float, edges)]
    values += [source.uniform(-1, 1) * 2.0 ** source.randint(-60, 60) for _ in range(500)]
    wanted = expected(values, BRIEF)
    assert differences(values, coded(pa.array(values), BRIEF), wanted, BRIEF) == []
    texts = pa.array([repr(value) for value in values])
    assert differences(values, coded(texts, BRIEF), wanted, BRIEF) == []


def test_a_value_has_the_same_code_in_any_company_and_order() -> None:
    values = list(TEXTS) * 2
    random.Random(3).shuffle(values)
    alone = dict(zip(TEXTS, coded(pa.array(TEXTS, pa.string()), BRIEF), strict=True))
    together = coded(pa.array(values, pa.string()), BRIEF)
    assert together == [alone[value] for value in values]


# ── one odd row changes at most one cell by one ──────────────────────────────────────────────────

PAIR = make(
    {"name": "n", "kind": "ordinal", "range": [0, 3], "outside": "clip"},
    {"name": "e", "kind": "ordinal", "edges": [0, 1.5, 3], "outside": "other"},
    {"name": "l", "kind": "nominal", "values": [0, 1, 2, 3], "outside": "other"},
)
ODD: list[Any] = [
    *(None, float("nan"), "", "x", 1.5, "2", True, np.bool_(False), np.int8(2), np.float64(1.0)),
    *(10**30, 10**5000, -(10**400), 1e300, Decimal("2.0"), Decimal("sNaN"), b"2", "\ud800", pd.NA),
    *(pd.NaT, np.array([1, 2]), [1], {"a": 1}, object(), (1,), 1 + 2j, pd.Timestamp("2020-01-01")),
]


def moved(before: Counter[int], after: Counter[int]) -> int:
    return sum(abs(before[cell] - after[cell]) for cell in before.keys() | after.keys())


@pytest.mark.parametrize("start", [[0, 1, 2, 2], [0.0, 1.0, 2.0, 2.5], [True, False, True]])
def test_an_odd_value_in_pandas_moves_one_cell_by_one_at_most(start: list[Any]) -> None:
    """pandas gives a column another type when one value is odd: nobody else may notice."""
    plain = counted(pd.DataFrame(dict.fromkeys("nel", start)), PAIR)
    assert plain.total() == len(start)
    odd_types = set()
    for odd in ODD:
        columns = []
        if not isinstance(odd, str | complex):  # nobody reads a column of complex numbers
            with suppress(OverflowError):  # older pandas make no column of a huge integer
                columns.append(pd.Series([*start, odd]))
        if odd is None or isinstance(odd, str | float | bool):
            columns.append(pd.Series(pd.Categorical([*start, odd])))
        for column in columns:
            if column.dtype != object:
                frame = pd.DataFrame(dict.fromkeys("nel", column))
                assert moved(plain, counted(frame, PAIR)) <= 1, (str(odd)[:30], column.dtype)
                odd_types.add(str(column.dtype))
    assert len(odd_types) >= 2
    # Columns of objects are read value by value, so that all of them can be tried together.
    column = pd.Series([*start, *ODD], dtype=object)
    mixed = counted(pd.DataFrame(dict.fromkeys("nel", column)), PAIR)
    assert plain <= mixed and mixed.total() <= len(column)


def test_text_that_cannot_be_written_is_odd_as_well() -> None:
    texts = pd.array(["1", "2", "\ud800"], dtype=pd.StringDtype("python"))
    frame = pd.DataFrame(dict.fromkeys("nel", texts))
    assert counted(frame, PAIR) == slow_counts([("1",) * 3, ("2",) * 3, ("?",) * 3], PAIR)


def test_odd_values_in_pandas_do_count_where_they_have_a_code() -> None:
    frame = pd.DataFrame({name: pd.Series([1, *ODD], dtype=object) for name in "nel"})
    total = counted(frame, PAIR).total()
    clipped = [1, 1.5, "2", True, False, 2, 1.0, 10**30, 1e300, Decimal("2.0")]
    assert len(clipped) <= total <= len(clipped) + 2


def test_a_late_odd_value_in_a_csv_file_moves_one_cell_by_one_at_most(tmp_path: Path) -> None:
    """Far behind anything that a reader could have looked at to guess a type."""
    rows = [(str(i % 4), str(i % 3), str(i % 4)) for i in range(20_000)]
    plain = "n;e;l\n" + "".join(";".join(row) + "\n" for row in rows)
    path = tmp_path / "plain.csv"
    path.write_text(plain)
    before = counted(path, PAIR)
    assert before == slow_counts(rows, PAIR)
    for odd in ("x", "", "1e400", "9" * 400, '"', "2;2;2;2", "\x00", "\xff"):
        path.write_bytes((plain + f"{odd};1;1\n").encode("latin-1"))
        assert moved(before, counted(path, PAIR)) <= 1, odd


def test_malformed_lines_of_a_csv_file_leave_their_neighbours_alone(tmp_path: Path) -> None:
    long = b"z" * 3_000_000
    lines = [
        *(b"", b" ", b",", b",,", b",,,,", b"9", b"1,1,1,1,1,1,1", b"," * 5000, b"#1,1,1", b"\x1a"),
        *(b"\xff\xfe,1,1", b'"\xff",1,1', b"a\0b,1,1", b"\xef\xbb\xbf1,1,1", b"\r", b"1\r1,1"),
        *(
            b'1"2,1,1',
            b'"1"2,1,1',
            b'1\\",1,1',
            b'"1""",1,1',
            long + b",1,1",
            b'"' + long + b'",1,1',
        ),
    ]
    good = b"2,2,2\n"
    path = tmp_path / "t.csv"
    path.write_bytes(b"n,e,l\n" + good * 2)
    before = counted(path, PAIR)
    path.write_bytes(b"n,e,l\n" + good + b"".join(line + b"\n" + good for line in lines))
    after = counted(path, PAIR)
    (cell,) = before
    assert after[cell] == 1 + len(lines)
    for line in lines:
        path.write_bytes(b"n,e,l\n" + good + line + b"\n" + good)
        assert moved(before, counted(path, PAIR)) <= 1, line[:20]


# ── types ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        (pa.array([[1], [2]]), "list"),
        (pa.array([{"secretfield": 1}]), "struct"),
        (pa.array([b"1"]), "binary"),
        (pa.array([1], pa.timestamp("us")), "timestamp"),
        (pa.array([1], pa.date32()), "date"),
    ],
)
def test_columns_of_the_wrong_type_are_refused_by_type_alone(values: Any, shown: str) -> None:
    schema = make({"name": "n", "kind": "ordinal", "range": [0, 3]})
    with pytest.raises(DataError, match=f"column 'n' is of type {shown}") as caught:
        counted(pa.table({"n": values}), schema)
    assert "secretfield" not in str(caught.value)


def test_dates_and_categories_can_be_labels() -> None:
    schema = make({"name": "d", "kind": "ordinal", "labels": ["2020-01-01", "2020-01-02"]})
    dates = pl.Series(["2020-01-02", "2020-01-02", "2021-01-01"]).str.to_date()
    assert counted(pl.DataFrame({"d": dates}), schema) == {1: 2}
    assert counted(pl.DataFrame({"d": dates.cast(pl.String).cast(pl.Categorical)}), schema) == {
        1: 2
    }
