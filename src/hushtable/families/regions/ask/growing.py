"""Regions of cells, and the second histogram that counts them: what ISPE and kd-trees share."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from numpy.typing import NDArray

from hushtable.arrays import Integers
from hushtable.errors import OptionError
from hushtable.families.about import Settings
from hushtable.families.mechanism import check_memory
from hushtable.families.regions.about import ALPHA1, READING
from hushtable.families.regions.adjacency import Adjacency, components
from hushtable.kernel.curator import Curator, Measurement, Regions
from hushtable.kernel.maps import Identity, Product
from hushtable.kernel.privacy.loss import format_epsilon
from hushtable.release.store import Content
from hushtable.schema import Schema

# Beside the noisy cells: smoothed ones, regions, links between cells.
_COPIES = 8


def grown_regions(values: NDArray[Any], adjacency: Adjacency, below: float) -> Integers:
    """Algorithm 2: the region of every cell, numbered by their first cells.

    A region grows by any cell adjacent to one of its own whose value differs from that one's by
    less than ξ, however far they drift together: regions are connected components.
    """
    links = adjacency.links(values, below)
    return components(values.size, links).reshape(values.shape)


@dataclass(frozen=True)
class Split:
    """ε in two: α₁ for the cells, and the rest for the regions."""

    cells: Fraction
    regions: Fraction

    @classmethod
    def of(cls, settings: Settings, epsilon: Fraction, share: Fraction) -> Split:
        first = ALPHA1.given(settings) or epsilon * share
        if first >= epsilon:
            raise OptionError("alpha1 is what the cells cost: it must be less than epsilon")
        return cls(first, epsilon - first)


def check_regions(name: str, schema: Schema, split: Split) -> None:
    """Refuse, by the schema alone, what memory or 64-bit integers could not hold."""
    check_memory(name, len(schema.shape), _COPIES * schema.cells)
    for amount in (split.cells, split.regions):
        schema.exposure.noise(amount, entering=1, moving=2)


def noisy_cells(curator: Curator, schema: Schema, split: Split) -> Measurement:
    """Algorithm 1: the noisy count of every cell, for α₁."""
    cells = Product(tuple(Identity(size) for size in schema.shape))
    return curator.noisy_coefficients(cells, epsilon=split.cells)


def second_histogram(
    curator: Curator,
    cells: Measurement,
    regions: Integers,
    split: Split,
    parameters: dict[str, Any],
) -> Content:
    """The noisy count of every region, for the rest of ε, and all that is stored."""
    counts = curator.noisy_counts(Regions(regions), epsilon=split.regions)
    return Content(
        reader="regions",
        arrays={"cells": cells.values, "regions": regions, "counts": counts.values},
        noise={
            **cells.noise.to_dict(),
            "on": "every cell",
            "region_scale": str(counts.noise.scale),
            "and on": "the count of every region",
        },
        parameters={
            "alpha1": format_epsilon(split.cells),
            "alpha2": format_epsilon(split.regions),
            **parameters,
        },
    )


def reading(settings: Settings) -> dict[str, str]:
    """How analysts read the release unless they choose otherwise."""
    return {setting.name: setting.of(settings) for setting in READING}
