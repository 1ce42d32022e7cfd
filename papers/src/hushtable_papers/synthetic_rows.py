"""How good synthetic rows are: their marginals, and what a classifier learns from them.

Tables are coded columns throughout, real and synthetic ones alike. Distances between marginals are
total variation: the share of the rows that would have to move. A classifier learns whether an
attribute has one of some values from all other attributes; logistic regression on indicators, for
what matters here is the rows, not the classifier.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushtable.errors import NoisyRowsWarning
from hushtable.evaluation.experiment import Key, task_entropy
from hushtable.evaluation.range_errors import experiment_release
from hushtable.kernel.counting import Counts, code_table
from hushtable.release import Release
from hushtable.schema import Schema
from hushtable.scratch import spill_folder

Columns = Sequence[NDArray[Any]]

MOST_SETS = 100
"""Of more sets of attributes than this, so many are chosen at random."""
_PENALTY = 0.5
_STEPS = 12


@dataclass(frozen=True, eq=False, repr=False)
class CodedTable:
    """A table that is no secret, as codes."""

    name: str
    schema: Schema
    columns: Columns

    @classmethod
    def of(cls, name: str, schema: Schema, table: pa.Table) -> CodedTable:
        """Encode a table, as publishing would."""
        return cls(name, schema, ordered(code_table(table, schema).columns))

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return len(self.columns[0])

    def take(self, rows: NDArray[np.int64]) -> CodedTable:
        """Some of the rows, as often as they are named."""
        return CodedTable(self.name, self.schema, [column[rows] for column in self.columns])

    def counts(self) -> Counts:
        """The counts of the non-empty cells."""
        linear = _joint(self.columns, range(len(self.columns)), self.schema.shape)
        return Counts(self.schema.shape, *np.unique(linear, return_counts=True))


def synthetic(
    table: CodedTable,
    key: Key,
    *,
    mechanism: str,
    epsilon: str,
    seed: int,
    settings: Mapping[str, str] | None = None,
) -> Columns:
    """As many synthetic rows as the table has; the same for the same key and seed."""
    with spill_folder() as folder:
        release = experiment_release(
            table.counts(),
            table.schema,
            folder / "experiment.release",
            mechanism=mechanism,
            epsilon=epsilon,
            settings=settings,
            entropy=task_entropy(key, seed=seed),
        )
        return drawn_codes(release, table.rows, seed=seed)


def drawn_codes(release: Release, rows: int, *, seed: int | None = None) -> Columns:
    """Synthetic rows of a release, as codes; how much of them is noise is what is measured."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoisyRowsWarning)
        drawn = release.synthesize(rows, seed=seed)
    text = pa.table({name: drawn[name].cast(pa.string()) for name in drawn.column_names})
    return ordered(code_table(text, release.schema).columns)


def ordered(columns: Columns) -> Columns:
    """The same rows, sorted: engines give them in any order, and experiments are repeatable."""
    order = np.lexsort(tuple(columns)[::-1])
    return [column[order] for column in columns]


# ── marginals ────────────────────────────────────────────────────────────────────────────────────


class Marginals:
    """The one-, two- and three-way marginals of a table, to compare other tables with."""

    def __init__(self, table: CodedTable) -> None:
        self._shape = table.schema.shape
        self._sets = {ways: _chosen(len(self._shape), ways) for ways in (1, 2, 3)}
        self._codes = {
            axes: _joint(table.columns, axes, self._shape)
            for sets in self._sets.values()
            for axes in sets
        }

    def distances(self, columns: Columns) -> dict[int, float]:
        """The mean distance of the marginals of so many attributes."""
        return {
            ways: float(np.mean([self._distance(columns, axes) for axes in sets]))
            for ways, sets in self._sets.items()
            if sets
        }

    def _distance(self, columns: Columns, axes: tuple[int, ...]) -> float:
        return total_variation(self._codes[axes], _joint(columns, axes, self._shape))


