"""Tents beside trees and wavelets: errors of all ranges and prefixes, planning, many error bars.

Mean square errors are shares of privelet's. Measured ones are those of releases of an empty table.
With --large 40,000 ranges are asked of a release of 4096 × 4096 cells too.
"""

from __future__ import annotations

import argparse
import math
import tempfile
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

from benchmarks.forecasts import BOXES, Ends, all_kinds, measured, plain
from hushtable.evaluation.range_errors import experiment_release
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.families.forecast import Purpose
from hushtable.families.linear.choices import describe, tents, tree
from hushtable.families.linear.grids import tent_height
from hushtable.families.linear.search import best_product, sets_along
from hushtable.families.linear.variances import Variances
from hushtable.kernel.counting import Counts
from hushtable.kernel.maps import Haar, Product
from hushtable.planner import plan
from hushtable.schema import Schema
from hushtable.workload.workload import prefixes, ranges

WORKLOADS = {"ranges": ranges, "prefixes": prefixes}
SHAPES = ((256,), (1024,), (4096,), (10_000,), (256, 256), (64, 64, 64))
RELEASES = {1: 200, 2: 40, 3: 20}


def run(*, large: bool = False) -> None:
    """Print a line for each shape, and of a large release the time of many ranges."""
    print("cells, workload: trees, tents (share of privelet's MSE), measured, grid, plan in s")
    for shape in SHAPES:
        for name in ("ranges", "prefixes"):
            print(_line(plain(shape), name), flush=True)
    if large:
        for line in _many_ranges(4096):
            print(line, flush=True)


def _line(schema: Schema, name: str) -> str:
    begin = time.perf_counter()
    chosen = plan(schema, epsilon="1", workload=name).best
    took = time.perf_counter() - begin
    variances = Variances(_purpose(schema, name))
    asked = [sets_along(variances.purpose.workload, i) for i in range(len(schema.shape))]
    pairs = list(zip(schema.attributes, asked, strict=True))
    height = tent_height(schema.shape)
    trees = best_product(variances, [[tree(a, along) for along in some] for a, some in pairs])
    best = best_product(
        variances, [[tents(a, along, height) for along in some] for a, some in pairs]
    )
    wavelets = variances.mean(Product(tuple(Haar(size) for size in schema.shape)))
    shares = [variances.mean(product) / wavelets for product in (trees, best)]
    found = measured(best, schema, *_boxes(schema, name), releases=RELEASES[len(schema.shape)])
    cells = " × ".join(map(str, schema.shape))
    grid = ", ".join(dict.fromkeys(map(describe, best.axes)))
    assert chosen is not None
    return (
        f"{cells}, {name}: {shares[0]:.4f}  {shares[1]:.4f}  {found**2 / wavelets:.4f}  {grid}"
        f"  {took:.2f}  planned: {chosen.mechanism} {chosen.rmse**2 / wavelets:.4f}"
    )


def _purpose(schema: Schema, name: str) -> Purpose:
    return Purpose(schema, Fraction(1), WORKLOADS[name](schema))


def _boxes(schema: Schema, name: str) -> tuple[Ends, Ends]:
    starts, stops = all_kinds(schema)
    return (starts, stops) if name == "ranges" else _prefixes(schema)


def _prefixes(schema: Schema) -> tuple[Ends, Ends]:
    random = np.random.default_rng(4)
    stops = np.stack([random.integers(1, size + 1, BOXES) for size in schema.shape], axis=1)
    return np.zeros_like(stops), stops


def _many_ranges(size: int) -> Iterator[str]:
    """How long publishing takes, and asking many ranges for the first time and again."""
    schema = plain((size, size))
    counts = Counts(schema.shape, np.arange(size**2), np.ones(size**2, np.int64))
    grid = describe(tents(schema.attributes[0]))
    with tempfile.TemporaryDirectory() as folder:
        begin = time.perf_counter()
        release = experiment_release(
            counts, schema, Path(folder, "release"), mechanism="mixed", epsilon="1",
            settings={a.name: grid for a in schema.attributes}, entropy=SeededEntropy(1),
        )  # fmt: skip
        yield f"{size} × {size} published in {time.perf_counter() - begin:.1f} s"
        starts, stops = (ends[:40_000] for ends in all_kinds(schema))
        starts, stops = starts[: len(stops)], stops[: len(starts)]
        for when in ("first", "then"):
            begin = time.perf_counter()
            values, errors = release.count_ranges(starts, stops)
            took = time.perf_counter() - begin
            yield f"{when}: {len(values):,} ranges and their standard errors in {took:.1f} s"
        truth = np.prod(stops - starts, axis=1)
        off = math.sqrt(float(np.mean(np.square((values - truth) / errors))))
        yield f"root mean square of error / standard error: {off:.3f}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="ask a release of 4096² cells too")
    run(large=parser.parse_args().large)
