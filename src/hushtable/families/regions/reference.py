"""Neighbourhood reference: a cell seen through cells of its region that are taken to be equal.

That they are equal is an assumption, which answers say. The likelihood of one noisy cell is a
straight line on either side of it, in logarithms, so that of many is quickly worked out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats, Integers
from hushtable.families.regions.adjacency import Adjacency, OrderedAxis
from hushtable.families.regions.crossing import RegionLayout
from hushtable.families.regions.moments import cumulants_on, equal_rows, likely, portion_cumulants
from hushtable.families.regions.options import Likelihood
from hushtable.families.regions.posterior import Estimator, Hill
from hushtable.query.law.density import log_density

POINTS = 512
WINDOW = 3
"""How many codes to either side are looked at to see whether cells differ by noise alone."""

_LOT = 2**20
_TAIL = 40.0


@dataclass(frozen=True, eq=False)
class Alike:
    """Some cells, each with those adjacent to it in its region."""

    layout: RegionLayout
    places: Integers
    seen: Floats
    """A row per cell: its own noisy count, then those of adjacent cells; NaN for none."""
    count: Integers
    """How many of them there are, the cell itself included."""
    rest: Floats
    """The region's count less all other cells of the region."""
    siblings: Integers
    """How many other cells these are."""

    @classmethod
    def of(
        cls,
        layout: RegionLayout,
        adjacency: Adjacency,
        places: Integers,
        credible: NDArray[np.bool_],
    ) -> Alike:
        """Adjacent cells are only looked at where it is credible that they are equal."""
        label = layout.labels[places]
        columns = [layout.cells[places]]
        codes = np.unravel_index(places, layout.shape)
        for there, valid in adjacency.partners(codes):
            place = np.ravel_multi_index([np.where(valid, a, 0) for a in there], layout.shape)
            same = valid & (layout.labels[place] == label) & credible[places]
            if same.any():
                columns.append(np.where(same, layout.cells[place], np.nan))
        seen = np.stack(columns, axis=1)
        count = (~np.isnan(seen)).sum(axis=1)
        rest = layout.apart[label] + np.nansum(seen, axis=1)
        return cls(layout, places, seen, count, rest, layout.sizes[label] - count)

    def posterior(self, i: int, estimator: Estimator, likelihood: Likelihood) -> Hill:
        """The posterior of one of the cells."""
        row = self.seen[i]
        return estimator.alike(
            row[~np.isnan(row)], float(self.rest[i]), int(self.siblings[i]), likelihood
        )


def credible_cells(
    layout: RegionLayout, adjacency: Adjacency, estimator: Estimator
) -> NDArray[np.bool_]:
    """The cells around which adjacent ones differ no more than noise makes them differ.

    The mean square of the differences of equal cells is twice the variance of the noise, but for
    what chance makes of those of one window: the mean of n squares of Laplace noises has a
    deviation of √(5/n), and a tenth and twice that are let pass.
    """
    size = layout.labels.size
    squares, pairs = np.zeros(size), np.zeros(size)
    codes = np.unravel_index(np.arange(size), layout.shape)
    for there, valid in adjacency.partners(codes):
        place = np.ravel_multi_index([np.where(valid, a, 0) for a in there], layout.shape)
        same = valid & (layout.labels[place] == layout.labels)
        squares += np.where(same, layout.cells - layout.cells[place], 0.0) ** 2
        pairs += same
    found, number, cells = (
        _windowed(values.reshape(layout.shape), adjacency).reshape(-1)
        for values in (squares, pairs, np.ones(size))
    )
    noise = estimator.cell_noise.variance
    return np.asarray(found <= 2 * noise * number * (1.1 + 2 * np.sqrt(5 / cells)))


def _windowed(values: Floats, adjacency: Adjacency) -> Floats:
    """The sums over the cells around each: so many codes to either side along ordinal axes."""
    for i, axis in enumerate(adjacency.axes):
        if isinstance(axis, OrderedAxis):
            along = np.moveaxis(values, i, 0)
            sums = np.concatenate([np.zeros_like(along[:1]), np.cumsum(along, axis=0)])
            code = np.arange(len(along))
            low, high = np.maximum(code - WINDOW, 0), np.minimum(code + WINDOW + 1, len(along))
            values = np.moveaxis(sums[high] - sums[low], 0, i)
    return values


def alike_cumulants(estimator: Estimator, alike: Alike, likelihood: Likelihood) -> Floats:
    """The first four cumulants of every cell's posterior, a column each."""
    found = np.empty((4, len(alike.places)))
    alone = np.flatnonzero(alike.count == 1)
    found[:, alone] = portion_cumulants(estimator, alike.layout.single(alike.places[alone]))
    others = np.flatnonzero(alike.count > 1)
    for index in equal_rows(alike.count[others], alike.siblings[others]):
        rows = others[index]
        for lot in np.array_split(rows, -(-len(rows) // _rows_of_lot(alike))):
            found[:, lot] = _of_lot(estimator, alike, lot, likelihood)
    return found


def _rows_of_lot(alike: Alike) -> int:
    return 16 * max(_LOT // (POINTS * int(alike.seen.shape[1])), 1)


def _of_lot(
    estimator: Estimator, alike: Alike, rows: NDArray[Any], likelihood: Likelihood
) -> Floats:
    """Cells with the same numbers of adjacent cells and of siblings."""
    seen, rest = alike.seen[rows], alike.rest[rows]
    count, siblings = int(alike.count[rows[0]]), int(alike.siblings[rows[0]])
    times = float(count)
    if likelihood == "plain":
        rest = rest - (np.nansum(seen, axis=1) - seen[:, 0])
        times, siblings = 1.0, siblings + count - 1
    scale = float(estimator.cell_noise.scale)
    least = 0.0 if estimator.prior == "non-negative" else None
    x = _grid(seen, rest / times if siblings == 0 else None, scale * _TAIL / count, least)
    level = np.zeros_like(x)
    for column in seen.T:
        away = np.abs(x - column[:, None])
        level -= np.where(np.isnan(away), 0.0, away) / scale
    level += log_density(estimator.outside(siblings))(times * x - rest[:, None])
    return cumulants_on(x, likely(level))


def _grid(seen: Floats, pull: Floats | None, tail: float, least: float | None) -> Floats:
    """Integers, or every so many, from below the least to above the largest of what was seen.

    Other cells of the region pull less than those beside; without any, its count may pull outside.
    """
    low, high = np.nanmin(seen, axis=1), np.nanmax(seen, axis=1)
    if pull is not None:
        low, high = np.minimum(low, pull), np.maximum(high, pull)
    low, high = np.floor(low - tail), np.ceil(high + tail)
    if least is not None:
        low = np.maximum(low, least)
        high = np.maximum(high, low + math.ceil(tail))
    step = np.maximum(np.ceil((high - low) / POINTS), 1.0)
    points = int(((high - low) / step).max()) + 1
    return np.asarray(low[:, None] + step[:, None] * np.arange(points))
