"""Linear questions: sums in which every row of the table counts by a weight of its cell.

A count is the sum with weights of one, SUM(x) has the values of x as weights, and S − r·C, with
which a ratio S/C is compared with r, is one too. The weights are a sum of products, one factor
along each axis, so that no cell has to be listed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats, Integers
from hushtable.errors import QueryError
from hushtable.query.box import Box, Boxes, CodeSet
from hushtable.query.cutting import Cuts, all_codes
from hushtable.query.law import NoiseLaw, margins_of, simultaneous
from hushtable.query.reader import Answering, Estimates

# Codes of an axis that may have weights of their own, and combinations of classes of them.
MOST_WEIGHED = 2**22
MOST_CLASSES = 2**24
# Boxes that an answer may be made of, where a reader knows counts alone.
MOST_BOXES = 2**14
# Weights are compared to so many digits: what is left of rounding is none. Where all are small, so
# are their differences.
_DIGITS = 12


@dataclass(frozen=True, eq=False)
class WeighedBox:
    """A box whose cells count by a product of weights."""

    box: Box
    factor: float = 1.0
    along: Mapping[int, Floats] = field(default_factory=dict)
    """Axes on which codes have weights of their own: one for each code of the axis."""

    def axes(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The axes that it asks about."""
        sizes = enumerate(zip(self.box.sets, shape, strict=True))
        return tuple(i for i, (codes, n) in sizes if codes.count < n or i in self.along)

    def weights(self, axis: int, size: int) -> Floats:
        """What each code of an axis counts, without the factor."""
        weights = np.zeros(size)
        inside = all_codes(self.box.sets[axis])
        weights[inside] = self.along[axis][inside] if axis in self.along else 1.0
        return weights


Weighing = tuple[WeighedBox, ...]
"""A linear question: the sum over some weighed boxes, which may overlap."""


def heaviest(weighing: Weighing) -> float:
    """The largest that a cell may count, apart from its sign."""
    return max(
        (
            abs(part.factor) * math.prod(float(np.abs(w).max()) for w in part.along.values())
            for part in weighing
        ),
        default=0.0,
    )


LawOfFactors = Callable[[Floats], NoiseLaw]
"""The law of the noise of a linear question, by the factors of its boxes."""


def counted(boxes: Boxes, factor: float = 1.0) -> Weighing:
    """The count of disjoint boxes as a linear question, times a factor."""
    return tuple(WeighedBox(box, factor) for box in boxes)


def summed(boxes: Boxes, axis: int, values: Floats) -> Weighing:
    """The sum of the values of an axis over disjoint boxes."""
    if len(values) > MOST_WEIGHED:
        raise QueryError(f"an attribute of more than {MOST_WEIGHED:,} values cannot be summed")
    return tuple(WeighedBox(box, 1.0, {axis: values}) for box in boxes)


def scaled(weighing: Weighing, factor: float) -> Weighing:
    """The same, so many times."""
    return tuple(replace(part, factor=part.factor * factor) for part in weighing)


def same(one: Weighing, other: Weighing) -> bool:
    """Whether two questions are plainly the same count."""
    plain = all(not part.along for part in (*one, *other))
    return plain and [(p.box, p.factor) for p in one] == [(p.box, p.factor) for p in other]


def same_weights(one: Weighing, other: Weighing) -> bool:
    """Whether two questions are plainly the same sum."""
    return len(one) == len(other) and all(
        (p.box, p.factor, p.along.keys()) == (q.box, q.factor, q.along.keys())
        and all(np.array_equal(weights, q.along[axis]) for axis, weights in p.along.items())
        for p, q in zip(one, other, strict=True)
    )


def within(weighing: Weighing, boxes: Boxes) -> Weighing:
    """What of a question lies in disjoint boxes."""
    parts = (replace(part, box=part.box.intersection(box)) for part in weighing for box in boxes)
    return tuple(part for part in parts if part.box.cells)


