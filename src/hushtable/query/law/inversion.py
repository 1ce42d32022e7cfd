"""The law of a weighted sum of independent noises, from its transforms.

Transforms of tables answer a count by weights on noisy coefficients. The noise X is then Σ w·N with
known weights and laws, so that its moment generating function is known, which bounds how far it
reaches (Chernoff), and its characteristic function, and with it P[|X| ≤ t] as a sine series. X may
sit on a lattice, whose series hardly converges; a small independent jitter makes the law smooth,
and the half width is widened by as far as the jitter reaches, so that it still covers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from hushtable.arrays import Floats, Integers
from hushtable.kernel.privacy.noises import KnownNoise
from hushtable.query.law.normal import normal_quantile

# How much of the chance of missing may be lost to the end of the series, and to its finite span.
_LOST = 1e-3
# The jitter reaches this part of a normal half width, or a larger one to keep the series short.
_FINE = 1 / 500
_MOST_STEPS = 2048
# Parts of a series that add up to less than this part of what may be lost are not computed.
_NOTHING = 1e-3
_STRETCHES = 64
# Numbers that are worked on at a time.
_AT_ONCE = 2**17

# Of the tilts, the first that are looked at are so far apart.
_APART = 8
# Series of so many numbers are added up wherever one looks; longer ones everywhere at once.
_SHORT = 1024
_TILTS = np.concatenate([np.geomspace(1e-6, 0.02, 40), np.linspace(0.03, 0.99, 65)])


class NoiseTerms(NamedTuple):
    """The terms of a sum whose noises have one law: what each counts, how often, its noise."""

    law: type[KnownNoise]
    weights: Floats
    counts: Floats
    rates: Floats
    breadths: Floats

    @property
    def variance(self) -> float:
        """That of their sum, or a little more."""
        return float(self.counts @ (self.weights**2 * self.breadths))


def by_law(terms: Iterable[tuple[float, KnownNoise, float]]) -> list[NoiseTerms]:
    """The terms of a sum, law by law."""
    found: dict[type[KnownNoise], list[tuple[float, float, float, float]]] = {}
    for weight, noise, count in terms:
        found.setdefault(type(noise), []).append((weight, count, noise.rate, noise.breadth))
    return [NoiseTerms(law, *np.array(rows, np.float64).T) for law, rows in found.items()]


def chernoff(noises: Sequence[NoiseTerms], miss: float, tilts: Floats = _TILTS) -> float:
    """The smallest t for which exp(−θt)·E[exp(θX)], for one of many θ, proves P[X > t] ≤ miss.

    With θ it falls and then rises: a few θ tell where the smallest is.
    """
    theta = tilts * min(t.law.largest_tilt(t.weights, t.counts, t.rates, miss) for t in noises)
    few = np.arange(0, len(theta), _APART)
    near = int(few[_bounds(noises, miss, theta[few]).argmin()])
    around = theta[max(near - _APART + 1, 0) : near + _APART]
    return float(_bounds(noises, miss, around).min())


def _bounds(noises: Sequence[NoiseTerms], miss: float, theta: Floats) -> Floats:
    """What each θ proves."""
    log_moments = np.zeros(len(theta))
    for terms in noises:
        moments = terms.law.log_moments(np.multiply.outer(theta, terms.weights), terms.rates)
        log_moments += moments @ terms.counts
    return np.asarray((log_moments - math.log(miss)) / theta)


def reach_by_series(noises: Sequence[NoiseTerms], miss: float) -> float:
    """Invert P[|X + jitter| ≤ t] = t/R + Σ 2/(πk)·φ(πk/R)·sin(πkt/R), on a span of ±R.

    The jitter is the sum of m uniform ones, which end the series the sooner the more there are:
    m = log(1/lost) is best. What lies beyond the span would seem to lie inside, so all that may be
    lost is taken off the chance of missing first.
    """
    lost = _LOST * miss
    reach = chernoff(noises, lost / 2)
    deviation = math.sqrt(math.fsum(terms.variance for terms in noises))
    jitter = max(_FINE * deviation * normal_quantile(miss), reach / _MOST_STEPS)
    uniforms = max(2, round(-math.log(lost)))
    reach += jitter
    corner = uniforms * reach / (math.pi * jitter)  # |sinc| ≤ corner/k
    length = math.ceil(corner * (uniforms * lost) ** (-1 / uniforms))
    k, phi = _characteristic(noises, math.pi / reach, length, _NOTHING * lost)
    series = 2 / (math.pi * k) * phi * np.sinc(k / (math.pi * corner)) ** uniforms
    n = 1 << math.ceil(math.log2(8 * reach / jitter))
    find = _covering if len(k) <= _SHORT else _covering_of_long
    covering = find(k, series, n, miss - 2.1 * lost)
    return float(covering * reach / n + jitter)


def _covering(k: Integers, series: Floats, n: int, missing: float) -> int:
    """A j for which no more than `missing` lies beyond j/n of the span, though it does for j − 1.

    By bisection: where rounding makes it that there are several, any of them covers.
    """
    below, covering = 0, n
    while covering - below > 1:
        middle = (below + covering) // 2
        missed = 1 - middle / n - series @ np.sin(math.pi * middle / n * k)
        below, covering = (middle, covering) if missed > missing else (below, middle)
    return covering


def _covering_of_long(k: Integers, series: Floats, n: int, missing: float) -> int:
    """The last such j, from all of them at once: sin(πkj/n) comes round again at k + 2n."""
    folded = np.bincount(k % (2 * n), series, 2 * n)
    sines = -np.fft.rfft(folded).imag
    missed = 1 - np.arange(n + 1) / n - sines
    return int(np.flatnonzero(missed > missing)[-1]) + 1


def _characteristic(
    noises: Sequence[NoiseTerms], step: float, length: int, nothing: float
) -> tuple[Integers, Floats]:
    """E[cos(tX)] at t = step, 2·step, … as far as it matters: at which k of them, and what it is.

    Stretches that add up to less than `nothing` in a series of 2/(πk) are left out.
    """
    found = list(_stretches(noises, step, length, nothing))
    places = [np.arange(start, stop) for start, stop in found]
    phi = [_stretch(noises, step, start, stop) for start, stop in found]
    return np.concatenate([np.zeros(0, np.int64), *places]), np.concatenate([np.zeros(0), *phi])


def _stretches(
    noises: Sequence[NoiseTerms], step: float, length: int, nothing: float
) -> Iterator[tuple[int, int]]:
    """Where the characteristic function may matter, from start to stop.

    On a stretch sin² is at least the smaller of its ends, or 0 where a multiple of π lies between.
    """
    ends = np.append(np.geomspace(1, length, _STRETCHES).astype(np.int64), length)
    ends = ends[np.diff(ends, prepend=0) > 0]  # as np.unique, which would import numpy.ma
    log_bound = np.zeros(len(ends) - 1)
    for law, weights, counts, _, breadths in noises:
        angles = np.multiply.outer(weights * (step / 2), ends)
        squares, turns = np.sin(angles) ** 2, np.floor(angles / math.pi)
        least = np.minimum(squares[:, 1:], squares[:, :-1])
        least[turns[:, 1:] != turns[:, :-1]] = 0.0
        log_bound -= counts @ law.decays(least, breadths[:, None])
    # The numbers 2/(πk) of a series add up to less than 1 and the logarithm of its length.
    matters = log_bound > math.log(nothing / (1 + math.log(length)))
    changes = np.flatnonzero(np.diff(np.concatenate([[False], matters, [False]])))
    for first, last in changes.reshape(-1, 2):
        yield int(ends[first]), int(ends[last])


def _stretch(noises: Sequence[NoiseTerms], step: float, start: int, stop: int) -> Floats:
    """The characteristic function from start to stop.

    Sines at k = a·side + b come from those at a·side and at b, many terms at a time.
    """
    side = math.isqrt(stop - start - 1) + 1
    fine, coarse = np.arange(side), start + side * np.arange(-(-(stop - start) // side))
    exponent = np.zeros((len(coarse), side))
    at_once = max(1, _AT_ONCE // exponent.size)
    for law, weights, counts, _, breadths in noises:
        for first in range(0, len(weights), at_once):
            some = slice(first, first + at_once)
            low = np.multiply.outer(weights[some] * (step / 2), fine)
            high = np.multiply.outer(weights[some] * (step / 2), coarse)
            sines = np.stack([np.sin(high), np.cos(high)], axis=2) @ np.stack(
                [np.cos(low), np.sin(low)], axis=1
            )
            sines *= sines
            decays = law.decays(sines, breadths[some, None, None])
            exponent += np.tensordot(counts[some], decays, axes=1)
    return np.asarray(np.exp(-exponent).reshape(-1)[: stop - start])
