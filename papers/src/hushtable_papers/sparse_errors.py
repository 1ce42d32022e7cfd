"""How far the answers of sparse summaries are from the truth: tables, methods, tasks.

G. Cormode, C. Procopiuc, D. Srivastava, T. Tran. Differentially private summaries for sparse data.
ICDT 2012, section on experiments. Defaults are the paper's: m = 10^6 cells of which a tenth is
occupied, counts normal with mean 100 and deviation 20, ε = 0.1, the summary as large as the table
has occupied cells. The paper does not say how many queries it asked.

Summaries are made by the mechanisms and read by the readers that publishing uses, without a release
on disk. Every method meets the same noise on occupied cells: what differs is what is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from hushtable.arrays import Floats, Integers
from hushtable.evaluation.experiment import Key, ResultRow, Task, task_entropy
from hushtable.evaluation.range_queries import Ranges, true_counts
from hushtable.families import find_mechanism
from hushtable.families.sparse.kept import Errors, KeptPlaces
from hushtable.families.sparse.read.cells import CellSummary
from hushtable.families.sparse.read.nodes import NodeSummary
from hushtable.generators import sparse
from hushtable.kernel.counting import Counts
from hushtable.kernel.curator import Curator
from hushtable.kernel.maps.structure import Structure
from hushtable.kernel.noise.entropy import Entropy
from hushtable.kernel.privacy.account import Account
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.release.store import Content
from hushtable.schema import Schema

EPSILON = Fraction(1, 10)
MEAN = 100
SEED = 1
Summary = CellSummary | NodeSummary
Loaded = tuple[Schema, Counts]


class Table(Protocol):
    """A table over one attribute, which is no secret."""

    @property
    def key(self) -> dict[str, str | int | float]:
        """What it is, in plain values."""

    def load(self) -> Loaded:
        """Its schema and counts."""


@dataclass(frozen=True)
class MadeUp:
    """A made-up sparse table, by the paper's parameters."""

    cells: int = 10**6
    density: float = 0.1
    deviation: float = 20.0
    places: str = "uniform"

    @property
    def key(self) -> dict[str, str | int | float]:
        return asdict(self)

    @property
    def occupied(self) -> int:
        """n, the number of occupied cells."""
        return round(self.cells * self.density)

    def load(self) -> Loaded:
        return _made_up(self)


@lru_cache(maxsize=2)
def _made_up(table: MadeUp) -> Loaded:
    made = sparse(mean=float(MEAN), **asdict(table))
    return made.schema, made.counts()


@dataclass(frozen=True)
class Method:
    """A line of a figure: a mechanism with its settings, and parameters that the figure varies."""

    name: str
    mechanism: str
    settings: Mapping[str, str | int] = field(default_factory=dict)
    varied: Mapping[str, int | str] = field(default_factory=dict)


@dataclass(frozen=True)
class QuerySizes:
    """So many questions of each size, in cells; ranges, or subsets of scattered cells."""

    sizes: tuple[int, ...]
    each: int = 100
    kind: str = "ranges"

    def __str__(self) -> str:
        return f"{self.each} {self.kind} of {', '.join(map(str, self.sizes))} cells"


def sizes_up_to(cells: int, share: float = 0.1) -> tuple[int, ...]:
    """100, 300, 1000, … cells, up to a share of the domain."""
    steps = (digit * 10**power for power in range(2, 12) for digit in (1, 3))
    return tuple(size for size in steps if size <= share * cells)


def error_tasks(
    experiment: str,
    table: Table,
    methods: Sequence[Method],
    asked: QuerySizes,
    *,
    repetitions: int,
) -> list[Task]:
    """A task for each method and repetition."""
    return [
        _task(experiment, table, method, asked, repetition)
        for method in methods
        for repetition in range(repetitions)
    ]


def _task(
    experiment: str, table: Table, method: Method, asked: QuerySizes, repetition: int
) -> Task:
    settings = {name: str(value) for name, value in method.settings.items()}
    key: Key = {
        "experiment": experiment,
        **table.key,
        "method": method.name,
        **method.varied,
        "mechanism": method.mechanism,
        "settings": ", ".join(f"{name}={value}" for name, value in sorted(settings.items())),
        "epsilon": float(EPSILON),
        "questions": str(asked),
        "repetition": repetition,
        "seed": SEED,
    }

    def run() -> list[ResultRow]:
        schema, counts = table.load()
        entropy = task_entropy({**table.key, "repetition": repetition}, seed=SEED)
        reader = summary_of(schema, counts, method.mechanism, settings, entropy)
        ask = _off_subsets if asked.kind == "subsets" else _off_ranges
        kept = len(reader.kept.places)
        return [
            {"asked": size, "share": size / schema.cells, "kept": kept, **_errors(off, truth)}
            for size, off, truth in ask(reader, counts, asked)
        ]

    return Task(key, run)


def summary_of(
    schema: Schema, counts: Counts, mechanism: str, settings: Mapping[str, str], entropy: Entropy
) -> Summary:
    """A summary of counts that are no secret, and what answers from it."""
    # Compiles kernels: only when they are needed.
    from hushtable.kernel.noise.bulk import EntropyNoise

    recipe = find_mechanism(mechanism)
    recipe.check(schema, epsilon=EPSILON, settings=settings)
    noise = EntropyNoise(entropy)
    curator = Curator(counts, exposure=schema.exposure, account=Account(EPSILON), noise=noise)
    content = recipe.measure(curator, schema, epsilon=EPSILON, settings=settings)
    return _reader(schema, content)


def _reader(schema: Schema, content: Content) -> Summary:
    told = content.parameters
    errors = Errors(
        noise=DiscreteLaplace(Fraction(content.noise["scale"])),
        theta=told["theta"],
        two_sided=told.get("sides") != "one-sided",
        tau=float(told["tau"]),
    )
    kept = KeptPlaces(lambda: content.arrays["places"], lambda: content.arrays["values"])
    if told["on"] == "cells":
        return CellSummary(schema.shape, kept, errors)
    return NodeSummary(Structure(told["on"], schema.shape), kept, errors)


Offs = Iterator[tuple[int, Floats, Integers]]


def _off_ranges(reader: Summary, counts: Counts, asked: QuerySizes) -> Offs:
    """By size, how far off the answers to ranges are, and the true answers."""
    (cells,) = counts.shape
    for size in asked.sizes:
        starts = np.random.default_rng([SEED, size]).integers(0, cells - size + 1, (asked.each, 1))
        truth = true_counts(counts, Ranges(starts, starts + size))
        yield size, np.asarray(reader.ranges(starts, starts + size)[0] - truth, np.float64), truth


def _off_subsets(reader: Summary, counts: Counts, asked: QuerySizes) -> Offs:
    """By size, how far off sums over scattered cells are, and the true sums."""
    (cells,) = counts.shape
    dense = np.zeros(cells, np.int64)
    dense[counts.codes] = counts.counts
    off = reader.cells() - dense
    for size in asked.sizes:
        random = np.random.default_rng([SEED, size])
        chosen = [random.choice(cells, size, replace=False) for _ in range(asked.each)]
        yield (
            size,
            np.array([off[places].sum() for places in chosen], np.float64),
            np.array([dense[places].sum() for places in chosen]),
        )


def _errors(off: Floats, truth: Integers) -> dict[str, Any]:
    """The mean absolute error and, over questions with an answer, the median relative one."""
    some = truth > 0
    relative = float(np.median(np.abs(off[some]) / truth[some])) if some.any() else None
    return {"absolute_error": float(np.abs(off).mean()), "relative_error": relative}
