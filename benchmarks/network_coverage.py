"""How often the intervals of `privbayes` hold on real tables.

    python -m benchmarks.network_coverage --adult FOLDER --acs FOLDER

Both tables are read where they are and never copied; of the ACS excerpt eight columns are taken.
Questions ask for one, two or three attributes: for the values of a random row, or for random
ranges of codes. Those that a measured table tells have promises for intervals, others estimates.
"""

from __future__ import annotations

import argparse
import itertools
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import hushtable
from benchmarks.privbayes import acs
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.query.box import Box, CodeSet
from hushtable.query.law import margins_of
from hushtable.release import Release
from hushtable.schema import Schema
from hushtable_papers.real_tables import adult
from hushtable_papers.synthetic_rows import CodedTable

LEVELS = (0.9, 0.95, 0.999)
EPSILONS = ("0.2", "1", "4")
COLUMNS = ("AGEP", "SEX", "MSP", "RAC1P", "HOUSING_TYPE", "EDU", "PINCP_DECILE", "DVET")

CodeRanges = dict[int, tuple[int, int]]
"""For each attribute asked for, a range of its codes."""


def few_columns(folder: Path) -> tuple[Schema, pa.Table]:
    """Eight columns of the ACS excerpt."""
    schema, table = acs(folder)
    chosen = tuple(a for a in schema.attributes if a.name in COLUMNS)
    return Schema("acs", schema.budget, chosen), table.select([a.name for a in chosen])


def questions(
    table: CodedTable, kind: str, ways: int, number: int, seed: int
) -> Iterator[CodeRanges]:
    """Random questions for so many attributes."""
    random, shape = np.random.default_rng(seed), table.schema.shape
    for _ in range(number):
        row, asked = int(random.integers(table.rows)), {}
        for axis in random.choice(len(shape), ways, replace=False).tolist():
            code = int(table.columns[axis][row])
            start, stop = np.sort(random.choice(shape[axis] + 1, 2, replace=False)).tolist()
            asked[axis] = (code, code + 1) if kind == "values" else (start, stop)
        yield asked


def true_count(table: CodedTable, asked: CodeRanges) -> int:
    inside = np.ones(table.rows, bool)
    for axis, (start, stop) in asked.items():
        inside &= (table.columns[axis] >= start) & (table.columns[axis] < stop)
    return int(inside.sum())


def outcome(release: Release, table: CodedTable, asked: CodeRanges) -> tuple[bool, list[float]]:
    """Whether an interval is an estimate; whether it held by level, its half width, the error."""
    shape = table.schema.shape
    sets = (CodeSet.of(asked.get(axis, (0, size))) for axis, size in enumerate(shape))
    value, law = release.reader.count((Box(tuple(sets)),))
    true = true_count(table, asked)
    ends = [margins_of(law, level) for level in LEVELS]
    held = [value - below <= true <= value + above for below, above in ends]
    return law.estimate, [*map(float, held), sum(ends[1]) / 2, abs(value - true)]


def coverage(schema: Schema, data: pa.Table, releases: int, number: int) -> None:
    """Print how often intervals held, by ε and kind of question."""
    table = CodedTable.of(schema.name, schema, data)
    for epsilon in EPSILONS:
        found: dict[tuple[str, int, bool], list[list[float]]] = {}
        for seed in range(releases):
            with tempfile.TemporaryDirectory() as folder:
                release = hushtable.publish(
                    data,
                    schema,
                    epsilon=epsilon,
                    mechanism="privbayes",
                    out=Path(folder) / "r",
                    ledger=Path(folder) / "ledger",
                    entropy=SeededEntropy(seed),
                )
                for kind, ways in itertools.product(("values", "ranges"), (1, 2, 3)):
                    for asked in questions(table, kind, ways, number, seed):
                        estimate, row = outcome(release, table, asked)
                        found.setdefault((kind, ways, estimate), []).append(row)
        for (kind, ways, estimate), rows in sorted(found.items()):
            _print(f"{schema.name} ε = {epsilon:<4} {ways}-way {kind}", estimate, np.array(rows))


def _print(what: str, estimate: bool, rows: NDArray[np.float64]) -> None:
    shares = "".join(f"{share:>8.1%}" for share in rows[:, : len(LEVELS)].mean(axis=0))
    half, error = np.median(rows[:, -2]), np.quantile(rows[:, -1], 0.95)
    word = "estimate" if estimate else "promise"
    print(f"{what:<28}{word:<10}{len(rows):>6}{shares}{half:>9.0f}{error:>9.0f}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--adult", type=Path, help="the folder of the Adult table")
    parser.add_argument("--acs", type=Path, help="the folder of the ACS excerpt")
    parser.add_argument("--releases", type=int, default=10)
    parser.add_argument("--questions", type=int, default=100, help="of each kind, to each release")
    chosen = parser.parse_args()
    levels = "".join(f"{level:>8.1%}" for level in LEVELS)
    print(f"{'':<38}{'asked':>6}{levels}{'half':>9}{'error':>9}")
    print(f"{'':<38}{'':>6}{'held, of so many asked':>24}{'median':>9}{'95 %':>9}")
    if chosen.adult:
        coverage(*adult(chosen.adult), chosen.releases, chosen.questions)
    if chosen.acs:
        coverage(*few_columns(chosen.acs), chosen.releases, chosen.questions)


if __name__ == "__main__":
    main()
