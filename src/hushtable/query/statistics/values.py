"""What the codes of an attribute stand for as numbers, and the rows that have one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hushtable.arrays import Floats
from hushtable.errors import QueryError
from hushtable.query.box import Box, Boxes, CodeSet
from hushtable.query.literal import sql_name
from hushtable.query.weighing import MOST_WEIGHED
from hushtable.schema import Attribute, Edges, IntegerRange


@dataclass(frozen=True, eq=False)
class CodeValues:
    """The least, the middle and the largest number that each code of an attribute can stand for.

    They differ where the schema sees bins only.
    """

    low: Floats
    middle: Floats
    high: Floats

    @property
    def binned(self) -> bool:
        return self.low is not self.high


def values_of(attribute: Attribute) -> CodeValues:
    """The numbers of an attribute's codes; that of other values counts nothing."""
    if attribute.size > MOST_WEIGHED:
        raise QueryError(
            f"{sql_name(attribute.name)} has too many values for sums and quantiles; count them"
        )
    match attribute.values:
        case IntegerRange(first, last):
            exact = _filled(np.arange(first, last + 1, dtype=np.float64), attribute)
            return CodeValues(exact, exact, exact)
        case Edges(edges):
            ends = np.array(edges, np.float64)
            low, high = _filled(ends[:-1], attribute), _filled(ends[1:], attribute)
            return CodeValues(low, (low + high) / 2, high)
    name = sql_name(attribute.name)
    raise QueryError(
        f"{name} has no numbers, so there are no sums, means or quantiles of it; count its values:"
        f" SELECT {name}, COUNT(*) … GROUP BY {name}"
    )


def _filled(numbers: Floats, attribute: Attribute) -> Floats:
    return np.concatenate([numbers, np.zeros(attribute.size - len(numbers))])


def with_values(boxes: Boxes, axis: int, attribute: Attribute) -> Boxes:
    """The rows of disjoint boxes that have a value of an attribute, which NULL is not."""
    if attribute.other is None:
        return boxes
    known = CodeSet.of((0, attribute.declared))
    cut = (
        Box((*box.sets[:axis], box.sets[axis].intersection(known), *box.sets[axis + 1 :]))
        for box in boxes
    )
    return tuple(box for box in cut if box.cells)
