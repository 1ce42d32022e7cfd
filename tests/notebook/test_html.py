"""What values show of themselves in notebooks: all of it, escaped, well-formed, without scripts."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import hushtable
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.query.answer import Answer
from hushtable.query.law import NoiseSum
from hushtable.query.result import Measure, ResultTable
from hushtable.release.html import example_question
from hushtable.schema import Hierarchy, IntegerRange, Labels, Schema, nominal, ordinal

HOSTILE = "<script>alert(1)</script>"
LABELS = [HOSTILE, "\"quoted\" & 'so'", "a\x1b[31m\u202eb", "</td><img src=x>"]
LAW = NoiseSum.of(DiscreteLaplace(Fraction(20)), 1)


@dataclass(frozen=True)
class Guess:
    """The law of an error that is only estimated."""

    variance: float = 100.0
    estimate: bool = True

    def half_width(self, confidence: float) -> float:
        return 30.0


def schema_of(*, people: int | None = None, **changes: Any) -> Schema:
    schema = Schema(
        name="t<b>&\"'",
        budget=Fraction(3),
        attributes=(
            ordinal("age<i>", IntegerRange(0, 9)),
            nominal('it\'s "x"', Hierarchy.flat(["<u>", "&amp;", "z"])),
            ordinal("grade", Labels(("low", "high")), outside="other"),
        ),
        people=people,
    )
    return replace(schema, **changes)


def table_of(values: list[float], laws: list[Any], **groups: list[Any]) -> ResultTable:
    answers = [Answer(value, law) for value, law in zip(values, laws, strict=True)]
    return ResultTable(groups, {"count": Measure.of(answers)})


def published(folder: Path, schema: Schema | None = None, **options: Any) -> hushtable.Release:
    data = {"age<i>": [1, 2, 3], 'it\'s "x"': ["z", "z", "<u>"], "grade": ["low", "high", None]}
    import pyarrow as pa

    return hushtable.publish(
        pa.table(data),
        schema or schema_of(),
        epsilon="1",
        out=folder / "r.release",
        ledger=folder / "r.ledger",
        **options,
    )


def shown(value: Any) -> ElementTree.Element:
    """The HTML as a tree: it is well-formed, and has elements of these kinds alone."""
    html = value._repr_html_()
    tree = ElementTree.fromstring(html)
    known = "div strong span em code table thead tbody tr th td svg line circle rect"
    assert {element.tag for element in tree.iter()} <= set(known.split())
    attributes = {name for element in tree.iter() for name in element.attrib}
    assert not {name for name in attributes if name.startswith("on") or name in ("href", "src")}
    assert "url(" not in html and "background" not in html
    colours = {element.get(name) for element in tree.iter() for name in ("fill", "stroke")}
    assert colours <= {None, "currentColor"}
    return tree


def text_of(value: Any) -> str:
    return " ".join("".join(shown(value).itertext()).split())


def cells(value: Any) -> list[list[str]]:
    rows = shown(value).iter("tr")
    return [["".join(cell.itertext()) for cell in row] for row in rows]


def test_labels_and_names_are_shown_as_text() -> None:
    table = table_of([5, 6, 7, 8], [LAW] * 4, **{"<b>x": LABELS})
    first = [row[0] for row in cells(table)]
    assert first == ["<b>x", HOSTILE, "\"quoted\" & 'so'", r"a\x1b[31m\u202eb", "</td><img src=x>"]
    assert "<script" not in table._repr_html_() and "\x1b" not in table._repr_html_()


def test_a_table_shows_values_bars_and_ends() -> None:
    table = table_of([35885, -3], [LAW, LAW], sex=["F", None])
    half = int(LAW.half_width(0.95))
    assert cells(table) == [
        ["sex", "count", "± (95 %)", "from", "to", ""],
        ["F", "35,885", f"{half}", f"{35885 - half:,}", f"{35885 + half:,}", ""],
        ["NULL", "-3", f"{half}", f"{-3 - half}", f"{-3 + half}", ""],
    ]
    assert len(list(shown(table).iter("svg"))) == 2


def test_the_sketch_of_an_interval_is_to_scale() -> None:
    table = table_of([1000, 500], [LAW, LAW], sex=["F", "M"])
    low, high = table.bounds
    place = lambda number: 3 + 114 * number / high[0]  # noqa: E731  from zero to the largest end
    for row, svg in enumerate(shown(table).iter("svg")):
        zero, bar, *_ = svg.iter("line")
        (dot,) = svg.iter("circle")
        assert float(zero.get("x1", "")) == 3
        assert float(bar.get("x1", "")) == pytest.approx(place(low[row]), abs=0.06)
        assert float(bar.get("x2", "")) == pytest.approx(place(high[row]), abs=0.06)
        assert float(dot.get("cx", "")) == pytest.approx(place(table.values[row]), abs=0.06)


def test_rows_beyond_twenty_are_counted() -> None:
    table = table_of(list(range(25)), [LAW] * 25, age=list(range(25)))
    assert len(cells(table)) == 21 and text_of(table).endswith("… 5 more rows")
    simultaneous = replace(table, simultaneous=True)
    half = int(LAW.half_width(simultaneous.row_confidence))
    assert cells(simultaneous)[1][2] == f"{half}"  # as wide as among all 25
    assert cells(simultaneous)[0][2] == "± (95 %, all at once)"


def test_estimates_are_marked_row_by_row_and_explained() -> None:
    table = table_of([100, 200], [LAW, Guess()], sex=["F", "M"])
    rows = cells(table)
    assert rows[0][2] == "± (95 %, estimate)" and rows[2][2] == "30 estimate"
    assert "estimate" not in rows[1][2]
    assert "may hold less often" in text_of(table)
    assert "estimate" not in text_of(table_of([100], [LAW], sex=["F"]))


def test_what_is_not_finite_is_shown_and_sketched() -> None:
    table = table_of([math.nan, 5.0, 7.0], [LAW] * 3, sex=["F", "M", "X"])
    assert [row[1] for row in cells(table)] == ["count", "?", "5", "7"]
    assert len(list(shown(table).iter("svg"))) == 2
    empty = table_of([], [], sex=[])
    assert cells(empty) == [["sex", "count", "± (95 %)", "from", "to"]]


def test_several_aggregates_have_a_bar_each() -> None:
    one = table_of([5, 6], [LAW, LAW], sex=["F", "M"])
    both = replace(one, measures={"people": one.only, "mean": one.only})
    assert cells(both)[0] == ["sex", "people", "± (95 %)", "", "mean", "± (95 %)", ""]


def test_an_answer_says_its_interval_in_words() -> None:
    half = int(LAW.half_width(0.95))
    text = text_of(Answer(1234, LAW, "of <noisy> cells"))
    assert text.startswith(f"1,234 ± {half} (95 %)")
    assert f"between {1234 - half:,} and {1234 + half:,} with 95 % confidence" in text
    assert text.endswith("of <noisy> cells") and "estimate" not in text
    guess = text_of(Answer(1234, Guess()))
    assert "(95 %, estimate)" in guess and "may hold less often" in guess


def test_a_schema_shows_its_attributes_and_budget() -> None:
    text = text_of(schema_of(people=20_000, dataset="shared"))
    assert text.startswith("Schema of t<b>&\"'") and "ε = 3 for shared in all" in text
    assert "one row" in text and "about 20,000" in text and "60" not in text.split("cells")[0]
    rows = cells(schema_of())
    assert ["grade", "ordinal", "low … high", "other", "", "3"] in rows
    assert ['it\'s "x"', "nominal", "<u> … z", "drop", "2", "3"] in rows
    assert "draft" in text_of(schema_of(reviewed=False)) and "draft" not in text


def test_a_release_says_what_it_is_and_answers_its_example(tmp_path: Path) -> None:
    release = published(tmp_path, mechanism="basic")
    text = text_of(release)
    assert "1-differential privacy" in text and "one row" in text and "basic: every cell" in text
    assert "hold as often as they say" in text and "Not private" not in text
    code = "".join(next(shown(release).iter("code")).itertext())
    assert code == example_question(release)
    answered = eval(code, {"release": release})
    assert list(answered.groups) == ['it\'s "x"'] and len(answered) == 3


def test_the_example_of_small_tables_is_one_that_they_answer(tmp_path: Path) -> None:
    release = published(tmp_path, mechanism="marginals", settings={"tables": "age<i>+grade"})
    assert example_question(release) == "release.table('grade')"
    assert len(eval(example_question(release), {"release": release})) == 3
    assert "age<i>+grade" in text_of(release)


def test_a_release_that_is_not_private_says_so(tmp_path: Path) -> None:
    release = published(tmp_path, mechanism="basic", entropy=SeededEntropy(1))
    assert "Not private." in text_of(release) and "NO: made with injected" in text_of(release)


def test_a_release_of_estimates_says_so(tmp_path: Path) -> None:
    release = published(tmp_path, mechanism="privbayes")
    assert "estimate: these intervals may hold less often" in text_of(release)


def test_a_plan_shows_the_best_first_and_the_recommended_one() -> None:
    plan = hushtable.plan(schema_of(), epsilon="0.5")
    rows = [row for row in cells(plan) if row[0] in {f.mechanism for f in plan.forecasts}]
    assert [row[0] for row in rows] == [forecast.mechanism for forecast in plan.forecasts]
    assert plan.recommended is not None
    strong = ["".join(element.itertext()) for element in shown(plan).iter("strong")]
    assert strong == [strong[0], plan.recommended.mechanism, plan.recommended.mechanism]
    assert "everyday at ε = 0.5" in strong[0]
    margin = f"{plan.recommended.margin():.3g}"  # type: ignore[union-attr]
    assert f"± {margin} at 95 %" in text_of(plan)
    assert float(rows[0][1]) == pytest.approx(plan.forecasts[0].margin(), rel=0.01)


def test_a_plan_that_recommends_nothing_says_why() -> None:
    plan = hushtable.plan(schema_of(people=20), epsilon="0.01")
    assert plan.recommended is None
    assert f"Nothing is recommended: {plan.why_not()}" in text_of(plan)


def test_summaries_of_a_plan_are_listed() -> None:
    plan = hushtable.plan(schema_of(people=50), epsilon="1")
    assert plan.summaries
    listed = {row[0] for row in cells(plan)}
    assert {one.mechanism for one in plan.summaries} <= listed


def test_no_number_has_digits_that_its_error_hides() -> None:
    values = np.array([35885.4, 0.5])
    table = table_of(values.tolist(), [LAW, LAW], sex=["F", "M"])
    numbers = [cell for row in cells(table)[1:] for cell in row[1:5]]
    assert all(re.fullmatch(r"-?[\d,]+(\.5)?", number) for number in numbers), numbers
