"""η is never less than what the draws are off by, and a function of public numbers alone."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from decimal import Context, Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from noise_laws import digit_cdf, exp_of, high_cdf, laplace_pmf
from scipy.stats import binom
from tests.shared_sizes import some_of

from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.kernel.maps import laws
from hushtable.kernel.maps.rules import Filter, Held, Priority, Rule, Threshold
from hushtable.kernel.maps.thresholds import descending_thresholds
from hushtable.kernel.noise import closeness, gaps, stretches
from hushtable.kernel.noise import sparse_draws as sparse
from hushtable.kernel.noise.bulk import EntropyNoise
from hushtable.kernel.noise.closeness import (
    EXACT_ETA,
    GAP_ETA,
    empty_places_eta,
    geometric_eta,
    laplace_eta,
    magnitude_eta,
    most_in_a_round,
)
from hushtable.kernel.noise.tables import Tables, gap_tables, geometric_tables, laplace_tables
from hushtable.kernel.privacy.loss import LARGEST_SCALE

PRECISE = Context(prec=200)
UNIT = 1 << 128
SCALES = ["1/100", "3/10", "1", "7", "64", "65", "1000", "100000"]


def parts(tables: Tables) -> Iterator[list[int]]:
    """The thresholds of each part, with 0 and 1 around them."""
    for start, end in pairwise(tables.bounds.tolist()):
        rows = tables.thresholds[start:end].tolist()
        yield [0, *(upper << 64 | lower for upper, lower in rows), UNIT]


def distance(tables: Tables, scale: Fraction, *, signed: bool) -> Fraction:
    """How far the parts of a draw are from their ideal laws, added up."""
    digits, total = len(tables.entries) - 1, Fraction(0)
    for part, drawn in enumerate(parts(tables)):
        if part == 0:
            ideal, _ = high_cdf(scale, 256**digits, signed=signed)
        else:
            ideal = digit_cdf(scale, 256 ** (digits - part))
        # What lies beyond the outermost thresholds belongs to values that are never drawn.
        true = [Fraction(0), *map(Fraction, ideal), Fraction(1)]
        # Whole numbers of one unit: fractions would be reduced again and again.
        unit = math.lcm(UNIT, *(t.denominator for t in true))
        off = [
            t.numerator * (unit // t.denominator) - d * (unit // UNIT)
            for t, d in zip(true, drawn, strict=True)
        ]
        total += Fraction(sum(abs(b - a) for a, b in pairwise(off)), 2 * unit) + (
            Fraction(2, UNIT) if not part else 0
        )
    return total


@pytest.mark.parametrize("scale", some_of(SCALES, [scale for scale in SCALES if scale != "64"]))
def test_every_kind_of_table_is_within_its_distance(scale: str) -> None:
    scale_ = Fraction(scale)
    for tables, signed, stated in (
        (laplace_tables(scale_), True, laplace_eta(scale_)),
        (geometric_tables(scale_), False, geometric_eta(scale_)),
        (gap_tables(scale_), False, GAP_ETA),
    ):
        assert 0 < distance(tables, scale_, signed=signed) <= stated


def test_no_gap_is_farther_off_than_stated() -> None:
    """At the scales with most thresholds: the largest of each number of digits."""
    most = [gap_tables(min(Fraction(64 * 256**digits), Fraction(2**55))) for digits in range(8)]
    assert len(most[-1].entries) == 8
    assert all(tables.eta <= GAP_ETA for tables in most)
    assert max(tables.eta for tables in most) > GAP_ETA / 2


def test_every_draw_is_as_close_as_the_docs_say() -> None:
    """So that 10⁸ cells of any scale are within 2⁻⁸⁵."""
    scales = [Fraction(64 * 256**digits) for digits in range(5)] + [Fraction(2**40)]
    assert max(map(laplace_eta, scales)) < Fraction(1, 2**114)
    assert all(10**8 * laplace_eta(scale) < Fraction(1, 2**85) for scale in scales)


def test_an_exact_draw_that_does_not_fit_is_counted() -> None:
    """Beyond 2^62 on either side, at the largest scale: with it a count may leave 64 bits."""
    scale = Fraction(LARGEST_SCALE)
    beyond = 2 * Fraction(exp_of(-(2**62) / scale)) / (1 + Fraction(exp_of(-1 / scale)))
    assert beyond <= EXACT_ETA == laplace_eta(scale) == geometric_eta(scale)
    assert 4 * beyond > EXACT_ETA


def test_many_draws_are_farther_off_than_one_and_no_farther_than_their_sum() -> None:
    """By how much the chance that none of them is x differs from the ideal."""
    scale, draws = Fraction(1), 100_000
    tables = laplace_tables(scale)
    (thresholds,) = parts(tables)
    zero = int(tables.origins[0])
    apart = Decimal(0)
    for x in range(-12, 13):
        drawn = Fraction(thresholds[x + zero + 1] - thresholds[x + zero], UNIT)
        none = [
            PRECISE.power(PRECISE.divide(p.numerator, p.denominator), draws)
            for p in (1 - drawn, 1 - laplace_pmf(scale, x))
        ]
        apart = max(apart, PRECISE.abs(PRECISE.subtract(*none)))
    stated = EntropyNoise(SeededEntropy(1)).add_laplace(np.zeros(draws, np.int64), scale)
    assert laplace_eta(scale) < Fraction(apart) <= stated == draws * laplace_eta(scale)


# ── sparse summaries ─────────────────────────────────────────────────────────────────────────────

RULES: list[Rule] = [
    Filter(1),
    Filter(3),
    Filter(3, two_sided=False),
    Threshold(9),
    Threshold(9, 3),
    Threshold(2, 3),
    Priority(20),
    Priority(20, 2, first=1000),
    Priority(3, 5, first=9),
]


@pytest.mark.parametrize(("theta", "tau"), [(1, 1), (4, 4), (1, 9), (3, 12), (5, 2)])
def test_a_magnitude_counts_every_draw_it_is_made_of(
    theta: int, tau: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: dict[str, int] = {"sample_geometric": 0, "_bernoulli": 0}

    def counted(name: str) -> Any:
        true = getattr(sparse, name)

        def draw(law: Any, size: int, entropy: Any) -> Any:
            drawn[name] += size
            return true(law, size, entropy)

        return draw

    for name in drawn:
        monkeypatch.setattr(sparse, name, counted(name))
    scale = Fraction(5, 2)
    sparse.magnitudes(theta, tau, scale, 100, SeededEntropy(2))
    expected = drawn["sample_geometric"] * geometric_eta(scale)
    expected += drawn["_bernoulli"] * Fraction(1, 2**127)
    assert 100 * magnitude_eta(theta, tau, scale) == expected > 0


@pytest.mark.parametrize("rule", some_of(RULES, RULES[::3]), ids=str)
def test_no_more_gaps_are_drawn_than_are_counted(
    rule: Rule, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One at a time, in a table where every place is empty."""
    gaps_are_counted(rule, monkeypatch)


