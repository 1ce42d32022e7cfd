"""Answers from the boxes of a split domain and the noisy counts of a tree over them.

Which boxes there are was decided before anything was counted, by noise of its own. Given the boxes,
a count of whole boxes errs by a known weighted sum of noises. A question that cuts boxes is
answered as if the rows of a box were spread evenly over its cells. Nobody knows where they are, so
its interval reaches from the lower bound of the boxes that lie wholly inside to the upper bound of
all that it touches; each bound fails in half of the chance of missing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats, Integers
from hushtable.errors import QueryError
from hushtable.families.splits.asked import Asked, asked_of_leaves
from hushtable.families.splits.least_squares import Consistent
from hushtable.kernel.maps.splits import SplitBoxes
from hushtable.kernel.privacy.noises import KnownNoise
from hushtable.query.answer import unrounded
from hushtable.query.box import Box, Boxes
from hushtable.query.cutting import Cuts
from hushtable.query.law import NoiseLaw, NoiseSum, checked_confidence, margins_of
from hushtable.query.reader import Estimates, LazyLaws
from hushtable.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

NOTE = "noisy counts of boxes that hold rows, and of boxes of those, which agree by least squares"

MOST_CELLS = 2**27
# Numbers that are held at once: boxes and questions.
_AT_ONCE = 2**21


@dataclass(frozen=True, eq=False)
class SplitCounts:
    """A tree of boxes, and the noise and the counts of the tree over its leaves."""

    boxes: SplitBoxes
    consistent: Consistent
    kinds: Integers
    """Which noise each node of the counted tree has …"""
    noises: Sequence[KnownNoise]
    """… of these."""
    read_counts: Callable[[], NDArray[Any]]

    @cached_property
    def leaves(self) -> Floats:
        """The count of each leaf, read and verified when first needed."""
        return self.consistent.leaves(self.read_counts().astype(np.float64))

    @cached_property
    def sizes(self) -> Integers:
        """How many cells each leaf has."""
        leaves = self.boxes.leaves
        return np.asarray(np.prod(leaves.stops - leaves.starts, axis=1))

    @cached_property
    def variances(self) -> Floats:
        """The variance of the noise of each node's count."""
        return np.array([noise.variance for noise in self.noises])[self.kinds]

    def noise_of(self, leaves: Floats) -> NoiseSum:
        """The law of the noise of a weighted sum of leaves."""
        weights = self.consistent.weights(leaves[:, None])[:, 0]
        return NoiseSum.merged(weights, np.ones(len(weights), np.int64), self.kinds, self.noises)

    def noise_variances(self, leaves: Floats) -> Floats:
        """The variances of weighted sums of leaves, a column for each."""
        return np.asarray(self.variances @ np.square(self.consistent.weights(leaves)))


@dataclass(frozen=True, eq=False)
class CutLaw:
    """The error of a count that cuts boxes."""

    value: float
    variance: float
    inside: float
    """The count of the boxes that lie wholly inside, …"""
    inside_noise: NoiseSum
    touched: float
    """… and of all that the question touches."""
    touched_noise: NoiseSum

    estimate = False

    def margins(self, confidence: float) -> tuple[float, float]:
        """How far the interval reaches below the value, and how far above."""
        # A symmetric law misses on one side in half of the cases in which it misses.
        miss = 1 - checked_confidence(confidence)
        low = max(self.inside - self.inside_noise.reach(miss), 0.0)
        high = self.touched + self.touched_noise.reach(miss)
        return _as_far_as(self.value - low), _as_far_as(high - self.value)

    def half_width(self, confidence: float) -> float:
        """The longer of both sides."""
        return max(self.margins(confidence))


