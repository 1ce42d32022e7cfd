"""What `auto` does with wide tables: its choice, its forecasts, and what came out.

    python -m benchmarks.wide_tables choices                  ten made-up tables of 1 to 30 columns
    python -m benchmarks.wide_tables counts --adult FOLDER --acs FOLDER
                                                              all one-, two- and three-way counts
    python -m benchmarks.wide_tables rows --adult FOLDER --acs FOLDER --coded FILE
                                                              synthetic rows beside `privbayes`

Tables are read where they are and never copied. `--coded` is a CSV file of whole numbers from zero,
a column each, whose sizes are then known from the file itself: for comparison with figures that
others published for it, not a way to publish. Noise is seeded: none of these releases is private.
"""

from __future__ import annotations

import argparse
import itertools
import math
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc

import hushtable
from benchmarks.options import own_state
from benchmarks.privbayes import GRAPHICAL_PEERS, acs, peer_rows
from hushtable.evaluation.evaluate import evaluate
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.generators import own_dataset
from hushtable.planner import Plan, plan
from hushtable.query.box import Box
from hushtable.query.law import margins_of
from hushtable.release import Release
from hushtable.schema import IntegerRange, Schema, nominal, ordinal
from hushtable.schema.hierarchy import Hierarchy
from hushtable_papers.real_tables import adult
from hushtable_papers.synthetic_rows import CodedTable, Marginals, drawn_codes

CONFIDENCE = 0.95
WAYS = (1, 2, 3)
Table = tuple[Schema, pa.Table]


# ── all counts of a few attributes ───────────────────────────────────────────────────────────────


def counts(tables: list[Table], epsilon: str) -> None:
    """Print the errors of all counts of one to three attributes, and how many intervals held."""
    for schema, table in tables:
        start = time.perf_counter()
        found = plan(schema, epsilon=epsilon)
        planned = time.perf_counter() - start
        forecast = _words(found)
        print(f"\n{schema.name}: {table.num_rows:,} rows × {len(schema.shape)} columns,", end=" ")
        print(f"{schema.cells:.2g} cells, ε = {epsilon}, planned in {planned:.1f} s: {forecast}")
        with released(schema, table, epsilon, "auto", 1) as (release, seconds):
            print(f"published by {release.mechanism} in {seconds:.1f} s")
            coded = CodedTable.of(schema.name, schema, table)
            for ways in WAYS:
                _print_counts(release, coded, ways)


def _print_counts(release: Release, table: CodedTable, ways: int) -> None:
    squares, stated, inside, cells, number = 0.0, 0.0, 0, 0, 0
    for axes in itertools.combinations(range(len(table.schema.shape)), ways):
        errors, variances, held = _table_errors(release, table, axes)
        squares += float(np.mean(errors**2))
        stated += float(np.mean(variances))
        inside, cells, number = inside + int(held.sum()), cells + len(held), number + 1
    rmse, forecast = (math.sqrt(total / number) for total in (squares, stated))
    print(
        f"  {ways}-way: {number:>5} tables, {cells:>11,} counts: RMSE {rmse:9.1f},"
        f" forecast {forecast:9.1f}, inside {CONFIDENCE:.0%} {inside / cells:.2%}",
        flush=True,
    )


def _table_errors(release: Release, table: CodedTable, axes: tuple[int, ...]) -> Any:
    """The errors of all counts of some attributes, their stated variances, and which held."""
    shape = [table.schema.shape[axis] for axis in axes]
    linear = np.ravel_multi_index([table.columns[axis] for axis in axes], shape)
    truth = np.bincount(linear, minlength=math.prod(shape))
    cuts = [
        (axis, np.stack([np.arange(n), np.arange(1, n + 1)], 1))
        for axis, n in zip(axes, shape, strict=True)
    ]
    got = release.reader.group((Box.full(table.schema.shape),), cuts)
    ends = np.array([margins_of(law, CONFIDENCE) for law in got.laws])[got.law_of_row]
    errors = got.values - truth
    variances = np.array([law.variance for law in got.laws])[got.law_of_row]
    held = (errors <= ends[:, 0] + 1e-9) & (-errors <= ends[:, 1] + 1e-9)
    return errors, variances, held


# ── synthetic rows ───────────────────────────────────────────────────────────────────────────────


def rows(tables: list[Table], epsilon: str, releases: int, peers: float) -> None:
    """Print how far synthetic rows are from the table, by mechanism; peers get so many seconds."""
    chosen: dict[str, tuple[str, dict[str, str]]] = {
        "auto": ("auto", {}),
        "marginals, ways=2": ("marginals", {"ways": "2"}),
        "marginals, ways=1": ("marginals", {"ways": "1"}),
        "privbayes": ("privbayes", {}),
    }
    for schema, table in tables:
        coded = CodedTable.of(schema.name, schema, table)
        true = Marginals(coded)
        print(f"\n{schema.name}: {coded.rows:,} rows × {len(schema.shape)} columns, ε = {epsilon},")
        print("mean total variation distance of one-, two- and three-way tables:")
        random = np.random.default_rng(1)
        again = coded.take(random.integers(0, coded.rows, coded.rows))
        _print_distances("bootstrap", [true.distances(again.columns)], 0.0)
        alone = [column[random.permutation(coded.rows)] for column in coded.columns]
        _print_distances("independent columns", [true.distances(alone)], 0.0)
        for name, (mechanism, settings) in chosen.items():
            found, seconds = [], 0.0
            for seed in range(releases):
                start = time.perf_counter()
                with released(schema, table, epsilon, mechanism, seed, settings=settings) as (
                    release,
                    _,
                ):
                    drawn = drawn_codes(release, coded.rows, seed=seed)
                seconds += time.perf_counter() - start
                found.append(true.distances(drawn))
            _print_distances(name, found, seconds / releases)
        for peer in GRAPHICAL_PEERS if peers else ():
            told = peer_rows(peer, schema, table, peers)
            if isinstance(told, str):
                print(f"  {peer.name:<20} {told}", flush=True)
            else:
                _print_distances(peer.name, [true.distances(told[0])], told[1])


