"""Answers from noisy coefficients equal the estimates written out as matrices, and so do errors."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.shared_regions import code_sets, node_ranges

from hushtable.errors import QueryError
from hushtable.families.linear.bands import UNIT, Bands
from hushtable.families.linear.read import coefficients as module
from hushtable.families.linear.read import groups as groups_module
from hushtable.families.linear.read import shrunken as shrunken_module
from hushtable.families.linear.read.cells import NoisyCells
from hushtable.families.linear.read.coefficients import NoisyCoefficients
from hushtable.families.linear.read.shrunken import ShrunkenCoefficients
from hushtable.families.linear.read.transforms import ProductReading
from hushtable.kernel.maps import AxisTransform, Haar, Identity, Nominal, Product, Tents, Tree
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.query.box import Box, Boxes, CodeSet
from hushtable.query.cutting import Cuts
from hushtable.query.law import NoiseSum, noise_sum
from hushtable.query.result import Measure
from hushtable.schema import Hierarchy, nominal

F = Fraction
SCALE = F(7, 3)
JOBS = Hierarchy.from_tree({"desk": ["clerk", "boss"], "field": ["farmer", "miner", "driver"]})
FLAT = Hierarchy.flat(["F", "M"])

AXES: tuple[AxisTransform, ...] = (
    Identity(1),
    Identity(4),
    Haar(2),
    Haar(5),
    Haar(6),
    Nominal.of(nominal("job", JOBS)),
    Nominal.of(nominal("job", JOBS, outside="other")),
    Nominal.of(nominal("sex", FLAT, outside="other")),
    Nominal(6, ((0, 6), (0, 4), (1, 3))),
    Tree.of(nominal("job", JOBS, outside="other")),
    Tree.of(nominal("job", JOBS), root=False),
    Tree.uniform(5, 2),
    Tree.uniform(6, 3, root=False),
    Tree.mixed(6, (2, 3), shares=(F(1, 6), F(1, 3), F(1, 2))),
    Tree.mixed(5, (3, 2), root=False, shares=(F(1, 4), F(3, 4))),
    Tents(6, 3, height=32),
    Tents(7, 2, 2),
)


# ── the same, written out ────────────────────────────────────────────────────────────────────────


def factors(axis: AxisTransform) -> NDArray[np.float64]:
    return np.array([float(c.factor) for c in axis.classes for _ in range(c.start, c.stop)])


@cache
def estimator(axis: AxisTransform) -> NDArray[np.float64]:
    """Codes × coefficients: the counts that fit the coefficients best, each over its factor.

    Where coefficients are as many as counts that is the inverse; in a group of siblings it takes
    their mean off.
    """
    scaled = axis.matrix() / factors(axis)[:, None]
    return np.linalg.pinv(scaled) / factors(axis)


@dataclass(frozen=True)
class Explicit:
    """Every cell's weights on every coefficient, and every coefficient's variance."""

    axes: tuple[AxisTransform, ...]
    values: NDArray[np.int64]

    def weights(self, boxes: Boxes) -> NDArray[np.float64]:
        """The weight of every coefficient in the sum over disjoint boxes, cell by cell."""
        total = np.zeros(self.values.shape)
        for cell in np.ndindex(*(axis.size for axis in self.axes)):
            if any(all(c in s for c, s in zip(cell, box.sets, strict=True)) for box in boxes):
                rows = [estimator(axis)[c] for axis, c in zip(self.axes, cell, strict=True)]
                total += outer(rows)
        return total

    def value(self, boxes: Boxes) -> float:
        return float((self.weights(boxes) * self.values).sum())

    def variances(self) -> NDArray[np.float64]:
        exact = [1.0 / (math.cosh(1 / (float(SCALE) * f)) - 1) for f in self.factors().flat]
        return np.array(exact).reshape(self.values.shape)

    def factors(self) -> NDArray[np.float64]:
        return outer([factors(axis) for axis in self.axes])

    def variance(self, boxes: Boxes) -> float:
        return float((self.weights(boxes) ** 2 * self.variances()).sum())


def outer(vectors: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    product = np.ones(())
    for vector in vectors:
        product = np.multiply.outer(product, vector)
    return product


def reader(axes: tuple[AxisTransform, ...], values: NDArray[Any]) -> NoisyCoefficients:
    reading = ProductReading.of(Product(axes))
    return NoisyCoefficients(reading, lambda *cut: values[cut], DiscreteLaplace(SCALE), "a note")


# ── random questions ─────────────────────────────────────────────────────────────────────────────


@st.composite
def questions(draw: st.DrawFn, most: int = 3) -> tuple[Explicit, Boxes]:
    axes = tuple(draw(st.lists(st.sampled_from(AXES), min_size=1, max_size=3)))
    shape = [axis.coefficients for axis in axes]
    seed = draw(st.integers(0, 2**32))
    values = np.random.default_rng(seed).integers(-1000, 1000, shape)
    boxes, free = [], CodeSet.full(axes[0].size)  # boxes of a condition are disjoint
    for first in draw(st.lists(code_sets(axes[0].size), max_size=most)):
        rest = tuple(draw(code_sets(axis.size)) for axis in axes[1:])
        boxes.append(Box((first.intersection(free), *rest)))
        free = free.intersection(first.complement(axes[0].size))
    return Explicit(axes, values), tuple(boxes)


@st.composite
def all_cuts(draw: st.DrawFn, axes: tuple[AxisTransform, ...]) -> Cuts:
    chosen = draw(st.lists(st.sampled_from(range(len(axes))), unique=True))
    return [(axis, draw(node_ranges(axes[axis].size))) for axis in chosen]


pieces = st.sampled_from([1, 7, 50, 2**22])


# ── claims ───────────────────────────────────────────────────────────────────────────────────────


@settings(max_examples=75, deadline=None)
@given(questions(), pieces)
def test_a_count_and_its_variance_are_those_of_the_matrices(
    question: tuple[Explicit, Boxes], piece: int
) -> None:
    explicit, boxes = question
    with mock.patch.object(module, "_PIECE", piece):
        value, law = reader(explicit.axes, explicit.values).count(boxes)
        assert reader(explicit.axes, explicit.values).law(boxes) == law
    assert value == pytest.approx(explicit.value(boxes), rel=1e-9, abs=1e-7)
    assert law.variance == pytest.approx(explicit.variance(boxes), rel=1e-9, abs=1e-12)


@settings(max_examples=100, deadline=None)
@given(questions(), pieces)
def test_a_law_has_every_weight_as_often_as_it_occurs(
    question: tuple[Explicit, Boxes], piece: int
) -> None:
    explicit, boxes = question
    with mock.patch.object(module, "_PIECE", piece):
        law = reader(explicit.axes, explicit.values).law(boxes)
    weights, each = np.abs(explicit.weights(boxes)), explicit.factors()
    expected, found = defaultdict[float, list[float]](list), defaultdict[float, list[float]](list)
    for weight, factor in zip(weights.flat, each.flat, strict=True):
        expected[round(float(factor), 9)].append(float(weight))
    assert isinstance(law, NoiseSum)
    for weight, noise, count in law.terms:
        found[round(float(noise.scale / SCALE), 9)] += [weight] * count
    # Weights may be so small that they cannot be told from rounding.
    room = 1e-12 * max(1.0, weights.max(initial=0.0))
    gathered = weights.size > noise_sum._MANY  # then classes of weights may stand for them
    for factor in expected.keys() | found.keys():
        if gathered:
            squares = (np.square(found[factor]).sum(), np.square(expected[factor]).sum())
            assert squares[0] == pytest.approx(squares[1], rel=1e-9, abs=room**2)
            continue
        listed = sorted(found[factor], reverse=True)
        wanted = sorted(expected[factor], reverse=True)
        assert len(listed) <= len(wanted)
        listed += [0.0] * (len(wanted) - len(listed))
        assert listed == pytest.approx(wanted, rel=1e-9, abs=room)


@settings(max_examples=60, deadline=None)
@given(st.data(), questions(most=3), pieces, st.sampled_from([0, 8]))
def test_groups_in_any_order_are_counts_of_their_parts(
    data: st.DataObject, question: tuple[Explicit, Boxes], piece: int, few: int
) -> None:
    explicit, boxes = question
    cuts = data.draw(all_cuts(explicit.axes))
    read = reader(explicit.axes, explicit.values)
    with (
        mock.patch.object(module, "_PIECE", piece),
        mock.patch.object(groups_module, "_FEW", few),
    ):
        estimates = read.group(boxes, cuts)
    parts = list(itertools.product(*(ranges for _, ranges in cuts)))
    assert len(estimates.values) == len(estimates.law_of_row) == len(parts)
    for row, part in enumerate(parts):
        cut = dict(zip((axis for axis, _ in cuts), part, strict=True))
        within = tuple(
            Box(
                tuple(
                    codes.intersection(CodeSet.of(cut[i])) if i in cut else codes
                    for i, codes in enumerate(box.sets)
                )
            )
            for box in boxes
        )
        law = estimates.laws[estimates.law_of_row[row]]
        assert estimates.values[row] == pytest.approx(explicit.value(within), rel=1e-9, abs=1e-7)
        assert law.variance == pytest.approx(explicit.variance(within), rel=1e-9, abs=1e-12)
        assert terms_of(law) == terms_of(read.law(within))


def terms_of(law: object) -> Counter[tuple[float, Fraction]]:
    """How often each weight occurs, at each scale."""
    assert isinstance(law, NoiseSum)
    found: Counter[tuple[float, Fraction]] = Counter()
    for weight, noise, count in law.terms:
        found[float(f"{weight:.9g}"), noise.scale] += count
    return found


LONG: tuple[AxisTransform, ...] = (
    Haar(23),
    Haar(32),
    Tree.uniform(27, 3),
    Tree.mixed(29, (3, 2, 5), root=False),
    Tree.mixed(24, (4, 6), shares=(F(1, 6), F(1, 3), F(1, 2))),
    Nominal(12, ((0, 12), (0, 4), (0, 2), (4, 8), (8, 11))),
    Tree(12, ((0, 12), (0, 4), (0, 2), (4, 8), (4, 6), (8, 11))),
)


@pytest.mark.parametrize("axis", LONG, ids=lambda axis: f"{axis.kind}{axis.size}")
def test_intervals_of_one_kind_have_the_same_weights(axis: AxisTransform) -> None:
    """And few kinds are enough: groups of one code have hardly more than there are laws."""
    read = reader((axis,), np.zeros(axis.coefficients, np.int64))
    pairs = list(itertools.combinations(range(axis.size + 1), 2))
    starts, stops = np.array(pairs).T
    kinds = read.reading.axes[0].kinds(starts, stops)
    total = read.reading.axes[0].rows(np.ones(axis.size)).round(9)
    scales = factors(axis)
    known: dict[bytes, Counter[tuple[float, ...]]] = {}
    for pair, kind in zip(pairs, kinds, strict=True):
        inside = (np.arange(axis.size) >= pair[0]) & (np.arange(axis.size) < pair[1])
        weights = read.reading.axes[0].rows(inside).round(9)
        weights = np.where(total == 0, np.abs(weights), weights) + 0.0
        terms = Counter(zip(weights.tolist(), total.tolist(), scales.tolist(), strict=True))
        assert known.setdefault(kind.tobytes(), terms) == terms
    single = {kind.tobytes() for kind in kinds[stops - starts == 1]}
    assert len(single) <= 2 * len({frozenset(known[kind].items()) for kind in single})


def test_laws_of_rows_that_are_left_out_are_not_worked_out() -> None:
    axes = (Haar(23), Tree.mixed(29, (3, 2, 5), root=False))
    values = np.random.default_rng(3).integers(-99, 99, [axis.coefficients for axis in axes])
    estimates = reader(axes, values).group((Box.full((23, 29)),), [(0, each(23)), (1, each(29))])
    with mock.patch.object(NoisyCoefficients, "law", autospec=True) as law:
        shown = Measure.from_estimates(estimates).taken(np.array([5, 5, 300]))
        assert law.call_count == 0
        assert len(shown.held_laws) == law.call_count == len(set(shown.law_of_row.tolist()))
        assert law.call_count < len(estimates.laws)


def each(size: int) -> NDArray[np.int64]:
    return np.stack([np.arange(size), np.arange(1, size + 1)], axis=1)


@pytest.mark.parametrize("axis", AXES, ids=lambda axis: f"{axis.kind}{axis.size}")
def test_every_interval_of_every_transform(axis: AxisTransform) -> None:
    values = np.random.default_rng(5).integers(-99, 99, axis.coefficients)
    explicit, read = Explicit((axis,), values), reader((axis,), values)
    for start, stop in itertools.combinations(range(axis.size + 1), 2):
        boxes = (Box((CodeSet.of((start, stop)),)),)
        value, law = read.count(boxes)
        assert value == pytest.approx(explicit.value(boxes), rel=1e-10, abs=1e-9)
        assert law.variance == pytest.approx(explicit.variance(boxes), rel=1e-10)


@settings(max_examples=50, deadline=None)
@given(questions())
def test_cells_and_their_variances_are_counts_of_single_cells(
    question: tuple[Explicit, Boxes],
) -> None:
    explicit, _ = question
    read = reader(explicit.axes, explicit.values)
    codes = np.array(list(np.ndindex(*read.reading.product.shape))).T
    variances = read.cell_variances(list(codes))
    cells = read.cells()
    assert cells.shape == read.reading.product.shape
    for cell, variance in list(zip(codes.T, variances, strict=True))[
        :: max(len(variances) // 9, 1)
    ]:
        boxes = (Box(tuple(CodeSet.single(int(code)) for code in cell)),)
        assert cells[tuple(cell)] == pytest.approx(explicit.value(boxes), rel=1e-9, abs=1e-7)
        assert variance == pytest.approx(explicit.variance(boxes), rel=1e-9)


def test_boxes_that_share_coefficients_add_weights_before_squares() -> None:
    """Two halves make the total, whose noise is one; apart, they have more."""
    axes = (Haar(8), Haar(4))
    read = reader(axes, np.zeros((8, 4), np.int64))
    halves = [Box((CodeSet.of(half), CodeSet.full(4))) for half in ((0, 4), (4, 8))]
    whole, one = read.law(tuple(halves)), read.law((halves[0],))
    single = DiscreteLaplace(SCALE).variance
    assert whole.variance == pytest.approx(single, rel=1e-12)
    assert one.variance == pytest.approx(single / 2, rel=1e-12)
    assert whole == read.law((Box.full((8, 4)),))


@pytest.mark.parametrize("piece", [1, 3, 20, 2**22])
def test_an_l_shape_is_the_sum_of_its_cells_in_pieces_of_any_size(piece: int) -> None:
    axes = (Nominal(6, ((0, 6), (0, 4), (1, 3))), Tree.uniform(6, 3), Haar(5))
    shape = [axis.coefficients for axis in axes]
    values = np.random.default_rng(8).integers(-50, 50, shape)
    shape_l = (
        Box((CodeSet.of((0, 2)), CodeSet.full(6), CodeSet.of((1, 4)))),
        Box((CodeSet.of((2, 3), (5, 6)), CodeSet.of((0, 2)), CodeSet.full(5))),
    )
    explicit = Explicit(axes, values)
    with mock.patch.object(module, "_PIECE", piece):
        value, law = reader(axes, values).count(shape_l)
    assert value == pytest.approx(explicit.value(shape_l), rel=1e-10)
    assert law.variance == pytest.approx(explicit.variance(shape_l), rel=1e-10)


def test_all_identity_answers_as_noisy_cells_do() -> None:
    values = np.random.default_rng(3).integers(-50, 50, (4, 3))
    read, plain = (
        reader((Identity(4), Identity(3)), values),
        NoisyCells(lambda *c: values[c], DiscreteLaplace(SCALE)),
    )
    boxes = (Box((CodeSet.of((0, 1), (2, 4)), CodeSet.of((1, 3)))),)
    (value, law), (count, known) = read.count(boxes), plain.count(boxes)
    assert value == count and law.variance == known.variance
    for confidence in (0.5, 0.95, 1 - 1e-9):
        assert law.half_width(confidence) == known.half_width(confidence)


def test_nothing_counts_zero_without_noise() -> None:
    read = reader((Haar(4), Identity(3)), np.ones((4, 3), np.int64))
    nothing = Box((CodeSet.empty(), CodeSet.full(3)))
    for boxes in ((), (nothing,), (nothing, nothing)):
        value, law = read.count(boxes)
        assert (value, law.variance, law.half_width(0.99)) == (0, 0, 0)
        assert read.group(boxes, [(1, [(0, 2), (2, 3)])]).values.tolist() == [0, 0]


def test_groups_that_hold_nothing_of_the_boxes_count_zero() -> None:
    read = reader((Haar(4), Haar(3)), np.arange(12).reshape(4, 3))
    estimates = read.group((Box((CodeSet.of((0, 1)), CodeSet.full(3))),), [(0, [(0, 2), (2, 4)])])
    laws = [estimates.laws[i] for i in estimates.law_of_row]
    assert estimates.values[1] == 0 == laws[1].variance < laws[0].variance


def test_coefficients_that_a_question_does_not_touch_do_not_matter() -> None:
    """Not even damaged ones between those that are read."""
    axes = (Haar(16), Tree.uniform(9, 3, root=False))
    values = np.random.default_rng(2).integers(-50, 50, [axis.coefficients for axis in axes])
    boxes = (Box((CodeSet.of((3, 9)), CodeSet.of((0, 4)))),)
    touched = np.abs(Explicit(axes, values).weights(boxes)) > 1e-12
    assert 0 < touched.sum() < touched.size / 2
    damaged = np.where(touched, values, 2**62)
    assert reader(axes, damaged).count(boxes)[0] == reader(axes, values).count(boxes)[0]


def test_extreme_coefficients_have_finite_answers() -> None:
    values = np.full((4, 4), 2**63 - 1, np.int64)
    value, law = reader((Haar(4), Haar(4)), values).count((Box.full((4, 4)),))
    assert value == pytest.approx(2.0**63) and math.isfinite(law.half_width(0.999))


def test_only_the_hull_of_what_is_touched_is_read() -> None:
    read: list[int] = []
    values = np.ones((1000, 5), np.int64)

    def watched(*cut: slice) -> NDArray[np.int64]:
        read.append(values[cut].size)
        return values[cut]

    reading = ProductReading.of(Product((Identity(1000), Haar(5))))
    far = NoisyCoefficients(reading, watched, DiscreteLaplace(SCALE), "")
    assert far.count((Box((CodeSet.of((700, 720)), CodeSet.full(5))),))[0] == pytest.approx(20)
    far.law((Box.full((1000, 5)),))
    assert read == [20]


def test_conditions_of_boxes_that_touch_too_much_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_MOST_TOUCHED", 10)
    read = reader((Identity(4), Identity(4)), np.ones((4, 4), np.int64))
    halves = tuple(Box((CodeSet.of(half), CodeSet.full(4))) for half in ((0, 2), (2, 4)))
    with pytest.raises(QueryError, match="too many coefficients; ask for its parts"):
        read.count(halves)
    assert read.count(halves[:1])[0] == 8


def test_nodes_of_a_hierarchy_have_the_variance_of_the_paper() -> None:
    """A leaf, a group and the total under the nominal wavelet, from its definition."""
    axis = Nominal.of(nominal("job", JOBS))  # 2 groups, of 2 and 3 leaves
    read = reader((axis,), np.zeros(axis.coefficients, np.int64))

    def v(factor: int) -> float:
        return DiscreteLaplace(SCALE * factor).variance

    total = read.law((Box((CodeSet.full(5),)),)).variance
    group = read.law((Box((CodeSet.of((2, 5)),)),)).variance
    leaf = read.law((Box((CodeSet.of((2, 3)),)),)).variance
    assert total == pytest.approx(v(1))
    assert group == pytest.approx(v(1) / 4 + 2 * v(2) / 16)
    assert leaf == pytest.approx(group / 9 + v(4) * (4 / 9 + 1 / 9 + 1 / 9) / 9)


# ── shrunken coefficients ────────────────────────────────────────────────────────────────────────

SHRUNKEN = (Nominal(5, ((0, 5), (0, 2), (2, 5))), Identity(2), Haar(4))


def shrunken() -> tuple[ShrunkenCoefficients, Explicit, Explicit]:
    """A reader, its coefficients shrunk one by one, and what they lost by it."""
    bands, random = Bands.of(Product(SHRUNKEN)), np.random.default_rng(6)
    values = random.integers(-60, 60, [axis.coefficients for axis in SHRUNKEN])
    thresholds = random.integers(1, 9 * UNIT, bands.shape)
    explicit = Explicit(SHRUNKEN, values)
    shrunk = np.zeros(values.shape)
    for place in np.ndindex(*values.shape):
        band = tuple(numbers[p] for numbers, p in zip(bands.numbers, place, strict=True))
        factor, value = explicit.factors()[place], values[place]
        left = max(abs(value) - thresholds[band] / UNIT * factor, 0)
        shrunk[place] = math.copysign(left, value)
    assert 0 < np.count_nonzero(shrunk) < shrunk.size
    reading = ShrunkenCoefficients(
        Product(SHRUNKEN), lambda *cut: values[cut], DiscreteLaplace(SCALE), bands, thresholds
    )
    return reading, Explicit(SHRUNKEN, shrunk), Explicit(SHRUNKEN, values - shrunk)


def test_every_box_of_shrunken_coefficients_has_its_noise_and_its_shift() -> None:
    read, explicit, lost = shrunken()
    ranges = [list(itertools.combinations(range(axis.size + 1), 2)) for axis in SHRUNKEN]
    every = list(itertools.product(*ranges))[::7]
    starts, stops = np.array(every).transpose(2, 0, 1)
    together = read.range_variances(starts, stops)
    with mock.patch.object(shrunken_module, "WORTH_A_TABLE", 1):
        assert read.range_variances(starts, stops) == pytest.approx(together, rel=1e-9)
    for box, variance in zip(every, together, strict=True):
        boxes = (Box(tuple(CodeSet.of(ends) for ends in box)),)
        value, law = read.count(boxes)
        shift, noise = lost.value(boxes), reader(SHRUNKEN, explicit.values).law(boxes)
        expected = explicit.variance(boxes) + shift**2
        assert value == pytest.approx(explicit.value(boxes), rel=1e-9, abs=1e-9)
        assert (law.variance, variance) == (pytest.approx(expected), pytest.approx(expected))
        for confidence in (0.5, 0.95, 0.9999):
            half = noise.half_width(confidence) + abs(shift)
            assert law.half_width(confidence) == pytest.approx(half, rel=1e-9)


@pytest.mark.parametrize("piece", [1, 100, 2**20])
def test_cells_and_groups_of_shrunken_coefficients_are_its_boxes(piece: int) -> None:
    read, explicit, lost = shrunken()
    codes = list(np.ndindex(*read.transform.shape))
    with mock.patch.object(shrunken_module, "_PIECE", piece):
        cells = read.cells()
    variances = read.cell_variances(list(np.array(codes).T))
    cuts: Cuts = [(2, [(c, c + 1) for c in range(4)]), (0, [(c, c + 1) for c in range(5)])]
    boxes = (Box((CodeSet.full(5), CodeSet.single(1), CodeSet.full(4))),)
    grouped = read.group(boxes, cuts)
    laws = np.array([grouped.laws[which] for which in grouped.law_of_row]).reshape(4, 5)
    values = grouped.values.reshape(4, 5)
    for cell, variance in zip(codes, variances, strict=True):
        single = (Box(tuple(CodeSet.single(code) for code in cell)),)
        expected = explicit.variance(single) + lost.value(single) ** 2
        assert cells[cell] == pytest.approx(explicit.value(single), rel=1e-9, abs=1e-9)
        assert variance == pytest.approx(expected)
        if cell[1] == 1:
            law = laws[cell[2], cell[0]]
            assert values[cell[2], cell[0]] == pytest.approx(cells[cell], abs=1e-9)
            assert law.variance == pytest.approx(expected)
            assert law.half_width(0.95) == pytest.approx(read.law(single).half_width(0.95))
