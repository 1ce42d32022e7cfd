"""Error bars of weighted sums of noises: they cover, and hardly more, by laws added up by hand."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hushtable.errors import QueryError
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.query.law import NoiseLaw, NoiseSum, inversion, noise_sum
from hushtable.query.law.inversion import by_law, chernoff
from hushtable.query.law.normal import normal_quantile

F = Fraction
Lattice = tuple[tuple[int, Fraction, int], ...]
"""Weights as multiples of a unit, scale factors, counts."""

CONFIDENCES = [0.5, 0.8, 0.95, 0.99, 0.999, 0.99999, 0.999998, 1 - 1e-7, 1 - 2e-9]


@lru_cache(maxsize=64)
def lattice_law(scale: Fraction, terms: Lattice) -> np.ndarray:
    """P[X = j units], j from −reach to reach: every noise convolved in, with nothing cancelling."""
    pmf = np.ones(1)
    for weight, factor, count in terms:
        alpha = math.exp(-1 / (scale * factor))
        last = int(48 * scale * factor) + 2
        one = np.zeros(2 * last * weight + 1)
        one[::weight] = (1 - alpha) / (1 + alpha) * alpha ** np.abs(np.arange(-last, last + 1))
        for _ in range(count):
            pmf = np.convolve(pmf, one)
    return pmf


def smallest(pmf: np.ndarray, miss: float) -> int:
    """The smallest t, in units, with P[|X| > t] ≤ miss."""
    tail = tails(pmf)
    return int(np.flatnonzero(tail <= miss)[0])


def tails(pmf: np.ndarray) -> np.ndarray:
    """P[|X| > t] for t = 0, 1, …, added up from the far end."""
    above = pmf[len(pmf) // 2 + 1 :]
    return 2 * np.append(np.cumsum(above[::-1])[::-1], 0.0)


def linear_noise(scale: Fraction, terms: dict[tuple[float, Fraction], int]) -> NoiseSum:
    """A sum of noises, given by the factors of one scale."""
    return NoiseSum.weighted({(w, DiscreteLaplace(scale * f)): n for (w, f), n in terms.items()})


def law_of(scale: Fraction, terms: Lattice, unit: int) -> NoiseSum:
    return linear_noise(scale, {(w / unit, factor): n for w, factor, n in terms})


# What the inversion leaves of the chance of missing: 2.1 thousandths are lost to its series.
KEPT = 0.9978


def slack(law: NoiseSum, confidence: float) -> float:
    """How much wider than the smallest a half width may be."""
    normal = math.sqrt(law.variance) * normal_quantile(1 - confidence)
    reach = chernoff(by_law(law.terms), (1 - confidence) / 2000)
    return 4.4 * max(normal / 500, reach / 2048)


CASES: dict[str, tuple[Fraction, Lattice, int]] = {
    "halves and quarters": (F(3), ((4, F(1), 1), (2, F(1), 3), (1, F(1), 2)), 4),
    "thirds and sixths": (F(5, 2), ((2, F(1), 2), (3, F(1), 1), (1, F(2), 4)), 6),
    "one that dominates": (F(4), ((60, F(1), 1), (1, F(1), 5), (2, F(1), 3)), 60),
    "many scales": (F(1, 2), ((1, F(1), 1), (2, F(2), 1), (3, F(4), 2), (1, F(6), 3)), 12),
    "a heavy factor": (F(1), ((8, F(1), 5), (1, F(14), 1)), 8),
    "small scales": (F(1, 4), ((2, F(1), 1), (1, F(1), 6)), 2),
    "tiny scales": (F(1, 12), ((2, F(1), 1), (1, F(1), 6)), 2),
    "a tiny and a plain scale": (F(1, 20), ((3, F(1), 4), (1, F(40), 1)), 3),
    "many alike": (F(2), ((2, F(1), 20), (1, F(1), 20)), 2),
}
cases = pytest.mark.parametrize("case", CASES)


@cases
def test_the_variance_and_kurtosis_are_those_of_the_convolved_law(case: str) -> None:
    scale, terms, unit = CASES[case]
    law, pmf = law_of(scale, terms, unit), lattice_law(scale, terms)
    x = np.arange(len(pmf)) - len(pmf) // 2
    second, fourth = (float((pmf * (x / unit) ** power).sum()) for power in (2, 4))
    assert pmf.sum() == pytest.approx(1, rel=1e-12)
    assert law.variance == pytest.approx(second, rel=1e-10)
    assert law.kurtosis == pytest.approx(fourth / second**2 - 3, rel=1e-8)


@pytest.mark.parametrize("confidence", CONFIDENCES)
@cases
def test_half_widths_cover_and_are_hardly_wider_than_the_smallest_that_do(
    case: str, confidence: float
) -> None:
    scale, terms, unit = CASES[case]
    law, pmf = law_of(scale, terms, unit), lattice_law(scale, terms)
    width, miss = law.half_width(confidence), 1 - confidence
    missed = tails(pmf)[min(math.floor(width * unit * (1 + 1e-12)), len(pmf) // 2)]
    assert missed <= miss
    assert width <= smallest(pmf, miss * KEPT) / unit + slack(law, confidence)


@settings(max_examples=60, deadline=None)
@given(
    st.fractions(F(1, 8), 4, max_denominator=24),
    st.lists(
        st.tuples(st.integers(1, 12), st.sampled_from([F(1), F(2), F(1, 3)]), st.integers(1, 4)),
        min_size=2,
        max_size=4,
        unique_by=lambda term: term[:2],
    ),
    st.floats(0.3, 0.99999),
)
@example(F(8, 3), [(1, F(2), 2), (9, F(2), 3)], 0.5995368957519531)  # nearly a step further
@example(F(23, 9), [(9, F(2), 2), (12, F(1), 3)], 0.590522053042182)  # a step further
def test_random_sums_are_covered_and_hardly_more(
    scale: Fraction, drawn: list[tuple[int, Fraction, int]], confidence: float
) -> None:
    terms, miss = tuple(drawn), 1 - confidence
    law, pmf = law_of(scale, terms, 12), lattice_law(scale, terms)
    width = law.half_width(confidence)
    missed = tails(pmf)[min(math.floor(width * 12 * (1 + 1e-12)), len(pmf) // 2)]
    assert missed <= miss * (1 + 1e-9)
    assert width <= smallest(pmf, miss * KEPT) / 12 + slack(law, confidence)


@pytest.mark.parametrize("confidence", CONFIDENCES)
@pytest.mark.parametrize("terms", [((4, 1), (1, 3)), ((3, 2), (2, 1)), ((9, 1), (1, 5))])
def test_on_smooth_laws_the_slack_is_below_a_percent(
    terms: tuple[tuple[int, int], ...], confidence: float
) -> None:
    """At a large scale the lattice does not show, and neither may much of the jitter."""
    lattice = tuple((weight, F(1), count) for weight, count in terms)
    law, pmf = law_of(F(25), lattice, 1), lattice_law(F(25), lattice)
    exact, width = smallest(pmf, 1 - confidence), law.half_width(confidence)
    assert exact <= width <= 1.008 * exact + 1


@pytest.mark.parametrize("scale", [F(10**6), F(10**12), F(10**15)])
def test_huge_scales_only_stretch_the_law(scale: Fraction) -> None:
    terms = {(1.0, F(1)): 1, (0.5, F(1)): 3, (1 / 3, F(4)): 1}
    at, above = linear_noise(scale, terms), linear_noise(1000 * scale, terms)
    for confidence in (0.5, 0.95, 0.99999, 1 - 1e-9):
        stretched = above.half_width(confidence) / at.half_width(confidence)
        assert stretched == pytest.approx(1000, rel=1e-6)


def test_noise_that_is_almost_surely_zero_has_no_width() -> None:
    law = linear_noise(F(1, 50), {(1.0, F(1)): 4, (0.5, F(1)): 9})
    chance = 13 * 2 * math.exp(-50) / (1 + math.exp(-50))
    assert law.variance > 0 and chance < 1e-15
    assert law.half_width(0.999999) == law.half_width(1 - 1e-14) == 0
    louder = linear_noise(F(1, 5), {(1.0, F(1)): 4, (0.5, F(1)): 9})
    some = 13 * 2 * math.exp(-5) / (1 + math.exp(-5))
    assert louder.half_width(1 - some * 1.001) == 0 < louder.half_width(1 - some * 0.8)


@pytest.mark.parametrize("rare", [9e-10, 1e-12, 1e-15])
@cases
def test_rare_misses_are_bounded_and_not_wildly(case: str, rare: float) -> None:
    scale, terms, unit = CASES[case]
    law, pmf = law_of(scale, terms, unit), lattice_law(scale, terms)
    width = law.half_width(1 - rare)
    missed = tails(pmf)[min(math.floor(width * unit), len(pmf) // 2)]
    assert missed <= 1 - (1 - rare)
    assert smallest(pmf, rare) / unit <= width <= 1.45 * smallest(pmf, rare / 2) / unit


def test_wider_confidence_is_never_narrower() -> None:
    for name in ("halves and quarters", "tiny scales", "one that dominates"):
        law = law_of(*CASES[name])
        asked = [*CONFIDENCES, 1 - 1.1e-9, 1 - 9e-10, 1 - 1e-12]
        widths = [law.half_width(confidence) for confidence in sorted(asked)]
        assert widths == sorted(widths)


# ── sums that are nearly normal ──────────────────────────────────────────────────────────────────

# Equals, one dominating noise among a crowd, several of them; and those whose tails a normal law
# with its first cumulants would miss.
CROWDS: dict[str, tuple[Fraction, dict[tuple[float, Fraction], int]]] = {
    "equals": (F(20), {(1.0, F(1)): 36, (0.75, F(1)): 32}),
    "one large": (F(20), {(1.0, F(1)): 1, (0.125, F(1)): 480}),
    "three large": (F(20), {(1.0, F(1)): 3, (0.25, F(1)): 220}),
    "one loud": (F(20), {(1.0, F(1)): 140, (1.0, F(4)): 1}),
    "one very large": (F(60), {(4.0, F(1)): 1, (0.125, F(1)): 9000}),
    "one very loud": (F(60), {(0.125, F(1)): 1000, (0.125, F(8)): 1}),
}


@pytest.mark.parametrize("confidence", CONFIDENCES[:-2])
@pytest.mark.parametrize("name", CROWDS)
def test_crowds_of_noises_are_covered_and_hardly_more(name: str, confidence: float) -> None:
    scale, crowd = CROWDS[name]
    law, miss = linear_noise(scale, crowd), 1 - confidence
    terms = tuple((round(8 * weight), factor, n) for (weight, factor), n in crowd.items())
    pmf = lattice_law_by_powers(scale, terms)
    width = law.half_width(confidence)
    assert tails(pmf)[math.floor(width * 8)] <= miss
    assert width <= smallest(pmf, miss * KEPT) / 8 + slack(law, confidence)


def lattice_law_by_powers(scale: Fraction, terms: Lattice) -> np.ndarray:
    """The law of many noises on a lattice, from its characteristic function; exact to 10⁻¹⁴."""
    size = 1 << 18
    angle = 2 * math.pi * np.arange(size) / size
    phi = np.ones(size)
    for weight, factor, count in terms:
        v = DiscreteLaplace(scale * factor).variance
        phi *= np.exp(-count * np.log1p(2 * v * np.sin(weight * angle / 2) ** 2))
    return np.fft.fftshift(np.fft.fft(phi).real / size)[1:]


def test_coarse_lattices_are_covered_however_normal_they_look() -> None:
    coarse = linear_noise(F(1, 2), {(1.0, F(1)): 400, (0.5, F(1)): 1})
    pmf = lattice_law_by_powers(F(1, 2), ((2, F(1), 400), (1, F(1), 1)))
    for confidence in (0.5, 0.9, 0.95, 0.99, 0.999):
        width = coarse.half_width(confidence)
        assert tails(pmf)[math.floor(2 * width)] <= 1 - confidence
        assert width <= smallest(pmf, (1 - confidence) * KEPT) / 2 + slack(coarse, confidence)


# ── the value ────────────────────────────────────────────────────────────────────────────────────


def test_one_kind_of_term_is_the_plain_sum_stretched() -> None:
    law = linear_noise(F(3), {(-0.25, F(2)): 7})
    plain = NoiseSum.of(DiscreteLaplace(F(6)), 7)
    for confidence in (0.5, 0.95, 1 - 1e-12):
        assert law.half_width(confidence) == plain.half_width(confidence) / 4
    assert law.variance == pytest.approx(plain.variance / 16, rel=1e-14)


@pytest.mark.parametrize("number", [3, 7, 10, 49])
def test_the_last_value_of_a_mean_is_inside_though_it_is_rounded(number: int) -> None:
    law = linear_noise(F(5), {(1 / number, F(1)): number})
    for confidence in (0.5, 0.9, 0.95, 0.99):
        whole = NoiseSum.of(DiscreteLaplace(F(5)), number).half_width(confidence)
        assert whole / number <= law.half_width(confidence) <= whole / number * (1 + 1e-11)


def test_no_noise_has_no_width() -> None:
    nothing = linear_noise(F(3), {(0.0, F(1)): 3, (1.0, F(1)): 0})
    assert nothing.terms == ()
    assert nothing.variance == nothing.kurtosis == nothing.half_width(1 - 1e-15) == 0


def test_weights_that_differ_by_rounding_or_sign_are_one_term() -> None:
    third = 1 / 3
    law = linear_noise(F(2), {(third, F(1)): 1, (1 - 2 * third, F(1)): 2, (-third, F(1)): 4})
    assert third != 1 - 2 * third
    assert [(weight, count) for weight, _, count in law.terms] == [(1 - 2 * third, 7)]
    apart = linear_noise(F(2), {(third, F(1)): 1, (third, F(2)): 2, (third * (1 + 1e-9), F(1)): 4})
    assert len(apart.terms) == 3


def test_a_crowd_of_small_weights_counts_and_cancelled_ones_do_not() -> None:
    one = DiscreteLaplace(F(3)).variance
    crowd = linear_noise(F(3), {(1.0, F(1)): 1, (1e-6, F(1)): 10**13})
    assert crowd.variance == pytest.approx(one * (1 + 1e-12 * 10**13), rel=1e-12)
    residues = linear_noise(F(3), {(1.0, F(1)): 1, (3e-16, F(1)): 10**6, (-2e-17, F(4)): 1})
    assert residues == linear_noise(F(3), {(1.0, F(1)): 1})


def test_a_small_weight_of_a_wide_noise_counts() -> None:
    """What cancelled is known by how far it reaches, not by its weight alone."""
    rare, wide = DiscreteLaplace(Fraction(1, 10)), DiscreteLaplace(Fraction(10**6))
    terms = {(1e8, rare): 1, (1e-7, wide): 1}
    each = [np.array([1e8, 1e-7]), np.array([1, 1]), np.array([0, 1])]
    for law in (NoiseSum.weighted(terms), NoiseSum.merged(*each, [rare, wide])):
        assert len(law.terms) == 2 and law.half_width(0.99) >= 1e-7 * wide.reach(0.01)


def test_laws_are_values_whatever_the_order_of_their_terms() -> None:
    one = linear_noise(F(4, 2), {(0.5, F(1)): 1, (0.25, F(2)): 3})
    two = linear_noise(F(2), {(-0.25, F(2)): 3, (0.5, F(3, 3)): 1})
    assert one == two and hash(one) == hash(two) and isinstance(one, NoiseLaw)
    noise_sum._reach.cache_clear()
    assert one.half_width(0.9) == two.half_width(0.9)
    assert noise_sum._reach.cache_info()[:2] == (1, 1)
    assert linear_noise(F(3), {(0.5, F(1)): 1, (0.25, F(2)): 3}) != one


@pytest.mark.parametrize("name", CROWDS)
def test_parts_of_the_series_that_are_left_out_do_not_matter(name: str) -> None:
    """The whole characteristic function, term by term, beside the stretches that are computed."""
    noises = by_law(linear_noise(*CROWDS[name]).terms)
    step, length = math.pi / chernoff(noises, 5e-10), 6000
    whole = np.ones(length)
    for terms in noises:
        angles = np.multiply.outer(np.arange(length) * step / 2, terms.weights)
        decays = np.log1p(2 * terms.breadths * np.sin(angles) ** 2)
        whole *= np.exp(-decays @ terms.counts)
    found = np.zeros(length)
    found[0] = 1.0
    places, phi = inversion._characteristic(noises, step, length, 1e-12)
    found[places] = phi
    assert (np.abs(found - whole) / np.maximum(np.arange(length), 1)).sum() < 1e-12
    assert (found[1:] == 0).any() or whole.min() > 1e-15


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.0, 1e-17, 1 / 3, -1 / 3, 1 - 2 / 3, 0.25, 3.0, 1e-9, 0.3]),
            st.integers(0, 3),
            st.integers(0, 5),
        ),
        max_size=30,
    )
)
@example([(1 / 3, 0, 1), (1 - 2 / 3, 0, 2), (-1 / 3, 1, 4), (1e-17, 2, 1), (0.25, 3, 0)])
@example([])
def test_terms_are_merged_in_arrays_as_one_by_one(rows: list[tuple[float, int, int]]) -> None:
    noises = [DiscreteLaplace(F(n, 3)) for n in (1, 2, 4, 9)]
    listed: dict[tuple[float, DiscreteLaplace], int] = {}
    for weight, kind, count in rows:
        listed[weight, noises[kind]] = listed.get((weight, noises[kind]), 0) + count
    weights, kinds, counts = (np.array([row[i] for row in rows]) for i in range(3))
    merged = NoiseSum.merged(
        weights.astype(float), counts.astype(np.int64), kinds.astype(np.int64), noises
    )
    assert merged == NoiseSum.weighted(listed)


@pytest.mark.parametrize("confidence", CONFIDENCES)
@cases
def test_short_series_are_inverted_as_long_ones(
    case: str, confidence: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    noises, widths = by_law(law_of(*CASES[case]).terms), []
    for short in (0, 10**9):
        monkeypatch.setattr(inversion, "_SHORT", short)
        widths.append(inversion.reach_by_series(noises, 1 - confidence))
    assert widths[0] == widths[1]


@pytest.mark.parametrize("miss", [0.5, 1e-3, 1e-12])
@cases
def test_a_few_tilts_find_the_best_of_all(case: str, miss: float) -> None:
    noises = by_law(law_of(*CASES[case]).terms)
    theta = inversion._TILTS * min(float((terms.rates / terms.weights).min()) for terms in noises)
    assert chernoff(noises, miss) == pytest.approx(
        inversion._bounds(noises, miss, theta).min(), rel=1e-12
    )


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 95, math.nan, "high", None])
def test_a_confidence_outside_0_to_1_is_refused(confidence: object) -> None:
    with pytest.raises(QueryError, match=r"^confidence must lie strictly between 0 and 1, not "):
        law_of(*CASES["many alike"]).half_width(confidence)  # type: ignore[arg-type]
