"""PrivBayes: how fast it learns and draws, and how near its rows come to the table's marginals.

    python -m benchmarks.privbayes speed            a generated table, beside DataSynthesizer
    python -m benchmarks.privbayes stream           10⁷ synthetic rows to Parquet
    python -m benchmarks.privbayes adult FOLDER     the Adult table and its hierarchies
    python -m benchmarks.privbayes acs FOLDER       the ACS excerpt and its dictionary

The tables are read where they are and never copied. Distances are total variation, averaged over
all one- and two-way marginals and a hundred three-way ones, of as many synthetic rows as the table
has, beside those of independent columns and of a bootstrap of the table, in one run.
"""

from __future__ import annotations

import itertools
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
from numpy.typing import NDArray

import hushtable
from hushtable.counting import code_table
from hushtable.release import Release
from hushtable.release.export import export_rows
from hushtable.schema import Attribute, Edges, Hierarchy, IntegerRange, Schema, nominal, ordinal

EPSILONS = ("0.1", "1", "10")
Columns = Sequence[NDArray[Any]]


def run() -> None:
    """What `make bench` shows: the parts that need no data and no other package."""
    speed(peer=False)
    stream(10**6)


# ── tables ───────────────────────────────────────────────────────────────────────────────────────


def generated(rows: int = 32_561) -> tuple[Schema, pa.Table]:
    """Fourteen columns of the sizes that Adult has, each leaning on one or two before it."""
    sizes = (8, 16, 7, 14, 6, 5, 2, 41, 2, 16, 16, 16, 16, 16)
    random = np.random.default_rng(1)
    columns: list[NDArray[np.int64]] = []
    for i, size in enumerate(sizes):
        lean = sum(columns[max(i - 2, 0) : i], start=np.zeros(rows, np.int64))
        columns.append((lean + random.geometric(0.4, rows)) % size)
    attributes = tuple(
        nominal(f"c{i}", Hierarchy.flat([f"v{j}" for j in range(size)]))
        for i, size in enumerate(sizes)
    )
    labels = {f"c{i}": [f"v{j}" for j in column] for i, column in enumerate(columns)}
    return Schema("generated", Fraction(10**6), attributes), pa.table(labels)


def adult(folder: Path) -> tuple[Schema, pa.Table]:
    table = _text(folder / "adult.csv", ";")
    attributes: list[Attribute] = []
    for name in table.column_names:
        lines = (folder / f"adult_hierarchy_{name}.csv").read_text().splitlines()
        if name == "age":
            attributes.append(ordinal(name, IntegerRange(1, 100)))
        else:
            attributes.append(
                nominal(name, Hierarchy.from_paths(line.split(";") for line in lines))
            )
    return Schema("adult", Fraction(10**6), tuple(attributes)), table


# Bins of the numbers that have no natural ones; none of them is taken from the table.
_BINS = {
    "DENSITY": (0, 50, 100, 200, 400, 800, 1600, 3200, 6400, 12_800, 60_000),
    "PINCP": (-20_000, 0, 1, *range(5000, 100_001, 5000), 150_000, 200_000, 500_000, 2_000_000),
    "POVPIP": (*range(0, 501, 50), 502),
    "PWGTP": (0, *range(10, 201, 10), 300, 500, 1000, 10_000),
    "WGTP": (0, 1, *range(10, 201, 10), 300, 500, 1000, 10_000),
}


def acs(folder: Path) -> tuple[Schema, pa.Table]:
    table = _text(folder / "national2019.csv", ",")
    known = json.loads((folder / "data_dictionary.json").read_text())
    industries = (folder / "indp_hierarchy.csv").read_text().splitlines()
    attributes: list[Attribute] = []
    for name in table.column_names:
        values = known[name].get("values", {})
        if name == "INDP":
            tree = Hierarchy.from_paths(line.split(";") for line in industries)
            attributes.append(nominal(name, tree, outside="other"))
        elif name == "PUMA":
            tree = Hierarchy.from_paths([value, value.split("-")[0], "*"] for value in values)
            attributes.append(nominal(name, tree, outside="other"))
        elif name in _BINS:
            attributes.append(ordinal(name, Edges(_BINS[name]), outside="other"))
        elif "max" in values:
            low = 0 if "0" in values else values["min"]
            attributes.append(ordinal(name, IntegerRange(low, values["max"]), outside="other"))
        else:
            attributes.append(nominal(name, Hierarchy.flat(list(values)), outside="other"))
    return Schema("acs", Fraction(10**6), tuple(attributes)), table


def _text(path: Path, delimiter: str) -> pa.Table:
    names = path.open().readline().strip().split(delimiter)
    return pc.read_csv(
        path,
        parse_options=pc.ParseOptions(delimiter=delimiter),
        convert_options=pc.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
    )


# ── accuracy ─────────────────────────────────────────────────────────────────────────────────────


