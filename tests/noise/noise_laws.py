"""What the tests of noise compare with: slow laws, scripted bits and a χ² test."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import chi2

from hushtable.kernel.noise.bulk import add_laplace
from hushtable.kernel.noise.entropy import Entropy

FALSE_ALARM = 1e-6
PRECISE = Context(prec=90)


Mass = Fraction | float
NEGLIGIBLE = 1e-7


class OutOfScriptError(Exception):
    """The script has ended where the sampler asks for an answer with these probabilities."""

    def __init__(self, probabilities: list[Mass]) -> None:
        self.probabilities = probabilities


class Script:
    """A source that answers from a list and then raises."""

    private = False

    def __init__(self, answers: Sequence[int]) -> None:
        self._answers = iter(answers)

    def answer(self, probabilities: list[Mass]) -> int:
        try:
            return next(self._answers)
        except StopIteration:
            raise OutOfScriptError(probabilities) from None

    def below(self, n: int) -> int:
        return self.answer([Fraction(1, n)] * n)

    def flip(self, p: float) -> bool:
        return bool(self.answer([1 - p, p]))

    def bits(self, k: int) -> int:
        return self.below(1 << k)

    def fill(self, out: NDArray[Any]) -> None:
        raise NotImplementedError

    def spawn(self) -> Script:
        raise NotImplementedError


def enumerate_outcomes(sampler: Callable[[Script], Any], runs: int) -> tuple[dict[Any, Mass], Mass]:
    """Run a sampler on every script, likeliest first: the masses of outcomes, and the rest."""
    masses: dict[Any, Mass] = {}
    # A script's key is minus its probability, so that the likeliest is first in the heap.
    open_scripts: list[tuple[Mass, tuple[int, ...]]] = [(Fraction(-1), ())]
    for _ in range(runs):
        if not open_scripts or -open_scripts[0][0] < NEGLIGIBLE:
            break
        key, script = heapq.heappop(open_scripts)
        try:
            outcome = sampler(Script(script))
        except OutOfScriptError as error:
            for answer, p in enumerate(error.probabilities):
                heapq.heappush(open_scripts, (key * p, (*script, answer)))
        else:
            masses[outcome] = masses.get(outcome, Fraction(0)) - key
    return masses, -sum((key for key, _ in open_scripts), Fraction(0))


class ScriptedUniforms:
    """A source for one bulk draw: one 128-bit uniform for each look-up, high part first."""

    private = False

    def __init__(self, uniforms: Sequence[int], *, unused: int = 0xFFFF) -> None:
        self._uniforms = uniforms
        self._unused = unused

    def fill(self, out: NDArray[Any]) -> None:
        if out.dtype == np.uint16:
            out[:, 0] = [u >> 112 for u in self._uniforms]
        else:
            for part, u in enumerate(self._uniforms):
                rest = u & ((1 << 112) - 1)
                out[0, part] = (rest >> 64) << 16 | self._unused, rest & ((1 << 64) - 1)

    def bits(self, k: int) -> int:
        raise NotImplementedError

    def spawn(self) -> ScriptedUniforms:
        raise NotImplementedError


def exp_of(exponent: Fraction) -> Decimal:
    """exp of a fraction to 90 digits."""
    return PRECISE.exp(PRECISE.divide(exponent.numerator, exponent.denominator))


def nearest(probability: Decimal) -> int:
    """The multiple of 2^-128 nearest to a probability."""
    return int(PRECISE.to_integral_value(PRECISE.multiply(probability, 1 << 128)))


def digit_cdf(scale: Fraction, weight: int) -> list[Decimal]:
    """P[digit ≤ d] for d = 0 … 254, each from its own exponential."""
    whole = PRECISE.subtract(1, exp_of(-256 * weight / scale))
    tails = (PRECISE.subtract(1, exp_of(-(d + 1) * weight / scale)) for d in range(255))
    return [PRECISE.divide(tail, whole) for tail in tails]


def high_cdf(scale: Fraction, weight: int, *, signed: bool) -> tuple[list[Decimal], int]:
    """Every P[H ^ −S ≤ v] that does not round to 0 or 1, and how many are of v < 0."""
    total = PRECISE.add(1, exp_of(-1 / scale)) if signed else Decimal(1)
    below = _until_zero(lambda h: PRECISE.divide(exp_of(-(1 + h * weight) / scale), total))
    above = _until_zero(lambda h: PRECISE.divide(exp_of(-(h + 1) * weight / scale), total))
    below = below if signed else []
    return below[::-1] + [PRECISE.subtract(1, p) for p in above], len(below)


def _until_zero(tail: Callable[[int], Decimal]) -> list[Decimal]:
    found: list[Decimal] = []
    while nearest(p := tail(len(found))):
        found.append(p)
    return found


def laplace_pmf(scale: Fraction, x: int) -> Fraction:
    """P[x] of the discrete Laplace law, to 90 digits."""
    alpha = exp_of(-1 / scale)
    base = PRECISE.divide(PRECISE.subtract(1, alpha), PRECISE.add(1, alpha))
    return Fraction(PRECISE.multiply(base, exp_of(-abs(x) / scale)))


def gaussian_weight(sigma_squared: Fraction, x: int) -> Decimal:
    """exp(−x²/2σ²) to 90 digits."""
    return exp_of(Fraction(-(x**2)) / (2 * sigma_squared))


def gaussian_pmf(sigma_squared: Fraction) -> dict[int, int]:
    """P[x] of the discrete Gaussian law as multiples of 2^-240, wherever it is above 10^-60."""
    reach = math.isqrt(math.ceil(280 * sigma_squared)) + 1
    weights = {x: gaussian_weight(sigma_squared, x) for x in range(-reach, reach + 1)}
    whole = Decimal(0)
    for weight in weights.values():
        whole = PRECISE.add(whole, weight)
    unit = PRECISE.divide(1 << 240, whole)
    return {x: int(PRECISE.multiply(weight, unit)) for x, weight in weights.items()}


def gaussian_cdf(sigma_squared: float) -> Callable[[int], float]:
    """P[X ≤ x] of the discrete Gaussian law; by the continuous one where that is the same."""
    sigma = math.sqrt(sigma_squared)
    if sigma > 3000:
        return lambda x: math.erfc(-(x + 0.5) / sigma / math.sqrt(2)) / 2
    reach = math.ceil(40 * sigma)
    ends = np.cumsum(np.exp(-(np.arange(-reach, reach + 1.0) ** 2) / (2 * sigma_squared)))
    return lambda x: float(ends[min(x + reach, 2 * reach)] / ends[-1]) if x >= -reach else 0.0


def laplace_cdf(scale: float) -> Callable[[int], float]:
    """P[X ≤ x] of the discrete Laplace law."""
    total = 1 + math.exp(-1 / scale)

    def cdf(x: int) -> float:
        return math.exp(x / scale) / total if x < 0 else 1 - math.exp(-(x + 1) / scale) / total

    return cdf


def geometric_cdf(scale: float, start: int = 0) -> Callable[[int], float]:
    """P[X ≤ x] of start + a geometric law."""
    return lambda x: -math.expm1(-(x - start + 1) / scale) if x >= start else 0.0


def sample_laplace(scale: Fraction, size: int, entropy: Entropy) -> NDArray[np.int64]:
    """Draw `size` integers x with probability proportional to exp(−|x|/scale)."""
    values = np.zeros(size, np.int64)
    add_laplace(values, scale, entropy)
    return values


def fits(
    sample: Iterable[int],
    cdf: Callable[[int], float],
    *,
    bins: int = 30,
    false_alarm: float = FALSE_ALARM,
) -> bool:
    """Say whether a χ² test accepts that the sample has this law.

    The bins' edges are quantiles of one half of the sample and the counts come from the other, so
    that the bins depend neither on the law tested nor on the values counted.
    """
    values = np.asarray(sample, dtype=np.int64)
    half = len(values) // 2
    ranks = np.linspace(0, half - 1, bins + 1).astype(int)[1:-1]
    edges = np.unique(np.sort(values[:half])[ranks])
    counted = values[half:]
    observed = np.diff([0, *(int((counted <= edge).sum()) for edge in edges), len(counted)])
    expected = np.diff([0.0, *(cdf(int(edge)) for edge in edges), 1.0]) * len(counted)
    if observed[expected <= 0].any():
        return False
    kept = expected > 0
    statistic = ((observed[kept] - expected[kept]) ** 2 / expected[kept]).sum()
    return bool(chi2.sf(statistic, kept.sum() - 1) >= false_alarm)
