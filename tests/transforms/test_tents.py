"""Tents: integer columns of one sum, the same on every machine, and what they cost and tell."""

from __future__ import annotations

import hashlib
import itertools
import json
from fractions import Fraction

import numpy as np
import pytest

from hushtable.errors import OptionError, ReleaseError
from hushtable.families.linear.describe import product_from_dict
from hushtable.families.linear.gains import mean_gains
from hushtable.families.linear.grids import best_tents, has_tents, lower_tents, tent_height
from hushtable.families.linear.read.transforms import reading_of
from hushtable.kernel.maps import Haar, Product, Tents
from hushtable.workload.intervals import AllRanges, Along, Either, Listed

SHAPES = (
    Tents(1, 1, height=16),
    Tents(2, 3, 4),
    Tents(40, 5, 3, 64),
    Tents(300, 12),
    Tents(1024, 8, 9),
    Tents(4096, 12, 13, 128),
    Tents(2**18, 30, 20, 16),
)

LATER = (
    Tents(64, 3, 0, 256, (7, 16)),
    Tents(300, 2, 9, 64, (14, 12), 1),
    Tents(1024, 3, 12, left=0),
    Tents(37, 2, 3, 16, (40, 40), 4),
)
"""With heights and margins that the first releases did not have."""


@pytest.mark.parametrize("tents", (*SHAPES, *LATER), ids=repr)
def test_every_column_adds_up_to_the_sensitivity(tents: Tents) -> None:
    own, _, weights = tents.columns
    assert set((own + weights.sum(axis=0)).tolist()) == {tents.levels} == {tents.height}
    assert own.min() >= 1 and weights.min() >= 0
    assert Product((tents, tents)).entering == tents.height**2


@pytest.mark.parametrize("tents", (*SHAPES[:4], *LATER), ids=repr)
def test_the_applied_columns_are_the_matrix_by_its_definition(tents: Tents) -> None:
    counted = tents.forward(np.eye(tents.size, dtype=np.int64), 0)
    np.testing.assert_array_equal(counted, tents.matrix())


