"""True against released answers: the figures are right, and they say that they are not private."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hushtable
from hushtable.errors import DataError, HushError, OptionError, QueryError
from hushtable.evaluation import truth
from hushtable.evaluation.evaluate import OWNER_ONLY, WRONG_TABLE, Evaluation, evaluate
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.evaluation.truth import TrueTable
from hushtable.evaluation.workload_queries import list_queries
from hushtable.kernel.counting import CodedColumns, Counts
from hushtable.release import Release
from hushtable.schema import IntegerRange, Labels, Schema, ordinal
from hushtable.workload.parsing import from_sql, read_workload

SCHEMA = """
name = "people"
budget = "10000000"
[[attribute]]
name = "age"
kind = "ordinal"
range = [0, 7]
[[attribute]]
name = "job"
kind = "nominal"
tree = { office = ["clerk", "boss"], field = ["farmer", "driver", "miner"] }
outside = "other"
"""
JOBS = ("clerk", "boss", "farmer", "driver", "miner", "pilot")
QUESTIONS = """
-- weight 3
SELECT COUNT(*) FROM people WHERE age BETWEEN 2 AND 5;
SELECT job, COUNT(*) FROM people WHERE age IN (0, 3, 7) GROUP BY job;
age < 2 OR job = 'miner';
"""
PLAIN = ("ranges", "prefixes", "identity", "nodes", "total", "paper", "marginals:1", "level:job=1")


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> Schema:
    path = tmp_path_factory.mktemp("people") / "people.toml"
    path.write_text(SCHEMA)
    return Schema.load(path)


@pytest.fixture(scope="module")
def people() -> pa.Table:
    rows = range(300)
    return pa.table({"age": [i * i % 8 for i in rows], "job": [JOBS[i % 6] for i in rows]})


def published(
    people: pa.Table, schema: Schema, folder: Path, mechanism: str = "basic", **options: Any
) -> Release:
    return hushtable.publish(
        people,
        schema,
        out=folder / "people.release",
        mechanism=mechanism,
        entropy=SeededEntropy(5),
        **{"epsilon": "1", **options},
    )


@pytest.fixture
def release(people: pa.Table, schema: Schema, tmp_path: Path) -> Release:
    return published(people, schema, tmp_path)


def codes_of(people: pa.Table) -> list[tuple[int, int]]:
    """Leaves are coded in the order of the tree; what is not declared comes last."""
    ages, jobs = people["age"].to_pylist(), people["job"].to_pylist()
    return [(age, JOBS.index(job)) for age, job in zip(ages, jobs, strict=True)]


def slow_truth(rows: list[tuple[int, ...]], boxes: Any) -> int:
    return sum(
        all(code in codes for code, codes in zip(row, box.sets, strict=True))
        for row in rows
        for box in boxes
    )


def slow_ranges(rows: list[tuple[int, ...]], starts: Any, stops: Any) -> list[int]:
    return [
        sum(all(a <= c < b for a, c, b in zip(low, row, high, strict=True)) for row in rows)
        for low, high in zip(starts.tolist(), stops.tolist(), strict=True)
    ]


# ── the questions of a workload ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", PLAIN)
def test_a_small_workload_is_asked_in_whole(name: str, schema: Schema) -> None:
    workload = read_workload(name, schema)
    asked = list_queries(workload, 10_000)
    boxes = {
        (*low, *high)
        for low, high in zip(asked.ranges.starts.tolist(), asked.ranges.stops.tolist(), strict=True)
    }
    assert len(asked) == asked.whole == sum(boxes.count for boxes in workload.box_sets)
    assert len(boxes) == len(asked) or name == "paper"  # a root may be the only node
    assert not asked.sampled and asked.weights.sum() == pytest.approx(workload.weight)


def test_questions_in_sql_keep_their_weights(schema: Schema) -> None:
    asked = list_queries(from_sql(QUESTIONS, schema), 100)
    assert len(asked) == 1 + 6 + 1
    assert len(asked.unions) == 6 + 1  # of the first one, both attributes are one interval
    assert sorted(asked.weights.tolist()) == pytest.approx([1 / 6] * 6 + [1, 3])


def test_a_large_workload_is_drawn_from_always_alike(schema: Schema) -> None:
    workload = read_workload("ranges + 3*marginals:1", schema)
    asked = list_queries(workload, 100)
    assert asked.sampled and asked.whole == 36 * 8 + 8 + 6 and 90 <= len(asked) <= 100
    assert asked.weights.sum() == pytest.approx(workload.weight)
    again = list_queries(workload, 100)
    assert np.array_equal(asked.ranges.starts, again.ranges.starts)
    assert np.array_equal(asked.weights, again.weights)


def test_every_interval_is_drawn_equally_often() -> None:
    one = Schema("one", Fraction(1), (ordinal("x", Labels(("a", "b", "c"))),))
    wide = Schema("two", Fraction(1), tuple(ordinal(n, Labels(("a", "b", "c"))) for n in "xyzuvw"))
    assert list_queries(read_workload("ranges", one), 6).whole == 6
    asked = list_queries(read_workload("ranges", wide), 6**6 - 1)
    drawn = list(zip(asked.ranges.starts[:, 0], asked.ranges.stops[:, 0], strict=True))
    shares = [drawn.count(pair) / len(drawn) for pair in itertools.combinations(range(4), 2)]
    assert sum(shares) == pytest.approx(1) and shares == pytest.approx([1 / 6] * 6, abs=0.02)


def test_many_questions_in_sql_are_drawn_from_too(schema: Schema) -> None:
    text = "SELECT age, job, COUNT(*) FROM people GROUP BY age, job;"
    workload = from_sql(text, schema)
    asked = list_queries(workload, 10)
    assert len(asked) == 10 and asked.whole == 48
    assert asked.weights.sum() == pytest.approx(workload.weight)


# ── the truth ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("laid_out", [2**24, 10, 0])
@pytest.mark.parametrize("kind", ["counts", "columns"])
def test_true_answers_are_those_of_counting_row_by_row(
    laid_out: int, kind: str, people: pa.Table, schema: Schema, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(truth, "_LAID_OUT", laid_out)
    rows = codes_of(people)
    if kind == "counts":
        cells = np.array([age * 6 + job for age, job in rows])
        codes, counts = np.unique(cells, return_counts=True)
        table = TrueTable.of(Counts((8, 6), codes, counts))
    else:
        columns = tuple(np.array(column, np.uint8) for column in zip(*rows, strict=True))
        table = TrueTable.of(CodedColumns((8, 6), columns))
    assert table.rows == 300
    for workload in (read_workload("paper + total", schema), from_sql(QUESTIONS, schema)):
        asked = list_queries(workload, 10_000)
        slow = slow_ranges(rows, asked.ranges.starts, asked.ranges.stops)
        slow += [slow_truth(rows, boxes) for boxes in asked.unions]
        assert table.answers(asked.ranges, asked.unions).tolist() == slow


# ── the figures ──────────────────────────────────────────────────────────────────────────────────


def test_errors_are_those_of_the_answers_one_by_one(
    people: pa.Table, release: Release, tmp_path: Path
) -> None:
    wheres = [
        "age BETWEEN 2 AND 5",
        "age IN (0, 3, 7) AND job = 'clerk'",
        "age < 2 OR job = 'field'",
    ]
    (tmp_path / "questions.sql").write_text(";\n".join(wheres))
    found = evaluate(people, release, workload=str(tmp_path / "questions.sql"))
    ages, jobs = people["age"].to_pylist(), people["job"].to_pylist()
    pairs = list(zip(ages, jobs, strict=True))
    field = ("farmer", "driver", "miner")
    true = [
        sum(2 <= age <= 5 for age, _ in pairs),
        sum(age in (0, 3, 7) and job == "clerk" for age, job in pairs),
        sum(age < 2 or job in field for age, job in pairs),
    ]
    answers = [release.count(where) for where in wheres]
    off = [abs(answer.value - count) for answer, count in zip(answers, true, strict=True)]
    errors = found.overall
    assert (found.rows, found.queries, errors.queries) == (300, 3, 3)
    assert errors.absolute_error == pytest.approx(np.mean(off))
    assert errors.square_error == pytest.approx(np.mean(np.square(off)))
    assert errors.rmse == pytest.approx(math.sqrt(errors.square_error))
    assert errors.worst_error == max(off)
    assert errors.relative_error == pytest.approx(
        np.mean([o / max(t, 0.3) for o, t in zip(off, true, strict=True)])
    )
    assert errors.forecast_rmse == pytest.approx(
        math.sqrt(np.mean([answer.stderr**2 for answer in answers]))
    )
    held = [a <= t <= b for (a, b), t in zip((x.interval() for x in answers), true, strict=True)]
    assert (errors.intervals, errors.inside) == (3, np.mean(held))
    assert errors.selectivity == pytest.approx(np.mean(true) / 300)
    assert errors.coverage == pytest.approx(np.mean([24, 3, 2 * 6 + 6 * 3]) / 48)


@pytest.mark.parametrize("workload", ["ranges", "marginals:1", "2*ranges + total"])
def test_the_forecast_is_the_plan_s(
    workload: str, people: pa.Table, schema: Schema, release: Release
) -> None:
    """Weights and all: the planner knows the mean variance of a workload exactly."""
    planned = {
        f.mechanism: f.rmse
        for f in hushtable.plan(schema, epsilon="1", workload=workload).forecasts
    }
    found = evaluate(people, release, workload=workload, intervals=5)
    assert found.overall.forecast_rmse == pytest.approx(planned["basic"])
    named = evaluate(people, release, workload=read_workload(workload, schema), intervals=5)
    assert named.errors == found.errors


def test_fifths_are_those_of_coverage_and_selectivity(people: pa.Table, release: Release) -> None:
    found = evaluate(people, release, workload="ranges", intervals=288)
    assert [(row.group, row.fifth) for row in found.errors] == [
        ("all", 0),
        *itertools.product(["coverage", "selectivity"], range(1, 6)),
    ]
    for group in ("coverage", "selectivity"):
        rows = [row for row in found.errors if row.group == group]
        sizes = [getattr(row, group) for row in rows]
        assert sizes == sorted(sizes) and sizes[0] < sizes[-1]
        assert sum(row.queries for row in rows) == 288 == sum(row.intervals for row in rows)
        for figure in ("absolute_error", "square_error", "relative_error", "inside"):
            mean = np.average([getattr(r, figure) for r in rows], weights=[r.queries for r in rows])
            assert getattr(found.overall, figure) == pytest.approx(mean)


def test_intervals_hold_as_often_as_they_say(
    people: pa.Table, schema: Schema, tmp_path: Path
) -> None:
    """Half of them at 50 %: an evaluation can see that bars are too long or too short."""
    release = published(people, schema, tmp_path, epsilon="0.1")
    shares = {
        confidence: evaluate(
            people, release, workload="identity", intervals=48, confidence=confidence
        ).overall.inside
        for confidence in (0.5, 0.99)
    }
    assert 0.2 < shares[0.5] < 0.8 < shares[0.99]


@pytest.mark.parametrize(
    "mechanism",
    ["basic", "privelet", "privelet*", "filter", "sketch", "privbayes", "ispe"],
)
def test_every_kind_of_release_is_evaluated(
    mechanism: str, people: pa.Table, schema: Schema, tmp_path: Path
) -> None:
    release = published(people, schema, tmp_path, mechanism, epsilon="1000000")
    found = evaluate(people, release, workload="marginals:1", intervals=4)
    assert found.mechanism == mechanism and found.queries == 14
    assert found.overall.absolute_error < 3 and found.overall.forecast_rmse < 3
    (tmp_path / "q.sql").write_text(QUESTIONS)
    assert evaluate(people, release, workload=str(tmp_path / "q.sql")).overall.worst_error < 6


def test_a_domain_beyond_linear_codes_is_evaluated(tmp_path: Path) -> None:
    names = [f"a{i}" for i in range(5)]
    axes = tuple(ordinal(name, IntegerRange(0, 9999)) for name in names)
    schema = Schema("wide", Fraction(100), axes)
    assert schema.cells > 2**63
    people = pa.table({n: [i * k % 10_000 for k in range(90)] for i, n in enumerate(names)})
    release = hushtable.publish(
        people,
        schema,
        epsilon="100",
        out=tmp_path / "wide.release",
        ledger=tmp_path / "ledger",
        mechanism="privbayes",
        settings={"degree": "0"},
        entropy=SeededEntropy(1),
    )
    wheres = ["a1 < 45", "a2 BETWEEN 0 AND 40 AND a3 < 9000", "a0 = 0 OR a4 > 5"]
    (tmp_path / "wide.sql").write_text(";".join(wheres))
    found = evaluate(people, release, workload=str(tmp_path / "wide.sql"))
    assert found.overall.selectivity == pytest.approx((45 + 21 + 90) / 3 / 90)
    assert found.overall.absolute_error < 20


def test_bounded_contributions_are_said(people: pa.Table, tmp_path: Path) -> None:
    path = tmp_path / "unit.toml"
    unit = 'unit = { column = "id", max_rows = 1 }\n[[attribute]]'
    path.write_text(SCHEMA.replace("[[attribute]]", unit, 1))
    people = people.append_column("id", [[f"p{i % 100}" for i in range(300)]])
    release = published(people, Schema.load(path), tmp_path)
    found = evaluate(people, release, workload="total")
    assert found.rows == 100 and "At most 1 rows of a person count" in found.notes[-1]


# ── what is said ─────────────────────────────────────────────────────────────────────────────────


def test_every_form_of_it_says_that_it_is_not_private(
    people: pa.Table, release: Release, tmp_path: Path
) -> None:
    found = hushtable.evaluate(people, release.folder, workload="ranges", queries=50)
    assert isinstance(found, Evaluation) and found.sampled
    assert OWNER_ONLY in repr(found) and "50 of the 288 queries of ranges" in repr(found)
    told = json.loads(json.dumps(found.to_dict()))
    assert told["owner_only"] == OWNER_ONLY and told["sampled"] is True
    assert told["sanity_bound"] == 0.3 and len(told["errors"]) == 11
    found.plot(tmp_path / "errors.svg")
    drawn = (tmp_path / "errors.svg").read_text()
    assert OWNER_ONLY in drawn and "50 of the 288 queries" in drawn
    assert "rms error" in drawn and "forecast" in drawn and "300 rows" in drawn


def test_the_number_of_rows_is_told(people: pa.Table, release: Release) -> None:
    found = evaluate(people, release, workload="total")
    assert found.title == "people by basic, ε = 1: the one query of total, 300 rows"
    assert found.title in repr(found)
    assert evaluate(people[:1], release, workload="total").title.endswith("total, 1 row")
    assert (
        "all 14 queries of marginals:1" in evaluate(people, release, workload="marginals:1").title
    )


def test_the_wrong_table_is_noticed(people: pa.Table, schema: Schema, tmp_path: Path) -> None:
    """Only where neither the error bar nor a few per cent of the rows explain the total."""
    release = published(people, schema, tmp_path, epsilon="100")
    total = release.count()
    assert abs(total.value - 300) < 3 and 10 * total.stderr < 15
    others = {300: False, 290: False, 200: True, 0: True}
    for rows, wrong in others.items():
        found = evaluate(people[:rows], release, workload="total")
        assert (WRONG_TABLE in found.to_dict()["notes"]) == wrong == (WRONG_TABLE in repr(found))
    (tmp_path / "noisy").mkdir()
    noisy = published(people, schema, tmp_path / "noisy", epsilon="0.1")
    assert 10 * noisy.count().stderr > abs(noisy.count().value - 200) > 0.05 * 200
    assert WRONG_TABLE not in evaluate(people[:200], noisy, workload="total").notes


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"workload": "everything"}, OptionError),
        ({"queries": 0}, OptionError),
        ({"queries": 10**7}, OptionError),
        ({"intervals": 0}, OptionError),
        ({"confidence": 1.5}, QueryError),
    ],
)
def test_nonsense_is_refused_before_the_table_is_read(
    options: dict[str, Any], problem: type[HushError], release: Release
) -> None:
    with pytest.raises(problem) as refused:
        evaluate("no such file.csv", release, **options)
    assert "\n" not in str(refused.value)


def test_a_missing_table_a_foreign_workload_and_a_bad_plot_are_refused(
    people: pa.Table, release: Release, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match="there is no file"):
        evaluate("no such file.csv", release)
    other = Schema("one", Fraction(1), (ordinal("x", Labels(("a", "b"))),))
    with pytest.raises(OptionError, match="not one of this release's schema"):
        evaluate(people, release, workload=read_workload("ranges", other))
    found = evaluate(people, release, workload="total")
    (tmp_path / "there.png").touch()
    (tmp_path / "folder.png").mkdir()
    refusals = {
        "errors.pdf": "must end in .png or .svg",
        "there.png": "there.png is there already: name",
        "no/folder.png": "there is no folder",
        "folder.png": "folder.png is a folder",
    }
    for name, says in refusals.items():
        with pytest.raises(OptionError, match=says):
            found.plot(tmp_path / name)
    for nothing in ("", "."):
        with pytest.raises(OptionError, match="has no file name"):
            found.plot(nothing)


def axes_of(found: Evaluation, path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What is drawn."""
    from matplotlib.figure import Figure

    figures: list[Any] = []
    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda f, *a, **k: (figures.append(f), save(f, *a, **k)))
    found.plot(path)
    return list(figures[0].axes)


