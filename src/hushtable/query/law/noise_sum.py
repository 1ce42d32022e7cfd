"""The law of a weighted sum of independent noises."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hushtable.arrays import Floats, Integers
from hushtable.kernel.privacy.noises import DiscreteGaussian, KnownNoise
from hushtable.query.law.alike import reach_of_alike
from hushtable.query.law.gathered import Sizes
from hushtable.query.law.interval import checked_confidence
from hushtable.query.law.inversion import by_law, chernoff, reach_by_series

Term = tuple[float, KnownNoise, int]
"""The size of a weight, a noise, and how many such noises there are."""

Doubt = tuple[float, KnownNoise, float]
"""The same of noises that need not be a whole number: they only bound something."""

# Of more terms, those of nearly equal weights are taken together; of rare noise, of many more: a
# single one that differs may be what decides.
_MANY, _MANY_RARE = 1 << 10, 1 << 14
# What part of a chance of missing is left to the difference.
_DOUBTED = 1 / 500

# Rarer misses are bounded (Chernoff), not computed: rounding would show in the series.
RARE = 1e-9


@dataclass(frozen=True, slots=True)
class NoiseSum:
    """Σ weight · noise, over independent noises: the error of an answer that is a weighted sum.

    Half widths cover at least as asked. Where all terms are alike they are the smallest that do, or
    one more for Gaussian noise of a σ above 64; below a σ of 2, sums of it are treated as others.
    Others are about half a percent wider; where noise is rare but large, by up to 0.2 % of how far
    it reaches; and for misses rarer than 10⁻⁹, by what Chernoff's bound gives away.
    """

    terms: tuple[Term, ...]
    doubts: tuple[Doubt, ...] = ()
    """What reaches at least as far as the difference between the true sum and that of the terms."""

    @classmethod
    def of(cls, noise: KnownNoise, count: int) -> NoiseSum:
        """The plain sum of so many equal noises."""
        if count < 0:
            raise ValueError("a sum of noises has a number of terms of at least 0")
        return cls(((1.0, noise, count),) if count else ())

    @classmethod
    def weighted(
        cls, terms: Mapping[tuple[float, KnownNoise], int], doubts: tuple[Doubt, ...] = ()
    ) -> NoiseSum:
        """The sum of given terms; weights that differ by rounding only are taken for the largest.

        What reaches no further than a few rounding errors of the largest has cancelled: it is left
        out.
        """
        counts: dict[tuple[float, KnownNoise], int] = {}
        largest: dict[tuple[float, KnownNoise], float] = {}
        residue = 1e-14 * max((abs(weight) / n.rate for weight, n in terms), default=0.0)
        for (weight, noise), count in terms.items():
            if count and abs(weight) / noise.rate > residue:
                key = (float(f"{abs(weight):.12g}"), noise)
                counts[key] = counts.get(key, 0) + count
                largest[key] = max(largest.get(key, 0.0), abs(weight))
        listed = ((largest[key], key[1], n) for key, n in counts.items())
        return cls(tuple(sorted(listed, key=_place)), doubts)

    @classmethod
    def merged(
        cls, weights: Floats, counts: Integers, which: Integers, noises: Sequence[KnownNoise]
    ) -> NoiseSum:
        """As `weighted`, of many terms at once: `which` of the noises, in order, each one has.

        Weights are compared by their first 40 bits, which are 12 digits.
        """
        sizes = np.abs(weights)
        reaches = sizes / np.array([noise.rate for noise in noises])[which]
        held = np.flatnonzero((reaches > 1e-14 * reaches.max(initial=0.0)) & (counts > 0))
        if not len(held):
            return cls(())
        mantissas, exponents = np.frexp(sizes[held])
        rounded = np.ldexp(np.rint(np.ldexp(mantissas, 40)), exponents)
        order = np.lexsort((sizes[held], which[held], rounded))
        rounded, held = rounded[order], held[order]
        new = (np.diff(rounded) != 0) | (np.diff(which[held]) != 0)
        starts = np.flatnonzero(np.append(True, new))
        last = held[np.append(starts[1:], len(held)) - 1]
        largest, kinds, numbers = sizes[last], which[last], np.add.reduceat(counts[held], starts)
        final = np.lexsort((kinds, largest))
        listed = (largest[final].tolist(), kinds[final].tolist(), numbers[final].tolist())
        return cls(tuple((size, noises[kind], n) for size, kind, n in zip(*listed, strict=True)))

    @classmethod
    def gathered(cls, weights: Iterable[tuple[KnownNoise, Sizes]]) -> NoiseSum:
        """The sum of very many terms, of which those of nearly equal weights are taken together.

        Its variance is exact; half widths have room for the difference.
        """
        terms: list[Term] = []
        doubts: list[Doubt] = []
        for noise, sizes in weights:
            terms += [(weight, noise, count) for weight, count in sizes.terms()]
            doubts += [(weight, noise, count) for weight, count in sizes.doubts()]
        return cls(tuple(terms), tuple(doubts))

    def __add__(self, other: NoiseSum) -> NoiseSum:
        """The terms of both, which are independent."""
        return NoiseSum(self.terms + other.terms, self.doubts + other.doubts)

    def times(self, factor: float) -> NoiseSum:
        """So many times the sum."""
        size = abs(factor)
        return NoiseSum(
            tuple((size * weight, noise, count) for weight, noise, count in self.terms),
            tuple((size * weight, noise, count) for weight, noise, count in self.doubts),
        )

    @property
    def variance(self) -> float:
        """Σ count · weight² · variance of one noise."""
        return math.fsum(w**2 * (count * noise.variance) for w, noise, count in self.terms)

    @property
    def kurtosis(self) -> float:
        """The excess kurtosis."""
        fourth = math.fsum(w**4 * (n * noise.fourth_cumulant) for w, noise, n in self.terms)
        return fourth / self.variance**2 if fourth else 0.0

    @property
    def estimate(self) -> bool:
        return False

    def half_width(self, confidence: float) -> float:
        """A t, the smallest or close to it, with P[|noise| ≤ t] ≥ confidence."""
        return self.reach(1 - checked_confidence(confidence))

    def reach(self, miss: float) -> float:
        """A t, the smallest or close to it, with P[|noise| > t] ≤ miss."""
        if self.doubts:
            rest = _reach(NoiseSum(self.terms), miss * (1 - _DOUBTED))
            return rest + chernoff(by_law(self.doubts), miss * _DOUBTED / 2)
        if is_many(len(self.terms), (noise for _, noise, _ in self.terms)):
            return _reach_of_many(self, miss)
        return _reach(self, miss) if len(self.terms) > 1 else self._reach_of_one_kind(miss)

    def _reach_of_one_kind(self, miss: float) -> float:
        """All terms are alike: the sum of plain noises, stretched."""
        if not self.terms:
            return 0.0
        weight, noise, count = self.terms[0]
        # A third of a whole number lies at the very end: rounding must not leave it outside.
        room = 1.0 if (weight * 2**20).is_integer() else 1 + 1e-12
        if isinstance(noise, DiscreteGaussian):
            return weight * _reach_of_gaussians(noise, count, miss) * room
        return weight * reach_of_alike(noise, count, miss) * room


def _place(term: Term) -> tuple[float, str, KnownNoise, int]:
    """Where a term is listed; noises of two laws have no order of their own."""
    weight, noise, count = term
    return weight, noise.law, noise, count


def is_many(terms: int, noises: Iterable[KnownNoise]) -> bool:
    """Whether so many terms are too many to look at one by one."""
    return terms > _MANY and (terms > _MANY_RARE or all(noise.rate <= 1 for noise in noises))


def _reach_of_many(law: NoiseSum, miss: float) -> float:
    """How far a sum reaches whose terms are too many to look at one by one."""
    by_noise: dict[KnownNoise, list[tuple[float, int]]] = {}
    for weight, noise, count in law.terms:
        by_noise.setdefault(noise, []).append((weight, count))
    sizes = {noise: np.array(some).T for noise, some in by_noise.items()}
    return NoiseSum.gathered((n, Sizes.of(*some)) for n, some in sizes.items()).reach(miss)


def _reach_of_gaussians(noise: DiscreteGaussian, count: int, miss: float) -> float:
    """The sum of Gaussian noises that are all alike is a whole number, and mostly one Gaussian.

    P[S = s] is exp(−s²/2kσ²) times a sum over the integer points n of the plane Σn = s, of f of
    their distance from its middle. By Poisson's formula that is the same for all s, but for a part
    of Σ exp(−2π²σ²|u|²) at most, over the projections u ≠ 0 of integer points z to the plane; z may
    be moved by (1, …, 1) until |Σz| ≤ k/2, and then |u|² = |z|² − (Σz)²/k ≥ |z|² − |Σz|/2 ≥ |z|²/2.
    So the part is (1 + 2e^(−π²σ²) + …)^k − 1 at most.
    """
    if count == 1:
        return noise.reach(miss)
    if count * math.exp(-(math.pi**2) * noise.breadth) <= 1e-13:
        return DiscreteGaussian(count * noise.sigma_squared).reach(miss * (1 - 1e-12))
    return math.floor(_reach(NoiseSum.of(noise, count), miss))


@lru_cache(maxsize=1 << 14)
def _reach(law: NoiseSum, miss: float) -> float:
    if math.fsum(count * noise.chance_of_any for _, noise, count in law.terms) <= miss:
        return 0.0
    noises = by_law(law.terms)
    return chernoff(noises, miss / 2) if miss < RARE else reach_by_series(noises, miss)
