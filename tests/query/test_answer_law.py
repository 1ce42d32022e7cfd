"""The error bars are exact: the shortest that cover, checked against the law summed by hand."""

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushtable.errors import QueryError
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.query.law import (
    NoiseLaw,
    NoiseSum,
    alike,
    simultaneous,
    wider_quantile,
)
from hushtable.query.law.alike import EXACT_TERMS

SCALES = [Fraction(1, 64), Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(20)]
CONFIDENCES = [0.01, 0.5, 0.9, 0.95, 0.99, 1 - 1e-6, 1 - 1e-12, 1 - 2**-53]


@lru_cache
def two_sided_tail(scale: Fraction, terms: int) -> np.ndarray:
    """P[|S| > t] for t = 0, 1, …, by convolving the probabilities; nothing cancels."""
    alpha = math.exp(-1 / scale)
    reach = int(45 * scale) + 3
    one = (1 - alpha) / (1 + alpha) * alpha ** np.abs(np.arange(-reach, reach + 1))
    pmf = np.ones(1)
    for _ in range(terms):
        pmf = np.convolve(pmf, one)
    above = pmf[len(pmf) // 2 + 1 :]
    return 2 * np.append(np.cumsum(above[::-1])[::-1], 0.0)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("terms", [1, 2, 3, 8, 25])
def test_the_half_width_covers_and_one_less_would_not(scale, terms):
    tail = two_sided_tail(scale, terms)
    noise = NoiseSum.of(DiscreteLaplace(scale), terms)
    for confidence in CONFIDENCES:
        width = noise.half_width(confidence)
        assert width == int(width)
        t, miss = int(width), 1 - confidence
        assert tail[min(t, len(tail) - 1)] <= miss
        assert t == 0 or tail[t - 1] > miss


@settings(deadline=None, max_examples=60)
@given(
    st.fractions(Fraction(1, 10), 12, max_denominator=50),
    st.integers(1, 12),
    st.floats(0.001, 0.999999),
)
def test_the_half_width_is_the_smallest_at_random_scales_and_confidences(scale, terms, confidence):
    tail = two_sided_tail(scale, terms)
    t = int(NoiseSum.of(DiscreteLaplace(scale), terms).half_width(confidence))
    slack = 1e-11 * (1 - confidence)
    assert tail[t] <= 1 - confidence + slack
    assert t == 0 or tail[t - 1] > 1 - confidence - slack


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("terms", [1, 2, 8])
def test_the_variance_is_that_of_the_summed_law(scale, terms):
    tail = two_sided_tail(scale, terms)
    # E[S²] = Σ (2t + 1)·P[|S| > t]
    second_moment = float(np.sum((2 * np.arange(len(tail)) + 1) * tail))
    assert NoiseSum.of(DiscreteLaplace(scale), terms).variance == pytest.approx(
        second_moment, rel=1e-12
    )


@pytest.mark.parametrize("terms", [1, 3, 1000])
def test_extreme_scales_have_finite_sensible_bars(terms):
    tiny = NoiseSum.of(DiscreteLaplace(Fraction(1, 10**6)), terms)
    assert tiny.variance == 0
    assert tiny.half_width(0.99) == 0
    huge = NoiseSum.of(DiscreteLaplace(Fraction(10**12)), terms)
    assert huge.variance == pytest.approx(2e24 * terms, rel=1e-9)
    assert 1.9 < huge.half_width(0.95) / math.sqrt(huge.variance) < 2.2


@pytest.mark.parametrize("confidence", CONFIDENCES)
@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(7), Fraction(10**6), Fraction(10**11)])
def test_the_general_tail_at_one_term_is_the_closed_form(scale, confidence):
    miss = 1 - confidence
    target = math.log(miss / 2) - 1e-12
    general = alike._smallest(
        lambda n: alike._log_tail_by_successes(n, DiscreteLaplace(scale), 1), target, 1
    )
    closed = NoiseSum.of(DiscreteLaplace(scale), 1).half_width(confidence)
    assert closed == pytest.approx(general, rel=1e-11)
    if scale < 10**9:
        assert closed == general


@pytest.mark.parametrize("scale", [Fraction(1, 6), Fraction(1, 2), Fraction(1)])
def test_both_ways_to_the_tail_agree(scale):
    for terms in (3000, 5000):
        for n in (0, 1, 10, 50, 200):
            one = alike._log_tail_by_successes(n, DiscreteLaplace(scale), terms)
            two = alike._log_tail_by_failures(n, DiscreteLaplace(scale), terms)
            assert one == pytest.approx(two, abs=1e-9)


def test_sums_of_many_nearly_silent_noises_stay_exact():
    # A million noises that are almost never anything but 0: the normal limit would say ± 0.
    noise = NoiseSum.of(DiscreteLaplace(Fraction(1, 20)), 10**6)
    alpha = math.exp(-20)
    chance = 1 - (1 - 2 * alpha / (1 + alpha)) ** 10**6
    assert noise.half_width(1 - chance * 1.01) == 0
    assert noise.half_width(1 - chance * 0.99) == 1


LONG = [
    (EXACT_TERMS + 1, Fraction(4, 5)),
    (EXACT_TERMS + 1, Fraction(5, 2)),
    (EXACT_TERMS + 1, Fraction(10**9)),
    (5000, Fraction(50)),
    (10**5, Fraction(13, 50)),
    (10**6, Fraction(33, 200)),
]