def test_one_query_is_drawn_on_plain_axes(
    people: pa.Table, release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = evaluate(people, release, workload="total")
    for axes in axes_of(found, tmp_path / "one.png", monkeypatch):
        assert axes.get_xscale() == axes.get_yscale() == "linear"
        labels = [*axes.get_xticklabels(), *axes.get_yticklabels()]
        assert labels and all("10^" not in label.get_text() for label in labels)


def test_many_queries_are_drawn_by_their_decades_and_no_line_hides_another(
    people: pa.Table, release: Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = evaluate(people, release, workload="ranges", intervals=288)
    first, _, third = axes_of(found, tmp_path / "many.png", monkeypatch)
    assert first.get_xscale() == "log"
    names = [text.get_text() for text in first.get_legend().get_texts()]
    assert names == ["rms error", "mean error", "forecast"]
    by_coverage, by_selectivity = third.get_lines()[:2]
    assert by_coverage.get_markerfacecolor() == by_selectivity.get_markerfacecolor() == "none"
    assert (np.asarray(by_coverage.get_xdata()) < by_selectivity.get_xdata()).all()
    assert all(float(tick).is_integer() for tick in third.get_yticks())


def test_an_error_in_a_file_says_where(people: pa.Table, release: Release, tmp_path: Path) -> None:
    path = tmp_path / "bad.sql"
    for text in ("age < 2;\nage <;", "age < 2; height > 3", "age < 2;\n-- weight 0\nage > 3"):
        path.write_text(text)
        with pytest.raises(HushError, match=r"^bad\.sql, query 2: "):
            evaluate(people, release, workload=str(path))


def test_an_empty_table_has_errors_too(schema: Schema, release: Release) -> None:
    empty = pa.table({"age": pa.array([], pa.int64()), "job": pa.array([], pa.string())})
    found = evaluate(empty, release, workload="identity", intervals=5)
    assert found.rows == 0 and found.overall.absolute_error > 0
    assert all(row.relative_error is None for row in found.errors)
    assert "mean relative error  –" in repr(found) and "0 rows" in repr(found)
