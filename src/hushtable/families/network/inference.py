"""Exact inference on a network: the probability of boxes by variable elimination, no sampling.

A box is a weight for every code of some attributes: 1 inside, 0 outside. Attributes that no box
constrains and no constrained one descends from drop out. Of the others each is summed out in turn,
the cheapest first, at the finest level at which one of its children sees it. Many boxes that
constrain the same attributes are answered at once.

Walking the same steps backwards gives the derivative of each probability by every entry of every
conditional distribution, from which the error of an answer follows (`network_reader`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats
from hushtable.errors import QueryError
from hushtable.families.network.fit import FittedNetwork, regroup
from hushtable.families.network.network import Link

Weights = Mapping[int, Floats]
"""For each constrained attribute, a row of weights of its codes for every box."""

MOST_CELLS = 2**26
"""The largest table that elimination may need on the way."""


@dataclass(eq=False)
class Factor:
    """A table over some attributes; its first axis runs through the boxes, or has length 1."""

    axes: tuple[int, ...]
    values: Floats
    slope: Floats | None = None
    """The derivative of the probabilities by the values, when it is known."""


@dataclass(eq=False)
class Step:
    """Factors that were multiplied, and the one that is left after summing out an attribute."""

    inputs: list[Factor]
    union: tuple[int, ...]
    result: Factor


@dataclass(eq=False)
class Elimination:
    """The probabilities of many boxes, and how they came about."""

    fitted: FittedNetwork
    weights: Weights
    own: dict[int, Factor] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._links = relevant(self.fitted.network.links, self.weights)
        self._level = _finest_used(self._links)
        self._active = {link.axis: self._active_groups(link.axis) for link in self._links}
        for link in self._links:
            self.own[link.axis] = self._factor(link)
        self.probabilities = self._eliminate()

    @property
    def links(self) -> list[Link]:
        """The links that matter, in the order of the network."""
        return self._links

    def _groups(self, axis: int) -> NDArray[np.int64]:
        """The group of each code at the level its children need; one group if it has none."""
        levels = self.fitted.network.levels[axis]
        level = self._level.get(axis)
        return np.zeros(len(levels[0]), np.int64) if level is None else levels[level]

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
        """Pr[child in box | parents] by groups of the child and of its parents."""
        table = self._conditional(link)
        if link.axis in self.weights:
            rows = self.weights[link.axis]
            table = table * rows.reshape(len(rows), *[1] * len(link.parents), -1)
        groups = self._groups(link.axis)
        starts = np.flatnonzero(np.diff(groups, prepend=-1))
        values = np.add.reduceat(table, starts, axis=-1)[..., self._active[link.axis]]
        axes = [axis for axis, _ in link.parents] + [link.axis]
        order = sorted(range(len(axes)), key=axes.__getitem__)
        values = values.transpose(0, *(place + 1 for place in order))
        return Factor(tuple(sorted(axes)), values)

    def _conditional(self, link: Link) -> Floats:
        """Pr[child | parents] at the active groups of the parents, with an axis for the boxes."""
        place = self.fitted.network.links.index(link)
        table = self.fitted.conditionals[place]
        for i, (axis, level) in enumerate(link.parents):
            table = table.take(self._seen_by(axis, level), axis=i)
        return np.asarray(table[None])

    def _eliminate(self) -> Floats:
        factors = list(self.own.values())
        sizes = {axis: len(active) for axis, active in self._active.items()}
        waiting = set(sizes)
        while waiting:
            axis = min(waiting, key=lambda one: (_clique_size(factors, one, sizes), one))
            if _clique_size(factors, axis, sizes) > MOST_CELLS:
                raise QueryError(
                    "the network is too entangled to answer this exactly; constrain fewer"
                    " attributes, or count synthetic rows"
                )
            waiting.remove(axis)
            inputs = [factor for factor in factors if axis in factor.axes]
            step = _summed_out(inputs, axis)
            self.steps.append(step)
            factors = [f for f in factors if axis not in f.axes] + [step.result]
        last = Step(factors, (), Factor((), _product(factors, ())))
        self.steps.append(last)
        return last.result.values

    def differentiate(self) -> None:
        """Fill in the slope of every factor, from the last step to the first."""
        last = self.steps[-1].result
        last.slope = np.ones_like(last.values)
        for step in reversed(self.steps):
            assert step.result.slope is not None
            slope = _aligned(step.result.axes, step.result.slope, step.union)
            for i, factor in enumerate(step.inputs):
                others = step.inputs[:i] + step.inputs[i + 1 :]
                whole = slope * _product(others, step.union)
                factor.slope = _summed_to(whole, step.union, factor.axes)

    def slope(self, link: Link) -> Floats:
        """The derivative by Pr[child | parents], as the conditional is stored, for every box."""
        factor = self.own[link.axis]
        assert factor.slope is not None
        axes = [axis for axis, _ in link.parents] + [link.axis]
        order = [factor.axes.index(axis) + 1 for axis in axes]
        slope = factor.slope.transpose(0, *order)
        boxes = max(len(slope), *(len(rows) for rows in self.weights.values()), 1)
        full = [p.shape for p in self.fitted.conditionals][self.fitted.network.links.index(link)]
        for i, (axis, level) in enumerate(link.parents):
            slope = _scattered(slope, i + 1, self._seen_by(axis, level), full[i])
        slope = self._by_code(slope, link.axis)
        if link.axis in self.weights:
            rows = self.weights[link.axis]
            slope = slope * rows.reshape(len(rows), *[1] * len(link.parents), -1)
        return np.broadcast_to(slope, (boxes, *slope.shape[1:]))

    def _by_code(self, slope: Floats, axis: int) -> Floats:
        """From the active groups of a child to all its codes; outside them nothing changes."""
        groups, active = self._groups(axis), self._active[axis]
        wide = np.zeros((*slope.shape[:-1], int(groups[-1]) + 1))
        wide[..., active] = slope
        return np.asarray(wide[..., groups])


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


def _clique_size(factors: Sequence[Factor], axis: int, sizes: Mapping[int, int]) -> int:
    """How large the table gets when an attribute is summed out."""
    joined = [factor for factor in factors if axis in factor.axes]
    union = {other for factor in joined for other in factor.axes}
    boxes = max((len(factor.values) for factor in joined), default=1)
    return boxes * math.prod(sizes[other] for other in union)


def _summed_out(inputs: list[Factor], axis: int) -> Step:
    union = tuple(sorted({other for factor in inputs for other in factor.axes}))
    product = _product(inputs, union)
    left = tuple(other for other in union if other != axis)
    return Step(inputs, union, Factor(left, product.sum(axis=union.index(axis) + 1)))


def _product(factors: Sequence[Factor], union: tuple[int, ...]) -> Floats:
    product = np.ones([1] * (len(union) + 1))
    for factor in factors:
        product = product * _aligned(factor.axes, factor.values, union)
    return product


def _aligned(axes: tuple[int, ...], values: Floats, union: tuple[int, ...]) -> Floats:
    """A factor with an axis of length 1 for every attribute of the union that it lacks."""
    lengths = iter(values.shape[1:])
    return values.reshape(len(values), *(next(lengths) if axis in axes else 1 for axis in union))


def _summed_to(values: Floats, union: tuple[int, ...], axes: tuple[int, ...]) -> Floats:
    gone = tuple(i + 1 for i, axis in enumerate(union) if axis not in axes)
    return np.asarray(values.sum(axis=gone))


def _scattered(values: Floats, axis: int, groups: NDArray[np.int64], size: int) -> Floats:
    """Add up the places of an axis that belong to the same group."""
    moved = np.moveaxis(values, axis, 0)
    wide = np.zeros((size, *moved.shape[1:]))
    np.add.at(wide, groups, moved)
    return np.moveaxis(wide, 0, axis)
