"""What is measured for the figures of the ISPE paper (§5, Figures 7–23), as tasks.

α = 0.2 throughout, as in the paper; parameters that a figure does not vary are α₁ = 0.15, five
iterations and ξ = 6 (Table 1). Errors are absolute ones, over 100 random questions of each kind and
as many releases as repetitions say; the paper does not tell its data, nor its sizes. Noise and
questions stay the same as a parameter changes, as in the paper; so the count of a whole region,
which is another question whenever the regions change, is asked in the comparison alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np

from hushtable.arrays import Floats, Integers
from hushtable.evaluation.experiment import Key, ResultRow, Task, task_entropy
from hushtable.evaluation.range_errors import experiment_release
from hushtable.evaluation.range_queries import Ranges, true_counts
from hushtable.families.regions.moments import portion_cumulants
from hushtable.families.regions.read import RegionReader
from hushtable.generators import MadeUpTable
from hushtable.kernel.counting import Counts, count_table
from hushtable.kernel.noise.bulk import EntropyNoise
from hushtable.query.batch import range_boxes
from hushtable.release import Release
from hushtable.schema import IntegerRange, Labels, Schema, ordinal
from hushtable.scratch import spill_folder
from hushtable_papers.real_tables import adult
from hushtable_papers.tree_posterior import (
    least_squares,
    level_budgets,
    level_sums,
    posterior_means,
)

EPSILON = "0.2"
GIVEN = {"alpha1": "0.15", "iterations": "5", "xi": "6"}
SWEEPS: dict[str, Sequence[str]] = {
    "alpha1": ("0.02", "0.05", "0.1", "0.15", "0.18", "0.195"),
    "iterations": ("0", "1", "2", "5", "10", "20"),
    "xi": ("0.5", "1", "2", "4", "6", "10", "20", "50"),
}
SIZES = (1, 2, 4, 8, 16, 32)
QUESTIONS = 100
CHILDREN = 2
SEED = 1
BUDGETS = ("equal", "leaves first", "root first")
ANY = 0
"""The size of ranges of any size."""

# The Adult table's schooling from little to much: neighbours are alike.
_SCHOOLING = (
    "Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad",
    "Some-college", "Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate",
)  # fmt: skip

Measuring = Callable[["GridTable", Release], Iterator[ResultRow]]


@dataclass(frozen=True, repr=False)
class GridTable:
    """Counts over two ordinal attributes that are no secret."""

    name: str
    schema: Schema
    counts: Counts

    @classmethod
    def made_up(cls, table: MadeUpTable) -> GridTable:
        """The counts of a generated table."""
        return cls(table.schema.name, table.schema, table.counts())

    @classmethod
    def adult(cls, folder: Path) -> GridTable:
        """Age and schooling of the Adult table."""
        axes = (ordinal("age", IntegerRange(17, 90)), ordinal("education", Labels(_SCHOOLING)))
        schema = Schema("adult", Fraction(10), axes)
        return cls("adult", schema, count_table(adult(folder)[1], schema))

    @property
    def rows(self) -> int:
        """How many rows were counted."""
        return int(self.counts.counts.sum())


def sweep_tasks(
    grid: GridTable, parameter: str, *, repetitions: int, values: Sequence[str] | None = None
) -> list[Task]:
    """Figures 7–15: the error as one parameter of `ispe` changes."""
    return [
        _task(grid, f"ispe by {parameter}", {**GIVEN, parameter: value}, repetition, _overall)
        for value in values or SWEEPS[parameter]
        for repetition in range(repetitions)
    ]


def comparison_tasks(grid: GridTable, *, repetitions: int) -> list[Task]:
    """Figures 16–21: the posterior mean against consistency checking, by question and by size."""
    return [
        _task(grid, "ispe by size", GIVEN, repetition, _by_size)
        for repetition in range(repetitions)
    ]


def tree_tasks(leaves: Integers, *, repetitions: int) -> list[Task]:
    """Figures 22 and 23: both estimates on a (2, L)-tree, by the budgets of its levels."""
    return [
        _tree_task(leaves, budgets, repetition)
        for budgets in BUDGETS
        for repetition in range(repetitions)
    ]


def _task(
    grid: GridTable,
    experiment: str,
    settings: Mapping[str, str],
    repetition: int,
    measure: Measuring,
) -> Task:
    key: Key = {
        "experiment": experiment,
        "data": grid.name,
        "rows": grid.rows,
        "cells": grid.schema.cells,
        "epsilon": float(EPSILON),
        **{name: float(value) for name, value in settings.items()},
        "repetition": repetition,
        "seed": SEED,
    }
    # The same noise whatever the settings: the paper keeps its perturbed data.
    noise: Key = {"data": grid.name, "repetition": repetition}

    def run() -> list[ResultRow]:
        with spill_folder() as folder:
            release = experiment_release(
                grid.counts,
                grid.schema,
                folder / "experiment.release",
                mechanism="ispe",
                epsilon=EPSILON,
                settings=settings,
                entropy=task_entropy(noise, seed=SEED),
            )
            return list(measure(grid, release))

    return Task(key, run)


def _overall(grid: GridTable, release: Release) -> Iterator[ResultRow]:
    for kind, asked in (("cells", squares(grid, 1, SEED)), ("ranges", ranges(grid, SEED))):
        yield {"questions": kind, **_errors(grid, release, asked)}


def _by_size(grid: GridTable, release: Release) -> Iterator[ResultRow]:
    side = min(grid.schema.shape)
    for size in (size for size in SIZES if size <= side):
        kind = "cells" if size == 1 else "squares"
        asked = squares(grid, size, SEED)
        yield {"questions": kind, "size": size, **_errors(grid, release, asked)}
    yield {"questions": "ranges", "size": ANY, **_errors(grid, release, ranges(grid, SEED))}
    yield {"questions": "partitions", "size": ANY, **_partition_errors(grid, release)}


def _errors(grid: GridTable, release: Release, asked: Ranges) -> dict[str, float]:
    truth = true_counts(grid.counts, asked)
    posterior = release.count_ranges(asked.starts, asked.stops)[0]
    alone = release.reading(reference=False).count_ranges(asked.starts, asked.stops)[0]
    return {
        "posterior": float(np.abs(posterior - truth).mean()),
        "without_neighbours": float(np.abs(alone - truth).mean()),
        "consistency": float(np.abs(consistent(release, asked) - truth).mean()),
    }


def _partition_errors(grid: GridTable, release: Release) -> dict[str, float]:
    """Of whole regions, by what their own counts and those of their cells say."""
    reader = _reader(release)
    layout, portions = reader.layout, reader.layout.whole()
    dense = np.zeros(grid.schema.cells)
    dense[grid.counts.codes] = grid.counts.counts
    truth = np.bincount(layout.labels, weights=dense, minlength=layout.regions)
    asked = np.random.default_rng(SEED).integers(0, layout.regions, QUESTIONS)
    posterior = portion_cumulants(reader.estimator, portions)[0]
    agreed = portions.seen + portions.cells / (portions.cells + 1) * portions.apart
    errors = [float(np.abs(found - truth)[asked].mean()) for found in (posterior, agreed)]
    return {"posterior": errors[0], "without_neighbours": errors[0], "consistency": errors[1]}


def _reader(release: Release) -> RegionReader:
    reader = release.reader
    assert isinstance(reader, RegionReader)
    return reader


def consistent(release: Release, asked: Ranges) -> Floats:
    """Answers by consistency checking (Hay et al. 2010) of each region and its cells.

    A parent and n children are made to agree by squares: each child gets 1/(n + 1) of what the
    parent has more than their sum.
    """
    reader, found = _reader(release), []
    for box in range_boxes(asked.starts, asked.stops):
        _, portions, _ = reader.portions((box,), (), 1)
        share = portions.cells / (portions.cells + portions.siblings + 1)
        found.append(float((portions.seen + share * portions.apart).sum()))
    return np.array(found)


def ranges(grid: GridTable, seed: int, questions: int = QUESTIONS) -> Ranges:
    """Random ranges along both axes."""
    random = np.random.default_rng(seed)
    ends = [np.sort(random.integers(0, size, (questions, 2)), axis=1) for size in grid.schema.shape]
    return Ranges(
        np.stack([pair[:, 0] for pair in ends], axis=1),
        np.stack([pair[:, 1] + 1 for pair in ends], axis=1),
    )


def squares(grid: GridTable, size: int, seed: int, questions: int = QUESTIONS) -> Ranges:
    """Random squares of one size; of size 1, cells."""
    random = np.random.default_rng([seed, size])
    starts = np.stack(
        [random.integers(0, side - size + 1, questions) for side in grid.schema.shape], axis=1
    )
    return Ranges(starts, starts + size)


def _tree_task(leaves: Integers, budgets: str, repetition: int) -> Task:
    key: Key = {
        "experiment": "trees",
        "budgets": budgets,
        "children": CHILDREN,
        "leaves": len(leaves),
        "epsilon": float(EPSILON),
        "repetition": repetition,
        "seed": SEED,
    }

    def run() -> list[ResultRow]:
        levels = level_sums(leaves, CHILDREN)
        scales = [1 / share for share in level_budgets(Fraction(EPSILON), len(levels), budgets)]
        noise = EntropyNoise(task_entropy(key, seed=SEED))
        for level, scale in zip(levels, scales, strict=True):
            noise.add_laplace(level, scale)
        estimates = {
            "posterior": posterior_means(levels, CHILDREN, scales),
            "consistency": least_squares(levels),
            "weighted_consistency": least_squares(levels, scales),
        }
        return list(_tree_rows(estimates, leaves))

    return Task(key, run)


def _tree_rows(estimates: Mapping[str, Floats], leaves: Integers) -> Iterator[ResultRow]:
    """Errors of ranges of each size, and of any size."""
    for size in (*(size for size in SIZES if size <= len(leaves)), ANY):
        random = np.random.default_rng([SEED, size])
        if size == ANY:
            ends = np.sort(random.integers(0, len(leaves), (QUESTIONS, 2)), axis=1)
        else:
            first = random.integers(0, len(leaves) - size + 1, QUESTIONS)
            ends = np.stack([first, first + size - 1], axis=1)
        errors = {name: _mean_error(found, leaves, ends) for name, found in estimates.items()}
        yield {"size": size, **errors}


def _mean_error(found: Floats, leaves: Integers, ends: Integers) -> float:
    sums = np.concatenate([[0.0], np.cumsum(found - leaves)])
    return float(np.abs(sums[ends[:, 1] + 1] - sums[ends[:, 0]]).mean())
