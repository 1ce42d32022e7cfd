"""What ρ means as (ε, δ): never less than the truth, and hardly more."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

from hushtable.errors import OptionError
from hushtable.kernel.privacy.conversion import (
    DOWNWARDS,
    UPWARDS,
    Guarantee,
    delta_above,
    epsilon_above,
    exp_above,
    format_delta,
    guarantees,
    ln_above,
    ln_below,
    parse_delta,
    rho_below,
)

NONE = Fraction(0)
ETA = Fraction(1, 2**60)
NEAR = 1 + Fraction(1, 10**13)

RHOS = [Fraction(text) for text in ("1e-7", "0.001", "3/200", "1/7", "1", "12.5")]
DELTAS = [Fraction(text) for text in ("0.3", "1e-6", "1e-9", "1/12345678901234567890", "1e-38")]
EPSILONS = [Fraction(text) for text in ("1e-4", "0.1", "1/3", "1", "4", "30")]


@cache
def literally(rho: Fraction, epsilon: Fraction) -> Decimal:
    """The formula as it is written, its smallest value looked for by thirds."""
    with localcontext(Context(prec=40, Emin=-9999, Emax=9999, traps=[])):
        budget, bound = (Decimal(x.numerator) / x.denominator for x in (rho, epsilon))

        def at(log: Decimal) -> Decimal:
            order = 1 + log.exp()
            weight = ((order - 1) * (order * budget - bound)).exp() / (order - 1)
            return weight * (1 - 1 / order) ** order

        low, high = Decimal(-16), Decimal(16)
        for _ in range(60):
            step = (high - low) / 3
            low, high = (
                (low, high - step) if at(low + step) < at(high - step) else (low + step, high)
            )
        return at((low + high) / 2)


def of_gaussian(rho: Fraction, epsilon: Fraction) -> float:
    """The smallest δ of continuous Gaussian noise that costs ρ (Balle and Wang, 2018)."""
    width, bound = math.sqrt(2 * rho), float(epsilon)

    def below(x: float) -> float:
        return math.erfc(-x / math.sqrt(2)) / 2

    return below(width / 2 - bound / width) - math.exp(bound) * below(-width / 2 - bound / width)


@pytest.mark.parametrize("rho", RHOS)
def test_delta_is_that_of_the_formula_rounded_upwards(rho: Fraction) -> None:
    for epsilon in (*EPSILONS, NONE):
        truth = Fraction(literally(rho, epsilon))
        delta = delta_above(rho, epsilon, eta=NONE)
        assert delta >= min(truth * (1 - Fraction(1, 10**25)), 1), epsilon
        assert delta <= truth * NEAR or truth < delta < Fraction(1, 10**1000), epsilon


@pytest.mark.parametrize("rho", RHOS)
def test_epsilon_is_the_least_that_the_formula_covers(rho: Fraction) -> None:
    for delta in DELTAS:
        epsilon = epsilon_above(rho, delta)
        assert literally(rho, epsilon) <= delta
        assert epsilon == 0 or literally(rho, epsilon / NEAR) > delta, delta


@pytest.mark.parametrize("delta", DELTAS)
def test_rho_is_the_largest_that_the_formula_covers(delta: Fraction) -> None:
    for epsilon in EPSILONS:
        rho = rho_below(epsilon, delta, eta=NONE)
        assert literally(rho, epsilon) <= delta
        assert literally(rho * NEAR, epsilon) > delta, epsilon


def test_the_formula_covers_gaussian_noise_itself() -> None:
    """Its δ is smaller than what ρ promises, though not by much."""
    for rho in RHOS:
        for epsilon in EPSILONS:
            truth = of_gaussian(rho, epsilon)
            delta = float(delta_above(rho, epsilon, eta=NONE))
            assert truth <= delta
            assert delta < 30 * truth or truth < 1e-9


def test_the_plain_bound_is_never_better() -> None:
    """ρ + 2√(ρ·ln(1/δ))."""
    for rho in RHOS:
        for delta in DELTAS:
            plain = float(rho) + 2 * math.sqrt(float(rho) * -math.log(delta))
            assert 0 <= epsilon_above(rho, delta) < plain


def test_known_amounts_are_the_same_on_every_machine() -> None:
    billionth = Fraction(1, 10**9)
    assert rho_below(Fraction(1), billionth, eta=NONE) == Fraction("0.0149730576735885")
    assert rho_below(Fraction(1), billionth, eta=ETA) == Fraction("0.014973057670857")
    assert rho_below(Fraction(10), 1000 * billionth, eta=NONE) == Fraction("1.53927876386672")
    assert epsilon_above(Fraction(1, 2), billionth) == Fraction("6.47407002072649")
    assert delta_above(Fraction(1, 2), Fraction(3), eta=NONE) == Fraction("0.00514318406386215")


@pytest.fixture
def few_digits(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Three digits in every step, so that a step rounded the wrong way is far off."""
    monkeypatch.setattr(UPWARDS, "prec", 3)
    monkeypatch.setattr(DOWNWARDS, "prec", 3)
    yield


