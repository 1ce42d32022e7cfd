"""PrivBayes beside other implementations; how fast it draws; how near its rows come to a table.

    python -m benchmarks.privbayes [--adult FOLDER]     a generated table, and Adult, beside peers
    python -m benchmarks.privbayes stream               10⁷ synthetic rows to Parquet
    python -m benchmarks.privbayes adult FOLDER         the Adult table and its hierarchies, by ε
    python -m benchmarks.privbayes acs FOLDER           the ACS excerpt and its dictionary, by ε

Peers run in environments of their own (see `peers`), on the same table at ε = 1, and may take
--seconds each; --peers names those wanted. The tables are read where they are and never copied.
Distances are total variation, averaged over one-, two- and three-way marginals (a hundred at most),
of as many synthetic rows as the table has, beside those of independent columns and of a bootstrap.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
from numpy.typing import NDArray

import hushtable
from benchmarks.machine import peak_memory
from benchmarks.peers import peer_python, run_peer
from hushtable.generators import own_dataset
from hushtable.release import Release
from hushtable.release.export import export_rows
from hushtable.schema import Attribute, Edges, Hierarchy, IntegerRange, Schema, nominal, ordinal
from hushtable_papers.privbayes import targets
from hushtable_papers.real_tables import adult, read_text
from hushtable_papers.synthetic_rows import (
    CodedTable,
    Marginals,
    drawn_codes,
    majority_misclassified,
    misclassified,
)

EPSILONS = ("0.1", "1", "10")


def run() -> None:
    """What needs no data and no other package."""
    schema, table = generated()
    print(f"{table.num_rows:,} rows × {table.num_columns} columns, ε = 1")
    _ours(schema, table, Marginals(CodedTable.of("generated", schema, table)))
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


# Bins of the numbers that have no natural ones; none of them is taken from the table.
_BINS = {
    "DENSITY": (0, 50, 100, 200, 400, 800, 1600, 3200, 6400, 12_800, 60_000),
    "PINCP": (-20_000, 0, 1, *range(5000, 100_001, 5000), 150_000, 200_000, 500_000, 2_000_000),
    "POVPIP": (*range(0, 501, 50), 502),
    "PWGTP": (0, *range(10, 201, 10), 300, 500, 1000, 10_000),
    "WGTP": (0, 1, *range(10, 201, 10), 300, 500, 1000, 10_000),
}


def acs(folder: Path) -> tuple[Schema, pa.Table]:
    table = read_text(folder / "national2019.csv", ",")
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


# ── peers ────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Peer:
    """Another implementation: what to install, and how to call it."""

    name: str
    requirements: tuple[str, ...]
    call: str
    """Python that makes `rows`, a data frame, of `table`; all values are text."""
    bare: tuple[str, ...] = ()
    note: str = ""


# Each reads a table, times its work from the table in memory to rows in memory, and writes these.
_SCRIPT = """
import json, sys, time, warnings
import pandas as pd
warnings.simplefilter("ignore")
source, target = sys.argv[1:]
{imports}
table = pd.read_csv(source, dtype=str)
start = time.perf_counter()
{work}
seconds = time.perf_counter() - start
rows.to_csv(target, index=False)
print(json.dumps({{"seconds": seconds}}))
"""

PEERS = (
    Peer(
        "DataSynthesizer",
        ("DataSynthesizer",),
        """
from DataSynthesizer.DataDescriber import DataDescriber
from DataSynthesizer.DataGenerator import DataGenerator
describer = DataDescriber(category_threshold=1000)
describer.describe_dataset_in_correlated_attribute_mode(
    dataset_file=source, epsilon=1, k=2, attribute_to_is_categorical={n: True for n in table}
)
described = target + ".json"
describer.save_dataset_description_to_file(described)
generator = DataGenerator()
generator.generate_dataset_in_correlated_attribute_mode(len(table), described)
rows = generator.synthetic_dataset
""",
        note="degree 2",
    ),
    Peer(
        "dpart",
        ("numpy<2", "pandas<2", "scikit-learn<1.3", "diffprivlib<0.7"),
        """
from dpart.engines import PrivBayes
model = PrivBayes(epsilon=1, n_parents=2)
model.fit(table)
rows = model.sample(len(table))
""",
        bare=("dpart",),
        note="degree 2",
    ),
    Peer(
        "dpmm",
        ("dpmm",),
        """
