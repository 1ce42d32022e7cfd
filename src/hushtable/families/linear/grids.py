"""The grids of tents over an axis that answer a set of intervals with the least noise."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache

from hushtable.families.linear.trees import tree_cost
from hushtable.kernel.maps import Tents
from hushtable.workload.intervals import AllRanges, Along, some_of

# Of fewer codes plain counts are as good; of more, comparing grids takes seconds.
_FEWEST, _MOST = 24, 2**14
# Intervals by which grids are compared.
_SAMPLE = 400


def has_tents(size: int) -> bool:
    """Whether tents over an axis are compared with the other transforms."""
    return _FEWEST <= size <= _MOST


def tent_height(shape: Sequence[int]) -> int:
    """What columns add up to, for a table of this shape: the less, the more axes are long.

    The sensitivities of the axes multiply, and coefficients of many rows must fit 64-bit integers.
    """
    long = sum(map(has_tents, shape))
    return 256 if long <= 3 else 128 if long == 4 else 64


@lru_cache(maxsize=256)
def best_tents(size: int, along: Along | None = None, height: int = 256) -> Tents:
    """The tents under which an interval of the set has the least noise variance: all ranges,
    unless a set is given."""
    starts, stops = some_of(along or AllRanges(size), _SAMPLE)
    return min(_tents(size, height), key=lambda tents: tree_cost(tents, starts, stops))


def _tents(size: int, height: int) -> Iterator[Tents]:
    """About ten grids: what is best grows with the root of the size."""
    root = math.sqrt(size)
    coarse = {max(round(part * root), 2) for part in (0.35, 0.5, 0.75, 1.0)}
    if size <= 1024:
        yield from (Tents(size, number, 0, height) for number in sorted(coarse))
    if size >= 200:
        for number, ratio in ((1.4, 0.6), (2.2, 0.7), (3, 0.6), (3, 0.9), (3, 1.3), (4, 1.0)):
            # (coarse + 3/2)·fine is the number of fine tents, and coarse = ratio·fine.
            fine = max(round((math.sqrt(2.25 + 4 * ratio * number * root) - 1.5) / 2 / ratio), 2)
            yield Tents(size, max(round(ratio * fine), 2), fine, height)
