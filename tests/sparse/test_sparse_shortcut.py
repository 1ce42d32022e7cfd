"""The shortcut has the law of noising every place and summarising what comes out."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sparse_laws import (
    Outcome,
    cut,
    dense,
    every_path,
    fits,
    held,
    kept_chance,
    laborious,
    laborious_priorities,
    laplace,
    outcome,
    place_law,
    same_law,
    scripted,
    seeded,
)
from tests.shared_sizes import some_of

from hushtable import spilled
from hushtable.kernel.maps import laws
from hushtable.kernel.maps.rules import Filter, Held, Kept, Priority, Rule, Threshold
from hushtable.kernel.maps.structure import Structure
from hushtable.kernel.noise import gaps, stretches
from hushtable.kernel.noise.sparse_draws import (
    _magnitudes_between,
    draw_priorities,
    magnitudes,
    summarise,
)

SCALE = Fraction(1, 2)
REACH = 8

# Three or so places each: a table with an empty and an occupied cell, and its transforms.
TABLES = {
    "cells": held(Structure("cells", (3,)), {1: 2}),
    "dyadic": held(Structure("dyadic", (2,)), {1: 2}),
    "haar": held(Structure("haar", (3,)), {1: 2}),
    "empty": held(Structure("cells", (2,)), {}),
    "full": held(Structure("cells", (2,)), {0: 1, 1: 3}),
    "one cell": held(Structure("cells", (1,)), {0: 4}),
}
RULES: dict[str, Rule] = {
    "geometric": Filter(1),
    "filter": Filter(2),
    "one-sided filter": Filter(2, two_sided=False),
    "threshold": Threshold(3),
    "filter-threshold": Threshold(4, theta=2),
    "filter beyond threshold": Threshold(2, theta=3),
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("rule", RULES)
def test_every_path_of_the_shortcut_adds_up_to_the_laborious_law(
    rule: str, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    adds_up(rule, table, monkeypatch)


@pytest.mark.parametrize("number", some_of([2, 3], [2]))
@pytest.mark.parametrize("table", ["cells", "dyadic", "full"])
@pytest.mark.parametrize("rule", some_of(RULES, ("filter", "one-sided filter", "filter-threshold")))
def test_so_do_those_of_stretches_one_after_another(
    rule: str, table: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut(monkeypatch, number)
    adds_up(rule, table, monkeypatch)


def adds_up(rule: str, table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that may come out comes out as often as with noise on every place."""
    scripted(monkeypatch, REACH)
    found, left = every_path(
        lambda script: outcome(summarise(TABLES[table], RULES[rule], SCALE, script)), 1200
    )
    values = dense(TABLES[table])
    expected = {key: laborious(values, RULES[rule], float(SCALE), key) for key in found}
    assert left < 0.25
    for key, mass in found.items():
        assert mass <= expected[key] + 1e-9, (key, mass, expected[key])
    # What is missing everywhere together is what was not tried: so nothing is short either.
    assert sum(expected[key] - mass for key, mass in found.items()) <= left + 1e-9


@cache
def slow_samples(table: str, rule: Priority) -> list[tuple[Outcome, float]]:
    return list(laborious_priorities(dense(TABLES[table]), rule, float(SCALE), 10_000, 1))


