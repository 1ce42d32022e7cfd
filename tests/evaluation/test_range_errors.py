"""Errors of mechanisms: what publish would make, compared with the truth as a slow loop does."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hushtable
from hushtable.errors import BudgetError
from hushtable.evaluation.experiment import run_experiment
from hushtable.evaluation.range_errors import (
    Known,
    _as_columns,
    error_rows,
    experiment_release,
    range_error_tasks,
)
from hushtable.evaluation.range_queries import random_ranges
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.families import find_mechanism
from hushtable.generators import MadeUpTable, sparse, timing
from hushtable.kernel.noise.entropy import SystemEntropy

DENSE = ("basic", "privelet", "privelet+", "privelet*", "hierarchical")


@pytest.fixture(scope="module")
def made() -> MadeUpTable:
    return timing(5000, cells=4**4)


@pytest.fixture(scope="module")
def known(made: MadeUpTable) -> Known:
    return Known.of("timing", made.schema, made.counts(), random_ranges(made.schema, 600))


@pytest.mark.parametrize("mechanism", DENSE)
def test_an_experiment_releases_what_publish_would(
    made: MadeUpTable, known: Known, mechanism: str, tmp_path: Path
) -> None:
    released = experiment_release(
        known.counts,
        known.schema,
        tmp_path / "experiment.release",
        mechanism=mechanism,
        epsilon="0.5",
        entropy=SeededEntropy(9),
    )
    made.schema.save(tmp_path / "made.toml")
    published = hushtable.publish(
        made.table(),
        tmp_path / "made.toml",
        epsilon="0.5",
        out=tmp_path / "published.release",
        mechanism=mechanism,
        entropy=SeededEntropy(9),
    )
    released.verify()
    assert (released.cells() == published.cells()).all()
    assert released.manifest.keys() == published.manifest.keys()
    for key in ("arrays", "noise", "parameters", "schema", "reader", "mechanism", "format"):
        assert released.manifest[key] == published.manifest[key]
    assert released.epsilon == published.epsilon
    assert not released.private and "none" in released.manifest["privacy"]["guarantee"]


def test_it_is_never_called_private(known: Known, tmp_path: Path) -> None:
    released = experiment_release(
        known.counts,
        known.schema,
        tmp_path / "a.release",
        mechanism="basic",
        epsilon="1",
        entropy=SystemEntropy(),
    )
    assert not released.private


def test_settings_and_neighbours_reach_the_mechanism(known: Known, tmp_path: Path) -> None:
    def scale(name: str, neighbours: str, **settings: str) -> str:
        released = experiment_release(
            known.counts,
            replace(known.schema, neighbours=neighbours),
            tmp_path / name,
            mechanism="privelet+",
            epsilon="1",
            settings=settings,
            entropy=SeededEntropy(1),
        )
        return str(released.manifest["noise"]["scale"])

    # Haar of 4: 3 levels; 4 values in 2 groups: 3 levels.
    assert scale("a", "add-remove", identity="first,second") == "9"
    assert scale("b", "add-remove", identity="") == "81"
    assert int(scale("c", "replace-one", identity="")) in range(82, 163)


def test_columns_are_the_rows_of_the_counts(known: Known) -> None:
    columns = _as_columns(known.counts)
    linear = np.ravel_multi_index(tuple(c.astype(int) for c in columns.columns), columns.shape)
    assert columns.people is not None
    people = np.bincount(linear, columns.people)
    assert np.flatnonzero(people).tolist() == known.counts.codes.tolist()
    assert people[people > 0].tolist() == known.counts.counts.tolist()
    assert {column.dtype for column in columns.columns} == {np.dtype(np.uint8)}


def slow_rows(known: Known, values: np.ndarray, variances: np.ndarray) -> list[dict[str, Any]]:
    """The same measures, a query at a time."""
    n = sum(known.counts.counts.tolist())
    queries = []
    for i, (start, stop) in enumerate(zip(known.ranges.starts, known.ranges.stops, strict=True)):
        true, off = int(known.answers[i]), abs(values[i] - int(known.answers[i]))
        covered = math.prod((stop - start).tolist()) / math.prod(known.schema.shape)
        relative = off / max(true, 0.001 * n)
        queries.append((covered, true / n, off**2, off, relative, variances[i]))
    names = (
        "coverage",
        "selectivity",
        "square_error",
        "absolute_error",
        "relative_error",
        "variance",
    )

    def means(part: list[tuple[float, ...]]) -> dict[str, Any]:
        columns = zip(names, zip(*part, strict=True), strict=True)
        return {"queries": len(part)} | {f"mean_{k}": sum(v) / len(v) for k, v in columns}

    rows = [{"group": "all", "fifth": 0, **means(queries)}]
    for column, group in enumerate(("coverage", "selectivity")):
        ordered = sorted(queries, key=lambda query: query[column])
        fifth = len(ordered) // 5
        for k in range(5):
            part = ordered[k * fifth : (k + 1) * fifth]
            rows.append({"group": group, "fifth": k + 1, **means(part)})
    return rows


@pytest.fixture(scope="module")
def scattered() -> Known:
    """Few of the cells are occupied: many true answers are below the sanity bound."""
    made = sparse(cells=400, density=0.1, mean=50, dimensions=2)
    ranges = random_ranges(made.schema, 400)
    known = Known.of("scattered", made.schema, made.counts(), ranges)
    assert (known.answers < 0.0005 * known.rows).sum() > 20
    return known


@pytest.mark.parametrize("data", ["known", "scattered"])
def test_measures_are_those_of_a_slow_loop(data: str, request: pytest.FixtureRequest) -> None:
    known: Known = request.getfixturevalue(data)
    random = np.random.default_rng(4)
    values = known.answers + random.normal(0, 30, len(known.ranges))
    variances = random.random(len(known.ranges))
    fast, slow = list(error_rows(known, values, variances)), slow_rows(known, values, variances)
    assert len(fast) == 11
    for one, other in zip(fast, slow, strict=True):
        for name in ("group", "fifth"):
            assert one.pop(name) == other.pop(name)
        assert one == pytest.approx(other, rel=1e-12)


def test_measured_errors_are_those_the_release_states(known: Known, tmp_path: Path) -> None:
    tasks = range_error_tasks(
        "errors", known, mechanisms=["basic", "privelet"], epsilons=["0.25"], repetitions=20
    )
    results = run_experiment(tasks, tmp_path).to_pylist()
    for mechanism in ("basic", "privelet"):
        rows = [row for row in results if row["mechanism"] == mechanism]
        # Small queries share little of their noise, so that a few repetitions say much.
        small = [row for row in rows if (row["group"], row["fifth"]) == ("coverage", 1)]
        assert len(small) == 20 and len({row["mean_square_error"] for row in small}) == 20
        seen = np.mean([row["mean_square_error"] for row in small])
        # Six standard errors; at half the noise it would be a quarter.
        assert 0.75 < seen / small[0]["mean_variance"] < 1.3


def test_tasks_are_the_grid_and_can_be_repeated(known: Known, tmp_path: Path) -> None:
    def tasks(**options: Any) -> list[Any]:
        recipes = ["basic", ("privelet+", {"identity": "first"})]
        given = {"mechanisms": recipes, "epsilons": ["0.5", 1], "repetitions": 2} | options
        return range_error_tasks("grid", known, **given)

    assert len(tasks()) == 8
    one, other = (run_experiment(tasks(), tmp_path / name) for name in "ab")
    assert one.equals(other)
    assert set(one["settings"].to_pylist()) == {"", "identity=first"}
    assert set(one["epsilon"].to_pylist()) == {0.5, 1.0}
    assert not {task.file for task in tasks()} & {task.file for task in tasks(seed=2)}


def test_other_data_or_questions_are_other_tasks(known: Known) -> None:
    fewer = replace(known.counts, counts=known.counts.counts.copy())
    fewer.counts[0] += 1
    other_data = Known.of("timing", known.schema, fewer, known.ranges)
    other_questions = Known.of(
        "timing", known.schema, known.counts, random_ranges(known.schema, 600, seed=2)
    )
    shuffled = np.random.default_rng(1).permutation(len(known.counts.codes))
    counts = known.counts
    same = replace(counts, codes=counts.codes[shuffled], counts=counts.counts[shuffled])
    prints = {one.fingerprint() for one in (known, other_data, other_questions)}
    assert len(prints) == 3
    assert Known.of("timing", known.schema, same, known.ranges).fingerprint() == known.fingerprint()


class Altered:
    """The basic mechanism with another need, or with more ε than it was given."""

    name, check = "basic", staticmethod(find_mechanism("basic").check)

    def __init__(self, needs: str, times: int) -> None:
        self.needs, self.times = needs, times

    def measure(self, curator: Any, schema: Any, *, epsilon: Any, settings: Any) -> Any:
        basic = find_mechanism("basic")
        return basic.measure(curator, schema, epsilon=epsilon * self.times, settings=settings)


def basic_cells(known: Known, folder: Path) -> np.ndarray:
    options: dict[str, Any] = {"mechanism": "basic", "epsilon": "1"}
    noise = SeededEntropy(2)
    return experiment_release(known.counts, known.schema, folder, entropy=noise, **options).cells()


def test_a_mechanism_that_wants_columns_gets_them(
    known: Known, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_counts = basic_cells(known, tmp_path / "a")
    altered = "hushtable.evaluation.range_errors.find_mechanism"
    monkeypatch.setattr(altered, lambda name: Altered("columns", 1))
    assert (basic_cells(known, tmp_path / "b") == by_counts).all()


def test_a_mechanism_cannot_spend_more_than_its_epsilon(
    known: Known, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    altered = "hushtable.evaluation.range_errors.find_mechanism"
    monkeypatch.setattr(altered, lambda name: Altered("counts", 2))
    with pytest.raises(BudgetError):
        basic_cells(known, tmp_path / "a")
