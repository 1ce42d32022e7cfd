"""What every transform of one axis offers: the map, its noise scales, what one row changes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from hushtable.arrays import Integers
from hushtable.errors import OptionError
from hushtable.kernel.maps.squared import Pair

LARGEST = 2**40
"""No axis is longer: far beyond any matrix that fits a memory."""


@dataclass(frozen=True)
class ScaleClass:
    """Adjacent coefficients of one noise scale: `factor` times the scale of the release."""

    start: int
    stop: int
    factor: Fraction


class AxisTransform(Protocol):
    """An integer-valued linear map along one axis.

    The noise on a coefficient has the scale `factor` · λ, with the factor of its class. What the
    map says about a row's influence is trusted, and checked by brute force:

    - `levels`: Σ |Δ coefficient| / factor, when a row appears or disappears, is at most this;
    - `overlap` and `agreement`: how much any two codes share. With u and v the coefficients, each
      over its factor, of one row at either code, and σ = ±1 as they have the same sign or not,
      Σ min(|u|, |v|) ≥ `overlap` and Σ σ·min(|u|, |v|) ≥ `agreement` ≥ 0;
    - `pairs`: Σ u², Σ v² and Σ u·v of every two codes are outdone by one of these pairs, which has
      no smaller squares and no larger product.
    """

    @property
    def kind(self) -> str:
        """Its name in manifests."""

    @property
    def size(self) -> int:
        """How many counts go in."""

    @property
    def coefficients(self) -> int:
        """How many coefficients come out."""

    @property
    def levels(self) -> int:
        """How much one row's arrival changes the coefficients, each over its scale factor."""

    @property
    def overlap(self) -> Fraction:
        """How much of the coefficients that one row changes, another row changes too."""

    @property
    def agreement(self) -> Fraction:
        """The same, less what the two rows change in opposite directions."""

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The pairs of codes that differ most in squares; of a single code, the code itself."""

    @property
    def classes(self) -> tuple[ScaleClass, ...]:
        """The scale factors, as ranges that follow each other and cover the coefficients."""

    @property
    def in_place(self) -> bool:
        """Whether the coefficients take the place of the counts."""

    def matrix(self) -> Integers:
        """The map, written out from its definition: coefficients × size."""

    def forward(self, counts: Integers, axis: int) -> Integers:
        """The coefficients along one axis; overwrites the counts where `in_place`."""

    def forward_lines(self, source: Integers, target: Integers, first: int, last: int) -> None:
        """The compiled twin of `forward`: the middle axis of a slab, some of its columns."""

    def to_dict(self) -> dict[str, Any]:
        """How a manifest describes it."""


def check_size(size: object, most: int = LARGEST) -> int:
    """Refuse what cannot be the length of an axis.

    Nor an integer of a kind of its own: it could count otherwise when it is asked again.
    """
    if type(size) is not int or not 1 <= size <= most:
        raise OptionError(f"a transform's size must be an integer from 1 to {most}")
    return size
