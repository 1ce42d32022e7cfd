"""Summaries of sparse tables: beside a GROUP BY, noise on every cell, and OpenDP's projection.

As many rows as non-zeros in 10¹² cells: a bare GROUP BY of the codes, then the summary of its
result, then a whole `publish` from Parquet to a release on disk. The same table summarised and with
noise on every cell (`geometric`), by time and mean error. The same with OpenDP's ALP histogram,
which is pure ε as well. Last, the time per non-zero as the domain grows, size = n.
"""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

import hushtable
from benchmarks.options import Options, alone
from benchmarks.peer_scripts import OPENDP_ALP, ask
from benchmarks.table import Grid, Row, Section, Target
from benchmarks.timing import in_turn, seconds
from hushtable.families.sparse.expected import filter_for_size, threshold_for_size
from hushtable.kernel.maps.rules import Filter, Held, Kept, Priority, Rule, Threshold
from hushtable.kernel.maps.structure import Structure
from hushtable.kernel.noise.entropy import SystemEntropy
from hushtable.kernel.noise.sparse_draws import summarise
from hushtable.schema import IntegerRange, Schema, ordinal

SCALE = Fraction(10)
COUNT = 100
LARGEST_COUNT = 2000
WIDE = 10**12


@dataclass(frozen=True)
class Size:
    """How much work there is: non-zeros, and cells where all of them get noise."""

    grouped: int
    by_domain: int
    dense: int
    alp: int
    rounds: int


FULL = Size(grouped=10**7, by_domain=10**6, dense=10**8, alp=10_000, rounds=3)
QUICK = Size(grouped=10**5, by_domain=10**4, dense=10**6, alp=500, rounds=1)


def section(options: Options) -> Section:
    """All comparisons."""
    size = QUICK if options.quick else FULL
    rows = _beside_group_by(size)
    grid, flat = by_domain(size)
    rows += [flat, *_beside_geometric(size), *_beside_alp(size, options)]
    return Section("Sparse tables: summaries", rows, [grid])


def rules(places: int, n: int, scale: Fraction = SCALE) -> dict[str, Rule]:
    """Every kind of summary, for as many places as the table has non-zeros."""
    theta = filter_for_size(places, scale, n)
    return {
        "filter": Filter(theta),
        "threshold": Threshold(threshold_for_size(places, scale, 1, n, float(COUNT * n))),
        "priority": Priority(n),
        "filter-priority": Priority(n, theta),
    }


# ── beside the engine ────────────────────────────────────────────────────────────────────────────


def _beside_group_by(size: Size) -> list[Row]:
    """n rows of two attributes of a million codes each: nearly as many non-zeros."""
    n = size.grouped
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "pairs.parquet"
        random = np.random.default_rng(1)
        pq.write_table(pa.table({k: random.integers(0, 10**6, n) for k in "ab"}), path)
        query = f"SELECT a * 1000000 + b AS cell, COUNT(*) AS n FROM '{path}' GROUP BY cell"
        with duckdb.connect() as connection:
            connection.execute("SET enable_progress_bar = false")
            group = lambda: connection.sql(query).to_arrow_table()  # noqa: E731
            found = group()
            codes, counts = (np.asarray(found[column]) for column in ("cell", "n"))
            works = {
                name: lambda rule=rule: _summary(codes, counts, rule)
                for name, rule in rules(WIDE, n).items()
            }
            best = in_turn(size.rounds, {"engine": group, **works})
        whole = min(seconds(lambda: _publish(folder, n)) for _ in range(size.rounds))
    engine, work = best.pop("engine"), f"{len(codes):,} non-zeros of 10¹² cells"
    rows = [
        Row(f"{name}: {work}", took, "the GROUP BY that made them", engine, "s", Target(3))
        for name, took in best.items()
    ]
    beside = "the GROUP BY of the file"
    return [*rows, Row("publish filter-priority, Parquet to release", whole, beside, engine, "s")]


