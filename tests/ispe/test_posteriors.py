"""Posteriors: against brute force, in every combination; and that their intervals cover."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from hushtable.families.regions.moments import Portions, portion_cumulants
from hushtable.families.regions.posterior import (
    Estimator,
    Hill,
    Portion,
    PosteriorLaw,
    Prior,
    added,
    climb,
)
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.query.law.normal import cornish_fisher, nearly_normal


def estimator_of(cell: Fraction, region: Fraction, prior: Prior = "uniform") -> Estimator:
    return Estimator(DiscreteLaplace(cell), DiscreteLaplace(region), prior)


def pmf(scale: float, x: np.ndarray) -> np.ndarray:
    alpha = math.exp(-1 / scale)
    return (1 - alpha) / (1 + alpha) * alpha ** np.abs(x)


def brute_force(
    s1: float, s2: float, cells: list[int], siblings: list[int], count: int, reach: int
) -> np.ndarray:
    """P[θ = 0 … reach−1] for the sum of some cells, by adding up over every table there is.

    Every cell is uniform over −reach … 2·reach; the posterior of the sum follows from the cells'
    and the region's likelihoods alone.
    """
    span = np.arange(-reach, 2 * reach)
    asked = {0: 1.0}
    for cell in cells:
        asked = _spread(asked, dict(zip(span.tolist(), pmf(s1, cell - span), strict=True)))
    others = {0: 1.0}
    for cell in siblings:
        others = _spread(others, dict(zip(span.tolist(), pmf(s1, cell - span), strict=True)))
    rest, weight = np.array(list(others)), np.array(list(others.values()))
    found = np.array(
        [
            asked.get(theta, 0.0) * (weight @ pmf(s2, count - theta - rest))
            for theta in range(-reach, 2 * reach)
        ]
    )
    return found / found.sum()


def _spread(one: dict[int, float], other: dict[int, float]) -> dict[int, float]:
    total: dict[int, float] = {}
    for a, p in one.items():
        for b, q in other.items():
            total[a + b] = total.get(a + b, 0.0) + p * q
    return total


@pytest.mark.parametrize("prior", ["uniform", "non-negative"])
@pytest.mark.parametrize(
    ("cells", "siblings", "count"),
    [([3], [], 5), ([2, -1], [4], 7), ([1], [0, 2], -3), ([-4], [1], -2)],
)
def test_a_part_has_the_posterior_of_brute_force(
    cells: list[int], siblings: list[int], count: int, prior: str
) -> None:
    s1, s2, reach = Fraction(3, 2), Fraction(1), 40
    expected = brute_force(float(s1), float(s2), cells, siblings, count, reach)
    places = np.arange(-reach, 2 * reach)
    if prior == "non-negative":
        expected = np.where(places < 0, 0, expected)
        expected /= expected.sum()
    apart = count - sum(siblings) - sum(cells)
    estimator = estimator_of(s1, s2, prior)  # type: ignore[arg-type]
    hill = estimator.posterior(Portion(len(cells), len(siblings), sum(cells), apart))
    assert hill.step == 1
    found = dict(zip(hill.places.tolist(), hill.mass.tolist(), strict=True))
    assert [found.get(x, 0.0) for x in places.tolist()] == pytest.approx(expected, abs=1e-9)
    assert hill.mean == pytest.approx(places @ expected, abs=1e-6)
    if prior == "non-negative":
        assert hill.places.min() >= 0


def test_halving_either_scale_changes_the_posterior() -> None:
    portion = Portion(2, 3, 10.0, 4.0)
    plain = estimator_of(Fraction(2), Fraction(3)).posterior(portion).cumulants
    for scales in ((Fraction(1), Fraction(3)), (Fraction(2), Fraction(3, 2))):
        other = estimator_of(*scales).posterior(portion).cumulants
        assert abs(other[1] / plain[1] - 1) > 0.05


class TestAdjacentCells:
    """Cells that are taken to be equal."""

    CELLS, REST, SIBLINGS = np.array([4.0, 6.0, 3.0]), 15.0, 2
    ESTIMATOR = estimator_of(Fraction(3, 2), Fraction(2))

    def brute_force(self, times: int, target: float, siblings: int) -> np.ndarray:
        theta = np.arange(-60, 90)
        noise = np.zeros(801)
        noise[400] = 1.0
        for scale, terms in ((1.5, siblings), (2.0, 1)):
            for _ in range(terms):
                noise = np.convolve(noise, pmf(scale, np.arange(-400, 401)))[400:1201]
        region = noise[np.clip(400 + times * theta - int(target), 0, 800)]
        cells = np.prod([pmf(1.5, cell - theta) for cell in self.CELLS], axis=0)
        return region * cells / (region * cells).sum()

    def test_the_joint_likelihood_uses_every_noise_once(self) -> None:
        expected = self.brute_force(3, self.REST, self.SIBLINGS)
        hill = self.ESTIMATOR.alike(self.CELLS, self.REST, self.SIBLINGS, "joint")
        assert hill.mean == pytest.approx(np.arange(-60, 90) @ expected, abs=1e-6)

    def test_the_plain_product_is_the_papers(self) -> None:
        # y_P − sibling, where the adjacent cells are siblings again
        expected = self.brute_force(1, self.REST - 9, self.SIBLINGS + 2)
        hill = self.ESTIMATOR.alike(self.CELLS, self.REST, self.SIBLINGS, "plain")
        assert hill.mean == pytest.approx(np.arange(-60, 90) @ expected, abs=1e-6)

    def test_without_adjacent_cells_both_are_the_portion(self) -> None:
        portion = self.ESTIMATOR.posterior(Portion(1, 2, 4.0, 11.0))
        for likelihood in ("joint", "plain"):
            hill = self.ESTIMATOR.alike(np.array([4.0]), 15.0, 2, likelihood)  # type: ignore[arg-type]
            assert hill.cumulants == pytest.approx(portion.cumulants)

    def test_the_joint_posterior_covers_as_it_says_and_is_closer_than_the_plain_one(self) -> None:
        """Of a region of five equal cells; the plain product counts their noises twice."""
        random = np.random.default_rng(1)
        covered, squares = {"joint": 0, "plain": 0}, {"joint": 0.0, "plain": 0.0}
        tries = 300
        for _ in range(tries):
            noise = random.laplace(0, 20, 5).round()
            rest = 5 * 100 + random.laplace(0, 20)
            for likelihood in covered:
                hill = estimator_of(Fraction(20), Fraction(20)).alike(
                    100 + noise[:5],
                    float(rest),
                    0,
                    likelihood,  # type: ignore[arg-type]
                )
                low, high = hill.ends(0.8)
                covered[likelihood] += low <= 100 <= high
                squares[likelihood] += (hill.mean - 100) ** 2
        spread = math.sqrt(0.16 / tries)
        assert covered["joint"] / tries == pytest.approx(0.8, abs=5 * spread)
        assert squares["joint"] < 0.8 * squares["plain"]


SIZES = st.one_of(st.integers(1, 12), st.integers(60, 300), st.integers(500, 20_000))


@settings(deadline=None, max_examples=60)
@given(
    cells=SIZES,
    siblings=st.one_of(st.just(0), SIZES),
    surprise=st.floats(-4, 4),
    scales=st.sampled_from([(20, 20), (2, 40), (40, 2), (1, 3), (11, 100)]),
)
@example(cells=188, siblings=0, surprise=0.375, scales=(2, 40))  # a cusp, beside a normal law
@example(cells=250, siblings=0, surprise=0.375, scales=(2, 40))  # one that a coarse grid misses
def test_many_at_once_agree_with_each_by_itself(
    cells: int, siblings: int, surprise: float, scales: tuple[int, int]
) -> None:
    estimator = estimator_of(Fraction(scales[0]), Fraction(scales[1]))
    one, region = (DiscreteLaplace(Fraction(scale)).variance for scale in scales)
    apart = round(surprise * math.sqrt((cells + siblings) * one + region))
    portions = Portions(
        np.array([cells]), np.array([siblings]), np.array([7.0]), np.array([float(apart)])
    )
    found = portion_cumulants(estimator, portions)[:, 0]
    exact = estimator.posterior(portions.portion(0)).cumulants
    spread = math.sqrt(exact[1])
    assert abs(found[0] - exact[0]) < 0.01 * spread
    assert math.sqrt(found[1]) == pytest.approx(spread, rel=0.01)
    assert abs(found[2] - exact[2]) < 0.05 * spread**3
    assert abs(found[3] - exact[3]) < 0.1 * spread**4


def test_a_non_negative_prior_reaches_many_at_once_too() -> None:
    estimator = estimator_of(Fraction(4), Fraction(4), "non-negative")
    portions = Portions(
        np.array([1, 1, 5, 3]),
        np.array([0, 2, 0, 9]),
        np.array([-7.0, 3.0, 2.0, 900.0]),
        np.array([2.0, -5.0, 1.0, 3.0]),
    )
    found = portion_cumulants(estimator, portions)
    for i in range(4):
        exact = estimator.posterior(portions.portion(i)).cumulants
        assert found[:2, i] == pytest.approx(exact[:2], rel=1e-2)
    assert (found[0] > 0).all()


def test_sums_of_posteriors_are_convolved() -> None:
    estimator = estimator_of(Fraction(3), Fraction(5))
    hills = [
        estimator.posterior(Portion(k, m, 5.0, d))
        for k, m, d in ((1, 0, 9), (2, 3, -4), (70, 5, 60))
    ]
    total = added(hills)
    separate = sum(hill.cumulants for hill in hills)
    assert total.cumulants == pytest.approx(separate, rel=1e-6)
    slow = np.convolve(np.convolve(hills[0].mass, hills[1].mass), hills[2].mass)
    where = round(total.origin - sum(hill.origin for hill in hills))
    assert total.mass == pytest.approx(slow[where : where + len(total.mass)], abs=1e-12)


def test_hills_of_different_steps_keep_their_mean() -> None:
    fine = Hill(0.0, 1, np.full(101, 1 / 101))
    coarse = Hill(10.0, 7, np.full(50, 1 / 50))
    total = added([fine, coarse])
    assert total.step == 7
    assert total.mean == pytest.approx(fine.mean + coarse.mean)
    assert total.cumulants[1] == pytest.approx(fine.cumulants[1] + coarse.cumulants[1], rel=0.01)


def test_ends_leave_half_of_the_rest_on_either_side() -> None:
    hill = Hill(-2.0, 1, np.array([0.02, 0.03, 0.9, 0.04, 0.01]))
    assert hill.ends(0.95) == (-1.0, 1.0)
    assert hill.ends(0.8) == (0.0, 0.0)
    assert hill.ends(0.999) == (-2.0, 2.0)


def test_wide_hills_are_laid_out_by_longer_steps() -> None:
    estimator = estimator_of(Fraction(10**6), Fraction(10**6))
    hill = estimator.posterior(Portion(1, 0, 0.0, 0.0))
    assert hill.step > 1 and len(hill.mass) < 2**14 + 8
    # two equal Laplace likelihoods at one place: one of half the scale
    assert math.sqrt(hill.cumulants[1]) == pytest.approx(10**6 / math.sqrt(2), rel=1e-3)


def test_a_hill_is_found_however_far_apart_its_observations_are() -> None:
    for apart in (0.0, 1e3, -1e9, 2.0**62):
        hill = estimator_of(Fraction(2), Fraction(3)).posterior(Portion(1, 4, 5.0, apart))
        assert math.isfinite(hill.mean) and hill.mass.sum() == pytest.approx(1)
        # the region's count, less four cells, is the wider noise: it gives way
        assert min(0.0, apart) - 200 <= hill.mean - 5 <= max(0.0, apart) + 200


def test_climbing_finds_the_mode_of_any_concave_function() -> None:
    for mode in (-1000, 0, 17, 10**7):
        hill = climb(lambda x, m=mode: -((x - m) ** 2) / 50, (-2000.0, 2e7), None)  # type: ignore[misc]
        assert hill.mean == pytest.approx(mode)
        assert hill.cumulants[1] == pytest.approx(25, rel=1e-6)


def test_intervals_of_sums_by_cumulants_agree_with_convolution() -> None:
    estimator = estimator_of(Fraction(5), Fraction(3))
    portions = [Portion(1 + i % 7, i % 5, 3.0, float((-1) ** i * i % 13)) for i in range(40)]
    hills = [estimator.posterior(portion) for portion in portions]
    law = PosteriorLaw(sum(h.cumulants for h in hills), lambda: hills, len(hills))
    assert not law.exact
    for confidence in (0.5, 0.95, 0.999):
        low, high = added(hills).ends(confidence)
        ends = cornish_fisher(law.cumulants[:, None], confidence)
        more = 1 + 0.1 * math.sqrt(law.variance)
        assert low - more < ends[0][0] <= low and high <= ends[1][0] < high + more
        below, above = law.margins(confidence)
        assert law.half_width(confidence) == max(below, above)


@settings(max_examples=40)
@given(
    numbers=st.lists(st.sampled_from([(1, 0), (1, 3), (2, 1), (5, 20)]), min_size=17, max_size=60),
    surprises=st.lists(st.floats(-3, 3), min_size=60, max_size=60),
    scales=st.sampled_from([(20, 20), (2, 40), (40, 2), (5, 3)]),
    prior=st.sampled_from(["uniform", "non-negative"]),
    confidence=st.sampled_from([0.8, 0.95, 0.999, 1 - 1e-6, 1 - 1e-9]),
)
@example(
    numbers=[(1, 0)] * 17, surprises=[3.0] * 60, scales=(5, 3), prior="uniform",
    confidence=1 - 1e-9,
)  # fmt: skip
def test_intervals_by_cumulants_are_not_short(
    numbers: list[tuple[int, int]],
    surprises: list[float],
    scales: tuple[int, int],
    prior: Prior,
    confidence: float,
) -> None:
    estimator = estimator_of(Fraction(scales[0]), Fraction(scales[1]), prior)
    hills = [
        estimator.posterior(
            Portion(k, m, 9.0, round(surprise * max(scales) * math.sqrt(k + m + 1)))
        )
        for (k, m), surprise in zip(numbers, surprises, strict=False)
    ]
    sums = sum(hill.cumulants for hill in hills)[:, None]
    assume(bool(nearly_normal(sums)[0]))
    low, high = added(hills).ends(confidence)
    ends = cornish_fisher(sums, confidence)
    assert ends[0][0] <= low and high <= ends[1][0]


@pytest.mark.parametrize("confidence", [0.5, 0.95])
@pytest.mark.parametrize(
    ("cells", "siblings"),
    [
        (1, 6),
        (4, 3),
        pytest.param(1, 0, marks=pytest.mark.thorough),
        pytest.param(6, 0, marks=pytest.mark.thorough),
    ],
)
def test_intervals_cover_as_often_as_they_say(cells: int, siblings: int, confidence: float) -> None:
    """Over the noise of one table, and all tables alike: the prior is uniform."""
    s1, s2, tries = 6, 4, 400
    random = np.random.default_rng(cells * 10 + siblings)
    estimator = estimator_of(Fraction(s1), Fraction(s2))
    alpha = [math.exp(-1 / s) for s in (s1, s2)]

    def noise(a: float, size: int) -> np.ndarray:
        return random.geometric(1 - a, size) - random.geometric(1 - a, size)

    covered = 0
    for _ in range(tries):
        mine, others = noise(alpha[0], cells).sum(), noise(alpha[0], siblings).sum()
        apart = noise(alpha[1], 1)[0] - others - mine
        low, high = estimator.posterior(Portion(cells, siblings, float(mine), float(apart))).ends(
            confidence
        )
        covered += low <= 0 <= high
    spread = math.sqrt(confidence * (1 - confidence) / tries)
    assert confidence - 5 * spread < covered / tries
    assert covered / tries < min(confidence + 5 * spread + 0.06, 1)  # whole numbers cover more
