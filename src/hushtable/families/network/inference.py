"""Exact inference on a network: the probability of boxes by variable elimination, no sampling.

A box is a weight for every code of some attributes: 1 inside, 0 outside. Attributes that no box
constrains and no constrained one descends from drop out. Of the others each is summed out in turn,
the cheapest first, at the finest level at which one of its children sees it. Many boxes that
constrain the same attributes are answered at once.

Every step is an `einsum` of two tables. Walking the steps backwards gives the derivative of each
probability by every entry of every conditional distribution, from which the error of an answer
follows (`read.py`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from string import ascii_letters

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats
from hushtable.errors import QueryError
from hushtable.families.network.fit import regroup
from hushtable.families.network.network import Distributions, Link
from hushtable.query.box import Box
from hushtable.query.cutting import Cuts, all_codes

Weights = Mapping[int, Floats]
"""For each constrained attribute, a row of weights of its codes for every box."""

MOST_CELLS = 2**26
"""The largest table that elimination may need on the way."""

BOXES = -1
"""In place of an attribute, the axis that runs through the boxes."""


@dataclass(eq=False)
class Factor:
    """A table over some attributes, and perhaps the boxes."""

    axes: tuple[int, ...]
    values: Floats
    slope: Floats | None = None
    """The derivative of the probabilities by the values, for every box, when it is known."""


class Elimination:
    """The probabilities of many boxes, and how they came about."""

    def __init__(self, fitted: Distributions, weights: Weights) -> None:
        self.fitted, self.weights = fitted, weights
        # The links that matter, in the order of the network.
        self.links = relevant(fitted.network.links, weights)
        self._level = _finest_used(self.links)
        self._active = {axis: self._active_groups(axis) for axis in self._level}
        self._own = {link.axis: self._factor(link) for link in self.links}
        self._steps: list[tuple[Factor, Factor, Factor]] = []
        self._last = self._eliminate()
        self.probabilities = np.atleast_1d(self._last.values)

    def _groups(self, axis: int) -> NDArray[np.int64]:
        """The group of each code at the level that children need."""
        return self.fitted.network.levels[axis][self._level[axis]]

    def _active_groups(self, axis: int) -> NDArray[np.int64]:
        """The groups that some box meets."""
        groups = self._groups(axis)
        if axis not in self.weights:
            return np.arange(groups[-1] + 1)
        return np.unique(groups[self.weights[axis].any(axis=0)])

    def _seen_by(self, axis: int, level: int) -> NDArray[np.int64]:
        """For each active group of a parent, the group at the level a child sees."""
        return regroup(self.fitted.network, axis, self._level[axis], level)[self._active[axis]]

    def _factor(self, link: Link) -> Factor:
        """Pr[child in box | parents] by groups of the parents, and of the child if it has some."""
        table = self.fitted.conditionals[self.fitted.network.links.index(link)]
        for i, (axis, level) in enumerate(link.parents):
            table = table.take(self._seen_by(axis, level), axis=i)
        axes, rows = [axis for axis, _ in link.parents], self.weights.get(link.axis)
        if link.axis not in self._level:
            assert rows is not None  # else it would not matter
            return _factor_of(axes, _weighed(table, rows))
        table = table[None] if rows is None else table * _along_last(rows, table.ndim)
        starts = np.flatnonzero(np.diff(self._groups(link.axis), prepend=-1))
        values = np.add.reduceat(table, starts, axis=-1)[..., self._active[link.axis]]
        return _factor_of([*axes, link.axis], values)

    def _eliminate(self) -> Factor:
        """Sum out every attribute, the one that needs the smallest table first."""
        factors = list(self._own.values())
        sizes = {axis: len(active) for axis, active in self._active.items()}
        sizes[BOXES] = max((len(rows) for rows in self.weights.values()), default=1)
        waiting = {axis for axis in self._active if sizes[axis] != 1}
        while waiting:
            axis = min(waiting, key=lambda one: (_table_size(factors, one, sizes), one))
            if _table_size(factors, axis, sizes) > MOST_CELLS:
                raise QueryError(
                    "the network is too entangled to answer this exactly; constrain fewer"
                    " attributes, or count synthetic rows"
                )
            waiting.remove(axis)
            joined = [factor for factor in factors if axis in factor.axes]
            factors = [factor for factor in factors if axis not in factor.axes]
            factors.append(self._summed_out(axis, joined))
        return reduce(self._step, factors, Factor((), np.ones(())))

    def _summed_out(self, axis: int, joined: list[Factor]) -> Factor:
        """The product of factors, summed over an attribute; the largest of them comes last."""
        if len(joined) == 1:
            joined = [Factor((axis,), np.ones(len(self._active[axis]))), *joined]
        *others, last = sorted(joined, key=lambda factor: factor.values.size)
        return self._step(reduce(self._step, others), last, without=axis)

    def _step(self, left: Factor, right: Factor, without: int | None = None) -> Factor:
        """The product of two factors, perhaps summed over an attribute."""
        axes = tuple(sorted({*left.axes, *right.axes} - {without}))
        result = Factor(axes, _contract(left, right, axes))
        self._steps.append((left, right, result))
        return result

    def differentiate(self) -> None:
        """Fill in the slope of every factor, from the last step to the first."""
        self._last.slope = np.ones_like(self.probabilities)
        for left, right, result in reversed(self._steps):
            assert result.slope is not None
            above = Factor(_with_boxes(result.axes), result.slope)
            for one, other in ((left, right), (right, left)):
                one.slope = _contract(above, other, _with_boxes(one.axes))

    def slope(self, link: Link) -> Floats:
        """The derivative by Pr[child | parents], as the conditional is stored, for every box."""
        slope, rows = self._own[link.axis].slope, self.weights.get(link.axis)
        assert slope is not None
        lengths = [len(self._active[axis]) if axis in self._active else 1 for axis, _ in link.table]
        slope = slope.reshape(len(slope), *lengths)
        full = self.fitted.conditionals[self.fitted.network.links.index(link)].shape
        for i, (axis, level) in enumerate(link.parents):
            slope = _scattered(slope, i + 1, self._seen_by(axis, level), full[i])
        if link.axis in self._level:
            slope = self._by_code(slope, link.axis)
        return slope if rows is None else slope * _along_last(rows, slope.ndim - 1)

    def _by_code(self, slope: Floats, axis: int) -> Floats:
        """From the active groups of a child to all its codes; outside them nothing changes."""
        groups, active = self._groups(axis), self._active[axis]
        wide = np.zeros((*slope.shape[:-1], int(groups[-1]) + 1))
        wide[..., active] = slope
        return np.asarray(wide[..., groups])


def weights_of(
    shape: Sequence[int], box: Box, cuts: Cuts, places: Sequence[NDArray[np.intp]]
) -> Weights:
    """The weights of one box within each of some groups; whole attributes are left out."""
    weights: dict[int, Floats] = {}
    for axis, (codes, size) in enumerate(zip(box.sets, shape, strict=True)):
        if codes.count < size:
            weights[axis] = np.zeros((1, size))
            weights[axis][0, all_codes(codes)] = 1.0
    for (axis, ranges), place in zip(cuts, places, strict=True):
        ends = np.asarray(ranges, np.int64).reshape(-1, 2)[place]
        every = np.arange(shape[axis])
        inside = (every >= ends[:, :1]) & (every < ends[:, 1:])
        weights[axis] = inside * weights.get(axis, np.ones((1, 1)))
    return weights


def relevant(links: Sequence[Link], weights: Weights) -> list[Link]:
    """The constrained attributes and their ancestors."""
    wanted = set(weights)
    for link in reversed(links):
        if link.axis in wanted:
            wanted |= {axis for axis, _ in link.parents}
    return [link for link in links if link.axis in wanted]


def _finest_used(links: Sequence[Link]) -> dict[int, int]:
    """For each parent, the finest level at which a child sees it."""
    finest: dict[int, int] = {}
    for link in links:
        for axis, level in link.parents:
            finest[axis] = min(level, finest.get(axis, level))
    return finest


def _table_size(factors: Sequence[Factor], axis: int, sizes: Mapping[int, int]) -> int:
    """How large the table gets when an attribute is summed out."""
    joined = {other for factor in factors if axis in factor.axes for other in factor.axes}
    return math.prod(sizes[other] for other in joined)


def _contract(left: Factor, right: Factor, axes: tuple[int, ...]) -> Floats:
    """The product of two factors, summed over all axes but some."""
    letters = dict(zip({*left.axes, *right.axes}, ascii_letters, strict=False))
    named = ("".join(letters[axis] for axis in some) for some in (left.axes, right.axes, axes))
    return np.asarray(np.einsum("{},{}->{}".format(*named), left.values, right.values))


def _factor_of(axes: Sequence[int], values: Floats) -> Factor:
    """A factor from a table for every box, or one for all; axes of length 1 are left out."""
    named = zip((BOXES, *axes), values.shape, strict=True)
    return Factor(tuple(axis for axis, length in named if length != 1), values.squeeze())


def _with_boxes(axes: tuple[int, ...]) -> tuple[int, ...]:
    return axes if BOXES in axes else (BOXES, *axes)


def _weighed(table: Floats, rows: Floats) -> Floats:
    """The sums along the last axis of a table by rows of weights, which become the first."""
    if (np.count_nonzero(rows, axis=1) > 1).any():
        return np.tensordot(rows, table, (1, -1))
    codes = np.abs(rows).argmax(axis=1)  # at most one of each row counts
    weights = rows[np.arange(len(rows)), codes].reshape(-1, *[1] * (table.ndim - 1))
    return np.asarray(np.moveaxis(table.take(codes, axis=-1), -1, 0) * weights)


def _along_last(rows: Floats, axes: int) -> Floats:
    """Rows of weights, to be multiplied along the last of some axes; the boxes come first."""
    return rows.reshape(len(rows), *[1] * (axes - 1), -1)


def _scattered(values: Floats, axis: int, groups: NDArray[np.int64], size: int) -> Floats:
    """Add up the places of an axis that belong to the same group."""
    moved = np.moveaxis(values, axis, 0)
    wide = np.zeros((size, *moved.shape[1:]))
    if np.all(np.diff(groups) > 0):
        wide[groups] = moved
    else:
        np.add.at(wide, groups, moved)
    return np.moveaxis(wide, 0, axis)
