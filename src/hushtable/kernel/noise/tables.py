"""Look-up tables that turn 16 random bits into a draw, and what they cost in exactness.

A discrete Laplace X of scale s has P[x] ∝ α^|x|, α = exp(−1/s). In two's complement X = G ^ −S with
an independent sign bit S ~ Bernoulli(α/(1+α)) and G ~ Geometric(α): S = 0 gives x = G ≥ 0 with
probability (1−α)α^x/(1+α), S = 1 gives x = −1−G with probability (1−α)α^(G+1)/(1+α). The digits of
G in base 256 are independent: the digit worth w = 256^j is geometric with ratio α^w cut off at 256,
and what is left above k digits is Geometric(α^(256^k)). So a draw is one look-up for sign and high
part together, H ^ −S, and one for each digit.

Each part is drawn by inversion: its value is the number of thresholds T ≤ u, for u uniform on 128
bits and T the cumulative probabilities times 2^128, rounded. The first 16 bits of u nearly always
decide; a prefix that a threshold falls into ("straddles") is refined with the other 112 bits.

How far from the ideal law: the probabilities are computed with 256 bits. exp and its argument, at
most 1024, are correctly rounded to 120 digits, and a power is reached by fewer than 2^14 products,
each off by at most 2^-256 for either factor and for the cut, so it is off by less than 2^-240. The
law of a digit divides by 1 − α^(256w) > 2^-48, for an error below 2^-190. Rounding to 128 bits then
leaves each threshold within 2^-128 of the truth (hardly more than half of that, in fact). Moving
one threshold by e moves the law by at most e in total variation; thresholds that round to 0 or 1
are left out, which folds a tail of at most 2^-128 at either end into the value beside it. In total
at most (thresholds + 2)·2^-128 for each look-up, and a draw adds up its look-ups.
"""

from __future__ import annotations

from decimal import ROUND_HALF_EVEN, Context
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

PREFIXES = 1 << 16
DIGIT = 256
SMALLEST_SCALE = Fraction(1, 1 << 10)
LARGEST_SCALE = Fraction(1 << 40)
# Gaps between chosen places are wider than any noise. Up to this scale none is beyond 2^62: the
# longest tail ends 128·ln 2 scales out.
LARGEST_GAP_SCALE = Fraction(1 << 55)

# Above this the high part would have so many thresholds that a digit is cheaper than refinement.
_LARGEST_HIGH_SCALE = 64
_PRECISION = 256
_ONE = 1 << _PRECISION
_CUT = _PRECISION - 128
_HALF = 1 << (_CUT - 1)
_DECIMAL = Context(prec=120, rounding=ROUND_HALF_EVEN)


class Tables(NamedTuple):
    """Everything a draw looks up; part 0 is the high part, part 1 the highest digit, and so on.

    `entries[part, p]` is twice the value nearest zero that a uniform beginning with the 16 bits p
    can have, plus one if it can have others. `thresholds` has rows of (upper, lower) 64-bit halves,
    `bounds[part]` to `bounds[part + 1]` for each part; value v ends before the threshold in row
    `origins[part] + v`, and the next begins with it.
    """

    entries: NDArray[np.int16]
    thresholds: NDArray[np.uint64]
    bounds: NDArray[np.int64]
    origins: NDArray[np.int64]

    @property
    def eta(self) -> Fraction:
        """A bound on the total-variation distance between one draw and the ideal law."""
        return Fraction(len(self.thresholds) + 2 * len(self.entries), 1 << 128)


def in_range(scale: Fraction) -> bool:
    """Tell whether the tables serve this scale; if not, draw exactly."""
    return SMALLEST_SCALE <= scale <= LARGEST_SCALE


