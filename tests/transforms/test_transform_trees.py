"""Trees: their shapes, least squares beyond the exact sizes, and attributes' own hierarchies."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import transform_cases as cases
from hypothesis import given, settings
from hypothesis import strategies as st

from hushtable.errors import OptionError
from hushtable.families.linear.read.transforms import reading_of
from hushtable.kernel.maps import AxisTransform, Nominal, Tree
from hushtable.kernel.maps.topology import Topology
from hushtable.schema import Hierarchy
from hushtable.schema.attribute import IntegerRange, nominal, ordinal


@settings(deadline=None, max_examples=100)
@given(cases.trees(most=40), st.integers(0, 2**32))
def test_the_inverse_is_weighted_least_squares(tree: Tree, seed: int) -> None:
    noisy = np.random.default_rng(seed).integers(-1000, 1000, (tree.coefficients, 2))
    weights = np.array([[1 / float(factor)] for factor in cases.factors(tree)])
    fitted = np.linalg.lstsq(tree.matrix() * weights, noisy * weights, rcond=None)[0]
    np.testing.assert_allclose(reading_of(tree).inverse(noisy, 0), fitted, rtol=1e-7, atol=1e-7)


def test_a_binary_tree_of_four_by_hand() -> None:
    """Hay et al.'s figure: four leaves, counts 2, 0, 10, 2 measured with noise."""
    tree = Tree.uniform(4, 2)
    noisy = np.array([13, 3, 11, 4, 1, 12, 1])
    assert reading_of(tree).inverse(noisy, 0) == pytest.approx([3, 0, 11, 0])


@settings(deadline=None, max_examples=100)
@given(cases.hierarchies(most=30))
def test_topologies_are_what_their_groups_say(drawn: tuple[int, cases.Spans]) -> None:
    size, groups = drawn
    tree = Topology.of_groups(size, groups)
    ranges = list(zip(tree.start.tolist(), tree.stop.tolist(), strict=True))
    assert sorted(ranges) == sorted([*groups, *((code, code + 1) for code in range(size))])
    for node, (start, stop) in enumerate(ranges):
        around = [r for r in ranges if r[0] <= start and stop <= r[1] and r != (start, stop)]
        inner = min(around, key=lambda r: r[1] - r[0], default=None)
        assert (ranges[tree.parent[node]] if node else None) == inner
        children = list(range(tree.first[node], tree.first[node] + tree.fanout[node]))
        assert children == [k for k in range(1, tree.nodes) if tree.parent[k] == node]
        assert not children or [ranges[k][0] for k in children] == sorted(
            ranges[k][0] for k in children
        )
    assert [ranges[node] for node in tree.leaves] == [(code, code + 1) for code in range(size)]


def test_radices_cut_off_at_the_size() -> None:
    tree = Tree.mixed(7, (2, 2, 2)).tree
    assert list(zip(tree.start, tree.stop, strict=True)) == [
        *[(0, 7)],
        *[(0, 4), (4, 7)],
        *[(0, 2), (2, 4), (4, 6), (6, 7)],  # the last has a single child
        *[(code, code + 1) for code in range(7)],
    ]
    assert Tree.uniform(7, 2) == Tree.mixed(7, (2, 2, 2))
    assert Tree.uniform(10, 10).radices == (10,)
    assert Tree.uniform(11, 10).radices == (10, 10)
    assert Tree.uniform(1, 2).radices == ()


def test_shares_of_the_budget_become_factors() -> None:
    """Level ℓ with a share w of the budget has noise of scale 1/(w·ε)."""
    shares = (Fraction(1, 10), Fraction(3, 10), Fraction(2, 5), Fraction(1, 5))
    tree = Tree.mixed(11, (2, 3, 2), shares=shares)
    assert tree.levels == 4
    assert [tree.levels * c.factor for c in tree.classes] == [1 / share for share in shares]
    assert len(Tree.mixed(11, (2, 3, 2), shares=(Fraction(1, 4),) * 4).classes) == 1
    two = Tree.uniform(4, 2, shares=(Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)))
    assert [(c.start, c.stop) for c in two.classes] == [(0, 1), (1, 7)]


def test_an_attributes_hierarchy_with_and_without_a_code_for_nulls() -> None:
    hierarchy = Hierarchy.from_tree({"a": ["x", "y", "z"], "b": ["u", "v"], "c": ["w"]})
    for outside, size in (("drop", 6), ("other", 7)):
        attribute = nominal("n", hierarchy, outside=outside)
        groups = ((0, size), (0, 3), (3, 5))
        assert Nominal.of(attribute) == Nominal(size, groups)
        assert Tree.of(attribute, root=False) == Tree(size, groups, root=False)
        fanouts = Nominal.of(attribute).tree.fanout[0], Nominal.of(attribute).levels
        assert fanouts == (3 + (outside == "other"), 3)


def test_a_hierarchy_of_one_value() -> None:
    one = Hierarchy.flat(["only"])
    assert Nominal.of(nominal("n", one)) == Nominal(1, ())
    assert Nominal.of(nominal("n", one, outside="other")) == Nominal(2, ((0, 2),))


def test_an_attribute_without_a_hierarchy_is_refused() -> None:
    with pytest.raises(OptionError, match="hierarchy"):
        Nominal.of(ordinal("o", IntegerRange(0, 9)))


@pytest.mark.parametrize(
    "build",
    [
        lambda: Nominal(0, ()),
        lambda: Nominal(True, ()),
        lambda: Nominal(3, ()),
        lambda: Nominal(1, ((0, 1),)),
        lambda: Nominal(3, ((0, 2),)),
        lambda: Nominal(4, ((0, 4), (0, 3), (2, 4))),
        lambda: Nominal(4, ((0, 4), (0, 2), (0, 3))),
        lambda: Nominal(4, ((0, 4), (0, 4))),
        lambda: Nominal(4, ((0, 4), (1, 2))),
        lambda: Nominal(4, ((0, 4), (2, 5))),
        lambda: Nominal(4, [(0, 4)]),
        lambda: Nominal(4, ((0, 4.0),)),
        lambda: Nominal(300, tuple((0, stop) for stop in range(300, 1, -1))),
        lambda: Tree(4),
        lambda: Tree(4, ((0, 4),), (2, 2)),
        lambda: Tree.mixed(5, (2, 2)),
        lambda: Tree.mixed(4, (2, 2, 2)),
        lambda: Tree.mixed(4, (4, 1)),
        lambda: Tree.mixed(1, (2,)),
        lambda: Tree(4, None, [4]),
        lambda: Tree.uniform(4, 1),
        lambda: Tree.uniform(4, 2.0),
        lambda: Tree.uniform(4, 2, root=1),
        lambda: Tree.uniform(4, 2, shares=(Fraction(1, 3), Fraction(1, 3))),
        lambda: Tree.uniform(4, 4, shares=(Fraction(1, 3), Fraction(1, 3))),
        lambda: Tree.uniform(4, 4, shares=(Fraction(3, 2), Fraction(-1, 2))),
        lambda: Tree.uniform(4, 4, shares=(0.5, 0.5)),
        lambda: Tree.uniform(2**29, 2),
    ],
)
def test_what_is_no_tree_is_refused(build: Any) -> None:
    with pytest.raises(OptionError):
        build()


@pytest.mark.parametrize("transform", [t for t in cases.all_trees() if t.size > 1], ids=repr)
def test_classes_follow_each_other(transform: AxisTransform) -> None:
    assert len(cases.factors(transform)) == transform.coefficients
