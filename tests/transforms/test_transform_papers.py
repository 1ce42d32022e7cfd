"""The papers' figures, examples and bounds, with their misprints corrected."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import transform_cases as cases
from hypothesis import given, settings

from hushtable.families.linear.read.transforms import ProductReading, reading_of
from hushtable.kernel.maps import AxisTransform, Haar, Identity, Nominal, Product, Tree

FIGURE_2 = np.array([9, 3, 6, 2, 8, 4, 5, 7])
FIGURE_3 = np.array([9, 3, 6, 2, 8, 2])
HIERARCHY_3 = Nominal(6, ((0, 6), (0, 3), (3, 6)))


def haar_weight(size: int, place: int) -> int:
    """The paper's W of a coefficient, where ours stands: the number of codes below its node."""
    return size if place == 0 else 2 * (place & -place)


def papers_haar(counts: np.ndarray) -> list[Fraction]:
    """The paper's coefficients: averages of halves, from the definition."""
    found = [Fraction(int(counts.sum()), len(counts))]
    for place in range(1, len(counts)):
        half = place & -place
        left, right = counts[place - half : place], counts[place : place + half]
        found.append((Fraction(int(left.sum()), half) - Fraction(int(right.sum()), half)) / 2)
    return found


def test_figure_2_the_haar_transform() -> None:
    coefficients = Haar(8).forward(FIGURE_2.copy(), 0)
    weights = [haar_weight(8, place) for place in range(8)]
    c = [Fraction(int(v), w) for v, w in zip(coefficients, weights, strict=True)]
    assert c == papers_haar(FIGURE_2)
    assert (c[0], c[4]) == (Fraction(11, 2), Fraction(-1, 2))  # c0 and c1
    assert c[2::4] == [1, 0]  # c2, c3
    assert c[1::2] == [3, 2, 2, -1]  # c4 … c7
    assert [weights[place] for place in (0, 4, 2, 1)] == [8, 8, 4, 2]  # section 4.2


def test_example_2_one_entry_from_its_ancestors() -> None:
    """v₂ = c₀ + c₁ + c₂ − c₄ = 5.5 − 0.5 + 1 − 3."""
    row = reading_of(Haar(8)).row(1, 2)
    assert dict(zip(row.positions.tolist(), row.weights.tolist(), strict=True)) == {
        0: 1 / 8, 4: 1 / 8, 2: 1 / 4, 1: -1 / 2,
    }  # fmt: skip
    coefficients = Haar(8).forward(FIGURE_2.copy(), 0)
    assert coefficients[row.positions] @ row.weights == 3


def test_figure_3_the_nominal_transform() -> None:
    coefficients = HIERARCHY_3.forward(FIGURE_3, 0)
    siblings = [1, 2, 2, 3, 3, 3, 3, 3, 3]
    c = [Fraction(int(v), f) for v, f in zip(coefficients, siblings, strict=True)]
    assert c == [30, 3, -3, 3, -3, 0, -2, 4, -2]
    assert c[3] + c[0] / 2 / 3 + c[1] / 3 == 9  # example 3
    assert list(reading_of(HIERARCHY_3).inverse(coefficients, 0)) == pytest.approx(list(FIGURE_3))


def test_examples_4_and_5_two_axes() -> None:
    """All four weights are 4: each axis of two entries weighs its coefficients 2 (not ½)."""
    counts = np.array([[5, 1], [2, 4]])
    ours = Product((Haar(2), Haar(2))).forward(counts.copy())
    mean, across = Fraction(12, 4), (Fraction(7, 2) - Fraction(5, 2)) / 2
    assert ours[0, 0] == 4 * mean == 12
    assert ours[0, 1] == 4 * across == 2
    assert ours.tolist() == [[12, 2], [0, 6]]


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
def test_haar_integers_carry_the_papers_noise(size: int) -> None:
    """The integer is W·c; noise of scale λ on it is noise of magnitude λ/W on c, as in 4.2."""
    counts = np.arange(size) ** 2 % 7
    ours, paper = Haar(size).forward(counts.copy(), 0), papers_haar(counts)
    for place, factor in enumerate(cases.factors(Haar(size))):
        weight = haar_weight(size, place)
        assert ours[place] == weight * paper[place]
        assert factor / weight == Fraction(1, weight)


@settings(deadline=None)
@given(cases.hierarchies())
def test_nominal_integers_carry_the_papers_noise(drawn: tuple[int, cases.Spans]) -> None:
    """The integer is f·c; its scale over f is 1/W with W = f/(2f − 2), and 1 at the root."""
    nominal = Nominal(*drawn)
    counts = np.arange(nominal.size) ** 2 % 7
    ours, tree = nominal.forward(counts, 0), nominal.tree
    for k, factor in enumerate(cases.factors(nominal)):
        node, above = nominal.order[k], tree.parent[nominal.order[k]]
        own = Fraction(int(counts[tree.start[node] : tree.stop[node]].sum()))
        if above < 0:
            assert (ours[k], factor) == (own, 1)
            continue
        f = int(tree.fanout[above])
        mean = Fraction(int(counts[tree.start[above] : tree.stop[above]].sum()), f)
        assert ours[k] == f * (own - mean)
        assert factor / f == 1 / Fraction(f, 2 * f - 2)