@pytest.mark.parametrize(("terms", "scale"), LONG)
def test_half_widths_of_long_sums_cover_and_hardly_less_would_not(terms, scale):
    """By the exact tail, whose own rounding is below 10⁻⁸ here, at every confidence."""
    noise = NoiseSum.of(DiscreteLaplace(scale), terms)
    assert noise.variance >= alike.SADDLE_VARIANCE
    tail = alike._log_tail_by_successes if terms < 10**5 else alike._log_tail_by_failures
    for confidence in CONFIDENCES:
        width, miss = int(noise.half_width(confidence)), 1 - confidence
        assert 2 * math.exp(tail(width, DiscreteLaplace(scale), terms)) <= miss * (1 + 1e-8)
        less = width - max(1, int(1e-9 * width))
        assert width == 0 or 2 * math.exp(tail(less, DiscreteLaplace(scale), terms)) > miss * (
            1 - 1e-8
        )


@pytest.mark.parametrize(("terms", "scale"), LONG)
def test_inversion_gives_the_tail_of_long_sums(terms, scale):
    sigma = math.sqrt(NoiseSum.of(DiscreteLaplace(scale), terms).variance)
    tail = alike._log_tail_by_successes if terms < 10**5 else alike._log_tail_by_failures
    for n in (0, 1, int(sigma), int(3 * sigma), int(8 * sigma)):
        exact = tail(n, DiscreteLaplace(scale), terms)
        assert alike._log_tail_by_saddle(n, DiscreteLaplace(scale), terms) == pytest.approx(
            exact, abs=1e-8
        )


@pytest.mark.parametrize("scale", [Fraction(1, 40), Fraction(1, 36), Fraction(1, 30), Fraction(3)])
def test_sums_over_vast_domains_have_sensible_bars(scale):
    """However many terms: rounding may widen a bar by its last digits, not a thousandfold."""
    noise = NoiseSum.of(DiscreteLaplace(scale), 10**18)
    spread = max(math.sqrt(noise.variance), 1.0)
    assert 1.9 * spread - 1 < noise.half_width(0.95) < 2.1 * spread + 1
    assert noise.half_width(1 - 1e-12) < 8 * spread + 10


def test_no_noise_has_no_width():
    nothing = NoiseSum.of(DiscreteLaplace(Fraction(3)), 0)
    assert nothing.half_width(0.999) == 0
    assert nothing.variance == 0


def test_wider_confidence_is_never_narrower():
    noise = NoiseSum.of(DiscreteLaplace(Fraction(9)), 5)
    widths = [noise.half_width(c) for c in sorted(CONFIDENCES)]
    assert widths == sorted(widths)


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 95, math.nan, math.inf, "high", None])
def test_a_confidence_outside_0_to_1_is_refused(confidence):
    with pytest.raises(QueryError, match=r"^confidence must lie strictly between 0 and 1, not "):
        NoiseSum.of(DiscreteLaplace(Fraction(1)), 1).half_width(confidence)


def test_simultaneous_intervals_share_the_chance_of_missing():
    assert simultaneous(0.95, 1) == 0.95
    assert simultaneous(0.95, 10) == pytest.approx(0.995)
    assert simultaneous(0.9, 0) == 0.9
    assert 1 - simultaneous(0.95, 10**6) == pytest.approx(5e-8, rel=1e-6)


def test_a_scale_must_be_positive():
    with pytest.raises(ValueError, match="positive scale"):
        NoiseSum.of(DiscreteLaplace(Fraction(0)), 1)
    with pytest.raises(ValueError, match="terms"):
        NoiseSum.of(DiscreteLaplace(Fraction(1)), -1)


def test_the_law_is_a_value_and_a_noise_law():
    noise = NoiseSum.of(DiscreteLaplace(Fraction(1, 2)), 3)
    assert noise == NoiseSum.of(DiscreteLaplace(Fraction(2, 4)), 3)
    assert hash(noise) == hash(NoiseSum.of(DiscreteLaplace(Fraction(2, 4)), 3))
    assert isinstance(noise, NoiseLaw)


@pytest.mark.parametrize("confidence", [0.95, 0.99, 1 - 0.05 / 1000, 1 - 1e-6, 1 - 1e-9])
def test_an_estimated_error_allows_for_a_single_noise(confidence):
    """A normal law of that variance would miss one Laplace noise ten thousand times too often."""
    one = NoiseSum.of(DiscreteLaplace(Fraction(1000)), 1)
    half = math.sqrt(one.variance) * wider_quantile(1 - confidence)
    assert one.half_width(confidence) <= half + 1 <= 1.01 * one.half_width(confidence) + 2


@pytest.mark.parametrize(("confidence", "z"), [(0.5, 0.67448975), (0.9, 1.64485363)])
def test_where_a_normal_law_is_wider_an_estimate_is_that_of_one(confidence, z):
    assert wider_quantile(1 - confidence) == pytest.approx(z, rel=1e-8)


@pytest.mark.parametrize("confidence", [0.95, 0.999999, 1 - 1e-9])
@pytest.mark.parametrize("rows", [2, 3, 1000, 99_999])
def test_all_of_many_intervals_miss_no_more_than_allowed(confidence, rows):
    assert rows * (1 - simultaneous(confidence, rows)) <= 1 - confidence


def test_a_confidence_that_cannot_be_told_from_certainty_is_refused():
    with pytest.raises(QueryError, match="ask for less confidence"):
        simultaneous(1 - 2**-53, 10)
