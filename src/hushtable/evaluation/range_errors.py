"""How far the answers of a mechanism are from the truth: tasks for an experiment.

Each task publishes counts at an ε with noise that can be replayed, asks the release many ranges and
compares. Measures are those of the Privelet paper (§8.1), over all queries and by fifths of their
coverage (share of the cells) and selectivity (share of the rows): the mean absolute error, and the
mean relative error |x − true| / max(true, s), where the sanity bound s is 0.1 % of all rows; beside
them the mean square error, and the mean variance that the release itself states.
"""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hushtable.evaluation.experiment import Key, ResultRow, Task, task_entropy
from hushtable.evaluation.range_queries import Ranges, quintiles, true_counts
from hushtable.families import find_mechanism
from hushtable.kernel.counting import CodedColumns, Counts
from hushtable.kernel.curator import Curator
from hushtable.kernel.privacy.account import Account
from hushtable.kernel.privacy.loss import (
    EpsilonLike,
    Loss,
    parse_epsilon,
    stated_eta,
)
from hushtable.release import Release
from hushtable.release.writing import write_experiment
from hushtable.schema import Schema
from hushtable.scratch import spill_folder

if TYPE_CHECKING:
    from hushtable.kernel.noise.entropy import Entropy

SANITY = 0.001
MechanismChoice = str | tuple[str, Mapping[str, str]]
"""A mechanism by its name, or with settings."""


@dataclass(frozen=True, repr=False)
class Known:
    """Counts that are no secret, questions about them, and the true answers."""

    name: str
    schema: Schema
    counts: Counts
    ranges: Ranges
    answers: NDArray[np.int64]

    @classmethod
    def of(cls, name: str, schema: Schema, counts: Counts, ranges: Ranges) -> Known:
        """Work out the true answers, once for all tasks.

        Cells come from an engine in any order; sorted, the same noise falls on the same cell.
        """
        order = np.argsort(counts.codes)
        counts = Counts(counts.shape, counts.codes[order], counts.counts[order])
        return cls(name, schema, counts, ranges, true_counts(counts, ranges))

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return int(self.counts.counts.sum())

    @property
    def at_least_sane(self) -> NDArray[np.float64]:
        """What errors are relative to: the true answers, or 0.1 % of all rows if that is more."""
        return np.maximum(self.answers, max(SANITY * self.rows, SANITY))

    def fingerprint(self) -> str:
        """A short text that other counts, domains or questions do not have."""
        digest = hashlib.sha256(repr((self.schema.to_dict(), len(self.ranges))).encode())
        held = (self.counts.codes, self.counts.counts)
        for array in (*held, self.ranges.starts, self.ranges.stops):
            digest.update(np.ascontiguousarray(array, np.int64).data)
        return digest.hexdigest()[:16]


def range_error_tasks(
    experiment: str,
    known: Known,
    *,
    mechanisms: Sequence[MechanismChoice],
    epsilons: Sequence[EpsilonLike],
    repetitions: int = 1,
    seed: int = 1,
) -> list[Task]:
    """A task for each mechanism, ε and repetition.

    The key holds a fingerprint of the counts and the questions: other data, other tasks.
    """
    tasks, fingerprint = [], known.fingerprint()
    combined = itertools.product(mechanisms, epsilons, range(repetitions))
    for recipe, epsilon, repetition in combined:
        name, settings = (recipe, {}) if isinstance(recipe, str) else recipe
        key: Key = {
            "experiment": experiment,
            "data": known.name,
            "mechanism": name,
            "settings": ", ".join(f"{key}={value}" for key, value in sorted(settings.items())),
            "epsilon": float(parse_epsilon(epsilon)),
            "repetition": repetition,
            "seed": seed,
            "input": fingerprint,
        }
        tasks.append(_task(known, key, name, settings, parse_epsilon(epsilon), seed))
    return tasks


