"""Transforms to test, and slow, exact versions of what they claim."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from hushtable.kernel.maps import AxisTransform, Haar, Identity, Nominal, Tents, Tree

Spans = tuple[tuple[int, int], ...]
Exact = NDArray[Any]
"""An array of Fractions."""

F = Fraction

# Hierarchies as their groups: flat, two levels, ragged, a chain to one side, deep on the right.
HIERARCHIES: tuple[tuple[int, tuple[tuple[int, int], ...]], ...] = (
    (1, ()),
    (2, ((0, 2),)),
    (5, ((0, 5),)),
    (6, ((0, 6), (0, 3), (3, 6))),
    (7, ((0, 7), (0, 2), (2, 6))),
    (9, ((0, 9), (0, 4), (1, 3), (4, 7))),
    (6, ((0, 6), (0, 5), (0, 4), (0, 3), (0, 2))),
    (8, ((0, 8), (2, 8), (3, 8), (3, 5), (5, 8))),
)


def all_transforms() -> Iterator[AxisTransform]:
    """One of every sort, small enough to be written out."""
    yield from (Identity(1), Identity(4))
    yield from (Haar(size) for size in (1, 2, 3, 5, 6, 7, 8, 11, 13, 16))
    yield from (Nominal(size, groups) for size, groups in HIERARCHIES)
    yield from all_trees()
    yield from all_tents()


def all_tents() -> Iterator[Tents]:
    yield from (Tents(size, 2, height=16) for size in (1, 2, 7))
    yield from (Tents(9, 3, 2, height=24), Tents(12, 4), Tents(13, 2, 3, height=40))


def all_trees() -> Iterator[Tree]:
    for root in (True, False):
        yield from (Tree(size, groups, root=root) for size, groups in HIERARCHIES)
        sizes = itertools.product((1, 2, 5, 9, 12), (2, 3, 4))
        yield from (Tree.uniform(size, branching, root=root) for size, branching in sizes)
        yield Tree.mixed(11, (2, 3, 2), root=root)
    yield Tree.mixed(11, (2, 3, 2), shares=(F(1, 10), F(3, 10), F(2, 5), F(1, 5)))
    yield Tree.mixed(11, (3, 4), root=False, shares=(F(1, 3), F(2, 3)))
    yield Tree(*HIERARCHIES[5], shares=(F(1, 8), F(1, 4), F(1, 8), F(1, 2)))


@st.composite
def hierarchies(draw: st.DrawFn, most: int = 14) -> tuple[int, tuple[tuple[int, int], ...]]:
    """Random ragged trees, by splitting ranges of codes at random places."""
    size = draw(st.integers(1, most))
    groups: list[tuple[int, int]] = []
    pending = [(0, size)] if size > 1 else []
    while pending:
        start, stop = pending.pop()
        groups.append((start, stop))
        places = st.integers(start + 1, stop - 1)
        cuts = draw(st.lists(places, min_size=1, max_size=4, unique=True))
        ends = [start, *sorted(cuts), stop]
        for low, high in itertools.pairwise(ends):
            if high - low == 2 or (high - low > 2 and draw(st.booleans())):
                pending.append((low, high))
    return size, tuple(sorted(groups, key=lambda group: (group[0], -group[1])))


@st.composite
def trees(draw: st.DrawFn, most: int = 14) -> Tree:
    """Random trees: hierarchies or radices, with or without root, with or without shares."""
    root = draw(st.booleans())
    if draw(st.booleans()):
        tree = Tree(*draw(hierarchies(most)), root=root)
    else:
        size, radices = draw(st.integers(1, most)), ()
        while int(np.prod(radices, initial=1)) < size:
            radices = (draw(st.integers(2, 5)), *radices)
        tree = Tree.mixed(size, radices, root=root)
    if draw(st.booleans()):
        parts = draw(st.lists(st.integers(1, 9), min_size=tree.levels, max_size=tree.levels))
        shares = tuple(Fraction(part, sum(parts)) for part in parts)
        tree = Tree(tree.size, tree.groups, tree.radices, root=root, shares=shares)
    return tree


@st.composite
def tents(draw: st.DrawFn, most: int = 14) -> Tents:
    """Tents on one grid or two, low or high, in coarse integers or fine ones."""
    size, coarse, fine = (
        draw(st.integers(1, most)),
        draw(st.integers(1, 4)),
        draw(st.integers(0, 3)),
    )
    peaks = draw(st.tuples(st.integers(1, 40), st.integers(1, 40)))
    return Tents(size, coarse, fine, draw(st.integers(16, 300)), peaks, draw(st.integers(0, 5)))


def transforms(most: int = 14) -> st.SearchStrategy[AxisTransform]:
    sizes = st.integers(1, most)
    return st.one_of(
        st.builds(Identity, sizes),
        st.builds(Haar, sizes),
        hierarchies(most).map(lambda drawn: Nominal(*drawn)),
        trees(most),
        tents(most),
    )


def factors(transform: AxisTransform) -> list[Fraction]:
    """The scale factor of every coefficient, after checking that the classes cover them."""
    ends = [0, *(c.stop for c in transform.classes)]
    assert [c.start for c in transform.classes] == ends[:-1] and ends[-1] == transform.coefficients
    return [c.factor for c in transform.classes for _ in range(c.start, c.stop)]


def scaled(transforms: Sequence[AxisTransform]) -> Exact:
    """The matrix of a product, each coefficient over its factor: coefficients × cells."""
    product = np.array([[Fraction(1)]], object)
    for transform in transforms:
        over = [[1 / factor] for factor in factors(transform)]
        product = np.kron(product, np.array(over, object) * transform.matrix())
    return product


def entering(columns: Exact) -> Fraction:
    """The largest Σ|change| when a row appears in any cell."""
    return max(abs(columns[:, cell]).sum() for cell in range(columns.shape[1]))


def moving(columns: Exact) -> Fraction:
    """The largest Σ|change| when a row moves between any two cells."""
    # Whole numbers of one unit are compared for all pairs at once.
    unit = math.lcm(*(entry.denominator for entry in columns.flat))
    whole = (columns * unit).astype(np.int64)
    assert (whole == columns * unit).all() and np.abs(whole).max() < 2**62 // (2 * len(whole))
    most = max(int(np.abs(whole.T - cell).sum(axis=1).max()) for cell in whole.T)
    return Fraction(most, unit)


def intervals(size: int) -> list[tuple[int, int]]:
    """Every interval of codes, the empty ones included."""
    return [(start, stop) for start in range(size + 1) for stop in range(start, size + 1)]


def estimator(transform: AxisTransform) -> Exact:
    """The estimates as an exact matrix, codes × coefficients, each by its own definition."""
    if isinstance(transform, Nominal):
        return nominal_estimator(transform)
    weights = [1 / factor**2 for factor in factors(transform)]
    return least_squares(transform.matrix(), weights)


def least_squares(matrix: NDArray[Any], weights: list[Fraction]) -> Exact:
    """(AᵀWA)⁻¹AᵀW by elimination over the rationals; a plain inverse where A is square."""
    a = np.array([[Fraction(int(entry)) for entry in row] for row in matrix], object)
    right = a.T * np.array(weights, object)
    return solve(right.dot(a), right)


def solve(square: Exact, right: Exact) -> Exact:
    """Gauss and Jordan's elimination, with the first usable pivot."""
    both = np.concatenate([square, right], axis=1)
    for k in range(len(both)):
        pivot = next(i for i in range(k, len(both)) if both[i, k] != 0)
        both[[k, pivot]] = both[[pivot, k]]
        both[k] = both[k] / both[k, k]
        for i in range(len(both)):
            if i != k:
                both[i] = both[i] - both[i, k] * both[k]
    return both[:, len(square) :]


