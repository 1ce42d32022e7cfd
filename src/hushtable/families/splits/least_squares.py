"""Counts of a tree's nodes, made to agree: least squares by one walk up and one walk down.

M. Hay, V. Rastogi, G. Miklau, D. Suciu. Boosting the accuracy of differentially private histograms
through consistency. PVLDB 3(1), 2010; here for noise that differs from node to node.

With σ² the variance of a node's own count y, the walk up gives z and its variance, from y and from
the children's z, each by the inverse of its variance; the walk down gives the children of v what
h(v) is more than the sum of their z, each by its part of their variance. A sum Σ q(leaf)·h(leaf)
weighs y(v) by own(v)·G(v): with u = q at the leaves and u(v) = Σ part(c)·u(c) above, G is u at the
root and u(c) − u(v) + below(v)·G(v) at a child.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from hushtable.arrays import Floats, Integers
from hushtable.kernel.maps.topology import Topology


class Consistent:
    """How the counts of a tree are read, by the variances of their noise."""

    def __init__(self, tree: Topology, variances: Floats) -> None:
        self.tree = tree
        own, below, part = (np.ones(tree.nodes) for _ in range(3))
        summed = np.array(variances, np.float64)
        for here, parents, eldest in self._up:
            together = np.add.reduceat(summed[here], eldest)
            each = np.repeat(together, tree.fanout[parents])
            part[here] = np.divide(summed[here], each, out=np.ones(len(each)), where=each > 0)
            mine = variances[parents]
            both = together + mine
            own[parents] = np.divide(together, both, out=np.full(len(both), 0.5), where=both > 0)
            below[parents] = 1 - own[parents]
            summed[parents] = own[parents] * mine
        self._own, self._below, self._part, self._summed = own, below, part, summed

    @cached_property
    def _up(self) -> list[tuple[slice, Integers, Integers]]:
        """For each level from the last: its nodes, their parents, and each one's first child."""
        found = []
        for depth in range(self.tree.depth, 0, -1):
            here = self.tree.level(depth)
            parents, eldest = np.unique(self.tree.parent[here], return_index=True)
            found.append((here, parents, eldest))
        return found

    def leaves(self, counts: Floats) -> Floats:
        """The count of each leaf."""
        values = np.array(counts, np.float64)
        sums = np.zeros(len(values))
        for here, parents, eldest in self._up:
            sums[parents] = np.add.reduceat(values[here], eldest)
            own = self._own[parents]
            values[parents] = own * values[parents] + self._below[parents] * sums[parents]
        for here, _, _ in reversed(self._up):
            above = self.tree.parent[here]
            values[here] += self._part[here] * (values[above] - sums[above])
        return np.asarray(values[self.tree.leaves])

    def weights(self, asked: Floats) -> Floats:
        """What each node's count weighs in sums over leaves: a column for each sum."""
        inner = np.zeros((self.tree.nodes, asked.shape[1]))
        inner[self.tree.leaves] = asked
        for here, parents, eldest in self._up:
            inner[parents] = np.add.reduceat(self._part[here, None] * inner[here], eldest, axis=0)
        down = inner.copy()
        for here, _, _ in reversed(self._up):
            above = self.tree.parent[here]
            down[here] += self._below[above, None] * down[above] - inner[above]
        return np.asarray(self._own[:, None] * down)

    @cached_property
    def leaf_variances(self) -> Floats:
        """The variance of each leaf's count: what siblings tell apart, and a part of the parent's.

        How a family of siblings differs is independent of its sum.
        """
        found = self._summed.copy()
        for here, _, _ in reversed(self._up):
            part, above = self._part[here], self.tree.parent[here]
            found[here] = self._summed[here] * (1 - part) + part**2 * found[above]
        return np.asarray(found[self.tree.leaves])