def total_variation(one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
    """The share of the rows in which two columns of codes differ, however they are ordered."""
    values, place = np.unique(np.concatenate([one, other]), return_inverse=True)
    shares = [
        np.bincount(part, minlength=len(values)) / len(part)
        for part in (place[: len(one)], place[len(one) :])
    ]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def _chosen(attributes: int, ways: int) -> list[tuple[int, ...]]:
    sets = list(itertools.combinations(range(attributes), ways))
    if len(sets) <= MOST_SETS:
        return sets
    places = np.random.default_rng(0).choice(len(sets), MOST_SETS, replace=False)
    return [sets[place] for place in sorted(places.tolist())]


def _joint(columns: Columns, axes: Sequence[int], shape: Sequence[int]) -> NDArray[np.int64]:
    codes = tuple(columns[axis].astype(np.int64) for axis in axes)
    return np.asarray(np.ravel_multi_index(codes, [shape[axis] for axis in axes]), np.int64)


# ── classifiers ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Target:
    """What a classifier is to tell: whether an attribute has one of some codes."""

    name: str
    axis: int
    codes: tuple[int, ...]

    @classmethod
    def of(cls, name: str, schema: Schema, attribute: str, first: str, *more: str) -> Target:
        """Whether an attribute has one of the given labels."""
        axis = schema.index(attribute)
        values = schema.attributes[axis].values
        places = {str(values.label(code)): code for code in range(values.size)}
        return cls(name, axis, tuple(places[label] for label in (first, *more)))

    def told(self, columns: Columns) -> NDArray[np.bool_]:
        """The truth of each row."""
        return np.isin(columns[self.axis], self.codes)


def misclassified(train: Columns, test: Columns, shape: Sequence[int], target: Target) -> float:
    """The share of the test rows that are told wrongly after learning from other rows.

    Logistic regression by Newton's method, with a small penalty so that there is one solution.
    """
    places, y = _indicators(train, shape, target.axis), target.told(train).astype(float)
    weights = np.zeros(1 + sum(shape))
    for _ in range(_STEPS):
        p = 1 / (1 + np.exp(-np.clip(weights[places].sum(axis=0), -30, 30)))
        slope = _sums(places, p - y, len(weights)) + _PENALTY * weights
        curve = _products(places, p * (1 - p), len(weights)) + _PENALTY * np.eye(len(weights))
        step = np.linalg.solve(curve, slope)
        weights -= step
        if np.abs(step).max() < 1e-3:
            break
    guessed = weights[_indicators(test, shape, target.axis)].sum(axis=0) > 0
    return float(np.mean(guessed != target.told(test)))


def majority_misclassified(train: Columns, test: Columns, target: Target) -> float:
    """The same for a guess that looks at nothing: the answer that most training rows have."""
    guess = float(target.told(train).mean()) > 0.5
    return float(np.mean(target.told(test) != guess))


def _indicators(columns: Columns, shape: Sequence[int], target: int) -> NDArray[np.int64]:
    """Which indicators each row has, a line for each attribute but the target; all have the first.

    A row has one indicator of each attribute, so that sums over rows are counts, not products.
    """
    starts = np.cumsum([1, *shape])
    held = [starts[i] + c.astype(np.int64) for i, c in enumerate(columns) if i != target]
    return np.stack([np.zeros(len(columns[0]), np.int64), *held])


def _sums(places: NDArray[np.int64], each: NDArray[np.float64], size: int) -> NDArray[np.float64]:
    """The sum over the rows that have an indicator, for each indicator."""
    return np.asarray(np.sum([np.bincount(line, each, size) for line in places], axis=0))


def _products(
    places: NDArray[np.int64], each: NDArray[np.float64], size: int
) -> NDArray[np.float64]:
    """The sum over the rows that have two indicators, for each pair of indicators."""
    total = np.zeros((size, size))
    for i, one in enumerate(places):
        total[np.diag_indices(size)] += np.bincount(one, each, size)
        for other in places[i + 1 :]:
            block = np.bincount(one * size + other, each, size * size).reshape(size, size)
            total += block + block.T
    return total