@runtime_checkable
class WeighingReader(Protocol):
    """A reader that knows the law of any linear question."""

    @property
    def adds_up(self) -> bool:
        """Whether answers are sums of noisy counts that add up, with no error but their noise."""

    def weigh(self, weighing: Weighing) -> tuple[float, NoiseLaw]:
        """The answer to a linear question, and the law of its noise."""

    def weighed_law(self, weighing: Weighing) -> NoiseLaw:
        """The law alone; reads no data."""


@runtime_checkable
class RescalingReader(Protocol):
    """A reader that asks the same question with other factors at little cost."""

    def weighed_laws(self, weighing: Weighing) -> LawOfFactors:
        """The laws of a linear question for any factors of its boxes; reads no data."""


def weigh(reader: Answering | WeighingReader, weighing: Weighing) -> tuple[float, NoiseLaw]:
    """The answer of any reader to a linear question, and the law of its error."""
    if isinstance(reader, WeighingReader):
        return reader.weigh(weighing)
    return _from_counts(reader, weighing)


def weighed_law(reader: Answering | WeighingReader, weighing: Weighing) -> NoiseLaw:
    """The law of the error of any reader's answer."""
    if isinstance(reader, WeighingReader):
        return reader.weighed_law(weighing)
    return _from_counts(reader, weighing)[1]


def weighed_laws(reader: Answering | WeighingReader, weighing: Weighing) -> LawOfFactors:
    """The laws of the error of any reader's answer, whatever the factors of the boxes are."""
    if isinstance(reader, RescalingReader):
        return reader.weighed_laws(weighing)

    def law(factors: Floats) -> NoiseLaw:
        parts = zip(weighing, factors.tolist(), strict=True)
        return weighed_law(reader, tuple(replace(part, factor=factor) for part, factor in parts))

    return law


def weighed_value(reader: Answering, weighing: Weighing) -> float:
    """The answer of a reader whose counts add up: counts by code, times their weights."""
    return math.fsum(_weighed_counts(reader, part) for part in weighing)


def _weighed_counts(reader: Answering, part: WeighedBox) -> float:
    cuts, along = [], []
    for axis, weights in part.along.items():
        codes = all_codes(part.box.sets[axis])
        cuts.append((axis, np.stack([codes, codes + 1], axis=1)))
        along.append(weights[codes])
    counts = reader.group((part.box,), cuts).values
    weights = reduce(np.multiply.outer, along, np.full((), part.factor)).reshape(-1)
    return float((counts * weights).sum())


# ── classes of codes that have one weight ────────────────────────────────────────────────────────


def code_classes(weighing: Weighing, axis: int) -> tuple[Floats, Integers]:
    """The different weights of an axis' codes, a row for each weighed box, and how often each is.

    Codes behind the last one of any box are left out.
    """
    ends, weights = _runs(weighing, axis)
    found, which = unique_columns(weights)
    return found, np.bincount(which, np.diff(ends), found.shape[1]).astype(np.int64)


