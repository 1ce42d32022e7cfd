"""Noise on a dense matrix of coefficients, each at its own scale."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hushtable.transforms import Product

if TYPE_CHECKING:
    from hushtable.noise.bulk import Noise


def add_noise(
    values: NDArray[np.int64], transform: Product, scale: Fraction, noise: Noise
) -> Fraction:
    """Add noise of scale·factor to each coefficient; the blocks of one factor cover all of them.

    Returns η of all these draws together.
    """
    return sum(
        (noise.add_laplace(values[where], scale * factor) for where, factor in transform.blocks()),
        start=Fraction(0),
    )