@pytest.mark.parametrize("rule", [Filter(9), Threshold(900), Priority(3, 5, 9)], ids=str)
def test_so_are_those_that_end_each_stretch(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stretches, "_LEAST", 20)
    assert stretches.number_of_stretches(300) == 15
    gaps_are_counted(rule, monkeypatch)


def gaps_are_counted(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    true, drawn, runs, domain, scale = gaps.sample_gaps, [0], 400, 300, Fraction(3)

    def one_gap(scale: Fraction, size: int, entropy: Any) -> Any:
        drawn[0] += 1
        return true(scale, 1, entropy)

    monkeypatch.setattr(gaps, "sample_gaps", one_gap)
    monkeypatch.setattr(closeness, "GAP_ETA", Fraction(1))
    counted = empty_places_eta(domain, rule, scale)  # hardly more than the number of gaps
    entropy, nothing = SeededEntropy(3), np.zeros(0, np.int64)
    for _ in range(runs):
        sparse.summarise(Held(nothing, nothing, domain), rule, scale, entropy)
    mean = drawn[0] / runs
    assert mean < 1.02 * float(counted)
    if not isinstance(rule, Priority):  # the bound is the number that is expected
        assert mean > 0.9 * (float(counted) - 2)


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("domain", some_of([40, 10**6, 2**62], [40, 2**62]))
def test_all_draws_expected_for_empty_places_are_counted(domain: int, rule: Rule) -> None:
    """However many of the places are empty."""
    scale = Fraction(3)
    stated = empty_places_eta(domain, rule, scale)
    for empty in {*range(41), *(2**k for k in range(63)), domain // 3, domain} - {domain + 1}:
        if empty <= domain:
            assert expected_distance(empty, domain, rule, scale) <= stated


def expected_distance(empty: int, domain: int, rule: Rule, scale: Fraction) -> Fraction:
    """Draws that an ideal sampler expects to make, each times its distance, round by round."""
    if isinstance(rule, Priority):
        taus, size = list(descending_thresholds(domain, scale, rule)), rule.size
    else:
        taus, size = [getattr(rule, "tau", rule.theta)], 0
    total, before = Fraction(0), Fraction(0)
    for tau in taus:
        if isinstance(rule, Filter):
            chance = Fraction(laws.chance_of_filter(scale, rule.theta, two_sided=rule.two_sided))
        else:
            chance = Fraction(laws.chance_of_threshold(scale, rule.theta, tau))
        if chance == before:
            break
        reached, drawn = Fraction(1), empty * chance
        if before:
            reached = Fraction(float(binom.cdf(size, empty, float(before))))
            drawn *= Fraction(float(binom.cdf(size, max(empty - 1, 0), float(before))))
        chosen = drawn * (chance - before) / chance
        total += (reached + chosen) * GAP_ETA + drawn * magnitude_eta(rule.theta, tau, scale)
        before = chance
    return total * (1 - Fraction(1, 10**9))  # the cumulative chances are floats


@pytest.mark.parametrize("size", [1, 2, 10, 1000])
def test_no_round_of_a_priority_sample_draws_more_than_is_counted(size: int) -> None:
    """At the worst number of empty places, and thresholds that fall to a third."""
    worst = 0.0
    for chance in (1e-9, 1e-3, 0.3):
        numbers = np.unique((np.geomspace(0.1, 20, 400) * (size + 1) / chance).astype(np.int64))
        numbers = numbers[numbers > 0]
        drawn = 3 * numbers * chance * binom.cdf(size, numbers - 1, chance)
        worst = max(worst, float(drawn.max()))
    assert size < worst <= most_in_a_round(size)


def test_thresholds_fall_to_a_third_at_the_most() -> None:
    for first, theta in itertools.product((2, 3, 5, 7, 99, 2**61), (1, 2, 6)):
        taus = list(descending_thresholds(10**9, Fraction(2), Priority(5, theta, first)))
        assert all(tau < above <= 3 * tau for above, tau in pairwise(taus))
        assert taus[-1] == min(first, theta)


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("thinned", [False, True])
def test_neither_the_table_nor_the_noise_changes_what_is_stated(rule: Rule, thinned: bool) -> None:
    stated = set()
    for seed, occupied in enumerate((0, 1, 2, 50, 100)):
        held = Held(np.arange(occupied), np.full(occupied, 7), 100)
        noise = EntropyNoise(SeededEntropy(seed))
        keep = (lambda places: np.ones(len(places), bool)) if thinned else None
        stated.add(noise.summarise(held, rule, Fraction(2), keep)[1])
    (eta,) = stated
    sampled = not thinned or isinstance(rule, Filter)
    assert eta == empty_places_eta(100, rule if sampled else Filter(rule.theta), Fraction(2))


@pytest.mark.parametrize(
    "rule", [Filter(60), Threshold(10**15), Priority(2000), Priority(50, 60)], ids=str
)
def test_a_million_million_million_cells_are_within_2_to_the_minus_95(rule: Rule) -> None:
    assert 0 < empty_places_eta(10**18, rule, Fraction(1)) < Fraction(1, 2**95)


def test_a_filter_that_nothing_passes_is_off_by_the_chance_that_something_does() -> None:
    for theta in (150, 10**6):
        chance = Fraction(laws.chance_of_filter(Fraction(1), theta, two_sided=True))
        assert chance < Fraction(laws.NEVER)
        stated = empty_places_eta(2**62, Filter(theta), Fraction(1))
        assert 2**62 * chance < stated < 2**62 * chance + Fraction(1, 2**189)
