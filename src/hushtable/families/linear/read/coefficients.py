"""Answers from noisy coefficients of a product of transforms, and the exact law of their noise.

A box is a product of one row of weights per axis; its estimate is the sum of weights times noisy
coefficients, its noise the same sum over independent noises. Only the coefficients that a question
touches are read.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats, Integers
from hushtable.errors import QueryError
from hushtable.families.linear.read.groups import (
    AxisGroups,
    OneSum,
    kinds_of,
    laid_out,
    union,
    weights_of,
)
from hushtable.families.linear.read.many import (
    ClassedAxis,
    Gathering,
    Spread,
    counted,
    has_many,
    law_of_rows,
    laws_of_classes,
)
from hushtable.families.linear.read.spiked import shared_laws
from hushtable.families.linear.read.transforms import ProductReading
from hushtable.families.linear.rows import WeightRow
from hushtable.kernel.maps import AxisTransform, Identity
from hushtable.kernel.privacy.noises import KnownNoise
from hushtable.query.box import Box, Boxes, CodeSet
from hushtable.query.cutting import Cuts
from hushtable.query.law import NoiseLaw, NoiseSum
from hushtable.query.law.noise_sum import is_many
from hushtable.query.reader import Estimates, LazyLaws, ReadBox
from hushtable.query.weighing import (
    LawOfFactors,
    WeighedBox,
    Weighing,
    class_counts,
    class_weights,
    code_classes,
    factors_of,
    unique_columns,
)

# Weights held at once when the boxes of a condition have to be added up.
_PIECE = 2**22
# Coefficients that one condition of several boxes may touch.
_MOST_TOUCHED = 2**28

Refine = Callable[[NDArray[np.float64], list[NDArray[np.int64]]], NDArray[np.float64]]


@dataclass(frozen=True)
class NoisyCoefficients:
    """The noisy coefficients of a product of transforms; the noise is that of factor one."""

    reading: ProductReading
    read: ReadBox
    noise: KnownNoise
    note: str
    refine: Refine | None = None
    """What is done to coefficients before they are used."""

    estimate = False
    adds_up = True

    def law(self, boxes: Boxes) -> NoiseLaw:
        """The law of the noise in the count of disjoint boxes."""
        held = [box for box in boxes if box.cells]
        if not held:
            return NoiseSum(())
        rows = [self._rows(box) for box in held] if len(held) > 1 or self._many else []
        if len(held) > 1:
            return self._touched(rows, read=False)[1]
        if self._many and self._are_many(math.prod(len(row.positions) for row in rows[0])):
            return law_of_rows(self.noise, self._transforms, rows[0])
        return self._product_law([self._spread_of(i, c) for i, c in enumerate(held[0].sets)])

    def count(self, boxes: Boxes) -> tuple[float, NoiseLaw]:
        """The estimated count of disjoint boxes, and the law of its noise."""
        rows = [self._rows(box) for box in boxes if box.cells]
        if len(rows) > 1:
            return self._touched(rows, read=True)
        weights = [[row] for row in rows[0]] if rows else []
        return (self._contract(weights).item() if rows else 0.0), self.law(boxes)

    def weigh(self, weighing: Weighing) -> tuple[float, NoiseLaw]:
        """The answer to a linear question, and the law of its noise."""
        values = self.weighed_values(weighing) * factors_of(weighing)
        return math.fsum(values.tolist()), self.weighed_law(weighing)

    def weighed_values(self, weighing: Weighing) -> Floats:
        """The answer to each box of a linear question, without its factor."""
        return np.array([self._contract(self._weight_rows(part)).item() for part in weighing])

    def _weight_rows(self, part: WeighedBox) -> list[list[WeightRow]]:
        """The weights of the coefficients along each axis."""
        return [[self._weight_row(part, i)] for i in self._axes]

    def _weight_row(self, part: WeighedBox, i: int) -> WeightRow:
        if i not in part.along:
            return self._row(i, part.box.sets[i])
        axis = self.reading.axes[i]
        weights = axis.rows(part.weights(i, axis.transform.size))
        positions = np.flatnonzero(weights)
        return WeightRow(positions, weights[positions])

    def weighed_law(self, weighing: Weighing) -> NoiseLaw:
        """The law of the noise in the answer to a linear question."""
        return self.weighed_laws(weighing)(factors_of(weighing))

    def weighed_laws(self, weighing: Weighing) -> LawOfFactors:
        """The laws of a linear question for any factors of its boxes."""
        if not weighing:
            return lambda _: NoiseSum(())
        axes = range(len(self.reading.axes))
        weights, counts, numbers = zip(
            *(self._coefficient_classes(weighing, axis) for axis in axes), strict=True
        )
        if self._many and self._are_many(math.prod(map(len, numbers))):
            parts = zip(weights, counts, numbers, self._transforms, strict=True)
            along = [
                ClassedAxis(rows, often, tuple(axis.classes[k].factor for k in which.tolist()))
                for rows, often, which, axis in parts
            ]
            return laws_of_classes(self.noise, along)
        scales, which = self._factors(numbers)
        noises = [self.noise.times(scale) for scale in scales]
        number = class_counts(counts).reshape(-1)

        def law(factors: Floats) -> NoiseLaw:
            sizes = class_weights(factors, weights).reshape(-1)
            return NoiseSum.merged(sizes, number, which, noises)

        return law

    def _coefficient_classes(
        self, weighing: Weighing, axis: int
    ) -> tuple[Floats, Integers, Integers]:
        """The different weights of an axis' coefficients, how many have them, and of which class.

        Classes are those of the transform, which have a factor each.
        """
        reading = self.reading.axes[axis]
        if isinstance(reading.transform, Identity):
            weights, counts = code_classes(weighing, axis)
            return weights, counts, np.zeros(len(counts), np.int64)
        sums = np.stack([part.weights(axis, reading.transform.size) for part in weighing])
        rows = reading.rows(sums)
        numbers = self._factor_numbers(axis, np.arange(rows.shape[1]))
        found, which = unique_columns(np.vstack([rows, numbers]))
        return found[:-1], np.bincount(which), found[-1].astype(np.int64)

    def _factors(self, numbers: Sequence[Integers]) -> tuple[list[Fraction], NDArray[np.intp]]:
        """The factors of all combinations of classes: the different ones, and which each has."""
        classes = [axis.transform.classes for axis in self.reading.axes]
        sizes = [len(of) for of in classes]
        places = np.meshgrid(*numbers, indexing="ij")
        found, which = np.unique(np.ravel_multi_index(places, sizes), return_inverse=True)
        products = [
            math.prod(
                (of[i].factor for of, i in zip(classes, place, strict=True)), start=Fraction(1)
            )
            for place in zip(*np.unravel_index(found, sizes), strict=True)
        ]
        factors = sorted(set(products))
        number = np.array([factors.index(product) for product in products], np.intp)
        return factors, number[which.reshape(-1)]

    def group(self, boxes: Boxes, cuts: Cuts) -> Estimates:
        """The estimated counts of disjoint boxes cut by groups of codes along some axes.

        The values of boxes add up. Groups of the same kinds along all axes have the same law, which
        is worked out, for one of them, when it is looked at.
        """
        held = [box for box in boxes if box.cells]
        sizes = [len(ranges) for _, ranges in cuts]
        if not held or not all(sizes):
            rows = math.prod(sizes)
            return Estimates(np.zeros(rows), (NoiseSum(()),), np.zeros(rows, np.intp))
        groups = [[self._groups(i, box.sets[i], cuts) for i in self._axes] for box in held]
        values = sum(self._sums(along, cuts) for along in groups)
        kinds = [kinds_of([along[axis] for along in groups]) for axis, _ in cuts]
        numbers = [len(first) for _, first in kinds]

        def law(number: int) -> NoiseLaw:
            places = np.unravel_index(number, numbers) if numbers else ()
            cut = {
                axis: CodeSet.of((int(ranges[first[place]][0]), int(ranges[first[place]][1])))
                for (axis, ranges), (_, first), place in zip(cuts, kinds, places, strict=True)
            }
            return self.law(tuple(_cut(box, cut) for box in held))

        law_of_row = np.zeros((), np.intp)
        for (which, _), number in zip(kinds, numbers, strict=True):
            law_of_row = np.add.outer(law_of_row * number, which)
        laws = LazyLaws(math.prod(numbers), law)
        if len(held) == 1 and self._many:
            firsts = {axis: first for (axis, _), (_, first) in zip(cuts, kinds, strict=True)}
            laws = shared_laws(self.reading, self.noise, groups[0], firsts, law) or laws
        return Estimates(np.asarray(values).reshape(-1), laws, law_of_row.reshape(-1))

    def kinds(self, boxes: Boxes, cuts: Cuts) -> list[Integers]:
        """Which groups along each axis have coefficients of the same weights in all boxes."""
        along = ([self._groups(axis, box.sets[axis], cuts) for box in boxes] for axis, _ in cuts)
        return [kinds_of(groups)[0] for groups in along]

    def group_sums(self, part: WeighedBox, cuts: Cuts) -> Floats:
        """What a weighed box counts in each group, without its factor."""
        groups: list[AxisGroups | OneSum] = [
            OneSum(self._weight_row(part, i))
            if i in part.along
            else self._groups(i, part.box.sets[i], cuts)
            for i in self._axes
        ]
        return self._sums(groups, cuts).reshape(-1)

    @property
    def _axes(self) -> range:
        return range(len(self.reading.axes))

    def _groups(self, axis: int, codes: CodeSet, cuts: Cuts) -> AxisGroups:
        return AxisGroups.of(self.reading.axes[axis], codes, dict(cuts).get(axis))

    def _sums(self, groups: Sequence[AxisGroups | OneSum], cuts: Cuts) -> Floats:
        """The sums of one box by group: the axes that are not grouped first, which leave little."""
        block = self._gather([along.touched for along in groups])
        for i in sorted(self._axes, key=lambda i: (groups[i].groups, -i)):
            block = groups[i].sums(block, i)
        order = [axis for axis, _ in cuts]
        return block.transpose([*(i for i in self._axes if i not in order), *order])

    def cells(self) -> NDArray[np.float64]:
        """The estimated count of every cell: M*."""
        return self.reading.inverse(self.read())

    def cell_variances(self, codes: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
        """The noise variance of each of many cells."""
        gains = [
            axis.gains(every := np.arange(axis.transform.size), every + 1)[along]
            for axis, along in zip(self.reading.axes, codes, strict=True)
        ]
        return self._variances(gains)

    def fresh_cells(self) -> NDArray[np.float64]:
        """The estimated count of every cell, in memory of its own."""
        return self.cells()

    def range_variances(
        self, starts: NDArray[np.int64], stops: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """The noise variance of each of many boxes."""
        gains = [axis.gains(starts[:, i], stops[:, i]) for i, axis in enumerate(self.reading.axes)]
        return self._variances(gains)

    def _variances(self, gains: list[NDArray[np.float64]]) -> NDArray[np.float64]:
        return self.reading.variances(gains, lambda factor: self.noise.times(factor).variance)

    def _rows(self, box: Box) -> list[WeightRow]:
        return [self._row(i, codes) for i, codes in enumerate(box.sets)]

    def _row(self, axis: int, codes: CodeSet) -> WeightRow:
        return weights_of(self.reading.axes[axis], codes)

    def _spread_of(self, axis: int, codes: CodeSet) -> Spread:
        """The sizes of the weights of a set of codes; plain counts need not be listed for that."""
        if isinstance(self.reading.axes[axis].transform, Identity):
            return Counter({(1.0, Fraction(1)): codes.count})
        return self._spread(axis, self._row(axis, codes))

    def _spread(self, axis: int, row: WeightRow) -> Spread:
        """The sizes of the weights of a row, by scale factor."""
        spread: Spread = Counter()
        classes = self.reading.axes[axis].transform.classes
        which = np.searchsorted([c.stop for c in classes], row.positions, side="right")
        for number in np.flatnonzero(np.bincount(which)).tolist():  # np.unique imports numpy.ma
            sizes, counts = np.unique(np.abs(row.weights[which == number]), return_counts=True)
            for size, count in zip(sizes.tolist(), counts.tolist(), strict=True):
                spread[float(f"{size:.12g}"), classes[number].factor] += count
        return spread

    def _product_law(self, spreads: list[Spread]) -> NoiseLaw:
        """The law of a product of rows: sizes, factors and numbers multiply."""
        total: dict[tuple[float, Fraction], int] = {(1.0, Fraction(1)): 1}
        for spread in spreads:
            combined: Spread = Counter()
            for (size, factor), count in total.items():
                for (other, another), more in spread.items():
                    combined[float(f"{size * other:.12g}"), factor * another] += count * more
            total = combined
        return self._law(total)

    def _law(self, spread: Mapping[tuple[float, Fraction], int]) -> NoiseSum:
        """The law of coefficients with weights of these sizes, by scale factor."""
        noises = {factor: self.noise.times(factor) for factor in {factor for _, factor in spread}}
        return NoiseSum.weighted({(size, noises[f]): count for (size, f), count in spread.items()})

    def _contract(self, rows: list[list[WeightRow]]) -> NDArray[np.float64]:
        """Weights times coefficients, for every combination of one row along each axis."""
        positions = [union([row.positions for row in along]) for along in rows]
        block = self._gather(positions)
        for i in reversed(range(len(rows))):
            weights = np.stack([laid_out(row, positions[i]) for row in rows[i]])
            block = np.moveaxis(np.tensordot(weights, block, axes=(1, i)), 0, i)
        return block

    def _gather(self, positions: list[NDArray[np.int64]]) -> NDArray[np.float64]:
        """The coefficients at all combinations of positions."""
        if not all(map(len, positions)):
            return np.zeros([len(along) for along in positions])
        hull = [slice(int(along[0]), int(along[-1]) + 1) for along in positions]
        inside = np.ix_(*(along - along[0] for along in positions))
        block = np.asarray(self.read(*hull)[inside], np.float64)
        return block if self.refine is None else self.refine(block, positions)

    def _touched(self, boxes: list[list[WeightRow]], *, read: bool) -> tuple[float, NoiseLaw]:
        """The estimate of several boxes together, and the law of their added weights."""
        positions = [union([rows[i].positions for rows in boxes]) for i in range(len(boxes[0]))]
        touched = math.prod(map(len, positions))
        if touched > _MOST_TOUCHED:
            raise QueryError("the condition touches too many coefficients; ask for its parts")
        factors = [self._factor_numbers(i, along) for i, along in enumerate(positions)]
        value, spread, sizes = 0.0, Counter[tuple[float, Fraction]](), Gathering()
        many = self._many and self._are_many(touched)
        step = max(_PIECE * len(positions[0]) // max(touched, 1), 1)
        for first in range(0, len(positions[0]), step):
            piece = [positions[0][first : first + step], *positions[1:]]
            weights = sum(
                _outer([laid_out(row, along) for row, along in zip(rows, piece, strict=True)])
                for rows in boxes
            )
            if read:
                value += float((weights * self._gather(piece)).sum())
            numbers = [factors[0][first : first + step], *factors[1:]]
            for factor, some in self._by_factor(np.asarray(weights), numbers):
                if many:
                    sizes.add(factor, some)
                else:
                    spread.update(counted(factor, some))
        return value, sizes.law(self.noise) if many else self._law(spread)

    def _factor_numbers(self, axis: int, positions: NDArray[np.int64]) -> NDArray[np.intp]:
        stops = [c.stop for c in self.reading.axes[axis].transform.classes]
        return np.searchsorted(stops, positions, side="right")

    def _by_factor(
        self, weights: NDArray[np.float64], numbers: list[NDArray[np.intp]]
    ) -> Iterator[tuple[Fraction, Floats]]:
        """The weights of each combination of classes, with its scale factor."""
        for choice in itertools.product(*(np.unique(along) for along in numbers)):
            where = np.ix_(
                *(np.flatnonzero(along == c) for along, c in zip(numbers, choice, strict=True))
            )
            factors = (
                axis.classes[c].factor for axis, c in zip(self._transforms, choice, strict=True)
            )
            yield math.prod(factors, start=Fraction(1)), weights[where]

    @property
    def _transforms(self) -> list[AxisTransform]:
        return [axis.transform for axis in self.reading.axes]

    @property
    def _many(self) -> bool:
        """Whether boxes may have very many different weights."""
        return has_many(self._transforms)

    def _are_many(self, weights: int) -> bool:
        smallest = min((factor for _, factor in self.reading.product.blocks()), default=Fraction(1))
        return is_many(weights, [self.noise.times(smallest)])


def _cut(box: Box, cut: Mapping[int, CodeSet]) -> Box:
    """What of a box has some codes along some axes."""
    sets = enumerate(box.sets)
    return Box(tuple(c.intersection(cut[i]) if i in cut else c for i, c in sets))


def _outer(vectors: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    product = np.ones(())
    for vector in vectors:
        product = np.multiply.outer(product, vector)
    return product
