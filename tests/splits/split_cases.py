"""The chance of every tree of a small table, written out from the definition and exactly."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np

from hushtable.kernel.curator import Pace

Span = tuple[tuple[int, int], ...]
"""The first code and the one after the last, axis by axis."""
Tree = frozenset[Span]
"""The boxes that were split."""


def halves(box: Span) -> list[Span]:
    """The children of a box without hierarchies: along each axis its halves, or all of it."""
    along = [
        [(a, b)] if b - a == 1 else [(a, (a + b + 1) // 2), ((a + b + 1) // 2, b)] for a, b in box
    ]
    return list(itertools.product(*along))


def single(box: Span) -> bool:
    return all(b - a == 1 for a, b in box)


def chance_above(above: int, scale: Fraction) -> Decimal:
    """P[above + Z > 0]: the tail of the discrete Laplace law, added up from its definition."""
    q = (-Decimal(scale.denominator) / Decimal(scale.numerator)).exp()
    if above <= 0:
        return q ** (1 - above) / (1 + q)
    return 1 - q**above / (1 + q)


def trees(
    counts: np.ndarray, pace: Pace, theta: int, box: Span, depth: int = 0
) -> Iterator[tuple[Tree, Decimal]]:
    """Every tree below a box, and its chance."""
    if single(box):
        yield frozenset(), Decimal(1)
        return
    held = int(counts[tuple(slice(a, b) for a, b in box)].sum())
    biased = max(theta - pace.step, held - depth * pace.step)
    split = chance_above(biased - theta, pace.scale)
    yield frozenset(), 1 - split
    below = [list(trees(counts, pace, theta, half, depth + 1)) for half in halves(box)]
    for parts in itertools.product(*below):
        chance = split
        for _, part in parts:
            chance *= part
        yield frozenset({box}).union(*(tree for tree, _ in parts)), chance


def chances(counts: np.ndarray, pace: Pace, theta: int) -> dict[Tree, Decimal]:
    """The chance of every tree of a table, in fifty digits."""
    with localcontext() as context:
        context.prec = 50
        root = tuple((0, size) for size in counts.shape)
        return dict(trees(counts, pace, theta, root))


def log_ratios(one: dict[Tree, Decimal], other: dict[Tree, Decimal]) -> tuple[float, float]:
    """The least and the largest ln of how much likelier a tree is with the second table."""
    with localcontext() as context:
        context.prec = 50
        found = [float((other[tree] / chance).ln()) for tree, chance in one.items()]
    return min(found), max(found)


def tables(shape: tuple[int, ...], most: int) -> Iterator[np.ndarray]:
    """Every table of at most so many rows."""
    cells = int(np.prod(shape))
    for rows in range(most + 1):
        for held in itertools.combinations_with_replacement(range(cells), rows):
            yield np.bincount(held, minlength=cells).reshape(shape).astype(np.int64)
