"""How ε is shared out among the levels of a tree: by whole numbers, the same on every machine.

The share of an inner node falls by `decay` from a level to the one above it. A leaf has what its
ancestors left, so that the shares on every way from the root to a leaf add up to the whole: a large
empty box near the root is counted with hardly any noise.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from hushtable.arrays import Integers
from hushtable.errors import OptionError
from hushtable.kernel.maps.topology import Topology

WHOLE = 2**30
LEAST = 2**16
"""No share is less: noise would be so many times larger that it told nothing."""

LARGEST_FACTOR = WHOLE // LEAST


def check_decay(decay: Fraction) -> None:
    """Refuse what no release may say."""
    if not Fraction(1, 1000) <= decay < 2 or decay.denominator > 10**6:
        raise OptionError("decay is a decimal from 0.001 to below 2, of at most six places")


def level_shares(depth: int, decay: Fraction) -> list[int]:
    """The share of the inner nodes of each level above the last one, from the root.

    A tree of at most `DEEPEST` levels leaves the last one more than nothing, too.
    """
    total = sum(decay**height for height in range(depth + 1))
    free = WHOLE - LEAST * (depth + 1)
    return [LEAST + math.floor(free * decay ** (depth - level) / total) for level in range(depth)]


def node_shares(tree: Topology, decay: Fraction) -> Integers:
    """The share of each node."""
    inner = np.array([*level_shares(tree.depth, decay), 0], np.int64)
    depth = np.repeat(np.arange(tree.depth + 1), np.diff(tree.offsets))
    left = WHOLE - np.cumsum(np.append(0, inner[:-1]))
    return np.where(tree.fanout > 0, inner[depth], left[depth])


def radices_over(leaves: int) -> tuple[int, ...]:
    """The tree over some leaves by which ranges of them have about the least error.

    A level more costs ε, and fewer children mean fewer nodes to add up: (b − 1)·levels³ is about
    the variance of a range.
    """
    levels = range(1, max(leaves - 1, 1).bit_length() + 1)
    widths = {depth: _root_above(leaves, depth) for depth in levels}
    depth = min(levels, key=lambda n: ((widths[n] - 1) * (n + 1) ** 3, n))
    radices: list[int] = []
    rest = leaves
    while rest > 1:
        width = _root_above(rest, depth - len(radices))
        radices.append(width)
        rest = -(-rest // width)
    return tuple(reversed(radices))


def _root_above(number: int, degree: int) -> int:
    """The least whole number, from 2, whose power reaches another."""
    root: int = max(round(float(number) ** (1 / degree)) - 1, 2)
    while math.prod([root] * degree) < number:
        root += 1
    return root