@pytest.mark.parametrize(("peaks", "left"), [((20, 16), 5), ((7, 30), 5), ((14, 12), 1)])
def test_heights_are_those_of_the_definition(peaks: tuple[int, int], left: int) -> None:
    """Tents over an axis, in fractions; where it is bent, the sine alone is Bhaskara's."""
    tents = Tents(37, 4, 3, 4096, peaks, left)
    high, low = (Fraction(peak, 20) for peak in peaks)
    for code in range(37):
        x = Fraction(2 * code + 1, 74)
        h = 2 * x % 1
        sine = 16 * h * (1 - h) / (5 - 4 * h * (1 - h)) * (1 if x < Fraction(1, 2) else -1)
        bent = x + sine / 32 if left == 5 else x
        place = bent * Fraction(17 + left, 4) - Fraction(left, 4)
        heights = [high * max(1 - abs(place - k), 0) for k in range(4)]
        grid = range(-(3 * left // 4), 13)
        heights += [low * max(1 - abs(3 * place - k), 0) for k in grid]
        column = tents.matrix()[37:, code]
        exact = [4096 * height / (1 + sum(heights)) for height in heights]
        assert max(abs(a - b) for a, b in zip(column.tolist(), exact, strict=True)) < 0.6


def test_the_integers_are_those_of_every_release_before() -> None:
    """A release names four numbers: what they stand for may never change."""
    assert _digest(SHAPES) == "eb371aed92b0f2a97dcd77fad747eb095876946133d61b625b7d5cb340013c9c"
    assert _digest(LATER) == "88eac20c767c7787815b8adb328671dd5f90896f5ddd0c31056a3df315ad04d5"


def _digest(shapes: tuple[Tents, ...]) -> str:
    digest = hashlib.sha256()
    for tents in shapes:
        for part in tents.columns:
            digest.update(part.astype("<i8").tobytes())
    return digest.hexdigest()


def test_what_is_as_usual_is_stored_as_before() -> None:
    assert list(Tents(9, 2, 3).to_dict()) == ["kind", "size", "coarse", "fine", "height"]
    for tents in (*SHAPES, *LATER):
        described = json.loads(json.dumps([tents.to_dict()]))
        assert product_from_dict(described) == Product((tents,))


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


@pytest.mark.parametrize(
    ("peaks", "left"),
    [((41, 16), 5), ((20, 41), 5), ((0, 16), 5), ((True, 16), 5), ((20, 16), 6), ((20, 16), -1)],
)
def test_tents_that_are_too_high_or_stand_too_far_off_are_refused(
    peaks: tuple[int, int], left: int
) -> None:
    """Higher ones would leave a code less than nothing, and more would change than is paid for."""
    with pytest.raises(OptionError):
        Tents(10, 2, 2, 256, peaks, left)
    described = Tents(10, 2, 2).to_dict() | {"peaks": list(peaks), "left": left}
    with pytest.raises(ReleaseError):
        product_from_dict([described])


@pytest.mark.parametrize("left", range(6))
def test_the_highest_tents_leave_every_code_something(left: int) -> None:
    for size, coarse, fine in itertools.product((30, 97), (2, 5), (0, 1, 3, 8)):
        own, _, weights = Tents(size, coarse, fine, 16, (40, 40), left).columns
        assert own.min() >= 1 and weights.min() >= 0


@pytest.mark.parametrize(("size", "most"), [(256, 0.296), (1024, 0.307), (4096, 0.303)])
def test_ranges_have_less_than_a_third_of_the_wavelets_error(size: int, most: float) -> None:
    assert _cost(best_tents(size)) / _cost(Haar(size)) < most


@pytest.mark.parametrize(
    ("size", "most"), [(64, 0.34), (256, 0.33), (1024, 0.327), (4096, 0.335), (10_000, 0.35)]
)
def test_prefixes_have_a_third_of_the_wavelets_error(size: int, most: float) -> None:
    ends = np.arange(1, size + 1)
    prefixes = Listed(np.zeros_like(ends), ends, size)
    best = best_tents(size, prefixes)
    assert best.left == 1
    assert _cost(best, prefixes) / _cost(Haar(size), prefixes) < most


@pytest.mark.parametrize(("size", "weight", "most"), [(256, 20, 0.71), (4096, 20, 0.76)])
def test_lower_tents_are_offered_where_cells_are_asked_too(
    size: int, weight: int, most: float
) -> None:
    ranges, cells = AllRanges(size), Listed(np.arange(size), np.arange(1, size + 1), size)
    offered = lower_tents(size, [ranges, cells])
    least = min(_cost(tents, ranges) + weight * _cost(tents, cells) for tents in offered)
    usual = best_tents(size)
    assert least < most * (_cost(usual, ranges) + weight * _cost(usual, cells))
    for sets in ([], [ranges], [cells], [Listed.of([(0, size)])]):
        assert not lower_tents(size, sets)
    assert lower_tents(size, [Either((ranges, cells))]) == offered


def _cost(axis: Tents | Haar, along: Along | None = None) -> float:
    gains = mean_gains(reading_of(axis), along or AllRanges(axis.size))
    factors = np.array([float(c.factor) for c in axis.classes])
    return float(axis.levels**2 * (gains @ factors**2))


def test_coarser_integers_cost_little() -> None:
    coarse, fine = (_cost(best_tents(256, None, height)) for height in (64, 1024))
    assert fine < coarse < 1.05 * fine


def test_many_long_axes_have_small_columns() -> None:
    assert [tent_height((100,) * axes) for axes in (1, 3, 4, 5)] == [256, 256, 128, 64]
    assert tent_height((100, 2, 2, 2, 2, 2)) == 256
    assert not has_tents(10) and has_tents(100) and not has_tents(10**5)
