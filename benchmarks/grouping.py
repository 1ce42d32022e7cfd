"""GROUP BY with error bars, beside DuckDB's GROUP BY on the true table, which has none.

Every family of known draws answers 100,000 groups: of one long axis, of two, and of a condition
that falls into several boxes; means of 300 groups and of 100,000; a network answers 10,000. `mixed`
is measured with trees and, under names of their own, with tents along one axis or two.
Releases are opened and warmed up before.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import hushtable as ht
from benchmarks.options import Options, alone
from benchmarks.table import Row, Section, Target
from benchmarks.timing import in_turn
from hushtable.families import MECHANISMS
from hushtable.schema import IntegerRange, Schema, ordinal

ROWS, QUICK_ROWS = 1_000_000, 20_000
ROUNDS = 3
MOST = 2**20

# The sizes of tables' attributes, and the quick ones; what is published of them.
LONG, QUICK_LONG = {"a": 100_000}, {"a": 2_000}
WIDE = {"a": 300, "b": 340}
TALL, QUICK_TALL = {"a": 100_000, "b": 10}, {"a": 500, "b": 10}
NETWORK, QUICK_NETWORK = {"a": 100, "b": 100, "c": 10, "d": 10}, {"a": 10, "b": 10, "c": 4, "d": 4}
OF_ONE = ("basic", "privelet", "hierarchical", "tents", "marginals")
OF_TWO = ("basic", "privelet", "privelet+", "hierarchical", "mixed", "marginals")
WITH_TENTS = ("two tents", "tree and tents")
OF_MEANS = ("basic", "privelet", "privelet+", "privelet*", "hierarchical", "marginals")
SETTINGS: Mapping[str, Mapping[str, str]] = {
    "mixed": {"a": "tree:10x30", "b": "tree:10x34"},
    "tents": {"a": "tents:24x30"},
    "two tents": {"a": "tents", "b": "tents"},
    "tree and tents": {"a": "tree:10x30", "b": "tents"},
}
GROUPED = {
    "long": "SELECT a, COUNT(*) FROM long GROUP BY a",
    "wide": "SELECT a, b, COUNT(*) FROM wide GROUP BY a, b",
    "network": "SELECT a, b, COUNT(*) FROM network GROUP BY a, b",
}
MEANS = "SELECT a, AVG(b) FROM wide GROUP BY a"
MEANS_OF_MANY = "SELECT a, AVG(b) FROM tall GROUP BY a"
BOXES = "SELECT a, COUNT(*) FROM wide WHERE a < 20 OR b < 30 GROUP BY a"
FIVE = f"{GROUPED['wide']} ORDER BY COUNT(*) DESC LIMIT 5"


def section(options: Options) -> Section:
    """Groups of one attribute, of two, of several boxes, and of a network."""
    quick = options.quick
    of_wide = dict.fromkeys(OF_TWO, (GROUPED["wide"], FIVE, BOXES, MEANS))
    of_wide |= dict.fromkeys(WITH_TENTS, (GROUPED["wide"], FIVE))
    of_tall = dict.fromkeys(OF_MEANS, (MEANS_OF_MANY,))
    of_long = dict.fromkeys(OF_ONE, (GROUPED["long"],))
    rows = _rows(options, "long", QUICK_LONG if quick else LONG, of_long)
    rows += _rows(options, "wide", WIDE, of_wide)
    rows += _rows(options, "tall", QUICK_TALL if quick else TALL, of_tall)
    network = QUICK_NETWORK if quick else NETWORK
    rows += _rows(options, "network", network, {"privbayes": (GROUPED["network"],)})
    return Section("Grouping: GROUP BY with error bars", rows)


def _rows(
    options: Options, name: str, sizes: Mapping[str, int], asked: Mapping[str, Sequence[str]]
) -> list[Row]:
    """What each mechanism's release takes for each of its questions, and DuckDB."""
    attributes = tuple(ordinal(key, IntegerRange(0, n - 1)) for key, n in sizes.items())
    schema = Schema(name=name, budget=Fraction(1000), attributes=attributes)
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        _write_table(folder, schema, QUICK_ROWS if options.quick else ROWS)
        connection = duckdb.connect()
        connection.execute(f"CREATE TABLE {name} AS FROM '{folder / 'table.parquet'}'")
        for mechanism, questions in asked.items():
            release = _published(folder, mechanism)
            for question in questions:
                rows.append(_row(options, connection, release, mechanism, question))
    return rows


def _row(
    options: Options, connection: duckdb.DuckDBPyConnection, release: ht.Release,
    mechanism: str, question: str,
) -> Row:  # fmt: skip
    best = in_turn(
        1 if options.quick else ROUNDS,
        {
            "ours": lambda: release.sql(question, row_cap=MOST).to_arrow(),
            "duckdb": lambda: connection.execute(question).fetchnumpy(),
        },
    )
    bound = 2.0 if mechanism == "privbayes" else 1.0
    return Row(f"{mechanism}: {question}", best["ours"], "DuckDB, true counts", best["duckdb"],
               "s", Target(bound, of="ours"))  # fmt: skip


def _write_table(folder: Path, schema: Schema, rows: int) -> None:
    """Attributes that lean on one another, each bell-shaped."""
    random = np.random.default_rng(4)
    mood = random.normal(0, 1, rows)
    columns = {}
    for attribute in schema.attributes:
        place = (mood + random.normal(0, 1, rows)) * attribute.size / 8 + attribute.size / 2
        columns[attribute.name] = np.clip(place.astype(np.int64), 0, attribute.size - 1)
    pq.write_table(pa.table(columns), folder / "table.parquet")
    schema.save(folder / "schema.toml")


def _published(folder: Path, mechanism: str) -> ht.Release:
    out = folder / f"{mechanism.replace(' ', '-')}.release"
    ht.publish(
        folder / "table.parquet",
        folder / "schema.toml",
        epsilon="1",
        out=out,
        mechanism=mechanism if mechanism in MECHANISMS else "mixed",
        settings=dict(SETTINGS.get(mechanism, {})),
    )
    return ht.open(out)


if __name__ == "__main__":
    alone(section)
