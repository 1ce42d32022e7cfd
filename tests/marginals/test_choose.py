"""The search for tables: designs hold what they say, and errors are as small as known ones."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from hushtable.families.marginals.choose import (
    Design,
    Wanted,
    _searched,
    balanced,
    best_tables,
    cells_of,
    whole_shares,
)
from hushtable.families.marginals.designs import ORDERS, affine_lines, hyperplanes

thorough = pytest.mark.thorough

ADULT = (32, 9, 32, 16, 16, 7, 15, 6, 5, 2, 32, 32, 32, 42, 2)


@pytest.mark.parametrize("order", ORDERS)
def test_two_points_of_a_plane_are_on_one_line(order: int) -> None:
    pairs = [p for line in affine_lines(order) for p in itertools.combinations(sorted(line), 2)]
    assert len(set(pairs)) == len(pairs) == math.comb(order**2, 2)


@pytest.mark.parametrize("dimension", [2, 3, 4])
def test_three_points_of_a_binary_space_are_in_a_hyperplane(dimension: int) -> None:
    planes = [set(plane) for plane in hyperplanes(dimension)]
    assert len(planes) == 2 ** (dimension + 1) - 2
    for some in itertools.combinations(range(2**dimension), min(3, 2 ** (dimension - 1))):
        assert any(set(some) <= plane for plane in planes)


def wanted(sizes: tuple[int, ...], ways: int) -> Wanted:
    sets = list(itertools.combinations(range(len(sizes)), ways))
    return Wanted.of(sizes, [cells_of(axes, sizes, 1 / len(sets)) for axes in sets])


def rmse(design: Design) -> float:
    """The error of a cell at ε = 1, for noise of variance 2/θ²."""
    return math.sqrt(2 * design.loss)


@pytest.mark.parametrize(
    ("sizes", "ways", "most"),
    [
        ((2,) * 16, 2, 34.1),  # the affine plane of order 4
        pytest.param((2,) * 16, 3, 72.5, marks=thorough),
        pytest.param((4,) * 12, 2, 50.0, marks=thorough),
        pytest.param((4,) * 12, 3, 139, marks=thorough),
        pytest.param((2, 2, 2, 3, 3, 5, 5, 8, 10, 16, 50, 100), 3, 148, marks=thorough),
        pytest.param(ADULT, 1, 19.4, marks=thorough),
        pytest.param(ADULT, 2, 122.1, marks=thorough),
        pytest.param(ADULT, 3, 477, marks=thorough),
    ],
)
def test_errors_are_as_small_as_the_best_that_are_known(
    sizes: tuple[int, ...], ways: int, most: float
) -> None:
    found = best_tables(wanted(sizes, ways), 2**20)
    assert rmse(found) <= most
    for axes in itertools.combinations(range(len(sizes)), ways):
        assert any(set(axes) <= set(table) for table in found.tables)


def test_questions_about_few_attributes_count_beside_those_about_many() -> None:
    """The mean of the errors falls, and single counts gain most; the mean square hardly rises."""
    parts = [wanted(ADULT[:9], ways) for ways in (1, 2, 3)]
    plain = best_tables(Wanted.joined(parts, [1, 1, 1]), 2**20)
    fair = best_tables(balanced(parts, 2**20), 2**20)
    before, after = ([math.sqrt(d.loss_of(part)) for part in parts] for d in (plain, fair))
    assert sum(after) < sum(before) and after[0] < 0.9 * before[0]
    assert math.hypot(*after) < 1.05 * math.hypot(*before)


def test_joined_questions_have_their_own_losses() -> None:
    parts = [wanted((2, 3, 4, 5), ways) for ways in (1, 2)]
    both = Wanted.joined(parts, [3, 1 / 2])
    design = Design.of(both, both.asked)
    design.improve_shares(5)
    alone = []
    for part in parts:
        same = Design.of(part, both.asked)
        same.shares = design.shares
        alone.append(same.loss)
    assert [design.loss_of(part) for part in parts] == pytest.approx(alone)
    assert design.loss == pytest.approx(3 * alone[0] + alone[1] / 2)


def test_the_search_finds_the_same_tables_every_time() -> None:
    asked = wanted((2, 3, 4, 5, 6), 2)
    one = best_tables(asked, 2**20)
    _searched.cache_clear()
    other = best_tables(asked, 2**20)
    assert one.tables == other.tables and np.array_equal(one.shares, other.shares)


def test_a_search_that_is_kept_is_that_of_the_same_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Every figure counts; and whoever changes what was found changes nobody else's."""
    asked = wanted((2, 3, 4, 5, 6), 2)
    found = best_tables(asked, 2**20)
    kept = list(found.tables), found.shares.copy()
    monkeypatch.setattr(Design, "search", no_search)
    found.improve_shares(1)
    again = best_tables(wanted((2, 3, 4, 5, 6), 2), 2**20)
    assert again.tables == kept[0] and np.array_equal(again.shares, kept[1])
    for other in (
        replace(asked, sizes=(2, 3, 4, 5, 7)),
        replace(asked, weights={part: 2 * weight for part, weight in asked.weights.items()}),
        replace(asked, asked=asked.asked[::-1]),
        replace(asked, gains=(3.0, *asked.gains[1:])),
        replace(asked, levels=(2, 1, 1, 1, 1)),
    ):
        with pytest.raises(AssertionError, match="searched again"):
            best_tables(other, 2**20)
    with pytest.raises(AssertionError, match="searched again"):
        best_tables(asked, 2**19)


def no_search(*_: object) -> None:
    raise AssertionError("searched again")


def test_shares_of_disjoint_tables_are_as_the_cube_roots_of_their_costs() -> None:
    """Where every question has a table of its own, but for the total, which any table knows."""
    sizes = (4, 32)
    design = Design.of(wanted(sizes, 1), [(0,), (1,)])
    design.improve_shares(500)
    best = min(
        (Design(design.wanted, design.tables, np.array([t, 1 - t]), design.known).loss, t)
        for t in np.linspace(0.01, 0.99, 981)
    )
    assert design.shares[0] == pytest.approx(best[1], abs=2e-3)


def test_written_shares_are_whole_numbers_and_none_is_nothing() -> None:
    assert whole_shares(np.array([0.5, 0.5 - 1e-9, 1e-9])) == (50_000, 49_999, 1)