def _task(
    known: Known,
    key: Key,
    mechanism: str,
    settings: Mapping[str, str],
    epsilon: Fraction,
    seed: int,
) -> Task:
    def run() -> list[ResultRow]:
        entropy = task_entropy(key, seed=seed)
        return range_errors(known, mechanism, epsilon, settings, entropy)

    return Task(key, run)


def range_errors(
    known: Known,
    mechanism: str,
    epsilon: EpsilonLike,
    settings: Mapping[str, str],
    entropy: Entropy,
    subsets: Mapping[str, NDArray[np.bool_]] | None = None,
) -> list[ResultRow]:
    """Publish once, ask all ranges, compare; the release is gone afterwards."""
    with spill_folder() as folder:
        release = experiment_release(
            known.counts,
            known.schema,
            folder / "experiment.release",
            mechanism=mechanism,
            epsilon=epsilon,
            settings=settings,
            entropy=entropy,
        )
        values, errors = release.count_ranges(known.ranges.starts, known.ranges.stops)
    return list(error_rows(known, np.asarray(values, np.float64), errors**2, subsets))


def error_rows(
    known: Known,
    values: NDArray[np.float64],
    variances: NDArray[np.float64],
    subsets: Mapping[str, NDArray[np.bool_]] | None = None,
) -> Iterator[dict[str, Any]]:
    """The measures of answers, over all queries and by fifths of coverage and selectivity.

    `subsets` say of each query whether it belongs to a further group of that name.
    """
    off = np.abs(values - known.answers)
    groups = {
        "coverage": known.ranges.coverage(known.schema.shape),
        "selectivity": known.answers / max(known.rows, 1),
    }
    columns = {
        **groups,
        "square_error": off**2,
        "absolute_error": off,
        "relative_error": off / known.at_least_sane,
        "variance": variances,
    }
    yield {"group": "all", "fifth": 0, **_means(columns, np.ones(len(off), bool))}
    for group, by in groups.items():
        fifths = quintiles(by)
        for fifth in range(1, 6):
            if (inside := fifths == fifth).any():
                yield {"group": group, "fifth": fifth, **_means(columns, inside)}
    for group, inside in (subsets or {}).items():
        if inside.any():
            yield {"group": group, "fifth": 0, **_means(columns, inside)}


def _means(columns: dict[str, NDArray[np.float64]], inside: NDArray[np.bool_]) -> dict[str, Any]:
    means = {f"mean_{name}": float(column[inside].mean()) for name, column in columns.items()}
    return {"queries": int(inside.sum()), **means}


def experiment_release(
    held: Counts | CodedColumns,
    schema: Schema,
    folder: Path,
    *,
    mechanism: str,
    epsilon: EpsilonLike,
    entropy: Entropy,
    settings: Mapping[str, str] | None = None,
) -> Release:
    """A release of what is no secret: no ledger, noise that can be replayed, not private.

    Counts will do for every mechanism. Whatever the entropy, the release is marked as not private:
    nothing was paid for it.
    """
    from hushtable.kernel.noise.bulk import (
        EntropyNoise,  # compiles kernels: only when they are needed
    )

    recipe, amount, chosen = find_mechanism(mechanism), parse_epsilon(epsilon), dict(settings or {})
    recipe.check(schema, epsilon=amount, settings=chosen)
    if recipe.needs == "columns" and isinstance(held, Counts):
        held = _as_columns(held)
    curator = Curator(
        held, exposure=schema.exposure, account=Account(amount), noise=EntropyNoise(entropy)
    )
    content = recipe.measure(curator, schema, epsilon=amount, settings=chosen)
    loss = Loss(amount, stated_eta(curator.eta))
    return write_experiment(folder, schema, content, loss, mechanism=recipe.name)


def _as_columns(counts: Counts) -> CodedColumns:
    codes = np.unravel_index(counts.codes, counts.shape)
    narrow = [np.min_scalar_type(size - 1) for size in counts.shape]
    columns = tuple(along.astype(kind) for along, kind in zip(codes, narrow, strict=True))
    return CodedColumns(counts.shape, columns, counts.counts)
