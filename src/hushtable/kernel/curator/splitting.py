"""Which boxes of a public tree are split: decisions with noise, and what they cost.

J. Zhang, X. Xiao, X. Xie. PrivTree: a differentially private algorithm for hierarchical
decompositions. SIGMOD 2016.

| paper                  | here                                                              |
|------------------------|-------------------------------------------------------------------|
| T, β                   | `Splits`, its `fanout`                                            |
| λ, δ, θ                | `Pace.scale`, `Pace.step`, `theta`                                |
| b(v), Lap(λ), b̂(v) > θ | max(θ − δ, c(v) − t·δ), discrete Laplace noise, `Noise.exceeding` |

Everything is an integer: δ, θ, counts and noise. A box of count c at depth t has the biased count
b = max(θ − δ, c − t·δ), and is split if b + Z > θ. Every box that is visited and has more than one
cell draws, empty ones like all others.

**What a row costs**, with q = e^(−1/λ) and x = e^(−δ/λ). A row that enters adds one to the counts
of the boxes that hold its cell: one of each depth, a path from the root. Other boxes stay as they
are, so the chances of a tree differ by the factors of that path alone. Along it b falls by at least
δ a level until it is clipped at θ − δ, for a child counts no more than its parent.

* P[split] is q^(1−j)/(1+q) for b = θ + j, j ≤ 0, and 1 − q^j/(1+q) for j ≥ 0. One more in b makes a
  split likelier, by ln(1/q) = 1/λ up to j = 0, and from there by g(j) = ln(1 + y) with
  y = q^j(1−q)/(1+q−q^j). g(0) is 1/λ, and g falls as j grows.
* Only boxes with c − t·δ ≥ θ − δ move. Of these, one at most lies within θ − δ … θ, or two: at
  θ − δ and at θ exactly. All others lie above θ, at least δ apart.
* With two, the others are at θ + δ, θ + 2δ, … or further up: all splits together cost at most
  2/λ + g(δ) + g(2δ) + … With one, they are at θ + j, θ + j + δ, … for some j ≥ 1, and cost
  1/λ + g(j) + g(j+δ) + …, which is no more, since g falls and g(j) < 1/λ.
* ln(1 + y) ≤ y, and 1 − q ≤ 1/λ, so that g(kδ) ≤ (1/λ)·x^k/(1 + q − x^k). The divisor is at least
  1, for x^k ≤ q, and at least 2 − 1/λ − x^k. So ε₁ = (1/λ)·(2 + Σ x^k/max(1, 2 − 1/λ − x^k)); with
  divisors of 1 this is the paper's (1/λ)·(2 − x)/(1 − x).
* The path ends in a box that is not split, which one more makes less likely, by at most e^(1/λ).

The log-ratio of entering is therefore in [−1/λ, ε₁]; of leaving in [−ε₁, 1/λ]; of leaving and
entering, which is moving, in ±(ε₁ + 1/λ). max_rows rows are as many steps.

ε₁ grows with x, which is rounded upwards, to a fraction. With x at most 1/fanout, noise alone
splits less than one child of a box on average, and the tree ends by itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Integers
from hushtable.errors import OptionError
from hushtable.kernel.counting import Counts
from hushtable.kernel.maps.splits import BoxLevel, Splits
from hushtable.kernel.noise.closeness import laplace_eta
from hushtable.kernel.privacy.loss import Exposure, check_scale

if TYPE_CHECKING:
    from hushtable.kernel.noise.bulk import Noise

MOST_BOXES = 2**20
"""No tree that is grown has more boxes."""

# A step for each of some sixty levels, θ, a count and noise must fit 64 bits together.
LARGEST_THETA = 2**40
_ROOM = 2**8
_DIGITS = 2**64
_TERMS = 64
# Scales are told to a millionth.
_STEPS = 2**20
# Terms of ε₁ that are added up; a bound of all others is.
_LEVELS = 40
_TRIALS = 3


@dataclass(frozen=True)
class Pace:
    """The scale λ of the noise, and the step δ by which counts are lowered at each depth."""

    scale: Fraction
    step: int

    @property
    def entering(self) -> Fraction:
        """ε of a row that appears or disappears: ε₁, or a little more."""
        decay = power = decay_above(self.step / self.scale)
        total = Fraction(2)
        for _ in range(_LEVELS):
            total += power / max(Fraction(1), 2 - 1 / self.scale - power)
            power = _rounded_up(power * decay)
        return (total + power / (1 - decay)) / self.scale

    @property
    def moving(self) -> Fraction:
        """ε of a row that becomes another: it leaves, for 1/λ at most, and enters."""
        return self.entering + 1 / self.scale

    def cost(self, exposure: Exposure) -> Fraction:
        """ε of a person."""
        per_row = self.entering if exposure.neighbours == "add-remove" else self.moving
        return per_row * exposure.max_rows

    @classmethod
    @lru_cache(maxsize=64)
    def of(cls, epsilon: Fraction, fanout: int, exposure: Exposure) -> Pace:
        """About the least noise for ε at which noise alone does not grow the tree.

        The paper's λ pays for x = 1/fanout. δ is whole, so that x is less, and ε₁ is less than the
        paper's: what is left of ε pays for a smaller λ, as long as that is paid for.
        """
        factor = Fraction(2 * fanout - 1, fanout - 1)
        factor += 0 if exposure.neighbours == "add-remove" else 1
        pace = cls._at(exposure.max_rows * factor / epsilon, fanout)
        for _ in range(_TRIALS):
            closer = cls._at(pace.scale * pace.cost(exposure) / epsilon, fanout)
            if closer.cost(exposure) > epsilon:
                break
            pace = closer
        pace.check(epsilon, fanout, exposure)
        return pace

    @classmethod
    def _at(cls, scale: Fraction, fanout: int) -> Pace:
        """A scale, and the least step at which noise alone does not grow the tree."""
        scale = Fraction(math.ceil(scale * _STEPS), _STEPS)
        check_scale(scale * _ROOM)
        step = max(math.floor(float(scale) * math.log(fanout)), 1)  # near it; what follows decides
        while not grows_past(step / scale, fanout):
            step += 1
        return cls(scale, step)

    def check(self, epsilon: Fraction, fanout: int, exposure: Exposure) -> None:
        """Refuse what ε does not pay, and a step so short that noise alone would grow the tree."""
        if not grows_past(self.step / self.scale, fanout) or self.cost(exposure) > epsilon:
            raise OptionError("such splits cost more than epsilon, or would never end")


def grows_past(exponent: Fraction, number: int) -> bool:
    """Whether e^exponent is certainly at least a number."""
    return _growth_below(exponent) >= number


def decay_above(exponent: Fraction) -> Fraction:
    """e^(−exponent), rounded upwards; below one for every exponent above zero."""
    return _rounded_up(1 / _growth_below(exponent))


def _growth_below(exponent: Fraction) -> Fraction:
    """e^exponent, rounded downwards: the first terms of its series, which are all positive."""
    power = math.floor(exponent * _DIGITS)
    total = term = _DIGITS
    for i in range(1, _TERMS):
        term = term * power // (i * _DIGITS)
        total += term
    return Fraction(total, _DIGITS)


def _rounded_up(number: Fraction) -> Fraction:
    return Fraction(math.ceil(number * _DIGITS), _DIGITS)


def grown(
    counts: Counts, splits: Splits, pace: Pace, *, theta: int, most: int, noise: Noise
) -> Integers:
    """The decisions of a tree that grows level by level, as `SplitBoxes` reads them.

    A level whose children would make more boxes than `most` is not split: that is known from the
    decisions alone.
    """
    codes = [np.asarray(a, np.int64) for a in np.unravel_index(counts.codes, counts.shape)]
    rows, node = counts.counts, np.zeros(len(counts.codes), np.int64)
    level, depth, visited, told = splits.root(), 0, 1, []
    while len(level):
        split = _decided(level, _sums(node, rows, len(level)), depth, pace, theta, noise)
        below = splits.children(level[split])
        if visited + len(below) > most:
            split[:] = False
            below = below[:0]
        told.append(split[level.divisible].astype(np.int64))
        held = np.flatnonzero(split[node])
        codes, rows = [along[held] for along in codes], rows[held]
        node = (np.cumsum(split) - 1)[node[held]]
        if len(below):
            node, _ = splits.child_of(level[split], node, codes)
        level, depth, visited = below, depth + 1, visited + len(below)
    return np.concatenate(told)


def _sums(node: Integers, rows: Integers, boxes: int) -> Integers:
    """How many rows are in each box."""
    totals = np.zeros(boxes, np.int64)
    np.add.at(totals, node, rows)
    return totals


def _decided(
    level: BoxLevel, counts: Integers, depth: int, pace: Pace, theta: int, noise: Noise
) -> NDArray[np.bool_]:
    """Which boxes of a level are split: all that can be draw, whatever they hold."""
    where = np.flatnonzero(level.divisible)
    split = np.zeros(len(level), bool)
    biased = np.maximum(counts[where] - depth * pace.step, theta - pace.step)
    split[where] = noise.exceeding(biased, theta, pace.scale)[0]
    return split


def check_growth(splits: Splits, shape: tuple[int, ...], theta: int, most: int) -> None:
    """Refuse a tree that is not ours, or not of this domain, and odd numbers."""
    if type(splits) is not Splits:
        raise OptionError("the curator only knows the trees of hushtable.kernel.maps.splits")
    if splits.shape != shape:
        raise OptionError(f"made for a domain of shape {splits.shape}; this one is {shape}")
    if type(theta) is not int or abs(theta) > LARGEST_THETA:
        raise OptionError("theta must be a whole number of at most 2^40")
    if type(most) is not int or not 1 <= most <= MOST_BOXES:
        raise OptionError(f"a tree has at most from 1 to {MOST_BOXES:,} boxes")


def decisions_eta(most: int, pace: Pace) -> Fraction:
    """η of all decisions: as if there were one for each of the most boxes there may be."""
    return most * laplace_eta(pace.scale)
