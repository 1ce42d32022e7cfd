"""Answers from a network of noisy tables: probabilities by exact inference, times the total.

Where a measured table tells the count itself, its error follows from that table (`network_error`).
Elsewhere the error is an estimate: what the network may miss, and noise, by the delta method. With
c the noisy table of a link and Pr[x | π] = c(x, π)/c(π), the answer's derivative by c(x, π) is

    Pr[box | x, π] − Pr[box | π]

to first order; the noise of a table has the same variance in every cell, so the squares of all
derivatives add up to the answer's variance. The total brings its own part.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats
from hushtable.errors import QueryError
from hushtable.families.network.error import (
    MeasuredLaw,
    ModelError,
    Told,
    alike_rows,
    missed_part,
    missed_together,
)
from hushtable.families.network.fit import FittedNetwork, cell_map
from hushtable.families.network.inference import Elimination, Weights, weights_of
from hushtable.families.network.network import Network
from hushtable.query.batch import cells_as_ranges
from hushtable.query.box import Box, Boxes
from hushtable.query.cutting import Cuts
from hushtable.query.law import NoiseLaw
from hushtable.query.reader import Estimates

NOTE = (
    "inference on a network of noisy tables; the error is that of the tables where one has all"
    " attributes asked for, and else an estimate of the noise and of what the network misses"
)
MOST_CELLS = 2**24

# Boxes are answered in lots for which no table, and no set of derivatives, is larger than this:
# what is worked on stays near the processor.
_LOT = 2**19


@dataclass(frozen=True, eq=False)
class NetworkReader:
    """A network and its noisy tables, as something that answers; fitted when first asked."""

    network: Network
    fit: Callable[[], FittedNetwork]

    note = NOTE
    estimate = True

    @cached_property
    def fitted(self) -> FittedNetwork:
        """The network with its distributions."""
        return self.fit()

    @property
    def total(self) -> float:
        """The number of rows, noisy."""
        return self.fitted.total

    def law(self, boxes: Boxes) -> NoiseLaw:
        """The estimated error of the count of disjoint boxes."""
        return self.count(boxes)[1]

    def count(self, boxes: Boxes) -> tuple[float, NoiseLaw]:
        """The estimated count of disjoint boxes, and its estimated error."""
        return self.group(boxes, ()).only()

    def group(self, boxes: Boxes, cuts: Cuts) -> Estimates:
        """The estimated counts of disjoint boxes cut by groups of codes along some axes."""
        numbers = [len(ranges) for _, ranges in cuts]
        rows = math.prod(numbers)
        values, laws, shape = np.zeros(rows), [], self.network.schema.shape
        held = [box for box in boxes if box.cells]
        for lot in self._lots(rows):
            places = np.unravel_index(lot, numbers) if numbers else ()
            weights = [weights_of(shape, box, cuts, places) for box in held]
            values[lot], found = self._answer(weights, len(lot))
            laws += found
        return Estimates(values, tuple(laws), np.arange(rows))

    def _answer(self, boxes: Sequence[Weights], rows: int) -> tuple[Floats, list[NoiseLaw]]:
        """The counts of unions of disjoint boxes, and the laws of their errors."""
        values, laws = np.zeros(rows), np.empty(rows, object)
        for lot, alike in alike_rows(self.network, boxes, rows):
            values[lot], laws[lot] = self._answer_alike(alike, len(lot))
        return values, laws.tolist()

    def _answer_alike(self, boxes: Sequence[Weights], rows: int) -> tuple[Floats, list[NoiseLaw]]:
        """The same, of questions that ask for the same attributes, and as finely."""
        told = Told(self.fitted, rows)
        for weights in boxes:
            told.add(weights)
        noises = told.noises()
        if noises is not None:
            values = self._counts(boxes, rows)
            measured = zip(values.tolist(), told.sums.tolist(), noises, strict=True)
            return values, [MeasuredLaw(*found, told.number) for found in measured]
        shares, variances = self._estimate(boxes, rows)
        values = self.fitted.total * sum(shares, start=np.zeros(rows))
        found = list(zip(boxes, shares, strict=True))
        missed, most = missed_together(self.fitted, found, self._missed_part, rows)
        columns = (values, variances, missed**2, np.maximum(most - values, 0.0))
        return values, [ModelError(*row) for row in np.stack(columns, axis=1).tolist()]

    def _counts(self, boxes: Sequence[Weights], rows: int) -> Floats:
        shares = np.zeros(rows)
        for weights in boxes:
            shares += Elimination(self.fitted, weights).probabilities
        return np.asarray(self.fitted.total * shares)

    @cached_property
    def _missed_part(self) -> float:
        return missed_part(self.fitted)

    def _lots(self, rows: int) -> Iterator[NDArray[np.intp]]:
        widest = max(p.size for p in self.fitted.conditionals)
        step = max(1, _LOT // max(widest, sum(t.size for t in self.fitted.tables)))
        for start in range(0, rows, step):
            yield np.arange(start, min(start + step, rows))

    def _estimate(self, boxes: Sequence[Weights], rows: int) -> tuple[list[Floats], Floats]:
        """The probabilities of boxes, and the variances of the counts of their unions."""
        shares = []
        slopes = [np.zeros((rows, table.size)) for table in self.fitted.tables]
        for weights in boxes:
            found = Elimination(self.fitted, weights)
            shares.append(found.probabilities)
            found.differentiate()
            self._add_slopes(found, slopes)
        variances = sum(shares, start=np.zeros(rows)) ** 2 * self.fitted.total_variance
        for slope, variance in zip(slopes, self.fitted.variances, strict=True):
            variances += variance * np.einsum("ij,ij->i", slope, slope)
        return shares, variances

    def _add_slopes(self, found: Elimination, slopes: list[Floats]) -> None:
        """Add the derivatives by the cells of the measured tables, link by link."""
        for link in found.links:
            place = self.network.links.index(link)
            conditional = self.fitted.conditionals[place]
            counts = self.fitted.parent_counts[place][..., None]
            given = found.slope(link) * self.fitted.total
            given /= np.maximum(counts, 1e-300)
            # Pr[box | x, π] is a probability, whatever a table says that has hardly any rows of π.
            np.minimum(given, 1.0, out=given)
            given -= np.einsum("...x,...x->...", conditional, given)[..., None]
            home, cells = self._homes[place]
            flat = given.reshape(len(given), -1)
            alike = np.array_equal(cells, np.arange(flat.shape[1]))
            slopes[home] += flat if alike else flat.take(cells, axis=1)

    @cached_property
    def _homes(self) -> list[tuple[int, NDArray[np.int64]]]:
        """For each link the table it is read off, and the link's cell of each of its cells."""
        network = self.network
        homes = [network.home(link) for link in network.links]
        return [
            (home, cell_map(network, network.measured[home], link.table))
            for home, link in zip(homes, network.links, strict=True)
        ]

    # ── cells and ranges ─────────────────────────────────────────────────────────────────────────

    def cells(self) -> NDArray[np.float64]:
        """The estimated count of every cell, where the domain is small enough to lay out."""
        network = self.network
        shape = network.schema.shape
        if math.prod(shape) > MOST_CELLS:
            raise QueryError(
                f"the domain has about 10^{math.log10(math.prod(shape)):.0f} cells, too many to"
                " lay out: ask for counts, or for synthetic rows"
            )
        cells = np.full(shape, self.fitted.total)
        for link, conditional in zip(network.links, self.fitted.conditionals, strict=True):
            table = conditional
            for i, (axis, level) in enumerate(link.parents):
                table = table.take(network.levels[axis][level], axis=i)
            axes = [axis for axis, _ in link.parents] + [link.axis]
            order = sorted(range(len(axes)), key=axes.__getitem__)
            lengths = [shape[axis] if axis in axes else 1 for axis in range(len(shape))]
            cells *= table.transpose(order).reshape(lengths)
        return cells

    def fresh_cells(self) -> NDArray[np.float64]:
        """The estimated count of every cell, in memory of its own."""
        return self.cells()

    def cell_variances(self, codes: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
        """The estimated square error of each of many cells."""
        return self.range_variances(*cells_as_ranges(codes))

    def range_variances(
        self, starts: NDArray[np.int64], stops: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """The estimated square error of each of many boxes."""
        return self.ranges(starts, stops)[1]

    def ranges(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """The estimated counts of many boxes, and their estimated square errors."""
        shape = self.network.schema.shape
        values, variances = np.zeros(len(starts)), np.zeros(len(starts))
        for lot in self._lots(len(starts)):
            ends = np.stack([starts[lot], stops[lot]], axis=2)
            groups = [(axis, ends[:, axis]) for axis in range(starts.shape[1])]
            places = [np.arange(len(lot))] * len(groups)
            weights = weights_of(shape, Box.full(shape), groups, places)
            values[lot], laws = self._answer([weights], len(lot))
            variances[lot] = [law.variance for law in laws]
        return values, variances
