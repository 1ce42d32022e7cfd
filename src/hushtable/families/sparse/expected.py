"""What a summary will be like, from the schema, ε and declared figures alone: no data, no noise.

A place that holds c with noise x gives v = c + x. It is kept with probability k(v), and then stands
for w(v) = sign(v)·max(abs(v), τ). The mean and the square error of that are sums over x, which are
done here to float precision, x within 40 scales and, for large scales, on a coarser grid.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hushtable.kernel.maps import laws
from hushtable.kernel.maps.rules import Filter, Rule, Threshold
from hushtable.kernel.maps.structure import Structure, nodes, splits
from hushtable.kernel.maps.thresholds import smallest

"""What summaries keep unless they are told otherwise."""

_GRID = 2**16


@dataclass(frozen=True)
class Expected:
    """What to expect of a summary: how large it is, and how wrong its answers are (root of MSE)."""

    size: float
    """Places that are kept."""
    noise_share: float
    """The share of them that are empty in truth."""
    point: float
    """The error of one occupied cell."""
    range: float
    """The error of a range of adjacent cells."""
    subset: float
    """The error of as many cells that are scattered."""


@dataclass(frozen=True)
class Level:
    """Places that are alike: how many, how many occupied, and what those hold."""

    places: float
    occupied: float
    count: float
    touched: float
    """How many of them the range asks for."""


# ── parameters from a wished size ────────────────────────────────────────────────────────────────


def expected_empty(places: int, rule: Rule, scale: Fraction) -> float:
    """How many places a rule keeps, if all are empty."""
    if isinstance(rule, Filter):
        chance = laws.chance_of_filter(scale, rule.theta, two_sided=rule.two_sided)
        return float(places * Fraction(chance))
    if isinstance(rule, Threshold):
        return float(places * Fraction(laws.chance_of_threshold(scale, rule.theta, rule.tau)))
    passing = laws.chance_of_filter(scale, rule.theta, two_sided=True)
    return min(float(places * Fraction(passing)), float(rule.size))


def filter_for_size(places: int, scale: Fraction, size: int, *, two_sided: bool = True) -> int:
    """The smallest θ at which no more than `size` empty places are expected to pass."""
    return smallest(
        lambda theta: places * laws.chance_of_filter(scale, theta, two_sided=two_sided) <= size
    )


def threshold_for_size(
    places: int, scale: Fraction, theta: int, size: int, total: float = 0.0
) -> int:
    """The smallest τ at which no more than `size` places are expected to be kept.

    `total` is Σ abs(count) over the places, declared or noisy: of that, total/τ places at most.
    """
    share = Fraction(max(total, 0.0))

    def fits(tau: int) -> bool:
        return places * Fraction(laws.chance_of_threshold(scale, theta, tau)) + share / tau <= size

    return smallest(fits)


# ── what to expect ───────────────────────────────────────────────────────────────────────────────


def expected_of(
    structure: Structure,
    rule: Rule,
    scale: Fraction,
    *,
    occupied: float,
    count: float,
    cells: float,
) -> Expected:
    """Size and errors, for `occupied` non-empty cells that hold `count` each, evenly spread.

    `cells` is how many cells the range and the subset ask for.
    """
    levels = list(_levels(structure, occupied, count, cells))
    tau = sampling_threshold(levels, rule, scale)
    theta, two_sided = rule.theta, not isinstance(rule, Filter) or rule.two_sided
    empty = sum(lv.places - lv.occupied for lv in levels)
    empty *= _kept(0.0, scale, theta, tau, two_sided)
    full = sum(lv.occupied * _kept(lv.count, scale, theta, tau, two_sided) for lv in levels)
    leaves = levels[0]
    share = min(cells / math.prod(structure.shape), 1.0)
    spread = Level(leaves.places, leaves.occupied, leaves.count, leaves.places * share)
    moments = (scale, theta, tau, two_sided)
    return Expected(
        size=empty + full,
        noise_share=empty / (empty + full) if empty + full else 0.0,
        point=math.sqrt(_unadjusted_square(count, *moments)),
        range=_error(levels, *moments),
        subset=_error([spread], *moments),
    )


def sampling_threshold(levels: list[Level], rule: Rule, scale: Fraction) -> float:
    """τ as given or, for priority sampling, the one that keeps as many as wished."""
    if isinstance(rule, Filter):
        return 0.0
    if isinstance(rule, Threshold):
        return float(rule.tau)

    empty = sum(lv.places - lv.occupied for lv in levels)

    def kept(tau: float) -> float:
        full = sum(lv.occupied * _kept(lv.count, scale, rule.theta, tau, True) for lv in levels)
        return full + empty * _kept(0.0, scale, rule.theta, tau, True)

    if kept(0.0) <= rule.size:
        return 0.0
    low, high = 0.0, 1.0
    while kept(high) > rule.size:
        low, high = high, 2 * high
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if kept(middle) <= rule.size else (middle, high)
    return high


def _levels(structure: Structure, occupied: float, count: float, cells: float) -> Iterator[Level]:
    """The places by combination of levels, cells first; occupied ones as evenly spread cells."""
    every = math.prod(structure.shape)
    share = min(cells / every, 1.0) ** (1 / len(structure.shape))
    if structure.on == "cells":
        yield Level(every, min(occupied, every), count, share ** len(structure.shape) * every)
        return
    for levels in itertools.product(*(range(splits(size) + 1) for size in structure.shape)):
        pairs = list(zip(structure.shape, levels, strict=True))
        there = math.prod(nodes(size)[level] for size, level in pairs)
        touched = math.prod(_ends(size, level, share) for size, level in pairs)
        full = -there * math.expm1(occupied * math.log1p(-1 / there)) if there > 1 else 1.0
        each = count * occupied / full if full else 0.0
        if structure.on == "haar":  # a difference of halves that are alike
            each = math.sqrt(each * count)
        yield Level(there, min(full, there), each, touched)


def _ends(size: int, level: int, share: float) -> float:
    """How many nodes of a level a range of this share of an axis is made of, on average.

    At either end one of every second node, on levels whose nodes fit into the range.
    """
    if share >= 1:
        return float(level == splits(size))
    return 1.0 if 2**level <= max(share * size, 1.0) else 0.0


def _error(levels: list[Level], scale: Fraction, theta: int, tau: float, two_sided: bool) -> float:
    """The root of the mean square error of a sum over the touched places: spread and bias."""
    variance = bias = 0.0
    for level in levels:
        busy = level.touched * level.occupied / level.places
        for number, count in ((busy, level.count), (level.touched - busy, 0.0)):
            mean, square = moments(count, scale, theta, tau, two_sided)
            variance += number * (square - mean**2)
            bias += number * (mean - count)
    return math.sqrt(max(variance, 0.0) + bias**2)


@lru_cache(maxsize=4096)
def moments(
    count: float, scale: Fraction, theta: int, tau: float, two_sided: bool
) -> tuple[float, float]:
    """The mean and the mean square of what a place stands for, with 0 where it is not kept."""
    values, chances, kept = _law(count, scale, theta, tau, two_sided)
    weights = np.sign(values) * np.maximum(np.abs(values), tau)
    return float(chances @ (kept * weights)), float(chances @ (kept * weights**2))


@lru_cache(maxsize=4096)
def _kept(count: float, scale: Fraction, theta: int, tau: float, two_sided: bool) -> float:
    """The probability that a place which holds `count` is kept."""
    if count == 0 and tau == int(tau):
        if tau <= theta:
            return float(laws.chance_of_filter(scale, theta, two_sided=two_sided))
        return float(laws.chance_of_threshold(scale, theta, int(tau)))
    _, chances, kept = _law(count, scale, theta, tau, two_sided)
    return float(chances @ kept)


@lru_cache(maxsize=256)
def _unadjusted_square(
    count: float, scale: Fraction, theta: int, tau: float, two_sided: bool
) -> float:
    """The mean square error of one cell answered by its noisy count, or 0 where it is missing."""
    values, chances, kept = _law(count, scale, theta, tau, two_sided)
    return float(chances @ (kept * (values - count) ** 2 + (1 - kept) * count**2))


def _law(
    count: float, scale: Fraction, theta: int, tau: float, two_sided: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Noisy values, their probabilities, and those of being kept."""
    reach = math.ceil(40 * scale) + 1
    step = max(1, -(-reach // _GRID))
    noise = np.arange(-(reach // step), reach // step + 1) * float(step)
    chances = np.exp(-np.abs(noise) / float(scale))
    values = np.asarray(round(count) + noise, np.float64)
    sizes = np.abs(values) if two_sided else values
    sampled = np.minimum(np.abs(values) / tau, 1.0) if tau else np.ones(len(values))
    kept = np.where(sizes >= theta, sampled, 0.0)
    return values, np.asarray(chances / chances.sum(), np.float64), kept
