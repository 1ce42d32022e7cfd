"""Time against the number of people and of cells: Figures 13 and 14 of the Privelet paper.

Two ordinal and two nominal attributes of m^(1/4) values each, hierarchies of three levels with
about √|A| nodes in the middle, people spread evenly, wavelets along all four axes. The times are
those of publishing a Parquet file, once the kernels are compiled.
"""

from __future__ import annotations

import math
import os
import tempfile
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import hushtable as ht
from hushtable.schema import Hierarchy, IntegerRange, Schema, nominal, ordinal

MECHANISMS = {"basic": {}, "privelet+": {"identity": ""}, "privelet*": {"identity": ""}}
PEOPLE = (1, 2, 3, 4, 5)
BITS = (22, 23, 24, 25, 26)


def run() -> None:
    """Print both figures as tables."""
    with tempfile.TemporaryDirectory() as name:
        os.environ["HUSHTABLE_STATE"] = str(Path(name, "state"))
        _times(Path(name), 1, 22)  # compiles
        header = "".join(f"{mechanism:>12}" for mechanism in MECHANISMS)
        print(f"seconds to publish 2^24 cells\n{'million people':>16}{header}")
        for millions in PEOPLE:
            _print(f"{millions}", _times(Path(name), millions, 24))
        print(f"seconds to publish 5 million people\n{'cells':>16}{header}")
        for bits in BITS:
            _print(f"2^{bits}", _times(Path(name), 5, bits))


def _print(label: str, times: list[float]) -> None:
    print(f"{label:>16}" + "".join(f"{seconds:>12.2f}" for seconds in times), flush=True)


def _times(folder: Path, millions: int, bits: int) -> list[float]:
    schema = paper_schema(bits)
    table = folder / "people.parquet"
    _write(table, schema, millions * 10**6)
    times = []
    for number, (mechanism, settings) in enumerate(MECHANISMS.items()):
        out = folder / f"{bits}-{millions}-{number}.release"
        start = time.perf_counter()
        ht.publish(
            table,
            schema,
            epsilon="1",
            out=out,
            mechanism=mechanism,
            settings=settings,
            ledger=folder / f"{bits}-{millions}-{number}.ledger",
        )
        times.append(time.perf_counter() - start)
    return times


def paper_schema(bits: int) -> Schema:
    """Four attributes of about 2^(bits/4) values each."""
    size = round(2 ** (bits / 4))
    middle = round(math.sqrt(size))
    tree = Hierarchy.from_paths([(f"{i}", f"g{i * middle // size}", "*") for i in range(size)])
    return Schema(
        name=f"growth{bits}",
        budget=Fraction(100),
        attributes=(
            ordinal("a", IntegerRange(0, size - 1)),
            ordinal("b", IntegerRange(0, size - 1)),
            nominal("c", tree),
            nominal("d", tree),
        ),
    )


def _write(path: Path, schema: Schema, rows: int) -> None:
    random = np.random.default_rng(rows)
    columns = [random.integers(0, size, rows, dtype=np.int32) for size in schema.shape]
    text = [pa.array(column).cast(pa.string()) for column in columns[2:]]
    names = [attribute.name for attribute in schema.attributes]
    pq.write_table(pa.table([*map(pa.array, columns[:2]), *text], names=names), path)


if __name__ == "__main__":
    run()