def test_sections_5_4_and_6_4_the_numbers() -> None:
    """The noise bounds 2·(2P)²·H at ε = 1 under replacement: 4400 (not 74400), 288, 600, 128."""
    occupation = Nominal(512, ((0, 512), *((k, k + 16) for k in range(0, 512, 16))))
    assert 2 * (2 * Haar(512).levels) ** 2 * haar_bound(512) == 4400
    assert 2 * (2 * occupation.levels) ** 2 * 4 == 288
    assert 2 * (2 * Haar(16).levels) ** 2 * haar_bound(16) == 600
    assert (
        2 * (2 * Identity(16).levels) ** 2 * reading_of(Identity(16)).gains([0], [16])[0, 0] == 128
    )


def haar_bound(size: int) -> float:
    """H of an ordinal attribute, for any size: (2 + ⌈log₂ |A|⌉)/2."""
    return (2 + math.ceil(math.log2(size))) / 2


def noise(transform: AxisTransform, intervals: list[tuple[int, int]]) -> np.ndarray:
    """The variance of answers when a coefficient of factor s has the variance s²."""
    squares = [float(c.factor) ** 2 for c in transform.classes]
    return reading_of(transform).gains(*np.array(intervals).T) @ squares


@pytest.mark.parametrize("size", [*range(1, 41), 64, 100, 128])
def test_lemma_3_haar_answers(size: int) -> None:
    assert noise(Haar(size), cases.intervals(size)).max() <= haar_bound(size) * (1 + 1e-12)


def nodes_of(nominal: Nominal) -> list[tuple[int, int]]:
    return list(zip(nominal.tree.start.tolist(), nominal.tree.stop.tolist(), strict=True))


@settings(deadline=None, max_examples=200)
@given(cases.hierarchies(most=40))
def test_lemma_5_nominal_answers_at_nodes(drawn: tuple[int, cases.Spans]) -> None:
    nominal = Nominal(*drawn)
    assert noise(nominal, nodes_of(nominal)).max() < 4


def test_lemma_5_is_near_for_wide_nodes_and_says_nothing_of_other_ranges() -> None:
    """Half of many siblings is no node: its noise grows with their number."""
    wide = Nominal(1000, ((0, 1000),))
    assert 3.9 < noise(wide, [(7, 8)])[0] < 4
    assert noise(wide, [(0, 500)])[0] > 900


SMALL_AXES = [
    (Haar(5), haar_bound(5)),
    (Haar(4), haar_bound(4)),
    (HIERARCHY_3, 4),
    (Nominal(4, ((0, 4), (0, 2))), 4),
    (Identity(3), 3),
]


@pytest.mark.parametrize("dimensions", [1, 2, 3, 4])
def test_theorem_3_and_corollary_1(dimensions: int) -> None:
    """Boxes have at most Π H(A) noise, an axis left as it is counting |A|.

    The variance of a box factorises when that of a coefficient is its factor squared, so the
    largest one per axis makes the largest box; boxes themselves are checked with the estimates.
    """
    largest = {}
    for axis, limit in SMALL_AXES:
        asked = nodes_of(axis) if isinstance(axis, Nominal) else cases.intervals(axis.size)
        largest[axis] = noise(axis, asked).max()
        assert largest[axis] <= limit * (1 + 1e-12)
    for chosen in itertools.combinations_with_replacement(SMALL_AXES, dimensions):
        product = Product(tuple(axis for axis, _ in chosen))
        reading = ProductReading.of(product)
        full = [axis.gains([0], [axis.transform.size]) for axis in reading.axes]
        bound = math.prod(limit for _, limit in chosen)
        assert reading.variances(full, lambda factor: float(factor) ** 2)[0] <= bound
        assert math.prod(largest[axis] for axis in product.axes) <= bound * (1 + 1e-12)


def mean_square_error(transform: AxisTransform) -> float:
    """Over all ranges, ε = 1, adding or removing a row, noise of variance 2s² at scale s."""
    asked = np.array(cases.intervals(transform.size))
    gains = reading_of(transform).gains(*asked[asked[:, 0] < asked[:, 1]].T)
    squares = [2 * (transform.levels * float(c.factor)) ** 2 for c in transform.classes]
    return float((gains @ squares).mean())


@pytest.mark.thorough
def test_published_errors_over_all_ranges_of_1024_codes() -> None:
    """The errors that others published for these strategies, as ratios to the Haar wavelet's."""
    haar = mean_square_error(Haar(1024))
    assert haar == pytest.approx(410.3, abs=0.05)
    assert mean_square_error(Identity(1024)) / haar == pytest.approx(1.667, abs=0.0005)
    binary = Tree.uniform(1024, 2, root=False)
    assert mean_square_error(binary) / haar == pytest.approx(1.001, abs=0.0005)
    assert mean_square_error(Tree.uniform(1024, 32, root=False)) / haar < 0.41
