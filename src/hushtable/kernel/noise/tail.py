"""Noise of which only the large values matter: the tails that a sparse summary keeps.

For an integer threshold θ ≥ 1 the discrete Laplace law beyond θ is geometric again: given X ≥ θ,
X − θ is Geometric(α) with α = exp(−1/scale), and given |X| ≥ θ the sign is a fair coin. The bulk
forms are within `geometric_eta(scale)` of that for each draw; the coins are exact.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hushtable.kernel.noise import exact
from hushtable.kernel.noise.bulk import sample_geometric
from hushtable.kernel.noise.entropy import Entropy


def upper_tail(threshold: int, scale: Fraction, entropy: Entropy) -> int:
    """Draw discrete Laplace noise X given X ≥ threshold, exactly."""
    _check_threshold(threshold)
    return threshold + exact.geometric(scale, entropy)


def either_tail(threshold: int, scale: Fraction, entropy: Entropy) -> int:
    """Draw discrete Laplace noise X given |X| ≥ threshold, exactly."""
    magnitude = upper_tail(threshold, scale, entropy)
    return -magnitude if entropy.bits(1) else magnitude


def sample_upper_tail(
    threshold: int, scale: Fraction, size: int, entropy: Entropy
) -> NDArray[np.int64]:
    """Draw `size` times X given X ≥ threshold."""
    _check_threshold(threshold)
    return threshold + sample_geometric(scale, size, entropy)


def sample_either_tail(
    threshold: int, scale: Fraction, size: int, entropy: Entropy
) -> NDArray[np.int64]:
    """Draw `size` times X given |X| ≥ threshold."""
    magnitudes = sample_upper_tail(threshold, scale, size, entropy)
    coins = np.empty(size, dtype=np.uint8)
    entropy.fill(coins)
    return np.where(coins & 1, -magnitudes, magnitudes)


def _check_threshold(threshold: int) -> None:
    if threshold < 1:
        raise ValueError("a tail begins at 1 or above")
