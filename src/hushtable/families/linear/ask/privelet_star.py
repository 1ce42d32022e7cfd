"""Privelet*: Privelet+, with small coefficients taken for noise.

X. Xiao, G. Wang, J. Gehrke. Differential privacy via wavelet transforms. IEEE TKDE 23(8), 2011,
Section 7.

| paper                          | here                                                     |
|--------------------------------|----------------------------------------------------------|
| subband S                      | `bands_of` along each axis; those of a sub-matrix of S_A |
|                                | are its own                                              |
| normalised coefficient W(c)·c* | a coefficient over its scale factor                      |
| CompThresh(S, λ)               | `thresholds_of`                                          |
| η_s(c*, θ)                     | on reading: `shrunken.py`                                |

Deviations. Figure 8 scans its array in the wrong order; θ here solves Equation 11 exactly, where
X[i+1] ≤ θ < X[i] for sizes sorted downwards. The noise variance in Equation 10 is that of the
discrete law. A subband of one coefficient stays as it is; where all are such, as without a wavelet
axis, this is Privelet+. The release keeps the noisy integers of Privelet+, and beside them each
subband's threshold: thresholds come from noisy coefficients alone, so they cost nothing.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from hushtable.arrays import Floats, Integers
from hushtable.families.about import Settings
from hushtable.families.linear.about import PRIVELET_STAR
from hushtable.families.linear.ask.coefficients import check_coefficients, stored
from hushtable.families.linear.ask.privelet import chosen_wavelets
from hushtable.families.linear.bands import UNIT, Bands, runs_of
from hushtable.kernel.curator import Curator
from hushtable.kernel.maps import Identity, Product
from hushtable.kernel.privacy.noises import KnownNoise
from hushtable.release.store import Content
from hushtable.schema import Schema

# Coefficients held at once, where subbands are smaller.
_PIECE = 2**20
# Larger subbands are solved one by one, without sorting.
_LONG = 2**9
# θ is a size, which fits 64 bits; in units of 1/UNIT it might not. A lower one only shrinks less.
_LARGEST = 2**62


@dataclass(frozen=True)
class PriveletStar:
    """Wavelets, soft-thresholded subband by subband."""

    name: str = PRIVELET_STAR.name
    needs: Literal["counts", "columns"] = "counts"

    def check(self, schema: Schema, *, epsilon: Fraction, settings: Settings) -> None:
        PRIVELET_STAR.check(settings, schema)
        check_coefficients(self.name, schema, chosen_wavelets(schema, settings)[0], epsilon)

    def measure(
        self, curator: Curator, schema: Schema, *, epsilon: Fraction, settings: Settings
    ) -> Content:
        transform, chosen = chosen_wavelets(schema, settings)
        noisy = curator.noisy_coefficients(transform, epsilon=epsilon)
        measured = stored(noisy, transform, chosen)
        if all(isinstance(axis, Identity) for axis in transform.axes):
            return measured  # nothing to shrink: subbands of one coefficient
        thresholds = shrinkage(noisy.values, transform, noisy.noise)
        return Content(
            reader="shrunken",
            arrays={**measured.arrays, "thresholds": thresholds},
            noise=measured.noise,
            parameters=measured.parameters,
        )


def shrinkage(coefficients: Integers, transform: Product, noise: KnownNoise) -> Integers:
    """The threshold of every subband, in units of 1/UNIT, rounded down."""
    bands = Bands.of(transform)
    thresholds = np.zeros(bands.shape, np.int64)
    # Sub-matrices first, then the wavelets within; without plain axes there is one sub-matrix.
    plain = [i for i, axis in enumerate(transform.axes) if isinstance(axis, Identity)]
    waves = [i for i in range(len(bands.shape)) if i not in plain]
    values = coefficients.transpose(*plain, *waves)
    found = thresholds.transpose(*plain, *waves)
    if not plain:
        values, found = values[None], found[None]
    for band in itertools.product(*(range(bands.shape[i]) for i in waves)):
        parts = [_Band.of(bands, i, number) for i, number in zip(waves, band, strict=True)]
        variance = mean_noise([part.factors for part in parts], noise)
        for rows, sizes in _sizes(values, parts):
            theta = np.floor(thresholds_of(sizes, variance) * UNIT)
            cut: tuple[Any, ...] = (rows, ..., *band)
            there = found[cut]
            there[...] = np.minimum(theta, _LARGEST).reshape(there.shape)
    return thresholds


@dataclass(frozen=True, eq=False)
class _Band:
    """One band along one axis."""

    runs: list[slice]
    factors: Floats

    @classmethod
    def of(cls, bands: Bands, axis: int, number: int) -> _Band:
        positions = np.flatnonzero(bands.numbers[axis] == number)
        return cls(runs_of(positions), bands.factors[axis][positions])

    def cuts(self) -> Iterator[tuple[slice, slice]]:
        """Where each run of coefficients stands, and where among those of the band."""
        stop = 0
        for run in self.runs:
            start, stop = stop, stop + len(range(run.start, run.stop, run.step))
            yield run, slice(start, stop)


def _sizes(values: Integers, parts: list[_Band]) -> Iterator[tuple[slice, Floats]]:
    """The normalised sizes of a subband, a row per sub-matrix, some sub-matrices at a time."""
    lead = values.shape[1 : values.ndim - len(parts)]
    lengths = [len(part.factors) for part in parts]
    step = max(_PIECE // math.prod([*lead, *lengths]), 1)
    for first in range(0, len(values), step):
        rows = slice(first, min(first + step, len(values)))
        sizes = np.empty((rows.stop - rows.start, *lead, *lengths))
        for cuts in itertools.product(*(part.cuts() for part in parts)):
            sources, targets = zip(*cuts, strict=True)
            sizes[(..., *targets)] = values[(rows, ..., *sources)]
        np.abs(sizes, out=sizes)
        for i, part in enumerate(reversed(parts)):
            if (part.factors != 1).any():
                sizes /= part.factors.reshape(-1, *[1] * i)
        yield rows, sizes.reshape(-1, math.prod(lengths))


def mean_noise(factors: list[Floats], noise: KnownNoise) -> float:
    """The noise variance of the normalised coefficients of a subband, on the average."""
    counts = Counter({1: 1})
    for along in factors:
        counts = _products(counts, Counter(along.astype(np.int64).tolist()))
    variances = [noise.times(Fraction(f)).variance / f**2 for f in counts]
    return float(np.average(variances, weights=list(counts.values())))


def _products(one: Counter[int], other: Counter[int]) -> Counter[int]:
    """How often each product of a factor of one and a factor of the other occurs."""
    found: Counter[int] = Counter()
    for (factor, count), (another, more) in itertools.product(one.items(), other.items()):
        found[factor * another] += count * more
    return found


# ── CompThresh ───────────────────────────────────────────────────────────────────────────────────


def thresholds_of(sizes: Floats, noise: float) -> Floats:
    """For each row, the θ whose shrunken sizes have the variance that noise leaves (Eq. 11).

    The sizes may be overwritten.
    """
    count = sizes.shape[1]
    if count <= 1:
        return np.zeros(len(sizes))
    square = np.einsum("ij,ij->i", sizes, sizes)
    wanted = square - (count - 1) * noise  # (|S| − 1)·σ² of Equation 10
    if count <= _LONG:
        return _by_sorting(sizes, wanted)
    return np.array([_by_steps(row, left) for row, left in zip(sizes, wanted, strict=True)])


def _by_sorting(sizes: Floats, wanted: Floats) -> Floats:
    """Figure 8, the right way round: find the i sizes above θ, and solve their quadratic."""
    largest = np.sort(sizes, axis=1)[:, ::-1]
    alpha, beta = np.cumsum(largest**2, axis=1), np.cumsum(largest, axis=1)
    below = np.zeros_like(largest)
    below[:, :-1] = largest[:, 1:]
    i = np.arange(1.0, sizes.shape[1] + 1)
    # What is left of the i largest when all are lowered by the next one: it grows with i.
    left = alpha - 2 * beta * below + i * below**2
    k = np.minimum((left < wanted[:, None]).sum(axis=1), sizes.shape[1] - 1)
    row = np.arange(len(sizes))
    root = np.sqrt(np.maximum(beta[row, k] ** 2 - i[k] * (alpha[row, k] - wanted), 0.0))
    theta = np.maximum((beta[row, k] - root) / i[k], 0.0)
    return np.where(wanted > 0, theta, largest[:, 0])


def _by_steps(rest: Floats, wanted: float) -> float:
    """The same without sorting: lower all, drop what is gone, and go on with the rest.

    What is left falls ever more slowly as θ grows, so Newton's steps from 0 never pass the θ that
    leaves what is wanted. The last one is exact: no size is dropped, and the quadratic is solved.
    """
    if wanted <= 0:
        return float(rest.max())
    theta = 0.0
    while True:
        count, sum_, square = len(rest), float(rest.sum()), float(rest @ rest)
        gap = sum_**2 - count * (square - wanted)
        last = (sum_ - math.sqrt(max(gap, 0.0))) / count
        if gap >= 0 and last <= rest.min():
            return max(theta + last, 0.0)
        step = (square - wanted) / (2 * sum_)
        if not theta + step > theta:
            return theta
        theta += step
        rest = _lowered(rest, step)


def _lowered(sizes: Floats, by: float) -> Floats:
    """Those of the sizes that are larger, less that much, in the same memory."""
    end = 0
    for first in range(0, len(sizes), _PIECE):
        piece = sizes[first : first + _PIECE]
        kept = piece[piece > by] - by
        sizes[end : end + len(kept)] = kept
        end += len(kept)
    return sizes[:end]


MECHANISMS = (PriveletStar(),)
