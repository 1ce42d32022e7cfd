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

from hushtable.arrays import Floats
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

_TILTS = np.concatenate([np.geomspace(1e-6, 0.02, 40), np.linspace(0.03, 0.99, 65)])


class NoiseTerms(NamedTuple):
    """The terms of a sum that have the same noise: their weights, and how many of each."""

    noise: KnownNoise
    weights: Floats
    counts: Floats

    @property
    def variance(self) -> float:
        return float(self.counts @ self.weights**2) * self.noise.variance


def by_noise(terms: Iterable[tuple[float, KnownNoise, int]]) -> list[NoiseTerms]:
    """The terms of a sum, noise by noise."""
    found: dict[KnownNoise, list[tuple[float, int]]] = {}
    for weight, noise, count in terms:
        found.setdefault(noise, []).append((weight, count))
    return [NoiseTerms(noise, *np.array(pairs, np.float64).T) for noise, pairs in found.items()]


def chernoff(noises: Sequence[NoiseTerms], miss: float, tilts: Floats = _TILTS) -> float:
    """The smallest t for which exp(−θt)·E[exp(θX)], for one of many θ, proves P[X > t] ≤ miss."""
    theta = tilts * min(float((t.noise.largest_tilt / t.weights).min()) for t in noises)
    log_moments = np.zeros(len(theta))
    for noise, weights, counts in noises:
        log_moments += noise.log_moment(np.multiply.outer(theta, weights)) @ counts
    return float(((log_moments - math.log(miss)) / theta).min())


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
    k = np.arange(length)
    smooth = np.sinc(k / (math.pi * corner)) ** uniforms
    phi = _characteristic(noises, math.pi / reach, length, _NOTHING * lost)
    series = 2 / (math.pi * np.maximum(k, 1)) * phi
    # All t of a grid at once: sin(πkj/n) comes round again at k + 2n.
    n = 1 << math.ceil(math.log2(8 * reach / jitter))
    folded = np.zeros(-(-length // (2 * n)) * 2 * n)
    folded[1:length] = (series * smooth)[1:]
    sines = -np.fft.rfft(folded.reshape(-1, 2 * n).sum(axis=0)).imag
    missed = 1 - np.arange(n + 1) / n - sines
    covering = np.flatnonzero(missed > miss - 2.1 * lost)[-1] + 1
    return float(covering * reach / n + jitter)


def _characteristic(
    noises: Sequence[NoiseTerms], step: float, length: int, nothing: float
) -> Floats:
    """E[cos(tX)] at t = 0, step, 2·step, …

    Stretches that add up to less than `nothing` in a series of 2/(πk) are left at 0.
    """
    phi = np.zeros(length)
    phi[0] = 1.0
    for start, stop in _stretches(noises, step, length, nothing):
        phi[start:stop] = _stretch(noises, step, start, stop)
    return phi


def _stretches(
    noises: Sequence[NoiseTerms], step: float, length: int, nothing: float
) -> Iterator[tuple[int, int]]:
    """Where the characteristic function may matter, from start to stop.

    On a stretch sin² is at least the smaller of its ends, or 0 where a multiple of π lies between.
    """
    ends = np.unique(np.append(np.geomspace(1, length, _STRETCHES).astype(np.int64), length))
    log_bound = np.zeros(len(ends) - 1)
    for noise, weights, counts in noises:
        angles = np.multiply.outer(weights * (step / 2), ends)
        squares, turns = np.sin(angles) ** 2, np.floor(angles / math.pi)
        least = np.minimum(squares[:, 1:], squares[:, :-1])
        least[turns[:, 1:] != turns[:, :-1]] = 0.0
        log_bound -= counts @ noise.decay(least)
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
    for noise, weights, counts in noises:
        for first in range(0, len(weights), at_once):
            some = slice(first, first + at_once)
            low = np.multiply.outer(weights[some] * (step / 2), fine)
            high = np.multiply.outer(weights[some] * (step / 2), coarse)
            sines = np.stack([np.sin(high), np.cos(high)], axis=2) @ np.stack(
                [np.cos(low), np.sin(low)], axis=1
            )
            sines *= sines
            exponent += (counts[some, None, None] * noise.decay(sines)).sum(axis=0)
    return np.asarray(np.exp(-exponent).reshape(-1)[: stop - start])
