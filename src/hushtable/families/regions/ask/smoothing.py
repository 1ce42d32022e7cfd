"""Smoothing of noisy cells: the S of ISPE. It touches noisy values only, so it costs nothing.

Filters go along one axis after another. Along an ordinal axis a cell is mixed with those beside it;
along a nominal one with all its siblings alike, for they have no order.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats
from hushtable.families.regions.adjacency import Axis, OrderedAxis


def gaussian(values: Floats, axes: Sequence[Axis], *, sigma: float, iterations: int) -> Floats:
    """Mix every cell with adjacent ones by a Gaussian mask, some times over.

    A mask that reaches beyond the domain is cut there and weighted anew, so that a flat stretch
    stays flat.
    """
    values = np.array(values, np.float64)
    for _ in range(iterations):
        for i, axis in enumerate(axes):
            along = np.moveaxis(values, i, 0)
            if isinstance(axis, OrderedAxis):
                along[: axis.ordered] = _masked(along[: axis.ordered], mask(sigma))
            else:
                _mix_siblings(along, axis.sibling_codes, 1 - float(mask(sigma)[0]))
    return values


def mask(sigma: float) -> Floats:
    """The middle of a one-dimensional Gaussian mask and its right side; both sides sum to one.

    At σ = ½ it reaches one cell: the product of two is the 3 × 3 mask of the paper's Appendix B.
    """
    reach = max(1, math.ceil(2 * sigma))
    weights = np.exp(-(np.arange(reach + 1.0) ** 2) / (2 * sigma**2))
    return np.asarray(weights / (weights[0] + 2 * weights[1:].sum()))


def _masked(along: Floats, weights: Floats) -> Floats:
    mixed = weights[0] * along
    held = np.full(len(along), weights[0])
    for away, weight in enumerate(weights[1:].tolist(), start=1):
        if away >= len(along):
            break
        mixed[away:] += weight * along[:-away]
        mixed[:-away] += weight * along[away:]
        held[away:] += weight
        held[:-away] += weight
    return np.asarray(mixed / held.reshape(-1, *[1] * (along.ndim - 1)))


def _mix_siblings(along: Floats, sibling_codes: Sequence[NDArray[np.int64]], outer: float) -> None:
    """Give every cell the mean of its siblings, as much as a mask gives to both sides."""
    for codes in sibling_codes:
        siblings = along[codes]
        others = (siblings.sum(axis=0) - siblings) / (len(codes) - 1)
        along[codes] = (1 - outer) * siblings + outer * others


def median(values: Floats, axes: Sequence[Axis], *, iterations: int) -> Floats:
    """Replace every cell by the median of three along each ordinal axis, some times over."""
    values = np.array(values, np.float64)
    for _ in range(iterations):
        for i, axis in enumerate(axes):
            if isinstance(axis, OrderedAxis) and axis.ordered > 2:
                along = np.moveaxis(values, i, 0)
                one, two, three = (along[k : axis.ordered - 2 + k] for k in range(3))
                along[1 : axis.ordered - 1] = np.maximum(
                    np.minimum(one, two), np.minimum(np.maximum(one, two), three)
                )
    return values


def difference_of_adjacent(axes: Sequence[Axis], *, sigma: float, iterations: int) -> float:
    """How far noise alone puts two smoothed adjacent cells apart, in deviations of a cell's noise.

    The filter is linear and a product over the axes: the squares of its weights multiply, and along
    the axis on which the two differ it is the squares of the weights' differences that count.
    """
    plain, changed = 1.0, 0.0
    for axis in axes:
        here, there = _responses(axis, sigma, iterations)
        square = float(here @ here)
        changed = max(changed, float((here - there) @ (here - there)) / square)
        plain *= square
    return math.sqrt(plain * (changed or 2.0))


def _responses(axis: Axis, sigma: float, iterations: int) -> tuple[Floats, Floats]:
    """What two adjacent cells amid an axis are made of: how two impulses spread there."""
    if isinstance(axis, OrderedAxis):
        reach = iterations * (len(mask(sigma)) - 1)
        size = min(axis.ordered, 2 * reach + 4)  # no impulse comes further
        axis, pair = OrderedAxis(size, size), (size // 2, max(size // 2 - 1, 0))
    else:
        siblings = max(axis.sibling_codes, key=len, default=np.zeros(2, np.int64))
        pair = int(siblings[0]), int(siblings[1])
    impulses = np.zeros((axis.size, 2))
    impulses[pair, (0, 1)] = 1.0
    spread = gaussian(impulses, [axis, OrderedAxis(2, 1)], sigma=sigma, iterations=iterations)
    return spread[:, 0], spread[:, 1]
