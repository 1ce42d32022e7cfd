"""ISPE: cells, smoothing, regions of similar cells, and an estimate from both histograms.

Y. Xiao, L. Xiong, C. Yuan. ISPE: adaptive differentially private data release and query
estimation. Emory University, TR-2011-005, 2011.

| paper                                 | here                                                     |
|---------------------------------------|----------------------------------------------------------|
| α, α₁                                 | ε, `--set alpha1=…`; the regions cost what is left       |
| I, y_I, Algorithm 1                   | `noisy_cells`                                            |
| Sm, n_it, Gaussian mask (Appendix B)  | `smoothed`: `iterations`, `sigma`, or `smoothing=median` |
| connected region, d (Definition 3.1)  | `adjacency.py`, `--set d=…`                              |
| Algorithm 2, ξ, P                     | `grown_regions`, `--set xi=…`                            |
| y_P                                   | `second_histogram`                                       |
| θ̃, B, Pr(θ, all observations), θ̂    | `read.py`, `posterior.py`                                |
| f_n (Theorem 4.3, Appendices E and F) | `query/law/density.py`: exact on the integers            |
| neighbourhood reference               | `reference.py`, `--set reference=on` or `off`            |

Deviations. Noise is discrete Laplace on integers, and its sums are computed, not simulated.
Algorithm 2 compares absolute differences. With neighbourhood reference the likelihood is that of
all equal cells together: the paper's product uses the noise of adjacent cells twice (it is
`likelihood=plain`). Nominal attributes have siblings for adjacent values. A mask at the edge of the
domain is weighted anew. Parameters that are not given follow from ε and the schema. Adjacent cells
are only looked at where the noisy cells around do not contradict that they are equal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from hushtable.families.about import Settings
from hushtable.families.regions.about import ISPE, ITERATIONS, SIGMA, SMOOTHING, XI, D
from hushtable.families.regions.adjacency import Adjacency
from hushtable.families.regions.ask.growing import (
    Split,
    check_regions,
    grown_regions,
    noisy_cells,
    reading,
    second_histogram,
)
from hushtable.families.regions.ask.smoothing import difference_of_adjacent, gaussian, median
from hushtable.kernel.curator import Curator
from hushtable.kernel.privacy.noises import KnownNoise
from hushtable.release.store import Content
from hushtable.schema import Schema

# Found by the experiment of docs/mechanisms/ispe.md.
SHARE = Fraction(9, 10)
USUAL_ITERATIONS = 5
QUIET = 0.5
"""Noise of a smaller deviation than this is not worth smoothing: it would blur true counts."""


@dataclass(frozen=True)
class IspeParameters:
    """What smoothing and region growing are told."""

    smoothing: str
    sigma: float
    iterations: int
    xi: float
    d: float

    @classmethod
    def of(cls, schema: Schema, settings: Settings, noise: KnownNoise) -> IspeParameters:
        """As given; what is not given follows from the noise of the cells and the schema."""
        deviation, sigma, d = math.sqrt(noise.variance), SIGMA.of(settings), D.of(settings)
        iterations = ITERATIONS.given(settings)
        if iterations is None:
            iterations = USUAL_ITERATIONS if deviation >= QUIET else 0
        axes = Adjacency.of(schema, d).axes
        apart = deviation * difference_of_adjacent(axes, sigma=sigma, iterations=iterations)
        # So far apart that noise alone hardly separates any adjacent cells of the whole domain.
        # Counts are whole: those that differ by less than a half are equal.
        least = max(apart * math.sqrt(2 * math.log(max(schema.cells, 2))), 0.5)
        xi = XI.given(settings)
        return cls(SMOOTHING.of(settings), sigma, iterations, least if xi is None else xi, d)

    def to_dict(self) -> dict[str, Any]:
        return {
            "smoothing": self.smoothing,
            "sigma": self.sigma,
            "iterations": self.iterations,
            "xi": self.xi,
            "d": self.d,
        }


@dataclass(frozen=True)
class Ispe:
    """Noisy cells, and noisy counts of the regions that they show."""

    name: str = ISPE.name
    needs: Literal["counts", "columns"] = "counts"

    def check(self, schema: Schema, *, epsilon: Fraction, settings: Settings) -> None:
        ISPE.check(settings, schema)
        split = Split.of(settings, epsilon, SHARE)
        check_regions(self.name, schema, split)
        noise = schema.exposure.noise(split.cells, entering=1, moving=2)
        chosen = IspeParameters.of(schema, settings, noise)
        Adjacency.of(schema, chosen.d).check()

    def measure(
        self, curator: Curator, schema: Schema, *, epsilon: Fraction, settings: Settings
    ) -> Content:
        split = Split.of(settings, epsilon, SHARE)
        cells = noisy_cells(curator, schema, split)
        chosen = IspeParameters.of(schema, settings, cells.noise)
        adjacency = Adjacency.of(schema, chosen.d)
        smooth = smoothed(cells.values, adjacency, chosen)
        regions = grown_regions(smooth, adjacency, chosen.xi)
        told = {**chosen.to_dict(), "neighbours": "schema", **reading(settings)}
        return second_histogram(curator, cells, regions, split, told)


def smoothed(
    noisy: NDArray[np.int64], adjacency: Adjacency, chosen: IspeParameters
) -> NDArray[np.float64]:
    """Sm(y_I): the noisy cells with less noise, and less detail."""
    values, axes = noisy.astype(np.float64), adjacency.axes
    if chosen.smoothing == "median":
        return median(values, axes, iterations=chosen.iterations)
    return gaussian(values, axes, sigma=chosen.sigma, iterations=chosen.iterations)


MECHANISMS = (Ispe(),)
