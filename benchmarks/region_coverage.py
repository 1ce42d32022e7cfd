"""How often intervals of `ispe` and `kdtree` hold on lines of cells whose noise chooses regions.

    python -m benchmarks.region_coverage [--releases 2000]

Promised intervals beside those of the posterior without reference to adjacent cells, asked to hold
95 times in 100. Releases are made in memory, with seeded noise, and α₁ is half of ε: the regions
then say as much as the cells, and matter most.
"""

from __future__ import annotations

import argparse
import itertools
import math
from fractions import Fraction

import numpy as np

from hushtable.arrays import Integers
from hushtable.families.regions.adjacency import Adjacency
from hushtable.families.regions.ask.growing import grown_regions
from hushtable.families.regions.ask.ispe import IspeParameters, smoothed
from hushtable.families.regions.ask.kdtree import kd_boxes, numbered
from hushtable.families.regions.posterior import Estimator
from hushtable.families.regions.read import RegionReader
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.query.box import Box, CodeSet
from hushtable.query.law import margins_of
from hushtable.schema import IntegerRange, Schema, ordinal

SIZE, SCALE, LEVEL = 32, Fraction(4), 0.95
PLACES = np.arange(SIZE)
TABLES = {
    "uniform": np.full(SIZE, 100),
    "a step": np.where(PLACES < 16, 100, 112),
    "spikes": np.where(PLACES % 4 == 0, 110, 100),
    "a ramp": 100 + 3 * PLACES,
}
ASKED = {
    "a cell": (5, 6),
    "a range": (4, 12),
    "a half": (0, 16),
    "all but two": (2, 32),
    "all": (0, 32),
}
SCHEMA = Schema("line", Fraction(9), (ordinal("x", IntegerRange(0, SIZE - 1)),))


def _noise(random: np.random.Generator, size: int) -> Integers:
    chance = -math.expm1(-float(1 / SCALE))
    return random.geometric(chance, size) - random.geometric(chance, size)


def _regions(noisy: Integers, near: Adjacency, mechanism: str) -> Integers:
    if mechanism == "ispe":
        chosen = IspeParameters.of(SCHEMA, {}, DiscreteLaplace(SCALE))
        return grown_regions(smoothed(noisy, near, chosen), near, chosen.xi)
    least = (2 * math.log(SIZE) + 4) * DiscreteLaplace(SCALE).variance
    return numbered(kd_boxes(noisy, least), noisy.shape)


def released(truth: Integers, mechanism: str, random: np.random.Generator) -> RegionReader:
    """What answers from one release."""
    near = Adjacency.in_order(truth.shape)
    noisy = truth + _noise(random, SIZE)
    regions = _regions(noisy, near, mechanism)
    number = int(regions.max()) + 1
    counts = np.bincount(regions, truth, number).astype(np.int64) + _noise(random, number)
    reads = (lambda: noisy), (lambda: regions), (lambda: counts)
    return RegionReader(
        near, *reads, Estimator(DiscreteLaplace(SCALE), DiscreteLaplace(SCALE)), reference=False
    )


def coverage(truth: Integers, mechanism: str, releases: int) -> dict[tuple[str, str], float]:
    """The share of releases whose interval holds the truth, by question and kind of interval."""
    random, held = np.random.default_rng(1), {}
    for _ in range(releases):
        reader = released(truth, mechanism, random)
        for (name, ends), kind in itertools.product(ASKED.items(), ("promised", "posterior")):
            box, true = Box((CodeSet.of(ends),)), truth[slice(*ends)].sum()
            value, law = reader.reading(intervals=kind).count((box,))
            below, above = margins_of(law, LEVEL)
            inside = value - below <= true <= value + above
            held[name, kind] = held.get((name, kind), 0.0) + inside / releases
    return held


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--releases", type=int, default=2000)
    releases = parser.parse_args().releases
    print(f"{'promised / posterior':<22}" + "".join(f"{name:>16}" for name in ASKED))
    for mechanism, (table, truth) in itertools.product(("ispe", "kdtree"), TABLES.items()):
        held = coverage(truth, mechanism, releases)
        pairs = (f"{held[n, 'promised']:.1%} / {held[n, 'posterior']:.1%}" for n in ASKED)
        print(f"{mechanism:<10}{table:<12}" + "".join(f"{pair:>16}" for pair in pairs), flush=True)


if __name__ == "__main__":
    main()
