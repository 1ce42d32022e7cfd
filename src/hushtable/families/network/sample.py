"""Synthetic rows from a network: each attribute drawn given its parents, in the network's order.

Rows come in batches of their own randomness, so that cores share the work, memory stays flat and
the same seed gives the same rows. There are two ways to draw a value given its parents:

* each row by itself: one random number by the alias method, a column of equal weight, then the
  value it belongs to or its other name;
* all rows of a batch together, evenly: of n rows with the same parents, a value of probability p
  comes ⌊np⌋ or ⌈np⌉ times, to rows that are picked at random. Each row follows the network as
  before, but a batch has less chance in it: its tables are as near to the network's as rounding.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushtable.arrays import cores, made_ahead
from hushtable.families.network.network import Distributions, Link
from hushtable.release.decode import decoder_within_bins

BATCH = 2**17
MOST_EVEN = 2**20
"""Of more rows than this, chance is small beside any noise: each is drawn by itself, faster."""

# Rows that are drawn at once: what is computed on the way stays in a core's cache.
_CHUNK = 2**14


class DrawTable(Protocol):
    """Distributions of one child, one per combination of parents, ready to be drawn from."""

    def draw(self, parents: NDArray[np.int64], random: np.random.Generator) -> NDArray[Any]:
        """A value for each row, from its parents' combination."""


@dataclass(frozen=True, eq=False)
class AliasTable:
    """Draws each row by itself."""

    width: int
    keep: NDArray[np.float64]
    """How much of each column belongs to its own value …"""
    other: NDArray[Any]
    """… and the value the rest belongs to."""

    @classmethod
    def of(cls, conditional: NDArray[np.float64]) -> AliasTable:
        rows = conditional.reshape(-1, conditional.shape[-1])
        keep = rows * rows.shape[1]
        other = np.tile(np.arange(rows.shape[1]), (len(rows), 1))
        for kept, names in zip(keep, other, strict=True):
            _fill_up(kept, names)
        narrow = np.min_scalar_type(rows.shape[1] - 1)
        return cls(rows.shape[1], keep.reshape(-1), other.astype(narrow).reshape(-1))

    def draw(self, parents: NDArray[np.int64], random: np.random.Generator) -> NDArray[Any]:
        """A value for each row, from its parents' combination."""
        scaled = random.random(len(parents)) * self.width
        column = scaled.astype(np.int64)
        scaled -= column
        place = column + parents * self.width
        own = scaled < self.keep.take(place, mode="clip")  # unchecked: no place is outside
        return np.where(own, column.astype(self.other.dtype), self.other.take(place, mode="clip"))


def _fill_up(keep: NDArray[np.float64], names: NDArray[np.int64]) -> None:
    """Vose's method: fill what a small weight leaves of its column from a large one."""
    weights = keep.tolist()
    small = [i for i, weight in enumerate(weights) if weight < 1]
    large = [i for i, weight in enumerate(weights) if weight >= 1]
    while small and large:
        less, more = small.pop(), large[-1]
        names[less] = more
        weights[more] -= 1 - weights[less]
        if weights[more] < 1:
            small.append(large.pop())
    for i in (*small, *large):  # what rounding left over
        weights[i] = 1.0
    keep[:] = weights


@dataclass(frozen=True, eq=False)
class EvenTable:
    """Draws the rows of a batch together: systematic sampling, within each group of parents."""

    width: int
    ends: NDArray[np.float64]
    """Cumulative probabilities, those of the i-th combination of parents from i to i + 1."""

    @classmethod
    def of(cls, conditional: NDArray[np.float64]) -> EvenTable:
        rows = conditional.reshape(-1, conditional.shape[-1])
        ends = np.cumsum(rows, axis=1)
        ends /= ends[:, -1:]
        return cls(rows.shape[1], (ends + np.arange(len(rows))[:, None]).reshape(-1))

    def draw(self, parents: NDArray[np.int64], random: np.random.Generator) -> NDArray[Any]:
        """A value for each row, from its parents' combination."""
        order = random.permutation(len(parents))
        narrow = parents.astype(np.min_scalar_type(len(self.ends) // self.width - 1))
        order = order[np.argsort(narrow[order], kind="stable")]  # fast for numbers of 16 bits
        home = parents[order]
        number = np.bincount(home)
        rank = np.arange(len(home)) - (np.cumsum(number) - number)[home]
        part = (rank + random.random(len(number))[home]) / number[home]
        place = np.searchsorted(self.ends, home + part, side="right") - home * self.width
        drawn = np.empty(len(home), np.min_scalar_type(self.width - 1))
        drawn[order] = np.clip(place, 0, self.width - 1)  # rounding may lead beyond an end
        return drawn


def row_batches(fitted: Distributions, rows: int, seed: int | None) -> Iterator[pa.RecordBatch]:
    """Rows of a network in batches, in flat memory: drawn evenly, or very many each by itself."""
    return RowSampler(fitted, even=rows <= MOST_EVEN).batches(rows, seed)


class RowSampler:
    """Draws rows from a network, each by itself or evenly."""

    def __init__(self, fitted: Distributions, *, even: bool = False) -> None:
        self._fitted = fitted
        self._at_once = BATCH if even else _CHUNK
        draws: type[EvenTable] | type[AliasTable] = EvenTable if even else AliasTable
        self._tables: list[DrawTable] = [draws.of(table) for table in fitted.conditionals]

    def codes(self, rows: int, random: np.random.Generator) -> list[NDArray[Any]]:
        """The codes of each attribute, in the schema's order."""
        chunks = [
            self._chunk(min(self._at_once, rows - start), random)
            for start in range(0, max(rows, 1), self._at_once)
        ]
        return [np.concatenate(column) for column in zip(*chunks, strict=True)]

    def _chunk(self, rows: int, random: np.random.Generator) -> list[NDArray[Any]]:
        drawn: dict[int, NDArray[Any]] = {}
        for link, table in zip(self._fitted.network.links, self._tables, strict=True):
            parents = np.broadcast_to(self._parents(link, drawn), rows)
            drawn[link.axis] = table.draw(parents, random)
        return [drawn[axis] for axis in range(len(drawn))]

    def _parents(self, link: Link, drawn: dict[int, NDArray[Any]]) -> NDArray[np.int64]:
        """Which combination of parents each row has."""
        network, place = self._fitted.network, np.zeros(1, np.int64)
        for axis, level in link.parents:
            groups = network.levels[axis][level][drawn[axis]]
            place = place * network.size((axis, level)) + groups
        return place

    def batches(self, rows: int, seed: int | None) -> Iterator[pa.RecordBatch]:
        """The rows as Arrow batches, a few made ahead on other cores; at least one batch."""
        sizes = [min(BATCH, rows - start) for start in range(0, rows, BATCH)] or [0]
        seeds = np.random.SeedSequence(seed)
        tasks = ((size, seeds.spawn(1)[0]) for size in sizes)
        return made_ahead(lambda task: self._batch(*task), tasks, 2 * cores())

    def _batch(self, rows: int, seed: np.random.SeedSequence) -> pa.RecordBatch:
        random = np.random.default_rng(seed)
        codes = self.codes(rows, random)
        attributes = self._fitted.network.schema.attributes
        return pa.RecordBatch.from_pydict(
            {
                attribute.name: decoder_within_bins(attribute, random)(along)
                for attribute, along in zip(attributes, codes, strict=True)
            }
        )
