"""Answers from noisy small tables of a wide table, and the exact law of their noise.

Tables in which every attribute stands at one level form a *layer* (`layers.py`), which is read by
least squares (`least_squares.py`). Where an attribute stands at several levels there are several:
their answers are independent, and are averaged by their variances, which are known beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats, Integers
from hushtable.errors import QueryError
from hushtable.families.marginals.asked import Asked, axis_asked
from hushtable.families.marginals.layers import (
    Layer,
    LayerQuestion,
    LayerWeighing,
    ends_of,
    layers_of,
)
from hushtable.families.marginals.least_squares import Axes, Measured, ReadTable
from hushtable.families.marginals.tables import SmallTable, Transforms, groups_at
from hushtable.kernel.privacy.noises import KnownNoise
from hushtable.query.answer import unrounded
from hushtable.query.averaging import averaged_noise, precisions, shares_of
from hushtable.query.batch import cells_as_ranges, range_boxes
from hushtable.query.box import Box, Boxes, CodeSet
from hushtable.query.cutting import AxisRanges, Cuts, all_codes
from hushtable.query.law import NoiseLaw, NoiseSum, checked_confidence
from hushtable.query.reader import Estimates
from hushtable.query.weighing import LawOfFactors, WeighedBox, Weighing, factors_of
from hushtable.schema import Schema

if TYPE_CHECKING:
    import pyarrow

    from hushtable.families.marginals.estimate import EstimatingReader
    from hushtable.families.marginals.model import Model

NOTE = "least squares over noisy tables of a few attributes each"
# Tables that a refusal names.
_NAMED = 3


class BeyondTablesError(QueryError):
    """No table has all attributes of a question, as finely as it asks for them."""


@dataclass(frozen=True, eq=False)
class MarginalsReader:
    """The tables of a release, as something that answers."""

    schema: Schema
    tables: tuple[SmallTable, ...]
    layers: tuple[Layer, ...]

    note = NOTE
    estimate = False

    @classmethod
    def of(
        cls,
        schema: Schema,
        tables: Sequence[SmallTable],
        noises: Sequence[KnownNoise],
        reads: Sequence[ReadTable],
        transforms: Transforms,
    ) -> MarginalsReader:
        """What answers from some tables, each with its noise."""
        measured = [
            Measured(table.axes, read, noise)
            for table, read, noise in zip(tables, reads, noises, strict=True)
        ]
        layers = [
            Layer.of(schema, [tables[i] for i in some], [measured[i] for i in some], transforms)
            for some in layers_of(tables)
        ]
        return cls(schema, tuple(tables), tuple(layers))

    @property
    def table_names(self) -> tuple[str, ...]:
        """The attributes of each table, as a setting lists them."""
        return tuple(table.name(self.schema) for table in self.tables)

    @property
    def first_cell(self) -> Boxes:
        """A cell of the first table."""
        ends = {}
        for seen in self.tables[0].seen:
            groups = groups_at(self.schema, seen)
            ends[seen.axis] = CodeSet.of((0, int(np.searchsorted(groups, 1))))
        full = Box.full(self.schema.shape)
        return (Box(tuple(ends.get(axis, codes) for axis, codes in enumerate(full.sets))),)

    def law(self, boxes: Boxes) -> NoiseLaw:
        """The law of the noise in the count of disjoint boxes."""
        return self._laws(self._questions(boxes, ()))[0][0]

    def count(self, boxes: Boxes) -> tuple[float, NoiseLaw]:
        """The estimated count of disjoint boxes, and the law of its noise."""
        return self.group(boxes, ()).only()

    def group(self, boxes: Boxes, cuts: Cuts) -> Estimates:
        """The estimated counts of disjoint boxes cut by groups of codes along some axes."""
        if not all(len(ranges) for _, ranges in cuts):
            return Estimates(np.zeros(0), (), np.zeros(0, np.intp))
        questions = self._questions(boxes, cuts)
        laws, law_of_row, shares = self._laws(questions)
        values = sum(
            share[law_of_row] * question.values()
            for question, share in zip(questions, shares, strict=True)
        )
        return Estimates(np.asarray(values), tuple(laws), law_of_row)

    def group_sums(self, part: WeighedBox, cuts: Cuts) -> Floats:
        """What a weighed box counts in each group, without its factor, by the first layer."""
        codes = {axis: all_codes(part.box.sets[axis]) for axis in part.along}
        every = [*cuts, *((axis, np.stack([of, of + 1], axis=1)) for axis, of in codes.items())]
        found = self._questions((part.box,), every)[0].values()
        for axis, of in reversed(codes.items()):
            found = found.reshape(-1, len(of)) @ part.along[axis][of]
        return found

    def kinds(self, boxes: Boxes, cuts: Cuts) -> list[Integers]:
        """Which groups along each axis are alike in all boxes, as the first layer sees them."""
        layer, found = self.layers[0], []
        for axis, ranges in cuts:
            sets = [layer.places(axis, ends_of(box.sets[axis].intervals)) for box in boxes]
            ends = layer.places(axis, ends_of(ranges))
            if axis not in layer.agreeing.along or ends is None or any(one is None for one in sets):
                self._refuse((axis,))
            seen = [CodeSet.of(*map(tuple, one.tolist())) for one in sets if one is not None]
            found.append(axis_asked(layer.agreeing.along[axis], seen, ends)[1])
        return found

    @property
    def adds_up(self) -> bool:
        """Several layers count by their variances, other ones for every question."""
        return len(self.layers) == 1

    @property
    def exact(self) -> bool:
        """Answers have no error but noise, whose law the tables alone tell."""
        return True

    @cached_property
    def parts(self) -> tuple[MarginalsReader, ...]:
        """Its layers one by one, whose noises are independent."""
        if len(self.layers) == 1:
            return (self,)
        return tuple(replace(self, layers=(layer,)) for layer in self.layers)

    def weigh(self, weighing: Weighing) -> tuple[float, NoiseLaw]:
        """The answer to a linear question, and the law of its noise."""
        seen = self._weighings(weighing)
        shares, law = self._weighed(seen, [one.asked() for one in seen])
        values = (share * one.value() for share, one in zip(shares, seen, strict=True))
        return math.fsum(values), law

    def weighed_law(self, weighing: Weighing) -> NoiseLaw:
        """The law of the noise in the answer to a linear question."""
        return self.weighed_laws(weighing)(factors_of(weighing))

    def weighed_laws(self, weighing: Weighing) -> LawOfFactors:
        """The laws of a linear question for any factors of its boxes."""
        seen = self._weighings(weighing)
        asked = [one.asked() for one in seen]

        def law(factors: Floats) -> NoiseLaw:
            told = tuple(factors.tolist())
            return self._weighed(seen, [replace(one, factors=told) for one in asked])[1]

        return law

    def _weighings(self, weighing: Weighing) -> list[LayerWeighing]:
        """The question as each layer sees it that can answer it."""
        shape = self.schema.shape
        seen = (LayerWeighing.of(layer, shape, weighing) for layer in self.layers)
        found = [one for one in seen if one is not None]
        if not found:
            widest = max((part.axes(shape) for part in weighing), key=len)
            self._refuse(widest)
        return found

    def _weighed(
        self, seen: Sequence[LayerWeighing], asked: Sequence[Asked]
    ) -> tuple[list[float], NoiseSum]:
        """The share of each layer in the answer, and its law."""
        reads = [one.layer.agreeing for one in seen]
        if len(seen) == 1:
            return [1.0], reads[0].law(asked[0])
        variances = [[read.variance(row)] for read, row in zip(reads, asked, strict=True)]
        shares = [float(share[0]) for share in shares_of(variances)]
        laws = (read.law(row) for read, row in zip(reads, asked, strict=True))
        return shares, averaged_noise(zip(shares, laws, strict=True))

    def _questions(self, boxes: Boxes, cuts: Cuts) -> list[LayerQuestion]:
        """The question as each layer sees it that can answer it.

        An axis that is asked for as a whole needs no table: nothing is cut, whatever is said.
        """
        shape = self.schema.shape
        cuts = [(axis, ends) for axis, ends in cuts if not _is_whole(ends, shape[axis])]
        grouped = {axis for axis, _ in cuts}
        axes = tuple(
            axis
            for axis, size in enumerate(shape)
            if axis in grouped or any(box.sets[axis].count < size for box in boxes)
        )
        seen = (LayerQuestion.of(layer, axes, boxes, cuts) for layer in self.layers)
        found = [question for question in seen if question is not None]
        if not found:
            self._refuse(axes)
        return found

    def _laws(
        self, questions: Sequence[LayerQuestion]
    ) -> tuple[list[NoiseSum], NDArray[np.intp], list[Floats]]:
        """The distinct laws of the rows, which of them each has, and each layer's share in it."""
        rows = [question.rows() for question in questions]
        if len(questions) == 1:  # all of it is told by one layer
            (distinct, which), read = rows[0], questions[0].layer.agreeing
            return [read.law(asked) for asked in distinct], which, [np.ones(len(distinct))]
        kinds, law_of_row = np.unique(
            np.stack([which for _, which in rows]), axis=1, return_inverse=True
        )
        asked = [[of[number] for number in kind] for (of, _), kind in zip(rows, kinds, strict=True)]
        agreeing = [question.layer.agreeing for question in questions]
        shares = shares_of(
            [
                [read.variance(row) for row in rows]
                for read, rows in zip(agreeing, asked, strict=True)
            ]
        )
        laws = [
            averaged_noise(
                (share[k], read.law(rows[k]))
                for share, read, rows in zip(shares, agreeing, asked, strict=True)
            )
            for k in range(kinds.shape[1])
        ]
        return laws, law_of_row.reshape(-1), shares

    def _refuse(self, axes: Axes) -> NoReturn:
        """Say which tables are nearest to the one that a question needs."""
        names = " and ".join(self.schema.attributes[axis].name for axis in axes)
        near = sorted(self.tables, key=lambda table: -len(set(table.axes) & set(axes)))[:_NAMED]
        listed = ", ".join(table.name(self.schema) for table in near)
        joined = " together" if len(axes) > 1 else ""
        line = f"no table of this release tells {names}{joined} as finely as asked"
        raise BeyondTablesError(
            f"{line}; the nearest: {listed}; a model of the tables gives an estimate:"
            " estimate=True, or --estimate",
            plainly=f"N{line[1:]}. The nearest: {listed}.",
        )

    # ── what a model of the tables tells ─────────────────────────────────────────────────────────

    @property
    def total(self) -> float:
        """The number of rows, noisy; zero at the least."""
        return max(self.count((Box.full(self.schema.shape),))[0], 0.0)

    @cached_property
    def model(self) -> Model:
        """A distribution of all attributes together, fitted to the tables when first needed."""
        from hushtable.families.marginals.model import fit_model

        return fit_model(self.schema, self.layers, self.total)

    def estimating(self) -> EstimatingReader:
        """What answers by the model where the tables do not."""
        from hushtable.families.marginals.estimate import EstimatingReader

        return EstimatingReader(self)

    def batches(self, rows: int, seed: int | None) -> Iterator[pyarrow.RecordBatch]:
        """Rows of the model in batches, in flat memory."""
        from hushtable.families.network.sample import row_batches

        return row_batches(self.model, rows, seed)

    # ── cells and ranges ─────────────────────────────────────────────────────────────────────────

    def cells(self) -> NDArray[np.float64]:
        """The estimated count of every cell, where one table has all attributes."""
        shape = self.schema.shape
        axes = tuple(axis for axis, size in enumerate(shape) if size > 1)
        if not any(layer.agreeing.answers(axes) for layer in self.layers):
            self._refuse(axes)
        every = [(axis, _each(size)) for axis, size in enumerate(shape)]
        return self.group((Box.full(shape),), every).values.reshape(shape)

    def fresh_cells(self) -> NDArray[np.float64]:
        """The estimated count of every cell, in memory of its own."""
        return self.cells()

    def cell_variances(self, codes: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
        """The noise variance of each of many cells."""
        return self.range_variances(*cells_as_ranges(codes))

    def range_variances(
        self, starts: NDArray[np.int64], stops: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """The noise variance of each of many boxes."""
        variances = np.zeros(len(starts))
        for lot, axes, layers in self._alike(starts, stops):
            boxes = axes, starts[lot], stops[lot]
            told = [precisions(layer.range_variances(*boxes)) for layer in layers]
            variances[lot] = 1 / np.sum(told, axis=0)
        return variances

    def ranges(self, starts: NDArray[np.int64], stops: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """The estimated counts of many boxes, and their noise variances."""
        values, variances = np.zeros(len(starts)), np.zeros(len(starts))
        for lot, axes, layers in self._alike(starts, stops):
            found = [layer.ranges(axes, starts[lot], stops[lot]) for layer in layers]
            told = np.stack([precisions(of) for _, of in found])
            values[lot] = np.sum(told * [counts for counts, _ in found], axis=0) / told.sum(axis=0)
            variances[lot] = told.sum(axis=0)
        return values, 1 / variances

    def range_intervals(
        self, starts: Integers, stops: Integers, confidence: float
    ) -> tuple[Floats, Floats, Floats]:
        """The estimated counts of many boxes, and the ends of their intervals.

        Where all codes of an axis are alike, boxes of the same extent have the same law.
        """
        level = checked_confidence(confidence)
        values, _ = self.ranges(starts, stops)
        moved = np.where(self._even, starts, 0)
        ends, which = np.unique(
            np.stack([starts - moved, stops - moved], 2), axis=0, return_inverse=True
        )
        boxes = range_boxes(ends[..., 0], ends[..., 1])
        halves = np.array([self.law((box,)).half_width(level) for box in boxes])
        halves = halves[which.reshape(-1)]
        return values, *unrounded(values, halves, halves)

    @cached_property
    def _even(self) -> NDArray[np.bool_]:
        """Along which axes every code has its own noisy count, in all tables."""
        even = np.ones(len(self.schema.shape), bool)
        for layer in self.layers:
            even[list(layer.edges)] = False
            even[[axis for axis, read in layer.agreeing.along.items() if not read.plain]] = False
        return even

    def _alike(
        self, starts: Integers, stops: Integers
    ) -> Iterator[tuple[NDArray[np.intp], Axes, list[Layer]]]:
        """Boxes that have conditions on the same attributes and are answered by the same layers."""
        whole = (starts == 0) & (stops == np.array(self.schema.shape))
        patterns, which = np.unique(~whole, axis=0, return_inverse=True)
        for number, pattern in enumerate(patterns):
            lot = np.flatnonzero(which.reshape(-1) == number)
            axes = tuple(np.flatnonzero(pattern).tolist())
            fits = [layer.fits(axes, starts[lot], stops[lot]) for layer in self.layers]
            kinds, kind_of = np.unique(np.stack(fits, axis=1), axis=0, return_inverse=True)
            for place, kind in enumerate(kinds):
                if not kind.any():
                    self._refuse(axes)
                able = [layer for layer, fit in zip(self.layers, kind, strict=True) if fit]
                yield lot[kind_of.reshape(-1) == place], axes, able


def _is_whole(ranges: AxisRanges, size: int) -> bool:
    return len(ranges) == 1 and tuple(ranges[0]) == (0, size)


def _each(size: int) -> Integers:
    codes = np.arange(size)
    return np.stack([codes, codes + 1], axis=1)