@pytest.mark.usefixtures("few_digits")
def test_logarithms_and_exponentials_are_beyond_the_truth() -> None:
    exact = Context(prec=60)
    for number in (Decimal(3**i) / 7 ** (i % 11) for i in range(-20, 20)):
        assert ln_below(number) < exact.ln(number) < ln_above(number)
        assert exp_above(exact.ln(number)) > number


def bounds() -> tuple[list[Fraction], list[Fraction]]:
    """Some bounds from above, and some from below."""
    amounts = [Fraction(3**i, 7 ** (i // 2 + 2)) for i in range(0, 40, 5)]
    pairs = [(amount, delta) for amount in amounts for delta in DELTAS[::2]]
    above = [epsilon_above(amount, delta) for amount, delta in pairs]
    above += [delta_above(amount, 5 * amount, eta=ETA) for amount in amounts]
    above += [delta_above(Fraction(1, 2), Fraction("10.01"), eta=NONE)]  # of four digits
    return above, [rho_below(amount, delta, eta=NONE) for amount, delta in pairs]


@pytest.mark.usefixtures("few_digits")
def test_every_step_is_rounded_outwards() -> None:
    """With few digits no bound is on the wrong side of what many digits say."""
    above, below = bounds()
    UPWARDS.prec = DOWNWARDS.prec = 100
    least, most = bounds()
    assert all(coarse >= fine for coarse, fine in zip(above, least, strict=True))
    assert all(coarse <= fine for coarse, fine in zip(below, most, strict=True))


def test_the_samplers_distance_is_paid_on_both_tables() -> None:
    for bits in (8, 20, 60):
        eta = Fraction(1, 2**bits)
        for epsilon in EPSILONS[:-1]:
            for rho in RHOS[:3]:
                most = delta_above(rho, epsilon, eta=eta)
                least = Fraction(literally(rho, epsilon)) + (1 + grown(epsilon)) * eta
                assert most == 1 or least * (1 - Fraction(1, 10**25)) <= most <= least * NEAR


def grown(epsilon: Fraction) -> Fraction:
    with localcontext(Context(prec=60)):
        return Fraction((Decimal(epsilon.numerator) / epsilon.denominator).exp())


def test_rho_leaves_room_for_the_samplers() -> None:
    for delta in DELTAS[:3]:
        for epsilon in EPSILONS:
            eta = delta / (4 * (1 + grown(epsilon)))
            rho = rho_below(epsilon, delta, eta=eta)
            total = Fraction(literally(rho, epsilon)) + delta / 4
            assert delta / NEAR < total <= delta, (epsilon, delta)


@pytest.mark.parametrize("delta", [ETA, 2 * ETA, Fraction(1, 10**30)])
def test_a_delta_that_the_samplers_use_up_is_refused(delta: Fraction) -> None:
    for epsilon in (Fraction(1), Fraction(10**30)):
        with pytest.raises(OptionError, match=r"\Adelta is smaller than .*\Z"):
            rho_below(epsilon, delta, eta=ETA)


def test_extreme_amounts_are_bounded_too() -> None:
    tiny, huge, delta = Fraction(1, 10**199), Fraction(10**199), Fraction(1, 10**40)
    assert 0 <= epsilon_above(tiny, delta) < Fraction(1, 10**90)
    assert huge <= epsilon_above(huge, delta) < huge * Fraction(11, 10)
    assert delta_above(huge, NONE, eta=NONE) == delta_above(huge, huge / 2, eta=NONE) == 1
    assert delta_above(Fraction(1), huge, eta=ETA) == 1
    assert 0 < delta_above(tiny, huge, eta=NONE) < Fraction(1, 10**900)
    assert 0 < rho_below(tiny, delta, eta=NONE) < Fraction(1, 10**40)
    assert huge * Fraction(9, 10) < rho_below(huge, delta, eta=NONE) < huge


@pytest.mark.parametrize(
    ("amount", "delta"), [(0, "0.5"), (-1, "0.5"), (1, "0"), (1, "1"), (1, "1.5"), (1, "-0.1")]
)
def test_what_means_nothing_is_refused(amount: int, delta: str) -> None:
    for convert in (epsilon_above, lambda a, d: rho_below(a, d, eta=NONE)):
        with pytest.raises(OptionError):
            convert(Fraction(amount), Fraction(delta))
    for rho, epsilon, eta in ((0, 1, 0), (-1, 1, 0), (1, -1, 0), (1, 1, -1)):
        with pytest.raises(OptionError):
            delta_above(Fraction(rho), Fraction(epsilon), eta=Fraction(eta))


def test_delta_is_read_and_written_exactly() -> None:
    for text in ("1e-9", "1.25e-7", "0.025", "0.5", "1e-40"):
        assert format_delta(parse_delta(text)) == text
    assert format_delta(Fraction(1, 3 * 10**9)) == "1/3000000000"


@pytest.mark.parametrize(
    "junk", [0, 1, 1.0, "1", "2", "-1e-9", "1e-41", math.nan, True, None, "1/9", "x", [], 10**300]
)
def test_what_is_no_delta_is_refused_in_one_line(junk: Any) -> None:
    with pytest.raises(OptionError, match=r"\Adelta must .*\Z"):
        parse_delta(junk)


def test_people_are_told_the_epsilon_they_declared() -> None:
    declared = Fraction(1, 10**9)
    rho = rho_below(Fraction(1), declared, eta=ETA)
    shown = Fraction("0.01498")
    assert guarantees(rho, eta=ETA, declared=declared) == (
        Guarantee(shown, Fraction(1), declared),
        Guarantee(shown, Fraction("0.771"), Fraction(1, 10**6)),
    )


@pytest.mark.parametrize("declared", [None, Fraction(1, 10**5), Fraction(1, 10**6)])
def test_people_are_told_no_less_than_the_truth(declared: Fraction | None) -> None:
    for rho in RHOS[1::2]:
        for eta in (NONE, ETA, Fraction(1, 10**7)):
            told = guarantees(rho, eta=eta, declared=declared)
            assert len(told) == (3 if declared == Fraction(1, 10**5) else 2)
            assert len({row.epsilon for row in told}) == len(told)
            for row in told:
                assert rho <= row.rho < rho * Fraction(1001, 1000)
                assert delta_above(rho, row.epsilon, eta=eta) <= row.delta
                assert row.delta == 1 or epsilon_above(rho, row.delta) <= row.epsilon
                assert all(len(format(float(x), ".10g")) < 10 for x in (row.rho, row.epsilon))
            deltas = [row.delta for row in told]
            least = [declared] if declared not in (None, Fraction(1, 10**6)) else []
            assert (
                eta > ETA or rho > 1 or deltas == [*least, Fraction(1, 10**6), Fraction(1, 10**9)]
            )
