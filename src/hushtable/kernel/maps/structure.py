"""What a sparse table is counted by: its cells, dyadic ranges or Haar coefficients.

A place is one cell, or one combination of a node per axis. Nodes of an axis of m codes form
⌈log₂ m⌉ + 1 levels; on level l, node q holds the codes q·2^l … (q+1)·2^l − 1 that exist.

| on       | what a place holds                                       | what one row changes  |
|----------|----------------------------------------------------------|-----------------------|
| `cells`  | the count of a cell                                      | one place by 1        |
| `dyadic` | the count of a node, on every level from codes to root   | Π(1 + ⌈log₂ m⌉) by 1  |
| `haar`   | the total, or left half less right half of a node        | Π(1 + ⌈log₂ m⌉) by ±1 |

A row is in one node of each level, and in one difference of each splitting at the most; over
several axes these multiply. Two rows share the place of all roots, which a row that moves does not
change: its 2·Π changes are two fewer there. All places of a structure have noise of one scale, so
that there is one class of empty places.

Only places that a non-empty cell touches are computed: at most Π(1 + ⌈log₂ m⌉) for each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Integers
from hushtable.errors import OptionError
from hushtable.kernel.maps.haar import halved
from hushtable.kernel.maps.squared import Pair, SquaredChange, over_axes

On = Literal["cells", "dyadic", "haar"]
KINDS: tuple[On, ...] = ("cells", "dyadic", "haar")

MOST_PLACES = 2**62
"""Places are 64-bit integers."""

_PIECE = 2**20


@dataclass(frozen=True, slots=True)
class Structure:
    """The places of a domain of some shape, numbered with the last axis fastest."""

    on: On
    shape: tuple[int, ...]

    def __post_init__(self) -> None:
        if self.on not in KINDS:
            raise OptionError(f"on must be one of {', '.join(KINDS)}")
        if not self.shape or any(type(size) is not int or size < 1 for size in self.shape):
            raise OptionError("a domain has one size from 1 for each attribute")
        if self.places > MOST_PLACES:
            raise OptionError(
                f"on={self.on} has about 10^{math.log10(self.places):.1f} places here, and a sparse"
                " summary at most 2^62, about 10^18.7: use coarser bins or fewer attributes"
            )

    @property
    def axes(self) -> tuple[int, ...]:
        """How many places there are along each axis."""
        if self.on == "dyadic":
            return tuple(sum(nodes(size)) for size in self.shape)
        return self.shape

    @property
    def places(self) -> int:
        """How many places there are in all."""
        return math.prod(self.axes)

    @property
    def entering(self) -> int:
        """What one row changes by appearing or disappearing."""
        if self.on == "cells":
            return 1
        return math.prod(1 + splits(size) for size in self.shape)

    @property
    def moving(self) -> int:
        """What one row changes by becoming another."""
        return 2 * self.entering - (0 if self.on == "cells" else 2)

    @property
    def squared(self) -> SquaredChange:
        """What one row changes in squares: as in a product of identities, full trees or Haar's."""
        return over_axes(_pairs(self.on, size) for size in self.shape)

    def forward(self, codes: Integers, counts: Integers) -> tuple[Integers, Integers]:
        """The places that non-empty cells touch, in order, and their true values."""
        codes, values = _added_up(codes, counts)
        if self.on == "cells":
            return codes, values
        parts = [
            self._placed(levels, *found) for levels, *found in _coarsened(codes, values, self.shape)
        ]
        places, values = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.argsort(places, kind="stable")
        return places[order], values[order]

    def _placed(
        self, levels: tuple[int, ...], codes: Integers, values: Integers
    ) -> tuple[Integers, Integers]:
        """Where the nodes of one combination of levels stand, and with which value."""
        places, real = np.zeros_like(codes), np.ones(len(codes), bool)
        stride = 1
        for size, level, room in reversed(list(zip(self.shape, levels, self.axes, strict=True))):
            codes, node = np.divmod(codes, nodes(size)[level])
            if self.on == "dyadic":
                along = offsets(size)[level] + node
            else:
                along, sign, paired = _difference(node, level, size)
                values, real = values * sign, real & paired
            places += along * stride
            stride *= room
        return _added_up(places[real], values[real]) if self.on == "haar" else (places, values)

    def rooted(self, places: Integers) -> NDArray[np.bool_]:
        """Which of some dyadic places, given in order, have all their ancestors among them.

        From the root downwards: a node stays if its parents along all axes have stayed.
        """
        heights, parents = np.zeros_like(places), []
        stride, rest = 1, places
        for size, room in reversed(list(zip(self.shape, self.axes, strict=True))):
            rest, along = np.divmod(rest, room)
            level, node = located(along, size)
            above = np.array(offsets(size))[np.minimum(level + 1, splits(size))] + (node >> 1)
            parents.append(
                np.where(level < splits(size), places + (above - along) * stride, places)
            )
            heights += level
            stride *= room
        stays = np.ones(len(places), bool)
        for height in range(sum(map(splits, self.shape)) - 1, -1, -1):
            here = np.flatnonzero(heights == height)
            for above in parents:
                wanted = above[here]
                found = np.minimum(np.searchsorted(places, wanted), len(places) - 1)
                stays[here] &= (places[found] == wanted) & stays[found]
        return stays


