"""What every transform of one axis offers: to the owner's side, and to the analyst's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import OptionError

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

LARGEST = 2**40
"""No axis is longer: far beyond any matrix that fits a memory."""


@dataclass(frozen=True)
class ScaleClass:
    """Neighbouring coefficients of one noise scale: `factor` times the scale of the release."""

    start: int
    stop: int
    factor: Fraction


@dataclass(frozen=True, eq=False)
class Row:
    """How coefficients enter an estimate: distinct positions, increasing, and their weights."""

    positions: Integers
    weights: Floats


class AxisTransform(Protocol):
    """An integer-valued linear map along one axis, and how to read its noisy coefficients.

    The noise on a coefficient has the scale `factor` · λ, with the factor of its class. What the
    map says about a row's influence is trusted, and checked by brute force:

    - `levels`: Σ |Δ coefficient| / factor, when a row appears or disappears, is at most this;
    - `overlap` and `agreement`: how much any two codes share. With u and v the coefficients, each
      over its factor, of one row at either code, and σ = ±1 as they have the same sign or not,
      Σ min(|u|, |v|) ≥ `overlap` and Σ σ·min(|u|, |v|) ≥ `agreement` ≥ 0.
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

    def inverse(self, values: NDArray[Any], axis: int) -> Floats:
        """The counts that noisy coefficients suggest, along one axis."""

    def inverse_lines(self, source: NDArray[Any], target: Floats, first: int, last: int) -> None:
        """The compiled twin of `inverse`: the middle axis of a slab, some of its columns."""

    def row(self, start: int, stop: int) -> Row:
        """The weights of the coefficients in the estimated sum over the codes of an interval."""

    def rows(self, queries: NDArray[Any]) -> Floats:
        """The weights of all coefficients in Σ q(code)·count(code), for q along the last axis."""

    def gains(self, starts: Any, stops: Any) -> Floats:
        """For many intervals, the sum of squared weights within each class of coefficients."""

    def to_dict(self) -> dict[str, Any]:
        """How a manifest describes it."""


def check_size(size: object, most: int = LARGEST) -> int:
    """Refuse what cannot be the length of an axis.

    Nor an integer of a kind of its own: it could count otherwise when it is asked again.
    """
    if type(size) is not int or not 1 <= size <= most:
        raise OptionError(f"a transform's size must be an integer from 1 to {most}")
    return size


def check_intervals(starts: Any, stops: Any, size: int) -> tuple[Integers, Integers]:
    """Intervals as two arrays of integers, refused unless 0 ≤ start ≤ stop ≤ size."""
    low, high = np.asarray(starts), np.asarray(stops)
    if low.dtype.kind not in "iu" or high.dtype.kind not in "iu" or low.shape != high.shape:
        raise OptionError("intervals need as many integer starts as stops")
    low, high = low.astype(np.int64).reshape(-1), high.astype(np.int64).reshape(-1)
    if low.size and not (low.min() >= 0 and (low <= high).all() and high.max() <= size):
        raise OptionError(f"intervals must lie within 0 … {size}")
    return low, high


def add_rows(rows: Iterable[Row]) -> Row:
    """The row of a union of disjoint intervals: weights at the same position add up."""
    parts = list(rows)
    positions = np.concatenate([row.positions for row in parts] or [np.zeros(0, np.int64)])
    weights = np.concatenate([row.weights for row in parts] or [np.zeros(0)])
    distinct, where = np.unique(positions, return_inverse=True)
    sums = np.bincount(where, weights, minlength=len(distinct))
    return Row(distinct[sums != 0], sums[sums != 0])


def row_gains(row: Row, classes: Sequence[ScaleClass]) -> Floats:
    """The sum of squared weights of a row within each class."""
    ends = np.searchsorted(row.positions, [(c.start, c.stop) for c in classes]).reshape(-1, 2)
    return np.array([np.square(row.weights[first:last]).sum() for first, last in ends])
