"""Schemas to plan for, and the noise of a workload written out as matrices."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.families.linear.read.transforms import ProductReading
from hushtable.kernel.maps import Product
from hushtable.kernel.privacy.noises import KnownNoise
from hushtable.query.box import Box, Boxes
from hushtable.schema import Schema
from hushtable.workload import Workload
from hushtable.workload.intervals import AllRanges, Along, Listed

AGE = {"name": "age", "kind": "ordinal", "range": [0, 6]}
SEX = {"name": "sex", "kind": "nominal", "values": ["f", "m"], "outside": "other"}
JOB = {
    "name": "job",
    "kind": "nominal",
    "tree": {"office": ["clerk", "boss", "temp"], "field": ["farmer", "miner"]},
}
GRADE = {"name": "grade", "kind": "ordinal", "labels": ["low", "mid", "high"], "outside": "other"}


def schema_of(*attributes: dict[str, Any], **options: Any) -> Schema:
    return Schema.from_dict(
        {"name": "people", "budget": "10", "attribute": list(attributes), **options}
    )


def line(size: int) -> Schema:
    return schema_of({"name": "a", "kind": "ordinal", "range": [0, size - 1]})


def square(size: int) -> Schema:
    one = {"kind": "ordinal", "range": [0, size - 1]}
    return schema_of({"name": "a", **one}, {"name": "b", **one})


def all_intervals(along: Along) -> list[tuple[int, int]]:
    if isinstance(along, AllRanges):
        ends = range(along.codes + 1)
        return [(a, b) for a in ends for b in ends if a < b]
    assert isinstance(along, Listed)
    return list(zip(along.starts.tolist(), along.stops.tolist(), strict=True))


def all_questions(workload: Workload) -> Iterator[tuple[NDArray[np.float64], float]]:
    """Every question as the cells it adds up, and its weight."""
    for box_set in workload.box_sets:
        boxes = list(itertools.product(*(all_intervals(along) for along in box_set.along)))
        for box in boxes:
            cells = np.zeros(workload.shape)
            cells[tuple(slice(*ends) for ends in box)] = 1
            yield cells, box_set.weight / len(boxes)
    for question in workload.questions:
        yield cells_of(question.boxes, workload.shape), question.weight


def cells_of(boxes: Boxes, shape: tuple[int, ...]) -> NDArray[np.float64]:
    cells = np.zeros(shape)
    for box in boxes:
        assert isinstance(box, Box)
        codes = [[c for a, b in part.intervals for c in range(a, b)] for part in box.sets]
        cells[np.ix_(*codes)] += 1
    return cells


def explicit_variances(
    product: Product, noise: KnownNoise, questions: list[NDArray[np.float64]]
) -> NDArray[np.float64]:
    """The noise variance of each question, from the inverse applied to every coefficient alone."""
    count = product.cells
    read = ProductReading.of(product)
    units = np.eye(count).reshape(count, *product.coefficient_shape)
    reading = np.stack([read.inverse(unit).reshape(-1) for unit in units])
    variances = np.zeros(product.coefficient_shape)
    for where, factor in product.blocks():
        variances[where] = noise.times(factor).variance
    weights = np.stack([cells.reshape(-1) for cells in questions]) @ reading.T
    return np.asarray(np.square(weights) @ variances.reshape(-1))
