"""The law of one noise: every operation against sums over its probabilities."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from hushtable.forms import fill
from hushtable.kernel.privacy.loss import Exposure
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.release.form import StatedNoise

SCALES = [Fraction(1, 9), Fraction(1, 2), Fraction(3), Fraction(70, 3)]
scales = pytest.mark.parametrize("scale", SCALES)


def law(scale: Fraction) -> tuple[np.ndarray, np.ndarray]:
    """Values, and their probabilities."""
    last = int(3000 * scale) + 40
    x = np.arange(-last, last + 1.0)
    alpha = math.exp(-1 / scale)
    return x, (1 - alpha) / (1 + alpha) * alpha ** np.abs(x)


@scales
def test_cumulants_are_those_of_the_probabilities(scale: Fraction) -> None:
    noise, (x, chances) = DiscreteLaplace(scale), law(scale)
    second, fourth = chances @ x**2, chances @ x**4
    assert noise.variance == pytest.approx(second, rel=1e-12)
    assert noise.fourth_cumulant == pytest.approx(fourth - 3 * second**2, rel=1e-9)
    assert noise.chance_of_any == pytest.approx(1 - chances[len(x) // 2], rel=1e-9)


@scales
def test_transforms_are_those_of_the_probabilities(scale: Fraction) -> None:
    noise, (x, chances) = DiscreteLaplace(scale), law(scale)
    tilts = noise.rate * np.array([-0.97, -0.3, -1e-3, 0.1, 0.5, 0.97])
    moments = [
        math.log(np.exp(np.log(chances[chances > 0]) + t * x[chances > 0]).sum()) for t in tilts
    ]
    assert noise.log_moment(tilts) == pytest.approx(moments, rel=1e-7, abs=1e-14)
    angles = np.array([0.0, 1e-3, 0.4, 2.0, math.pi])
    cosines = [chances @ np.cos(t * x) for t in angles]
    assert np.exp(-noise.decay(np.sin(angles / 2) ** 2)) == pytest.approx(cosines, rel=1e-9)


@pytest.mark.parametrize("scale", [Fraction(1, 10**5), Fraction(10**16)])
def test_moments_neither_overflow_nor_cancel(scale: Fraction) -> None:
    noise = DiscreteLaplace(scale)
    parts = np.array([1e-6, 0.5, 0.99])
    found = noise.log_moment(noise.rate * parts)
    wide = -np.log1p(-(parts**2))  # of the continuous law
    assert found == pytest.approx(wide if scale > 1 else np.zeros(3), rel=1e-9, abs=1e-300)


@scales
@pytest.mark.parametrize("miss", [0.9, 0.5, 0.05, 1e-9])
def test_a_noise_reaches_as_far_as_a_sum_of_one(scale: Fraction, miss: float) -> None:
    x, chances = law(scale)
    beyond = [float(chances[np.abs(x) > t].sum()) for t in range(int(40 * scale) + 3)]
    first = next(t for t, chance in enumerate(beyond) if chance <= miss)
    assert DiscreteLaplace(scale).reach(miss) == first


def test_a_noise_is_read_back_as_it_was_written() -> None:
    noise = DiscreteLaplace(Fraction(7, 3))
    assert noise.to_dict() == {"law": "discrete-laplace", "scale": "7/3"}
    assert fill(StatedNoise, {**noise.to_dict(), "on": "every cell"}, "it").known == noise
    with pytest.raises(ValueError, match="'law' in it must be 'discrete-laplace'"):
        fill(StatedNoise, {**noise.to_dict(), "law": "discrete-gaussian"}, "it")


def test_the_price_of_an_answer_is_a_noise() -> None:
    exposure = Exposure("replace-one", max_rows=3)
    noise = exposure.noise(Fraction(1, 2), entering=1, moving=2)
    assert noise == DiscreteLaplace(Fraction(12)) and noise.times(Fraction(1, 4)).scale == 3


def test_a_scale_is_positive() -> None:
    with pytest.raises(ValueError, match="positive scale"):
        DiscreteLaplace(Fraction(0))
