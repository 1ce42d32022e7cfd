"""Posteriors of counts: what noisy cells and the noisy count of their region tell together.

A count θ of k of the n cells of a region is seen twice: as the sum of its noisy cells, and as the
region's noisy count less the sum of the other cells. The two have no noise in common, so that from
a uniform prior the posterior is the product of two densities of sums of noises,

    p(θ) ∝ f_k(θ₁ − θ) · g_{n−k}(θ₂ − θ),      f: k cells,   g: n − k cells and the region's count.

Both are log-concave, and so is their product: one hill, found by bisection and laid out on the
integers as far as it is not nothing. Where cells are taken to be equal to the one asked for, the
likelihood of all of them together takes the place of f (`alike`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats
from hushtable.families.regions.options import Likelihood, Prior
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.query.law import NoiseSum, checked_confidence
from hushtable.query.law.density import log_density
from hushtable.query.law.normal import cornish_fisher, nearly_normal

MOST_POINTS = 2**14
"""A posterior is laid out on every integer, or on so many points where it is wider."""
DROP = 45.0
"""What is e^DROP times less likely than the mode is left out."""

FEW_PORTIONS = 16
"""Sums of up to so many posteriors are always convolved."""

LogLikelihood = Callable[[Floats], Floats]


@dataclass(frozen=True, eq=False)
class Hill:
    """A distribution with one mode: the chances of origin, origin + step, …"""

    origin: float
    step: int
    mass: Floats

    @property
    def places(self) -> Floats:
        return np.asarray(self.origin + self.step * np.arange(len(self.mass)), np.float64)

    @property
    def mean(self) -> float:
        return float(self.places @ self.mass)

    @property
    def cumulants(self) -> Floats:
        """The first four: mean, variance, and what skewness and kurtosis are made of."""
        mean = self.mean
        away = self.places - mean
        second, third, fourth = (float(away**power @ self.mass) for power in (2, 3, 4))
        return np.array([mean, second, third, fourth - 3 * second**2])

    def ends(self, confidence: float) -> tuple[float, float]:
        """The least interval of places that leaves half of the rest on either side, at most."""
        half = (1 - confidence) / 2
        below, above = np.cumsum(self.mass), np.cumsum(self.mass[::-1])
        first = int(np.searchsorted(below, half * (1 - 1e-9), side="right"))
        last = int(np.searchsorted(above, half * (1 - 1e-9), side="right"))
        places = self.places
        return float(places[min(first, len(places) - 1)]), float(
            places[::-1][min(last, len(places) - 1)]
        )


@dataclass(frozen=True, slots=True)
class Portion:
    """What is asked for of one region, as it was seen."""

    cells: int
    """How many of the region's cells are asked for: k."""
    siblings: int
    """How many others it has: n − k."""
    seen: float
    """The sum of the noisy cells: θ₁."""
    apart: float
    """How much more the region's count, less the others, says: θ₂ − θ₁."""


@dataclass(frozen=True, slots=True)
class Estimator:
    """Both kinds of noise, and the prior."""

    cell_noise: DiscreteLaplace
    region_noise: DiscreteLaplace
    prior: Prior = "uniform"

    def inside(self, cells: int) -> NoiseSum:
        """The noise of the sum of so many cells."""
        return NoiseSum.of(self.cell_noise, cells)

    def outside(self, siblings: int) -> NoiseSum:
        """The noise of a region's count less so many cells."""
        return NoiseSum.of(self.cell_noise, siblings) + NoiseSum.of(self.region_noise, 1)

    def posterior(self, portion: Portion) -> Hill:
        """The posterior of a portion of a region."""
        inside, outside = (
            log_density(noise)
            for noise in (self.inside(portion.cells), self.outside(portion.siblings))
        )

        def log_likelihood(x: Floats) -> Floats:
            return np.asarray(inside(x) + outside(x - portion.apart), np.float64)

        hill = climb(log_likelihood, (0.0, portion.apart), self._least(portion.seen))
        return Hill(portion.seen + hill.origin, hill.step, hill.mass)

    def alike(self, cells: Floats, rest: float, siblings: int, likelihood: Likelihood) -> Hill:
        """The posterior of a cell, the first, that the others of `cells` are taken to equal.

        `rest` is the region's noisy count less all its cells that are not among them, of which
        there are `siblings`. Jointly, k equal cells make a count of kθ beside the rest; the paper's
        plain product takes the others for siblings again, and so uses their noise twice.
        """
        cells = np.asarray(cells, np.float64)
        times, target, others = float(len(cells)), rest, siblings
        if likelihood == "plain":
            times, target = 1.0, rest - float(cells[1:].sum())
            others = siblings + len(cells) - 1
        one, region = log_density(self.inside(1)), log_density(self.outside(others))
        centre = float(cells[0])

        def log_likelihood(x: Floats) -> Floats:
            theta = centre + x
            level = region(times * theta - target)
            for cell in cells.tolist():
                level = level + one(theta - cell)
            return level

        around = np.concatenate([cells, [target / times]]) - centre
        hill = climb(log_likelihood, (around.min(), around.max()), self._least(centre))
        return Hill(centre + hill.origin, hill.step, hill.mass)

    def _least(self, seen: float) -> float | None:
        return -seen if self.prior == "non-negative" else None