from dpmm.pipelines.priv_bayes import PrivBayesPipeline
model = PrivBayesPipeline(epsilon=1, delta=1e-5)
model.fit(table, {n: {"categories": sorted(table[n].unique())} for n in table})
rows = model.generate(len(table))
""",
        note="degree 2, δ = 10⁻⁵, with graphical-model inference",
    ),
)

# Not PrivBayes, and not pure ε either: what else makes rows of a wide table.
GRAPHICAL_PEERS = tuple(
    Peer(
        f"dpmm {name.upper()}",
        ("dpmm",),
        f"""
from dpmm.pipelines.{name} import {name.upper()}Pipeline
model = {name.upper()}Pipeline(epsilon=1, delta=1e-9)
model.fit(table, {{n: {{"categories": sorted(table[n].unique())}} for n in table}})
rows = model.generate(len(table))
""",
        note="δ = 10⁻⁹",
    )
    for name in ("mst", "aim")
)


def _script(peer: Peer) -> str:
    lines = peer.call.strip().splitlines()
    imports = [line for line in lines if line.startswith("from ")]
    work = [line for line in lines if not line.startswith("from ")]
    return _SCRIPT.format(imports="\n".join(imports), work="\n".join(work))


def compare(
    name: str, schema: Schema, table: pa.Table, peers: Sequence[Peer], seconds: float
) -> None:
    """Time and distances of every implementation on one table, at ε = 1."""
    print(f"{name}: {table.num_rows:,} rows × {table.num_columns} columns, ε = 1")
    print(f"  {'':<22}{'seconds':>9}  1-way   2-way   3-way")
    known = CodedTable.of(name, schema, table)
    true = Marginals(known)
    _baselines(known, true)
    ours = _ours(schema, table, true)
    for peer in peers:
        found = peer_rows(peer, schema, table, seconds)
        if isinstance(found, str):
            print(f"  {peer.name:<22}  {found}", flush=True)
            continue
        columns, took = found
        more = f"{took / ours:,.0f} times as long; {peer.note}"
        if lost := table.num_rows - len(columns[0]):
            more += f"; {lost:,} rows outside the domain"
        _row(peer.name, true.distances(columns), took, more)


def peer_rows(
    peer: Peer, schema: Schema, table: pa.Table, seconds: float
) -> tuple[Sequence[NDArray[Any]], float] | str:
    """A peer's synthetic rows and the time they took; or why there are none."""
    python = peer_python(peer.name.split()[0].lower(), peer.requirements, bare=peer.bare)
    if isinstance(python, str):
        return python
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "table.csv", Path(folder) / "rows.csv"
        pc.write_csv(table, source)
        found = run_peer(python, _script(peer), [source, target], seconds)
        if isinstance(found, str):
            return found
        rows = CodedTable.of(peer.name, schema, read_text(target, ","))
        return rows.columns, float(found["seconds"])


def _baselines(known: CodedTable, true: Marginals) -> None:
    random = np.random.default_rng(1)
    again = known.take(random.integers(0, known.rows, known.rows))
    _row("bootstrap", true.distances(again.columns))
    alone = [random.permutation(column) for column in known.columns]
    _row("independent columns", true.distances(alone))


def _ours(schema: Schema, table: pa.Table, true: Marginals, runs: int = 3) -> float:
    """Our own rows; the seconds at degree 2, which is what the peers do."""
    seconds = {}
    for name, settings in (("hushtable", {}), ("hushtable, degree 2", {"degree": 2})):
        found = [_published(schema, table, "1", true, **settings) for _ in range(runs)]
        seconds[name] = min(took for _, took, _ in found)  # the first may compile
        _row(name, _mean([distances for distances, _, _ in found]), seconds[name])
    return seconds["hushtable, degree 2"]


def _mean(found: Sequence[Mapping[int, float]]) -> dict[int, float]:
    return {ways: float(np.mean([one[ways] for one in found])) for ways in found[0]}


def _row(
    name: str, distances: Mapping[int, float], seconds: float | None = None, more: str = ""
) -> None:
    took = f"{seconds:9.2f}" if seconds is not None else " " * 9
    text = "  ".join(f"{distance:.4f}" for distance in distances.values())
    print(f"  {name:<22}{took}  {text}  {more}", flush=True)


