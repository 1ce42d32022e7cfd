"""A check tells what counting makes of every row, and why a value does not fit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from slow_encoding import make, slow_code, slow_number

import hushtable as ht
from hushtable.checking import CheckReport
from hushtable.checking.likeness import Lookalikes
from hushtable.errors import DataError
from hushtable.kernel.counting import code_table, count_table
from hushtable.kernel.counting.readers import csvfile
from hushtable.schema import Attribute, Labels, Schema

ATTRIBUTES: tuple[dict[str, Any], ...] = (
    {"name": "age", "kind": "ordinal", "range": [0, 9]},
    {"name": "pay", "kind": "ordinal", "edges": [0, 0.5, 10, 20], "outside": "other"},
    {"name": "job", "kind": "nominal", "values": ["Clerk", "boss", "7"]},
    {"name": "town", "kind": "ordinal", "labels": ["a", "b"], "outside": "other"},
    {"name": "size", "kind": "ordinal", "range": [-1, 1], "outside": "drop"},
)
PLAIN = make(*ATTRIBUTES)
PEOPLE = make(*ATTRIBUTES[:3], unit={"column": "id", "max_rows": 2})
VALUES = [None, "", " ", "0", "1", "0.5", "20", "20.1", "-1", "-9", "1e400", "nan", "true", " 9.9 "]
VALUES += ["Clerk", "clerk", "CLERK ", "boss", "7.0", "a", "b", "é", "1,5", "x" * 300]

texts = st.sampled_from(VALUES)
ids = st.sampled_from([None, "", " ", "p", "q", " p", "r\ufffd"])


def slow_reason(value: str | None, attribute: Attribute) -> str | None:
    """Why a value has no code of its own; None if it has one."""
    empty = value is None or not value.strip()
    if isinstance(attribute.values, Labels):
        if slow_code(value, attribute) not in (None, attribute.other):
            return None
        return "empty" if empty else "unknown"
    number = slow_number(value)
    if number is None:
        return "empty" if empty else "not a number"
    # What is clipped shows which end a number is beyond.
    clipped = slow_code(value, Attribute(attribute.name, "ordinal", attribute.values, "clip"))
    if slow_code(value, Attribute(attribute.name, "ordinal", attribute.values, "drop")) is None:
        return "below" if clipped == 0 else "above"
    return None


def told(report: CheckReport) -> dict[str, Counter[str]]:
    return {
        attribute.name: Counter({misfit.reason: misfit.rows for misfit in attribute.misfits})
        for attribute in report.attributes
    }


def as_table(rows: list[tuple[Any, ...]], schema: Schema) -> pa.Table:
    names = [attribute.name for attribute in schema.attributes]
    names += [schema.unit.column] if schema.unit else []
    columns = zip(*rows, strict=True) if rows else [() for _ in names]
    return pa.table([pa.array(column, pa.string()) for column in columns], names=names)


@settings(max_examples=8)
@example([(value,) * 5 for value in VALUES])
@given(st.lists(st.tuples(*[texts] * 5), max_size=60))
def test_every_value_has_one_fate_and_every_row(rows: list[tuple[Any, ...]]) -> None:
    report = ht.check(as_table(rows, PLAIN), PLAIN)
    for place, (attribute, found) in enumerate(
        zip(PLAIN.attributes, report.attributes, strict=True)
    ):
        reasons = [slow_reason(row[place], attribute) for row in rows]
        assert told(report)[attribute.name] == Counter(filter(None, reasons))
        assert found.as_is == reasons.count(None)
        lost = [slow_code(row[place], attribute) is None for row in rows]
        assert found.number("dropped") == sum(lost)
        assert found.number("other") == (attribute.outside == "other") * (len(rows) - found.as_is)
        fates = [found.number(outcome) for outcome in ("dropped", "clipped", "other")]
        assert found.as_is + sum(fates) == len(rows)
    counts = count_table(as_table(rows, PLAIN), PLAIN)
    assert (report.rows, report.kept) == (len(rows), counts.counts.sum())
    assert report.rows == report.kept + report.dropped
    assert report.occupied == len(counts.codes)


@settings(max_examples=8)
@given(st.lists(st.tuples(texts, texts, texts, ids), max_size=60))
def test_rows_of_people_add_up(rows: list[tuple[Any, ...]]) -> None:
    report = ht.check(as_table(rows, PEOPLE), PEOPLE)
    whole = [
        row[3]
        for row in rows
        if None not in [slow_code(*pair) for pair in zip(row, PEOPLE.attributes, strict=False)]
    ]
    people = Counter(id.strip() for id in whole if id and id.strip() and "\ufffd" not in id)
    assert report.dropped == len(rows) - len(whole)
    assert report.without_id == len(whole) - people.total()
    assert report.beyond_max_rows == sum(max(number - 2, 0) for number in people.values())
    assert report.people is not None and report.people.people == len(people)
    assert dict(report.people.numbers) == Counter(people.values())
    fates = (report.kept, report.dropped, report.without_id, report.beyond_max_rows)
    assert sum(fates) == report.rows == len(rows)
    assert report.kept == count_table(as_table(rows, PEOPLE), PEOPLE).counts.sum()


@settings(max_examples=8)
@given(st.lists(st.text('01ab",é\n \r', max_size=8), max_size=8), st.integers(1, 30))
def test_lines_that_are_no_rows_are_told(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], piece: int
) -> None:
    schema = make(*({"name": name, "kind": "ordinal", "range": [0, 9]} for name in "vw"))
    path = tmp_path_factory.mktemp("lines") / "t.csv"
    body = "\n".join(lines)
    path.write_bytes(b"v,w\n" + body.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csvfile, "_PIECE", piece)
        report = ht.check(path, schema)
    written = body.removesuffix("\n").count("\n") + 1 if body else 0
    assert report.rows + report.short_lines + report.broken_lines == written
    assert report.kept == count_table(path, schema).counts.sum()


@pytest.mark.parametrize("piece", [1, 7, 2**22])
def test_records_over_several_lines_are_lost_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: int
) -> None:
    monkeypatch.setattr(csvfile, "_PIECE", piece)
    schema = make(*({"name": name, "kind": "ordinal", "range": [0, 9]} for name in "vw"))
    path = tmp_path / "t.csv"
    long = "0" * 2**20 if piece > 1000 else "0"
    path.write_text(f'v,w\n1,"2\n"\n"3"x,"\n4"\n5\n1,"{long}\n"\n1,1\n6,"7\n8,9\n')
    report = ht.check(path, schema, csv=ht.CsvFormat(multiline=True))
    assert (report.rows, report.short_lines) == (2 + (piece < 1000), 1)
    # One is no field in quotes, one never ends, and one may be too long.
    assert report.broken_lines == 2 + (piece > 1000)


# ── values ───────────────────────────────────────────────────────────────────────────────────────


def values_of(report: CheckReport, name: str) -> dict[str, tuple[int, str | None]]:
    (attribute,) = (found for found in report.attributes if found.name == name)
    return {value.text: (value.rows, value.hint) for value in attribute.values}


def one(name: str, column: list[Any], **attribute: Any) -> CheckReport:
    schema = make({"name": name, "kind": "nominal", **attribute})
    return ht.check(pa.table({name: column}), schema)


def test_a_label_in_another_case_is_said_to_be_the_schema_s() -> None:
    report = one("sex", ["male"] * 3 + ["female"] * 2, values=["Male", "Female"])
    assert values_of(report, "sex") == {
        "male": (3, "the schema has 'Male'"),
        "female": (2, "the schema has 'Female'"),
    }
    assert report.kept == 0 and report.attributes[0].resembling == 5
    assert report.advice[0].startswith("all rows are dropped because of 'sex'")
    assert "differ from labels by case alone" in report.advice[0]


@pytest.mark.parametrize(
    ("value", "label"),
    [
        ("state-gov", "State-gov"),
        ("Sao Paulo", "São Paulo"),
        ("New  York", "New York"),
        ("<=50K.", "<=50K"),
        ("007", "7"),
        ("7.00", "7"),
        ("north_east", "north east"),
    ],
)
def test_labels_that_hardly_differ_are_recognised(value: str, label: str) -> None:
    found = Lookalikes([label, "none of these"]).find(value)
    assert found is not None and found[0] == label


@pytest.mark.parametrize(
    ("value", "labels"), [("-5", ["5"]), ("1.5", ["15"]), (">50", ["<50"]), ("ab", ["A b", "AB"])]
)
def test_labels_that_mean_something_else_are_not(value: str, labels: list[str]) -> None:
    assert Lookalikes(labels).find(value) is None


def test_the_ten_most_frequent_values_are_told_in_their_order() -> None:
    values = [f"v{i:02}" for i in range(20) for _ in range(20 - i)]
    found = values_of(one("v", values, values=["x"]), "v")
    assert list(found) == [f"v{i:02}" for i in range(10)]
    assert [rows for rows, _ in found.values()] == list(range(20, 10, -1))


def test_values_are_quoted_as_text_and_not_at_length() -> None:
    found = values_of(one("v", ["\x1b[31m\u202e", "y" * 500, "y" * 499 + "z"], values=["x"]), "v")
    assert found == {"\\x1b[31m\\u202e": (1, None), "y" * 200 + "…": (2, None)}


def test_numbers_with_signs_that_are_not_read_are_recognised() -> None:
    report = ht.check(
        pa.table({"v": ["$5", "1,234", "unknown"]}),
        make({"name": "v", "kind": "ordinal", "range": [0, 9]}),
    )
    hint = "a number with signs that are read if the schema says decimal"
    assert values_of(report, "v") == {"$5": (1, hint), "1,234": (1, hint), "unknown": (1, None)}


def test_a_report_prints_no_value_by_itself() -> None:
    report = one("v", ["Zyxwvut"] * 3, values=["zyxwvut"])
    parts = (report, report.attributes[0], report.attributes[0].values[0])
    assert "Zyxwvut" not in "".join(f"{part} {part!r}" for part in parts)
    assert "not for publication" in repr(report) and "Zyxwvut" in str(report.to_dict())


# ── tables ───────────────────────────────────────────────────────────────────────────────────────


def test_a_stream_is_read_once() -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.RecordBatch.from_pydict({"v": ["1", "x"]})

    schema = make({"name": "v", "kind": "ordinal", "range": [0, 9]})
    stream = pa.RecordBatchReader.from_batches(pa.schema([("v", pa.string())]), batches())
    report = ht.check(stream, schema)
    assert (report.rows, report.kept, list(values_of(report, "v"))) == (2, 1, ["x"])


def test_a_table_without_rows_is_checked() -> None:
    report = ht.check(
        pa.table({"v": pa.array([], pa.string())}), make(ATTRIBUTES[0] | {"name": "v"})
    )
    assert (report.rows, report.kept, report.occupied, report.rows_per_cell) == (0, 0, 0, None)
    assert report.advice == ("the table has no rows",)


def test_a_domain_beyond_linear_codes_is_checked() -> None:
    names = [f"v{i}" for i in range(8)]
    schema = make(*({"name": name, "kind": "ordinal", "range": [0, 999]} for name in names))
    table = pa.table({name: [1, 2, 2, 999] for name in names})
    report = ht.check(table, schema)
    assert schema.cells > 2**62 and (report.kept, report.occupied) == (4, 3)
    assert len(code_table(table, schema).columns[0]) == report.kept


def test_typed_columns_are_told_apart_as_they_are_counted() -> None:
    schema = make(
        {"name": "v", "kind": "ordinal", "range": [0, 9]},
        {"name": "w", "kind": "nominal", "values": ["1", "2"]},
        {"name": "d", "kind": "ordinal", "dates": ["2020-01-01", "2020-12-31"], "by": "month"},
    )
    table = pa.table(
        {
            "v": pa.array([float("nan"), None, 12.5, 3.0]),
            "w": pa.array([1, 3, None, 2], pa.int64()),
            "d": pa.array(["2020-05-01", "2019-12-31", "31.12.2020", "2021-01"]),
        }
    )
    report = ht.check(table, schema)
    assert told(report) == {
        "v": {"not a number": 1, "empty": 1, "above": 1},
        "w": {"unknown": 1, "empty": 1},
        "d": {"below": 1, "not a date": 1, "above": 1},
    }
    words = [misfit.words for misfit in report.attributes[2].misfits]
    assert words == ["not a date", "before 2020-01", "after 2020-12"]


def test_a_table_that_cannot_be_read_is_refused_without_a_value(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("v\nZyxwvut\n")
    with pytest.raises(DataError, match="no column 'w'") as refused:
        ht.check(path, make({"name": "w", "kind": "ordinal", "range": [0, 9]}))
    assert "Zyxwvut" not in str(refused.value)


def test_every_column_of_a_wrong_type_is_named_and_the_others_are_checked() -> None:
    names = ("age", "size", "job")
    schema = make(*(next(a for a in ATTRIBUTES if a["name"] == name) for name in names))
    table = pa.table(
        {"age": [[1], [2]], "size": pa.array([1, 2], pa.date32()), "job": ["boss", "x"]}
    )
    with pytest.raises(DataError, match="hush check"):
        count_table(table, schema)
    report = ht.check(table, schema)
    assert [attribute.name for attribute in report.attributes] == ["job"] and report.kept == 1
    assert [line.partition(" is of")[0] for line in report.refused] == [
        "column 'age'",
        "column 'size'",
    ]
    assert "publish refuses" in report.advice[0] and "the schema says numbers" in report.advice[1]


def test_a_table_of_wrong_types_alone_is_refused() -> None:
    with pytest.raises(DataError, match=r"plain values$"):
        one("v", [[1]], values=["x"])
    with pytest.raises(DataError, match="column 'id'"):
        table = pa.table({"id": [[1]], "age": [1], "pay": [1], "job": ["x"]})
        ht.check(table, PEOPLE)