def climb(log_likelihood: LogLikelihood, between: tuple[float, float], least: float | None) -> Hill:
    """A concave log-likelihood as a distribution on the integers; its mode lies between two."""
    mode = _mode(log_likelihood, math.floor(min(between)), math.ceil(max(between)))
    mode = mode if least is None else max(mode, least)
    top = float(log_likelihood(np.array([mode]))[0])
    left, right = (_descent(log_likelihood, mode, top, sign) for sign in (-1.0, 1.0))
    if least is not None:
        left = min(left, mode - least)
    step = max(1, math.ceil((left + right) / MOST_POINTS))
    # From the mode on both sides, and not from an end: wide hills may have a cusp there.
    x = np.asarray(mode + step * np.arange(-(left // step), right // step + 1), np.float64)
    mass: Floats = np.exp(log_likelihood(x) - top)
    return Hill(float(x[0]), step, mass / mass.sum())


def _mode(log_likelihood: LogLikelihood, low: float, high: float) -> float:
    """The highest integer between two, by looking at a few at a time."""
    while high - low > 2:
        places = np.unique(np.floor(np.linspace(low, high, 33)))
        best = int(np.argmax(log_likelihood(places)))
        closer = places[max(best - 1, 0)], places[min(best + 1, len(places) - 1)]
        if closer == (low, high):
            break
        low, high = closer
    places = np.array([low, math.floor((low + high) / 2), high])
    return float(places[int(np.argmax(log_likelihood(places)))])


def _descent(log_likelihood: LogLikelihood, mode: float, top: float, sign: float) -> float:
    """How far to go until the likelihood is nothing beside its top."""
    low, high = 0.0, 2.0**66
    away: Floats = np.exp2(np.arange(67.0))
    for _ in range(3):
        gone = log_likelihood(mode + sign * away) < top - DROP
        first = int(np.argmax(gone)) if gone.any() else len(away) - 1
        low, high = (float(away[first - 1]) if first else low), float(away[first])
        away = np.unique(np.ceil(np.linspace(low, high, 17)))
    return high


# ── sums of independent portions ─────────────────────────────────────────────────────────────────


def added(hills: Iterable[Hill]) -> Hill:
    """The distribution of a sum of independent numbers."""
    hills = sorted(hills, key=lambda hill: len(hill.mass) * hill.step)
    step = max(hill.step for hill in hills)
    total = _coarser(hills[0], step)
    for hill in hills[1:]:
        other = _coarser(hill, step)
        mass = _convolved(total.mass, other.mass)
        total = _trimmed(Hill(total.origin + other.origin, step, mass))
    return total


def _convolved(one: Floats, other: Floats) -> Floats:
    length = len(one) + len(other) - 1
    if min(len(one), len(other)) < 64:
        mass = np.convolve(one, other)
    else:
        room = 1 << (length - 1).bit_length()
        mass = np.fft.irfft(np.fft.rfft(one, room) * np.fft.rfft(other, room), room)[:length]
        mass = np.maximum(mass, 0.0)
    return np.asarray(mass / mass.sum())


def _trimmed(hill: Hill) -> Hill:
    """Without what is rounding on either side."""
    kept = np.flatnonzero(hill.mass > 1e-15 * hill.mass.max())
    mass = hill.mass[kept[0] : kept[-1] + 1]
    return Hill(hill.origin + hill.step * int(kept[0]), hill.step, mass / mass.sum())


def sums_by(which: NDArray[Any], weights: NDArray[Any], size: int) -> Floats:
    """The sum of the weights of each of `size` kinds."""
    return np.asarray(np.bincount(which, weights, size), np.float64)


def _coarser(hill: Hill, step: int) -> Hill:
    """The same mean by fewer points: each chance is shared by the two points beside its place."""
    if hill.step == step:
        return hill
    away = (hill.places - hill.origin) / step
    low = np.floor(away).astype(np.int64)
    upper = hill.mass * (away - low)
    size = int(low[-1]) + 2
    mass = sums_by(low, hill.mass - upper, size) + sums_by(low + 1, upper, size)
    return Hill(hill.origin, step, mass)


@dataclass(frozen=True, eq=False)
class PosteriorLaw:
    """The posterior of an answer: its mean is the value, its quantiles are the interval."""

    cumulants: Floats
    hills: Callable[[], Sequence[Hill]]
    """The posteriors of its independent portions."""
    portions: int
    note: str | None = None

    @property
    def variance(self) -> float:
        return float(self.cumulants[1])

    @property
    def estimate(self) -> bool:
        return True

    @property
    def exact(self) -> bool:
        """Whether quantiles come from the posterior itself, and not from its first cumulants."""
        return self.portions <= FEW_PORTIONS or not bool(nearly_normal(self.cumulants))

    def margins(self, confidence: float) -> tuple[float, float]:
        """How far the interval reaches below the mean, and how far above."""
        mean = float(self.cumulants[0])
        if not self.portions:
            return 0.0, 0.0
        if self.exact:
            low, high = added(self.hills()).ends(confidence)
        else:
            low, high = (float(end) for end in cornish_fisher(self.cumulants, confidence))
        return max(mean - low, 0.0), max(high - mean, 0.0)

    def half_width(self, confidence: float) -> float:
        """The longer of both sides."""
        return max(self.margins(checked_confidence(confidence)))
