"""Summaries of sparse tables: the true values of the places that are not empty, and their noise."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import OptionError
from hushtable.kernel.counting import Counts
from hushtable.kernel.curator.holding import Holding
from hushtable.kernel.maps.hashing import Sketch
from hushtable.kernel.maps.rules import Held, Kept, Rule
from hushtable.kernel.maps.structure import Structure
from hushtable.kernel.noise.closeness import laplace_eta
from hushtable.kernel.privacy.loss import Exposure
from hushtable.kernel.privacy.noises import DiscreteLaplace

if TYPE_CHECKING:
    from hushtable.kernel.noise.bulk import Noise

# Scales are so many times smaller than those of single draws: here two of them and a threshold are
# added up, which must fit 64 bits.
ROOM = 2**5


@dataclass(frozen=True)
class NoisySummary:
    """What a rule kept of noise of one law on every place of a structure."""

    kept: Kept
    noise: DiscreteLaplace
    epsilon: Fraction
    what: dict[str, Any]


def summarise(
    counts: Counts,
    structure: Structure,
    rule: Rule,
    scale: Fraction,
    noise: Noise,
    *,
    rooted: bool,
) -> tuple[Kept, Fraction]:
    """Noise on every place of the structure, then what the rule keeps; and η of empty places.

    `rooted` drops nodes that pass the filter while an ancestor does not, before any sampling: that
    looks at nothing but which places have passed.
    """
    places, values = structure.forward(counts.codes, counts.counts)
    held = Held(places, values, structure.places)
    return noise.summarise(held, rule, scale, structure.rooted if rooted else None)


def held_places_eta(structure: Structure, scale: Fraction, exposure: Exposure) -> Fraction:
    """η of the noise on places that rows touch, as far as it tells neighbours apart.

    That is the noise where one person's rows are, or where they are and where they were: a row
    touches as many places as it changes by entering. `noise.closeness` says why no others count.
    """
    touched = exposure.sensitivity(entering=structure.entering, moving=2 * structure.entering)
    return touched * laplace_eta(scale)


def sparse_counts(data: Holding) -> Counts:
    """The held counts of cells, which these questions need."""
    if not isinstance(data, Counts):
        raise OptionError("a sparse summary needs counts of cells, not coded columns")
    return data


def sketched(counts: Counts, sketch: Sketch) -> NDArray[np.int64]:
    """The true buckets of a sketch."""
    return sketch.forward(counts.codes, counts.counts)
