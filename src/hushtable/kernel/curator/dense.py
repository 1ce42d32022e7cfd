"""Noise on what a dense matrix of counts gives: coefficients each at its own scale, and regions."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hushtable.kernel.maps import Product
from hushtable.kernel.noise.closeness import laplace_eta
from hushtable.kernel.privacy.loss import Exposure

if TYPE_CHECKING:
    from hushtable.kernel.noise.bulk import Noise


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


def regions_eta(most: int, epsilon: Fraction, exposure: Exposure) -> Fraction:
    """η of noise on any number of regions up to `most`.

    Regions often follow from earlier answers. Counted as if there were a region for every cell,
    they leave η as it is; nobody moves between regions if there is only one, so its scale differs.
    """
    scales = {exposure.scale(epsilon, entering=1, moving=moving) for moving in (1, 2)}
    return most * max(laplace_eta(scale) for scale in scales)