def nominal_estimator(transform: Nominal) -> Exact:
    """Mean subtraction and Equation 5 of the paper, step by step, on each unit vector."""
    tree, count = transform.tree, transform.coefficients
    estimates = np.zeros((transform.size, count), object)
    for k in range(count):
        c = [Fraction(0)] * count  # the paper's coefficients, by node
        node, above = int(transform.order[k]), int(tree.parent[transform.order[k]])
        c[node] = Fraction(1) if above < 0 else Fraction(1, int(tree.fanout[above]))
        if above >= 0:
            siblings = [v for v in range(count) if tree.parent[v] == above]
            mean = c[node] / len(siblings)
            for sibling in siblings:
                c[sibling] -= mean
        for code in range(transform.size):
            estimates[code, k] = _equation_5(transform, c, code)
    return estimates


def _equation_5(transform: Nominal, c: list[Fraction], code: int) -> Fraction:
    tree = transform.tree
    above = [v for v in range(tree.nodes) if tree.start[v] <= code < tree.stop[v]]
    value = Fraction(0)
    for i, v in enumerate(above):
        below = [Fraction(1, int(tree.fanout[w])) for w in above[i:-1]]
        term = c[v]
        for fraction in below:
            term *= fraction
        value += term
    return value


def exact_gains(transform: AxisTransform, matrix: Exact, start: int, stop: int) -> list[Fraction]:
    """Σ of squared weights within each class, from the estimator written out."""
    row = [sum(matrix[start:stop, k], Fraction(0)) for k in range(matrix.shape[1])]
    return [sum((w * w for w in row[c.start : c.stop]), Fraction(0)) for c in transform.classes]
