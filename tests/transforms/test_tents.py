"""Tents: integer columns of one sum, the same on every machine, and what they cost and tell."""

from __future__ import annotations

import hashlib
from fractions import Fraction

import numpy as np
import pytest

from hushtable.errors import OptionError, ReleaseError
from hushtable.families.linear.describe import product_from_dict
from hushtable.families.linear.gains import mean_gains
from hushtable.families.linear.grids import best_tents, has_tents, tent_height
from hushtable.families.linear.read.transforms import reading_of
from hushtable.kernel.maps import Haar, Product, Tents
from hushtable.workload.intervals import AllRanges

SHAPES = (
    Tents(1, 1, height=16),
    Tents(2, 3, 4),
    Tents(40, 5, 3, 64),
    Tents(300, 12),
    Tents(1024, 8, 9),
    Tents(4096, 12, 13, 128),
    Tents(2**18, 30, 20, 16),
)


@pytest.mark.parametrize("tents", SHAPES, ids=repr)
def test_every_column_adds_up_to_the_sensitivity(tents: Tents) -> None:
    own, _, weights = tents.columns
    assert set((own + weights.sum(axis=0)).tolist()) == {tents.levels} == {tents.height}
    assert own.min() >= 1 and weights.min() >= 0
    assert Product((tents, tents)).entering == tents.height**2


@pytest.mark.parametrize("tents", SHAPES[:4], ids=repr)
def test_the_applied_columns_are_the_matrix_by_its_definition(tents: Tents) -> None:
    counted = tents.forward(np.eye(tents.size, dtype=np.int64), 0)
    np.testing.assert_array_equal(counted, tents.matrix())


def test_heights_are_those_of_the_definition() -> None:
    """Tents over a bent axis, in fractions; the sine alone is Bhaskara's."""
    tents = Tents(37, 4, 3, 4096)
    for code in range(37):
        x = Fraction(2 * code + 1, 74)
        h = 2 * x % 1
        sine = 16 * h * (1 - h) / (5 - 4 * h * (1 - h)) * (1 if x < Fraction(1, 2) else -1)
        place = (x + sine / 32) * Fraction(11, 2) - Fraction(5, 4)
        heights = [max(1 - abs(place - k), 0) for k in range(4)]
        margin = range(-3, 13)
        heights += [Fraction(4, 5) * max(1 - abs(3 * place - k), 0) for k in margin]
        column = tents.matrix()[37:, code]
        exact = [4096 * height / (1 + sum(heights)) for height in heights]
        assert max(abs(a - b) for a, b in zip(column.tolist(), exact, strict=True)) < 0.6


def test_the_integers_are_those_of_every_release_before() -> None:
    """A release names four numbers: what they stand for may never change."""
    digest = hashlib.sha256()
    for tents in SHAPES:
        for part in tents.columns:
            digest.update(part.astype("<i8").tobytes())
    assert digest.hexdigest() == (
        "eb371aed92b0f2a97dcd77fad747eb095876946133d61b625b7d5cb340013c9c"
    )


@pytest.mark.parametrize(
    "numbers",
    [
        (0, 1, 0, 256),
        (2**18 + 1, 1, 0, 256),
        (10, 0, 0, 256),
        (10, 1025, 0, 256),
        (10, 1, 2000, 256),
        (10, 100, 100, 256),
        (10, 1, -1, 256),
        (10, 1, 0, 15),
        (10, 1, 0, 4097),
        (10, 1, 0, True),
        (10, 1, 0.0, 256),
        (10, True, 0, 256),
    ],
)
def test_numbers_out_of_bounds_are_refused_before_anything_is_laid_out(
    numbers: tuple[int, ...],
) -> None:
    with pytest.raises(OptionError):
        Tents(*numbers)
    described = dict(zip(("size", "coarse", "fine", "height"), numbers, strict=True))
    if all(type(number) is int for number in numbers):
        with pytest.raises(ReleaseError):
            product_from_dict([{"kind": "tents", **described}])


@pytest.mark.parametrize(("size", "most"), [(256, 0.296), (1024, 0.31), (4096, 0.304)])
def test_ranges_have_less_than_a_third_of_the_wavelets_error(size: int, most: float) -> None:
    assert _cost(best_tents(size)) / _cost(Haar(size)) < most


def _cost(axis: Tents | Haar) -> float:
    gains = mean_gains(reading_of(axis), AllRanges(axis.size)).sum()
    return float(axis.levels**2 * gains)


def test_coarser_integers_cost_little() -> None:
    coarse, fine = (_cost(best_tents(256, None, height)) for height in (64, 1024))
    assert fine < coarse < 1.05 * fine


def test_many_long_axes_have_small_columns() -> None:
    assert [tent_height((100,) * axes) for axes in (1, 3, 4, 5)] == [256, 256, 128, 64]
    assert tent_height((100, 2, 2, 2, 2, 2)) == 256
    assert not has_tents(10) and has_tents(100) and not has_tents(10**5)
