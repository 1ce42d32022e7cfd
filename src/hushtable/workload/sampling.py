"""An even choice of what a workload asks, always the same: for figures that no sum gives."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hushtable.arrays import Floats, Integers
from hushtable.query.box import Box, Boxes, CodeSet, cells
from hushtable.workload.intervals import even_points
from hushtable.workload.workload import BoxSet, Question, Workload

_BOXES = 4096
_LEAST = 16


@dataclass(frozen=True, eq=False)
class Sample:
    """Some boxes of every set, and all questions; boxes come first."""

    starts: Integers
    stops: Integers
    questions: tuple[Question, ...]
    weights: Floats
    """What each stands for."""
    shape: tuple[int, ...]

    @classmethod
    def of(cls, workload: Workload) -> Sample:
        """Boxes of every set, as many of each."""
        each = max(_BOXES // max(len(workload.box_sets), 1), _LEAST)
        ends = [_some_boxes(boxes, each) for boxes in workload.box_sets]
        none = np.zeros((0, len(workload.shape)), np.int64)
        weights = [np.full(each, boxes.weight / each) for boxes in workload.box_sets]
        return cls(
            np.concatenate([none, *(starts for starts, _ in ends)]),
            np.concatenate([none, *(stops for _, stops in ends)]),
            workload.questions,
            np.concatenate([*weights, [question.weight for question in workload.questions]]),
            workload.shape,
        )

    @property
    def sizes(self) -> Floats:
        """The cells that each covers; infinite beyond all floats."""
        with np.errstate(over="ignore"):
            boxes = np.prod((self.stops - self.starts).astype(np.float64), axis=1)
        asked = [float(min(cells(question.boxes), 10**308)) for question in self.questions]
        return np.append(boxes, asked)

    @property
    def shares(self) -> Floats:
        """The part of all cells that each covers, of domains of any size."""
        boxes = np.prod((self.stops - self.starts) / np.array(self.shape, np.float64), axis=1)
        every = math.prod(self.shape)
        asked = [float(Fraction(cells(question.boxes), every)) for question in self.questions]
        return np.append(boxes, np.array(asked, np.float64))

    @property
    def named(self) -> Integers:
        """How many attributes each has a condition on."""
        cut = ((self.stops - self.starts) < np.array(self.shape)).sum(axis=1)
        asked = [named(question.boxes, self.shape) for question in self.questions]
        return np.append(cut, np.array(asked, np.int64))

    def boxes(self, number: int) -> Boxes:
        """The box or question of that number."""
        if number >= len(self.starts):
            return self.questions[number - len(self.starts)].boxes
        ends = zip(self.starts[number].tolist(), self.stops[number].tolist(), strict=True)
        return (Box(tuple(CodeSet.of(pair) for pair in ends)),)


def named(boxes: Boxes, shape: tuple[int, ...]) -> int:
    """How many attributes boxes have a condition on."""
    return sum(any(b.sets[i].count < size for b in boxes) for i, size in enumerate(shape))


def _some_boxes(boxes: BoxSet, count: int) -> tuple[Integers, Integers]:
    points = even_points(count, 2 * len(boxes.along))
    ends = [
        along.spread(points[2 * axis], points[2 * axis + 1])
        for axis, along in enumerate(boxes.along)
    ]
    return np.stack([start for start, _ in ends], axis=1), np.stack([s for _, s in ends], axis=1)
