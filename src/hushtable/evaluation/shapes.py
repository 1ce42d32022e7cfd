"""What a mechanism would do on tables of a declared shape, where its error depends on the data.

The owner says how many people there are and what the table may look like; people are made up over
the schema's own domain, published and asked. The true table is not looked at, and nothing is spent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import OptionError
from hushtable.evaluation.experiment import Key, task_entropy
from hushtable.evaluation.range_errors import experiment_release
from hushtable.evaluation.range_queries import random_ranges, true_counts
from hushtable.kernel.counting import Counts
from hushtable.kernel.privacy.loss import EpsilonLike
from hushtable.schema import Schema
from hushtable.scratch import spill_folder

SHAPES = ("continuous", "random", "sparse")
"""Adjacent cells are alike; every cell for itself; one cell in twenty is occupied."""

MOST_CELLS = 2**22
MOST_PEOPLE = 10**12
_QUESTIONS = 500
_OCCUPIED = 0.05


@dataclass(frozen=True)
class ShapeForecast:
    """The error of a mechanism on random ranges of made-up tables."""

    mechanism: str
    shape: str
    rmse: float

    def to_dict(self) -> dict[str, str | float]:
        return {"mechanism": self.mechanism, "shape": self.shape, "rmse": self.rmse}


def forecast_on_shape(
    schema: Schema,
    *,
    epsilon: EpsilonLike,
    shape: str,
    people: int,
    mechanisms: Sequence[str],
    releases: int = 2,
    seed: int = 1,
) -> list[ShapeForecast]:
    """Publish made-up tables of a shape by each mechanism, and compare with the truth."""
    counts = shaped_counts(schema, shape, people, seed=seed)
    asked = random_ranges(schema, _QUESTIONS, seed=seed)
    truth = true_counts(counts, asked)
    found = []
    for mechanism in mechanisms:
        squares = []
        for repetition in range(releases):
            key: Key = {"mechanism": mechanism, "shape": shape, "repetition": repetition}
            with spill_folder() as folder:
                release = experiment_release(
                    counts,
                    schema,
                    folder / "made-up.release",
                    mechanism=mechanism,
                    epsilon=epsilon,
                    entropy=task_entropy(key, seed=seed),
                )
                values = release.count_ranges(asked.starts, asked.stops)[0]
            squares.append(float(np.square(values - truth).mean()))
        found.append(ShapeForecast(mechanism, shape, math.sqrt(np.mean(squares))))
    return found


def shaped_counts(schema: Schema, shape: str, people: int, *, seed: int = 1) -> Counts:
    """About so many people over the domain of a schema."""
    if shape not in SHAPES:
        raise OptionError(f"a shape is one of {', '.join(SHAPES)}")
    if not 1 <= people <= MOST_PEOPLE:
        raise OptionError(f"people must be a whole number from 1 to {MOST_PEOPLE:,}")
    if schema.cells > MOST_CELLS:
        raise OptionError(f"made-up tables have at most {MOST_CELLS:,} cells")
    random = np.random.default_rng(seed)
    if shape == "continuous":
        weights = _hills(schema.shape, random)
    else:
        weights = random.random(schema.shape)
        weights *= 1.0 if shape == "random" else random.random(schema.shape) < _OCCUPIED
        weights.reshape(-1)[0] += weights.sum() == 0
    cells = random.poisson(weights * (people / weights.sum())).reshape(-1)
    codes = np.flatnonzero(cells)
    return Counts(schema.shape, codes, cells[codes].astype(np.int64))


def _hills(shape: tuple[int, ...], random: np.random.Generator) -> NDArray[np.float64]:
    """A few wide hills on a low plain."""
    weights = np.full(shape, 0.05)
    for _ in range(3):
        hill = np.ones(())
        for size in shape:
            along = (np.arange(size) + 0.5) / size
            centre, width = random.uniform(0.2, 0.8), random.uniform(0.08, 0.3)
            hill = np.multiply.outer(hill, np.exp(-(((along - centre) / width) ** 2) / 2))
        weights += hill
    return weights
