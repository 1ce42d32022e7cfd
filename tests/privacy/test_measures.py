"""What each kind of question costs in ε and in ρ, against divergences that are added up."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushtable.errors import OptionError
from hushtable.kernel.privacy.loss import LARGEST_SCALE, Exposure
from hushtable.kernel.privacy.measures import DIGITS, Measure, root_below

PURE, ZCDP = Measure.PURE, Measure.ZCDP

ORDERS = (1.001, 1.1, 1.5, 2, 3, 7, 20, 60)
"""α of Rényi's divergences; the limit for α → 1 is not far."""


def renyi(p: Sequence[float], q: Sequence[float], order: float) -> float:
    """Rényi's divergence of two laws."""
    total = math.fsum(
        a * math.expm1((order - 1) * math.log(a / b)) for a, b in zip(p, q, strict=True)
    )
    return math.log1p(total) / (order - 1)


def concentrated(p: Sequence[float], q: Sequence[float]) -> float:
    """The ρ that these two laws cost, as far as the orders tell."""
    return max(renyi(p, q, order) / order for order in ORDERS)


def softmax(exponents: Sequence[float]) -> list[float]:
    weights = [math.exp(exponent) for exponent in exponents]
    return [weight / math.fsum(weights) for weight in weights]


def test_there_are_two_measures_by_name() -> None:
    assert [Measure.named(name) for name in ("pure", "zcdp")] == list(Measure)
    assert [(measure.sign, measure.word) for measure in Measure] == [("ε", "epsilon"), ("ρ", "rho")]


@pytest.mark.parametrize("junk", ["", "PURE", "rho", "pure ", None, 1, [], {}, b"zcdp", ZCDP])
def test_another_measure_is_refused_in_one_line(junk: Any) -> None:
    with pytest.raises(OptionError, match=r"\Athe measure of privacy must be .*\Z"):
        Measure.named(junk)


@pytest.mark.parametrize("junk", [0, -1, "0", math.nan, True, None, "1/3", "x", "1" * 41])
def test_an_amount_is_read_as_epsilon_is(junk: Any) -> None:
    assert ZCDP.parse("0.015") == Fraction(3, 200)
    for measure in Measure:
        with pytest.raises(OptionError, match=rf"\A{measure.word} must .*\Z"):
            measure.parse(junk)


@pytest.mark.parametrize(
    ("epsilon", "question", "choice"),
    [
        (Fraction(1), Fraction(1, 2), Fraction(1, 8)),
        (Fraction(1, 10), Fraction(1, 200), Fraction(1, 800)),
        (Fraction(4, 3), Fraction(8, 9), Fraction(2, 9)),
    ],
)
def test_prices(epsilon: Fraction, question: Fraction, choice: Fraction) -> None:
    assert PURE.price(epsilon) == PURE.price_of_choice(epsilon) == epsilon
    assert (ZCDP.price(epsilon), ZCDP.price_of_choice(epsilon)) == (question, choice)


@pytest.mark.parametrize("epsilon", [Fraction(1, 50), Fraction(1, 2), Fraction(2), Fraction(6)])
def test_a_pure_question_costs_no_more_than_its_price(epsilon: Fraction) -> None:
    """Of all laws that differ by e^ε at most, two outcomes at its ends differ most."""
    odds = math.exp(float(epsilon))
    law = [odds / (1 + odds), 1 / (1 + odds)]
    cost, price = concentrated(law, law[::-1]), float(ZCDP.price(epsilon))
    assert cost <= price * (1 + 1e-9)
    assert cost > 0.99 * price or epsilon > Fraction(1, 50)


@pytest.mark.parametrize("epsilon", [Fraction(1, 50), Fraction(1, 2), Fraction(2), Fraction(6)])
def test_a_choice_costs_no_more_than_its_price(epsilon: Fraction) -> None:
    """All scores of two and three candidates, all changes by one at most."""
    step, worst = float(epsilon) / 2, 0.0
    for candidates in (2, 3):
        for scores in itertools.product(range(0, -4, -1), repeat=candidates):
            law = softmax([score * step for score in scores])
            for change in itertools.product((-1, 0, 1), repeat=candidates):
                moved = softmax([(a + b) * step for a, b in zip(scores, change, strict=True)])
                worst = max(worst, concentrated(moved, law))
    price = float(ZCDP.price_of_choice(epsilon))
    assert worst <= price * (1 + 1e-9)
    assert worst > 0.98 * price or epsilon > Fraction(1, 50)


