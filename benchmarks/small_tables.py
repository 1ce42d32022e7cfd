"""How near synthetic rows from small tables come to the Adult table, beside those of PrivBayes.

    python -m benchmarks.small_tables FOLDER [--epsilon 1] [--runs 4]

Distances are total variation, averaged over one-, two- and three-way marginals, of as many rows as
the table has; seconds are those to publish, and to fit the model and draw the rows.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

import hushtable
from hushtable.generators import own_dataset
from hushtable.planner import plan
from hushtable.schema import Schema
from hushtable_papers.real_tables import adult
from hushtable_papers.synthetic_rows import CodedTable, Marginals, drawn_codes


def compare(schema: Schema, table: pa.Table, epsilon: str, runs: int) -> None:
    """A line for each mechanism and its settings."""
    true = Marginals(CodedTable.of("adult", schema, table))
    planned = plan(schema, epsilon=epsilon, workload="everyday").forecasts
    everyday = next(one.parameters for one in planned if one.mechanism == "marginals")
    chosen: dict[str, tuple[str, Mapping[str, str]]] = {
        "marginals, ways=1": ("marginals", {"ways": "1"}),
        "marginals, ways=2": ("marginals", {"ways": "2"}),
        "marginals, everyday": ("marginals", everyday),
        "privbayes": ("privbayes", {}),
    }
    print(f"{table.num_rows:,} rows × {table.num_columns} columns, ε = {epsilon}, {runs} runs")
    print(f"{'':<22}1-way   2-way   3-way   publish  rows")
    for name, (mechanism, settings) in chosen.items():
        found = [_measured(schema, table, true, epsilon, mechanism, settings) for _ in range(runs)]
        distances = np.mean([one for one, _ in found], axis=0)
        seconds = np.min([one for _, one in found], axis=0)  # the first may compile
        shown = "  ".join(f"{distance:.4f}" for distance in distances)
        print(f"{name:<22}{shown}  {seconds[0]:7.2f}  {seconds[1]:.2f}", flush=True)


def _measured(
    schema: Schema,
    table: pa.Table,
    true: Marginals,
    epsilon: str,
    mechanism: str,
    settings: Mapping[str, str],
) -> tuple[list[float], list[float]]:
    """The distances of one release's rows, and the seconds to publish and to draw."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        release = hushtable.publish(
            table, own_dataset(schema), epsilon=epsilon, mechanism=mechanism, settings=settings,
            out=Path(folder, "release"), ledger=Path(folder, "ledger"),
        )  # fmt: skip
        published = time.perf_counter()
        release.synthesize(table.num_rows)
        drawn = time.perf_counter()
        distances = true.distances(drawn_codes(release, table.num_rows))
        return list(distances.values()), [published - start, drawn - published]


def main() -> None:
    """The command above."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="the folder of the Adult table")
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--runs", type=int, default=4)
    chosen = parser.parse_args()
    compare(*adult(chosen.folder), chosen.epsilon, chosen.runs)


if __name__ == "__main__":
    main()
