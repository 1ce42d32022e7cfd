"""Random range counts: the paper's law of queries, and true answers against plain slices."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hushtable.errors import OptionError
from hushtable.evaluation import range_queries
from hushtable.evaluation.range_queries import Ranges, quintiles, random_ranges, true_counts
from hushtable.generators import brazil
from hushtable.kernel.counting import Counts
from hushtable.schema import Attribute, Hierarchy, IntegerRange, Schema, nominal, ordinal

SIX = Hierarchy.from_tree({"a": ["a1", "a2", "a3"], "b": ["b1", "b2"]})


def schema(*attributes: Attribute) -> Schema:
    return Schema(name="asked", budget=Fraction(1), attributes=attributes)


def even(counts: Counter[object], kinds: int) -> bool:
    assert len(counts) == kinds
    return bool(stats.chisquare(list(counts.values())).pvalue > 1e-6)


def test_one_to_all_attributes_are_asked_each_as_often() -> None:
    names = ("p", "q", "r", "s")
    four = schema(*(nominal(name, Hierarchy.flat([f"{name}1", f"{name}2"])) for name in names))
    ranges = random_ranges(four, 20_000)
    asked = ranges.stops - ranges.starts == 1  # a node is never the root: asked means narrowed
    assert even(Counter(asked.sum(axis=1).tolist()), 4)
    for predicates in (1, 2, 3):
        chosen = asked[asked.sum(axis=1) == predicates]
        assert even(Counter(map(tuple, chosen.tolist())), (4, 6, 4)[predicates - 1])


def test_every_interval_is_equally_likely() -> None:
    ranges = random_ranges(schema(ordinal("x", IntegerRange(0, 4))), 30_000)
    pairs = zip(ranges.starts[:, 0].tolist(), ranges.stops[:, 0].tolist(), strict=True)
    assert even(Counter(pairs), 15)


def test_every_node_but_the_root_is_equally_likely() -> None:
    ranges = random_ranges(schema(nominal("n", SIX)), 30_000)
    found = Counter(zip(ranges.starts[:, 0].tolist(), ranges.stops[:, 0].tolist(), strict=True))
    assert even(found, 7)
    assert found.keys() == {(node.start, node.stop) for node in SIX.nodes[1:]}


def test_undeclared_values_are_in_no_predicate() -> None:
    loose = schema(
        ordinal("x", IntegerRange(0, 4), outside="other"), nominal("n", SIX, outside="other")
    )
    ranges = random_ranges(loose, 5000)
    shape = np.array(loose.shape)
    whole = (ranges.starts == 0) & (ranges.stops == shape)
    assert (ranges.stops[~whole] < np.broadcast_to(shape, whole.shape)[~whole]).all()
    assert not whole.all(axis=1).any() and whole.any()


def test_a_hierarchy_of_one_value_can_be_asked() -> None:
    ranges = random_ranges(schema(nominal("n", Hierarchy.flat(["only"]))), 10)
    assert (ranges.starts == 0).all() and (ranges.stops == 1).all()


def test_queries_follow_from_the_seed() -> None:
    census = brazil(1).schema
    first, again, other = (random_ranges(census, 100, seed=seed) for seed in (3, 3, 4))
    assert (first.starts == again.starts).all() and (first.stops == again.stops).all()
    assert (first.starts != other.starts).any()
    assert len(random_ranges(census)) == 40_000
    with pytest.raises(OptionError, match="at least one query"):
        random_ranges(census, 0)


def test_coverage_is_the_share_of_the_cells() -> None:
    ranges = Ranges(np.array([[0, 1], [0, 0]]), np.array([[2, 2], [4, 5]]))
    assert ranges.coverage((4, 5)).tolist() == [0.1, 1.0]


@settings(deadline=None, max_examples=40)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.integers(0, 2**32))
def test_true_answers_are_those_of_plain_slices(shape: list[int], seed: int) -> None:
    random = np.random.default_rng(seed)
    dense = random.integers(0, 9, shape)
    codes = random.permutation(np.flatnonzero(dense))
    counts = Counts(tuple(shape), codes, dense.ravel()[codes])
    axes = schema(*(ordinal(f"x{i}", IntegerRange(0, size - 1)) for i, size in enumerate(shape)))
    ranges = random_ranges(axes, 30, seed=seed)
    slow = [
        dense[tuple(map(slice, start, stop))].sum()
        for start, stop in zip(ranges.starts, ranges.stops, strict=True)
    ]
    assert true_counts(counts, ranges).tolist() == slow
    assert range_queries._true_counts_one_by_one(counts, ranges).tolist() == slow


def test_a_domain_that_cannot_be_laid_out_is_answered_all_the_same() -> None:
    counts = Counts((10**6, 10**6), np.array([5, 10**6 + 7, 10**12 - 1]), np.array([2, 3, 4]))
    ranges = Ranges(np.array([[0, 0], [1, 7]]), np.array([[10**6, 10**6], [2, 8]]))
    assert true_counts(counts, ranges).tolist() == [9, 3]


def test_fifths_are_equal_parts_in_order() -> None:
    values = np.array([5.0, 1, 4, 2, 3, 0, 9, 8, 7, 6])
    assert quintiles(values).tolist() == [3, 1, 3, 2, 2, 1, 5, 5, 4, 4]
    assert quintiles(np.zeros(10)).tolist() == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    sizes = np.bincount(quintiles(np.random.default_rng(1).random(103)))[1:]
    assert sizes.sum() == 103 and sizes.max() - sizes.min() <= 1