# ── by ε ─────────────────────────────────────────────────────────────────────────────────────────


def accuracy(name: str, schema: Schema, table: pa.Table, runs: int = 3) -> None:
    """Distances and costs at several ε, beside what needs no privacy."""
    known = CodedTable.of(name, schema, table)
    cells = np.log10(float(schema.cells))
    print(f"{name}: {known.rows:,} rows, {len(known.columns)} columns, 10^{cells:.0f} cells")
    print(f"  {'':<22}{'seconds':>9}  1-way   2-way   3-way")
    true = Marginals(known)
    _baselines(known, true)
    for epsilon in EPSILONS:
        found = [_published(schema, table, epsilon, true) for _ in range(runs)]
        distances, seconds = _mean([one for one, _, _ in found]), min(t for _, t, _ in found)
        _row(f"hushtable, ε = {epsilon}", distances, seconds, f"peak {_peak():,.0f} MiB")
        print("    " + "\n    ".join(found[-1][2]))


def _published(
    schema: Schema, table: pa.Table, epsilon: str, true: Marginals, **settings: Any
) -> tuple[dict[int, float], float, list[str]]:
    """Distances, the seconds from the table to rows in memory, and the network."""
    with _release(schema, table, epsilon, **settings) as (release, start):
        release.synthesize(table.num_rows)
        seconds = time.perf_counter() - start
        assert release.network is not None
        columns = drawn_codes(release, table.num_rows)
        return true.distances(columns), seconds, release.network.lines()


@contextmanager
def _release(
    schema: Schema, table: pa.Table, epsilon: str, **settings: Any
) -> Iterator[tuple[Release, float]]:
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        yield (
            hushtable.publish(
                table,
                own_dataset(schema),
                epsilon=epsilon,
                mechanism="privbayes",
                settings=settings,
                out=Path(folder) / "release",
                ledger=Path(folder) / "ledger",
            ),
            start,
        )


def _peak() -> float:
    return peak_memory() / 2**20


def classify(schema: Schema, table: pa.Table) -> None:
    """The share of mistakes on real rows after learning from synthetic ones."""
    order = np.random.default_rng(2).permutation(table.num_rows)
    split = len(order) * 4 // 5
    train = table.take(order[:split])
    real, test = (
        CodedTable.of("adult", schema, t).columns for t in (train, table.take(order[split:]))
    )
    drawn = {}
    for epsilon in EPSILONS:
        with _release(schema, train, epsilon) as (release, _):
            drawn[f"ε = {epsilon}"] = drawn_codes(release, split)
    print("misclassified: " + ", ".join(["majority", "trained on real rows", *drawn]))
    for target in targets(schema):
        found = [majority_misclassified(real, test, target)]
        for rows in (real, *drawn.values()):
            found.append(misclassified(rows, test, schema.shape, target))
        print(f"  {target.name:<18}" + "".join(f"{wrong:8.3f}" for wrong in found), flush=True)


# ── speed ────────────────────────────────────────────────────────────────────────────────────────


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


def main() -> None:
    """One of the commands above."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = ("peers", "stream", "adult", "acs")
    parser.add_argument("command", nargs="?", choices=commands, default="peers")
    parser.add_argument("folder", nargs="?", type=Path, help="the folder of the adult or acs table")
    parser.add_argument("--adult", type=Path, help="the folder of the Adult table, for peers too")
    parser.add_argument("--seconds", type=float, default=900, help="for each peer and table")
    parser.add_argument("--peers", help="names, separated by commas")
    chosen = parser.parse_args()
    tables: dict[str, Callable[[Path], tuple[Schema, pa.Table]]] = {"adult": adult, "acs": acs}
    if chosen.command in tables:
        if chosen.folder is None:
            parser.error(f"{chosen.command} needs a folder")
        schema, table = tables[chosen.command](chosen.folder)
        accuracy(chosen.command, schema, table)
        if chosen.command == "adult":
            classify(schema, table)
    elif chosen.command == "stream":
        stream()
    else:
        wanted = (chosen.peers or ",".join(peer.name for peer in PEERS)).lower().split(",")
        peers = [peer for peer in PEERS if peer.name.lower() in wanted]
        compare("generated", *generated(), peers, chosen.seconds)
        if chosen.adult:
            compare("adult", *adult(chosen.adult), peers, chosen.seconds)


if __name__ == "__main__":
    main()
