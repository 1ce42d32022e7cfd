"""The law of the noise in an answer, and the error bars that follow from it."""

from hushtable.query.law.interval import (
    NoiseLaw,
    SkewedLaw,
    checked_confidence,
    farther_end,
    margins_of,
    simultaneous,
)
from hushtable.query.law.noise_sum import NoiseSum
from hushtable.query.law.normal import wider_quantile

__all__ = [
    "NoiseLaw",
    "NoiseSum",
    "SkewedLaw",
    "checked_confidence",
    "farther_end",
    "margins_of",
    "simultaneous",
    "wider_quantile",
]
