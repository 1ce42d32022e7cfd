"""ISPE at 1024 × 1024; beside other mechanisms on given tables; and the paper's Figures 7–23.

python -m benchmarks.ispe                        speed and memory
python -m benchmarks.ispe --tables FOLDER        scaled errors on 2-D arrays of counts (*.npy)
python -m benchmarks.ispe --figures [--adult CSV]    the paper's experiments
python -m benchmarks.ispe --defaults             the experiment behind the defaults
"""

from __future__ import annotations

import argparse
import csv
import math
import resource
import tempfile
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa

from hushtable.counting import Counts
from hushtable.evaluation.entropy import SeededEntropy
from hushtable.evaluation.experiment import run_experiment
from hushtable.evaluation.generators import continuous, sparse, unrelated
from hushtable.evaluation.ispe_figures import (
    BUDGETS,
    SWEEPS,
    Grid,
    comparison_tasks,
    sweep_tasks,
    tree_tasks,
)
from hushtable.evaluation.range_errors import experiment_release
from hushtable.evaluation.range_queries import random_ranges, true_counts
from hushtable.release import Release
from hushtable.schema import IntegerRange, Labels, Schema, ordinal

MECHANISMS = ("basic", "privelet", "hierarchical", "kdtree", "ispe")


def run(side: int = 1024) -> None:
    """Publish a million cells and ask ten thousand ranges with their intervals."""
    made = continuous(10**6, side=side)
    grid = Grid("continuous", made.schema, made.counts())
    asked = random_ranges(grid.schema, 10_000, seed=3)
    truth = true_counts(grid.counts, asked)
    print(f"{side} × {side} cells, a million rows, ε = 1")
    for mechanism in ("basic", "ispe", "kdtree"):
        before = _peak()
        with tempfile.TemporaryDirectory() as folder:
            begin = time.perf_counter()
            release = _release(grid, Path(folder), mechanism, "1", 1)
            published = time.perf_counter() - begin
            begin = time.perf_counter()
            values, low, high = release.range_intervals(asked.starts, asked.stops)
            took = time.perf_counter() - begin
        covered = np.mean((low <= truth) & (truth <= high))
        error = np.abs(values - truth).mean()
        print(
            f"  {mechanism:<8} published in {published:.2f} s, 10,000 ranges with intervals in"
            f" {took:.2f} s; mean error {error:,.0f}, {covered:.1%} covered;"
            f" peak memory {_peak():,.0f} MiB (was {before:,.0f})",
            flush=True,
        )


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _release(
    grid: Grid, folder: Path, mechanism: str, epsilon: str, seed: int, **settings: str
) -> Release:
    return experiment_release(
        grid.counts,
        grid.schema,
        folder / f"{mechanism}.release",
        mechanism=mechanism,
        epsilon=epsilon,
        settings=settings,
        entropy=SeededEntropy(seed),
    )


def tables(folder: Path, releases: int = 3) -> None:
    """Scaled error, the L₂ distance per query over the rows, on random ranges."""
    names = "".join(f"{mechanism:>14}" for mechanism in MECHANISMS)
    print(f"{'scaled error per query':<34}{names}")
    for grid in _grids(folder):
        rows = int(grid.counts.counts.sum())
        asked = random_ranges(grid.schema, 2_000, seed=5)
        truth = true_counts(grid.counts, asked)
        for epsilon in ("0.1", "1"):
            line = f"{grid.name[:20]:<20} ε = {epsilon:<4} ×1e-6 "
            for mechanism in MECHANISMS:
                squares = []
                for seed in range(releases):
                    with tempfile.TemporaryDirectory() as scratch:
                        release = _release(grid, Path(scratch), mechanism, epsilon, seed)
                        values, _ = release.count_ranges(asked.starts, asked.stops)
                        squares.append(np.square(values - truth).mean())
                error = math.sqrt(float(np.mean(squares))) / rows
                line += f"{error * 1e6:>14.1f}"
            print(line, flush=True)


def _grids(folder: Path) -> Iterator[Grid]:
    for path in sorted(folder.glob("*.npy")):
        counts = np.load(path, allow_pickle=False)
        if counts.ndim == 2:
            yield _grid(path.stem, counts.astype(np.int64))


def _grid(name: str, counts: np.ndarray) -> Grid:
    axes = tuple(
        ordinal(n, IntegerRange(0, s - 1)) for n, s in zip("xy", counts.shape, strict=True)
    )
    codes = np.flatnonzero(counts)
    held = Counts(counts.shape, codes, counts.reshape(-1)[codes])
    return Grid(name, Schema("grid", Fraction(10), attributes=axes), held)


def adult(path: Path) -> Grid:
    """Age and education of the Adult table, both in order."""
    with open(path, newline="", encoding="utf-8") as file:
        people = list(csv.DictReader(file, delimiter=";"))
    labels = tuple(sorted({person["education"] for person in people}))
    schema = Schema(
        "adult",
        Fraction(10),
        attributes=(ordinal("age", IntegerRange(0, 95)), ordinal("education", Labels(labels))),
    )
    counts = np.zeros(schema.shape, np.int64)
    for person in people:
        counts[min(int(person["age"]), 95), labels.index(person["education"])] += 1
    codes = np.flatnonzero(counts)
    return Grid("adult", schema, Counts(counts.shape, codes, counts.reshape(-1)[codes]))