@pytest.mark.parametrize("sigma_squared", [Fraction(1, 3), Fraction(1), Fraction(13, 2)])
@pytest.mark.parametrize("change", [1, 2, 3])
def test_gaussian_noise_on_integers_costs_its_price(change: int, sigma_squared: Fraction) -> None:
    places = range(-90, 91)
    order = 3
    exponents = [
        -(order * (x - change) ** 2 + (1 - order) * x**2) / (2 * float(sigma_squared))
        for x in places
    ]
    whole = math.fsum(math.exp(-(x**2) / (2 * float(sigma_squared))) for x in places)
    divergence = math.log(math.fsum(map(math.exp, exponents)) / whole) / (order - 1)
    price = float(ZCDP.price_of_gaussian(change**2, sigma_squared))
    assert divergence == pytest.approx(order * price, rel=1e-9)


def test_no_gaussian_noise_is_pure() -> None:
    with pytest.raises(OptionError, match="Gaussian noise needs"):
        PURE.price_of_gaussian(1, Fraction(10**9))


@pytest.mark.parametrize(
    ("neighbours", "max_rows", "entering", "moving", "squared"),
    [
        ("add-remove", 1, 1, 2, 1),
        ("add-remove", 3, 2, 5, 18),
        ("replace-one", 1, 1, 2, 2),
        ("replace-one", 3, 2, 5, 45),
        ("replace-one", 2, 7, 5, 28),  # a row that leaves changes more than any that moves
        ("replace-one", 2, 1, 0, 4),
    ],
)
def test_the_noise_pays_for_all_rows_of_a_person(
    neighbours: Any, max_rows: int, entering: int, moving: int, squared: int
) -> None:
    exposure, rho = Exposure(neighbours, max_rows), Fraction(3, 200)
    row = {"entering": Fraction(entering), "moving": Fraction(moving)}
    assert exposure.squared_sensitivity(**row) == squared
    sigma_squared = exposure.sigma_squared(rho, **row)
    assert sigma_squared == Fraction(squared * 100, 3)
    assert ZCDP.price_of_gaussian(squared, sigma_squared) == rho


def test_noise_that_would_not_fit_is_refused() -> None:
    exposure, row = Exposure("add-remove"), {"entering": Fraction(1), "moving": Fraction(2)}
    least = Fraction(1, 2 * LARGEST_SCALE**2)
    assert exposure.sigma_squared(least, **row) == LARGEST_SCALE**2
    with pytest.raises(OptionError, match=r"\Arho is so small .*\Z"):
        exposure.sigma_squared(least * Fraction(99, 100), **row)


@given(st.fractions(Fraction(1, 10**30), 10**30))
def test_an_amount_that_is_the_price_of_a_fraction_pays_for_it(epsilon: Fraction) -> None:
    for measure in Measure:
        assert measure.epsilon(measure.price(epsilon)) == epsilon
        assert measure.epsilon_of_choice(measure.price_of_choice(epsilon)) == epsilon


AMOUNTS = [
    Fraction(number) * Fraction(10) ** power
    for number in ("1", "2", "3", "5", "7", "9.99", "1/3", "11/7")
    for power in (-150, -41, -40, -3, -2, -1, 0, 1, 2, 3, 40, 41, 150)
]


def test_an_amount_pays_for_what_is_asked_and_hardly_more() -> None:
    for amount in AMOUNTS:
        assert PURE.epsilon(amount) == PURE.epsilon_of_choice(amount) == amount
        for price, epsilon in (
            (ZCDP.price, ZCDP.epsilon(amount)),
            (ZCDP.price_of_choice, ZCDP.epsilon_of_choice(amount)),
        ):
            assert price(epsilon) <= amount < price(epsilon * (1 + Fraction(1, 10 ** (DIGITS - 1))))


def test_roots_that_have_no_end_have_few_digits() -> None:
    assert root_below(Fraction(4, 9)) == Fraction(2, 3)
    assert root_below(Fraction(2)) == Fraction("1.414213562373095")
    for square in AMOUNTS:
        root = root_below(square)
        digits = str(root.numerator * 10**400 // root.denominator).strip("0")
        assert root**2 == square or len(digits) <= DIGITS + 2


def test_amounts_are_worked_out_without_arrays() -> None:
    program = (
        "import sys, hushtable.kernel.privacy.conversion, hushtable.kernel.privacy.account\n"
        "assert not {'numpy', 'sqlite3'} & set(sys.modules), 'imported'"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
