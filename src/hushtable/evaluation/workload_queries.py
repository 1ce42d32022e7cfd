"""The questions of a workload, one by one: all of them, or a fixed number drawn from them.

A set of boxes that is too large to list is drawn from evenly; how many questions are asked is
public and does not depend on the data. Weights make means over the questions those of the workload.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats
from hushtable.errors import OptionError
from hushtable.evaluation.range_queries import Ranges
from hushtable.query.box import Box, Boxes, cells
from hushtable.workload import BoxSet, Question, Workload
from hushtable.workload.intervals import AllRanges, Along, some_of
from hushtable.workload.sampling import named

MOST_QUERIES = 10**6


@dataclass(frozen=True, repr=False)
class QueryList:
    """Questions with their weights: first plain boxes, then unions of boxes of any form."""

    ranges: Ranges
    unions: tuple[Boxes, ...]
    weights: Floats
    whole: int
    """How many questions the workload has."""
    shape: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.ranges) + len(self.unions)

    @property
    def sampled(self) -> bool:
        """Whether the workload has more than these."""
        return len(self) < self.whole

    @property
    def named(self) -> NDArray[np.int64]:
        """How many attributes each question has a condition on."""
        return np.append(
            (self.ranges.stops - self.ranges.starts < self.shape).sum(axis=1),
            np.array([named(boxes, self.shape) for boxes in self.unions], np.int64),
        )

    def coverage(self, shape: tuple[int, ...]) -> Floats:
        """The share of the domain's cells that each question covers."""
        domain = float(np.prod(shape, dtype=np.float64))
        odd = np.array([cells(boxes) / domain for boxes in self.unions], np.float64)
        return np.concatenate([self.ranges.coverage(shape), odd])


def list_queries(workload: Workload, most: int, *, seed: int = 1) -> QueryList:
    """All questions of a workload if they are at most so many, else about that number of them.

    Each set, and the questions in SQL together, are asked as often as their weight says, and at
    least once. The choice follows from the seed: the same questions for every release.
    """
    if isinstance(most, bool) or not isinstance(most, int) or not 1 <= most <= MOST_QUERIES:
        raise OptionError(f"queries must be a whole number from 1 to {MOST_QUERIES:,}")
    whole = sum(boxes.count for boxes in workload.box_sets) + len(workload.questions)
    random = np.random.default_rng(seed)
    share = _share(workload, most) if whole > most else float("inf")
    parts = [
        _some_boxes(boxes, _number(boxes.weight * share), random) for boxes in workload.box_sets
    ]
    questions = _some(workload.questions, share, random)
    plain = [q for q in questions if _plain(q.boxes)]
    if plain:
        weights = np.array([q.weight for q in plain], np.float64)
        parts.append((_as_ranges([q.boxes[0] for q in plain]), weights))
    others = [q for q in questions if not _plain(q.boxes)]
    none = Ranges(*(np.zeros((0, len(workload.shape)), np.int64) for _ in range(2)))
    ranges = [none, *(ranges for ranges, _ in parts)]
    return QueryList(
        Ranges(*(np.concatenate([getattr(r, ends) for r in ranges]) for ends in _ENDS)),
        tuple(question.boxes for question in others),
        np.concatenate([*(w for _, w in parts), np.array([q.weight for q in others], float)]),
        whole,
        workload.shape,
    )


_ENDS = ("starts", "stops")


def _share(workload: Workload, most: int) -> float:
    """How many questions a unit of weight gets; parts that have fewer are asked in whole."""
    parts = [(boxes.count, boxes.weight) for boxes in workload.box_sets]
    if workload.questions:
        weight = sum(question.weight for question in workload.questions)
        parts.append((len(workload.questions), weight))
    left, share = most, 0.0
    while parts:
        share = max(left, 0) / sum(weight for _, weight in parts)
        small = [part for part in parts if part[0] <= part[1] * share]
        if not small:
            break
        left -= sum(count for count, _ in small)
        parts = [part for part in parts if part not in small]
    return share


def _number(wanted: float) -> int | None:
    """How many to ask; None for all."""
    return None if wanted == float("inf") else max(1, int(wanted))


def _some_boxes(
    boxes: BoxSet, wanted: int | None, random: np.random.Generator
) -> tuple[Ranges, Floats]:
    """Boxes of a set, and weights that add up to its own."""
    if wanted is None or boxes.count <= wanted:
        listed = [some_of(along, along.count) for along in boxes.along]
        places = np.indices([len(starts) for starts, _ in listed]).reshape(len(listed), -1)
        ends = [(s[place], e[place]) for (s, e), place in zip(listed, places, strict=True)]
    else:
        ends = [_drawn(along, wanted, random) for along in boxes.along]
    starts, stops = (np.stack(side, axis=1) for side in zip(*ends, strict=True))
    return Ranges(starts, stops), np.full(len(starts), boxes.weight / len(starts))


def _drawn(
    along: Along, number: int, random: np.random.Generator
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Intervals of a set, every one equally likely."""
    if not isinstance(along, AllRanges):
        return along.spread(random.random(number), random.random(number))
    # Two different ends out of n + 1: every interval is one such pair.
    one = random.integers(0, along.codes + 1, number)
    other = random.integers(0, along.codes, number)
    other += other >= one
    return np.minimum(one, other), np.maximum(one, other)


def _some(
    questions: tuple[Question, ...], share: float, random: np.random.Generator
) -> list[Question]:
    """All questions, or an even choice of them with weights that make up for the others."""
    if not questions:
        return []
    wanted = _number(sum(question.weight for question in questions) * share)
    if wanted is None or len(questions) <= wanted:
        return list(questions)
    chosen = np.sort(random.choice(len(questions), wanted, replace=False))
    times = len(questions) / wanted
    return [Question(questions[i].boxes, questions[i].weight * times) for i in chosen.tolist()]


def _plain(boxes: Boxes) -> bool:
    """Whether boxes are one interval along each axis."""
    return len(boxes) == 1 and all(len(codes.intervals) == 1 for codes in boxes[0].sets)


def _as_ranges(boxes: list[Box]) -> Ranges:
    ends = np.array([[codes.intervals[0] for codes in box.sets] for box in boxes], np.int64)
    return Ranges(ends[..., 0], ends[..., 1])