def figures(adult_table: Path | None, repetitions: int = 5) -> None:
    """Mean absolute errors, as the paper draws them."""
    made = {"continuous": continuous(100_000), "random": unrelated(100_000)}
    grids = [Grid(name, table.schema, table.counts()) for name, table in made.items()]
    grids += [adult(adult_table)] if adult_table else []
    with tempfile.TemporaryDirectory() as folder:
        for parameter in SWEEPS:
            print(f"by {parameter}: error of cells (posterior), of ranges (posterior)")
            for grid in grids:
                tasks = sweep_tasks(grid, parameter, repetitions=repetitions)
                _print_sweep(grid.name, parameter, run_experiment(tasks, folder))
        print("by size: posterior with neighbours, without, consistency (size 0: any ranges)")
        for grid in grids:
            found = run_experiment(comparison_tasks(grid, repetitions=repetitions), folder)
            _print_means(grid.name, found, "size")
        print("(2, 6)-tree: posterior, consistency, weighted consistency")
        leaves = np.random.default_rng(1).poisson(40, 32)
        _print_means("poisson", run_experiment(tree_tasks(leaves), folder), "budgets", BUDGETS)


def _print_sweep(name: str, parameter: str, found: pa.Table) -> None:
    rows = found.to_pylist()
    for value in map(float, SWEEPS[parameter]):
        means = [
            np.mean(
                [r["posterior"] for r in rows if (r[parameter], r["questions"]) == (value, kind)]
            )
            for kind in ("cells", "ranges")
        ]
        print(f"  {name:<12}{value:>8g}{means[0]:>10.2f}{means[1]:>10.1f}", flush=True)


def _print_means(name: str, found: pa.Table, by: str, order: tuple[str, ...] = ()) -> None:
    rows = found.to_pylist()
    columns = ("posterior", "without_neighbours", "consistency", "weighted_consistency")
    for value in order or sorted({row[by] for row in rows}):
        chosen = [row for row in rows if row[by] == value]
        means = [np.mean([row[c] for row in chosen]) for c in columns if c in rows[0]]
        print(f"  {name:<12}{value!s:>14}" + "".join(f"{m:>10.2f}" for m in means), flush=True)


def defaults(releases: int = 2) -> None:
    """Root mean square errors over those of `basic`, of cells and ranges, by setting."""
    made = {
        "continuous": continuous(100_000),
        "random": unrelated(100_000),
        "sparse-2d": sparse(dimensions=2, cells=16_384),
    }
    grids = [Grid(name, table.schema, table.counts()) for name, table in made.items()]
    for epsilon in ("0.1", "1"):
        print(f"ε = {epsilon}: ranges / cells, over those of basic\n{'':<38}", end="")
        print("".join(f"{grid.name:>16}" for grid in grids))
        plain = [_rms(grid, "basic", epsilon, releases, {}) for grid in grids]
        for share in (0.5, 0.75, 0.9):
            for iterations, factor in ((1, 1.0), (5, 1.0), (5, 3.0), (5, None)):
                found = []
                for grid, base in zip(grids, plain, strict=True):
                    chosen = _settings(grid, epsilon, share, iterations, factor)
                    own = _rms(grid, "ispe", epsilon, releases, chosen)
                    found.append(f"{own[0] / base[0]:.2f} / {own[1] / base[1]:.2f}")
                name = "default ξ" if factor is None else f"ξ = {factor:g} deviations"
                print(f"  α₁ {share:<5} {iterations:>2} iterations, {name:<18}", end="")
                print("".join(f"{text:>16}" for text in found), flush=True)


def _settings(
    grid: Grid, epsilon: str, share: float, iterations: int, factor: float | None
) -> dict[str, str]:
    from hushtable.mechanisms.ispe import Parameters

    alpha = Fraction(epsilon) * Fraction(str(share))
    settings = {"alpha1": str(float(alpha)), "iterations": str(iterations)}
    if factor is not None:
        chosen = Parameters.of(grid.schema, settings, 1 / alpha)
        apart = chosen.xi / math.sqrt(2 * math.log(grid.schema.cells))
        settings["xi"] = str(factor * apart)
    return settings


def _rms(
    grid: Grid, mechanism: str, epsilon: str, releases: int, settings: dict[str, str]
) -> tuple[float, float]:
    asked = random_ranges(grid.schema, 300, seed=3)
    truth = true_counts(grid.counts, asked)
    dense = np.zeros(grid.schema.shape)
    dense.reshape(-1)[grid.counts.codes] = grid.counts.counts
    squares: list[tuple[float, float]] = []
    for seed in range(releases):
        with tempfile.TemporaryDirectory() as folder:
            release = _release(grid, Path(folder), mechanism, epsilon, seed, **settings)
            values = release.count_ranges(asked.starts, asked.stops)[0]
            cells = np.square(release.cells() - dense).mean()
            squares.append((float(np.square(values - truth).mean()), float(cells)))
    ranges, cells = np.sqrt(np.mean(squares, axis=0)).tolist()
    return ranges, cells


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=Path, help="a folder of 2-D arrays of counts")
    parser.add_argument("--figures", action="store_true", help="the paper's Figures 7–23")
    parser.add_argument("--adult", type=Path, help="the Adult table, for the figures")
    parser.add_argument(
        "--defaults", action="store_true", help="the experiment behind the defaults"
    )
    chosen = parser.parse_args()
    if chosen.tables:
        tables(chosen.tables)
    elif chosen.figures:
        figures(chosen.adult)
    elif chosen.defaults:
        defaults()
    else:
        run()


if __name__ == "__main__":
    main()
