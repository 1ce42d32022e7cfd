"""Random range counts, as in the experiments of the Privelet paper (§8.1), and their true answers.

A query has as many predicates as a draw from 1 … d says, each on an attribute of its own. On an
ordinal attribute a predicate is an interval, every one of the |A|·(|A| + 1)/2 equally likely; on a
nominal one a node of the hierarchy other than the root, every one equally likely. Nulls and
undeclared values, where they have a code, are in no predicate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import OptionError
from hushtable.kernel.counting import Counts
from hushtable.query.batch import accumulate, box_sums
from hushtable.schema import Attribute, Schema

Ends = NDArray[np.int64]

# Up to here all cells are laid out and added up once; beyond, each query looks at every cell held.
_LAID_OUT = 2**28


@dataclass(frozen=True, repr=False)
class Ranges:
    """Many boxes: codes start ≤ code < stop, a row for each query, a column for each attribute."""

    starts: Ends
    stops: Ends

    def __len__(self) -> int:
        return len(self.starts)

    def coverage(self, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """The share of the domain's cells that each box covers."""
        covered = np.prod(self.stops - self.starts, axis=1, dtype=np.float64)
        return np.asarray(covered / np.prod(shape, dtype=np.float64))


def random_ranges(schema: Schema, queries: int = 40_000, *, seed: int = 1) -> Ranges:
    """Range counts on one to all attributes, in equal parts."""
    if queries < 1:
        raise OptionError("there must be at least one query")
    random = np.random.default_rng(seed)
    axes = len(schema.shape)
    predicates = random.integers(1, axes + 1, queries)
    order = random.random((queries, axes)).argsort(axis=1).argsort(axis=1)
    asked = order < predicates[:, None]
    starts = np.zeros((queries, axes), np.int64)
    stops = np.tile(np.array(schema.shape, np.int64), (queries, 1))
    for axis, attribute in enumerate(schema.attributes):
        draw = _nodes if attribute.kind == "nominal" else _intervals
        chosen = asked[:, axis]
        starts[chosen, axis], stops[chosen, axis] = draw(attribute, int(chosen.sum()), random)
    return Ranges(starts, stops)


def _intervals(
    attribute: Attribute, queries: int, random: np.random.Generator
) -> tuple[Ends, Ends]:
    """Two different ends out of |A| + 1: every interval is one such pair."""
    one = random.integers(0, attribute.declared + 1, queries)
    other = random.integers(0, attribute.declared, queries)
    other += other >= one
    return np.minimum(one, other), np.maximum(one, other)


def _nodes(attribute: Attribute, queries: int, random: np.random.Generator) -> tuple[Ends, Ends]:
    assert attribute.hierarchy is not None  # nominal attributes have one
    nodes = attribute.hierarchy.nodes[1:] or attribute.hierarchy.nodes
    ends = np.array([(node.start, node.stop) for node in nodes], np.int64)
    picked = ends[random.integers(0, len(nodes), queries)]
    return picked[:, 0], picked[:, 1]


def true_counts(counts: Counts, ranges: Ranges) -> NDArray[np.int64]:
    """How many rows are in each box."""
    if np.prod(counts.shape, dtype=float) > _LAID_OUT:
        return _true_counts_one_by_one(counts, ranges)
    dense = np.zeros(counts.shape, np.int64)
    dense.reshape(-1)[counts.codes] = counts.counts
    return np.asarray(box_sums(accumulate(dense), ranges.starts, ranges.stops), np.int64)


def _true_counts_one_by_one(counts: Counts, ranges: Ranges) -> NDArray[np.int64]:
    codes = np.stack(np.unravel_index(counts.codes, counts.shape), axis=1)
    inside = (
        ((codes >= start) & (codes < stop)).all(axis=1)
        for start, stop in zip(ranges.starts, ranges.stops, strict=True)
    )
    return np.array([counts.counts[cells].sum() for cells in inside], np.int64)


def quintiles(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """The fifth, 1 … 5, in which each value lies; among equal values the first comes first."""
    ranks = np.argsort(np.argsort(values, kind="stable"), kind="stable")
    return np.asarray(1 + ranks * 5 // len(values), np.int64)
