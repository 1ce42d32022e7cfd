"""Gaussian noise and sums of it, against laws that are summed by hand: never short, hardly wide."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest

from hushtable.kernel.privacy.noises import DiscreteGaussian, DiscreteLaplace, KnownNoise
from hushtable.query.law import NoiseSum
from hushtable.query.law.density import log_density

SQUARES = ["1/30", "1/4", "3/5", "1", "7/3", "4", "25", "9999/2"]
squares = pytest.mark.parametrize("sigma_squared", SQUARES)
CONFIDENCES = [0.5, 0.9, 0.95, 0.99, 0.999, 1 - 1e-8]


def gaussian(sigma_squared: str | int) -> DiscreteGaussian:
    return DiscreteGaussian(Fraction(sigma_squared))


def laplace(scale: str | int) -> DiscreteLaplace:
    return DiscreteLaplace(Fraction(scale))


@lru_cache
def chances(noise: KnownNoise) -> np.ndarray:
    """The probabilities of −r … r, where what lies beyond is no matter."""
    if isinstance(noise, DiscreteGaussian):
        reach = math.ceil(12 * math.sqrt(noise.sigma_squared)) + 2
        weights = np.exp(-(np.arange(-reach, reach + 1.0) ** 2) / float(2 * noise.sigma_squared))
    else:
        reach = math.ceil(60 * noise.scale) + 2
        weights = np.exp(-np.abs(np.arange(-reach, reach + 1.0)) / float(noise.scale))
    return weights / weights.sum()


class Summed:
    """The law of a sum on the multiples of a step, by convolution of positive numbers."""

    def __init__(self, terms: Sequence[tuple[float, KnownNoise, int]], step: float = 1.0) -> None:
        law = np.ones(1)
        for weight, noise, count in terms:
            apart = round(weight / step)
            assert apart == weight / step
            one = chances(noise)
            spread = np.zeros(apart * (len(one) - 1) + 1)
            spread[::apart] = one
            for _ in range(count):
                law = np.convolve(law, spread)
        self.step, self.law = step, law
        above = law[len(law) // 2 + 1 :]
        self.tails = 2 * np.append(np.cumsum(above[::-1])[::-1], 0.0)

    def missed(self, t: float) -> float:
        """P[|S| > t]."""
        return float(self.tails[min(math.floor(t / self.step + 1e-9), len(self.tails) - 1)])

    def least(self, miss: float) -> float:
        """The smallest t with P[|S| > t] ≤ miss."""
        return int(np.argmax(self.tails <= miss)) * self.step


def checked(noise: NoiseSum, law: Summed, confidence: float, *, wide: float = 0.01) -> None:
    """The half width covers, and is hardly wider than it must be; one a tenth less is too short."""
    half, miss = noise.half_width(confidence), 1 - confidence
    assert law.missed(half) <= miss * (1 + 1e-9)
    least = law.least(miss)
    assert half <= least * (1 + wide) + law.step
    if least > 12 * law.step:
        assert law.missed(0.9 * half) > miss


# ── one noise ────────────────────────────────────────────────────────────────────────────────────


@squares
def test_cumulants_are_those_of_the_probabilities(sigma_squared: str) -> None:
    noise = gaussian(sigma_squared)
    law = chances(noise)
    x = np.arange(len(law)) - len(law) // 2
    second, fourth = law @ x**2.0, law @ x**4.0
    assert noise.variance == pytest.approx(second, rel=1e-12)
    assert noise.variance <= float(noise.sigma_squared) * (1 + 1e-14)
    assert noise.fourth_cumulant == pytest.approx(fourth - 3 * second**2, abs=1e-10 * fourth)
    assert noise.chance_of_any == pytest.approx(1 - law[len(law) // 2], rel=1e-11)


@squares
def test_transforms_are_those_of_the_probabilities(sigma_squared: str) -> None:
    noise = gaussian(sigma_squared)
    law = chances(noise)
    x = np.arange(len(law)) - len(law) // 2
    angles = np.array([0.0, 1e-3, 0.4, 2.0, 3.0, math.pi])
    if noise.sigma_squared > 100:  # elsewhere nothing is left of it
        angles = angles[:2]
    cosines = [law @ np.cos(t * x) for t in angles]
    assert np.exp(-noise.decay(np.sin(angles / 2) ** 2)) == pytest.approx(
        cosines, rel=1e-7, abs=1e-14
    )
    tilts = np.array([-2.0, -0.3, 1e-3, 0.5, 3.0]) * noise.rate
    moments = np.array([math.log(law @ np.exp(t * x)) for t in tilts])
    assert (noise.log_moment(tilts) >= moments - 1e-12).all()
    if noise.sigma_squared >= 4:
        assert noise.log_moment(tilts) == pytest.approx(moments, rel=1e-9, abs=1e-12)


def test_decays_of_several_noises_are_those_of_each() -> None:
    noises = [gaussian(s) for s in SQUARES]
    places = np.linspace(0, 1, 7)
    together = DiscreteGaussian.decays(
        np.tile(places, (len(noises), 1)), np.array([n.breadth for n in noises])[:, None]
    )
    for noise, found in zip(noises, together, strict=True):
        assert found == pytest.approx(noise.decay(places), rel=1e-12, abs=1e-300)
        assert (np.diff(found) > 0).all()


@squares
@pytest.mark.parametrize("miss", [0.99, 0.7, 0.5, 0.32, 0.05, 1e-3, 1e-9, 1e-15])
def test_a_noise_reaches_as_far_as_it_must(sigma_squared: str, miss: float) -> None:
    noise = gaussian(sigma_squared)
    law = Summed([(1.0, noise, 1)])
    reach = noise.reach(miss)
    assert reach == law.least(miss) or noise.sigma > 64
    assert law.missed(reach) <= miss
    assert reach <= law.least(miss) + 1


@pytest.mark.parametrize("sigma", [65, 100, 3000])
def test_a_wide_noise_reaches_no_less_than_its_sum_says(sigma: int) -> None:
    """At every miss there is: one for each t."""
    noise = gaussian(sigma**2)
    law = Summed([(1.0, noise, 1)])
    for t in range(0, 6 * sigma, max(1, sigma // 40)):
        for nudge in (1 + 1e-9, 1 - 1e-9):
            miss = law.missed(t) * nudge
            assert t <= noise.reach(miss) <= t + 1 + (nudge < 1)
            assert law.missed(noise.reach(miss)) <= miss


@pytest.mark.parametrize("miss", [0.3, 0.05, 1e-3, 1e-12, 1e-300])
def test_vast_noises_reach_as_far_as_a_normal_law(miss: float) -> None:
    sigma = 2**50
    reach = gaussian(sigma**2).reach(miss) / sigma
    assert math.erfc(reach / math.sqrt(2)) <= miss * (1 + 1e-9)
    assert math.erfc(reach * (1 - 1e-9) / math.sqrt(2)) > miss


def test_a_noise_that_is_none_has_no_width() -> None:
    silent = gaussian("1/1000")
    assert silent.reach(1e-15) == 0 < silent.variance < 1e-200
    assert NoiseSum.of(silent, 1000).half_width(1 - 1e-12) == 0


def test_a_noise_is_a_value() -> None:
    noise = gaussian("9/4")
    assert noise.to_dict() == {"law": "discrete-gaussian", "sigma_squared": "9/4"}
    assert noise == gaussian("18/8") and hash(noise) == hash(gaussian("18/8"))
    assert noise != DiscreteLaplace(Fraction(9, 4))
    assert noise.times(Fraction(2, 3)) == gaussian(1)
    for sigma_squared in (0, -1):
        with pytest.raises(ValueError, match="positive"):
            gaussian(sigma_squared)


# ── sums ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("sigma_squared", ["1/30", "1/4", "1", "2", "3", "4", "25"])
@pytest.mark.parametrize("terms", [2, 3, 40])
def test_sums_of_like_noises(sigma_squared: str, terms: int) -> None:
    noise = gaussian(sigma_squared)
    law = Summed([(1.0, noise, terms)])
    total = NoiseSum.of(noise, terms)
    for confidence in CONFIDENCES:
        checked(total, law, confidence)
        half = total.half_width(confidence)
        assert half == int(half)
        if noise.sigma_squared >= 4:
            assert half == law.least(1 - confidence)


def test_the_sum_of_like_noises_is_one_noise_where_that_is_said() -> None:
    """The law of k noises, over that of one with k times the σ², at the smallest σ of it."""
    for terms, sigma_squared in ((2, "32/10"), (5, "33/10"), (40, "35/10")):
        assert terms * math.exp(-(math.pi**2) * float(Fraction(sigma_squared))) <= 1e-13
        several = Summed([(1.0, gaussian(sigma_squared), terms)]).law
        one = chances(gaussian(str(terms * Fraction(sigma_squared))))
        middle, other = len(several) // 2, len(one) // 2
        near = np.arange(-int(5 * math.sqrt(3 * terms)), int(5 * math.sqrt(3 * terms)))
        assert several[middle + near] / one[other + near] == pytest.approx(1, abs=1e-11)


WEIGHTED = {
    "two scales": [(1.0, gaussian(25), 3), (2.0, gaussian(9), 1)],
    "halves": [(0.5, gaussian(100), 2), (1.0, gaussian(49), 1), (3.5, gaussian(4), 2)],
    "coarse": [(1.0, gaussian("1/2"), 4), (3.0, gaussian(2), 2)],
    "rare": [(1.0, gaussian("1/20"), 30), (7.0, gaussian("1/12"), 5)],
    "wide": [(1.0, gaussian(90_000), 1), (3.0, gaussian(2500), 1)],
}
MIXED = {
    "even": [(1.0, laplace(5), 2), (2.0, gaussian(36), 2)],
    "mostly Laplace": [(1.0, laplace(30), 1), (1.0, gaussian(25), 2)],
    "mostly Gaussian": [(1.0, laplace(2), 1), (1.0, gaussian(2500), 1)],
    "one Laplace tail": [(8.0, laplace(4), 1), (1.0, gaussian(400), 3)],
    "coarse": [(2.0, laplace("1/3"), 3), (1.0, gaussian("1/3"), 6)],
}
SUMS = {f"{kind}: {name}": terms for kind, all_ in (("weighted", WEIGHTED), ("mixed", MIXED))
        for name, terms in all_.items()}  # fmt: skip


@pytest.mark.parametrize("name", list(SUMS))
def test_weighted_and_mixed_sums(name: str) -> None:
    terms = SUMS[name]
    law = Summed(terms, step=0.5)
    noise = NoiseSum.weighted({(weight, n): count for weight, n, count in terms})
    for confidence in CONFIDENCES:
        checked(noise, law, confidence, wide=0.012)
    x = (np.arange(len(law.law)) - len(law.law) // 2) * law.step
    second = law.law @ x**2
    assert noise.variance == pytest.approx(second, rel=1e-10)
    fourth = law.law @ x**4 / second**2 - 3
    assert noise.kurtosis == pytest.approx(fourth, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("name", list(SUMS))
def test_rare_misses_are_bounded(name: str) -> None:
    """By Chernoff: a tenth too wide at the most, with Laplace noise a fifth, and more if narrow."""
    terms = SUMS[name]
    law = Summed(terms, step=0.5)
    noise = NoiseSum.weighted({(weight, n): count for weight, n, count in terms})
    for miss in (1e-10, 1e-12):
        half, least = noise.half_width(1 - miss), law.least(miss)
        assert law.missed(half) <= miss
        assert half <= least * (1.6 if "rare" in name else 1.2 if "mixed" in name else 1.1)


def test_stretched_sums_are_stretched() -> None:
    noise = NoiseSum.of(gaussian(30), 3)
    third = noise.times(1 / 3)
    assert third.half_width(0.95) == pytest.approx(noise.half_width(0.95) / 3, rel=1e-11)
    assert 3 * third.half_width(0.95) >= noise.half_width(0.95)


def test_terms_of_two_laws_are_listed_in_one_order() -> None:
    terms = {(1.0, laplace(5)): 2, (1.0, gaussian(5)): 1, (1.0, gaussian(2)): 1}
    listed = NoiseSum.weighted(terms).terms
    assert listed == NoiseSum.weighted(dict(reversed(terms.items()))).terms
    assert [noise for _, noise, _ in listed] == [gaussian(2), gaussian(5), laplace(5)]


@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.999, 1 - 1e-12])
def test_very_many_weights_are_gathered(confidence: float) -> None:
    """Of wide noises the sum is nearly normal: no shorter than that, and hardly wider."""
    weights = np.linspace(1, 2, 1500)
    noise = NoiseSum.weighted({(float(w), gaussian(10**6)): 1 for w in weights})
    deviation = 1000 * math.sqrt(float((weights**2).sum()))
    half = noise.half_width(confidence)
    assert math.erfc(half / deviation / math.sqrt(2)) <= 1 - confidence
    wide = 1.02 if confidence < 1 - 1e-9 else 1.1
    assert math.erfc(half / wide / deviation / math.sqrt(2)) > 1 - confidence


@pytest.mark.parametrize("terms", [10**6, 10**18])
@pytest.mark.parametrize("sigma_squared", ["1/2", "5", "1000"])
def test_sums_over_vast_domains_have_sensible_bars(terms: int, sigma_squared: str) -> None:
    noise = NoiseSum.of(gaussian(sigma_squared), terms)
    deviation = math.sqrt(noise.variance)
    for confidence, z in ((0.95, 1.959963984540054), (0.999, 3.2905267314919255)):
        assert z * deviation * (1 - 1e-9) - 1 <= noise.half_width(confidence)
        assert noise.half_width(confidence) <= 1.01 * z * deviation + 1


@pytest.mark.parametrize("sigma_squared", ["1/50", "1/2", "4", "900"])
@pytest.mark.parametrize("terms", [1, 3])
def test_densities_of_sums(sigma_squared: str, terms: int) -> None:
    law = Summed([(1.0, gaussian(sigma_squared), terms)])
    middle = len(law.law) // 2
    held = np.flatnonzero(law.law[middle:] > 1e-9)
    found = log_density(NoiseSum.of(gaussian(sigma_squared), terms))(held.astype(np.float64))
    assert np.exp(found) == pytest.approx(law.law[middle + held], rel=1e-3)
    beyond = log_density(NoiseSum.of(gaussian(sigma_squared), terms))(np.array([1e3, 1e4]))
    assert beyond[1] < beyond[0] < math.log(1e-9)
