"""From an aggregate to its answer: linear questions stay linear as long as they can."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hushtable.query.aggregate import (
    Aggregate,
    Arithmetic,
    Count,
    Mean,
    Number,
    Overall,
    Quantile,
    Spread,
    Sum,
)
from hushtable.query.answer import Answer, Source
from hushtable.query.box import Boxes
from hushtable.query.cutting import Cuts
from hushtable.query.group_readers import AlikeReader, ShrinkingReader
from hushtable.query.reader import Answering, Estimates, LazyLaws
from hushtable.query.statistics.arithmetic import Form, answered, joined
from hushtable.query.statistics.grouped import GroupedRatios, GroupedSums, Groups
from hushtable.query.statistics.linear import Linear
from hushtable.query.statistics.quantile import QuantileLaw
from hushtable.query.statistics.ratio import Ratio
from hushtable.query.statistics.spread import SpreadLaw
from hushtable.query.statistics.values import CodeValues, values_of, with_values
from hushtable.query.weighing import (
    WeighingReader,
    counted,
    remembering,
)
from hushtable.schema import Schema


def statistic(
    reader: Answering, schema: Schema, aggregate: Aggregate, rows: Boxes, every: Boxes | None = None
) -> Answer:
    """The answer to an aggregate of some rows; `every` row of all groups, for what is over all."""
    question = Question(reader, schema, rows, rows if every is None else every)
    return answered(reader, question.form(aggregate))


def grouped(
    reader: Answering,
    schema: Schema,
    aggregate: Aggregate,
    rows: Boxes,
    cuts: Cuts,
    shown: NDArray[np.intp],
) -> Estimates | GroupedSums | GroupedRatios | None:
    """The answers of all groups that are shown together, or None: then each is asked by itself.

    The reader's counts must add up and have no error but noise and known shifts, and no group may
    cut what is summed.
    """
    asked = _adding_up(reader)
    if asked is None or not _is_linear(aggregate, {axis for axis, _ in cuts}):
        return None
    form = Question(reader, schema, rows, rows).form(aggregate)
    if isinstance(form, Answer):
        return None
    top, bottom = (form.top, form.bottom) if isinstance(form, Ratio) else (form, ())
    boxes = tuple(part.box for part in (*top.low, *top.middle, *top.high, *bottom))
    if not boxes:
        return None
    groups = Groups.of(asked, tuple(dict.fromkeys(boxes)), cuts, shown)
    if isinstance(form, Ratio):
        return GroupedRatios(groups, form)
    if groups.moved is not None or not form.exact:
        return GroupedSums(groups, form)
    laws = LazyLaws(len(groups.first), lambda kind: groups.law(kind, form.middle))
    return Estimates(groups.values(form.middle) + form.offset, laws, groups.which)


def _adding_up(reader: Answering) -> AlikeReader | ShrinkingReader | None:
    """A reader whose counts, and what they were moved by, add up."""
    if isinstance(reader, ShrinkingReader):
        return reader
    if isinstance(reader, WeighingReader) and isinstance(reader, AlikeReader) and reader.adds_up:
        return reader
    return None


def _is_linear(aggregate: Aggregate, cut: set[int]) -> bool:
    """Whether an aggregate is made of counts and sums alone, along axes that are not cut."""
    match aggregate:
        case Number() | Count():
            return True
        case Sum(axis) | Mean(axis):
            return axis not in cut
        case Arithmetic(_, left, right):
            return _is_linear(left, cut) and _is_linear(right, cut)
    return False


@dataclass(frozen=True)
class Asked:
    """An aggregate of some rows that is no linear question: two that are equal have one answer."""

    aggregate: Aggregate
    rows: Boxes


@dataclass(frozen=True, eq=False)
class Question:
    """What is asked of one group of rows."""

    reader: Answering
    schema: Schema
    rows: Boxes
    every: Boxes

    def form(self, aggregate: Aggregate) -> Form:
        """The simplest form of an aggregate."""
        match aggregate:
            case Number(value):
                return Linear.exactly((), value)
            case Count(boxes):
                return Linear.count(self._held(boxes))
            case Sum(axis, boxes):
                return Linear.sum(self._known(axis, boxes), axis, self._values(axis))
            case Mean(axis, boxes):
                held = self._known(axis, boxes)
                return Ratio(Linear.sum(held, axis, self._values(axis)), counted(held))
            case Quantile(axis, share, boxes):
                law = QuantileLaw(
                    remembering(self.reader),
                    self._known(axis, boxes),
                    axis,
                    self._values(axis),
                    share,
                )
                return Answer(law.value, law, source=self._source(aggregate))
            case Spread(axis, boxes, root, sample):
                held, values = self._known(axis, boxes), self._values(axis)
                spread = SpreadLaw(remembering(self.reader), held, axis, values, root, sample)
                return Answer(spread.value, spread, source=self._source(aggregate))
            case Overall(operand):
                return Question(self.reader, self.schema, self.every, self.every).form(operand)
            case Arithmetic(sign, left, right):
                return joined(self.reader, sign, self.form(left), self.form(right))

    def _source(self, aggregate: Aggregate) -> Source:
        return Source(self.reader, Asked(aggregate, self.rows))

    def _held(self, boxes: Boxes | None) -> Boxes:
        """The rows of the group that a FILTER leaves."""
        if boxes is None:
            return self.rows
        both = (mine.intersection(theirs) for mine in self.rows for theirs in boxes)
        return tuple(box for box in both if box.cells)

    def _known(self, axis: int, boxes: Boxes | None) -> Boxes:
        """Of those, the rows that have a value of an attribute."""
        return with_values(self._held(boxes), axis, self.schema.attributes[axis])

    def _values(self, axis: int) -> CodeValues:
        return values_of(self.schema.attributes[axis])