def unique_columns(columns: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Columns that differ by more than rounding, and which of them each one is."""
    rounded = np.stack([row * _grown(row) for row in columns]).round(_DIGITS)
    _, first, which = np.unique(rounded, axis=1, return_index=True, return_inverse=True)
    return columns[:, first], which.reshape(-1)


def _grown(weights: NDArray[Any]) -> float:
    """A power of two that makes the largest of small weights about one; large ones are left."""
    _, exponent = math.frexp(float(np.abs(weights).max(initial=0.0)))
    return math.ldexp(1.0, -max(min(exponent, 0), -1000))


def _runs(weighing: Weighing, axis: int) -> tuple[Integers, Floats]:
    """Where runs of codes that count alike begin and end, and what they count in each box.

    Codes without weights of their own are not listed: there may be 10¹² of them.
    """
    size = max(part.box.sets[axis].intervals[-1][1] for part in weighing)
    if any(axis in part.along for part in weighing):
        return np.arange(size + 1), np.stack([part.weights(axis, size) for part in weighing])
    sets = [np.array(part.box.sets[axis].intervals, np.int64).reshape(-1, 2) for part in weighing]
    ends = np.unique(np.concatenate([[0], *(each.reshape(-1) for each in sets)]))
    # A code is inside if more intervals begin at or before it than end there.
    begun = [np.searchsorted(each[:, 0], ends[:-1], "right") for each in sets]
    over = [np.searchsorted(each[:, 1], ends[:-1], "right") for each in sets]
    return ends, np.subtract(begun, over).astype(np.float64)


def class_weights(factors: Floats, along: Sequence[Floats]) -> Floats:
    """What the combinations of classes count: Σ factor · Π weights, over the weighed boxes."""
    if math.prod(rows.shape[1] for rows in along) > MOST_CLASSES:
        raise QueryError("the question has too many different weights; ask for its parts")
    total: Floats = np.zeros([rows.shape[1] for rows in along])
    for i, factor in enumerate(factors):
        total += reduce(np.multiply.outer, (rows[i] for rows in along), np.full((), factor))
    return total


def class_counts(counts: Sequence[Integers]) -> Integers:
    """How many there are in each combination of classes."""
    return np.asarray(reduce(np.multiply.outer, counts, np.ones((), np.int64)))


def factors_of(weighing: Weighing) -> Floats:
    return np.array([part.factor for part in weighing])


# ── readers that know counts alone ───────────────────────────────────────────────────────────────


@dataclass(frozen=True, eq=False)
class AddedLaws:
    """The error of a weighted sum of answers that may depend on each other in any way.

    Where all their intervals hold at once, the sum is off by no more than their sum.
    """

    terms: tuple[tuple[float, NoiseLaw], ...]
    """Weights and laws; what weighs nothing counts among the intervals that hold at once."""

    @property
    def variance(self) -> float:
        """That of strangers: what answers share is not known."""
        return math.fsum(weight**2 * law.variance for weight, law in self.terms)

    @property
    def estimate(self) -> bool:
        return any(law.estimate for _, law in self.terms)

    def margins(self, confidence: float) -> tuple[float, float]:
        if not self.terms:
            return 0.0, 0.0
        each = simultaneous(confidence, len(self.terms))
        known = {law: margins_of(law, each) for _, law in self.terms}
        sides = [
            (weight, known[law] if weight > 0 else known[law][::-1]) for weight, law in self.terms
        ]
        below = math.fsum(abs(weight) * side[0] for weight, side in sides)
        return below, math.fsum(abs(weight) * side[1] for weight, side in sides)

    def half_width(self, confidence: float) -> float:
        return max(self.margins(confidence))


@dataclass(frozen=True, eq=False)
class _Remembered:
    """The law of a count whose sides are worked out once for each confidence."""

    law: NoiseLaw
    _known: dict[float, tuple[float, float]] = field(default_factory=dict)

    @cached_property
    def variance(self) -> float:
        return self.law.variance

    @property
    def estimate(self) -> bool:
        return self.law.estimate

    def margins(self, confidence: float) -> tuple[float, float]:
        if confidence not in self._known:
            self._known[confidence] = margins_of(self.law, confidence)
        return self._known[confidence]

    def half_width(self, confidence: float) -> float:
        return max(self.margins(confidence))


@dataclass(frozen=True, eq=False)
class _Remembering:
    """A reader that knows counts alone, and does not work out the same one twice."""

    reader: Answering
    _known: dict[Boxes, tuple[float, NoiseLaw]] = field(default_factory=dict)

    def count(self, boxes: Boxes) -> tuple[float, NoiseLaw]:
        if boxes not in self._known:
            value, law = self.reader.count(boxes)
            self._known[boxes] = value, _Remembered(law)
        return self._known[boxes]

    def group(self, boxes: Boxes, cuts: Cuts) -> Estimates:
        return self.reader.group(boxes, cuts)


def remembering(reader: Answering) -> Answering:
    """A reader for questions about the same cells with ever other weights."""
    return reader if isinstance(reader, WeighingReader) else _Remembering(reader)


@dataclass(frozen=True, eq=False)
class _Partition:
    """A reader that answers linear questions from the counts of the same parts, whatever is asked.

    Counts of a reader need not add up: S − r·C is what S and C make of them only if all three are
    made of the same counts. Parts that count nothing keep their place among the intervals.
    """

    reader: Answering
    parts: tuple[Boxes, ...]

    adds_up = False

    def weigh(self, weighing: Weighing) -> tuple[float, NoiseLaw]:
        """The answer to a linear question, in which all cells of a part count alike."""
        found = [
            (_cell_weight(weighing, boxes[0]), self.reader.count(boxes)) for boxes in self.parts
        ]
        value = math.fsum(weight * count for weight, (count, _) in found)
        return value, AddedLaws(tuple((weight, law) for weight, (_, law) in found))

    def weighed_law(self, weighing: Weighing) -> NoiseLaw:
        """The law alone."""
        return self.weigh(weighing)[1]


def _cell_weight(weighing: Weighing, box: Box) -> float:
    """What the first cell of a box counts."""
    cell = [codes.intervals[0][0] for codes in box.sets]
    return math.fsum(
        part.factor * math.prod(float(along[cell[axis]]) for axis, along in part.along.items())
        for part in weighing
        if all(code in codes for code, codes in zip(cell, part.box.sets, strict=True))
    )


def partitioned(
    reader: Answering | WeighingReader, *weighings: Weighing
) -> Answering | WeighingReader:
    """A reader that takes some linear questions, and their differences, from the same counts."""
    every = tuple(part for weighing in weighings for part in weighing)
    if isinstance(reader, WeighingReader) or not every:
        return reader
    axes = range(len(every[0].box.sets))
    sets, along = zip(*(_class_sets(every, axis) for axis in axes), strict=True)
    # Questions that differ in any weight of a cell: each box of them counts by itself.
    each = [class_weights(np.eye(len(every))[i], along) for i in range(len(every))]
    held = np.flatnonzero(np.any([weights != 0 for weights in each], axis=0).reshape(-1))
    if len(held) > MOST_BOXES:
        raise QueryError("the question has too many different weights; ask for its parts")
    _, which = unique_columns(np.stack([weights.reshape(-1)[held] for weights in each]))
    found: dict[int, list[Box]] = {}
    for number, place in zip(which.tolist(), held.tolist(), strict=True):
        places = np.unravel_index(place, each[0].shape)
        box = Box(tuple(of[i] for of, i in zip(sets, places, strict=True)))
        found.setdefault(number, []).append(box)
    return _Partition(reader, tuple(map(tuple, found.values())))


def _from_counts(reader: Answering, weighing: Weighing) -> tuple[float, NoiseLaw]:
    """An answer made of the counts of all cells that have one weight, for each weight."""
    value, terms = 0.0, []
    for weight, boxes in _boxes_by_weight(weighing).items():
        count, law = reader.count(boxes)
        value += weight * count
        terms.append((weight, law))
    return value, AddedLaws(tuple(terms))


def _boxes_by_weight(weighing: Weighing) -> dict[float, Boxes]:
    """Disjoint boxes of all cells that count anything, by what they count."""
    if not weighing:
        return {}
    axes = range(len(weighing[0].box.sets))
    sets, along = zip(*(_class_sets(weighing, axis) for axis in axes), strict=True)
    weights = class_weights(factors_of(weighing), along)
    if np.count_nonzero(weights) > MOST_BOXES:
        raise QueryError("the question has too many different weights; ask for its parts")
    found: dict[float, list[Box]] = {}
    grown = _grown(weights)
    rounded = (weights * grown).round(_DIGITS) / grown
    for place in zip(*np.nonzero(rounded), strict=True):
        box = Box(tuple(of[number] for of, number in zip(sets, place, strict=True)))
        found.setdefault(float(rounded[place]), []).append(box)
    return {weight: tuple(boxes) for weight, boxes in found.items()}


def _class_sets(weighing: Weighing, axis: int) -> tuple[list[CodeSet], Floats]:
    """The codes of an axis that have each of its different weights, and these."""
    ends, weights = _runs(weighing, axis)
    found, which = unique_columns(weights)
    runs = np.stack([ends[:-1], ends[1:]], axis=1)
    sets = [CodeSet.of(*map(tuple, runs[which == i].tolist())) for i in range(found.shape[1])]
    return sets, found
