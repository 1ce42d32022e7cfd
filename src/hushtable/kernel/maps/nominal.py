"""The nominal wavelet transform over a hierarchy, as integers.

X. Xiao, G. Wang, J. Gehrke. Differential privacy via wavelet transforms. IEEE TKDE 23(8), 2011,
section 5.

| paper                                         | here                                            |
|-----------------------------------------------|-------------------------------------------------|
| c = leaf sum − mean leaf sum of the siblings  | f·c = f·leaf sum of the node − that of its      |
|                                               | parent, which has f children: an integer        |
| weight f/(2f−2), noise Lap(λ(2f−2)/f) on c    | noise of scale λ(2f−2) on f·c                   |
| base coefficient, weight 1                    | the root's total, noise of scale λ              |
| mean subtraction, then Equation 5             | `families.linear.least_squares`                 |
| order by levels                               | by fan-out, so that equal scales stand together |
| all leaves at one depth                       | any: the deepest leaf counts                    |
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from hushtable.arrays import Integers
from hushtable.kernel.maps.axis import ScaleClass
from hushtable.kernel.maps.squared import Pair
from hushtable.kernel.maps.topology import (
    Classified,
    Spans,
    Topology,
    check_groups,
    groups_of,
    parted_below,
)


@dataclass(frozen=True)
class Nominal:
    """Compare every node of a hierarchy with its siblings; one coefficient per node."""

    size: int
    groups: Spans

    kind = "nominal"
    in_place = False

    def __post_init__(self) -> None:
        check_groups(self.size, self.groups)

    @classmethod
    def of(cls, attribute: Classified) -> Nominal:
        """Build from an attribute's hierarchy."""
        return cls(attribute.size, groups_of(attribute))

    @cached_property
    def tree(self) -> Topology:
        return Topology.of_groups(self.size, self.groups)

    @property
    def coefficients(self) -> int:
        return self.size + len(self.groups)

    @property
    def levels(self) -> int:
        """One row adds 1 to the total and, in each group of f siblings on its way down, f − 1 to
        one coefficient and −1 to f − 1 others, all of factor 2f − 2: together 1 for each level."""
        return self.tree.depth + 1

    @property
    def overlap(self) -> Fraction:
        """Two codes that part below a node at depth k with f children share the total, k whole
        groups, and f coefficients of that node's children by 1/(2f − 2) each."""
        parting = (k + 1 + Fraction(f, 2 * f - 2) for k, f in self._fanouts)
        return min(parting, default=Fraction(1))

    @property
    def agreement(self) -> Fraction:
        """Of those f, two disagree: either code's own child."""
        parting = (k + 1 + Fraction(f - 4, 2 * f - 2) for k, f in self._fanouts)
        return min(parting, default=Fraction(1))

    @cached_property
    def pairs(self) -> tuple[Pair, ...]:
        """In a group of f siblings with the factor F, a row changes one coefficient by f − 1 and
        f − 1 others by −1: f·(f − 1)/F² in squares. Two rows that part there have the product
        −(f − 1) in either one's own coefficient, and 1 in f − 2 others: −f/F² together."""

        def over_factors(change: int, node: int) -> Fraction:
            return Fraction(change, int(self.factors[self.tree.first[node]]) ** 2)

        def gain(node: int) -> Fraction:
            fanout = int(self.tree.fanout[node])
            return over_factors(fanout * (fanout - 1), node)

        def meeting(node: int) -> Fraction:
            return over_factors(-int(self.tree.fanout[node]), node)

        return parted_below(self.tree, Fraction(1), gain, meeting)

    @cached_property
    def _fanouts(self) -> set[tuple[int, int]]:
        """The depth of each group, and how many children it has."""
        depths = np.repeat(np.arange(self.tree.depth + 1), np.diff(self.tree.offsets))
        pairs = zip(depths.tolist(), self.tree.fanout.tolist(), strict=True)
        return {(depth, fanout) for depth, fanout in pairs if fanout}

    @cached_property
    def factors(self) -> Integers:
        """The scale factor of every node: 2f − 2 below a parent with f children, 1 at the root."""
        factors = 2 * self.tree.fanout[self.tree.parent] - 2
        factors[0] = 1
        return factors

    @cached_property
    def order(self) -> Integers:
        """The node of each coefficient: by factor, then as in the tree; the root is first."""
        return np.argsort(self.factors, kind="stable")

    @cached_property
    def classes(self) -> tuple[ScaleClass, ...]:
        values, starts = np.unique(self.factors[self.order], return_index=True)
        ends = [*starts.tolist()[1:], self.coefficients]
        return tuple(
            ScaleClass(start, stop, Fraction(factor))
            for factor, start, stop in zip(values.tolist(), starts.tolist(), ends, strict=True)
        )

    def matrix(self) -> Integers:
        rows = np.zeros((self.coefficients, self.size), np.int64)
        tree = self.tree
        for k, node in enumerate(self.order):
            above = tree.parent[node]
            if above < 0:
                rows[k] = 1
            else:
                rows[k, tree.start[node] : tree.stop[node]] = tree.fanout[above]
                rows[k, tree.start[above] : tree.stop[above]] -= 1
        return rows

    def forward(self, counts: Integers, axis: int) -> Integers:
        """f·leaf sum of every node − leaf sum of its parent."""
        tree, order = self.tree, self.order
        sums = tree.sums(counts, axis)
        siblings = np.where(order > 0, tree.fanout[tree.parent[order]], 1)
        coefficients = sums[order] * siblings.reshape(-1, *(1,) * (sums.ndim - 1))
        coefficients[1:] -= sums[tree.parent[order[1:]]]
        return np.ascontiguousarray(np.moveaxis(coefficients, 0, axis))

    def forward_lines(self, source: Integers, target: Integers, first: int, last: int) -> None:
        from hushtable.kernel.maps import kernels

        tree = self.tree
        shape = self.place, tree.first, tree.fanout, tree.start
        kernels.node_sums(source, target, first, last, shape)
        kernels.sibling_differences(target, first, last, shape)

    @cached_property
    def place(self) -> Integers:
        """Where each node's coefficient stands."""
        return np.argsort(self.order)

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "size": self.size, "groups": [list(g) for g in self.groups]}
