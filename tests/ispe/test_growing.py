"""Smoothing and region growing: against slow versions and the paper's own examples."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import ndimage
from slow_regions import algorithm_2, distance

from hushtable.errors import OptionError
from hushtable.families.regions.adjacency import Adjacency, OrderedAxis, Siblings, components
from hushtable.families.regions.ask.growing import grown_regions
from hushtable.families.regions.ask.smoothing import (
    difference_of_adjacent,
    gaussian,
    mask,
    median,
)
from hushtable.schema import Hierarchy, IntegerRange, Schema, nominal, ordinal


def schema_of(*attributes) -> Schema:
    return Schema("cells", Fraction(1), attributes=attributes)


def line(name: str, size: int, **options):
    return ordinal(name, IntegerRange(0, size - 1), **options)


JOBS = Hierarchy.from_tree({"office": ["clerk", "boss"], "field": ["a", "b", "c"], "none": ["n"]})
SCHEMAS = {
    "one axis": schema_of(line("x", 9)),
    "two axes": schema_of(line("x", 4), line("y", 5)),
    "three axes": schema_of(line("x", 3), line("y", 2), line("z", 3)),
    "nominal": schema_of(nominal("job", JOBS)),
    "nominal and ordinal": schema_of(nominal("job", JOBS, outside="other"), line("x", 3)),
    "other values": schema_of(line("x", 4, outside="other"), nominal("job", JOBS)),
    "a flat list": schema_of(nominal("job", Hierarchy.flat(["p", "q", "r"]), outside="other")),
}


@settings(deadline=None, max_examples=15)
@pytest.mark.parametrize("d", [0.5, 1, math.sqrt(2), 2])
@pytest.mark.parametrize("name", SCHEMAS)
@given(data=st.data())
def test_regions_are_those_of_algorithm_2(name: str, d: float, data: st.DataObject) -> None:
    schema = SCHEMAS[name]
    size = math.prod(schema.shape)
    values = data.draw(st.lists(st.integers(0, 5), min_size=size, max_size=size))
    xi = data.draw(st.sampled_from([0.5, 1.5, 2.5]))
    smooth = np.array(values, float).reshape(schema.shape)
    expected = algorithm_2(smooth, schema, d, xi)
    assert np.array_equal(grown_regions(smooth, Adjacency.of(schema, d), xi), expected)


@pytest.mark.parametrize("d", [1, math.sqrt(2), 2])
@pytest.mark.parametrize("name", SCHEMAS)
def test_steps_lead_to_every_adjacent_cell_once(name: str, d: float) -> None:
    schema = SCHEMAS[name]
    adjacency = Adjacency.of(schema, d)
    cells = [tuple(map(int, cell)) for cell in np.ndindex(*schema.shape)]
    found: dict[tuple[int, ...], list[tuple[int, ...]]] = {cell: [] for cell in cells}
    for there, valid in adjacency.partners(np.array(cells).T):
        for i in np.flatnonzero(valid).tolist():
            found[cells[i]].append(tuple(int(along[i]) for along in there))
    for cell in cells:
        near = {other for other in cells if 0 < distance(schema, cell, other) <= d + 1e-9}
        assert len(found[cell]) == len(near) and set(found[cell]) == near


@pytest.mark.parametrize("d", [1, math.sqrt(2), 2])
@pytest.mark.parametrize("name", SCHEMAS)
def test_layers_hold_every_cell_with_an_adjacent_one_outside(name: str, d: float) -> None:
    schema = SCHEMAS[name]
    adjacency = Adjacency.of(schema, d)
    random = np.random.default_rng(3)
    cells = [tuple(map(int, cell)) for cell in np.ndindex(*schema.shape)]
    for _ in range(12):
        ends = np.sort([random.integers(0, size + 1, 2) for size in schema.shape])
        inside = {c for c in cells if all(a <= x < b for x, (a, b) in zip(c, ends, strict=True))}
        if not inside:
            continue
        held = np.zeros(schema.shape, bool)
        for part in adjacency.layers(ends[:, 0].tolist(), ends[:, 1].tolist()):
            held[part] = True
        for cell in cells:
            assert not held[cell] or cell in inside
            outward = any(
                0 < distance(schema, cell, other) <= d + 1e-9 and other not in inside
                for other in cells
            )
            assert held[cell] or cell not in inside or not outward


def test_definition_3_1() -> None:
    """The connected region of x5 in three by three cells, for d = 1 and √2."""
    adjacency = {
        d: sorted(
            1 + 3 * int(there[0][0]) + int(there[1][0])
            for there, valid in Adjacency.of(
                schema_of(line("age", 3), line("income", 3)), d
            ).partners([np.array([1]), np.array([1])])
            if valid[0]
        )
        for d in (1.0, math.sqrt(2))
    }
    assert adjacency == {1.0: [2, 4, 6, 8], math.sqrt(2): [1, 2, 3, 4, 6, 7, 8, 9]}


def test_very_many_cells_are_connected_as_scipy_connects_them() -> None:
    random = np.random.default_rng(1)
    picture = ndimage.gaussian_filter(random.random((512, 512)), 2) > 0.5
    adjacency = Adjacency.in_order((512, 512))
    found = grown_regions(picture.astype(float), adjacency, 0.5)
    dark, number = ndimage.label(picture)
    light, more = ndimage.label(~picture)
    assert found.max() + 1 == number + more
    both = np.where(picture, dark, number + light) - 1
    assert len(np.unique(np.stack([found.ravel(), both.ravel()]), axis=1).T) == number + more


@settings(deadline=None, max_examples=30)
@given(
    size=st.integers(1, 40),
    edges=st.lists(st.tuples(st.integers(0, 39), st.integers(0, 39)), max_size=60),
)
def test_components_of_any_graph(size: int, edges: list[tuple[int, int]]) -> None:
    kept = np.array([e for e in edges if max(e) < size], np.int64).reshape(-1, 2)
    found = components(size, iter([(kept[:, 0], kept[:, 1])]))
    slow = list(range(size))
    for _ in range(size):
        for a, b in kept.tolist():
            slow[a] = slow[b] = min(slow[a], slow[b])
    numbers = {label: i for i, label in enumerate(dict.fromkeys(slow))}
    assert found.tolist() == [numbers[label] for label in slow]


def test_too_many_adjacent_cells_are_refused() -> None:
    with pytest.raises(OptionError, match="take a smaller d"):
        assert Adjacency.of(schema_of(line("x", 500), line("y", 500)), 400).steps


class TestSmoothing:
    def test_the_mask_of_appendix_b(self) -> None:
        middle, side = mask(0.5)
        row = np.array([side, middle, side])
        expected = [[0.0113, 0.0838, 0.0113], [0.0838, 0.6193, 0.0838], [0.0113, 0.0838, 0.0113]]
        assert np.outer(row, row) == pytest.approx(np.array(expected), abs=5e-5)

    def test_an_impulse_spreads_as_the_mask_says(self) -> None:
        impulse = np.zeros((5, 5))
        impulse[2, 2] = 1
        spread = gaussian(impulse, [OrderedAxis(5, 5)] * 2, sigma=0.5, iterations=1)
        row = np.array([0, mask(0.5)[1], mask(0.5)[0], mask(0.5)[1], 0])
        assert spread == pytest.approx(np.outer(row, row))

    def test_iterations_are_repetitions(self) -> None:
        values = np.random.default_rng(1).random((6, 7))
        axes = [OrderedAxis(6, 6), OrderedAxis(7, 7)]
        twice = gaussian(
            gaussian(values, axes, sigma=0.8, iterations=1), axes, sigma=0.8, iterations=1
        )
        assert gaussian(values, axes, sigma=0.8, iterations=2) == pytest.approx(twice)

    def test_inside_it_is_the_convolution_of_scipy(self) -> None:
        values = np.random.default_rng(2).random((12, 11))
        row = np.concatenate([mask(1.0)[:0:-1], mask(1.0)])
        found = gaussian(
            values, [OrderedAxis(12, 12), OrderedAxis(11, 11)], sigma=1.0, iterations=1
        )
        expected = ndimage.convolve(values, np.outer(row, row))
        assert found[2:-2, 2:-2] == pytest.approx(expected[2:-2, 2:-2])

    def test_a_flat_stretch_stays_flat_up_to_the_edges(self) -> None:
        for axis in (
            OrderedAxis(4, 4),
            OrderedAxis(4, 3),
            OrderedAxis(1, 1),
            Siblings(np.array([0, 0, 1, 1])),
        ):
            flat = np.full((axis.size, 2), 3.0)
            found = gaussian(flat, [axis, OrderedAxis(2, 2)], sigma=2.0, iterations=3)
            assert found == pytest.approx(flat)

    def test_siblings_are_mixed_with_each_other_alone(self) -> None:
        axis = Siblings(np.array([0, 0, 0, 1, 2, 1]))
        found = gaussian(np.array([6.0, 0, 0, 10, 5, 20]), [axis], sigma=0.5, iterations=1)
        outer = 1 - mask(0.5)[0]
        mixed = [6 * (1 - outer), 3 * outer, 3 * outer, 10 + 10 * outer, 5, 20 - 10 * outer]
        assert found == pytest.approx(mixed)

    def test_the_code_of_others_is_left_alone(self) -> None:
        values = np.array([1.0, 5.0, 1.0, 100.0])
        assert gaussian(values, [OrderedAxis(4, 3)], sigma=0.5, iterations=4)[3] == 100
        assert median(values, [OrderedAxis(4, 3)], iterations=1).tolist() == [1, 1, 1, 100]

    def test_the_median_of_three_along_each_axis(self) -> None:
        values = np.random.default_rng(4).random((7, 6))
        found = median(values, [OrderedAxis(7, 7), OrderedAxis(6, 6)], iterations=1)
        along = ndimage.median_filter(values, size=(3, 1), mode="nearest")
        along[[0, -1]] = values[[0, -1]]
        expected = ndimage.median_filter(along, size=(1, 3), mode="nearest")
        expected[:, [0, -1]] = along[:, [0, -1]]
        assert np.array_equal(found, expected)

    def test_the_noise_that_is_left_between_adjacent_cells(self) -> None:
        """By the filter's weights, and by filtering much noise."""
        axes = [OrderedAxis(400, 400), OrderedAxis(400, 400)]
        noise = np.random.default_rng(5).normal(0, 3.0, (400, 400))
        for iterations in (0, 1, 5):
            left = gaussian(noise, axes, sigma=0.5, iterations=iterations)
            found = np.diff(left, axis=0)[50:-50, 50:-50].std()
            expected = 3 * difference_of_adjacent(axes, sigma=0.5, iterations=iterations)
            assert found == pytest.approx(expected, rel=0.05)
        assert difference_of_adjacent(axes, sigma=0.5, iterations=0) == pytest.approx(math.sqrt(2))

    def test_long_axes_and_many_iterations_cost_no_more(self) -> None:
        long = [OrderedAxis(10**9, 10**9), Siblings(np.zeros(5000, np.int64))]
        found = difference_of_adjacent(long, sigma=0.5, iterations=5)
        short = [OrderedAxis(100, 100), Siblings(np.zeros(5000, np.int64))]
        assert found == pytest.approx(difference_of_adjacent(short, sigma=0.5, iterations=5))
        assert difference_of_adjacent([OrderedAxis(1, 1)], sigma=0.5, iterations=5) > 0
