"""What publishing will take: memory, disk and time, from the size of the domain alone."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from hushtable.arrays import available_memory
from hushtable.kernel.maps import Product

# Of a matrix of 64-bit integers, the engine's tables and the writing included: 1.75 was measured.
_PEAK = 2.0
# Seconds for each coefficient and each row, on two cores of a small server.
_PER_COEFFICIENT = 25e-9
_PER_ROW = 0.25e-6
_START = 1.0


@dataclass(frozen=True)
class Resources:
    """Bytes of memory and disk, and seconds: orders of magnitude, for planning."""

    memory: int
    disk: int
    seconds: float

    @property
    def fits(self) -> bool:
        """Whether this machine has the memory."""
        return self.memory / _PEAK <= available_memory() * 3 / 4


def resources(transform: Product, scale: Fraction, people: int | None) -> Resources:
    """What a dense release of a transform takes; unknown numbers of people count as a million."""
    coefficients, rows = transform.cells, people if people is not None else 10**6
    # Of 10⁸ noises the largest is about 18 times the scale; wavelets multiply counts by fan-outs.
    reach = rows + 18 * float(scale) * max(float(factor) for _, factor in transform.blocks())
    width = next(width for width in (1, 2, 4, 8) if reach < 2 ** (8 * width - 1) or width == 8)
    seconds = _START + _PER_COEFFICIENT * coefficients + _PER_ROW * rows
    return Resources(round(8 * _PEAK * coefficients), width * coefficients, seconds)
