"""Half widths of all single codes under tents at once: never short, hardly wider than alone."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from hushtable.families.linear.read import spiked
from hushtable.families.linear.read.coefficients import NoisyCoefficients
from hushtable.families.linear.read.spiked import AxisKinds, SpikedLaws
from hushtable.families.linear.read.transforms import ProductReading, reading_of
from hushtable.families.linear.tents_reading import TentsReading
from hushtable.kernel.maps import AxisTransform, Haar, Identity, Product, Tents, Tree
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.query.box import Box, CodeSet
from hushtable.query.law import noise_sum
from hushtable.query.reader import Estimates, SharedLaws
from hushtable.query.result import Measure

Axes = tuple[AxisTransform, ...]
TREE = Tree.mixed(12, (3, 4), shares=(Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)))


@pytest.fixture
def exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every law has all its terms, and no table is too small to be answered at once."""
    monkeypatch.setattr(noise_sum, "_MANY", 10**9)
    monkeypatch.setattr(noise_sum, "_MANY_RARE", 10**9)
    monkeypatch.setattr(NoisyCoefficients, "_are_many", lambda *_: False)
    monkeypatch.setattr(spiked, "_FEW", 0)
    monkeypatch.setattr(spiked, "_FEW_MIXED", 0)


def grouped(
    axes: Axes, cut: tuple[int, ...], scale: Fraction, sets: Box | None = None
) -> Estimates:
    """The counts of single codes along some axes, of coefficients that are all zero."""
    transform = Product(axes)
    zeros = np.zeros([axis.classes[-1].stop for axis in axes])
    reading = ProductReading.of(transform)
    reader = NoisyCoefficients(reading, lambda *box: zeros[box], DiscreteLaplace(scale), "")
    whole = sets or Box.full(tuple(axis.size for axis in axes))
    cuts = [(i, np.stack([np.arange(axes[i].size), np.arange(axes[i].size) + 1], 1)) for i in cut]
    return reader.group((whole,), cuts)


def shared(found: Estimates) -> SharedLaws:
    assert isinstance(found.laws, SharedLaws)
    return found.laws


# Axes, which of them are cut, the scale of the noise, and how much wider than by itself.
CASES: tuple[tuple[Axes, tuple[int, ...], int, float], ...] = (
    ((Tents(300, 13),), (0,), 256, 0.01),
    ((Tents(600, 7, 8),), (0,), 9, 0.02),
    ((Tents(45, 3), Tents(30, 2)), (1, 0), 400, 0.03),
    ((Tents(200, 8), Identity(20)), (0,), 256, 0.03),
    ((Tents(200, 8), Identity(2)), (0,), 256, 0.08),
    ((Tents(200, 8), Identity(5)), (0, 1), 256, 0.01),
    ((Tents(45, 3), Tents(30, 2)), (0,), 300, 0.08),
    ((TREE, Tents(200, 8)), (0, 1), 300, 0.02),
    ((TREE, Tents(200, 8)), (1,), 300, 0.06),
    ((Haar(6), Tents(200, 8)), (0, 1), 300, 0.02),
)


@pytest.mark.usefixtures("exactly")
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]} by {case[1]}")
def test_half_widths_of_all_are_those_of_one_after_the_other(
    case: tuple[Axes, tuple[int, ...], int, float],
) -> None:
    axes, cut, scale, room = case
    laws = shared(grouped(axes, cut, Fraction(scale)))
    some = np.random.default_rng(len(laws)).permutation(len(laws))[:5]
    one_by_one = [laws[number] for number in some.tolist()]
    assert laws.variances(some) == pytest.approx([law.variance for law in one_by_one], rel=1e-9)
    for confidence in (0.6, 0.95, 1 - 1e-7):
        least = np.array([law.half_width(confidence) for law in one_by_one])
        found = laws.half_widths(some, confidence)
        # One by one, they have room of half a percent of their own.
        assert np.all(found >= 0.992 * least)
        assert confidence < 0.9 or np.all(found <= (1 + room) * least)