@lru_cache(maxsize=128)
def laplace_tables(scale: Fraction) -> Tables:
    """Return the tables of the discrete Laplace law, P[x] ∝ exp(−|x|/scale)."""
    digits = _count_digits(scale)
    alpha, ratio = _ratio(scale, 1), _ratio(scale, DIGIT**digits)
    # P[H ^ −S < −h] = α·ratio^h/(1+α), and P[H ^ −S > h] = ratio^(h+1)/(1+α).
    below = _tail(alpha * _ONE // (_ONE + alpha), ratio)
    above = _tail(ratio * _ONE // (_ONE + alpha), ratio)
    return _assemble(scale, digits, below, above)


@lru_cache(maxsize=128)
def geometric_tables(scale: Fraction) -> Tables:
    """Return the tables of the geometric law, P[g] ∝ exp(−g/scale) for g ≥ 0."""
    return _geometric(scale, _count_digits(scale))


@lru_cache(maxsize=16)
def gap_tables(scale: Fraction) -> Tables:
    """Return the tables of the geometric law, also for the large scales of gaps."""
    return _geometric(scale, _count_digits(scale, LARGEST_GAP_SCALE))


def _geometric(scale: Fraction, digits: int) -> Tables:
    ratio = _ratio(scale, DIGIT**digits)
    return _assemble(scale, digits, [], _tail(ratio, ratio))


def _count_digits(scale: Fraction, largest: Fraction = LARGEST_SCALE) -> int:
    if not SMALLEST_SCALE <= scale <= largest:
        raise ValueError("the tables do not serve this scale")
    digits = 0
    while scale > _LARGEST_HIGH_SCALE * DIGIT**digits:
        digits += 1
    return digits


def _ratio(scale: Fraction, weight: int) -> int:
    """Return exp(−weight/scale), as a multiple of 2^-256."""
    exponent = _DECIMAL.divide(-weight * scale.denominator, scale.numerator)
    return int(_DECIMAL.multiply(_DECIMAL.exp(exponent), _ONE))


def _tail(first: int, ratio: int) -> list[int]:
    """Return first, first·ratio, first·ratio², … to the nearest 2^-128, until they vanish."""
    tail = []
    probability = first
    while rounded := (probability + _HALF) >> _CUT:
        tail.append(rounded)
        probability = probability * ratio >> _PRECISION
    return tail


def _digit_thresholds(scale: Fraction, weight: int) -> list[int]:
    """Return P[digit ≤ d] to the nearest 2^-128, for d = 0 … 254 of the digit worth `weight`."""
    ratio = _ratio(scale, weight)
    powers = [ratio]
    for _ in range(DIGIT - 1):
        powers.append(powers[-1] * ratio >> _PRECISION)
    whole = _ONE - powers.pop()
    return [(((_ONE - power) << 129) // whole + 1) >> 1 for power in powers]


def _assemble(scale: Fraction, digits: int, below: list[int], above: list[int]) -> Tables:
    """Lay out the high part, whose thresholds are `below` and 1 − `above`, and its digits."""
    high = below[::-1] + [(1 << 128) - tail for tail in above]
    lower = [_digit_thresholds(scale, DIGIT**j) for j in reversed(range(digits))]
    parts = [halves(part) for part in (high, *lower)]
    zeros = [len(below)] + [0] * digits
    entries = np.stack([_entries(*pair) for pair in zip(parts, zeros, strict=True)])
    bounds = np.cumsum([0] + [len(part) for part in parts])
    tables = Tables(entries, np.concatenate(parts), bounds, bounds[:-1] + np.array(zeros))
    for array in tables:
        array.setflags(write=False)
    return tables


def halves(thresholds: list[int]) -> NDArray[np.uint64]:
    """Split 128-bit integers into rows of (upper, lower) 64-bit halves."""
    packed = b"".join(threshold.to_bytes(16, "big") for threshold in thresholds)
    return np.frombuffer(packed, dtype=">u8").astype(np.uint64).reshape(-1, 2)


def _entries(thresholds: NDArray[np.uint64], zero: int) -> NDArray[np.int16]:
    """Say for every prefix the value nearest zero that it allows, and whether it allows others."""
    least, most = passed_by_prefixes(thresholds)
    nearest_zero = np.clip(zero, least, most) - zero
    return np.asarray(2 * nearest_zero + (most > least), dtype=np.int16)


def passed_by_prefixes(
    thresholds: NDArray[np.uint64],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many thresholds a uniform has passed that begins with each prefix: at least, at most."""
    upper, lower = thresholds[:, 0], thresholds[:, 1]
    floor = (upper >> np.uint64(48)).astype(np.int64)
    beyond = (upper & np.uint64((1 << 48) - 1) != 0) | (lower != 0)
    # A uniform with prefix p has passed the thresholds ≤ p at least, and those < p + 1 at most.
    least = np.cumsum(np.bincount(floor + beyond, minlength=PREFIXES + 1))[:PREFIXES]
    most = np.cumsum(np.bincount(floor, minlength=PREFIXES))
    return least, most
