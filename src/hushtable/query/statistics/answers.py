"""From an aggregate to its answer: linear questions stay linear as long as they can."""

from __future__ import annotations

from dataclasses import dataclass

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
from hushtable.query.answer import Answer
from hushtable.query.box import Boxes
from hushtable.query.reader import Answering
from hushtable.query.statistics.arithmetic import Form, answered, joined
from hushtable.query.statistics.linear import Linear
from hushtable.query.statistics.quantile import QuantileLaw
from hushtable.query.statistics.ratio import Ratio
from hushtable.query.statistics.spread import SpreadLaw
from hushtable.query.statistics.values import CodeValues, values_of, with_values
from hushtable.query.weighing import counted, remembering
from hushtable.schema import Schema


def statistic(
    reader: Answering, schema: Schema, aggregate: Aggregate, rows: Boxes, every: Boxes | None = None
) -> Answer:
    """The answer to an aggregate of some rows; `every` row of all groups, for what is over all."""
    question = Question(reader, schema, rows, rows if every is None else every)
    return answered(reader, question.form(aggregate))


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
                return Answer(law.value, law)
            case Spread(axis, boxes, root, sample):
                held, values = self._known(axis, boxes), self._values(axis)
                spread = SpreadLaw(remembering(self.reader), held, axis, values, root, sample)
                return Answer(spread.value, spread)
            case Overall(operand):
                return Question(self.reader, self.schema, self.every, self.every).form(operand)
            case Arithmetic(sign, left, right):
                return joined(self.reader, sign, self.form(left), self.form(right))

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
