"""A question answered from the rows themselves, one by one: slow, exact and plain to see."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from hushtable.query.aggregate import (
    Aggregate,
    Arithmetic,
    Compared,
    Count,
    Having,
    Joined,
    Mean,
    Negated,
    Number,
    Overall,
    Quantile,
    Spread,
    Sum,
)
from hushtable.query.box import Boxes
from hushtable.query.grouping import Query, cases_of
from hushtable.schema import Schema

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Rows:
    """The rows of a table: the code of each attribute, and the number that it is, if it is one."""

    schema: Schema
    codes: np.ndarray
    numbers: Sequence[np.ndarray]

    def inside(self, boxes: Boxes) -> np.ndarray:
        """Which rows lie in disjoint boxes; none lies in two."""
        found = np.zeros(len(self.codes), int)
        for box in boxes:
            inside = np.ones(len(self.codes), bool)
            for axis, codes in enumerate(box.sets):
                held = np.zeros(self.schema.shape[axis], bool)
                for start, stop in codes.intervals:
                    held[start:stop] = True
                inside &= held[self.codes[:, axis]]
            found += inside
        assert found.max(initial=0) <= 1, "boxes overlap"
        return found.astype(bool)


def answer(query: Query, rows: Rows) -> list[Row]:
    """The rows of the result, in order and cut as the query says."""
    where = rows.inside(query.boxes)
    found: list[tuple[dict[int | str, Any], Row]] = []
    parts = [
        [(case.label, rows.inside(case.boxes)) for case in cases_of(g, query.boxes, rows.schema)]
        for g in query.groups
    ]
    for positions in query.sets:
        for cases in product(*(parts[i] for i in positions)):
            held = np.logical_and.reduce([where, *(inside for _, inside in cases)])
            if positions and not held.any():
                continue
            if query.having is not None and truth(query.having, rows, held) is not True:
                continue
            cells: dict[int | str, Any] = dict.fromkeys(range(len(query.groups)))
            cells |= {i: label for i, (label, _) in zip(positions, cases, strict=True)}
            for named in query.aggregates:
                cells[named.name] = value(named.aggregate, rows, held, where)
            found.append((cells, tuple(cells[column] for column in query.columns)))
    for term in reversed(query.order):
        known = [entry for entry in found if entry[0][term.column] is not None]
        nulls = [entry for entry in found if entry[0][term.column] is None]
        known.sort(key=lambda entry: entry[0][term.column], reverse=term.descending)
        found = nulls + known if term.nulls_first else known + nulls
    stop = None if query.limit is None else query.offset + query.limit
    return [row for _, row in found[query.offset : stop]]


def value(aggregate: Aggregate, rows: Rows, held: np.ndarray, where: np.ndarray) -> float | None:
    """An aggregate of some rows, None for NULL; a sum of nothing is zero."""
    match aggregate:
        case Number(number):
            return number
        case Overall(operand):
            return value(operand, rows, where, where)
        case Arithmetic(sign, left, right):
            one, two = (value(part, rows, held, where) for part in (left, right))
            return calculated(sign, one, two)
        case Count(boxes):
            return int((held if boxes is None else held & rows.inside(boxes)).sum())
    inside = held if aggregate.boxes is None else held & rows.inside(aggregate.boxes)
    numbers = rows.numbers[aggregate.axis][inside]
    return statistic(aggregate, numbers[~np.isnan(numbers)])


def statistic(aggregate: Aggregate, numbers: np.ndarray) -> float | None:
    match aggregate:
        case Sum():
            return float(numbers.sum())
        case Mean():
            return float(numbers.mean()) if len(numbers) else None
        case Quantile(_, share):
            return float(np.quantile(numbers, share)) if len(numbers) else None
        case Spread(_, _, root, sample):
            if len(numbers) <= sample:
                return None
            variance = float(numbers.var(ddof=int(sample)))
            return math.sqrt(variance) if root else variance
    raise AssertionError(aggregate)


def calculated(sign: str, left: float | None, right: float | None) -> float | None:
    if left is None or right is None or (sign == "/" and right == 0):
        return None
    return {
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        "/": lambda: left / right,
    }[sign]()


def truth(having: Having, rows: Rows, held: np.ndarray) -> bool | None:
    """Whether a condition on aggregates is true, None where that is unknown."""
    match having:
        case Negated(operand):
            inner = truth(operand, rows, held)
            return None if inner is None else not inner
        case Joined(every, operands):
            values = [truth(operand, rows, held) for operand in operands]
            final = not every
            return final if final in values else None if None in values else every
        case Compared(sign, left, right):
            one, two = (value(part, rows, held, held) for part in (left, right))
            if one is None or two is None:
                return None
            return {
                "=": one == two,
                "<>": one != two,
                "<": one < two,
                "<=": one <= two,
                ">": one > two,
                ">=": one >= two,
            }[sign]
