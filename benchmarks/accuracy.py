"""How far range counts are off per ε, on DPBench's histograms (`--dpbench FOLDER`) or made-up ones.

Scaled error: the root mean square error of random ranges over the number of rows. Each histogram
is published several times by each mechanism at the same ε; peers publish the same histograms in
environments of their own, and their cells are added up in the same way. Rows of the main table are
geometric means over the histograms of one dimension.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.options import Options, alone
from benchmarks.peer_scripts import DIFFPRIVLIB_HISTOGRAM, OPENDP_TREE, ask
from benchmarks.table import Grid, Row, Section, Target, figure
from hushtable.evaluation.range_errors import Known, experiment_release
from hushtable.evaluation.range_queries import random_ranges
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.generators import continuous, sparse
from hushtable.kernel.counting import Counts
from hushtable.planner import plan
from hushtable.query.batch import accumulate, box_sums
from hushtable.schema import IntegerRange, Schema, ordinal

EPSILONS = ("0.1", "1")
OURS = ("basic", "privelet", "hierarchical", "auto", "ispe")
TREE, HISTOGRAM = "OpenDP tree", "diffprivlib histogram"
PEERS = (TREE, HISTOGRAM)
QUERIES, QUICK_QUERIES = 2000, 200
RELEASES = 5
# Mean square error over all ranges as a share of privelet's, for the best tree; continuous noise.
BEST_TREES = {(1024,): 0.394, (4096,): 0.382, (256, 256): 0.128}

Errors = dict[str, float | str]


@dataclass(frozen=True)
class Measured:
    """The scaled errors of one histogram at one ε, by mechanism; or why there is none."""

    name: str
    dimensions: int
    epsilon: str
    errors: Errors


def section(options: Options) -> Section:
    """Forecasts of all ranges; then histograms that were published and asked."""
    found = [
        _measured(known, epsilon, options) for known in _histograms(options) for epsilon in EPSILONS
    ]
    shapes = [(1024,)] if options.quick else list(BEST_TREES)
    rows = [_forecast_row(shape) for shape in shapes] + list(_means(found))
    source = "DPBench" if options.dpbench else "made-up histograms"
    return Section(f"Accuracy: random ranges on {source}", rows, [_grid(found)])


def _forecast_row(shape: tuple[int, ...]) -> Row:
    """What `auto` would publish for all ranges, and what wavelets would give."""
    forecasts = plan(_schema(shape), epsilon="1", workload="ranges").forecasts
    squares = {forecast.mechanism: forecast.rmse**2 for forecast in reversed(forecasts)}
    size = " × ".join(map(str, shape))
    return Row(f"forecast for all ranges of {size} cells, ε = 1", min(squares.values()),
               "privelet", squares["privelet"], "rows²", Target(BEST_TREES[shape]))  # fmt: skip


# ── histograms ───────────────────────────────────────────────────────────────────────────────────


def _histograms(options: Options) -> Iterator[Known]:
    """Every histogram of a folder, or one made-up one of each dimension."""
    queries = QUICK_QUERIES if options.quick else QUERIES
    if options.dpbench is None:
        for table in (sparse(cells=4096), continuous(100_000, side=64)):
            ranges = random_ranges(table.schema, queries, seed=5)
            yield Known.of(table.schema.name, table.schema, table.counts(), ranges)
        return
    seen: dict[int, int] = {}
    for path in sorted(options.dpbench.glob("*.npy")):
        cells = np.load(path, allow_pickle=False).astype(np.int64)
        seen[cells.ndim] = seen.get(cells.ndim, 0) + 1
        if not options.quick or seen[cells.ndim] == 1:
            yield _known(path.stem.split(".")[0], cells, queries)


def _known(name: str, cells: NDArray[np.int64], queries: int) -> Known:
    codes, schema = np.flatnonzero(cells), _schema(cells.shape)
    counts = Counts(cells.shape, codes, cells.reshape(-1)[codes])
    return Known.of(name, schema, counts, random_ranges(schema, queries, seed=5))


def _schema(shape: tuple[int, ...]) -> Schema:
    axes = tuple(ordinal(f"x{i}", IntegerRange(0, n - 1)) for i, n in enumerate(shape))
    return Schema("histogram", Fraction(10), attributes=axes)


# ── errors ───────────────────────────────────────────────────────────────────────────────────────


def _measured(known: Known, epsilon: str, options: Options) -> Measured:
    releases = 1 if options.quick else RELEASES
    errors: Errors = {name: _our_error(known, name, epsilon, releases) for name in OURS}
    errors[TREE] = (
        _peer_error(known, "opendp", OPENDP_TREE, epsilon, releases, options)
        if len(known.schema.shape) == 1
        else "one axis only"
    )
    errors[HISTOGRAM] = _peer_error(
        known, "diffprivlib", DIFFPRIVLIB_HISTOGRAM, epsilon, releases, options
    )
    return Measured(known.name, len(known.schema.shape), epsilon, errors)


def _our_error(known: Known, mechanism: str, epsilon: str, releases: int) -> float:
    settings: dict[str, str] = {}
    if mechanism == "auto":
        # What the plan recommends for questions drawn as these are.
        chosen = plan(known.schema, epsilon=epsilon, workload="paper").recommended
        mechanism, settings = chosen.mechanism, chosen.parameters
    found = []
    for seed in range(releases):
        with tempfile.TemporaryDirectory() as folder:
            release = experiment_release(
                known.counts, known.schema, Path(folder, "release"), mechanism=mechanism,
                epsilon=epsilon, settings=settings, entropy=SeededEntropy(seed),
            )  # fmt: skip
            found.append(release.count_ranges(known.ranges.starts, known.ranges.stops)[0])
    return _scaled(known, np.array(found))


def _peer_error(
    known: Known, peer: str, script: str, epsilon: str, releases: int, options: Options
) -> float | str:
    cells = np.zeros(known.schema.shape, np.int64)
    cells.reshape(-1)[known.counts.codes] = known.counts.counts
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder, "given.npy"), Path(folder, "made.npy")
        np.save(given, cells)
        found = ask(peer, script, given, made, epsilon, releases, options=options)
        if isinstance(found, str):
            return found
        estimates = np.load(made, allow_pickle=False).astype(np.float64)
    starts, stops = known.ranges.starts, known.ranges.stops
    return _scaled(known, np.array([box_sums(accumulate(e), starts, stops) for e in estimates]))


def _scaled(known: Known, answers: NDArray[np.float64]) -> float:
    return math.sqrt(float(np.square(answers - known.answers).mean())) / known.rows


# ── what is shown ────────────────────────────────────────────────────────────────────────────────


def _means(found: list[Measured]) -> Iterator[Row]:
    """`auto` beside every other mechanism that has a figure for all histograms."""
    for dimensions in sorted({one.dimensions for one in found}):
        for epsilon in EPSILONS:
            alike = [one for one in found if (one.dimensions, one.epsilon) == (dimensions, epsilon)]
            for peer in (*(name for name in OURS if name != "auto"), *PEERS):
                if dimensions > 1 and peer == TREE:
                    continue
                ours, theirs = _mean(alike, "auto"), _mean(alike, peer)
                assert isinstance(ours, float)
                yield Row(f"auto, {len(alike)} × {dimensions}-D, ε = {epsilon}", ours, peer, theirs,
                          "scaled error")  # fmt: skip


def _mean(found: list[Measured], name: str) -> float | str:
    """The geometric mean over histograms, or the first reason why there is none."""
    errors = [one.errors[name] for one in found]
    for error in errors:
        if isinstance(error, str):
            return error
    return math.exp(float(np.mean(np.log(np.array(errors, np.float64)))))


def _grid(found: list[Measured]) -> Grid:
    lines = []
    for one in found:
        errors = [one.errors[name] for name in (*OURS, *PEERS)]
        told = [figure(e * 1e6) if isinstance(e, float) else "–" for e in errors]
        lines.append((one.name, f"{one.dimensions}", one.epsilon, *told))
    header = ("histogram", "axes", "ε", *OURS, *PEERS)
    return Grid("Scaled error per query, × 10⁻⁶", header, tuple(lines))


if __name__ == "__main__":
    alone(section)
