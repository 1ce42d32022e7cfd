"""Microdata from noisy cells: rows drawn from the nearest non-negative table."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushtable.errors import OptionError
from hushtable.release.decode import decode_within_bins
from hushtable.schema import Schema


def synthesize(
    schema: Schema, cells: NDArray[Any], *, rows: int | None, seed: int | None
) -> pa.Table:
    """Draw rows cell by cell, in random order."""
    if rows is not None and (isinstance(rows, bool) or rows < 0):
        raise OptionError("rows must be a whole number, zero or more")
    total = max(int(cells.sum(dtype=np.int64)), 0)
    rows = total if rows is None else int(rows)
    random = np.random.default_rng(seed)
    weights = nearest_counts(cells.reshape(-1), max(total, 1))
    picks = _draw(weights, rows, random)
    codes = np.unravel_index(picks, schema.shape)
    return pa.table(
        {
            attribute.name: decode_within_bins(attribute, along, random)
            for attribute, along in zip(schema.attributes, codes, strict=True)
        }
    )


def nearest_counts(cells: NDArray[Any], total: int) -> NDArray[np.float64]:
    """The non-negative numbers of this sum that are nearest to the cells (least squares).

    They are max(cell − t, 0) for the one t that makes the sum right: negative cells become zero
    and the rest is lowered evenly, so that clipping does not add people.
    """
    values, counts = np.unique(cells, return_counts=True)
    values, counts = values[::-1].astype(np.float64), counts[::-1].astype(np.float64)
    heads, sums = np.cumsum(counts), np.cumsum(counts * values)
    thresholds = (sums - total) / heads
    # The last prefix of the largest values that all stay above their own threshold.
    last = int(np.flatnonzero(values > thresholds)[-1])
    nearest: NDArray[np.float64] = np.maximum(cells - thresholds[last], 0.0)
    return nearest


def _draw(
    weights: NDArray[np.float64], rows: int, random: np.random.Generator
) -> NDArray[np.int64]:
    ends = np.cumsum(weights)
    picks = np.searchsorted(ends, random.random(rows) * ends[-1], side="right")
    return np.asarray(np.minimum(picks, len(weights) - 1), np.int64)
