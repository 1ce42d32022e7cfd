"""Two estimates from the noisy counts of a tree: least squares, and the posterior mean.

A (K, L)-tree (Hay et al. 2010) has L levels, K children to a node, and a noisy count of every node;
each level has its part of ε. Consistency checking takes the tables whose counts come closest to the
noisy ones in squares. The posterior mean (MMSE, Xiao et al. 2011, §5.3.3) takes the mean of all
tables, each as likely as its noise: on a tree that is exact by messages, up and down once. A range
is the sum of its leaves, for means and least squares add up alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from hushtable.arrays import Floats, Integers
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.query.law import NoiseSum
from hushtable.query.law.density import log_density

# Messages reach so many deviations beyond what was seen.
_REACH = 14


def level_sums(leaves: Integers, children: int) -> list[Integers]:
    """The counts of every level, the leaves last."""
    levels = [np.asarray(leaves, np.int64)]
    while len(levels[0]) > 1:
        levels.insert(0, levels[0].reshape(-1, children).sum(axis=1))
    return levels


def level_budgets(epsilon: Fraction, levels: int, kind: str) -> list[Fraction]:
    """ε by level, root first: equal parts, or each level twice the one above (or below) it."""
    if kind == "equal":
        return [epsilon / levels] * levels
    parts = [epsilon * Fraction(1, 2 ** (levels - i)) for i in range(levels)]
    return parts if kind == "leaves first" else parts[::-1]


def least_squares(noisy: Sequence[Integers], scales: Sequence[Fraction] | None = None) -> Floats:
    """The leaves that come closest to all noisy counts; weighted by their variances if known."""
    leaves = len(noisy[-1])
    rows, weights = [], []
    for i, level in enumerate(noisy):
        rows.append(np.kron(np.eye(len(level)), np.ones(leaves // len(level))))
        variance = 1.0 if scales is None else DiscreteLaplace(scales[i]).variance
        weights.append(np.full(len(level), variance**-0.5))
    weight = np.concatenate(weights)
    matrix = np.concatenate(rows) * weight[:, None]
    seen = np.concatenate(noisy) * weight
    return np.asarray(np.linalg.lstsq(matrix, seen, rcond=None)[0])


def posterior_means(noisy: Sequence[Integers], children: int, scales: Sequence[Fraction]) -> Floats:
    """The posterior mean of every leaf, from a uniform prior.

    Messages are log-likelihoods on a grid of integers about what the counts are near to by least
    squares: of a node's count, by all that was seen below it, and by all else.
    """
    near = level_sums_of(least_squares(noisy, scales), noisy)
    spread = max(float(np.sqrt(DiscreteLaplace(scale).variance)) for scale in scales)
    size = 1 << int(np.ceil(np.log2(2 * _REACH * spread)))
    grid = np.arange(-size // 2, size // 2)
    below: list[Floats] = [np.zeros(0)] * len(noisy)
    for i in range(len(noisy) - 1, -1, -1):
        own = _seen(scales[i], near[i], noisy[i], grid)
        if i < len(noisy) - 1:
            own = own + np.log(_sums(_likely(below[i + 1]), children, near, i))
        below[i] = own
    above = np.zeros_like(below[0])
    for i in range(len(noisy) - 1):
        own = _seen(scales[i], near[i], noisy[i], grid)
        above = np.log(_rests(_likely(own + above), _likely(below[i + 1]), children, near, i))
    mass = _likely(below[-1] + above)
    return np.asarray(near[-1] + mass @ grid)


def level_sums_of(leaves: Floats, noisy: Sequence[Integers]) -> list[Integers]:
    """Whole numbers near to the counts of all levels; not quite sums of each other."""
    return [np.rint(leaves.reshape(len(level), -1).sum(axis=1)).astype(np.int64) for level in noisy]


def _seen(scale: Fraction, near: Integers, noisy: Integers, grid: Integers) -> Floats:
    """The log-likelihoods of a level's own noisy counts."""
    away = (near - noisy)[:, None] + grid
    return log_density(NoiseSum.of(DiscreteLaplace(scale), 1))(away.astype(np.float64))


def _likely(level: Floats) -> Floats:
    mass = np.exp(level - level.max(axis=1, keepdims=True))
    return np.asarray(mass / mass.sum(axis=1, keepdims=True))


def _sums(mass: Floats, children: int, near: Sequence[Integers], i: int) -> Floats:
    """The chances of the sums of siblings, on the parents' grids."""
    size = mass.shape[1]
    room = 2 * children * size
    waves = np.fft.rfft(mass, room).reshape(-1, children, room // 2 + 1).prod(axis=1)
    sums = np.fft.irfft(waves, room)
    shift = near[i] - near[i + 1].reshape(-1, children).sum(axis=1)
    start = (children * size) // 2 - size // 2 + shift
    held = sums[np.arange(len(sums))[:, None], start[:, None] + np.arange(size)]
    return np.asarray(np.maximum(held, 1e-30))


def _rests(
    parents: Floats, mass: Floats, children: int, near: Sequence[Integers], i: int
) -> Floats:
    """The chances of each child, by its parent less the other children."""
    size = mass.shape[1]
    room = 2 * (children + 1) * size
    waves = np.fft.rfft(mass, room).reshape(-1, children, room // 2 + 1)
    total = np.fft.rfft(parents, room)
    found = []
    for child in range(children):
        others = np.delete(waves, child, axis=1).prod(axis=1)
        rest = np.fft.irfft(total * others.conj(), room)
        shift = near[i] - near[i + 1].reshape(-1, children).sum(axis=1)
        start = size // 2 - (children - 1) * size // 2 - size // 2 - shift
        where = (start[:, None] + np.arange(size)) % room
        found.append(np.maximum(rest[np.arange(len(rest))[:, None], where], 1e-30))
    return np.stack(found, axis=1).reshape(-1, size)
