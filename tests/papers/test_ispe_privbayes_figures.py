"""The figures of ISPE and PrivBayes run, and their verdicts follow from the results alone."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.shared_sizes import some_of

from hushtable.errors import DataError
from hushtable.schema import IntegerRange, Schema, ordinal
from hushtable_papers import Scope, ispe, privbayes, reproduce, synthetic_rows
from hushtable_papers.claims import (
    NOISE,
    Claim,
    Curve,
    Look,
    Results,
    Statement,
    alike,
    below,
    judge,
)
from hushtable_papers.figure import Figure
from hushtable_papers.ispe_tasks import ANY, BUDGETS, SWEEPS, GridTable
from hushtable_papers.real_tables import adult
from hushtable_papers.synthetic_rows import (
    CodedTable,
    Marginals,
    Target,
    majority_misclassified,
    misclassified,
    synthetic,
    total_variation,
)

REPETITIONS = 5
EDGES = np.arange(6) - 0.5
DEGREES = ("Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate")
FIGURES = [*ispe.FIGURES, *privbayes.FIGURES]


# ── every figure, at its quick size ──────────────────────────────────────────────────────────────


@pytest.mark.parametrize("figure", some_of(FIGURES, [privbayes.FIGURES[0]]), ids=lambda f: f.name)
def test_a_figure_runs_draws_and_judges(tmp_path: Path, figure: Figure) -> None:
    done = reproduce(figure, tmp_path, Scope(quick=True))
    assert done.statements and all(any(c.isdigit() for c in s.seen) for s in done.statements)
    assert done.plots and all(plot.read_bytes()[:4] == b"\x89PNG" for plot in done.plots)
    results = pq.read_table(tmp_path / figure.name / "results.parquet")
    assert {s.holds for s in figure.verdict(results)} == {None}  # one repetition tells nothing


def test_adult_takes_part_where_it_is_given(tmp_path: Path) -> None:
    folder = made_up_adult(tmp_path)
    (grid,) = [g for g in ispe.grids(Scope(True, {"adult": folder})) if g.name == "adult"]
    assert grid.rows == 4 and grid.schema.shape == (74, 16)
    assert privbayes.table(Scope(True, {"adult": folder})).name == "adult"
    keys = [task.key for task in ispe.FIGURES[0].tasks(Scope(True, {"adult": folder}))]
    assert {key["data"] for key in keys} == {"continuous", "random", "adult"}


def test_an_absent_adult_table_is_one_clear_line(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the Adult table is not in"):
        adult(tmp_path / "nowhere")


def test_schooling_is_in_order(tmp_path: Path) -> None:
    grid = GridTable.adult(made_up_adult(tmp_path))
    held = dict(zip(grid.counts.codes.tolist(), grid.counts.counts.tolist(), strict=True))
    assert held == {(17 - 17) * 16 + 6: 1, (30 - 17) * 16 + 12: 2, (90 - 17) * 16 + 15: 1}


def made_up_adult(folder: Path) -> Path:
    """Four people who never lived, in the form of the Adult table."""
    columns = {
        "sex": ["Male", "Female", "Male", "Female"],
        "age": ["17", "30", "30", "90"],
        "marital-status": ["Never-married", "Divorced", "Divorced", "Never-married"],
        "education": ["11th", "Bachelors", "Bachelors", "Doctorate"],
        "salary-class": ["<=50K", ">50K", "<=50K", ">50K"],
    }
    lines = [";".join(columns), *(";".join(row) for row in zip(*columns.values(), strict=True))]
    (folder / "adult.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name, values in columns.items():
        more = DEGREES if name == "education" else ()
        paths = "\n".join(f"{value};*" for value in dict.fromkeys([*values, *more]))
        (folder / f"adult_hierarchy_{name}.csv").write_text(paths, encoding="utf-8")
    return folder


# ── planted results ──────────────────────────────────────────────────────────────────────────────


def planted(rows: Iterable[dict[str, Any]], **measures: Callable[[dict[str, Any]], float]) -> Any:
    """Every row in five repetitions, which differ by up to half a per cent."""
    found = []
    for row, repetition in itertools.product(rows, range(REPETITIONS)):
        wiggle = 1 + 0.0025 * (repetition % 3)
        values = {name: measure(row) * wiggle for name, measure in measures.items()}
        found.append({**row, "repetition": repetition, **values})
    return pa.Table.from_pylist(found)


def verdict(figure: str, results: pa.Table) -> list[Statement]:
    (chosen,) = [f for f in FIGURES if f.name == figure]
    return chosen.verdict(results)


def held(figure: str, results: pa.Table) -> set[bool | None]:
    statements = verdict(figure, results)
    assert statements
    assert all(bool(s.why) for s in statements if s.holds is False)
    return {s.holds for s in statements}


def sweep(parameter: str, shapes: dict[str, Callable[[float], float]]) -> pa.Table:
    """Errors of cells and ranges by a parameter, each table with a curve of its own."""
    values = [float(value) for value in SWEEPS[parameter]]
    rows = [
        {"data": data, "questions": kind, parameter: value}
        for data, kind, value in itertools.product(shapes, ("cells", "ranges"), values)
    ]
    return planted(rows, posterior=lambda row: shapes[row["data"]](values.index(row[parameter])))


def falls(i: float) -> float:
    return 10 - i


def rises(i: float) -> float:
    return 10 + i


def bends(i: float) -> float:
    return 10 + (i - 2) ** 2


def settles(i: float) -> float:
    return max(10 - 2 * i, 6)


def stays(i: float) -> float:
    return 10.0


@pytest.mark.parametrize(
    ("parameter", "right", "wrong"),
    [
        ("alpha1", (bends, stays, stays), (falls, bends, stays)),
        ("alpha1", (bends, falls, stays), (rises, bends, stays)),
        ("iterations", (falls, rises, bends), (rises, falls, rises)),
        ("iterations", (settles, rises, falls), (stays, stays, stays)),
        ("xi", (falls, stays, settles), (rises, falls, falls)),
        ("xi", (settles, bends, settles), (stays, rises, bends)),
    ],
)
def test_parameters_are_judged_by_their_curves(
    parameter: str, right: tuple[Any, ...], wrong: tuple[Any, ...]
) -> None:
    for curves, holds in ((right, {True}), (wrong, {False})):
        shapes = dict(zip(("continuous", "random", "adult"), curves, strict=True))
        assert held(f"ispe-{parameter}", sweep(parameter, shapes)) == holds


def compared(**slopes: float) -> pa.Table:
    """Both methods by size: consistency grows as the size does, ISPE by a part of that."""
    rows = [
        {"data": data, "questions": "cells" if size == 1 else "squares", "size": size}
        for data, size in itertools.product(slopes, (1, 2, 4, 8))
    ]
    rows += [
        {"data": data, "questions": kind, "size": ANY}
        for data, kind in itertools.product(slopes, ("partitions", "ranges"))
    ]
    return planted(
        rows,
        posterior=lambda row: (row["size"] or 20) * slopes[row["data"]],
        consistency=lambda row: row["size"] or 20,
    )


def test_ispe_is_judged_beside_consistency_checking() -> None:
    assert held("ispe-sizes", compared(continuous=0.8, random=1.01, adult=0.9)) == {True}
    found = verdict("ispe-sizes", compared(continuous=1.1, random=0.8, adult=1.0))
    assert [s.holds for s in found if "error grows with" not in s.paper] == [False] * 10
    flat = verdict("ispe-sizes", compared(continuous=0.0, random=0.0, adult=0.0))
    assert [s.holds for s in flat if "error grows with" in s.paper] == [False] * 3


def trees(equal: float, doubled: float) -> pa.Table:
    rows = [{"budgets": b, "size": size} for b in BUDGETS for size in (ANY, 4)]
    return planted(
        rows,
        posterior=lambda row: 10 * (equal if row["budgets"] == "equal" else doubled),
        consistency=lambda row: 10.0,
        weighted_consistency=lambda row: 9.0,
    )


def test_trees_are_judged_by_their_budgets() -> None:
    assert held("ispe-trees", trees(1.02, 0.5)) == {True}
    assert held("ispe-trees", trees(0.8, 1.0)) == {False}


def distances(private: Callable[[float], float], whole: float, independent: float) -> pa.Table:
    epsilons = [float(epsilon) for epsilon in privbayes.EPSILONS]
    rows = [
        {"method": method, "epsilon": epsilon, "ways": ways}
        for method, ways in itertools.product(("privbayes", privbayes.WHOLE), (1, 2, 3))
        for epsilon in epsilons
    ]
    rows += [
        {"method": method, "epsilon": None, "ways": ways}
        for method, ways in itertools.product(("independent", "bootstrap"), (1, 2, 3))
    ]
    others = {privbayes.WHOLE: whole, "independent": independent, "bootstrap": 0.001}

    def distance(row: dict[str, Any]) -> float:
        return others.get(row["method"]) or private(row["epsilon"])

    return planted(rows, distance=distance)


def test_marginals_are_judged_beside_other_rows() -> None:
    good = distances(lambda epsilon: 0.1 / (1 + epsilon), whole=0.5, independent=0.09)
    assert held("privbayes-marginals", good) == {True}
    bad = distances(lambda epsilon: 0.1 + epsilon, whole=0.05, independent=0.05)
    assert held("privbayes-marginals", bad) == {False}
    without = bad.filter([m != privbayes.WHOLE for m in bad["method"].to_pylist()])
    assert [s.holds for s in verdict("privbayes-marginals", without)][-3:] == [None] * 3


def mistakes(private: Callable[[float], float], majority: float) -> pa.Table:
    epsilons = [float(epsilon) for epsilon in privbayes.EPSILONS]
    rows: list[dict[str, Any]] = [
        {"method": "privbayes", "epsilon": epsilon, "target": "rich"} for epsilon in epsilons
    ]
    rows += [{"method": m, "epsilon": None, "target": "rich"} for m in ("majority", "real rows")]

    def wrong(row: dict[str, Any]) -> float:
        return majority if row["epsilon"] is None else private(row["epsilon"])

    return planted(rows, misclassified=wrong)


def test_classifiers_are_judged_beside_the_majority() -> None:
    assert held("privbayes-classification", mistakes(lambda e: 0.3 - e / 10, 0.25)) == {True}
    assert held("privbayes-classification", mistakes(lambda e: 0.25, 0.25)) == {False}


# ── what verdicts rest on ────────────────────────────────────────────────────────────────────────


def test_a_difference_must_be_beyond_its_noise_and_visible() -> None:
    noise = np.array([-1.0, 0.0, 1.0, 0.0])
    assert below(np.full(4, 90.0), np.full(4, 100.0) + noise)
    assert not below(np.full(4, 99.0) + noise, np.full(4, 100.0) - noise)  # lost in noise
    assert not below(np.full(4, 99.0), np.full(4, 100.0))  # one per cent: not to be seen
    assert below(np.full(2, 10.0), np.full(2, 100.0)) is None  # too few
    assert alike(np.full(4, 104.0), np.full(4, 100.0), 0.05) is True
    assert alike(np.full(4, 94.0), np.full(4, 100.0), 0.05) is False
    assert alike(np.full(2, 94.0), np.full(2, 100.0), 0.05) is None


@pytest.mark.parametrize(
    ("errors", "holds", "why"),
    [
        ((9.0, 9.5, 8.0, 9.0), True, ""),
        ((11.0, 12.0, 11.0, 13.0), False, "it is worse"),
        ((9.9, 9.9, 9.9, 10.15), True, ""),
        ((9.9, 9.9, 9.9, 10.25), None, NOISE),  # below 10 on average, but not without the first
        ((10.1, 10.1, 10.1, 9.6), None, NOISE),  # below 10 on average because of the last alone
        ((9.0, 8.0), True, ""),  # of so few nothing can be left out
    ],
)
def test_what_one_repetition_turns_is_left_to_noise(
    errors: tuple[float, ...], holds: bool | None, why: str
) -> None:
    def look(results: Results) -> Look:
        return Look(results.curve("error", "x").text(), results.mean("error") < 10)

    rows = [{"x": 0, "repetition": i, "error": error} for i, error in enumerate(errors)]
    (found,) = judge([Claim("It is below 10", look, "it is worse")], pa.Table.from_pylist(rows))
    assert (found.holds, found.why) == (holds, why) and found.seen


def test_clear_differences_are_not_judged_again() -> None:
    claim = Claim("It is so", lambda results: Look("", len(results.rows) > 3, clear=True))
    table = pa.table({"repetition": range(4)})
    assert judge([claim], table)[0].holds is True
    assert judge([replace(claim, look=lambda r: Look("", len(r.rows) > 3))], table)[0].why == NOISE


@pytest.mark.parametrize(
    ("shape", "trend"),
    [(falls, "falls"), (rises, "rises"), (bends, "falls, then rises"), (stays, "no clear trend")],
)
def test_a_curve_tells_its_trend(shape: Callable[[float], float], trend: str) -> None:
    curve = Curve(range(6), [np.full(4, shape(i)) for i in range(6)])
    assert curve.trend() == trend


def test_a_curve_that_comes_back_has_no_trend() -> None:
    curve = Curve(range(3), [np.full(4, value) for value in (10.0, 20.0, 10.0)])
    assert curve.trend() == "no clear trend"


def small_table(rows: int = 400) -> CodedTable:
    """Three attributes: the second is the first, now and then; the third is either."""
    random = np.random.default_rng(5)
    first = random.integers(0, 4, rows)
    second = np.where(random.random(rows) < 0.9, first, random.integers(0, 4, rows))
    third = (first + second >= 3).astype(np.int64)
    axes = [ordinal(n, IntegerRange(0, s - 1)) for n, s in (("a", 4), ("b", 4), ("c", 2))]
    return CodedTable("small", Schema("small", Fraction(10), tuple(axes)), [first, second, third])


def test_distances_are_those_of_the_tables_of_counts() -> None:
    table, random = small_table(), np.random.default_rng(6)
    other = [random.permutation(column) for column in table.columns[:2]] + [table.columns[2]]
    found = Marginals(table).distances(other)
    for ways in (1, 2, 3):
        apart = []
        for axes in itertools.combinations(range(3), ways):
            one, two = (
                np.histogramdd(np.stack([c[a] for a in axes], axis=1), [np.arange(6) - 0.5] * ways)[
                    0
                ]
                for c in (table.columns, other)
            )
            apart.append(np.abs(one / one.sum() - two / two.sum()).sum() / 2)
        assert found[ways] == pytest.approx(np.mean(apart), abs=1e-12)
    assert found[1] == 0 and found[2] > 0.2
    assert total_variation(np.array([1, 1]), np.array([2, 2, 2])) == 1


def test_synthetic_rows_follow_the_table_and_their_seed() -> None:
    table = small_table()
    drawn = [
        synthetic(table, {"k": k}, mechanism="privbayes", epsilon="100", seed=3) for k in (1, 1, 2)
    ]
    assert all(np.array_equal(one, two) for one, two in zip(drawn[0], drawn[1], strict=True))
    assert len(drawn[2][0]) == table.rows
    true, random = Marginals(table), np.random.default_rng(1)
    independent = [random.permutation(column) for column in table.columns]
    assert true.distances(drawn[0])[2] < 0.5 * true.distances(independent)[2]


def test_a_classifier_learns_what_can_be_learned() -> None:
    table = small_table()
    train, test = (table.take(np.arange(*ends)).columns for ends in ((0, 300), (300, 400)))
    target = Target.of("c is 1", table.schema, "c", "1")
    assert misclassified(train, test, table.schema.shape, target) == 0
    upside_down = [*train[:2], 1 - train[2]]
    assert misclassified(upside_down, test, table.schema.shape, target) == 1
    guess = majority_misclassified(train, test, target)
    ones = float(np.mean(test[2]))
    assert guess == pytest.approx(1 - ones if float(np.mean(train[2])) > 0.5 else ones)


def test_sums_over_indicators_are_those_of_the_matrix() -> None:
    random, shape = np.random.default_rng(1), (3, 4, 2)
    columns = [random.integers(0, size, 50) for size in shape]
    places, each = synthetic_rows._indicators(columns, shape, 1), random.random(50)
    matrix = np.zeros((50, 1 + sum(shape)))
    for line in places:
        matrix[np.arange(50), line] = 1
    assert matrix.sum() == 3 * 50 and not matrix[:, 4:8].any()  # the target is no help
    size = matrix.shape[1]
    assert synthetic_rows._sums(places, each, size) == pytest.approx(matrix.T @ each)
    weighted = (matrix * each[:, None]).T @ matrix
    assert synthetic_rows._products(places, each, size) == pytest.approx(weighted)


def test_targets_name_values_of_their_attribute(tmp_path: Path) -> None:
    schema, rows = adult(made_up_adult(tmp_path))
    columns = CodedTable.of("adult", schema, rows).columns
    told = [t.told(columns).tolist() for t in privbayes.targets(schema)]
    # Rich, female, never married, with a degree; the rows in the order of their codes.
    assert sorted(zip(*told, strict=True)) == sorted(
        [
            (False, False, True, False),
            (True, True, False, True),
            (False, False, False, True),
            (True, True, True, True),
        ]
    )
    again = CodedTable.of("adult", schema, rows.take([3, 1, 0, 2])).columns
    assert all(np.array_equal(one, two) for one, two in zip(columns, again, strict=True))