@dataclass(frozen=True, eq=False)
class SplitReader:
    """What answers from boxes and their counts."""

    schema: Schema
    open_counts: Callable[[], SplitCounts]

    note = NOTE
    estimate = False

    @cached_property
    def held(self) -> SplitCounts:
        """The boxes, rebuilt when they are first needed."""
        return self.open_counts()

    # ── questions ────────────────────────────────────────────────────────────────────────────────

    def law(self, boxes: Boxes) -> NoiseLaw:
        """The law of the error in the count of disjoint boxes; it needs the counts."""
        return self.count(boxes)[1]

    def count(self, boxes: Boxes) -> tuple[float, NoiseLaw]:
        """The count of disjoint boxes, and the law of its error."""
        return self.group(boxes, ()).only()

    def group(self, boxes: Boxes, cuts: Cuts) -> Estimates:
        """The counts of disjoint boxes cut by groups of codes along some axes."""
        sizes = [len(ranges) for _, ranges in cuts]
        rows = math.prod(sizes)
        ends = [(axis, np.array(ranges, np.int64).reshape(-1, 2)) for axis, ranges in cuts]

        def asked(which: Integers) -> Asked:
            starts = np.zeros((len(which), len(self.schema.shape)), np.int64)
            stops = np.tile(np.array(self.schema.shape, np.int64), (len(which), 1))
            numbers = np.unravel_index(which, sizes) if sizes else ()
            for (axis, ranges), number in zip(ends, numbers, strict=True):
                starts[:, axis], stops[:, axis] = ranges[number].T
            return asked_of_leaves(self.held.boxes.leaves, self.held.sizes, boxes, starts, stops)

        values = np.zeros(rows)
        for lot in self._lots(rows):
            values[lot] = asked(lot).parts.T @ self.held.leaves
        laws = LazyLaws(rows, lambda row: self._law(asked(np.array([row]))))
        return Estimates(values, laws, np.arange(rows, dtype=np.intp))

    def _law(self, asked: Asked) -> NoiseLaw:
        """The law of the error of one answer."""
        held, parts = self.held, asked.parts[:, 0]
        if not asked.cut[:, 0].any():
            return held.noise_of(parts)
        inside, touched = (
            which[:, 0].astype(np.float64) for which in (asked.whole, asked.whole | asked.cut)
        )
        return CutLaw(
            float(parts @ held.leaves),
            float(self._variances(asked)[0]),
            float(inside @ held.leaves),
            held.noise_of(inside),
            float(touched @ held.leaves),
            held.noise_of(touched),
        )

    def _variances(self, asked: Asked) -> Floats:
        """Variances of the noise, and of where the rows of boxes that are cut may be.

        As if these rows stood together, anywhere in their box with the same chance.
        """
        rows = np.maximum(self.held.leaves, 0.0)
        spread = np.square(rows) @ (asked.parts * (1 - asked.parts))
        return np.asarray(self.held.noise_variances(asked.parts) + spread)

    def _lots(self, rows: int) -> Iterator[Integers]:
        step = max(_AT_ONCE // self.held.consistent.tree.nodes, 1)
        for start in range(0, rows, step):
            yield np.arange(start, min(start + step, rows))

    # ── many boxes ───────────────────────────────────────────────────────────────────────────────

    def ranges(self, starts: Integers, stops: Integers) -> tuple[Floats, Floats]:
        """The counts of many boxes, and their variances."""
        values, variances = np.zeros(len(starts)), np.zeros(len(starts))
        for lot in self._lots(len(starts)):
            asked = self._asked_ranges(starts[lot], stops[lot])
            values[lot] = asked.parts.T @ self.held.leaves
            variances[lot] = self._variances(asked)
        return values, variances

    def range_variances(self, starts: Integers, stops: Integers) -> Floats:
        """The variance of each of many boxes."""
        return self.ranges(starts, stops)[1]

    def range_intervals(
        self, starts: Integers, stops: Integers, confidence: float
    ) -> tuple[Floats, Floats, Floats]:
        """The counts of many boxes, and the ends of their intervals."""
        values = self.ranges(starts, stops)[0]
        below, above = np.zeros((2, len(starts)))
        for row in range(len(starts)):
            law = self._law(self._asked_ranges(starts[row : row + 1], stops[row : row + 1]))
            below[row], above[row] = margins_of(law, confidence)
        return values, *unrounded(values, below, above)

    def _asked_ranges(self, starts: Integers, stops: Integers) -> Asked:
        everything = (Box.full(self.schema.shape),)
        return asked_of_leaves(self.held.boxes.leaves, self.held.sizes, everything, starts, stops)

    # ── cells and rows ───────────────────────────────────────────────────────────────────────────

    def cells(self) -> Floats:
        """The count of every cell, as if rows were spread evenly over their boxes."""
        shape = self.schema.shape
        if math.prod(shape) > MOST_CELLS:
            raise QueryError(
                f"the domain has {math.prod(shape):,} cells, too many to lay out: ask for counts,"
                " or for synthetic rows"
            )
        dense, leaves = np.empty(shape), self.held.boxes.leaves
        each = (self.held.leaves / self.held.sizes).tolist()
        ends = zip(leaves.starts.tolist(), leaves.stops.tolist(), each, strict=True)
        for starts, stops, count in ends:
            dense[tuple(slice(*side) for side in zip(starts, stops, strict=True))] = count
        return dense

    def fresh_cells(self) -> Floats:
        """The count of every cell, in memory of its own."""
        return self.cells()

    def cell_variances(self, codes: Sequence[NDArray[Any]]) -> Floats:
        """The variance of each of many cells."""
        held = self.held
        leaf = held.boxes.part_of(codes)
        part = 1 / held.sizes[leaf]
        spread = np.square(np.maximum(held.leaves[leaf], 0.0)) * part * (1 - part)
        return np.asarray(held.consistent.leaf_variances[leaf] * part**2 + spread)

    @property
    def total(self) -> float:
        """The number of rows, noisy."""
        return max(float(self.held.leaves.sum()), 0.0)

    def batches(self, rows: int, seed: int | None) -> Iterator[pa.RecordBatch]:
        """Rows drawn from the boxes, as often as each counts, evenly over its cells."""
        from hushtable.release.synthesize import draw_cells, rows_of

        random, leaves = np.random.default_rng(seed), self.held.boxes.leaves
        picks = draw_cells(self.held.leaves, self.total, rows, random)
        codes = random.integers(leaves.starts[picks], leaves.stops[picks])
        places = np.ravel_multi_index(tuple(codes.T), self.schema.shape)
        table: pa.Table = rows_of(self.schema, np.asarray(places, np.int64), random)
        return iter(table.to_batches() or table.schema.empty_table().to_batches())


def _as_far_as(margin: float) -> float:
    """A margin that reaches an end in spite of rounding: the truth may lie just there."""
    return float(np.nextafter(margin * (1 + 1e-12), np.inf)) if margin > 0 else 0.0
