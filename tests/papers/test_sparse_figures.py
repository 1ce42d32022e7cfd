"""The experiments of the paper on sparse data run, and their verdicts say what the results say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.shared_sizes import some_of

from hushtable.errors import OptionError
from hushtable.evaluation.experiment import run_experiment
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.kernel.counting import Counts
from hushtable_papers.claims import Statement
from hushtable_papers.figure import Figure, Scope
from hushtable_papers.sparse import FIGURES
from hushtable_papers.sparse_errors import (
    MadeUp,
    Method,
    QuerySizes,
    error_tasks,
    sizes_up_to,
    summary_of,
)
from hushtable_papers.sparse_origins import Journeys

BY_NAME = {figure.name: figure for figure in FIGURES}
Rows = list[dict[str, Any]]


# ── everything runs ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("figure", some_of(FIGURES, FIGURES[:1]), ids=lambda figure: figure.name)
def test_a_quick_run_measures_draws_and_judges(figure: Figure, tmp_path: Path) -> None:
    tasks = figure.tasks(Scope(quick=True))
    results = run_experiment(tasks, tmp_path)
    assert results.num_rows >= len(tasks) > 0
    measure = "microseconds" if figure.name == "sparse-throughput" else "absolute_error"
    assert all(np.isfinite(value) for value in results[measure].to_pylist())
    plots = [plot.draw(results, tmp_path) for plot in figure.plots]
    assert plots and all(plot.read_bytes().startswith(b"\x89PNG") for plot in plots)
    for statement in figure.verdict(results):
        assert statement.paper and (statement.seen or statement.holds is None)
        assert statement.holds or statement.why


def test_the_full_size_has_other_tasks_than_the_quick_one() -> None:
    for figure in FIGURES:
        quick = {task.text for task in figure.tasks(Scope(quick=True))}
        full = [task.text for task in figure.tasks(Scope())]
        assert len(full) == len(set(full)) > len(quick) and not quick & set(full)


# ── measuring ────────────────────────────────────────────────────────────────────────────────────


def test_errors_are_those_of_the_summary(tmp_path: Path) -> None:
    """Ranges and subsets of every cell: the error is that of the noisy total."""
    table, method = MadeUp(cells=1000), Method("geometric", "geometric")
    found = []
    for kind in ("ranges", "subsets"):
        asked = QuerySizes((1000,), each=1, kind=kind)
        tasks = error_tasks("whole", table, [method], asked, repetitions=2)
        found.append(run_experiment(tasks, tmp_path / kind).to_pylist())
    for ranges, subsets in zip(*found, strict=True):
        assert ranges["absolute_error"] == subsets["absolute_error"] > 0
        assert ranges["share"] == 1 and 900 < ranges["kept"] <= 1000
        assert ranges["relative_error"] == pytest.approx(ranges["absolute_error"] / 1e4, rel=0.1)
    assert found[0][0]["absolute_error"] != found[0][1]["absolute_error"]


def test_methods_meet_the_same_noise() -> None:
    schema, counts = MadeUp(cells=1000).load()
    every, some = (
        summary_of(schema, counts, name, settings, SeededEntropy(3))
        for name, settings in (("geometric", {}), ("filter", {"theta": "30"}))
    )
    noisy = dict(zip(every.kept.places.tolist(), every.kept.values.tolist(), strict=True))
    held = set(counts.codes.tolist())
    kept = zip(some.kept.places.tolist(), some.kept.values.tolist(), strict=True)
    assert all(noisy[place] == value for place, value in kept if place in held)


def test_sizes_are_those_that_fit() -> None:
    assert sizes_up_to(10**4) == (100, 300, 1000)
    assert sizes_up_to(10**4, 0.3) == (100, 300, 1000, 3000)


def test_journeys_are_read_from_a_folder(tmp_path: Path) -> None:
    (tmp_path / "flows.csv").write_text("flow,origin,destination\n5,b,a\n2,a,c\n4,b,a\n")
    schema, counts = Journeys(folder=tmp_path).load()
    assert schema.cells == 9
    # By destination, then by origin: (a, b) and (c, a) of the places a, b, c.
    assert dict(zip(counts.codes.tolist(), counts.counts.tolist(), strict=True)) == {1: 9, 6: 2}
    before = Journeys(folder=tmp_path).key
    assert before["cells"] == 9 and before["data"] != "made up"
    (tmp_path / "more.csv").write_text("")
    with pytest.raises(OptionError, match="one CSV file"):
        _ = Journeys(folder=tmp_path).key


def test_journeys_need_their_columns(tmp_path: Path) -> None:
    (tmp_path / "flows.csv").write_text("from,to\n1,2\n")
    with pytest.raises(OptionError, match="origin, destination, flow"):
        Journeys(folder=tmp_path).load()


def test_made_up_journeys_are_sparse_and_of_all_sizes() -> None:
    _, counts = Journeys(60).load()
    assert isinstance(counts, Counts) and len(counts.codes) < 0.3 * 60**2
    assert np.median(counts.counts) <= 3 and counts.counts.max() > 1000


# ── verdicts ─────────────────────────────────────────────────────────────────────────────────────


def curves(by: str, values: tuple[Any, ...], errors: dict[str, Any], **more: Any) -> Iterator[Any]:
    """A row for each method and each value of a column, with the planted measures."""
    for method, numbers in errors.items():
        for value, number in zip(values, numbers, strict=True):
            yield {"method": method, by: value, "absolute_error": float(number), **more}


def _filter() -> Rows:
    thetas = (20, 40, 60, 80, 100)
    errors = {
        "two-sided filter": (900, 700, 2000, 9000, 40_000),
        "one-sided filter": (9000, 3000, 2100, 9500, 40_000),
    }
    kept = dict(zip(thetas, (200_000, 116_000, 97_000, 80_000, 50_000), strict=True))
    table = {"cells": 10**6, "density": 0.1, "relative_error": 0.01}
    return [{**row, "kept": kept[row["theta"]]} for row in curves("theta", thetas, errors, **table)]


def _sampling() -> Rows:
    samples = {"threshold": (100, 50), "priority": (90, 55)}
    combined = {"filter-priority": (300, 100, 200)}
    return [
        *curves("size", (1000, 2000), samples, relative_error=0.03),
        *curves("theta", (10, 50, 70), combined, relative_error=0.02),
    ]


def _ranges() -> Rows:
    sizes = (100, 1000, 10_000, 100_000)
    relative = dict(zip(sizes, (0.05, 0.02, 0.01, 0.005), strict=True))
    errors = {
        "geometric": (50, 150, 500, 1500),
        "filter": (40, 100, 400, 20_000),
        "priority": (400, 1200, 3000, 9000),
        "filter-priority": (45, 140, 450, 1500),
    }
    rows = curves("asked", sizes, errors, cells=10**6)
    return [{**row, "relative_error": relative[row["asked"]]} for row in rows]


def _density() -> Rows:
    sparse = {"geometric": (50, 150), "filter": (10, 20), "priority": (100, 300)}
    sparse["filter-priority"] = (20, 50)
    dense = {"geometric": (50, 150), "filter-priority": (45, 140)}
    return [
        *curves("asked", (100, 1000), sparse, density=0.01),
        *curves("asked", (100, 1000), dense, density=0.1),
    ]


def _sigma() -> Rows:
    sizes = (100, 1000, 10_000)
    wide = {
        "geometric": (50, 150, 500),
        "filter": (100, 400, 4000),
        "priority": (150, 350, 1500),
        "filter-priority": (60, 200, 700),
        "filter-priority, twice the size": (50, 150, 500),
    }
    narrow = {"filter": (50, 200, 1000)}
    return [
        *curves("asked", sizes, wide, deviation=50.0, cells=10**6),
        *curves("asked", sizes, narrow, deviation=20.0, cells=10**6),
    ]


def _throughput() -> Rows:
    cells = {"geometric": (1, 1000), "filter": (0.3, 0.5), "threshold": (0.3, 0.5)}
    cells |= {"priority": (0.8, 1), "filter-priority": (0.5, 0.6)}
    dyadic = {name: (6, 30) if name == "geometric" else (2, 10) for name in cells}
    domains = {name: (0.3, 0.4) for name in cells if name != "geometric"}
    rows = [
        *curves("density", (0.1, 1e-4), cells, experiment="by density", on="cells"),
        *curves("density", (0.1, 1e-4), dyadic, experiment="by density", on="dyadic"),
        *curves("cells", (10**7, 10**12), domains, experiment="by domain", on="cells"),
    ]
    return [{**row, "microseconds": row.pop("absolute_error")} for row in rows]


def _dyadic() -> Rows:
    errors = {
        "geometric": (100, 1000, 3000),
        "dyadic geometric": (800, 1000, 1100),
        "dyadic filter": (700, 900, 1000),
        "dyadic priority": (2000, 3000, 3500),
        "dyadic filter-priority": (750, 950, 1050),
        "haar geometric": (500, 600, 700),
    }
    return [
        row
        for places in ("uniform", "skewed")
        for row in curves("share", (0.001, 0.01, 0.1), errors, places=places)
    ]


def _consistency() -> Rows:
    rows: Rows = []
    for places, factors in (("skewed", (0.6, 0.5)), ("uniform", (0.9, 0.9))):
        for method, factor in zip(("filter", "filter-priority"), factors, strict=True):
            for check, times in (("unchecked", 1.0), ("checked", factor)):
                errors = {method: (100 * times, 300 * times)}
                rows += curves("share", (0.001, 0.1), errors, places=places, check=check)
    return rows


def _origins() -> Rows:
    shares = (0.01, 0.05, 0.2, 0.5)
    subsets = {
        "geometric": (100, 200, 400, 600),
        "filter": (90, 300, 1000, 3000),
        "priority": (110, 210, 390, 590),
        "filter-priority": (105, 205, 410, 620),
    }
    ranges = {
        "geometric": (100, 200, 400, 600),
        "dyadic geometric": (95, 110, 120, 130),
        "dyadic filter": (90, 100, 110, 120),
        "dyadic filter, checked": (80, 90, 100, 110),
    }
    more = {"experiment": "sparse-origins, subsets", "relative_error": 0.005}
    return [
        *curves("share", shares, subsets, **more),
        *curves("share", shares, ranges, experiment="sparse-origins, ranges"),
    ]


PLANTED = {
    "sparse-filter": _filter,
    "sparse-sampling": _sampling,
    "sparse-ranges": _ranges,
    "sparse-density": _density,
    "sparse-sigma": _sigma,
    "sparse-throughput": _throughput,
    "sparse-dyadic": _dyadic,
    "sparse-consistency": _consistency,
    "sparse-origins": _origins,
}
ERROR, RELATIVE, TIME = "absolute_error", "relative_error", "microseconds"
SUBSETS, RANGES = ({"experiment": f"sparse-origins, {kind}"} for kind in ("subsets", "ranges"))
CELLS, DYADIC = ({"experiment": "by density", "on": on} for on in ("cells", "dyadic"))
# For every claim of every figure, in order: which measure of which rows is spoilt by which factor.
SPOILT: dict[str, list[tuple[str, dict[str, Any], float]]] = {
    "sparse-filter": [
        (ERROR, {"method": "one-sided filter"}, 0.1),
        (RELATIVE, {"method": "two-sided filter", "theta": 40}, 3),
        (ERROR, {"method": "one-sided filter", "theta": 100}, 2),
        (ERROR, {"method": "two-sided filter", "theta": 20}, 0.1),
    ],
    "sparse-sampling": [
        (ERROR, {"method": "threshold", "size": 2000}, 2),
        (RELATIVE, {"method": "priority", "size": 1000}, 4),
        (RELATIVE, {"method": "filter-priority", "theta": 70}, 0.1),
        (ERROR, {"method": "filter-priority", "theta": 10}, 0.1),
    ],
    "sparse-ranges": [
        (RELATIVE, {"method": "geometric", "asked": 100}, 2),
        (RELATIVE, {"method": "filter", "asked": 100_000}, 10),
        (ERROR, {"method": "filter", "asked": 1000}, 2),
        (ERROR, {"method": "priority", "asked": 100_000}, 3),
        (ERROR, {"method": "filter-priority", "asked": 100_000}, 1.2),
        (ERROR, {"method": "filter-priority"}, 1.2),
    ],
    "sparse-density": [
        (ERROR, {"method": "filter", "asked": 100}, 20),
        (ERROR, {"method": "filter-priority", "density": 0.01, "asked": 100}, 3),
        (ERROR, {"method": "filter-priority", "density": 0.1}, 0.1),
    ],
    "sparse-sigma": [
        (ERROR, {"method": "filter", "deviation": 20.0}, 3),
        (ERROR, {"method": "priority", "asked": 1000}, 5),
        (ERROR, {"method": "filter-priority", "asked": 100}, 2),
        (ERROR, {"method": "geometric", "asked": 100}, 2),
        (ERROR, {"method": "filter-priority, twice the size", "asked": 100}, 1.2),
    ],
    "sparse-throughput": [
        (TIME, {"method": "priority", **CELLS}, 0.1),
        (TIME, {"method": "geometric", "density": 0.1, **CELLS}, 5),
        (TIME, {"method": "geometric", "density": 1e-4, **CELLS}, 0.05),
        (TIME, {"method": "priority", "cells": 10**12}, 3),
        (TIME, {"method": "geometric", "density": 0.1, **DYADIC}, 0.2),
        (TIME, {"method": "geometric", "density": 1e-4, **DYADIC}, 3),
    ],
    "sparse-dyadic": [
        (ERROR, {"method": "dyadic priority", "share": 0.1}, 0.2),
        (ERROR, {"method": "dyadic filter", "share": 0.01}, 2),
        (ERROR, {"method": "dyadic filter", "share": 0.1}, 3),
        (ERROR, {"method": "dyadic filter", "share": 0.1, "places": "skewed"}, 2),
        (ERROR, {"method": "haar geometric", "share": 0.001}, 0.2),
    ],
    "sparse-consistency": [
        (ERROR, {"method": "filter", "places": "skewed", "check": "checked"}, 1.3),
        (ERROR, {"method": "filter-priority", "places": "skewed", "check": "checked"}, 1.5),
        (ERROR, {"method": "filter", "places": "uniform", "check": "checked"}, 0.5),
        (ERROR, {"method": "filter", "places": "uniform", "check": "checked"}, 1.2),
        (ERROR, {"method": "filter-priority", "places": "uniform", "check": "checked"}, 0.5),
    ],
    "sparse-origins": [
        (ERROR, {"method": "filter", **SUBSETS}, 0.2),
        (ERROR, {"method": "filter-priority", **SUBSETS}, 1.5),
        (ERROR, {"method": "priority", "share": 0.5, **SUBSETS}, 1.1),
        (RELATIVE, {"method": "priority", "share": 0.05}, 2),
        (ERROR, {"method": "dyadic filter", "share": 0.05, **RANGES}, 3),
        (ERROR, {"method": "dyadic filter", **RANGES}, 1.5),
        (ERROR, {"method": "dyadic filter, checked", **RANGES}, 0.5),
    ],
}


def judged(name: str, rows: Rows) -> list[Statement]:
    columns = {column: None for row in rows for column in row}
    table = pa.Table.from_pylist([{**columns, **row} for row in rows])
    return BY_NAME[name].verdict(table)


def test_every_figure_has_planted_results() -> None:
    assert set(PLANTED) == set(SPOILT) == set(BY_NAME)


@pytest.mark.parametrize("name", PLANTED)
def test_results_as_the_paper_has_them_hold(name: str) -> None:
    statements = judged(name, PLANTED[name]())
    assert len(statements) == len(SPOILT[name])
    assert [s.paper for s in statements if s.holds is not True] == []
    assert all(s.seen and not s.why for s in statements)


@pytest.mark.parametrize("name", PLANTED)
def test_every_claim_turns_false_by_a_planted_wrong_result(name: str) -> None:
    for number, (measure, where, factor) in enumerate(SPOILT[name]):
        rows = PLANTED[name]()
        hit = [row for row in rows if all(row.get(k) == v for k, v in where.items())]
        assert hit
        for row in hit:
            row[measure] *= factor
        statement = judged(name, rows)[number]
        assert statement.holds is False and statement.why, statement


@pytest.mark.parametrize("name", PLANTED)
def test_what_was_not_measured_cannot_be_told(name: str) -> None:
    for number, (_, where, _) in enumerate(SPOILT[name]):
        rows = [row for row in PLANTED[name]() if row["method"] != where["method"]]
        statement = judged(name, rows)[number]
        # A claim about all methods is still judged by those that are left.
        assert statement.holds is None or statement.paper.startswith("The relative error falls")
    assert all(s.holds is None for s in BY_NAME[name].verdict(pa.table({})))