def _pairs(on: On, size: int) -> tuple[Pair, ...]:
    """The pairs of codes along an axis that differ most; of a tree, those that share its root."""
    if on == "haar":
        return halved(size)
    if size == 1:
        return (Pair.alike(Fraction(1)),)
    if on == "cells":
        return (Pair(Fraction(1), Fraction(1), Fraction(0)),)
    return (Pair(Fraction(1 + splits(size)), Fraction(1 + splits(size)), Fraction(1)),)


def splits(size: int) -> int:
    """How many times an axis can be halved: ⌈log₂ size⌉."""
    return (size - 1).bit_length()


def nodes(size: int) -> list[int]:
    """How many nodes each level of an axis has, from the single codes up to the root."""
    return [((size - 1) >> level) + 1 for level in range(splits(size) + 1)]


def offsets(size: int) -> list[int]:
    """Where the nodes of each level begin among those of an axis; the root is the first."""
    return list(accumulate(nodes(size)[:0:-1], initial=0))[::-1]


def located(along: Integers, size: int) -> tuple[Integers, Integers]:
    """The level and the number of nodes, from their places along an axis."""
    starts = np.array(offsets(size)[::-1])
    depth = np.searchsorted(starts, along, side="right") - 1
    return splits(size) - depth, along - starts[depth]


def _difference(
    node: Integers, level: int, size: int
) -> tuple[Integers, Integers, NDArray[np.bool_]]:
    """The Haar coefficient that a node enters: its place, the sign, and whether there is one.

    The total stands first. A difference stands where its right half begins; the last node of a
    level may have no other half, and then passes up as it is.
    """
    if level == splits(size):
        return np.zeros_like(node), np.ones_like(node), np.ones(len(node), bool)
    place = (node | 1) << level
    return place, 1 - 2 * (node & 1), place < size


def _coarsened(
    codes: Integers, values: Integers, shape: tuple[int, ...], levels: tuple[int, ...] = ()
) -> Iterator[tuple[tuple[int, ...], Integers, Integers]]:
    """The counts of all nodes, one combination of levels after another.

    `shape` is that of the codes: axes before the one at hand are at the given levels.
    """
    axis = len(levels)
    if axis == len(shape):
        yield levels, codes, values
        return
    for level in range(splits(shape[axis]) + 1):
        sizes = (*shape[:axis], nodes(shape[axis])[level], *shape[axis + 1 :])
        yield from _coarsened(codes, values, sizes, (*levels, level))
        if level < splits(shape[axis]):
            codes, values = _halved(codes, values, sizes, axis)


def _halved(
    codes: Integers, values: Integers, sizes: tuple[int, ...], axis: int
) -> tuple[Integers, Integers]:
    """Adjacent pairs along an axis added up."""
    stride = math.prod(sizes[axis + 1 :])
    upper, low = np.divmod(codes, stride)
    high, along = np.divmod(upper, sizes[axis])
    return _added_up((high * ((sizes[axis] + 1) // 2) + (along >> 1)) * stride + low, values)


def _added_up(places: Integers, values: Integers) -> tuple[Integers, Integers]:
    """Distinct places in order, the values of each added up."""
    if _ascending(places):
        return places, values
    if not (places[1:] >= places[:-1]).all():
        places, values = _sorted(places, values)
    first = np.flatnonzero(np.concatenate(([True], places[1:] != places[:-1])))
    return places[first], np.add.reduceat(values, first)


def _ascending(places: Integers) -> bool:
    """Whether they are distinct and in order; looked at piece by piece, for they may be a file."""
    pieces = (places[first : first + _PIECE + 1] for first in range(0, len(places), _PIECE))
    return all(bool((piece[1:] > piece[:-1]).all()) for piece in pieces)


def _sorted(places: Integers, values: Integers) -> tuple[Integers, Integers]:
    """Both in the order of the places.

    Where a place and its value fit one word together, plain numbers are sorted: five times faster.
    """
    width = int(values.max()).bit_length()
    if values.min() < 0 or int(places.max()).bit_length() + width > 63:
        order = np.argsort(places, kind="stable")
        return places[order], values[order]
    words = np.sort((places << width) | values)
    return words >> width, words & ((1 << width) - 1)
