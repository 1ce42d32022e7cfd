"""ISPE at 1024 × 1024; beside other mechanisms on given tables; and how often intervals hold.

    python -m benchmarks.ispe                     speed and memory
    python -m benchmarks.ispe --tables FOLDER     scaled errors on 2-D arrays of counts (*.npy)
    python -m benchmarks.ispe --coverage          nominal and observed coverage of intervals
    python -m benchmarks.ispe --defaults          the experiment behind the defaults

The paper's Figures 7–23 are `hush reproduce ispe-alpha1` and the like.
"""

from __future__ import annotations

import argparse
import itertools
import math
import tempfile
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.machine import peak_memory
from hushtable.evaluation.range_errors import experiment_release
from hushtable.evaluation.range_queries import Ranges, random_ranges, true_counts
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.generators import continuous, sparse, unrelated
from hushtable.kernel.counting import Counts
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.release import Release
from hushtable.schema import IntegerRange, Schema, ordinal
from hushtable_papers.ispe_tasks import GridTable, ranges, squares

MECHANISMS = ("basic", "privelet", "hierarchical", "kdtree", "ispe")
LEVELS = (0.8, 0.9, 0.95, 0.99, 0.999)


def run(side: int = 1024) -> None:
    """Publish a million cells and ask ten thousand ranges with their intervals."""
    grid = GridTable.made_up(continuous(10**6, side=side))
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
    return peak_memory() / 2**20


def _release(
    grid: GridTable, folder: Path, mechanism: str, epsilon: str, seed: int, **settings: str
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


def _grids(folder: Path) -> Iterator[GridTable]:
    for path in sorted(folder.glob("*.npy")):
        counts = np.load(path, allow_pickle=False)
        if counts.ndim == 2:
            yield _grid(path.stem, counts.astype(np.int64))


def _grid(name: str, counts: np.ndarray) -> GridTable:
    axes = tuple(
        ordinal(n, IntegerRange(0, s - 1)) for n, s in zip("xy", counts.shape, strict=True)
    )
    codes = np.flatnonzero(counts)
    held = Counts(counts.shape, codes, counts.reshape(-1)[codes])
    return GridTable(name, Schema("grid", Fraction(10), attributes=axes), held)


def coverage(releases: int = 12, questions: int = 60) -> None:
    """How often intervals hold the true count, beside how often they should."""
    print("observed coverage of intervals by nominal coverage, and their mean width at 95 %")
    print(f"{'':<60}" + "".join(f"{level:>8.1%}" for level in LEVELS) + f"{'width':>9}")
    for mechanism, grid, epsilon in itertools.product(("ispe", "kdtree"), _made_up(), ("0.1", "1")):
        found = _coverages(mechanism, grid, epsilon, releases, questions)
        for kind, (*held, width) in found.items():
            line = f"  {mechanism:<7} {grid.name:<12} ε = {epsilon:<4} {kind:<31}"
            shares = "".join(f"{share:>8.1%}" for share in held)
            print(f"{line}{shares}{width:>9.1f}", flush=True)


def _made_up() -> list[GridTable]:
    made = (continuous(100_000), unrelated(100_000), sparse(dimensions=2, cells=16_384))
    return [GridTable.made_up(table) for table in made]


def _coverages(
    mechanism: str, grid: GridTable, epsilon: str, releases: int, questions: int
) -> dict[str, NDArray[np.float64]]:
    """The shares of the intervals that held, by kind and nominal coverage, and their width."""
    found: dict[str, list[list[float]]] = {}
    some, cells = ranges(grid, 7, questions), squares(grid, 1, 7, questions)
    for seed in range(releases):
        with tempfile.TemporaryDirectory() as folder:
            release = _release(grid, Path(folder), mechanism, epsilon, seed)
            posterior = release.reading(intervals="posterior")
            for kind, reading, asked in (
                ("ranges", release, some),
                ("cells", release, cells),
                ("ranges, posterior", posterior, some),
                ("cells, posterior", posterior, cells),
                ("cells, posterior, reference off", posterior.reading(reference=False), cells),
            ):
                held, widths = zip(
                    *(_covered(grid, reading, asked, level) for level in LEVELS), strict=True
                )
                width = widths[LEVELS.index(0.95)]
                found.setdefault(kind, []).append([*held, width])
    return {kind: np.mean(held, axis=0) for kind, held in found.items()}


def _covered(grid: GridTable, release: Release, asked: Ranges, level: float) -> tuple[float, float]:
    truth = true_counts(grid.counts, asked)
    _, low, high = release.range_intervals(asked.starts, asked.stops, confidence=level)
    return float(np.mean((low <= truth) & (truth <= high))), float(np.mean(high - low))


def defaults(releases: int = 2) -> None:
    """Root mean square errors over those of `basic`, of cells and ranges, by setting."""
    grids = _made_up()
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
    grid: GridTable, epsilon: str, share: float, iterations: int, factor: float | None
) -> dict[str, str]:
    from hushtable.families.regions.ask.ispe import IspeParameters

    alpha = Fraction(epsilon) * Fraction(str(share))
    settings = {"alpha1": str(float(alpha)), "iterations": str(iterations)}
    if factor is not None:
        chosen = IspeParameters.of(grid.schema, settings, DiscreteLaplace(1 / alpha))
        apart = chosen.xi / math.sqrt(2 * math.log(grid.schema.cells))
        settings["xi"] = str(factor * apart)
    return settings


def _rms(
    grid: GridTable, mechanism: str, epsilon: str, releases: int, settings: dict[str, str]
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
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tables", type=Path, help="a folder of 2-D arrays of counts")
    parser.add_argument("--coverage", action="store_true", help="nominal and observed coverage")
    parser.add_argument(
        "--defaults", action="store_true", help="the experiment behind the defaults"
    )
    chosen = parser.parse_args()
    if chosen.tables:
        tables(chosen.tables)
    elif chosen.coverage:
        coverage()
    elif chosen.defaults:
        defaults()
    else:
        run()


if __name__ == "__main__":
    main()
