"""ε is exact, whatever it was written as."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushtable.errors import OptionError
from hushtable.kernel.privacy.loss import (
    Exposure,
    Loss,
    format_epsilon,
    format_eta,
    parse_epsilon,
    parse_stored_epsilon,
    stated_eta,
)

ratios = st.builds(
    Fraction,
    st.integers(1, 10**60),
    st.integers(1, 10**60) | st.integers(0, 190).map(lambda n: 2**n),
)


@pytest.mark.parametrize(
    ("written", "exact"),
    [
        ("0.1", Fraction(1, 10)),
        (" 1.50 ", Fraction(3, 2)),
        ("1e-3", Fraction(1, 1000)),
        (2, Fraction(2)),
        (0.1, Fraction(1, 10)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.int64(3), Fraction(3)),
        (Decimal("0.30"), Fraction(3, 10)),
        (Fraction(1, 3), Fraction(1, 3)),
    ],
)
def test_epsilon_is_what_was_written(written: Any, exact: Fraction) -> None:
    assert parse_epsilon(written) == exact


def test_a_tenth_and_two_tenths_are_three_tenths() -> None:
    assert parse_epsilon(0.1) + parse_epsilon(0.2) == parse_epsilon(0.3)


JUNK: list[Any] = [
    *(0, -1, "0", "-0.5", 0.0, -0.0, Fraction(0), Fraction(-1, 2), Decimal(0)),
    *(math.nan, math.inf, -math.inf, "nan", "sNaN", "inf", "Infinity", Decimal("NaN")),
    *(True, False, np.True_, None, "", "one", "0,5", "1/3", "1_0", "１", "0x1", [], {}, b"1", 1j),
    *("1" * 41, "1e41", "1e-41", "1e99999999999999999999", 10**5000, Fraction(1, 10**5000)),
]


@pytest.mark.parametrize("junk", JUNK, ids=lambda _: "junk")  # some are too long to print
def test_what_is_no_positive_number_is_refused_in_one_line(junk: Any) -> None:
    with pytest.raises(OptionError, match=r"\Aepsilon must .*\Z"):
        parse_epsilon(junk)


@given(ratios)
def test_what_is_stored_is_read_back_exactly(epsilon: Fraction) -> None:
    assert parse_stored_epsilon(format_epsilon(epsilon)) == epsilon


@given(st.decimals(min_value="1e-20", max_value=10**9, places=20))
def test_decimals_are_printed_as_decimals(epsilon: Decimal) -> None:
    text = format_epsilon(Fraction(epsilon))
    assert "/" not in text and Decimal(text) == epsilon


@given(st.floats(min_value=1e-15, max_value=1e15))
def test_a_float_is_what_it_prints(epsilon: float) -> None:
    assert parse_epsilon(epsilon) == Fraction(repr(epsilon))


@pytest.mark.parametrize(
    "text", ["1/0", "/3", "1/", "-1/3", "1/-3", "0/1", "1/2/3", "0", "9" * 5000 + "/7"]
)
def test_a_stored_epsilon_is_checked_like_any_other(text: str) -> None:
    with pytest.raises(OptionError):
        parse_stored_epsilon(text)


@pytest.mark.parametrize(
    ("neighbours", "max_rows", "entering", "moving", "expected"),
    [
        ("add-remove", 1, 1, 2, 1),
        ("add-remove", 4, 3, 5, 12),
        ("replace-one", 1, 1, 2, 2),
        ("replace-one", 4, 3, 5, 20),
        ("replace-one", 2, 7, 5, 14),  # a row that the schema drops leaves
    ],
)
def test_one_person_changes_all_their_rows(
    neighbours: Any, max_rows: int, entering: int, moving: int, expected: int
) -> None:
    exposure = Exposure(neighbours, max_rows)
    assert exposure.sensitivity(entering=entering, moving=moving) == expected


@pytest.mark.parametrize("exposure", [("add-remove", 0), ("replace-one", -1), ("both", 1)])
def test_an_exposure_that_means_nothing_is_refused(exposure: tuple[Any, int]) -> None:
    with pytest.raises(OptionError):
        Exposure(*exposure)


def test_losses_add_up() -> None:
    loss = Loss(Fraction(1, 10), Fraction(1, 2**61)) + Loss(Fraction(1, 5), Fraction(1, 2**61))
    assert loss == Loss(Fraction(3, 10), Fraction(1, 2**60))


@given(st.fractions(0, 700), st.integers(10, 1090))
def test_delta_bounds_the_exact_value_from_above(epsilon: Fraction, bits: int) -> None:
    eta = Fraction(1, 2**bits)
    delta = Fraction(Loss(epsilon, eta).delta)
    below = (1 + Fraction(math.exp(float(epsilon))) * (1 - Fraction(1, 2**43))) * eta
    assert delta == 1 or delta > below
    assert delta <= 1 and delta <= below * (1 + Fraction(1, 2**38)) + Fraction(1, 2**1073)


def test_delta_is_zero_without_eta_and_one_at_most() -> None:
    assert Loss(Fraction(5000)).delta == 0.0
    assert Loss(Fraction(5000), Fraction(1, 2**60)).delta == 1.0
    assert Loss(Fraction(10**400), Fraction(1, 2**60)).delta == 1.0


@given(st.fractions(0, Fraction(1, 2**60)) | st.integers(55, 130).map(lambda n: Fraction(1, 2**n)))
def test_a_stated_eta_is_rounded_up_to_few_values(eta: Fraction) -> None:
    stated = stated_eta(eta)
    assert eta <= stated and stated in {Fraction(1, 2**bits) for bits in range(55, 101, 5)}
    assert stated == Fraction(1, 2**100) or stated < 32 * eta
    assert format_eta(stated) == f"2^-{stated.denominator.bit_length() - 1}"
    assert Fraction(float(stated)) == stated
