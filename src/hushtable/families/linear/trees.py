"""The tree over an axis that answers a set of intervals with the least noise."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache, lru_cache

import numpy as np

from hushtable.arrays import Integers
from hushtable.families.linear.read.transforms import reading_of
from hushtable.kernel.maps import AxisTransform, Identity, Tree
from hushtable.workload.intervals import AllRanges, Along, some_of

# Intervals by which trees are compared; of small sets, all.
_SAMPLE = 2000
# From here on trees take long to build, and only a few even ones are compared.
_LONG = 8192
# The parts of the budget that levels trade until none gains.
_PARTS = 48


@lru_cache(maxsize=256)
def best_tree(size: int, along: Along | None = None) -> AxisTransform:
    """The tree without a root under which an interval of the set has the least noise variance.

    Per unit of ε² an interval costs levels² · Σ weights², for add-remove neighbours; over several
    axes these multiply, so that each axis is chosen on its own. Without a set: all ranges.
    """
    starts, stops = some_of(along or AllRanges(size), _SAMPLE)

    @cache
    def cost(radices: tuple[int, ...]) -> float:
        return tree_cost(_of_radices(size, radices), starts, stops)

    best: tuple[int, ...] = ()
    shallowest = 2 if size < _LONG else math.ceil(math.log(size, 40))
    for depth in range(shallowest, int(math.log2(size)) + 1):
        found = min(_even_radices(size, depth), key=cost)
        if size < _LONG:
            found = _improved(found, cost, size)
        if cost(found) >= cost(best):  # deeper ones only get worse
            break
        best = found
    return _of_radices(size, best)


def tree_cost(axis: AxisTransform, starts: Integers, stops: Integers) -> float:
    """The mean noise variance of some intervals, per unit of ε², for large scales."""
    factors = np.array([float(c.factor) for c in axis.classes])
    return axis.levels**2 * float((reading_of(axis).gains(starts, stops) @ factors**2).mean())


def _of_radices(size: int, radices: tuple[int, ...]) -> AxisTransform:
    """The tree with these numbers of children below the top; without any, the plain counts."""
    if not radices:
        return Identity(size)
    top = math.ceil(size / math.prod(radices))
    return Tree.mixed(size, (top, *radices), root=False)


def _even_radices(size: int, depth: int) -> Iterator[tuple[int, ...]]:
    """Nearly equal numbers of children, wider ones nearer to either end."""
    middle = size ** (1 / depth)
    for tilt in (0.75, 0.9, 1.0, 1.1, 1.3) if size < _LONG else (1.0, 1.1):
        radices = tuple(max(2, round(middle * tilt ** (depth - 1 - i))) for i in range(1, depth))
        if math.prod(radices) < size:
            yield radices


def _improved(
    radices: tuple[int, ...], cost: Callable[[tuple[int, ...]], float], size: int
) -> tuple[int, ...]:
    """Change one number at a time by one or two, as long as that helps."""
    while True:
        others = [
            (*radices[:i], number + step, *radices[i + 1 :])
            for i, number in enumerate(radices)
            for step in (-2, -1, 1, 2)
        ]
        allowed = [o for o in others if min(o) >= 2 and math.prod(o) < size]
        best = min([radices, *allowed], key=cost)
        if best == radices:
            return radices
        radices = best


@lru_cache(maxsize=256)
def with_budgets(tree: Tree, along: Along) -> Tree:
    """The same tree with the budget shared out among its levels as suits the set best.

    Levels give each other small parts of the budget as long as that helps.
    """
    starts, stops = some_of(along, _SAMPLE)
    levels = tree.levels
    if levels < 2:
        return tree
    parts = [_PARTS // levels] * levels
    parts[-1] += _PARTS - sum(parts)

    @cache
    def cost(parts: tuple[int, ...]) -> float:
        return tree_cost(_shared(tree, parts), starts, stops)

    best = tuple(parts)
    for step in (4, 2, 1):
        while True:
            others = [_traded(best, i, j, step) for i in range(levels) for j in range(levels)]
            better = min([best, *(o for o in others if min(o) > 0)], key=cost)
            if better == best:
                break
            best = better
    return _shared(tree, best)


def _traded(parts: tuple[int, ...], giver: int, taker: int, step: int) -> tuple[int, ...]:
    changed = list(parts)
    changed[giver] -= step
    changed[taker] += step
    return tuple(changed)


def _shared(tree: Tree, parts: tuple[int, ...]) -> Tree:
    shares = tuple(Fraction(part, sum(parts)) for part in parts)
    return Tree(tree.size, tree.groups, tree.radices, root=tree.root, shares=shares)
