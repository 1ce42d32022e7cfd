"""Forecast and measured errors side by side, for every mechanism that can be forecast.

The measured ones are those of releases of an empty table: all true answers are zero. With --large
the Brazilian schema of the Privelet paper, 10⁸ cells, is measured too, by three releases of each.
"""

from __future__ import annotations

import argparse
import math
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.counting import schema as brazil
from hushtable.evaluation.range_queries import random_ranges
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.families.forecast import Forecast
from hushtable.families.linear.read.transforms import ProductReading
from hushtable.families.linear.variances import NoisyProduct
from hushtable.kernel.counting import Counts
from hushtable.kernel.curator import Curator
from hushtable.kernel.maps import Product
from hushtable.kernel.noise.bulk import EntropyNoise
from hushtable.kernel.privacy.account import Account
from hushtable.planner import Plan, plan
from hushtable.query.batch import accumulate, box_sums
from hushtable.schema import Hierarchy, IntegerRange, Schema, nominal, ordinal

RELEASES = 200
BOXES = 20_000

Ends = NDArray[np.int64]


def run(adult: Path | None = None, *, large: bool = False) -> None:
    """Print a table for each schema."""
    for shape in ((1024,), (4096,), (256, 256)):
        schema = plain(shape)
        _report(schema, "ranges", *all_kinds(schema), releases=RELEASES)
    if adult is not None:
        schema = adult_schema(adult)
        asked = random_ranges(schema, BOXES, seed=3)
        _report(schema, "paper", asked.starts, asked.stops, releases=RELEASES)
    asked = random_ranges(brazil(), 2 * BOXES, seed=3)
    _report(brazil(), "paper", asked.starts, asked.stops, releases=3 if large else 0)


def _report(schema: Schema, workload: str, starts: Ends, stops: Ends, releases: int) -> None:
    begin = time.perf_counter()
    found = plan(schema, epsilon="1", workload=workload)
    took = time.perf_counter() - begin
    shape = " × ".join(map(str, schema.shape))
    print(f"{shape}, {workload}, ε = 1, add-remove: planned in {took:.2f} s")
    for forecast in found.forecasts:
        line = f"  {forecast.mechanism:<14}forecast {forecast.rmse:>10.3f}"
        if releases and isinstance(forecast.strategy, NoisyProduct):
            transform = forecast.strategy.transform
            found_error = measured(transform, schema, starts, stops, releases)
            line += f"   measured {found_error:>10.3f}   {found_error / forecast.rmse - 1:+.2%}"
        print(f"{line}   {_ratio(found, forecast):>8.3f} × privelet's MSE  {forecast.parameters}")


def _ratio(found: Plan, forecast: Forecast) -> float:
    wavelets = next(f for f in found.forecasts if f.mechanism == "privelet")
    return (forecast.rmse / wavelets.rmse) ** 2


def measured(product: Product, schema: Schema, starts: Ends, stops: Ends, releases: int) -> float:
    """The root mean square error of noise that was drawn and read."""
    exposure = schema.exposure
    noise = EntropyNoise(SeededEntropy(1))
    nobody = Counts(product.shape, np.zeros(0, np.int64), np.zeros(0, np.int64))
    reading, total = ProductReading.of(product), 0.0
    for _ in range(releases):
        account = Account(Fraction(1))
        curator = Curator(nobody, exposure=exposure, account=account, noise=noise)
        cells = reading.inverse(curator.noisy_coefficients(product, epsilon=1).values)
        if len(product.shape) == 1 and starts.any():
            total += _mean_over_ranges(cells)
        else:
            total += float(np.square(box_sums(accumulate(cells), starts, stops)).mean())
    return math.sqrt(total / releases)


def _mean_over_ranges(errors: NDArray[np.float64]) -> float:
    """The mean square error of all ranges of one axis, from the errors of its cells."""
    sums = np.concatenate([[0.0], np.cumsum(errors)])
    n = len(errors)
    return float((n + 1) * np.square(sums).sum() - sums.sum() ** 2) / (n * (n + 1) / 2)


def all_kinds(schema: Schema) -> tuple[Ends, Ends]:
    """Random ranges along every axis, all alike."""
    random = np.random.default_rng(2)
    ends = np.stack([random.integers(0, s + 1, (BOXES * 2, 2)) for s in schema.shape], axis=2)
    different = (ends[:, 0] != ends[:, 1]).all(axis=1)
    ends = np.sort(ends[different], axis=1)
    return ends[:, 0], ends[:, 1]


def plain(shape: tuple[int, ...]) -> Schema:
    axes = tuple(ordinal(f"a{i}", IntegerRange(0, n - 1)) for i, n in enumerate(shape))
    return Schema(name="plain", budget=Fraction(1), attributes=axes)


def adult_schema(folder: Path) -> Schema:
    """Age, occupation, education and sex of the Adult table, with their hierarchies in a folder."""

    def tree(name: str) -> Hierarchy:
        lines = (folder / f"adult_hierarchy_{name}.csv").read_text().splitlines()
        return Hierarchy.from_paths([tuple(line.split(";")) for line in lines])

    return Schema(
        name="adult",
        budget=Fraction(3),
        attributes=(
            ordinal("age", IntegerRange(17, 90)),
            nominal("occupation", tree("occupation")),
            nominal("education", tree("education")),
            nominal("sex", tree("sex")),
        ),
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--adult", type=Path, help="a folder with the Adult table's hierarchies")
    parser.add_argument("--large", action="store_true", help="measure 10⁸ cells too")
    arguments = parser.parse_args()
    run(arguments.adult, large=arguments.large)
