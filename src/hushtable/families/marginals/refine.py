"""What noisy tables tell beyond a model, as far as noise does not explain it.

The part of a set of attributes (`least_squares.py`) has noise of a known variance. A model says
what the part should be. The difference is looked at from coarse to fine, along the levels of all
attributes: at each step, groups of cells have differences eᵢ with noise of variance Vᵢ, where the
model expects mᵢ rows. If Σ(eᵢ² − Vᵢ) is no more than noise might give, nothing is learnt. Otherwise
true differences are taken to have variances in proportion to mᵢ that add up to this sum, and of
each eᵢ the share that is expected to be true is kept: empirical Bayes. Cells of a group change in
proportion, so that what is told of a coarse group is not lost in the noise of its cells.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hushtable.arrays import Floats, Integers
from hushtable.families.marginals.joint import Alone, Joint, along, divided, summed
from hushtable.families.marginals.layers import Layer
from hushtable.families.marginals.least_squares import Agreeing
from hushtable.families.network.fit import regroup
from hushtable.families.network.network import Network, Seen

MOST_REFINED = 2**18
"""Cells of a table that is compared with a model; a larger one is compared at coarser levels."""

# How many standard deviations of noise a sum of squares must exceed noise by.
_CERTAIN = 2.5
# The variance of a square, over the variance squared: 2 of normal noise, 5 of Laplace noise.
_SQUARE = 4.0
# What is left of an expected count at the least.
_LEAST = 1e-3
# Rounds of adjusting a table to those of fewer attributes.
_ROUNDS = 3


@dataclass(frozen=True, eq=False)
class Sight:
    """An attribute as a layer's tables show it, at the levels that they tell, finest first."""

    axis: int
    levels: tuple[int, ...]
    edges: tuple[Integers, ...]
    """For each level where its groups end, in cells of the layer."""

    @classmethod
    def of(cls, network: Network, layer: Layer, axis: int) -> Sight | None:
        """None where the layer does not tell an attribute at any level."""
        if axis not in layer.agreeing.along:
            return None
        found = {}
        for level, groups in enumerate(network.levels[axis]):
            ends = layer.places(axis, np.searchsorted(groups, np.arange(int(groups[-1]) + 2)))
            if ends is not None:
                found[level] = ends
        return cls(axis, tuple(found), tuple(found.values())) if found else None

    @property
    def seen(self) -> Seen:
        """The attribute at the finest level."""
        return self.axis, self.levels[0]

    @property
    def size(self) -> int:
        """How many groups it has at the finest level."""
        return len(self.edges[0]) - 1

    def coarser(self) -> Sight:
        """Without the finest level."""
        return Sight(self.axis, self.levels[1:], self.edges[1:])


def sights_of(network: Network, layer: Layer, axes: Sequence[int]) -> list[Sight] | None:
    """Attributes as a layer shows them together, coarse enough; None where it does not."""
    if not layer.agreeing.answers(tuple(axes)):
        return None
    found = [Sight.of(network, layer, axis) for axis in axes]
    sights = [sight for sight in found if sight is not None]
    if len(sights) < len(axes):
        return None
    while math.prod(sight.size for sight in sights) > MOST_REFINED:
        largest = max((s for s in sights if len(s.levels) > 1), key=lambda s: s.size, default=None)
        if largest is None:
            return None
        sights[sights.index(largest)] = largest.coarser()
    return sights


def refined(agreeing: Agreeing, sights: Sequence[Sight], base: Floats, alone: Alone) -> Floats:
    """A model's table of some attributes, changed by what their part tells.

    Attributes are in order, and at the finest levels of their sights. What the table says of fewer
    of them is kept, for a part is what all of them add to that.
    """
    axes = tuple(sight.axis for sight in sights)
    part = _by_group(agreeing.part(axes), [sight.edges[0] for sight in sights])
    even = [_by_group(agreeing.along[s.axis].even, [s.edges[0]]) for s in sights]
    seen = tuple(sight.seen for sight in sights)
    keep = [Joint((*seen[:i], *seen[i + 1 :]), base.sum(axis=i)) for i in range(len(seen))]
    found = base
    for steps in _coarse_to_fine(sights):
        groups = [_groups(alone.network, s, k) for s, k in zip(sights, steps, strict=True)]
        expected, beyond = found, part - _own_part(found, even)
        for place, of in enumerate(groups):
            expected, beyond = summed(expected, place, of), summed(beyond, place, of)
        kept = _kept(expected, beyond, _variances(agreeing, sights, steps))
        if kept is not None:
            changed = Joint(seen, found * divided(kept, expected)[np.ix_(*groups)])
            found = changed.raked(keep, alone, _ROUNDS).counts
    return found


def _kept(expected: Floats, beyond: Floats, variances: Floats) -> Floats | None:
    """The counts of groups after what is beyond the model; None where noise explains it."""
    excess = float((beyond**2 - variances).sum())
    # A part of n₁ × n₂ × … groups has (n₁ − 1)(n₂ − 1)… that are free.
    free = math.prod(size - 1 for size in expected.shape)
    spread = _SQUARE * float((variances**2).sum()) * expected.size
    if free == 0 or excess <= _CERTAIN * math.sqrt(spread / free):
        return None
    true = excess / expected.sum() * expected
    share = divided(true, true + variances)
    return np.maximum(expected + share * beyond, _LEAST * expected)


def _coarse_to_fine(sights: Sequence[Sight]) -> Iterator[list[int]]:
    """Levels of all attributes, by their places: always the attribute of fewest groups is next."""
    steps = [len(sight.levels) - 1 for sight in sights]
    yield list(steps)
    while any(steps):
        able = [i for i, step in enumerate(steps) if step]
        steps[min(able, key=lambda i: (len(sights[i].edges[steps[i] - 1]), i))] -= 1
        yield list(steps)


def _groups(network: Network, sight: Sight, step: int) -> Integers:
    """The group of each group of the finest level."""
    return regroup(network, sight.axis, sight.levels[0], sight.levels[step])


def _variances(agreeing: Agreeing, sights: Sequence[Sight], steps: Sequence[int]) -> Floats:
    """The noise variance of the part, group by group."""
    axes = tuple(sight.axis for sight in sights)
    found = np.full([1] * len(sights), agreeing.part_variance(axes))
    for place, (sight, step) in enumerate(zip(sights, steps, strict=True)):
        ends = sight.edges[step]
        own = agreeing.along[sight.axis].own(ends[:-1], ends[1:])
        found = found * along(own, place, len(sights))
    return found


def _own_part(counts: Floats, even: Sequence[Floats]) -> Floats:
    """What is left of a table when its share of the total is taken off along every axis."""
    for place, shares in enumerate(even):
        total = counts.sum(axis=place, keepdims=True)
        counts = counts - total * along(shares, place, counts.ndim)
    return counts


def _by_group(values: Floats, edges: Sequence[Integers]) -> Floats:
    for place, ends in enumerate(edges):
        values = np.asarray(np.add.reduceat(values, ends[:-1], axis=place))
    return values
