"""Noise beside its laws: sound samplers pass, and each way to stray is seen."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binom

from hushtable.auditing import noise_law
from hushtable.auditing.noise_law import check_noise, divergence, place_law
from hushtable.auditing.transcript import (
    ChoiceDraw,
    Draw,
    LaplaceDraw,
    SplitDraw,
    SummaryDraw,
)
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.kernel.maps.rules import Filter, Held, Kept, Priority, Rule, Threshold
from hushtable.kernel.noise.bulk import EntropyNoise, Noise

NONE = np.zeros(0, np.int64)
TABLE = np.array([0, 3, 0, 1, 0, 0])

LAPLACE = LaplaceDraw(NONE, Fraction(2), NONE)
CHOICE = ChoiceDraw((Fraction(0), Fraction(-1, 3), Fraction(-2)), 0)

SPLIT = SplitDraw(NONE, 3, Fraction(5, 2), np.zeros(0, bool))


def summary(rule: Rule) -> SummaryDraw:
    return SummaryDraw(TABLE, rule, Fraction(3, 2), Kept(NONE, NONE, 0.0))


def problems(draw: Draw, noise: Callable[[], Noise]) -> list[str]:
    return [law.problem for law in check_noise([draw], noise) if law.problem]


def seeded(kind: type[EntropyNoise] = EntropyNoise) -> Callable[[], Noise]:
    entropy = SeededEntropy(5)
    return lambda: kind(entropy)


@pytest.fixture(autouse=True)
def fewer_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise_law, "FAST_DRAWS", 1 << 18)
    monkeypatch.setattr(noise_law, "SLOW_DRAWS", 1500)


@pytest.mark.parametrize(
    "draw",
    [
        LAPLACE,
        LaplaceDraw(NONE, Fraction(1, 50), NONE),
        pytest.param(LaplaceDraw(NONE, Fraction(2**40), NONE), marks=pytest.mark.thorough),
        CHOICE,
        pytest.param(summary(Filter(1)), marks=pytest.mark.thorough),
        summary(Filter(2, two_sided=False)),
        pytest.param(summary(Threshold(4)), marks=pytest.mark.thorough),
        summary(Threshold(3, theta=2)),
        pytest.param(summary(Priority(2)), marks=pytest.mark.thorough),
        summary(Priority(9, theta=2)),
    ],
)
def test_sound_noise_passes(draw: Draw) -> None:
    laws = check_noise([draw], seeded())
    assert laws and all(law.problem is None and law.draws >= 1500 for law in laws)


class HalfTheScale(EntropyNoise):
    def add_laplace(self, values: NDArray[np.int64], scale: Fraction) -> Fraction:
        return super().add_laplace(values, scale * 95 / 100)


class OnlyEven(EntropyNoise):
    def add_laplace(self, values: NDArray[np.int64], scale: Fraction) -> Fraction:
        super().add_laplace(values, scale)
        values += (values % 2) * np.where(values > 0, 1, -1)
        return Fraction(0)


class OneSided(EntropyNoise):
    def add_laplace(self, values: NDArray[np.int64], scale: Fraction) -> Fraction:
        super().add_laplace(values, scale)
        np.abs(values, out=values)
        return Fraction(0)


class Again(EntropyNoise):
    """The right law, but the second half of a long draw is the first once more."""

    def add_laplace(self, values: NDArray[np.int64], scale: Fraction) -> Fraction:
        super().add_laplace(values, scale)
        values[len(values) // 2 :] = values[: len(values) // 2]
        return Fraction(0)


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (HalfTheScale, "at least|at most|remainder|zero"),
        (OnlyEven, "remainder|zero"),
        (OneSided, "at most|at least"),
        (Again, "seen before"),
    ],
)
def test_laplace_noise_that_strays_is_seen(kind: type[EntropyNoise], says: str) -> None:
    found = problems(LAPLACE, seeded(kind))
    assert found and any(word in found[0] for word in says.split("|"))


def test_the_same_noise_for_every_release_is_seen() -> None:
    """Each source by itself is sound."""
    found = problems(LAPLACE, lambda: EntropyNoise(SeededEntropy(1)))
    assert found and "seen before" in found[0]


def test_noise_of_small_epsilon_is_tried_as_well() -> None:
    """Larger scales are drawn in more steps, which may be wrong by themselves."""

    class LargeIsWrong(EntropyNoise):
        def add_laplace(self, values: NDArray[np.int64], scale: Fraction) -> Fraction:
            super().add_laplace(values, scale)
            if scale > 100:
                values += values % 256 == 7
            return Fraction(0)

    assert any("remainder" in problem for problem in problems(LAPLACE, seeded(LargeIsWrong)))


@pytest.mark.parametrize("step", [0, 1, -1])
@pytest.mark.parametrize("scale", [Fraction(1), Fraction(13, 10), Fraction(7, 10)])
def test_splits_that_stray_are_seen(step: int, scale: Fraction) -> None:
    class Strays(EntropyNoise):
        def exceeding(
            self, values: NDArray[np.int64], threshold: int, asked: Fraction
        ) -> tuple[NDArray[np.bool_], Fraction]:
            return super().exceeding(values, threshold + step, asked * scale)

    assert bool(problems(SPLIT, seeded(Strays))) == ((step, scale) != (0, 1))


class Uniform(EntropyNoise):
    def choose(self, exponents: Sequence[Fraction]) -> tuple[int, Fraction]:
        return super().choose([Fraction(0)] * len(exponents))


def test_a_choice_that_strays_is_seen() -> None:
    found = problems(CHOICE, seeded(Uniform))
    assert found and all(problem.startswith("candidate") for problem in found)


class Forgetful(EntropyNoise):
    """Leaves out what an empty place would add, or keeps too much of the others."""

    def summarise(self, held: Held, rule: Rule, scale: Fraction, keep: Any = None) -> Any:
        kept, eta = super().summarise(held, rule, scale, keep)
        occupied = np.isin(kept.places, held.places)
        return Kept(kept.places[occupied], kept.values[occupied], kept.tau), eta


class Shifted(EntropyNoise):
    def summarise(self, held: Held, rule: Rule, scale: Fraction, keep: Any = None) -> Any:
        kept, eta = super().summarise(held, rule, scale, keep)
        return Kept(kept.places, kept.values + (kept.values == rule.theta), kept.tau), eta


@pytest.mark.parametrize("kind", [Forgetful, Shifted])
@pytest.mark.parametrize(
    "rule", [Filter(2), Threshold(3), pytest.param(Priority(2), marks=pytest.mark.thorough)]
)
def test_a_summary_that_strays_is_seen(kind: type[EntropyNoise], rule: Rule) -> None:
    found = problems(summary(rule), seeded(kind))
    assert found and found[0].startswith("place")


def test_what_would_take_too_much_memory_is_not_looked_at() -> None:
    """Noise of millions on a summary; and no more than some of many places."""
    wide = SummaryDraw(TABLE, Filter(1), Fraction(10**6), Kept(NONE, NONE, 0.0))
    laws = check_noise([wide, LAPLACE], seeded())
    assert [law.draws for law in laws][-1] == 0 and laws[-1].problem is None
    assert "scale 1e+06" in laws[-1].what and all(law.draws for law in laws[:-1])
    many = np.zeros(4096, np.int64)
    many[4000] = 2
    for rule in (Priority(3), Filter(2)):
        draw = SummaryDraw(many, rule, Fraction(2), Kept(NONE, NONE, 0.0))
        (law,) = check_noise([draw], seeded())
        assert law.problem is None and law.draws <= 1500 * 64 + 20 * 4096


# ── the laws ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(2), Fraction(700)])
def test_chances_of_remainders_are_those_of_the_law(scale: Fraction) -> None:
    reach = 60_000
    noisy = np.arange(-reach, reach + 1)
    likely, _ = place_law(noisy, 0, float(scale), (0, 0.0, True))
    assert likely.sum() == pytest.approx(1)
    for side, first in ((noisy >= 0, 0), (noisy < 0, 1)):
        summed = np.bincount(np.abs(noisy[side]) % 256, weights=likely[side], minlength=256)
        chances = noise_law._remainder_chances(scale, first)
        assert chances == pytest.approx(summed, rel=1e-9, abs=1e-15)


@given(st.integers(1, 400), st.floats(0.001, 0.999), st.data())
def test_the_bound_on_a_chance_is_above_it(runs: int, chance: float, data: Any) -> None:
    """Chernoff's bound: what is blamed is at least as unlikely as it says."""
    hits = data.draw(st.integers(0, runs))
    share = np.array([hits / runs])
    bound = 2 * math.exp(-runs * divergence(share, np.array([chance]))[0])
    further = binom.sf(hits - 1, runs, chance) if hits > runs * chance else 1.0
    less = binom.cdf(hits, runs, chance) if hits < runs * chance else 1.0
    assert min(further, less) <= bound * (1 + 1e-9)


def test_what_cannot_happen_is_blamed_once_it_does() -> None:
    impossible = divergence(np.array([0.0, 1e-6]), np.array([0.0, 0.0]))
    assert impossible[0] == 0 and impossible[1] == math.inf
