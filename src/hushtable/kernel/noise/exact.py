"""Exact samplers over integers and fractions: slow, and as short as the proofs.

After Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (2020):
`bernoulli_exp` is their algorithm 1, `geometric` and `discrete_laplace` their algorithm 2,
`discrete_gaussian` their algorithm 3. No floating point occurs, and every probability below is met
exactly.

| paper | here |
|---|---|
| γ | `gamma` |
| t / s | `scale` |
| U, D, V | `remainder`, the test on it, `quotient` |
| σ² | `sigma_squared` |
| t, Y, C of algorithm 3 | `scale`, `proposal`, the test on it |
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate

from hushtable.kernel.noise.entropy import Entropy


def uniform_below(n: int, entropy: Entropy) -> int:
    """Draw 0, 1, … n − 1, each with probability 1/n."""
    if n < 1:
        raise ValueError("there is nothing to draw from")
    width = (n - 1).bit_length()
    while True:
        candidate = entropy.bits(width)
        if candidate < n:
            return candidate


def bernoulli(p: Fraction, entropy: Entropy) -> bool:
    """Draw True with probability p."""
    if not 0 <= p <= 1:
        raise ValueError("a probability lies between 0 and 1")
    return uniform_below(p.denominator, entropy) < p.numerator


def bernoulli_exp(gamma: Fraction, entropy: Entropy) -> bool:
    """Draw True with probability exp(−gamma), for any gamma ≥ 0."""
    if gamma < 0:
        raise ValueError("exp(−gamma) is a probability only for gamma ≥ 0")
    whole = gamma.numerator // gamma.denominator
    for _ in range(whole):
        if not _bernoulli_exp_of_at_most_one(1, 1, entropy):
            return False
    rest = gamma.numerator - whole * gamma.denominator
    return _bernoulli_exp_of_at_most_one(rest, gamma.denominator, entropy)


def _bernoulli_exp_of_at_most_one(numerator: int, denominator: int, entropy: Entropy) -> bool:
    """Draw True with probability exp(−γ), γ = numerator/denominator ≤ 1.

    The first k at which Bernoulli(γ/k) fails exceeds k with probability γ^k/k!, so it is odd with
    probability 1 − γ + γ²/2! − … = exp(−γ).
    """
    k = 1
    while uniform_below(denominator * k, entropy) < numerator:
        k += 1
    return k % 2 == 1


def geometric(scale: Fraction, entropy: Entropy) -> int:
    """Draw g = 0, 1, … with probability (1 − α)·α^g, where α = exp(−1/scale)."""
    if scale <= 0:
        raise ValueError("a scale is above zero")
    t, s = scale.numerator, scale.denominator
    remainder = uniform_below(t, entropy)
    while not _bernoulli_exp_of_at_most_one(remainder, t, entropy):
        remainder = uniform_below(t, entropy)
    quotient = 0
    while _bernoulli_exp_of_at_most_one(1, 1, entropy):
        quotient += 1
    return (remainder + t * quotient) // s


def discrete_laplace(scale: Fraction, entropy: Entropy) -> int:
    """Draw an integer x with probability proportional to exp(−|x|/scale)."""
    while True:
        negative = entropy.bits(1)
        magnitude = geometric(scale, entropy)
        # Zero has no sign: without this it would be drawn twice as often as it should.
        if magnitude or not negative:
            return -magnitude if negative else magnitude


def discrete_gaussian(sigma_squared: Fraction, entropy: Entropy) -> int:
    """Draw an integer x with probability proportional to exp(−x²/(2·sigma_squared)).

    Proposals are Laplace of a scale near σ, and y is accepted with probability
    exp(−(|y| − σ²/t)²/2σ²), which is exp(−y²/2σ²) over exp(−|y|/t) but for a constant.
    """
    if sigma_squared <= 0:
        raise ValueError("σ² is above zero")
    scale = Fraction(math.isqrt(math.floor(sigma_squared)) + 1)
    while True:
        proposal = discrete_laplace(scale, entropy)
        away = abs(proposal) - sigma_squared / scale
        if bernoulli_exp(away**2 / (2 * sigma_squared), entropy):
            return proposal


def choose(weights: Sequence[int], entropy: Entropy) -> int:
    """Draw index i with probability weights[i] / Σ weights, for integer weights ≥ 0."""
    if min(weights, default=0) < 0:
        raise ValueError("weights are not below zero")
    ends = list(accumulate(weights, initial=0))
    return bisect_right(ends, uniform_below(ends[-1], entropy)) - 1


def choose_exponential(exponents: Sequence[Fraction], entropy: Entropy) -> int:
    """Draw index i with probability proportional to exp(exponents[i]).

    Proposals are uniform, and i is accepted with probability exp(exponents[i] − largest). The best
    index is always accepted, so the expected number of proposals is at most the number of indices.
    """
    largest = max(exponents)
    while True:
        i = uniform_below(len(exponents), entropy)
        if bernoulli_exp(largest - exponents[i], entropy):
            return i
