"""Noise on a dense matrix of coefficients, each at its own scale."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hushtable.transforms import Product

if TYPE_CHECKING:
    from hushtable.noise.bulk import Noise

# A part that does not lie together in memory is copied to be noised if it is no larger than this.
_COPIED = 2**20


def add_noise(
    values: NDArray[np.int64], transform: Product, scale: Fraction, noise: Noise
) -> Fraction:
    """Add noise of scale·factor to each coefficient; the blocks of one factor cover all of them.

    Returns η of all these draws together.
    """
    return sum(
        (
            _add_to_block(values[where], scale * factor, noise)
            for where, factor in transform.blocks()
        ),
        start=Fraction(0),
    )


def _add_to_block(block: NDArray[np.int64], scale: Fraction, noise: Noise) -> Fraction:
    if not block.size:
        return Fraction(0)
    if block.flags.c_contiguous:
        return noise.add_laplace(block, scale)
    if block.size > _COPIED:
        return sum((_add_to_block(part, scale, noise) for part in block), start=Fraction(0))
    together = np.ascontiguousarray(block)
    eta = noise.add_laplace(together, scale)
    block[...] = together
    return eta
