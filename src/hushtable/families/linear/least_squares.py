"""Reading noisy coefficients of a tree: consistent counts, and the exact noise of any interval.

M. Hay, V. Rastogi, G. Miklau, D. Suciu. Boosting the accuracy of differentially private histograms
through consistency. PVLDB 3(1), 2010, generalised to ragged trees and unequal noise; the wavelets
of a hierarchy are read the same way.

Each node v has a coefficient y(v), children c, and three fixed numbers. On the way up

    z(v) = own(v)·y(v) + below(v)·Σ z(c)            what v's subtree says about v;

on the way down, with h(root) = z(root),

    h(c) = z(c) + share(c)·(h(v) − Σ z(c′))         the children's shares of a node add up to 1.

So a sum Σ q(code)·h(code) weighs coefficients as follows. Let u = q at the leaves and
u(v) = Σ share(c)·u(c) above them; then y(v) weighs own(v)·G(v) with G(root) = u(root) and
G(c) = u(c) − u(v) + below(v)·G(v). In a subtree that an interval holds whole, or not at all, u is
constant: below its top, G only shrinks by `below`, and its share in the noise is known beforehand.
An interval is answered along the two paths from the root to its ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats, Integers
from hushtable.families.linear.rows import (
    WeightRow,
    check_intervals,
    interval_sums,
    numbered_rows,
)
from hushtable.kernel.maps import Nominal, Tree
from hushtable.kernel.maps.topology import Topology


class Numbers(NamedTuple):
    """The three fixed numbers of each node."""

    own: Floats
    below: Floats
    share: Floats


@dataclass(frozen=True)
class TreeReading:
    """How the coefficients of a tree's nodes are read: by least squares, or as wavelets."""

    transform: Nominal | Tree

    @property
    def tree(self) -> Topology:
        return self.transform.tree

    @cached_property
    def numbers(self) -> Numbers:
        if isinstance(self.transform, Tree):
            return _least_squares(self.transform, self.scale_class)
        return _mean_subtraction(self.transform)

    @cached_property
    def scale_class(self) -> Integers:
        """The class of each node's coefficient."""
        stops = [c.stop for c in self.transform.classes]
        return np.searchsorted(stops, self.transform.place, side="right")

    def inverse(self, values: NDArray[Any], axis: int) -> Floats:
        """Consistent counts of the codes along an axis: once up the tree, once down."""
        lines, place = np.moveaxis(np.asarray(values), axis, 0), self.transform.place
        z = _along(self.numbers.own, lines) * lines[place]  # a root without coefficient has own = 0
        sums = [np.zeros(0)] * self.tree.depth
        for depth in reversed(range(self.tree.depth)):
            inner, children = self._inner(depth), self.tree.level(depth + 1)
            sums[depth] = np.add.reduceat(z[children], self._cuts(depth), axis=0)
            z[inner] += _along(self.numbers.below[inner], z) * sums[depth]
        for depth in range(self.tree.depth):
            inner, children = self._inner(depth), self.tree.level(depth + 1)
            excess = np.repeat(z[inner] - sums[depth], self.tree.fanout[inner], axis=0)
            z[children] += _along(self.numbers.share[children], z) * excess
        return np.ascontiguousarray(np.moveaxis(z[self.tree.leaves], 0, axis))

    def inverse_lines(self, source: NDArray[Any], target: Floats, first: int, last: int) -> None:
        """The compiled twin of `inverse`: the middle axis of a slab, some of its columns."""
        from hushtable.families.linear import kernels

        tree = self.tree
        shape = self.transform.place, tree.first, tree.fanout, tree.start
        own, below, share = self.numbers
        kernels.read_tree(source, target, first, last, shape, (own, below, share))

    def rows(self, queries: NDArray[Any]) -> Floats:
        """The weights of all coefficients in Σ q(code)·h(code), for queries along the last axis."""
        tree, wanted = self.tree, np.moveaxis(np.asarray(queries, dtype=np.float64), -1, 0)
        u = np.zeros((tree.nodes, *wanted.shape[1:]))
        u[tree.leaves] = wanted
        for depth in reversed(range(tree.depth)):
            below, cuts = u[tree.level(depth + 1)], self._cuts(depth)
            share = _along(self.numbers.share[tree.level(depth + 1)], u)
            least, most = np.minimum.reduceat(below, cuts), np.maximum.reduceat(below, cuts)
            mean = np.add.reduceat(share * below, cuts)
            u[self._inner(depth)] = np.where(least == most, least, mean)  # exact where constant
        g = u.copy()
        for depth in range(tree.depth):
            children = tree.level(depth + 1)
            above = tree.parent[children]
            g[children] += _along(self.numbers.below[above], u) * g[above] - u[above]
        place, measured = self.transform.place, self.transform.place >= 0
        weights = np.zeros((self.transform.coefficients, *wanted.shape[1:]))
        weights[place[measured]] = (_along(self.numbers.own, g) * g)[measured]
        return np.moveaxis(weights, 0, -1)

    def row(self, start: int, stop: int) -> WeightRow:
        """The weights of an interval, without those that are zero."""
        check_intervals([start], [stop], self.tree.size)
        query = np.zeros(self.tree.size)
        query[start:stop] = 1
        weights = self.rows(query)
        positions = np.flatnonzero(weights)
        return WeightRow(positions, weights[positions])

    def gains(self, starts: Any, stops: Any) -> Floats:
        """For many intervals, the sum of squared weights within each class of coefficients."""
        start, stop = check_intervals(starts, stops, self.tree.size)
        low, high = _paths(self.tree, start), _paths(self.tree, stop)
        before_low, before_high = self._prefixes(low), self._prefixes(high)
        total = np.zeros((len(start), len(self.transform.classes)))
        carry_low = carry_high = np.zeros(len(start))  # below(v)·G(v) − u(v) of the node above
        for depth in range(self.tree.depth + 1):
            left, right = low[depth], high[depth]
            together = left == right
            u_low = np.where(together, before_high[depth], 1) - before_low[depth]
            u_high = before_high[depth] - np.where(together, before_low[depth], 0)
            g_low, g_high = u_low + carry_low, u_high + carry_high
            carry_low = self.numbers.below[left] * g_low - u_low
            carry_high = self.numbers.below[right] * g_high - u_high
            upper = np.where(together, high[depth + 1], self.tree.nodes)
            _add_squares(total, left, left >= 0, self.numbers.own[left] * g_low, self.scale_class)
            self._add_children(total, left, left >= 0, carry_low, low[depth + 1], upper)
            alone, none = (right >= 0) & ~together, np.full(len(start), -1)
            _add_squares(total, right, alone, self.numbers.own[right] * g_high, self.scale_class)
            self._add_children(total, right, alone, carry_high, none, high[depth + 1])
        return total

    def touched(self, starts: Integers, stops: Integers) -> Integers:
        """The positions of the coefficients in the sums of some intervals: all of them."""
        return np.arange(self.transform.coefficients)

    def sums(
        self, lines: NDArray[Any], positions: Integers, starts: Integers, stops: Integers
    ) -> Floats:
        """The sums over disjoint intervals of the first axis, in order."""
        return interval_sums(self.inverse(lines, 0), starts, stops)

    def kinds(self, starts: Integers, stops: Integers) -> Integers:
        """What tells intervals apart whose weights differ in size.

        That is the kinds of the nodes above the first code and the last one and, level by level,
        which of their children the interval holds whole: u and G follow from these, and whatever
        else hangs off the paths lies outside.
        """
        left, right = _paths(self.tree, starts), _paths(self.tree, stops - 1)
        first, columns = self.tree.first, []
        for depth in range(self.tree.depth + 1):
            low, high, apart = left[depth], right[depth], left[depth] != right[depth]
            after, before = left[depth + 1] + 1, right[depth + 1]
            end = np.where(apart, first[low] + self.tree.fanout[low], before)
            held = (after > 0) & (after < end)
            columns += [
                np.where(low >= 0, self._node_kinds[low], -1),
                np.where(apart & (high >= 0), self._node_kinds[high], -1),
                np.where(held, after - first[low], 0),
                np.where(held, end - first[low], 0),
                np.where(apart & (before >= 0), before - first[high], 0),
            ]
        return np.stack(columns, axis=1)

    @cached_property
    def _node_kinds(self) -> Integers:
        """A number for each node: of one level, equal ones for nodes that are alike all through.

        They have the same numbers of their own, and children that are alike, one by one.
        """
        numbers = [column.view(np.int64) for column in self.numbers]
        kinds, children = np.zeros((2, self.tree.nodes), np.int64)
        for depth in reversed(range(self.tree.depth + 1)):
            level = self.tree.level(depth)
            if depth < self.tree.depth:
                below = np.split(kinds[self.tree.level(depth + 1)], self._cuts(depth)[1:])
                known: dict[bytes, int] = {}
                keys = [some.tobytes() for some in below]
                children[self._inner(depth)] = [known.setdefault(k, len(known) + 1) for k in keys]
            traits = np.stack([*numbers, self.scale_class, children], axis=1)[level]
            kinds[level] = numbered_rows(traits)
        return kinds

    def _add_children(
        self,
        total: Floats,
        node: Integers,
        valid: NDArray[np.bool_],
        carry: Floats,
        lower: Integers,
        upper: Integers,
    ) -> None:
        """Add what the subtrees contribute that hang off the paths, below a node on them.

        Children strictly between `lower` and `upper` are inside the interval, those before and
        after them outside; `lower` and `upper`, where they are children, are on the paths.
        """
        first = self.tree.first[node]
        end = first + self.tree.fanout[node]
        sums, after = self._spread_sums, np.clip(lower + 1, first, end)
        inside = sums[np.clip(upper, after, end)] - sums[after]
        outside = sums[np.maximum(lower, first)] - sums[first]
        outside += sums[end] - sums[np.clip(upper + 1, first, end)]
        added = np.square(carry)[:, None] * outside + np.square(1 + carry)[:, None] * inside
        total += np.where((valid & (end > first))[:, None], added, 0)

    def _prefixes(self, paths: Integers) -> Floats:
        """The u of each node on the paths, for the sum over the codes before the path's end."""
        u = np.zeros(paths.shape)
        for depth in reversed(range(self.tree.depth)):
            child = paths[depth + 1]
            inside = self._share_before[child] + self.numbers.share[child] * u[depth + 1]
            u[depth] = np.where(child >= 0, inside, 0)
        return u

    def _inner(self, depth: int) -> Integers:
        """The nodes of a level that have children."""
        level = self.tree.level(depth)
        return np.asarray(level.start + np.flatnonzero(self.tree.fanout[level]))

    def _cuts(self, depth: int) -> Integers:
        """Where, within the next level, the children of each node of a level begin."""
        return self.tree.first[self._inner(depth)] - self.tree.offsets[depth + 1]

    @cached_property
    def _share_before(self) -> Floats:
        """The shares of a node's earlier siblings, added up."""
        sums = np.cumsum(self.numbers.share) - self.numbers.share
        sums[1:] -= sums[self.tree.first[self.tree.parent[1:]]]
        return sums

    @cached_property
    def _spread_sums(self) -> Floats:
        """Running sums over nodes of Σ (weight / G(node))² in the subtree, by class."""
        spread = np.zeros((self.tree.nodes + 1, len(self.transform.classes)))
        nodes = np.arange(self.tree.nodes)
        spread[nodes + 1, self.scale_class] = np.square(self.numbers.own)
        for depth in reversed(range(self.tree.depth)):
            inner, children = self._inner(depth), self.tree.level(depth + 1)
            rows = spread[children.start + 1 : children.stop + 1]
            sums = np.add.reduceat(rows, self._cuts(depth), axis=0)
            spread[inner + 1] += np.square(self.numbers.below[inner])[:, None] * sums
        return np.cumsum(spread, axis=0)


