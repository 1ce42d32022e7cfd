"""Densities of sums of noises: against exact convolution, and against the paper's formulas."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from hushtable.families.regions.moments import quadrature
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.query.law import NoiseSum
from hushtable.query.law.density import FLOOR, log_density, one_sided_reach

SCALES = [Fraction(1, 2), Fraction(4, 3), Fraction(20)]


def laplace(scale: Fraction, reach: int) -> np.ndarray:
    """P[x] = (1−α)/(1+α)·α^|x| at −reach … reach."""
    alpha = math.exp(-1 / float(scale))
    return (1 - alpha) / (1 + alpha) * alpha ** np.abs(np.arange(-reach, reach + 1.0))


def convolved(pmf: np.ndarray, times: int, reach: int) -> np.ndarray:
    """The law of a sum, by repeated squaring, at −reach … reach; all terms are positive."""
    middle = len(pmf) // 2
    result = np.zeros(2 * reach + 1)
    result[reach] = 1.0
    power = np.zeros(2 * reach + 1)
    power[reach - min(middle, reach) : reach + min(middle, reach) + 1] = pmf[
        max(middle - reach, 0) : middle + reach + 1
    ]
    while times:
        if times & 1:
            result = np.convolve(result, power)[reach : 3 * reach + 1]
        power = np.convolve(power, power)[reach : 3 * reach + 1]
        times >>= 1
    return result


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("terms", [1, 2, 3, 7, 40])
def test_a_few_noises_have_the_density_of_their_convolution(scale: Fraction, terms: int) -> None:
    noise = NoiseSum.of(DiscreteLaplace(scale), terms)
    reach = math.ceil(one_sided_reach(noise, 1e-15))
    exact = convolved(laplace(scale, reach), terms, reach)
    found = np.exp(log_density(noise, 1)(np.arange(-reach, reach + 1.0)))
    large = exact > 1e-9 * exact.max()
    assert found[large] == pytest.approx(exact[large], rel=1e-5)
    assert np.abs(found - exact).max() < 10 * FLOOR * exact.max()


@pytest.mark.parametrize("terms", [1000, 10_000])
def test_ten_thousand_noises_too(terms: int) -> None:
    """On every integer, and by the longer steps of wide sums."""
    scale = Fraction(4, 3)
    noise = NoiseSum.of(DiscreteLaplace(scale), terms)
    reach = math.ceil(8 * math.sqrt(noise.variance))
    exact = convolved(laplace(scale, 60), terms, reach)
    places = np.arange(-reach, reach + 1.0)
    large = exact > 1e-8 * exact.max()
    for table in (log_density(noise, 1), log_density(noise)):
        assert np.exp(table(places))[large] == pytest.approx(exact[large], rel=1e-3)


def test_a_region_count_less_its_cells_mixes_two_scales() -> None:
    cells, region = Fraction(3), Fraction(1)
    noise = NoiseSum.of(DiscreteLaplace(cells), 4) + NoiseSum.of(DiscreteLaplace(region), 1)
    reach = 400
    exact = np.convolve(convolved(laplace(cells, reach), 4, reach), laplace(region, reach))[
        reach : 3 * reach + 1
    ]
    found = np.exp(log_density(noise)(np.arange(-reach, reach + 1.0)))
    large = exact > 1e-9 * exact.max()
    assert found[large] == pytest.approx(exact[large], rel=1e-5)
    one, four = (NoiseSum.of(DiscreteLaplace(s), n).variance for s, n in ((region, 1), (cells, 4)))
    assert noise.variance == pytest.approx(one + four)


def f2(z: np.ndarray, b: float) -> np.ndarray:
    """Equation 21."""
    return (1 / (4 * b) + np.abs(z) / (4 * b**2)) * np.exp(-np.abs(z) / b)


def f3(z: np.ndarray, b: float) -> np.ndarray:
    """Equation 22 with the factor 1/2b that it lacks."""
    z = np.abs(z)
    return (3 / (16 * b) + 3 * z / (16 * b**2) + z**2 / (16 * b**3)) * np.exp(-z / b)


@pytest.mark.parametrize(("terms", "formula"), [(2, f2), (3, f3)])
def test_the_papers_densities_are_the_limit_of_ours(terms: int, formula: object) -> None:
    """A discrete Laplace noise of a large scale is a continuous one."""
    scale = 2000
    z = np.arange(-15 * scale, 15 * scale + 1.0, 50)
    ours = np.exp(log_density(NoiseSum.of(DiscreteLaplace(Fraction(scale)), terms))(z))
    assert ours == pytest.approx(formula(z, float(scale)), rel=2e-3)  # type: ignore[operator]
    step = 0.01
    grid = np.arange(-60, 60, step)
    assert formula(grid, 1.0).sum() * step == pytest.approx(1, abs=1e-4)  # type: ignore[operator]


def test_theorem_4_3_has_these_for_special_cases() -> None:
    b, z = 1.5, np.array([0.0, 0.7, 4.0])
    v = np.linspace(0, 80, 400_001)
    for n, formula in ((2, f2), (3, f3)):
        integrand = v ** (n - 1) * (z[:, None] + v * b / 2) ** (n - 1) * np.exp(-v)
        integral = np.trapezoid(integrand, v, axis=1)
        theorem = np.exp(-z / b) * integral / (2**n * b**n * math.gamma(n) ** 2)
        assert theorem == pytest.approx(formula(z, b), rel=1e-6)


def test_far_tails_fall_on_and_never_rise() -> None:
    two, nine = DiscreteLaplace(Fraction(2)), DiscreteLaplace(Fraction(9))
    for noise in (NoiseSum.of(two, 500), NoiseSum.of(two, 3) + NoiseSum.of(nine, 1)):
        table = log_density(noise)
        levels = table(np.arange(0.0, 40 * math.sqrt(noise.variance)))
        steps = np.diff(levels)
        assert (steps < 0).all()
        assert (np.diff(steps) < 1e-3).all()  # log-concave, up to the straight lines of the table
        assert steps[-1] == pytest.approx(-min(one.rate for _, one, _ in noise.terms))


def test_gauss_nodes_integrate_polynomials() -> None:
    one = DiscreteLaplace(Fraction(3))
    noise = NoiseSum.of(one, 2)
    nodes, weights = quadrature(noise, 32)
    variance, fourth = one.variance, one.fourth_cumulant
    assert weights.sum() == pytest.approx(1)
    assert weights @ nodes**2 == pytest.approx(2 * variance, rel=1e-6)
    assert weights @ nodes**4 == pytest.approx(2 * fourth + 3 * (2 * variance) ** 2, rel=1e-6)
    tilted = math.exp(log_moment(Fraction(3), 0.1) * 2)
    assert weights @ np.exp(0.1 * nodes) == pytest.approx(tilted, rel=1e-6)


def log_moment(scale: Fraction, t: float) -> float:
    alpha = math.exp(-1 / float(scale))
    return math.log((1 - alpha) ** 2 / ((1 - alpha * math.exp(t)) * (1 - alpha * math.exp(-t))))


def test_many_noises_tend_to_the_normal_law() -> None:
    noise = NoiseSum.of(DiscreteLaplace(Fraction(5)), 10_000)
    spread = math.sqrt(noise.variance)
    z = np.linspace(-3, 3, 25)
    found = log_density(noise)(z * spread)
    assert found == pytest.approx(stats.norm.logpdf(z * spread, scale=spread), abs=2e-3)


def test_without_noise_there_is_one_value() -> None:
    table = log_density(NoiseSum.of(DiscreteLaplace(Fraction(1, 10**6)), 5))
    assert np.exp(table(np.array([-1.0, 0.0, 1.0]))).tolist() == [0.0, 1.0, 0.0]