def _summary(codes: NDArray[np.int64], counts: NDArray[np.int64], rule: Rule) -> object:
    structure = Structure("cells", (10**6, 10**6))
    places, values = structure.forward(codes, counts)
    return summarise(Held(places, values, structure.places), rule, SCALE, SystemEntropy())


def _publish(folder: Path, n: int) -> None:
    """Every time with a ledger and a release of its own."""
    attributes = tuple(ordinal(name, IntegerRange(0, 10**6 - 1)) for name in "ab")
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        hushtable.publish(
            folder / "pairs.parquet",
            Schema(name=f"pairs-{os.path.basename(scratch)}", budget=Fraction(1),
                   attributes=attributes),
            epsilon="0.1",
            out=Path(scratch, "release"),
            ledger=Path(scratch, "ledger"),
            mechanism="filter-priority",
            settings={"size": str(n)},
        )  # fmt: skip


# ── as the domain grows ──────────────────────────────────────────────────────────────────────────


def by_domain(size: Size) -> tuple[Grid, Row]:
    """Nanoseconds per non-zero, by rule and size of the domain; and how flat that is."""
    n, random, lines, flat = size.by_domain, np.random.default_rng(1), [], {}
    for exponent in (7, 8, 10, 12, 15, 18):
        domain = 10**exponent
        codes = np.unique(random.integers(0, domain, n))
        held = Held(codes, np.full(len(codes), COUNT), domain)
        every = {**rules(domain, n), **({"geometric": Filter(1)} if domain <= size.dense else {})}
        works = {name: lambda rule=rule: _noisy(held, rule) for name, rule in every.items()}  # noqa: B023
        best = {name: took / n * 1e9 for name, took in in_turn(size.rounds, works).items()}
        flat[exponent] = best["filter-priority"]
        lines.append((f"10^{exponent}", *(f"{took:,.0f}" for took in best.values())))
    header = ("cells", *rules(10**7, n), "geometric")
    title = f"{n:,} non-zeros, size = n: nanoseconds per non-zero"
    work = "filter-priority, 10¹⁸ cells: per non-zero"
    flatness = Row(work, flat[18], "the same in 10⁸ cells", flat[8], "ns")
    return Grid(title, header, tuple((*line, *[""] * (6 - len(line))) for line in lines)), flatness


def _noisy(held: Held, rule: Rule, scale: Fraction = SCALE) -> Kept:
    return summarise(held, rule, scale, SystemEntropy())


# ── beside noise on every cell ───────────────────────────────────────────────────────────────────


def _beside_geometric(size: Size) -> list[Row]:
    """The same table both ways; a thousand ranges of a hundredth of the cells."""
    domain, n = size.dense, size.by_domain
    held = _table(domain, n)
    summary = rules(domain, len(held.places))["filter-priority"]
    works = {"ours": lambda: _noisy(held, summary), "dense": lambda: _noisy(held, Filter(1))}
    best = in_turn(1, works)
    kept = {"ours": works["ours"](), "dense": works["dense"]()}
    cells = {name: float(_cell_errors(held, one, held.places)) for name, one in kept.items()}
    ranges = {name: _range_error(held, one) for name, one in kept.items()}
    work = f"filter-priority, {n:,} of {domain:,.0f} cells"
    beside = "geometric: noise on every cell"
    return [
        Row(f"{work}: time", best["ours"], beside, best["dense"], "s"),
        Row("  mean error of an occupied cell", cells["ours"], beside, cells["dense"], "rows"),
        Row("  mean error of a range of 1 %", ranges["ours"], beside, ranges["dense"], "rows"),
        Row("  places kept", len(kept["ours"].places), beside, len(kept["dense"].places), "places"),
    ]