def _print_distances(name: str, found: list[dict[int, float]], seconds: float) -> None:
    means = (float(np.mean([one[ways] for one in found])) for ways in WAYS)
    shown = " / ".join(f"{mean:.4f}" for mean in means)
    print(f"  {name:<20} {shown}   {seconds:6.1f} s", flush=True)


# ── what auto chooses ────────────────────────────────────────────────────────────────────────────


def choices(epsilon: str, people: int) -> None:
    """Print what `auto` chooses for ten tables of 1 to 30 columns, and its errors."""
    for schema in _made_up_schemas():
        found = plan(schema, epsilon=epsilon, people=people)
        print(
            f"{len(schema.shape):>2} columns, {schema.cells:.2g} cells: {_words(found)}", flush=True
        )
        if found.recommended is None:
            continue
        table = _made_up_rows(schema, people)
        with released(schema, table, epsilon, "auto", 1, people=people) as (release, seconds):
            measured = evaluate(table, release, queries=5000, intervals=300).errors[0]
        print(
            f"    published in {seconds:.1f} s; measured RMSE {measured.rmse:.1f},"
            f" inside {measured.inside:.1%}",
            flush=True,
        )


def _made_up_schemas() -> Iterator[Schema]:
    """Ordered and unordered columns of growing numbers; of one a hierarchy, of one very long."""
    sizes = (100, 2, 12, 50, 5, 3, 20, 7, 2, 30) * 3
    for number in (1, 2, 3, 4, 6, 8, 12, 16, 24, 30):
        attributes = [
            nominal(f"c{i}", Hierarchy.flat([f"v{j}" for j in range(size)]))
            if i % 2
            else ordinal(f"c{i}", IntegerRange(0, size - 1))
            for i, size in enumerate(sizes[:number])
        ]
        yield Schema(f"wide{number}", Fraction(10**6), tuple(attributes))


def _made_up_rows(schema: Schema, rows: int) -> pa.Table:
    """Skewed columns, each leaning on the one before."""
    random, columns, before = np.random.default_rng(1), {}, np.zeros(rows, np.int64)
    for attribute in schema.attributes:
        size = attribute.size
        before = (before + random.geometric(min(1.0, 4 / size), rows)) % size
        labels = [str(attribute.values.label(code)) for code in range(size)]
        columns[attribute.name] = pa.DictionaryArray.from_arrays(before.astype(np.int32), labels)
    return pa.table({name: column.cast(pa.string()) for name, column in columns.items()})


# ── releases ─────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def released(
    schema: Schema, table: pa.Table, epsilon: str, mechanism: str, seed: int, **options: Any
) -> Iterator[tuple[Release, float]]:
    """A release that is gone afterwards, and how long it took."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        release = hushtable.publish(
            table,
            own_dataset(schema),
            epsilon=epsilon,
            mechanism=mechanism,
            out=Path(folder) / "r",
            ledger=Path(folder) / "ledger",
            entropy=SeededEntropy(seed),
            **options,
        )
        yield release, time.perf_counter() - start


def _words(found: Plan) -> str:
    best = found.recommended
    if best is None:
        return f"nothing: {found.why_not()}"
    errors = " / ".join(f"{error:.1f}" for error in best.by_attributes.values())
    return (
        f"{best.mechanism}, forecast RMSE {best.rmse:.1f}, by attributes {errors},"
        f" useful from {best.useful_from:,.0f} people on"
    )


def coded_file(path: Path) -> Table:
    """A table of whole numbers from zero, each column as long as its largest number says."""
    table = pc.read_csv(path)
    attributes = [
        ordinal(name, IntegerRange(0, max(1, int(max(table[name].to_pylist())))))
        for name in table.column_names
    ]
    return Schema(path.stem, Fraction(10**6), tuple(attributes)), table


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("choices", "counts", "rows"))
    parser.add_argument("--adult", type=Path, help="the folder of the Adult table")
    parser.add_argument("--acs", type=Path, help="the folder of the ACS excerpt")
    parser.add_argument("--coded", type=Path, help="a CSV file of codes")
    parser.add_argument("--epsilon", default="1")
    parser.add_argument("--people", type=int, default=100_000, help="rows of made-up tables")
    parser.add_argument("--releases", type=int, default=3, help="whose distances are averaged")
    parser.add_argument("--peers", type=float, default=0, help="seconds for MST and AIM, at ε = 1")
    given = parser.parse_args()
    read = ((given.adult, adult), (given.acs, acs), (given.coded, coded_file))
    with own_state():
        if given.what == "choices":
            choices(given.epsilon, given.people)
            return
        tables = [reader(place) for place, reader in read if place is not None]
        if given.what == "counts":
            counts(tables, given.epsilon)
        else:
            rows(tables, given.epsilon, given.releases, given.peers)


if __name__ == "__main__":
    main()
