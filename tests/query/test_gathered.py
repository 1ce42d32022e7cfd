"""Laws of very many weights: never short of the exact law, hardly wider, of the same variance."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hushtable.families.linear.read.coefficients import NoisyCoefficients
from hushtable.families.linear.read.transforms import ProductReading
from hushtable.kernel.maps import AxisTransform, Haar, Identity, Product, Tents, Tree
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.query.box import Box, Boxes, CodeSet
from hushtable.query.law import NoiseLaw, NoiseSum, noise_sum
from hushtable.query.law.gathered import Sizes
from hushtable.query.weighing import WeighedBox

NOISE = DiscreteLaplace(Fraction(7))
CONFIDENCES = (0.5, 0.9, 0.95, 0.999, 1 - 1e-7, 1 - 1e-11)

WEIGHTS = st.lists(
    st.floats(1e-9, 1e3) | st.floats(0.9, 1.1) | st.just(0.0), min_size=1, max_size=200
).map(np.array)


def exact(weights: np.ndarray) -> NoiseSum:
    return NoiseSum.weighted(
        {(float(w), NOISE): int(n) for w, n in zip(*counted(weights), strict=True)}
    )


def counted(weights: np.ndarray) -> Any:
    return np.unique(np.abs(weights), return_counts=True)


def check(found: NoiseLaw, wanted: NoiseLaw, room: float = 0.02) -> None:
    assert found.variance == pytest.approx(wanted.variance, rel=1e-9)
    for confidence in CONFIDENCES:
        least = wanted.half_width(confidence)
        # The exact law's half widths have room of half a percent of their own.
        assert 0.994 * least <= found.half_width(confidence) <= (1 + room) * least


@settings(deadline=None, max_examples=60)
@given(WEIGHTS)
def test_members_lie_within_their_classes(weights: np.ndarray) -> None:
    sizes = Sizes.of(weights)
    held = np.sort(weights[weights > 1e-14 * weights.max()])
    assert sizes.counts.sum() == len(held)
    np.testing.assert_allclose(sizes.sums.sum(), held.sum())
    np.testing.assert_allclose(sizes.squares.sum(), np.square(held).sum())
    which = np.repeat(np.arange(len(sizes.counts)), sizes.counts.astype(int))
    assert (sizes.low[which] <= held).all() and (held <= sizes.high[which]).all()


@settings(deadline=None, max_examples=60)
@given(WEIGHTS, WEIGHTS)
def test_products_and_sums_are_those_of_all_members(one: np.ndarray, other: np.ndarray) -> None:
    product, both = Sizes.of(one) * Sizes.of(other), Sizes.of(one) + Sizes.of(other)
    pairs = np.multiply.outer(one, other)
    np.testing.assert_allclose(
        product.squares.sum(), np.square(pairs).sum(), rtol=1e-9, atol=1e-300
    )
    np.testing.assert_allclose(both.sums.sum(), one.sum() + other.sum(), rtol=1e-9, atol=1e-300)


@settings(deadline=None, max_examples=60)
@given(WEIGHTS)
@example(np.array([0.99999] * 3))
def test_doubts_have_at_least_the_moments_of_the_difference(weights: np.ndarray) -> None:
    """Σ log E[exp(x(w − w′)N)] over all members is no more than that of the doubts."""
    sizes = Sizes.of(weights)
    held = np.sort(weights[weights > 1e-14 * weights.max()])
    which = np.repeat(np.arange(len(sizes.counts)), sizes.counts.astype(int))
    difference = np.abs(held - sizes.stand_ins[which])
    difference[difference <= 1e-15 * held] = 0.0  # what stands in for equal members is rounded
    listed = list(sizes.doubts())
    for part in (0.01, 0.3, 0.9):
        x = part * NOISE.rate / max(difference.max(initial=0.0), 1e-300)
        x = min([x, *(part * NOISE.rate / width for width, _ in listed)])
        true = NOISE.log_moment(x * difference).sum()
        bound = sum(count * NOISE.log_moment(np.array(x * w)) for w, count in listed)
        assert true <= bound * (1 + 1e-6) + 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_gathered_sums_reach_as_far_as_exact_ones(seed: int) -> None:
    random = np.random.default_rng(seed)
    weights = np.exp(random.normal(0, 2, 900))
    check(NoiseSum.gathered([(NOISE, Sizes.of(weights))]), exact(weights))


def test_a_sum_of_many_terms_is_gathered_by_itself() -> None:
    weights = np.exp(np.random.default_rng(5).normal(0, 1, 1500))
    many = exact(weights)
    assert len(many.terms) > noise_sum._MANY
    gathered = NoiseSum.gathered([(NOISE, Sizes.of(weights))])
    assert many.half_width(0.95) == pytest.approx(gathered.half_width(0.95), rel=1e-3)


def test_without_doubts_an_interval_would_be_short() -> None:
    """What is left of the difference decides where classes are wide."""
    low, high, one = np.array([1.0]), np.array([3.0]), np.array([2.0])
    wide = Sizes(low, high, one, np.array([4.0]), np.array([10.0]))
    law = NoiseSum.gathered([(NOISE, wide)])
    true = exact(np.array([1.0, 3.0]))
    assert NoiseSum(law.terms).half_width(0.999) < true.half_width(0.999) <= law.half_width(0.999)


# ── answers from tents ───────────────────────────────────────────────────────────────────────────

PRODUCTS: tuple[tuple[AxisTransform, ...], ...] = (
    (Tents(60, 4, 3),),
    (Tents(30, 3), Tents(20, 2, 2, 64)),
    (Tents(30, 4), Identity(7)),
    (Haar(6), Tents(40, 3, 2)),
    (Tents(24, 3), Tree.mixed(6, (2, 3), shares=(Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)))),
)


def box(*pairs: tuple[int, int]) -> Box:
    return Box(tuple(CodeSet.of(pair) for pair in pairs))


def asked(axes: tuple[AxisTransform, ...]) -> list[Boxes]:
    one = box(*((1, axis.size - 1) for axis in axes))
    cell = box(*((2, 3) for _ in axes))
    left = box(*((0, 2) for _ in axes))
    right = box(*((3, axis.size) for axis in axes))
    return [(one,), (cell,), (left, right)]


@pytest.mark.parametrize("axes", PRODUCTS, ids=repr)
def test_answers_of_tents_have_exact_laws_and_gathered_ones_alike(
    axes: tuple[AxisTransform, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    product = Product(axes)
    reader = NoisyCoefficients(ProductReading.of(product), None, NOISE.times(F(40)), "")
    for boxes in asked(axes):
        weighing = tuple(WeighedBox(one, 1.0) for one in boxes)
        monkeypatch.setattr(noise_sum, "_MANY", 10**9)
        monkeypatch.setattr(noise_sum, "_MANY_RARE", 10**9)
        law = reader.law(boxes)
        check(reader.weighed_law(weighing), law)
        assert law.variance == pytest.approx(variance(product, boxes, reader), rel=1e-9)
        monkeypatch.setattr(noise_sum, "_MANY", 20)
        gathered = reader.law(boxes)
        assert isinstance(gathered, NoiseSum)
        check(gathered, law)
        check(reader.weighed_law(weighing), law)


def variance(product: Product, boxes: Boxes, reader: NoisyCoefficients) -> float:
    """From the estimator written out."""
    row = np.zeros(product.shape)
    for one in boxes:
        row[np.ix_(*(np.arange(*codes.intervals[0]) for codes in one.sets))] += 1
    total = np.ones(1)
    matrix, factors = np.ones((1, 1)), np.ones(1)
    for axis in product.axes:
        scales = np.array([float(c.factor) for c in axis.classes for _ in range(c.start, c.stop)])
        matrix = np.kron(matrix, np.linalg.pinv(axis.matrix() / scales[:, None]))
        factors = np.kron(factors, scales)
    weights = row.reshape(-1) @ matrix / factors
    variances = [reader.noise.times(F(factor)).variance for factor in factors]
    return float((total * weights**2 * np.array(variances)).sum())


def F(value: float) -> Fraction:
    return Fraction(value).limit_denominator(10**6)


def test_rare_noise_of_many_weights_is_looked_at_one_by_one() -> None:
    rare = DiscreteLaplace(Fraction(1, 20))
    weights = np.linspace(1, 2, noise_sum._MANY + 1)
    law = NoiseSum.weighted({(float(w), rare): 1 for w in weights})
    assert law.half_width(0.5) == 0.0