def _table(domain: int, n: int) -> Held:
    random = np.random.default_rng(2)
    codes = np.unique(random.integers(0, domain, n))
    counts = np.minimum(random.geometric(1 / COUNT, len(codes)), LARGEST_COUNT)
    return Held(codes, counts.astype(np.int64), domain)


def _cell_errors(held: Held, kept: Kept, asked: NDArray[np.int64]) -> float:
    """The mean error of cells asked one by one: what was kept, or zero."""
    off = _at(kept.places, kept.values, asked) - _at(held.places, held.values, asked)
    return float(np.abs(off).mean())


def _at(
    places: NDArray[np.int64], values: NDArray[np.int64], asked: NDArray[np.int64]
) -> NDArray[np.int64]:
    where = np.minimum(np.searchsorted(places, asked), len(places) - 1)
    return np.where(places[where] == asked, values[where], 0)


def _range_error(held: Held, kept: Kept) -> float:
    """The mean error of ranges, where a kept value stands for those that were left out."""
    weights = np.sign(kept.values) * np.maximum(np.abs(kept.values), kept.tau)
    starts = np.random.default_rng(3).integers(0, held.domain * 99 // 100, 1000)
    ends = starts, starts + held.domain // 100
    off = _sums(kept.places, weights, ends) - _sums(held.places, held.values, ends)
    return float(np.abs(off).mean())


def _sums(
    places: NDArray[np.int64],
    values: NDArray[np.float64] | NDArray[np.int64],
    ends: tuple[NDArray[np.int64], NDArray[np.int64]],
) -> NDArray[np.float64]:
    total = np.concatenate([[0.0], np.cumsum(values)])
    below, above = (total[np.searchsorted(places, end)] for end in ends)
    return above - below


# ── beside OpenDP ────────────────────────────────────────────────────────────────────────────────


def _beside_alp(size: Size, options: Options) -> list[Row]:
    """ε = 1 for both. The peer is told the true total and a bound that no count exceeds."""
    held, epsilon = _table(WIDE, size.alp), 1
    empty = np.random.default_rng(4).integers(0, WIDE, len(held.places))
    rule = rules(WIDE, len(held.places), Fraction(epsilon))["filter-priority"]
    ours = in_turn(size.rounds, {"ours": lambda: _noisy(held, rule, Fraction(epsilon))})["ours"]
    kept = _noisy(held, rule, Fraction(epsilon))
    found = _alp(held, empty, epsilon, options)
    time, occupied, zero = (found, found, found) if isinstance(found, str) else found
    n, beside = len(held.places), "OpenDP make_alp_queryable"
    return [
        Row(f"filter-priority, {n:,} of 10¹² cells, ε = 1: time", ours, beside, time, "s"),
        Row("  mean error of an occupied cell", _cell_errors(held, kept, held.places),
            beside, occupied, "rows"),
        Row("  mean error of an empty cell", _cell_errors(held, kept, empty), beside, zero, "rows"),
    ]  # fmt: skip


def _alp(
    held: Held, empty: NDArray[np.int64], epsilon: int, options: Options
) -> tuple[float, float, float] | str:
    """Its time, and its mean errors of occupied and of empty cells."""
    with tempfile.TemporaryDirectory() as folder:
        arrays = {
            "codes": held.places,
            "counts": held.values,
            "asked": np.concatenate([held.places, empty]),
        }
        for name, array in arrays.items():
            np.save(Path(folder, name), array)
        paths = [Path(folder, f"{name}.npy") for name in (*arrays, "estimates")]
        found = ask("opendp", OPENDP_ALP, *paths, epsilon, LARGEST_COUNT, options=options)
        if isinstance(found, str):
            return found
        estimates = np.load(paths[-1], allow_pickle=False)
    truth = _at(held.places, held.values, arrays["asked"])
    off, n = np.abs(estimates - truth), len(held.places)
    return found["seconds"], float(off[:n].mean()), float(off[n:].mean())


if __name__ == "__main__":
    alone(section)
