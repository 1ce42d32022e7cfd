"""Microdata from noisy cells: rows drawn from the nearest non-negative table."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushtable.errors import NoisyRowsWarning, OptionError
from hushtable.release.decode import decoder_within_bins
from hushtable.schema import Schema

MAX_ROWS = 10**8

MOST_NOISE = 0.25
"""The share of noise in what rows are drawn from that is passed over without a warning."""

# Cells are tallied in pieces of this size, and by value as long as the values span no more.
_PIECE = 2**20
_NARROW = 2**20


def synthesize(
    schema: Schema, cells: NDArray[Any], *, rows: int | None, seed: int | None
) -> pa.Table:
    """Draw rows cell by cell, in random order."""
    flat = cells.reshape(-1)
    total = max(float(flat.sum(dtype=np.float64)), 0.0)  # exact below 2⁵³, and never wraps
    rows = checked_rows(float(round(total)) if rows is None else rows, MAX_ROWS)
    random = np.random.default_rng(checked_seed(seed))
    return rows_of(schema, draw_cells(flat, total, rows, random), random)


def draw_cells(
    cells: NDArray[Any],
    total: float,
    rows: int,
    random: np.random.Generator,
    noise: float | None = None,
) -> NDArray[np.int64]:
    """Draw cells in random order, as often as the nearest non-negative table says.

    Warns where too much of that table is noise; `noise` says how much is where only positive cells
    were kept, which do not tell.
    """
    total = max(total, 1.0)
    nearest = nearest_counts(cells, total)
    share = noise_share(cells, nearest, total) if noise is None else noise / total
    if rows and share > MOST_NOISE:
        warnings.warn(
            f"about {100 * min(share, 1.0):.0f} % of these rows are noise: there are too many cells"
            " for so few people, and shares of values drift towards even ones; publish by marginals"
            " or privbayes for rows that keep them",
            NoisyRowsWarning,
            stacklevel=4,
        )
    picks = _draw(nearest, rows, random)
    random.shuffle(picks)
    return picks


def noise_share(cells: NDArray[Any], nearest: NDArray[np.float64], total: float) -> float:
    """About which share of the nearest non-negative table is noise of empty cells.

    The table has what is above a threshold t. Noise is as often negative as positive, and no count
    is negative: what the cells have below −t shows how much noise empty cells have above t. Where
    the total itself is within two standard errors of zero, by the same token, all is noise. Noisy
    cells alone decide, whatever the law of their noise.
    """
    top = int(np.argmax(cells))
    threshold = float(cells[top]) - nearest[top]
    mass = squares = 0.0
    for start in range(0, len(cells), _PIECE):
        below = np.maximum(-cells[start : start + _PIECE].astype(np.float64), 0.0)
        squares += float(below @ below)
        mass += float(np.maximum(below - threshold, 0.0).sum())
    return 1.0 if total**2 < 4 * 2 * squares else mass / total


def rows_of(schema: Schema, cells: NDArray[np.int64], random: np.random.Generator) -> pa.Table:
    """A row for each of some cells, given by their linear codes."""
    codes = np.unravel_index(cells, schema.shape)
    return pa.table(
        {
            attribute.name: decoder_within_bins(attribute, random)(along)
            for attribute, along in zip(schema.attributes, codes, strict=True)
        }
    )


def checked_rows(rows: float, most: int) -> int:
    """How many rows to draw, if that many can be."""
    if isinstance(rows, bool) or rows != rows or rows < 0 or rows != rows // 1:
        raise OptionError("rows must be a whole number, zero or more")
    if rows > most:
        raise OptionError(f"{rows:,.0f} rows are too many at once: ask for at most {most:,}")
    return int(rows)


def checked_seed(seed: int | None) -> int | None:
    """A seed that the generators take."""
    if seed is not None and (isinstance(seed, bool) or seed < 0):
        raise OptionError("seed must be a whole number, zero or more")
    return seed


def nearest_counts(cells: NDArray[Any], total: float) -> NDArray[np.float64]:
    """The non-negative numbers of this sum that are nearest to the cells (least squares).

    They are max(cell − t, 0) for the one t that makes the sum right: negative cells become zero
    and the rest is lowered evenly, so that clipping does not add people.
    """
    values, counts = _tally(cells)
    # Relative to the largest, so that no digit is lost where it matters.
    top = values[-1]
    below, counts = (values[::-1] - top).astype(np.float64), counts[::-1].astype(np.float64)
    thresholds = (np.cumsum(counts * below) - total) / np.cumsum(counts)
    # The last prefix of the largest values that all stay above their own threshold.
    last = int(np.flatnonzero(below > thresholds)[-1])
    nearest = cells.astype(np.float64)
    nearest -= float(top)
    nearest -= thresholds[last]
    return np.maximum(nearest, 0.0, out=nearest)


def _tally(cells: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """The distinct values in increasing order, and how often each occurs."""
    low, high = int(cells.min()), int(cells.max())
    if cells.dtype.kind == "f" or high - low > _NARROW:
        # In floats, for the differences of 64-bit integers may not fit 64 bits.
        return np.unique(cells.astype(np.float64), return_counts=True)
    counts = np.zeros(high - low + 1, np.int64)
    for start in range(0, len(cells), _PIECE):
        piece = cells[start : start + _PIECE].astype(np.int64) - low
        counts += np.bincount(piece, minlength=len(counts))
    present = np.flatnonzero(counts)
    return present + low, counts[present]


def _draw(
    weights: NDArray[np.float64], rows: int, random: np.random.Generator
) -> NDArray[np.int64]:
    """One cell for each of `rows` equal shares of the weights, drawn evenly from that share.

    A cell that holds several shares is then drawn about as often as it should, not by chance.
    """
    ends = np.cumsum(weights, out=weights)
    points = np.arange(rows, dtype=np.float64)
    points += random.random(rows)
    points *= ends[-1] / max(rows, 1)
    # Rounding may put a point at the very end: it belongs to the last cell with any weight.
    last = np.searchsorted(ends, ends[-1], side="left")
    return np.asarray(np.minimum(np.searchsorted(ends, points, side="right"), last), np.int64)
