"""Counts of all nodes of a tree over an axis.

M. Hay, V. Rastogi, G. Miklau, D. Suciu. Boosting the accuracy of differentially private histograms
through consistency. PVLDB 3(1), 2010.

| paper                                  | here                                                   |
|----------------------------------------|--------------------------------------------------------|
| k-ary tree over 2^l leaves             | any tree: given radices, or an attribute's hierarchy   |
| noise Lap(ℓ/ε) on every node, ℓ levels | scale ℓ/ε, or each level its own share of the budget   |
| root is measured                       | or not: its count is then the sum of its children      |
| z̄ and h̄ (Theorem 3)                    | when it is read: `families.linear.least_squares`       |
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from hushtable.arrays import Integers
from hushtable.errors import OptionError
from hushtable.kernel.maps.axis import ScaleClass, check_size
from hushtable.kernel.maps.squared import Pair
from hushtable.kernel.maps.topology import (
    Classified,
    Spans,
    Topology,
    check_groups,
    check_radices,
    groups_of,
    parted_below,
)

# A smaller share would be of no use, and noise of its scale would drown all other levels' digits.
SMALLEST_SHARE = Fraction(1, 2**30)


@dataclass(frozen=True)
class Tree:
    """The count of every node of a tree, level by level."""

    size: int
    groups: Spans | None = None
    radices: tuple[int, ...] | None = None
    root: bool = field(default=True, kw_only=True)
    """Whether the total is measured too."""
    shares: tuple[Fraction, ...] | None = field(default=None, kw_only=True)
    """Each measured level's part of the budget, from the top; equal parts unless given."""

    kind = "tree"
    in_place = False

    def __post_init__(self) -> None:
        if (self.groups is None) is (self.radices is None):
            raise OptionError("a tree is given by groups or by radices")
        self._depth()
        if type(self.root) is not bool:
            raise OptionError("a tree has a root or not: true or false")
        if self.shares is not None:
            object.__setattr__(self, "shares", tuple(self.shares))  # a list could change afterwards
            _check_shares(self.shares, self.levels)

    @classmethod
    def of(
        cls,
        attribute: Classified,
        *,
        root: bool = True,
        shares: tuple[Fraction, ...] | None = None,
    ) -> Tree:
        """Build from an attribute's hierarchy."""
        return cls(attribute.size, groups_of(attribute), root=root, shares=shares)

    @classmethod
    def uniform(
        cls,
        size: int,
        branching: int,
        *,
        root: bool = True,
        shares: tuple[Fraction, ...] | None = None,
    ) -> Tree:
        """Build a tree whose nodes have `branching` children each, the last ones perhaps fewer."""
        check_size(size)
        radices: list[int] = []
        reach = 1
        while reach < size:
            if not branching >= 2:
                raise OptionError("a tree needs a branching of at least 2")
            radices.append(branching)
            reach *= branching
        return cls(size, None, tuple(radices), root=root, shares=shares)

    @classmethod
    def mixed(
        cls,
        size: int,
        radices: Sequence[int],
        *,
        root: bool = True,
        shares: tuple[Fraction, ...] | None = None,
    ) -> Tree:
        """Build a tree by the number of children at each level, from the root down."""
        return cls(size, None, tuple(radices), root=root, shares=shares)

    @cached_property
    def tree(self) -> Topology:
        if self.groups is not None:
            return Topology.of_groups(self.size, self.groups)
        return Topology.of_radices(self.size, self.radices or ())

    def _depth(self) -> int:
        """How many levels there are below the root; refuses what is not a tree."""
        if self.groups is not None:
            return max(check_groups(self.size, self.groups), default=-1) + 1
        check_radices(self.size, self.radices or ())
        return len(self.radices or ())

    @property
    def omitted(self) -> int:
        """How many nodes have no coefficient: the root, if it is not measured nor a leaf."""
        return int(not self.root and self.size > 1)

    @property
    def coefficients(self) -> int:
        return self.tree.nodes - self.omitted

    @property
    def levels(self) -> int:
        """One row adds 1 to one count of each level, down to its leaf.

        With shares w of ℓ levels the factors are 1/(ℓ·w), and Σ ℓ·w = ℓ again.
        """
        return self._depth() + 1 - self.omitted

    @property
    def overlap(self) -> Fraction:
        """Any two codes share the root, where it is measured, and all counts only ever grow."""
        return Fraction(0) if self.omitted else 1 / self.level_factors[0]

    @property
    def agreement(self) -> Fraction:
        return self.overlap

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """One row adds 1 over its level's factor to one count of each level, down to its leaf.

        Two rows share the counts above where they part. By radices all leaves are equally deep, and
        some part below the root; in a hierarchy, deeper leaves may part further down.
        """
        squares = [Fraction(0)] * self.omitted + [1 / f**2 for f in self.level_factors]
        if self.groups is None:
            return (Pair(sum(squares, Fraction(0)), sum(squares, Fraction(0)), squares[0]),)
        below = self.tree.offsets  # of a node of some depth, as many levels begin no later
        return parted_below(
            self.tree,
            squares[0],
            lambda node: squares[bisect(below, node)],
            lambda node: Fraction(0),
        )

    @property
    def level_factors(self) -> tuple[Fraction, ...]:
        """The scale factor of each measured level: a level of twice the budget has half of it."""
        if self.shares is None:
            return (Fraction(1),) * self.levels
        return tuple(1 / (self.levels * share) for share in self.shares)

    @cached_property
    def classes(self) -> tuple[ScaleClass, ...]:
        classes: list[ScaleClass] = []
        ends = self.tree.offsets[self.omitted + 1 :]
        for factor, end in zip(self.level_factors, ends, strict=True):
            start = classes[-1].stop if classes else 0
            if classes and classes[-1].factor == factor:
                start = classes.pop().start
            classes.append(ScaleClass(start, end - self.omitted, factor))
        return tuple(classes)

    def matrix(self) -> Integers:
        rows = np.zeros((self.coefficients, self.size), np.int64)
        for k in range(self.coefficients):
            node = k + self.omitted
            rows[k, self.tree.start[node] : self.tree.stop[node]] = 1
        return rows

    def forward(self, counts: Integers, axis: int) -> Integers:
        """The sum over the codes of every measured node."""
        sums = self.tree.sums(counts, axis)[self.omitted :]
        return np.ascontiguousarray(np.moveaxis(sums, 0, axis))

    def forward_lines(self, source: Integers, target: Integers, first: int, last: int) -> None:
        from hushtable.kernel.maps import kernels

        tree = self.tree
        kernels.node_sums(
            source, target, first, last, (self.place, tree.first, tree.fanout, tree.start)
        )

    @cached_property
    def place(self) -> Integers:
        """Where each node's coefficient stands; −1 for a root without one."""
        return np.arange(self.tree.nodes) - self.omitted

    def to_dict(self) -> dict[str, Any]:
        shares = None if self.shares is None else [str(share) for share in self.shares]
        described = {"kind": self.kind, "size": self.size, "root": self.root, "shares": shares}
        if self.groups is not None:
            return {**described, "groups": [list(group) for group in self.groups]}
        return {**described, "radices": list(self.radices or ())}


def _check_shares(shares: tuple[Fraction, ...], levels: int) -> None:
    if len(shares) != levels or not all(type(share) is Fraction for share in shares):
        raise OptionError(f"a tree of {levels} measured levels needs a Fraction for each")
    if min(shares) <= 0 or sum(shares) != 1:
        raise OptionError("the levels' shares of the budget must be positive and add up to 1")
    if min(shares) < SMALLEST_SHARE:
        raise OptionError("a level's share of the budget must be at least 2^-30")
