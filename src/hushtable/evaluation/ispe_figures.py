"""The experiments of the ISPE paper (§5), as tasks: Figures 7–23.

α = 0.2 throughout, as in the paper; parameters that a figure does not vary are α₁ = 0.15, five
iterations and ξ = 6 (Table 1). Errors are absolute ones, over 100 random questions of each kind and
as many releases as repetitions say; the paper does not tell its data, nor its sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.counting import Counts
from hushtable.evaluation.experiment import Key, Row, Task, task_entropy
from hushtable.evaluation.range_errors import experiment_release
from hushtable.evaluation.range_queries import Ranges, true_counts
from hushtable.evaluation.tree_posterior import (
    least_squares,
    level_budgets,
    level_sums,
    posterior_means,
)
from hushtable.noise.bulk import EntropyNoise
from hushtable.query.batch import range_boxes
from hushtable.query.regions import RegionReader
from hushtable.release import Release
from hushtable.schema import Schema
from hushtable.scratch import spill_folder

EPSILON = "0.2"
GIVEN = {"alpha1": "0.15", "iterations": "5", "xi": "6"}
SWEEPS: dict[str, Sequence[str]] = {
    "alpha1": ("0.02", "0.05", "0.1", "0.15", "0.18", "0.195"),
    "iterations": ("0", "1", "2", "5", "10", "20"),
    "xi": ("0.5", "1", "2", "4", "6", "10", "20", "50"),
}
SIZES = (1, 2, 4, 8, 16, 32)
QUESTIONS = 100
BUDGETS = ("equal", "leaves first", "root first")

Floats = NDArray[np.float64]


@dataclass(frozen=True, repr=False)
class Grid:
    """Counts over two ordinal attributes that are no secret."""

    name: str
    schema: Schema
    counts: Counts


def sweep_tasks(grid: Grid, parameter: str, *, repetitions: int = 5, seed: int = 1) -> list[Task]:
    """Figures 7–15: the error as one parameter of `ispe` changes."""
    return [
        _task(grid, f"ispe by {parameter}", {**GIVEN, parameter: value}, repetition, seed, _overall)
        for value in SWEEPS[parameter]
        for repetition in range(repetitions)
    ]


def comparison_tasks(grid: Grid, *, repetitions: int = 5, seed: int = 1) -> list[Task]:
    """Figures 16–21: the posterior mean against consistency checking, by the size of a range."""
    return [
        _task(grid, "ispe by size", GIVEN, repetition, seed, _by_size)
        for repetition in range(repetitions)
    ]


def tree_tasks(
    leaves: NDArray[np.int64], children: int = 2, *, repetitions: int = 20, seed: int = 1
) -> list[Task]:
    """Figures 22 and 23: both estimates on a (K, L)-tree, by the budgets of its levels."""
    tasks = []
    for budgets in BUDGETS:
        for repetition in range(repetitions):
            key: Key = {
                "experiment": "trees",
                "budgets": budgets,
                "children": children,
                "leaves": len(leaves),
                "epsilon": float(EPSILON),
                "repetition": repetition,
                "seed": seed,
            }
            tasks.append(Task(key, _tree_run(leaves, children, key, seed)))
    return tasks


def _task(
    grid: Grid, experiment: str, settings: Mapping[str, str], repetition: int, seed: int, rows: Any
) -> Task:
    key: Key = {
        "experiment": experiment,
        "data": grid.name,
        "epsilon": float(EPSILON),
        **{name: float(value) for name, value in settings.items()},
        "repetition": repetition,
        "seed": seed,
    }
    # The same noise whatever the settings: the paper keeps its perturbed data.
    noise: Key = {"data": grid.name, "repetition": repetition}

    def run() -> list[Row]:
        with spill_folder() as folder:
            release = experiment_release(
                grid.counts,
                grid.schema,
                folder / "experiment.release",
                mechanism="ispe",
                epsilon=EPSILON,
                settings=settings,
                entropy=task_entropy(noise, seed=seed),
            )
            return list(rows(grid, release, seed))

    return Task(key, run)


def _overall(grid: Grid, release: Release, seed: int) -> Iterator[Row]:
    for kind, asked in (("cells", squares(grid, 1, seed)), ("ranges", ranges(grid, seed))):
        yield {"questions": kind, **_errors(grid, release, asked)}


def _by_size(grid: Grid, release: Release, seed: int) -> Iterator[Row]:
    side = min(grid.schema.shape)
    for size in (size for size in SIZES if size <= side):
        yield {"size": size, **_errors(grid, release, squares(grid, size, seed))}
    yield {"size": 0, **_errors(grid, release, ranges(grid, seed))}


def _errors(grid: Grid, release: Release, asked: Ranges) -> dict[str, float]:
    truth = true_counts(grid.counts, asked)
    posterior = release.count_ranges(asked.starts, asked.stops)[0]
    alone = release.reading(reference=False).count_ranges(asked.starts, asked.stops)[0]
    return {
        "posterior": float(np.abs(posterior - truth).mean()),
        "without_neighbours": float(np.abs(alone - truth).mean()),
        "consistency": float(np.abs(consistent(release, asked) - truth).mean()),
    }


def consistent(release: Release, asked: Ranges) -> Floats:
    """Answers by consistency checking (Hay et al. 2010) of each region and its cells.

    A parent and n children are made to agree by squares: each child gets 1/(n + 1) of what the
    parent has more than their sum.
    """
    reader = release._reader
    assert isinstance(reader, RegionReader)
    found = []
    for box in range_boxes(asked.starts, asked.stops):
        _, parts, _ = reader.parts((box,), (), 1)
        share = parts.cells / (parts.cells + parts.siblings + 1)
        found.append(float((parts.seen + share * parts.apart).sum()))
    return np.array(found)


def ranges(grid: Grid, seed: int) -> Ranges:
    """Random ranges along both axes."""
    random = np.random.default_rng(seed)
    ends = [np.sort(random.integers(0, size, (QUESTIONS, 2)), axis=1) for size in grid.schema.shape]
    return Ranges(
        np.stack([pair[:, 0] for pair in ends], axis=1),
        np.stack([pair[:, 1] + 1 for pair in ends], axis=1),
    )


def squares(grid: Grid, size: int, seed: int) -> Ranges:
    """Random squares of one size; of size 1, cells."""
    random = np.random.default_rng([seed, size])
    starts = np.stack(
        [random.integers(0, side - size + 1, QUESTIONS) for side in grid.schema.shape], axis=1
    )
    return Ranges(starts, starts + size)


def _tree_run(leaves: NDArray[np.int64], children: int, key: Key, seed: int) -> Any:
    def run() -> list[Row]:
        levels = level_sums(leaves, children)
        budgets = level_budgets(Fraction(EPSILON), len(levels), str(key["budgets"]))
        scales = [1 / budget for budget in budgets]
        noise = EntropyNoise(task_entropy(key, seed=seed))
        for level, scale in zip(levels, scales, strict=True):
            noise.add_laplace(level, scale)
        random = np.random.default_rng(seed)
        ends = np.sort(random.integers(0, len(leaves), (QUESTIONS, 2)), axis=1)
        estimates = {
            "posterior": posterior_means(levels, children, scales),
            "consistency": least_squares(levels, children),
            "weighted_consistency": least_squares(levels, children, scales),
        }
        return [{name: _mean_error(found, leaves, ends) for name, found in estimates.items()}]

    return run


def _mean_error(found: Floats, leaves: NDArray[np.int64], ends: NDArray[np.int64]) -> float:
    sums = np.concatenate([[0.0], np.cumsum(found - leaves)])
    return float(np.abs(sums[ends[:, 1] + 1] - sums[ends[:, 0]]).mean())
