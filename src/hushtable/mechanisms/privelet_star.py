"""Privelet*: Privelet+, with small coefficients taken for noise.

X. Xiao, G. Wang, J. Gehrke. Differential privacy via wavelet transforms. IEEE TKDE 23(8), 2011,
Section 7.

| paper                              | here                                                      |
|------------------------------------|-----------------------------------------------------------|
| subband S                          | `bands_of` along each axis; a band per sub-matrix of S_A  |
| normalised coefficient W(c)·c*     | a coefficient over its scale factor                       |
| CompThresh(S, λ)                   | `threshold`                                               |
| η_s(c*, θ)                         | on reading: `query/shrunken.py`                           |

Deviations. Figure 8 scans its array in the wrong order; θ here solves Equation 11 exactly, where
X[i+1] ≤ θ < X[i] for sizes sorted downwards. The noise variance in Equation 10 is that of the
discrete law. A subband of one coefficient stays as it is. The release keeps the noisy integers of
Privelet+, and beside them each subband's threshold and an estimate of its error: thresholds come
from noisy coefficients alone, so they cost nothing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hushtable.curator import Curator
from hushtable.mechanisms.coefficients import check_coefficients, measure_coefficients
from hushtable.mechanisms.mechanism import Settings, check_settings
from hushtable.mechanisms.privelet import identity_axes, wavelets
from hushtable.query.law import DiscreteLaplaceSum
from hushtable.query.shrunken import UNIT, Bands
from hushtable.release.store import Content
from hushtable.schema import Schema


@dataclass(frozen=True)
class PriveletStar:
    """Wavelets, soft-thresholded subband by subband."""

    name: str = "privelet*"
    needs: Literal["counts", "columns"] = "counts"

    def check(self, schema: Schema, *, epsilon: Fraction, settings: Settings) -> None:
        check_settings(self.name, settings, ("identity",))
        transform = wavelets(schema, identity_axes(schema, settings))
        check_coefficients(self.name, schema, transform, epsilon)

    def measure(
        self, curator: Curator, schema: Schema, *, epsilon: Fraction, settings: Settings
    ) -> Content:
        plain = identity_axes(schema, settings)
        transform = wavelets(schema, plain)
        chosen = {"identity": [schema.attributes[axis].name for axis in sorted(plain)]}
        measured = measure_coefficients(curator, transform, epsilon, chosen)
        scale = Fraction(measured.noise["scale"])
        bands = Bands.of(transform)
        thresholds, errors = shrinkage(measured.arrays["coefficients"], bands, scale)
        return Content(
            reader="shrunken",
            arrays={**measured.arrays, "thresholds": thresholds, "errors": errors},
            noise=measured.noise,
            parameters=measured.parameters,
        )


def shrinkage(
    coefficients: NDArray[np.int64], bands: Bands, scale: Fraction
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The threshold and the estimated error of every subband, in units of 1/UNIT."""
    thresholds = np.zeros(bands.shape, np.int64)
    errors = np.zeros(bands.shape, np.int64)
    for band, positions in _subbands(bands):
        factors = bands.factors_at(positions)
        sizes = np.abs(coefficients[np.ix_(*positions)] / factors).reshape(-1)
        noise = _mean_noise(factors, scale)
        theta = threshold(sizes, noise)
        thresholds[band] = math.floor(theta * UNIT)
        errors[band] = math.ceil(math.sqrt(estimated_error(sizes, theta, noise)) * UNIT)
    return thresholds, errors


def _subbands(bands: Bands) -> Iterator[tuple[tuple[int, ...], list[NDArray[np.intp]]]]:
    """Every combination of a band along each axis, and the positions in it."""
    along = [
        [np.flatnonzero(numbers == band) for band in range(count)]
        for numbers, count in zip(bands.numbers, bands.shape, strict=True)
    ]
    for band in itertools.product(*(range(count) for count in bands.shape)):
        yield band, [parts[number] for parts, number in zip(along, band, strict=True)]


def _mean_noise(factors: NDArray[Any], scale: Fraction) -> float:
    """The noise variance of the normalised coefficients of a subband."""
    found, counts = np.unique(factors, return_counts=True)
    variances = [
        DiscreteLaplaceSum(scale * int(factor), 1).variance / int(factor) ** 2 for factor in found
    ]
    return float(np.average(variances, weights=counts))


def threshold(sizes: NDArray[np.float64], noise: float) -> float:
    """CompThresh: the θ whose shrunken sizes have the variance that noise leaves (Eq. 11)."""
    count = len(sizes)
    if count <= 1:
        return 0.0
    wanted = float(np.square(sizes).sum()) - (count - 1) * noise  # (|S| − 1)·σ² of Equation 10
    largest = np.sort(sizes)[::-1]
    if wanted <= 0:
        return float(largest[0])
    i = np.arange(1, count + 1)
    alpha, beta = np.cumsum(largest**2), np.cumsum(largest)
    below = np.append(largest[1:], 0.0)
    # What is left of the i largest when all are lowered by the next one: it grows with i.
    left = alpha - 2 * beta * below + i * below**2
    k = min(int(np.searchsorted(left, wanted)), count - 1)
    root = math.sqrt(max(beta[k] ** 2 - i[k] * (alpha[k] - wanted), 0.0))
    return float(max((beta[k] - root) / i[k], 0.0))


def estimated_error(sizes: NDArray[np.float64], theta: float, noise: float) -> float:
    """The mean square error of a shrunken coefficient, estimated from the noisy ones.

    Stein's estimate for soft thresholds, with a margin for its own uncertainty. It is exact for
    normal noise; for Laplace noise, and under the assumption of a common law, it is a guide.
    """
    small = float(np.mean(sizes <= theta)) if theta > 0 else 0.0
    stein = noise * (1 - 2 * small) + float(np.mean(np.minimum(sizes, theta) ** 2))
    return float(np.clip(stein + 2 * noise / math.sqrt(len(sizes)), 0.0, noise + theta**2))
