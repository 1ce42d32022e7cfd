"""Transforms: integer-valued linear maps of counts along each axis, and their product.

A transform of one axis says what one row can change (trusted, checked by brute force): `levels`
is Σ|Δ coefficient| / scale factor when a row appears or disappears. It is what the noise must be
scaled by, so a mechanism cannot bring one of its own: the curator accepts the kinds listed here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class AxisTransform(Protocol):
    """An integer-valued linear map along one axis."""

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

    def forward(self, counts: NDArray[np.int64], axis: int) -> NDArray[np.int64]:
        """The coefficients along one axis; may work in place."""

    def to_dict(self) -> dict[str, Any]:
        """How a manifest describes it."""


@dataclass(frozen=True)
class Product:
    """One transform per axis, applied one after the other."""

    axes: tuple[AxisTransform, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the counts it takes."""
        return tuple(axis.size for axis in self.axes)

    @property
    def entering(self) -> int:
        """What one row changes by appearing: over several axes the changes multiply."""
        return math.prod(axis.levels for axis in self.axes)

    @property
    def moving(self) -> int:
        """What one row changes by becoming another: at most one leaves and one enters.

        Per-axis figures for moving rows must not be multiplied: on a product of axes the true
        figure can be larger than their product.
        """
        return 2 * self.entering

    def forward(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """All coefficients of a dense matrix of counts, which it may overwrite."""
        for i, axis in enumerate(self.axes):
            counts = axis.forward(counts, i)
        return counts

    def to_dict(self) -> list[dict[str, Any]]:
        """How a manifest describes it."""
        return [axis.to_dict() for axis in self.axes]
