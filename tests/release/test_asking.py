"""What Python asks: wrong types are refused in one line, and results have their parts by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hushtable as ht
from hushtable.errors import HushError, QueryError
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.query.aggregate import Mean, Sum
from hushtable.query.answer import Answer, show_bar, show_ends, show_number
from hushtable.query.extent import clipping_of
from hushtable.query.law import NoiseSum
from hushtable.query.reader import LazyLaws
from hushtable.query.result import Measure, ResultTable
from hushtable.release import Release
from hushtable.release.described import answer_dict
from hushtable.schema import Schema

SCHEMA = Schema.from_dict(
    {
        "name": "t",
        "budget": "99",
        "attribute": [
            {"name": "age", "kind": "ordinal", "range": [10, 14]},
            {"name": "sex", "kind": "nominal", "values": ["F", "M"]},
        ],
    }
)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    folder = tmp_path_factory.mktemp("asking")
    table = pa.table({"age": [10, 11, 12, 13, 14] * 40, "sex": ["F", "M"] * 100})
    with pytest.MonkeyPatch.context() as patch:  # a state folder of its own: it outlives a test
        patch.setenv("HUSHTABLE_STATE", str(folder / "state"))
        return ht.publish(
            table, SCHEMA, epsilon="1", mechanism="basic",
            out=folder / "r", ledger=folder / "ledger", entropy=SeededEntropy(7),
        )  # fmt: skip


WRONG: dict[str, Callable[[Any], object]] = {
    "name an attribute, such as 'age'": lambda r: r.mean(3),
    "there is no attribute 'agee'; did you mean 'age'?": lambda r: r.mean("agee"),
    "there is no attribute 'x'; the schema has age, sex": lambda r: r.sum("x"),
    'a condition is a text such as "age BETWEEN 20 AND 29"': lambda r: r.count(where=5),
    "a table is of attributes by name: table('age', 'sex')": lambda r: r.table("age", 3),
    "name an attribute, such as 'age' ": lambda r: r.table(["age", ["sex"]]),
    "there is no attribute 'sexx'; did you mean 'sex'?": lambda r: r.table("age", "sexx"),
    "an attribute is named twice": lambda r: r.table("age", "age"),
    "row_cap is a whole number of rows, such as 100_000": lambda r: r.table("age", row_cap="x"),
    "a query is a text": lambda r: r.sql(5),
    "a share is of a condition, such as \"sex = 'F'\"": lambda r: r.share(3),
    "there is no column 'cont'; did you mean 'count'?": lambda r: r.table("age")["cont"],
    "a table has rows by number, such as table[0], and columns by name": (
        lambda r: r.table("age")[1.5]
    ),
    "an answer has value, stderr, interval, confidence, estimate, note": (
        lambda r: r.count()["valeu"]
    ),
}


@pytest.mark.parametrize("line", WRONG)
def test_wrong_calls_are_refused_in_one_line(release: Release, line: str) -> None:
    with pytest.raises(HushError) as refused:
        WRONG[line](release)
    assert str(refused.value) == line.strip()


def test_a_table_has_rows_columns_and_slices(release: Release) -> None:
    table = release.table(["age", "sex"])
    arrow = table.to_arrow()
    for name in arrow.column_names:
        assert table[name] == arrow[name].to_pylist()
    assert table["value"] == table["count"]
    assert table["estimate"] == [False] * 10
    assert (table[0]["age"], table[-1]["sex"]) == (10, "M")
    some = table[2:4]
    assert isinstance(some, ResultTable)
    assert some.rows() == [table[2], table[3]] and len(table[:0]) == 0
    assert table[np.int64(1)] == table[1]
    with pytest.raises(IndexError, match="the table has 10 rows"):
        table[10]
    assert list(table) == table.rows()


def test_columns_of_several_aggregates_have_their_names(release: Release) -> None:
    table = release.sql("SELECT sex, AVG(age) AS m, COUNT(*) AS n FROM t GROUP BY sex")
    assert table["m"] == [row["m"]["value"] for row in table]
    assert table["n"] == [row["n"]["value"] for row in table]
    with pytest.raises(QueryError, match="there is no column 'stderr'; there are sex, m, n"):
        table["stderr"]


def test_a_group_of_the_name_of_a_figure_is_told_apart() -> None:
    measure = Measure(np.array([3]), LazyLaws(1, lambda _: NoiseSum(())), np.zeros(1, np.intp))
    table = ResultTable({"value": ["a"]}, {"count": measure})
    assert table["value"] == [3] and table["value_"] == ["a"]


def test_an_answer_has_its_parts_by_name(release: Release) -> None:
    answer = release.count()
    assert answer["value"] == answer.value and answer["stderr"] == answer.stderr
    assert answer["interval"] == list(answer.interval())


@pytest.mark.parametrize(
    ("value", "half", "shown"),
    [
        (5.0, 1e-12, "5 ± 0"),
        (0.1 + 0.2, 1e-15, "0.3 ± 0"),
        (-1e-14, 1e-12, "0 ± 0"),
        (1234567.25, 1e-6, "1,234,567.25 ± 0"),
        (1 / 3, 0.0, "0.333333333 ± 0"),
        (1e-7, 1e-9, "0.0000001000 ± 0.0000000011"),
        (-0.2, 13.0, "0 ± 14"),
        (0.5, 0.25, "0.50 ± 0.25"),
    ],
)
def test_rounding_errors_are_no_error_bars(value: float, half: float, shown: str) -> None:
    assert f"{show_number(value, half)} ± {show_bar(value, half)}" == shown


def test_an_answer_without_error_says_so(release: Release) -> None:
    nothing = Answer(5.0, _Rounded())
    assert str(nothing) == "5 ± 0 (95 %)"
    assert "5 ± 0" in nothing._repr_html_() and "e-1" not in nothing._repr_html_()
    assert show_ends(5 - 1e-12, 5 + 1e-12, 1e-12) == ("5", "5")


class _Rounded:
    variance = 1e-26
    estimate = False

    def half_width(self, confidence: float) -> float:
        return 1e-12


CLIPPED = "age is clipped to 10 … 14"


def test_sums_and_means_say_to_what_values_are_clipped(release: Release) -> None:
    for answer in (release.sum("age"), release.mean("age", "sex = 'F'"), release.quantile("age")):
        assert answer.note == f"sum of noisy cells; {CLIPPED}"
    assert release.count().note == release.share("age < 12").note == "sum of noisy cells"


@pytest.mark.parametrize(
    ("select", "said"),
    [
        ("AVG(age)", CLIPPED),
        ("100 * SUM(age) / COUNT(*)", CLIPPED),
        ("COUNT(*), STDDEV(age)", CLIPPED),
        ("COUNT(age)", ""),
        ("COUNT(*) FILTER (WHERE age > 11)", ""),
    ],
)
def test_statements_say_to_what_values_are_clipped(
    release: Release, select: str, said: str
) -> None:
    table = release.sql(f"SELECT sex, {select} FROM t GROUP BY sex")
    note = f"sum of noisy cells; {said}" if said else "sum of noisy cells"
    assert table.to_dict()["note"] == answer_dict(table)["note"] == note
    alone = release.sql(f"SELECT {select} FROM t")
    assert answer_dict(alone)["note"] == note
    assert (said in table._repr_html_()) and repr(table).endswith(said)
    assert (CLIPPED in repr(table)) == bool(said)


def test_values_that_are_not_clipped_say_nothing() -> None:
    ranges = {"name": "x", "kind": "ordinal", "range": [0, 3]}
    others = [{**ranges, "outside": outside} for outside in ("drop", "other")]
    for attribute in others:
        schema = Schema.from_dict({"name": "t", "budget": "9", "attribute": [attribute]})
        assert clipping_of([Mean(0), Sum(0)], schema) == ""
