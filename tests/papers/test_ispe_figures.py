"""The paper's experiments run, and say what the docs say they say."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hushtable.evaluation.experiment import run_experiment
from hushtable.generators import continuous
from hushtable_papers.ispe_tasks import (
    ANY,
    SWEEPS,
    GridTable,
    comparison_tasks,
    sweep_tasks,
    tree_tasks,
)


@pytest.fixture(scope="module")
def grid() -> GridTable:
    return GridTable.made_up(continuous(3_000, side=16))


@pytest.mark.thorough
def test_a_sweep_has_a_row_for_every_value_and_kind_of_question(
    tmp_path: Path, grid: GridTable
) -> None:
    rows = run_experiment(sweep_tasks(grid, "xi", repetitions=1), tmp_path).to_pylist()
    assert {row["xi"] for row in rows} == set(map(float, SWEEPS["xi"]))
    assert {row["questions"] for row in rows} == {"cells", "ranges"}
    assert all(row["posterior"] > 0 and row["consistency"] > 0 for row in rows)


def test_neighbours_help_with_cells_of_a_smooth_table(tmp_path: Path, grid: GridTable) -> None:
    rows = run_experiment(comparison_tasks(grid, repetitions=3), tmp_path).to_pylist()
    mean = {
        name: np.mean([row[name] for row in rows if row["size"] == 1])
        for name in ("posterior", "without_neighbours", "consistency")
    }
    assert mean["posterior"] < 0.9 * mean["without_neighbours"]
    wide = [row for row in rows if row["size"] > 1]
    assert all(row["posterior"] == row["without_neighbours"] for row in wide)


def test_on_trees_the_posterior_knows_the_budgets(tmp_path: Path) -> None:
    leaves = np.random.default_rng(1).poisson(40, 8)
    rows = run_experiment(tree_tasks(leaves, repetitions=8), tmp_path).to_pylist()

    def mean(budgets: str, name: str) -> float:
        kept = [row for row in rows if row["budgets"] == budgets and row["size"] == ANY]
        return float(np.mean([row[name] for row in kept]))

    assert mean("equal", "posterior") == pytest.approx(mean("equal", "consistency"), rel=0.15)
    assert mean("leaves first", "posterior") < 0.9 * mean("leaves first", "consistency")
