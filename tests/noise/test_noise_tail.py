"""Tails: noise given that it is large."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from noise_laws import fits, geometric_cdf

from hushtable.evaluation.entropy import SeededEntropy
from hushtable.kernel.noise import exact, tail


@pytest.mark.parametrize("scale", ["3/10", "1", "20", "1000"])
def test_an_upper_tail_is_the_law_beyond_the_threshold(scale):
    """Against plain noise of which the rest is thrown away, and against the closed form."""
    scale, threshold = Fraction(scale), 1 + int(Fraction(scale) / 2)
    cdf = geometric_cdf(float(scale), threshold)
    source = SeededEntropy(1)
    plain = (exact.discrete_laplace(scale, source) for _ in range(20_000))
    assert fits([x for x in plain if x >= threshold], cdf, bins=10)
    assert fits([tail.upper_tail(threshold, scale, source) for _ in range(10_000)], cdf)
    sample = tail.sample_upper_tail(threshold, scale, 100_000, source)
    assert sample.min() >= threshold
    assert fits(sample, cdf)
    assert not fits(sample, geometric_cdf(float(scale), threshold + 1 + int(scale / 10)))
    assert not fits(sample, geometric_cdf(float(scale) / 2, threshold))


@pytest.mark.parametrize("scale", ["3/10", "1", "20", "1000"])
def test_either_tail_is_an_upper_tail_with_a_fair_sign(scale):
    scale, source = Fraction(scale), SeededEntropy(2)
    cdf = geometric_cdf(float(scale), 3)
    drawn = np.array([tail.either_tail(3, scale, source) for _ in range(10_000)])
    for sample in (drawn, tail.sample_either_tail(3, scale, 100_000, source)):
        positive = sample > 0
        assert abs(positive.mean() - 0.5) < 2.5 / np.sqrt(len(sample))  # five deviations
        assert fits(sample[positive], cdf)
        assert fits(-sample[~positive], cdf)


@pytest.mark.parametrize("threshold", [0, -1])
def test_a_tail_that_holds_the_middle_is_refused(threshold):
    source = SeededEntropy(0)
    for draw in (tail.upper_tail, tail.either_tail):
        with pytest.raises(ValueError):
            draw(threshold, Fraction(1), source)
    for sample in (tail.sample_upper_tail, tail.sample_either_tail):
        with pytest.raises(ValueError):
            sample(threshold, Fraction(1), 1, source)
