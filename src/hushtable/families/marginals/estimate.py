"""Estimates of what no small table tells, from the model of all attributes (`model.py`).

A question that the tables answer is answered by them. Of any other, the model gives the count by
exact inference. Its error has two parts, both guesses. Noise: each measured table of some of the
question's attributes bears on the answer, by its own standard error times the answer's share in its
count. What the model misses: the question is cut into blocks that tables tell; that these depend on
each other in no other way than the model says was tried on tables that it had not used, and what
was missed there is taken for what is missed here (`network/error.py`). A count is never below zero,
and never above that of fewer conditions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats
from hushtable.families.marginals.joint import divided
from hushtable.families.marginals.model import Model
from hushtable.families.marginals.read import BeyondTablesError, MarginalsReader
from hushtable.families.network.error import ModelError, missed_share
from hushtable.families.network.inference import Elimination, weights_of
from hushtable.query.box import Box, Boxes
from hushtable.query.cutting import Cuts
from hushtable.query.law import NoiseLaw
from hushtable.query.reader import Estimates

NOTE = "a model of noisy tables of a few attributes each; an estimate: no table tells this count"

# Boxes are answered in lots for which no table is larger than this.
_LOT = 2**21
# Standard errors above a noisy count beyond which the true one is not looked for.
_ABOVE = 3.0


@dataclass(frozen=True, eq=False)
class EstimatingReader:
    """Small tables, and for all that they do not tell a model of them."""

    tables: MarginalsReader

    def count(self, boxes: Boxes) -> tuple[float, NoiseLaw]:
        """The count of disjoint boxes, and the law of its noise or its estimated error."""
        return self.group(boxes, ()).only()

    def group(self, boxes: Boxes, cuts: Cuts) -> Estimates:
        """The counts of disjoint boxes cut by groups of codes along some axes."""
        try:
            return self.tables.group(boxes, cuts)
        except BeyondTablesError:
            return self._modelled([box for box in boxes if box.cells], cuts)

    def _modelled(self, boxes: Sequence[Box], cuts: Cuts) -> Estimates:
        rows = math.prod(len(ranges) for _, ranges in cuts)
        columns = np.zeros((4, rows))
        values, noise, missed, most = columns
        for box in boxes:
            beside = _Beside(self.tables, box, cuts)
            found = _counts(self.tables.model, box, cuts)
            values += found
            # What is wrong with several boxes may have one cause: deviations add up.
            noise += beside.noise(found)
            missed += beside.missed(found)
            most += beside.most()
        columns[1:3] **= 2
        columns[3] = np.maximum(most - values, 0.0)
        errors = [ModelError(v, n, m, room, NOTE) for v, n, m, room in columns.T.tolist()]
        return Estimates(values, tuple(errors), np.arange(rows))


def _counts(model: Model, box: Box, cuts: Cuts) -> Floats:
    """What the model says of a box, group by group."""
    numbers, shape = [len(ranges) for _, ranges in cuts], model.network.schema.shape
    rows, widest = math.prod(numbers), max(table.size for table in model.conditionals)
    values, step = np.zeros(rows), max(1, _LOT // widest)
    for start in range(0, rows, step):
        lot = np.arange(start, min(start + step, rows))
        places = np.unravel_index(lot, numbers) if numbers else ()
        values[lot] = Elimination(model, weights_of(shape, box, cuts, places)).probabilities
    return values * model.total


@dataclass(eq=False)
class _Beside:
    """What the tables tell of fewer conditions than those of a box and its groups."""

    tables: MarginalsReader
    box: Box
    cuts: Cuts
    found: dict[frozenset[int], tuple[Floats, Floats]] = field(default_factory=dict)
    """For each largest set of conditions that tables tell, counts and deviations by group."""

    def __post_init__(self) -> None:
        shape = self.tables.schema.shape
        grouped = {axis for axis, _ in self.cuts}
        constrained = {a for a, codes in enumerate(self.box.sets) if codes.count < shape[a]}
        self.axes = frozenset(grouped | constrained)
        waiting = {self.axes & frozenset(table.axes) for table in self.tables.tables}
        for size in range(len(self.axes), -1, -1):
            for axes in sorted((one for one in waiting if len(one) == size), key=sorted):
                if any(axes <= other for other in self.found):
                    continue
                told = self._told(axes)
                if told is not None:
                    self.found[axes] = told
                else:  # not as finely as asked
                    waiting |= {axes - {axis} for axis in axes}

    def _told(self, axes: frozenset[int]) -> tuple[Floats, Floats] | None:
        """The counts of some of the conditions, group by group, and their deviations."""
        full = Box.full(self.tables.schema.shape)
        sets = zip(self.box.sets, full.sets, strict=True)
        box = Box(tuple(own if a in axes else whole for a, (own, whole) in enumerate(sets)))
        try:
            found = self.tables.group((box,), [cut for cut in self.cuts if cut[0] in axes])
        except BeyondTablesError:
            return None
        deviations = np.sqrt([law.variance for law in found.laws])[found.law_of_row]
        return self._spread(found.values, axes), self._spread(deviations, axes)

    def _spread(self, values: NDArray[np.float64], axes: frozenset[int]) -> Floats:
        """Values of some of the groupings, for all rows."""
        lengths = [len(ranges) if axis in axes else 1 for axis, ranges in self.cuts]
        every = [len(ranges) for _, ranges in self.cuts]
        return np.broadcast_to(values.reshape(lengths), every).reshape(-1)

    def noise(self, values: Floats) -> Floats:
        """The deviation of answers by the noise of all tables that bear on them."""
        squares = np.zeros_like(values)
        for counts, deviations in self.found.values():
            share = divided(values, np.maximum(counts, np.maximum(values, deviations)))
            squares += (share * deviations) ** 2
        return np.sqrt(squares)

    def missed(self, values: Floats) -> Floats:
        """The deviation of what the model may miss; what no table tells may be anything."""
        total, shares = self.tables.model.total, []
        left = self.axes
        while block := max((axes & left for axes in self.found), key=len):
            told = self._told(block)
            assert told is not None  # for more is told
            shares.append(np.clip(told[0] / total, 0, 1))
            left -= block
        deviation = self.tables.model.missed * missed_share(shares, values / total) * total
        return np.maximum(deviation, self.most()) if left else deviation

    def most(self) -> Floats:
        """The largest counts that there can be: none is above that of fewer conditions."""
        ends = [counts + _ABOVE * deviations for counts, deviations in self.found.values()]
        return np.asarray(np.minimum.reduce(ends))