def _add_squares(
    total: Floats,
    node: Integers,
    valid: NDArray[np.bool_],
    weight: Floats,
    scale_class: Integers,
) -> None:
    """Add the squared weight of each node to the sum of its class."""
    total[np.arange(len(node)), scale_class[node]] += np.where(valid, np.square(weight), 0)


def _along(numbers: Floats, lines: NDArray[Any]) -> Floats:
    """Numbers of nodes, shaped to multiply lines of them."""
    return numbers.reshape(-1, *(1,) * (lines.ndim - 1))


def _paths(tree: Topology, codes: Integers) -> Integers:
    """The nodes above each code, a row per level and one more: −1 below its leaf.

    A code beyond all others has no nodes.
    """
    found = np.full((tree.depth + 2, len(codes)), -1, np.int64)
    for depth in range(tree.depth + 1):
        level = tree.level(depth)
        node = level.start + np.searchsorted(tree.start[level], codes, side="right") - 1
        inside = (node >= level.start) & (codes < tree.stop[node])
        found[depth] = np.where(inside, node, -1)
    return found


def _mean_subtraction(nominal: Nominal) -> Numbers:
    """Wavelets: a coefficient f·c tells c, and what is left over goes to all siblings alike."""
    tree = nominal.tree
    share = 1.0 / np.maximum(tree.fanout[tree.parent], 1)
    share[0] = 1.0
    return Numbers(share, np.zeros(tree.nodes), share)


def _least_squares(counts: Tree, scale_class: Integers) -> Numbers:
    """Counts of nodes: least squares, weighted by 1/factor².

    `precision` is what a subtree knows of its top, 1/variance, and `total` the variance of the sum
    of what the children know: a node joins its own count and that sum by precision, and spreads
    what is left over its children by variance.
    """
    tree = counts.tree
    weight = np.array([float(1 / c.factor**2) for c in counts.classes])[scale_class]
    weight[: counts.omitted] = 0
    precision, below, total = weight.copy(), np.zeros(tree.nodes), np.ones(tree.nodes)
    for depth in reversed(range(tree.depth)):
        children = tree.level(depth + 1)
        inner = np.unique(tree.parent[children])
        cuts = tree.first[inner] - children.start
        total[inner] = np.add.reduceat(1 / precision[children], cuts)
        precision[inner] += 1 / total[inner]
        below[inner] = 1 / (total[inner] * precision[inner])
    own, share = weight / precision, 1 / (precision * total[tree.parent])
    share[0] = 1.0
    return Numbers(own, below, share)
