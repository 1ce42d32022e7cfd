"""The trees of hierarchical counts: what can be asked for, and that the best one is the best."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from tests.shared_sizes import some_of

from hushtable.errors import HushError, OptionError
from hushtable.families import find_mechanism
from hushtable.families.linear.ask.hierarchical import trees
from hushtable.families.linear.read.transforms import reading_of
from hushtable.families.linear.trees import best_tree
from hushtable.kernel.maps import AxisTransform, Haar, Identity, Tree
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.schema import Schema

ONE = Fraction(1)

AGE = {"name": "age", "kind": "ordinal", "range": [0, 99]}
INCOME = {"name": "income", "kind": "ordinal", "range": [1, 1024], "outside": "other"}
JOB = {
    "name": "job",
    "kind": "nominal",
    "tree": {"desk": ["clerk", "boss"], "field": ["farmer", "miner", "driver"]},
    "outside": "other",
}
SEX = {"name": "sex", "kind": "nominal", "values": ["F", "M"]}


def schema_of(*attributes: dict[str, Any]) -> Schema:
    return Schema.from_dict({"name": "t", "budget": "9", "attribute": list(attributes)})


SCHEMA = schema_of(AGE, INCOME, JOB, SEX)


# ── the tree of each axis ────────────────────────────────────────────────────────────────────────


def test_by_default_ranges_get_the_best_tree_and_hierarchies_their_own() -> None:
    age, income, job, sex = trees(SCHEMA, {}).axes
    assert age == best_tree(100) and income == best_tree(1025)
    assert isinstance(age, Tree) and isinstance(income, Tree) and age.levels < income.levels
    assert job == Tree(6, ((0, 6), (0, 2), (2, 5)), root=False)
    assert sex.levels == 1 and np.array_equal(sex.matrix(), np.eye(2))


def test_one_branching_is_for_every_ordered_axis() -> None:
    age, income, job, sex = trees(SCHEMA, {"branching": "16"}).axes
    assert age == Tree.uniform(100, 16, root=False)
    assert income == Tree.uniform(1025, 16, root=False)
    assert (job, sex) == trees(SCHEMA, {}).axes[2:]


@pytest.mark.parametrize("text", ["8,age:16,job:2", "age:16,job:2,8", " job : 2 , age : 16 , 8 "])
def test_named_branchings_go_before_the_common_one_in_any_order(text: str) -> None:
    age, income, job, _ = trees(SCHEMA, {"branching": text}).axes
    assert age == Tree.uniform(100, 16, root=False)
    assert income == Tree.uniform(1025, 8, root=False)
    assert job == Tree.uniform(6, 2, root=False)


@pytest.mark.parametrize("text", ["100", "5000", str(10**18)])
def test_a_branching_beyond_the_size_is_the_plain_counts(text: str) -> None:
    (axis,) = trees(schema_of(AGE), {"branching": text}).axes
    assert axis.levels == 1 and np.array_equal(axis.matrix(), np.eye(100))
    find_mechanism("hierarchical").check(schema_of(AGE), epsilon=ONE, settings={"branching": text})


def test_no_branching_is_as_none_given() -> None:
    assert (
        trees(SCHEMA, {"branching": ""}) == trees(SCHEMA, {"branching": " , "}) == trees(SCHEMA, {})
    )


@pytest.mark.parametrize(
    "text", ["1", "0", "-4", "2.5", "two", "age:", "age:1", "age:x", ":", "age=4", "9" * 5000, "٣"]
)
def test_other_branchings_are_refused_in_one_line(text: str) -> None:
    with pytest.raises(OptionError, match=r"^branching must be a whole number from 2, several"):
        find_mechanism("hierarchical").check(SCHEMA, epsilon=ONE, settings={"branching": text})


@pytest.mark.parametrize("text", ["height:4", ":4"])
def test_unknown_attributes_are_refused_in_one_line(text: str) -> None:
    with pytest.raises(HushError) as refused:
        find_mechanism("hierarchical").check(SCHEMA, epsilon=ONE, settings={"branching": text})
    assert "attribute" in str(refused.value) and "\n" not in str(refused.value)


# ── the best tree ────────────────────────────────────────────────────────────────────────────────


def every_shape(size: int) -> Iterator[tuple[int, ...]]:
    """All numbers of children that make a tree over an axis, from the root down."""

    def above(radices: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        reach = math.prod(radices)
        yield (math.ceil(size / reach), *radices)
        for radix in range(2, math.ceil(size / reach)):
            yield from above((radix, *radices))

    return above(())


@cache
def all_ranges(size: int) -> tuple[np.ndarray, np.ndarray]:
    starts, stops = np.triu_indices(size + 1, 1)
    return starts, stops


def mean_cost(axis: AxisTransform) -> float:
    """The mean variance of all ranges, in units of 2/ε² under add-remove."""
    return axis.levels**2 * float(reading_of(axis).gains(*all_ranges(axis.size)).sum(axis=1).mean())


def test_all_shapes_are_tried() -> None:
    assert sorted(every_shape(6)) == [(2, 2, 2), (2, 3), (2, 4), (2, 5), (3, 2), (6,)]
    assert len(set(every_shape(64))) == len(list(every_shape(64))) == 409


SIZES = [*range(2, 25), 32, 40, 41, 43, 44, 49, 50, 57, 58, 63, 64]


@pytest.mark.parametrize("size", some_of(SIZES, [*range(2, 25), 41]))
def test_no_tree_has_a_smaller_mean_variance_than_the_best(size: int) -> None:
    shapes = list(every_shape(size))
    found = mean_cost(best_tree(size))
    least = min(mean_cost(Tree.mixed(size, shape, root=False)) for shape in shapes)
    assert found == pytest.approx(least, rel=1e-12)
    # A measured root does not pay, even for the shapes that come closest.
    rooted = [Tree.mixed(size, shape) for shape in shapes if len(shape) <= 2]
    assert found < min(map(mean_cost, rooted))


@pytest.mark.parametrize("size", [1, 2, 3, 40])
def test_short_axes_are_plain(size: int) -> None:
    assert best_tree(size) == Identity(size)


@pytest.mark.parametrize("size", [97, 100, 200])
def test_a_sample_of_ranges_finds_almost_the_best(size: int) -> None:
    tree = best_tree(size)
    assert isinstance(tree, Tree) and tree.radices is not None
    others = [shape for depth in (2, 3) for shape in even_shapes(size, depth)]
    least = min(mean_cost(Tree.mixed(size, shape, root=False)) for shape in others)
    assert len(others) > 10 and mean_cost(tree) <= 1.002 * least


def even_shapes(size: int, depth: int) -> Iterator[tuple[int, ...]]:
    """Shapes with nearly equal numbers of children."""
    middle = round(size ** (1 / depth))
    for lower in np.ndindex(*(5,) * (depth - 1)):
        radices = tuple(middle - 2 + step for step in lower)
        if min(radices, default=2) >= 2 and math.prod(radices) < size:
            yield (math.ceil(size / math.prod(radices)), *radices)


def mean_variance(axis: AxisTransform, starts: Any, stops: Any, axes: int = 1) -> float:
    """The mean over ranges, or over boxes of two equal axes, of the exact variance at ε = 1."""
    gain = float(reading_of(axis).gains(starts, stops).sum(axis=1).mean())
    return gain**axes * DiscreteLaplace(Fraction(axis.levels**axes)).variance


@pytest.mark.parametrize(
    ("size", "axes", "most", "plain"),
    [
        pytest.param(1024, 1, 0.375, 1.536, marks=pytest.mark.thorough),
        (4096, 1, 0.379, 3.671),
        (256, 2, 0.128, 0.557),
    ],
)
def test_ranges_beside_those_of_privelet(size: int, axes: int, most: float, plain: float) -> None:
    """Over all ranges; over 300,000 of the longest axis."""
    if size <= 1024:
        starts, stops = all_ranges(size)
    else:
        starts, stops = np.sort(
            np.random.default_rng(1).integers(0, size + 1, (2, 300_000)), axis=0
        )
        starts, stops = starts[starts < stops], stops[starts < stops]
    wavelet = mean_variance(Haar(size), starts, stops, axes)
    assert mean_variance(best_tree(size), starts, stops, axes) / wavelet <= most
    identity = ((size + 2) / 3) ** axes * DiscreteLaplace(ONE).variance
    assert identity / wavelet == pytest.approx(plain, rel=0.003 if size > 1024 else 4e-4)


@pytest.mark.parametrize("size", [4096, 100_000])
def test_the_best_tree_is_flat(size: int) -> None:
    best_tree.cache_clear()
    assert best_tree(size).levels in (3, 4)