@pytest.mark.parametrize(
    ("table", "first", "theta"),
    [("cells", None, 1), ("cells", 9, 1), ("dyadic", 5, 2), ("haar", 4, 1), ("full", 3, 2)],
)
@pytest.mark.parametrize("number", some_of([1, 2], [2]))
def test_priority_samples_have_the_laborious_law(
    table: str, first: int | None, theta: int, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From a first τ at which all are candidates, or so high that lower ones must be added."""
    cut(monkeypatch, number)
    rule, runs, entropy = Priority(1, theta, first), 800, seeded(5)
    made, taus = Counter[Any](), []
    for _ in range(runs):
        kept = summarise(TABLES[table], rule, SCALE, entropy)
        made[outcome(kept)] += 1
        taus.append(kept.tau)
    slow = slow_samples(table, rule)
    assert same_law(made, Counter(key for key, _ in slow))
    edges = np.quantile([tau for _, tau in slow], np.linspace(0.05, 0.95, 12))
    binned = (
        Counter(np.searchsorted(edges, some).tolist()) for some in (taus, [t for _, t in slow])
    )
    assert same_law(*binned)


def test_a_priority_sample_that_is_drawn_again_would_be_noticed() -> None:
    """What the comparison is for: conditioning on having found enough."""
    rule, entropy, made = Priority(1, 1, 2), seeded(6), Counter[Any]()
    table = TABLES["cells"]
    while sum(made.values()) < 1000:
        kept = summarise(table, Threshold(2), SCALE, entropy)
        if len(kept.places) > 1:
            sizes = draw_priorities(np.abs(kept.values), 2, None, entropy)
            best = int(np.argmax(sizes))
            made[((int(kept.places[best]), int(kept.values[best])),)] += 1
    slow = laborious_priorities(dense(table), rule, float(SCALE), 10_000, 1)
    assert not same_law(made, Counter(key for key, _ in slow))


# ── large domains: every place a trial of its own ────────────────────────────────────────────────


LARGE_RULES: dict[str, Rule] = {
    **RULES,
    "high filter": Filter(11),
    "high threshold": Threshold(1000),
    "both high": Threshold(60, theta=7),
}


@pytest.mark.parametrize("rule", LARGE_RULES)
def test_values_of_many_places_have_their_law(rule: str) -> None:
    """Occupied and empty places by themselves, at a scale where every part of the sampler works."""
    scale, chosen, count = Fraction(7, 2), LARGE_RULES[rule], 5
    occupied = np.arange(0, 300_000, 3)
    table = Held(occupied, np.full(len(occupied), count), 300_000)
    kept = summarise(table, chosen, scale, seeded(11))
    full = kept.places % 3 == 0
    for values, number, true in (
        (kept.values[full], len(occupied), count),
        (kept.values[~full], 300_000 - len(occupied), 0),
    ):
        law = place_law(true, chosen, float(scale), 160)
        observed: dict[Any, int] = dict(Counter(values.tolist()))
        observed[None] = number - len(values)
        assert fits(observed, law)
        # The test can fail: the law of a scale 10 % off is not met.
        off = place_law(true, chosen, float(scale) * 1.1, 160)
        if len(values) > 3000:
            assert not fits(observed, off)
    assert (np.diff(kept.places) > 0).all()


@pytest.mark.parametrize("chance", ["0.9", "0.3", "0.001"])
def test_chosen_places_are_evenly_spread_and_independent(chance: str) -> None:
    occupied = np.unique(np.random.default_rng(3).integers(0, 200_000, 20_000))
    places = gaps.choose_places(occupied, 200_000, Decimal(chance), seeded(3))
    assert not np.isin(places, occupied).any() and (np.diff(places) > 0).all()
    empty = np.setdiff1d(np.arange(200_000), occupied)
    p, chosen = float(chance), np.isin(empty, places)
    where = Counter((np.flatnonzero(chosen) * 40 // len(empty)).tolist())
    assert fits(where, dict.fromkeys(range(40), 1 / 40))
    pairs = Counter(zip(chosen[::2].tolist(), chosen[1::2].tolist(), strict=False))
    expected = {
        (a, b): (p if a else 1 - p) * (p if b else 1 - p)
        for a, b in itertools.product((False, True), repeat=2)
    }
    assert fits(pairs, expected)


@pytest.mark.parametrize("domain", [10**12, 10**18, 2**62])
@pytest.mark.parametrize("wanted", [3, 5000])
def test_choosing_in_vast_domains(domain: int, wanted: int) -> None:
    occupied = np.array([0, 1, 5, domain // 2, domain - 1])
    chance = Decimal(wanted) / Decimal(domain)
    numbers = []
    for seed in range(20):
        places = gaps.choose_places(occupied, domain, chance, seeded(seed))
        assert (np.diff(places) > 0).all() and not np.isin(places, occupied).any()
        assert len(places) == 0 or 0 <= places[0] <= places[-1] < domain
        numbers.append(len(places))
    # Poisson with this mean, twenty times: seven standard deviations.
    assert abs(sum(numbers) - 20 * wanted) < 7 * math.sqrt(20 * wanted)
    assert len(set(numbers)) > 2


# ── ranks and places ─────────────────────────────────────────────────────────────────────────────


def test_gaps_reach_every_subset_of_the_empty_places_once() -> None:
    """Every occupied set, every choice: the gaps of a choice lead to it and to no other."""
    domain = 7
    for bits in range(2**domain):
        occupied = np.array([i for i in range(domain) if bits >> i & 1], np.int64)
        empty = [i for i in range(domain) if not bits >> i & 1]
        for size in range(len(empty) + 1):
            for subset in itertools.combinations(range(len(empty)), size):
                steps = np.diff([-1, *subset, len(empty)]) - 1
                walked = np.array([*steps[:-1], steps[-1] + bits % 3, 99], np.int64)
                number, _, ended = gaps._walk(walked, -1, len(empty))
                ranks = walked[:number].copy()
                gaps._find_places(ranks, occupied)
                assert ended and ranks.tolist() == [empty[i] for i in subset]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(0, 2**62 - 1), max_size=40, unique=True), st.data())
def test_places_of_ranks_as_by_counting(codes: list[int], data: st.DataObject) -> None:
    """A place's rank is what lies before it, less the occupied ones, at any size."""
    occupied = np.sort(np.array(codes, np.int64))
    places = data.draw(st.lists(st.integers(0, 2**62 - 1), max_size=20, unique=True))
    near = [code + step for code in codes for step in (-1, 1)]
    wanted = sorted({p for p in [*places, *near] if 0 <= p < 2**62} - set(codes))
    ranks = np.array([p - sum(code < p for code in codes) for p in wanted], np.int64)
    gaps._find_places(ranks, occupied)
    assert ranks.tolist() == wanted


def test_a_walk_ends_at_the_last_empty_place_without_overflow() -> None:
    far = np.array([2**62 - 2, 0, 5], np.int64)
    assert gaps._walk(far, -1, 2**62) == (2, 2**62 - 1, True)
    assert far[:2].tolist() == [2**62 - 2, 2**62 - 1]
    beyond = np.array([2**62, 1], np.int64)
    assert gaps._walk(beyond, 7, 2**62) == (0, 7, True)


# ── closed forms ─────────────────────────────────────────────────────────────────────────────────


scales = st.fractions(Fraction(1, 5), Fraction(6))


@settings(deadline=None, max_examples=60)
@given(scales, st.integers(1, 30), st.integers(1, 60), st.booleans())
def test_chances_are_sums_over_the_noise(
    scale: Fraction, theta: int, tau: int, two_sided: bool
) -> None:
    reach = range(-400, 401)
    passing = sum(
        laplace(float(scale), v) * kept_chance(Filter(theta, two_sided), v) for v in reach
    )
    assert float(laws.chance_of_filter(scale, theta, two_sided=two_sided)) == pytest.approx(passing)
    sampled = sum(laplace(float(scale), v) * kept_chance(Threshold(tau, theta), v) for v in reach)
    assert float(laws.chance_of_threshold(scale, theta, tau)) == pytest.approx(sampled)


def test_the_closed_forms_of_the_paper() -> None:
    """In the letters of the paper, to 60 digits."""
    scale = Fraction(9, 4)
    with_digits = laws.power(scale, 1)
    a = Fraction(with_digits)
    close = Fraction(1, 10**60)
    for theta, tau in ((1, 7), (4, 9), (6, 6), (3, 200)):
        p = 2 / (tau * (1 - a**2)) * (theta * a**theta - (theta - 1) * a ** (theta + 1))
        p -= 2 * a ** (tau + 1) / (tau * (1 - a**2))
        assert abs(Fraction(laws.chance_of_threshold(scale, theta, tau)) - p) < close
    assert abs(Fraction(laws.chance_of_filter(scale, 5, two_sided=False)) - a**5 / (1 + a)) < close
    tau = 7
    plain = 2 * a * (1 - a**tau) / (tau * (1 - a**2))
    assert abs(Fraction(laws.chance_of_threshold(scale, 1, tau)) - plain) < close
    more = Fraction(laws.chance_between(scale, 1, 3, 7))
    low, high = (Fraction(laws.chance_of_threshold(scale, 1, t)) for t in (3, 7))
    assert abs(more - (low - high) / (1 - high)) < close


def test_extreme_chances_keep_their_digits() -> None:
    """At the largest scales, where 1 − α is tiny, and far out, where the chance is."""
    scale, theta, tau = Fraction(2**50), 3, 2**55
    a = 1 - Fraction(1, 2**50) + Fraction(1, 2**101) - Fraction(1, 6 * 2**150)  # e^−x, x = 2^−50
    flat = 2 * (theta * (1 - a) + a * (1 - Fraction(laws.power(scale, tau - theta))))
    flat *= Fraction(laws.power(scale, theta)) / (tau * (1 - a**2))
    assert float(Fraction(laws.chance_of_threshold(scale, theta, tau)) / flat) == pytest.approx(1)
    assert laws.power(Fraction(1), 10**6) == 0
    assert 0 < laws.chance_of_filter(Fraction(1), 200, two_sided=True) < laws.NEVER


@pytest.mark.parametrize("chance", ["0.97", "0.5", "1e-3", "1e-18", "1e-40"])
def test_gap_scales_give_the_chance_back(chance: str) -> None:
    p = Decimal(chance)
    scale = laws.gap_scale(p)
    back = 1 - Fraction(laws.power(scale, 1))
    assert abs(back / Fraction(p) - 1) < Fraction(1, 10**70)


@settings(deadline=None, max_examples=30)
@given(scales, st.integers(1, 9), st.integers(1, 12))
def test_the_head_of_the_law_of_magnitudes(scale: Fraction, theta: int, more: int) -> None:
    a = math.exp(-1 / float(scale))
    weights = [theta, *(a**k for k in range(1, more + 1))]
    share = float(laws.chance_of_head(scale, theta, theta + more))
    assert share == pytest.approx(theta / sum(weights))


@pytest.mark.parametrize(("theta", "tau"), [(1, 1), (4, 4), (1, 9), (3, 12), (5, 6)])
def test_magnitudes_given_kept(theta: int, tau: int) -> None:
    scale = Fraction(5, 2)
    drawn = magnitudes(theta, tau, scale, 40_000, seeded(9))
    weights = {
        v: math.exp(-v / float(scale)) * kept_chance(Threshold(tau, theta), v)
        for v in range(theta, 200)
    }
    total = sum(weights.values())
    assert fits(Counter(drawn.tolist()), {v: w / total for v, w in weights.items()})


@pytest.mark.parametrize(("theta", "tau", "above"), [(1, 3, 7), (1, 1, 2), (4, 6, 9), (2, 10, 30)])
def test_magnitudes_of_added_candidates(theta: int, tau: int, above: int) -> None:
    """Kept at τ, but not at the higher threshold."""
    scale = Fraction(5, 2)
    drawn = _magnitudes_between(theta, tau, above, scale, 20_000, seeded(10))
    weights = {
        v: math.exp(-v / float(scale))
        * (kept_chance(Threshold(tau, theta), v) - kept_chance(Threshold(above, theta), v))
        for v in range(theta, 200)
    }
    total = sum(weights.values())
    assert fits(Counter(drawn.tolist()), {v: w / total for v, w in weights.items()})


@pytest.mark.parametrize(("tau", "above"), [(5, None), (5, 12)])
def test_priorities_of_candidates(tau: int, above: int | None) -> None:
    """1/priority is uniform between 1/above and 1/max(size, tau)."""
    sizes = np.repeat([1, 5, 9], 10_000)
    found = draw_priorities(sizes, tau, above, seeded(13))
    floor, least = 1 / np.maximum(sizes, tau), 1 / above if above else 0.0
    place = (1 / found - least) / (floor - least)
    assert (place > 0).all() and (place <= 1 + 1e-12).all()
    for part in np.split(place, 3):
        assert fits(
            Counter(np.minimum(part * 20, 19.5).astype(int).tolist()),
            dict.fromkeys(range(20), 1 / 20),
        )


# ── stretches ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("domain", [1, 2, 3, 100, 2**22, 2**23 + 1, 10**12, 2**62])
def test_stretches_are_all_places_once_whatever_is_held(domain: int) -> None:
    ends = stretches.borders(domain)
    assert ends[0] == 0 and ends[-1] == domain
    assert all(left < right for left, right in itertools.pairwise(ends))
    assert len(ends) - 1 == stretches.number_of_stretches(domain) <= 256
    random = np.random.default_rng(1)
    places = np.unique(np.concatenate([random.integers(0, domain, 50), np.array(ends[:-1])]))
    for some in (places, places[:1], places[:0]):
        table = Held(some, some % 7 + 1, domain)
        parts = list(stretches.stretches(table))
        assert [start for start, _ in parts] == ends[:-1]
        assert [part.domain for _, part in parts] == np.diff(ends).tolist()
        again = np.concatenate([start + part.places for start, part in parts])
        assert np.array_equal(again, some)
        assert np.array_equal(np.concatenate([part.values for _, part in parts]), table.values)
        assert all(((p.places >= 0) & (p.places < p.domain)).all() for _, p in parts)


@pytest.mark.parametrize("rule", [*RULES.values(), Priority(9), Priority(9, 2, first=100)], ids=str)
def test_one_stretch_is_drawn_as_the_whole_is(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stretch of a larger domain, by the same bits, is what it is by itself."""
    table = Held(np.arange(0, 90, 7), np.full(13, 4), 90)
    alone = summarise(table, rule, SCALE * 4, seeded(3))
    monkeypatch.setattr(stretches, "borders", lambda domain: [0, 0, domain])
    after_none = summarise(table, rule, SCALE * 4, seeded(3))
    assert outcome(alone) == outcome(after_none) and alone.tau == after_none.tau


@pytest.mark.parametrize("rule", [Filter(3), Threshold(40, 2), Priority(500, 2), Priority(10**6)])
def test_many_stretches_have_the_law_of_one(rule: Rule, monkeypatch: pytest.MonkeyPatch) -> None:
    """Large values and small ones, occupied places and others, by where they are."""
    occupied = np.arange(0, 30_000, 3)
    table = Held(occupied, np.full(len(occupied), 5), 30_000)
    seen = []
    for number in (1, 100):
        cut(monkeypatch, number)
        kinds = Counter[Any]()
        for seed in range(4):
            kept = summarise(table, rule, Fraction(7, 2), seeded(20 + seed))
            assert (np.diff(kept.places) > 0).all()
            where = kept.places * 5 // table.domain
            sizes = np.minimum(np.abs(kept.values), 20)
            kinds.update(
                zip((kept.places % 3).tolist(), where.tolist(), sizes.tolist(), strict=True)
            )
        seen.append(kinds)
    assert same_law(*seen)


@pytest.mark.parametrize("number", [1, 7])
def test_no_place_is_drawn_for_twice_however_often_the_threshold_falls(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Down to θ, where all that passes the filter has joined: each as often as it passes."""
    cut(monkeypatch, number)
    table = Held(np.arange(0, 4000, 2), np.full(2000, 3), 4000)
    kept = summarise(table, Priority(10**4, 2, first=500), Fraction(4), seeded(7))
    assert kept.tau == 0 and (np.diff(kept.places) > 0).all()
    for true, these in ((3, kept.places % 2 == 0), (0, kept.places % 2 == 1)):
        law = place_law(true, Filter(2), 4.0, 100)
        observed: dict[Any, int] = dict(Counter(kept.values[these].tolist()))
        assert fits(observed | {None: 2000 - int(these.sum())}, law)


def test_summaries_that_are_large_go_through_files(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Held(np.arange(0, 3000, 3), np.full(1000, 5), 3000)
    cut(monkeypatch, 40)
    rules: list[Rule] = [Filter(2), Threshold(9), Priority(300), Priority(300, first=10**6)]
    before = [summarise(table, rule, Fraction(2), seeded(1)) for rule in rules]
    monkeypatch.setattr(spilled, "_MOST", 10)
    for rule, kept in zip(rules, before, strict=True):
        again = summarise(table, rule, Fraction(2), seeded(1))
        assert outcome(again) == outcome(kept) and again.tau == kept.tau


# ── edges ────────────────────────────────────────────────────────────────────────────────────────


def test_a_priority_sample_has_its_size_and_its_next_priority() -> None:
    table = Held(np.arange(0, 1000, 10), np.full(100, 50), 1000)
    kept = summarise(table, Priority(40), Fraction(1), seeded(2))
    assert len(kept.places) == 40 and kept.tau > 0 and (np.diff(kept.places) > 0).all()
    # Forty-eight of fifty sum to it on average; each weighs at least the next priority.
    everything = summarise(table, Priority(10**6), Fraction(1), seeded(2))
    assert everything.tau == 0 and (everything.values != 0).all()
    assert 400 < len(everything.places) < 1000


def test_too_few_candidates_are_joined_by_lower_ones() -> None:
    table = held(Structure("cells", (10**6,)), {5: 3, 700: 1})
    kept = summarise(table, Priority(200, 1, first=2**40), Fraction(1), seeded(4))
    assert len(kept.places) == 200 and 0 < kept.tau < 2**20


def test_filters_that_nothing_passes_and_priorities_of_nothing() -> None:
    for rule in (Filter(10**6), Threshold(10**6, 10**6), Priority(5, 10**6)):
        kept = summarise(TABLES["cells"], rule, Fraction(1), seeded(1))
        assert len(kept.places) == 0


@pytest.mark.parametrize("number", [1, 1000, 200_000])
@pytest.mark.parametrize("rule", [Filter(60), Threshold(10**15), Priority(2000), Priority(50, 60)])
def test_a_domain_of_a_million_million_million_cells(number: int, rule: Rule) -> None:
    random = np.random.default_rng(8)
    codes = np.unique(random.integers(0, 10**18, number))
    table = Held(codes, np.full(len(codes), 10**5), 10**18)
    kept = summarise(table, rule, Fraction(1), seeded(8))
    assert (np.diff(kept.places) > 0).all()
    assert kept.places.min(initial=0) >= 0 and kept.places.max(initial=0) < 10**18
    if isinstance(rule, Filter):
        assert np.isin(codes, kept.places).all()
    if isinstance(rule, Priority):
        assert len(kept.places) <= rule.size


def test_occupied_places_are_not_told_by_their_order() -> None:
    kept = summarise(TABLES["full"], Filter(1), Fraction(50), seeded(1))
    assert isinstance(kept, Kept) and (np.diff(kept.places) > 0).all()