class Marginals:
    """The marginals of a table, to compare other tables with."""

    def __init__(self, columns: Columns, shape: Sequence[int]) -> None:
        self._shape, axes = shape, range(len(shape))
        random = np.random.default_rng(0)
        threes = [tuple(random.choice(len(shape), 3, replace=False)) for _ in range(100)]
        self._sets = {1: [(axis,) for axis in axes], 2: list(itertools.combinations(axes, 2))}
        self._sets[3] = threes if len(shape) > 2 else []
        self._codes = {s: self._joint(columns, s) for sets in self._sets.values() for s in sets}

    def _joint(self, columns: Columns, axes: Sequence[int]) -> NDArray[np.int64]:
        return np.ravel_multi_index(
            tuple(columns[axis].astype(np.int64) for axis in axes),
            [self._shape[axis] for axis in axes],
        )

    def distances(self, columns: Columns) -> list[float]:
        """The mean distance of one-, two- and three-way marginals."""
        found = []
        for sets in self._sets.values():
            apart = [_variation(self._codes[s], self._joint(columns, s)) for s in sets]
            found.append(float(np.mean(apart)) if apart else 0.0)
        return found


def _variation(one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
    values, place = np.unique(np.concatenate([one, other]), return_inverse=True)
    shares = [
        np.bincount(part, minlength=len(values)) / len(part)
        for part in (place[: len(one)], place[len(one) :])
    ]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def accuracy(name: str, schema: Schema, table: pa.Table, runs: int = 3) -> None:
    """Distances and costs at several ε, beside what needs no privacy."""
    columns = code_table(table, schema).columns
    rows = len(columns[0])
    cells = np.log10(float(schema.cells))
    print(f"{name}: {rows:,} rows, {len(columns)} columns, 10^{cells:.0f} cells")
    true, random = Marginals(columns, schema.shape), np.random.default_rng(1)
    picks = random.integers(0, rows, rows)
    _row("bootstrap", true.distances([column[picks] for column in columns]))
    _row("independent", true.distances([random.permutation(column) for column in columns]))
    for epsilon in EPSILONS:
        found = [_published(schema, table, epsilon, rows, true) for _ in range(runs)]
        distances = np.mean([one for one, _, _ in found], axis=0)
        seconds = min(time for _, time, _ in found)
        _row(f"privbayes ε = {epsilon}", distances, f"{seconds:6.2f} s, peak {_peak():,.0f} MiB")
        print("    " + "\n    ".join(found[-1][2]))


def _published(
    schema: Schema, table: pa.Table, epsilon: str, rows: int, true: Marginals
) -> tuple[list[float], float, list[str]]:
    with _release(schema, table, epsilon) as (release, start):
        drawn = release.synthesize(rows)
        seconds = time.perf_counter() - start
        assert release.network is not None
        lines = release.network.lines()
        text = pa.table({n: drawn[n].cast(pa.string()) for n in drawn.column_names})
        return true.distances(code_table(text, schema).columns), seconds, lines


@contextmanager
def _release(
    schema: Schema, table: pa.Table, epsilon: str, **settings: Any
) -> Iterator[tuple[Release, float]]:
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        yield (
            hushtable.publish(
                table,
                schema,
                epsilon=epsilon,
                mechanism="privbayes",
                settings=settings,
                out=Path(folder) / "release",
                ledger=Path(folder) / "ledger",
            ),
            start,
        )


def _row(name: str, distances: Sequence[float], more: str = "") -> None:
    print(f"  {name:<22}" + "  ".join(f"{distance:.4f}" for distance in distances) + f"  {more}")


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def classify(schema: Schema, table: pa.Table, target: str) -> None:
    """How well a classifier does on real rows after learning from synthetic ones."""
    random = np.random.default_rng(2)
    order = random.permutation(table.num_rows)
    half = len(order) * 4 // 5
    train, test = table.take(order[:half]), code_table(table.take(order[half:]), schema).columns
    axis = schema.index(target)
    truth = test[axis]
    majority = max(np.mean(truth == value) for value in np.unique(truth))
    real = _accuracy(code_table(train, schema).columns, test, schema.shape, axis)
    print(f"  {target}: majority {majority:.3f}, trained on real rows {real:.3f}")
    for epsilon in EPSILONS:
        with _release(schema, train, epsilon) as (release, _):
            drawn = release.synthesize(half)
            text = pa.table({n: drawn[n].cast(pa.string()) for n in drawn.column_names})
            found = _accuracy(code_table(text, schema).columns, test, schema.shape, axis)
        print(f"    trained on synthetic rows, ε = {epsilon}: {found:.3f}")


def _accuracy(train: Columns, test: Columns, shape: Sequence[int], target: int) -> float:
    """Logistic regression on indicators, by Newton's method with a small penalty."""
    x, y = _indicators(train, shape, target), (train[target] == 1).astype(float)
    weights = np.zeros(x.shape[1])
    for _ in range(12):
        p = 1 / (1 + np.exp(-np.clip(x @ weights, -30, 30)))
        slope = x.T @ (p - y) + 0.5 * weights
        curve = (x * (p * (1 - p))[:, None]).T @ x + 0.5 * np.eye(len(weights))
        weights -= np.linalg.solve(curve, slope)
    guessed = _indicators(test, shape, target) @ weights > 0
    return float(np.mean(guessed == (test[target] == 1)))


def _indicators(columns: Columns, shape: Sequence[int], target: int) -> NDArray[np.float64]:
    parts = [np.ones((len(columns[0]), 1))]
    for axis, (column, size) in enumerate(zip(columns, shape, strict=True)):
        if axis != target:
            parts.append(np.eye(size)[column.astype(np.int64)])
    return np.hstack(parts)


# ── speed ────────────────────────────────────────────────────────────────────────────────────────


def speed(peer: bool = True) -> None:
    """Network, marginals and as many synthetic rows, of degree 2 at ε = 1."""
    schema, table = generated()
    best = float("inf")
    for _ in range(3):  # the first may compile
        with _release(schema, table, "1", degree=2) as (release, start):
            release.synthesize(table.num_rows)
            best = min(best, time.perf_counter() - start)
    print(f"privbayes on {table.num_rows:,} rows × {table.num_columns}: {best:.2f} s")
    if peer:
        seconds = _datasynthesizer(table)
        told = f"{seconds:.0f} s, {seconds / best:.0f} times as long" if seconds else "not finished"
        print(f"DataSynthesizer, degree 2: {told}")


_PEER = """
import sys, time
from DataSynthesizer.DataDescriber import DataDescriber
from DataSynthesizer.DataGenerator import DataGenerator
start = time.perf_counter()
describer = DataDescriber(category_threshold=100)
columns = open(sys.argv[1]).readline().strip().split(",")
describer.describe_dataset_in_correlated_attribute_mode(
    dataset_file=sys.argv[1], epsilon=1, k=2,
    attribute_to_is_categorical={name: True for name in columns},
)
described = sys.argv[1] + ".json"
describer.save_dataset_description_to_file(described)
DataGenerator().generate_dataset_in_correlated_attribute_mode(int(sys.argv[2]), described)
print("seconds", time.perf_counter() - start)
"""


def _datasynthesizer(table: pa.Table, limit: int = 900) -> float | None:
    """The same work by DataSynthesizer, in an environment of its own."""
    with tempfile.TemporaryDirectory() as folder:
        home, data = Path(folder) / "venv", Path(folder) / "table.csv"
        pc.write_csv(table, data)
        subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
        python = str(home / "bin" / "python")
        install = [python, "-m", "pip", "install", "--quiet", "DataSynthesizer"]
        subprocess.run(install, check=True)
        try:
            done = subprocess.run(
                [python, "-c", _PEER, str(data), str(table.num_rows)],
                capture_output=True, text=True, timeout=limit, check=True,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return None
        except subprocess.CalledProcessError as problem:
            print(problem.stderr.strip().splitlines()[-1])
            return None
        return float(done.stdout.split()[-1])


def stream(rows: int = 10**7) -> None:
    """Synthetic rows of nine columns to Parquet, in flat memory."""
    schema, table = generated()
    schema = Schema(schema.name, schema.budget, schema.attributes[:9])
    with _release(schema, table.select(range(9)), "1") as (release, _):
        release.synthesize(1000)
        for _ in release.synthetic_batches(10**6):
            pass
        start, before = time.perf_counter(), _peak()
        for _ in release.synthetic_batches(rows):
            pass
        drawn = time.perf_counter() - start
        start = time.perf_counter()
        export_rows(release, release.folder.parent / "rows.parquet", rows, seed=1)
        written = time.perf_counter() - start
        size = (release.folder.parent / "rows.parquet").stat().st_size
    print(
        f"{rows:,} rows: {rows / drawn / 1e6:.1f} million a second drawn,"
        f" {rows / written / 1e6:.1f} million written to {size / 2**20:,.0f} MiB of Parquet;"
        f" peak memory {before:,.0f} MiB before, {_peak():,.0f} MiB after"
    )


def main(arguments: list[str]) -> None:
    """One of the commands above."""
    tables: dict[str, Callable[[Path], tuple[Schema, pa.Table]]] = {"adult": adult, "acs": acs}
    match arguments:
        case ["speed"]:
            speed()
        case ["stream"]:
            stream()
        case [name, folder] if name in tables:
            schema, table = tables[name](Path(folder))
            accuracy(name, schema, table)
            if name == "adult":
                classify(schema, table, "salary-class")
        case _:
            print(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
