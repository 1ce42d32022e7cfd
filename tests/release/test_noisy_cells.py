"""Sums over regions of a noisy matrix equal sums over an explicit table of cells."""

import itertools
from fractions import Fraction
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.shared_regions import code_sets, node_ranges

from hushtable.errors import QueryError
from hushtable.families.linear.read.cells import NoisyCells
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.query import sums as sums_module
from hushtable.query.box import Box, CodeSet
from hushtable.query.cutting import all_codes, cells_by_group
from hushtable.query.law import NoiseSum

SCALE = Fraction(7, 2)


def noises(law):
    """How many noises a plain sum has."""
    assert all(term[:2] == (1.0, DiscreteLaplace(SCALE)) for term in law.terms)
    return sum(count for _, _, count in law.terms)


@st.composite
def questions(draw):
    shape = tuple(draw(st.lists(st.integers(1, 9), min_size=1, max_size=4)))
    dtype = draw(st.sampled_from([np.int8, np.int16, np.int64]))
    seed = draw(st.integers(0, 2**32))
    matrix = np.random.default_rng(seed).integers(-128, 128, shape).astype(dtype)
    left = draw(st.lists(code_sets(shape[0]), max_size=3))
    boxes, free = [], CodeSet.full(shape[0])  # boxes of a condition are disjoint
    for first in left:
        rest = tuple(draw(code_sets(size)) for size in shape[1:])
        boxes.append(Box((first.intersection(free), *rest)))
        free = free.intersection(first.complement(shape[0]))
    axes = draw(st.lists(st.sampled_from(range(len(shape))), unique=True))
    groups = [(axis, draw(node_ranges(shape[axis]))) for axis in axes]
    piece = draw(st.sampled_from([1, 2, 7, 50, 2**24]))
    return matrix, tuple(boxes), groups, piece


def in_boxes(cell, boxes) -> bool:
    return any(all(c in s for c, s in zip(cell, box.sets, strict=True)) for box in boxes)


def by_brute_force(matrix, boxes, groups):
    """Values and numbers of cells, cell by cell."""
    values = np.zeros([len(ranges) for _, ranges in groups], np.int64)
    terms = np.zeros_like(values)
    for cell in np.ndindex(*matrix.shape):
        places = [
            [i for i, (start, stop) in enumerate(ranges) if start <= cell[axis] < stop]
            for axis, ranges in groups
        ]
        if in_boxes(cell, boxes):
            for place in itertools.product(*places):
                values[place] += int(matrix[cell])
                terms[place] += 1
    return values.reshape(-1), terms.reshape(-1)


def reader(matrix) -> NoisyCells:
    return NoisyCells(lambda *slices: matrix[slices], DiscreteLaplace(SCALE))


@settings(max_examples=150, deadline=None)
@given(questions())
def test_groups_equal_the_sum_over_every_cell(question):
    matrix, boxes, groups, piece = question
    with mock.patch.object(sums_module, "_PIECE", piece):
        estimates = reader(matrix).group(boxes, groups)
    values, terms = by_brute_force(matrix, boxes, groups)
    assert np.array_equal(estimates.values, values)
    assert [noises(estimates.laws[i]) for i in estimates.law_of_row] == terms.tolist()
    assert np.array_equal(cells_by_group(boxes, groups), terms)


@settings(max_examples=100, deadline=None)
@given(questions())
def test_a_count_equals_the_sum_over_every_cell(question):
    matrix, boxes, _, piece = question
    with mock.patch.object(sums_module, "_PIECE", piece):
        value, law = reader(matrix).count(boxes)
    values, terms = by_brute_force(matrix, boxes, [])
    assert type(value) is int and value == values[0]
    assert law == reader(matrix).law(boxes) == NoiseSum.of(DiscreteLaplace(SCALE), int(terms[0]))


@pytest.mark.parametrize("piece", [1, 10, 300, 2**24])
def test_very_ragged_sets_on_every_axis_add_up(monkeypatch, piece):
    monkeypatch.setattr(sums_module, "_PIECE", piece)
    matrix = np.random.default_rng(0).integers(-(2**15), 2**15, (61, 53, 3)).astype(np.int16)
    odd = [CodeSet.of(*((c, c + 1) for c in range(1, size, 2))) for size in matrix.shape]
    value, law = reader(matrix).count((Box(tuple(odd)),))
    assert value == matrix[1::2, 1::2, 1::2].sum(dtype=np.int64)
    assert noises(law) == matrix[1::2, 1::2, 1::2].size
    by_last_then_first = [(2, [(0, 3)]), (0, [(0, 20), (20, 61)])]
    estimates = reader(matrix).group((Box(tuple(odd)),), by_last_then_first)
    assert estimates.values.tolist() == [
        matrix[1:20:2, 1::2, 1::2].sum(dtype=np.int64),
        matrix[21::2, 1::2, 1::2].sum(dtype=np.int64),
    ]


def test_far_apart_codes_do_not_read_what_lies_between(monkeypatch):
    monkeypatch.setattr(sums_module, "_PIECE", 100)
    read = []
    matrix = np.ones((1000, 10), np.int8)

    def watched(*slices):
        read.append(matrix[slices].size)
        return matrix[slices]

    box = Box((CodeSet.of((0, 1), (999, 1000)), CodeSet.full(10)))
    assert NoisyCells(watched, DiscreteLaplace(SCALE)).count((box,))[0] == 20
    assert read == [10, 10]


def test_no_boxes_count_zero_without_noise():
    nothing = Box((CodeSet.empty(), CodeSet.full(3)))
    for boxes in ((), (nothing,)):
        value, law = reader(np.ones((2, 3), np.int8)).count(boxes)
        assert (value, noises(law), law.variance) == (0, 0, 0)


def test_sums_beyond_64_bits_are_refused_and_never_wrap():
    matrix = np.full((4, 2), 2**62, np.int64)
    whole = (Box.full(matrix.shape),)
    with pytest.raises(QueryError, match="too large"):
        reader(matrix).count(whole)
    with pytest.raises(QueryError, match="too large"):
        reader(matrix).group(whole, [(0, [(0, 2), (2, 4)])])
    matrix[:, 1] *= -1
    assert reader(matrix).count(whole)[0] == 0
    assert reader(np.full((300, 300), 2**31 - 1, np.int64)).count((Box.full((300, 300)),))[
        0
    ] == 90_000 * (2**31 - 1)


def test_all_codes_lists_a_set_in_order():
    assert all_codes(CodeSet.of((7, 9), (0, 2))).tolist() == [0, 1, 7, 8]
    assert all_codes(CodeSet.empty()).tolist() == []
