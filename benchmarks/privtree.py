"""privtree beside other mechanisms on given histograms: errors of random ranges, and coverage.

What is asked of `auto` is planned for all ranges and for the people that there are.

    python -m benchmarks.privtree FOLDER             errors beside hierarchical, and coverage of all
    python -m benchmarks.privtree FOLDER --choose    the settings, on the first half of the files

FOLDER has arrays of counts of one axis or two (*.npy). ε is 0.1, and so many people as make
ε·people a given number are drawn by the shares of an array. The settings of privtree are chosen on
every other file (by name, those of one axis and of two apart) and reported on the others.
"""

from __future__ import annotations

import argparse
import itertools
import math
import tempfile
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hushtable.evaluation.range_errors import experiment_release
from hushtable.evaluation.range_queries import Ranges, random_ranges, true_counts
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.kernel.counting import Counts
from hushtable.planner import plan
from hushtable.schema import IntegerRange, Schema, ordinal

OTHERS = ("auto", "ispe", "kdtree", "privelet*")
EPSILON = Fraction(1, 10)
SIZES = (10**3, 10**4, 10**5, 10**6)
QUESTIONS, ASKED_FOR_INTERVALS = 2000, 100
STRUCTURE = ("0.1", "0.2", "0.3", "0.5")
COUNTS = ("leaves", "boxes")
DECAY = ("0.6", "0.8", "1")

Settings = dict[str, str]


class Histogram:
    """Counts that are no secret, of people drawn by the shares of a file, and random ranges."""

    def __init__(self, path: Path, size: int) -> None:
        shares = np.load(path, allow_pickle=False).astype(np.float64)
        drawn = np.random.default_rng(1).multinomial(
            size / EPSILON, (shares / shares.sum()).ravel()
        )
        dense = drawn.reshape(shares.shape).astype(np.int64)
        axes = tuple(
            ordinal(f"c{i}", IntegerRange(0, size - 1)) for i, size in enumerate(dense.shape)
        )
        self.name = path.name.partition(".")[0].partition("_256")[0]
        self.schema = Schema("histogram", Fraction(10**9), axes)
        codes = np.flatnonzero(dense)
        self.counts = Counts(dense.shape, codes, dense.reshape(-1)[codes])
        self.size = size
        self.asked: Ranges = random_ranges(self.schema, QUESTIONS, seed=5)
        self.truth: NDArray[np.int64] = true_counts(self.counts, self.asked)

    def measure(
        self, mechanism: str, seed: int, settings: Settings, intervals: int = 0
    ) -> tuple[float, float]:
        """The root mean square error of one release, and the share of some intervals that hold."""
        if mechanism == "auto":
            mechanism, settings = self.planned
        with tempfile.TemporaryDirectory() as folder:
            release = experiment_release(
                self.counts,
                self.schema,
                Path(folder) / "r",
                mechanism=mechanism,
                epsilon=EPSILON,
                entropy=SeededEntropy(seed),
                settings=settings,
            )
            values, _ = release.count_ranges(self.asked.starts, self.asked.stops)
            few = slice(0, intervals)
            _, low, high = release.range_intervals(self.asked.starts[few], self.asked.stops[few])
        # Ends are floats: an interval that reaches the truth may miss it by rounding.
        near = 1e-9 * (1 + np.abs(self.truth[few]))
        held = (low - near <= self.truth[few]) & (self.truth[few] <= high + near)
        error = float(np.sqrt(np.mean((values - self.truth) ** 2)))
        return error, float(held.mean()) if intervals else math.nan

    @cached_property
    def planned(self) -> tuple[str, Settings]:
        """What a plan takes, which knows the number of people and nothing else of the data."""
        people = int(self.counts.counts.sum())
        best = plan(self.schema, epsilon=EPSILON, workload="ranges", people=people).best
        assert best is not None
        return best.mechanism, best.parameters

    def runs(self, mechanism: str, releases: int) -> tuple[float, float]:
        """The root mean square error over some releases, and the share of intervals that hold."""
        found = [self.measure(mechanism, i, {}, ASKED_FOR_INTERVALS) for i in range(releases)]
        squares = math.fsum(error**2 for error, _ in found)
        return math.sqrt(squares / releases), float(np.mean([held for _, held in found]))

    def error(self, mechanism: str, releases: int, settings: Settings) -> float:
        """The root mean square error over some releases."""
        errors = [self.measure(mechanism, seed, settings)[0] for seed in range(releases)]
        return math.sqrt(math.fsum(error**2 for error in errors) / releases)


def halves(folder: Path) -> tuple[list[Histogram], list[Histogram]]:
    """The histograms by which settings are chosen, and the others; each of every size."""
    first, second = [], []
    for axes in (1, 2):
        paths = [
            path
            for path in sorted(folder.glob("*.npy"))
            if np.load(path, mmap_mode="r", allow_pickle=False).ndim == axes
        ]
        first += [Histogram(path, size) for path in paths[::2] for size in SIZES]
        second += [Histogram(path, size) for path in paths[1::2] for size in SIZES]
    return first, second


def choose(folder: Path, releases: int) -> None:
    """Settings of privtree beside hierarchical: the geometric mean over histograms and sizes."""
    chosen, _ = halves(folder)
    for axes in (1, 2):
        alike = [histogram for histogram in chosen if len(histogram.schema.shape) == axes]
        print(f"{axes} axes, by {', '.join(sorted({one.name for one in alike}))}: by size, and all")
        base = {one: one.error("hierarchical", releases, {}) for one in alike}
        for settings in _settings():
            ratios = {one: one.error("privtree", releases, settings) / base[one] for one in alike}
            each = [_mean([r for one, r in ratios.items() if one.size == n]) for n in SIZES]
            told = " ".join(f"{key}={value}" for key, value in settings.items())
            shown = " ".join(f"{ratio:5.2f}" for ratio in each)
            print(f"  {told:<40} {shown}   {_mean(each):.3f}", flush=True)


def _settings() -> Iterator[Settings]:
    for structure, counts, decay in itertools.product(STRUCTURE, COUNTS, DECAY):
        yield {"structure": structure, "counts": counts, "decay": decay}


def compare(folder: Path, releases: int, sizes: Sequence[int]) -> None:
    """Each mechanism's error over that of hierarchical, and how many intervals hold."""
    for words, some in zip(("settings chosen on these", "reported"), halves(folder), strict=True):
        print(words)
        for one in (histogram for histogram in some if histogram.size in sizes):
            base, held = one.runs("hierarchical", releases)
            told = [f"hierarchical {base:>10,.0f} ({held:.1%})"]
            for name in ("privtree", *OTHERS):
                error, held = one.runs(name, releases)
                told.append(f"{name} {error / base:5.2f} ({held:.1%})")
            print(f"  {one.name:<12} {one.size:>9,}", *told, sep="  ", flush=True)


def _mean(numbers: list[float]) -> float:
    return math.exp(math.fsum(map(math.log, numbers)) / len(numbers))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--choose", action="store_true")
    parser.add_argument("--releases", type=int, default=2)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="of ε·people")
    given = parser.parse_args()
    if given.choose:
        choose(given.folder, given.releases)
    else:
        compare(given.folder, given.releases, given.sizes)
