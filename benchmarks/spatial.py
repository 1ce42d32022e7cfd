"""privtree beside a sparse sample on places: journeys between areas, and points of a fine grid.

    python -m benchmarks.spatial --journeys FILE.csv [--points 1e6] [--side 20] [--epsilon 0.1 1]

FILE.csv has the columns flow, origin, destination. The grid has 2^side × 2^side cells, and its
points stand around towns, of which a few are large. Each mechanism publishes in a process of its
own; time and memory are of that process, errors of random boxes are root mean squares.
"""

from __future__ import annotations

import argparse
import csv
import math
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from benchmarks.machine import machine, peak_memory
from hushtable.evaluation.range_errors import experiment_release
from hushtable.evaluation.range_queries import Ends, Ranges, random_ranges, true_counts
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.kernel.counting import Counts
from hushtable.schema import IntegerRange, Schema, ordinal

MECHANISMS = ("privtree", "filter-priority")
QUESTIONS, INTERVALS, TOWNS = 500, 40, 300


@dataclass(frozen=True, repr=False)
class Places:
    """Counts over two axes that are no secret, and boxes to ask for."""

    name: str
    counts: Counts
    asked: Ranges

    @property
    def schema(self) -> Schema:
        """Two axes of whole numbers."""
        return _schema(self.counts.shape)


def journeys(path: Path) -> Places:
    """How many people go from one area to another; areas in the order of their numbers."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [
            tuple(map(int, (r["origin"], r["destination"], r["flow"])))
            for r in csv.DictReader(file)
        ]
    origin, destination, flow = np.array(rows, np.int64).T
    areas = np.unique([origin, destination])
    shape = (len(areas), len(areas))
    places = np.searchsorted(areas, origin), np.searchsorted(areas, destination)
    counts = _counts(shape, np.ravel_multi_index(places, shape), flow)
    return Places(path.stem, counts, random_ranges(_schema(shape), QUESTIONS, seed=5))


def points(number: int, side: int) -> Places:
    """Points around towns; of the boxes asked, half stand around points, and are of all sizes."""
    random, most = np.random.default_rng(1), 2**side
    towns = random.integers(0, most, (TOWNS, 2))
    spread = most / 2 ** random.uniform(4, 10, TOWNS)
    which = np.minimum(random.zipf(1.5, number) - 1, TOWNS - 1)
    drawn = towns[which] + spread[which, None] * random.standard_normal((number, 2))
    found = np.clip(drawn, 0, most - 1).astype(np.int64)
    shape = (most, most)
    counts = _counts(shape, np.ravel_multi_index(tuple(found.T), shape), np.ones(number, np.int64))
    middles = found[random.integers(0, number, QUESTIONS)]
    half = (most / 2 ** random.uniform(2, 10, (QUESTIONS, 2))).astype(np.int64)
    starts, stops = np.maximum(middles - half, 0), np.minimum(middles + half + 1, most)
    anywhere = random_ranges(_schema(shape), QUESTIONS, seed=5)
    asked = Ranges(_both(anywhere.starts, starts), _both(anywhere.stops, stops))
    return Places(f"{number:,} points on 2^{side} × 2^{side}", counts, asked)


def _both(one: Ends, other: Ends) -> Ends:
    """Boxes of either kind in turn."""
    return np.stack([one, other], axis=1).reshape(-1, 2)


def _counts(shape: tuple[int, ...], codes: Ends, flows: Ends) -> Counts:
    cells, which = np.unique(codes, return_inverse=True)
    added = np.zeros(len(cells), np.int64)
    np.add.at(added, which, flows)
    return Counts(shape, cells, added)


def _schema(shape: tuple[int, ...]) -> Schema:
    axes = tuple(ordinal(name, IntegerRange(0, n - 1)) for name, n in zip("xy", shape, strict=True))
    return Schema("places", Fraction(10**9), axes)


def measure(places: Places, mechanism: str, epsilon: Fraction) -> str:
    """What publishing and asking took, and how far the answers are off."""
    truth = true_counts(places.counts, places.asked)
    before = peak_memory()
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        release = experiment_release(
            places.counts, places.schema, Path(folder, "release"), mechanism=mechanism,
            epsilon=epsilon, entropy=SeededEntropy(1),
        )  # fmt: skip
        published = time.perf_counter() - begin
        begin = time.perf_counter()
        values, _ = release.count_ranges(places.asked.starts, places.asked.stops)
        took, most = time.perf_counter() - begin, peak_memory()
        few = slice(0, INTERVALS)
        starts, stops = places.asked.starts[few], places.asked.stops[few]
        _, low, high = release.range_intervals(starts, stops)
    near = 1e-9 * (1 + np.abs(truth[few]))
    held = np.mean((low - near <= truth[few]) & (truth[few] <= high + near))
    error = float(np.sqrt(np.mean(np.square(values - truth))))
    return (
        f"error {error:>10,.0f}, published in {published:6.2f} s,"
        f" {len(truth):,} boxes in {took:5.2f} s,"
        f" {most / 2**20:,.0f} MiB at most (counts alone {before / 2**20:,.0f}), {held:.0%} covered"
    )


def lines(places: Places, epsilons: list[Fraction]) -> Iterator[str]:
    """A line for each mechanism and ε."""
    people, cells = int(places.counts.counts.sum()), len(places.counts.codes)
    domain = f"{math.prod(places.counts.shape):.3g}"
    yield f"{places.name}: {people:,} people in {cells:,} cells of {domain}"
    for epsilon in epsilons:
        for mechanism in MECHANISMS:
            with get_context("spawn").Pool(1) as pool:
                told = pool.apply(measure, (places, mechanism, epsilon))
            yield f"  ε {float(epsilon):<5g} {mechanism:<16} {told}"


def main() -> None:
    """Print what was measured, line by line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--journeys", type=Path, help="a CSV file: flow, origin, destination")
    parser.add_argument("--points", type=float, default=1e6)
    parser.add_argument("--side", type=int, default=20, help="the binary logarithm of an axis")
    parser.add_argument("--epsilon", type=Fraction, nargs="+", default=[Fraction(1, 10), 1])
    given = parser.parse_args()
    print(machine())
    tables = [points(int(given.points), given.side)]
    if given.journeys is not None:
        tables.insert(0, journeys(given.journeys))
    for places in tables:
        for line in lines(places, given.epsilon):
            print(line, flush=True)


if __name__ == "__main__":
    main()