@pytest.mark.usefixtures("exactly")
@pytest.mark.parametrize(
    ("axes", "cut", "scale"),
    [
        ((Tents(3, 1, 0, 16),), (0,), 5),
        ((Tents(3, 2, 0, 16),), (0,), 1),
        ((Tents(2, 1, 0, 16), Identity(2)), (0,), 1),
    ],
    ids=repr,
)
@pytest.mark.parametrize("by_class", [False, True])
def test_no_half_width_is_short(
    axes: Axes, cut: tuple[int, ...], scale: int, by_class: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The chance that noise goes further is added up over all values that it can have."""
    if by_class:  # as if the largest weight told nothing
        monkeypatch.setattr(spiked, "_MOSTLY", 2)
        nothing = staticmethod(lambda places, *_: np.full(len(places[0]), np.inf))
        monkeypatch.setattr(spiked.SpikedLaws, "_by_largest", nothing)
    laws = shared(grouped(axes, cut, Fraction(scale)))
    for confidence in (0.5, 0.8, 0.95, 0.99, 0.999):
        found = laws.half_widths(np.arange(len(laws)), confidence)
        for number, half in enumerate(found.tolist()):
            assert beyond(laws[number].terms, half) <= (1 - confidence) * (1 + 1e-9)  # type: ignore[attr-defined]


def beyond(terms: object, reach: float) -> float:
    """P[|Σ weight · noise| > reach], from the values and chances of either half of the noises."""
    each = [(w, noise) for w, noise, count in terms for _ in range(count)]  # type: ignore[attr-defined]
    places, chances = _values(each[::2])
    order = np.argsort(places)
    above = np.append(np.cumsum(chances[order][::-1])[::-1], 0.0)
    others, theirs = _values(each[1::2])
    sides = np.searchsorted(places[order], reach - others, side="right")
    return 2 * float(above[sides] @ theirs)


def _values(each: list[tuple[float, DiscreteLaplace]]) -> tuple[np.ndarray, np.ndarray]:
    places, chances = np.zeros(1), np.ones(1)
    for weight, noise in each:
        last = int(18 / noise.rate)
        numbers = np.arange(-last, last + 1)
        alpha = np.exp(-noise.rate)
        places = np.add.outer(places, weight * numbers).reshape(-1)
        chances = np.multiply.outer(chances, (1 - alpha) / (1 + alpha) * alpha ** abs(numbers))
        chances = chances.reshape(-1)
    return places, chances


@pytest.mark.parametrize("reach", np.arange(0.55, 8, 0.2).tolist())
def test_classes_of_continuous_noise_reach_as_far_as_discrete_noise(reach: float) -> None:
    """One noise alone: just below a whole number, a continuous one would be short."""
    one = np.ones(1)
    kinds = AxisKinds.of_one(one, one, 0 * one)
    noise = DiscreteLaplace(Fraction(1))
    laws = SpikedLaws(noise, (kinds,), (1,), Fraction(1))
    miss = float(np.exp(-reach))
    half = laws._by_class((np.zeros(1, np.intp),), miss).item()
    alpha = np.exp(-1)
    assert 2 * alpha ** (np.floor(half) + 1) / (1 + alpha) <= miss
    assert half <= reach + 1.6


@pytest.mark.parametrize(
    "tents", [Tents(3, 1, 0, 16), Tents(60, 4, 3), Tents(50, 2, 3, 64, (7, 7), 1)], ids=repr
)
def test_the_weights_of_single_codes(tents: Tents) -> None:
    reading = reading_of(tents)
    assert isinstance(reading, TentsReading)
    codes = np.arange(tents.size)
    squares = reading.rows(np.eye(tents.size)) ** 2
    total, own, others = reading.single(codes)
    assert total == pytest.approx(squares.sum(axis=1))
    assert own == pytest.approx(squares[codes, codes])
    squares[codes, codes] = 0
    assert np.all(squares.max(axis=1) <= others * (1 + 1e-9))
    assert np.all(others <= 40 * squares.max(axis=1) + 1e-12)


@pytest.mark.usefixtures("exactly")
def test_groups_without_codes_have_no_noise() -> None:
    some = Box((CodeSet(((0, 3), (5, 9))), CodeSet.full(2)))
    found = grouped((Tents(12, 2), Identity(2)), (0,), Fraction(9), some)
    halves = shared(found).half_widths(np.arange(len(found.laws)), 0.95)
    assert np.array_equal(
        halves[found.law_of_row] > 0, [i in (0, 1, 2, 5, 6, 7, 8) for i in range(12)]
    )


@pytest.mark.usefixtures("exactly")
def test_groups_of_several_codes_are_answered_one_by_one() -> None:
    reader = NoisyCoefficients(
        ProductReading.of(Product((Tents(12, 2),))), lambda *box: np.zeros(14)[box],
        DiscreteLaplace(Fraction(9)), "",
    )  # fmt: skip
    found = reader.group((Box.full((12,)),), [(0, np.array([(0, 2), (2, 12)]))])
    assert not isinstance(found.laws, SharedLaws)


@pytest.mark.usefixtures("exactly")
def test_a_measure_asks_for_the_laws_of_its_rows_at_once() -> None:
    found = grouped((Tents(12, 2), Identity(3)), (0, 1), Fraction(50))
    laws = shared(found)
    measure = Measure.from_estimates(found).taken(np.array([7, 30, 7]))
    numbers = found.law_of_row[[7, 30, 7]]
    halves = laws.half_widths(numbers, 0.9)
    assert measure.half_widths(0.9) == pytest.approx(halves)
    low, high = measure.bounds(0.9)
    assert high == pytest.approx(halves) and low == pytest.approx(-halves)
    assert measure.stderr == pytest.approx([laws[n].variance ** 0.5 for n in numbers.tolist()])
    assert not measure.estimates.any() and measure.note == ""


def test_few_groups_are_answered_one_by_one() -> None:
    assert not isinstance(grouped((Tents(40, 3),), (0,), Fraction(256)).laws, SharedLaws)
    mixed = (Tents(600, 7, 8), Identity(3))
    assert not isinstance(grouped(mixed, (0,), Fraction(256)).laws, SharedLaws)
    many = grouped((Tents(40, 3), Tents(30, 2)), (0, 1), Fraction(256))
    assert isinstance(many.laws, SharedLaws)
    assert len(many.laws) == len(list(product(range(40), range(30))))
