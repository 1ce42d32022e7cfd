"""A projection on some attributes holds the same rows, and spends from the same account."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from curator_parts import DENSE, ListedNoise, columns_of, counts_of, curator
from numpy.typing import NDArray

from hushtable.errors import BudgetError, OptionError
from hushtable.kernel.counting import CodedColumns
from hushtable.kernel.counting.joint import count_rows
from hushtable.kernel.curator import View
from hushtable.kernel.maps import Identity, Product, Tree

both_holdings = pytest.mark.parametrize("held", [counts_of, columns_of])
FIRST, SECOND = View(0, np.arange(2)), View(1, np.arange(3))
JOINED = View(1, np.array([0, 1, 1]))


def seen_by(held: Any, views: list[View], product: Product) -> NDArray[np.int64]:
    """The true numbers that a projection would add noise to."""
    noise = ListedNoise()
    asked = curator(data=held(DENSE), noise=noise)
    asked.project(views).noisy_coefficients(product, epsilon="0.5")
    return noise.asked[0][0]


@both_holdings
def test_rows_are_counted_by_what_is_left_of_them(held: Any) -> None:
    assert seen_by(held, [FIRST], Product((Identity(2),))).tolist() == [5, 9]
    assert seen_by(held, [SECOND], Product((Identity(3),))).tolist() == [4, 2, 8]
    swapped = seen_by(held, [SECOND, FIRST], Product((Identity(3), Identity(2))))
    assert swapped.tolist() == DENSE.T.tolist()


@both_holdings
def test_codes_of_one_group_are_one(held: Any) -> None:
    two = Product((Identity(2), Identity(2)))
    assert seen_by(held, [FIRST, JOINED], two).tolist() == [[4, 1], [0, 9]]


@both_holdings
def test_a_transform_is_of_the_projected_counts(held: Any) -> None:
    tree = Product((Tree.mixed(3, (2, 2), root=True),))
    expected = tree.axes[0].matrix() @ DENSE.sum(axis=0)
    assert seen_by(held, [SECOND], tree).tolist() == expected.tolist()


@both_holdings
def test_all_projections_spend_one_account(held: Any) -> None:
    asked = curator(data=held(DENSE))
    for view in (FIRST, SECOND):
        asked.project([view]).noisy_total(epsilon="0.4")
    assert asked.spent == Fraction("0.8")
    with pytest.raises(BudgetError):
        asked.project([FIRST]).noisy_total(epsilon="0.3")
    assert asked.spent == Fraction("0.8")


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
@pytest.mark.parametrize("max_rows", [1, 3])
def test_noise_is_scaled_for_all_rows_of_a_person(neighbours: Any, max_rows: int) -> None:
    noise = ListedNoise()
    asked = curator(data=columns_of(DENSE), noise=noise, neighbours=neighbours, max_rows=max_rows)
    asked.project([SECOND]).noisy_coefficients(Product((Identity(3),)), epsilon="0.5")
    moves = 1 if neighbours == "add-remove" else 2
    assert noise.asked[0][1] == moves * max_rows / Fraction("0.5")


def test_the_distance_of_all_draws_adds_up() -> None:
    asked = curator(data=columns_of(DENSE), noise=ListedNoise(Fraction(1, 2**70)))
    asked.project([FIRST]).noisy_total(epsilon="0.1")
    asked.noisy_total(epsilon="0.1")
    assert asked.eta == Fraction(2, 2**70)


@pytest.mark.parametrize(
    "views",
    [[], [FIRST, View(0, np.array([0, 0]))], [View(2, np.arange(2))], [View(0, np.arange(3))]],
    ids=["none", "one axis twice", "no such axis", "of another size"],
)
def test_what_is_no_projection_of_the_domain_is_refused(views: list[View]) -> None:
    asked = curator(data=columns_of(DENSE))
    with pytest.raises(OptionError):
        asked.project(views)
    assert asked.spent == 0


def test_a_code_beyond_its_axis_is_written_nowhere() -> None:
    with pytest.raises(ValueError, match="beyond its axis"):
        beyond = CodedColumns((3,), (np.array([0, 3], np.uint8),))
        count_rows(beyond, np.zeros(3, np.int64))


@pytest.mark.parametrize("rows", [0, 1, 2**16, 2**16 + 1, 150_000])
def test_rows_are_counted_as_one_by_one(rows: int) -> None:
    random = np.random.default_rng(rows)
    shape, room = (3, 5, 300), (4, 5, 301)
    columns = [random.integers(0, size, rows).astype(np.min_scalar_type(size)) for size in shape]
    for people in (None, random.integers(1, 9, rows)):
        expected, counts = np.zeros(room, np.int64), np.zeros(room, np.int64)
        np.add.at(expected, tuple(columns), 1 if people is None else people)
        count_rows(CodedColumns(shape, tuple(columns), people), counts)
        assert np.array_equal(counts, expected)
