"""The grids of tents over an axis that answer a set of intervals with the least noise."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from hushtable.families.linear.trees import tree_cost
from hushtable.kernel.maps import Tents
from hushtable.kernel.maps.tents import MARGIN, PEAKS
from hushtable.workload.intervals import AllRanges, Along, some_of

# Of fewer codes plain counts are as good; of more, comparing grids takes seconds.
_FEWEST, _MOST = 24, 2**14
# Intervals by which grids are compared.
_SAMPLE = 400
# The margin on the left for prefixes, in quarters: with none, they have 1 % more error.
_LEFT = 1
# The share of single codes in what is asked from which lower tents are offered.
_SOME = 0.1


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
    grids = _for_prefixes if not starts.any() else _for_ranges
    return min(grids(size, height), key=lambda tents: tree_cost(tents, starts, stops))


def lower_tents(size: int, sets: Sequence[Along], height: int = 256) -> list[Tents]:
    """Tents that leave more to the codes, where these are asked beside longer intervals.

    How low is best depends on how much the codes weigh, so that a few are offered.
    """
    ends = [some_of(along, _SAMPLE) for along in sets]
    alone = [stops - starts == 1 for starts, stops in ends]
    mixed = bool(alone) and _SOME < np.concatenate(alone).mean() < 1
    return list(_lower(size, height)) if mixed else []


def _for_ranges(size: int, height: int) -> Iterator[Tents]:
    """About ten grids: what is best grows with the root of the size."""
    if size <= 1024:
        coarse = {max(round(part * math.sqrt(size)), 2) for part in (0.35, 0.5, 0.75, 1.0)}
        yield from (Tents(size, number, 0, height) for number in sorted(coarse))
    if size >= 200:
        parts = (1.4, 0.6), (2.2, 0.7), (2.7, 0.9), (3, 0.6), (3, 0.9), (3, 1.3), (4, 1.0)
        for number, ratio in parts:
            yield _two_grids(size, height, number, ratio)


def _for_prefixes(size: int, height: int) -> Iterator[Tents]:
    """Grids with little margin on the left, where all prefixes begin."""
    if size <= 200:
        coarse = {max(round(part * math.sqrt(size)), 2) for part in (0.3, 0.375, 0.45)}
        yield from (Tents(size, number, 0, height, left=_LEFT) for number in sorted(coarse))
    parts = (0.85, 0.11), (1.2, 0.18), (1.35, 0.25), (1.65, 0.2), (2, 0.3), (2.5, 0.35)
    for number, ratio in parts:
        yield _two_grids(size, height, number, ratio, left=_LEFT)


def _lower(size: int, height: int) -> Iterator[Tents]:
    """Single grids, the lower the sparser; and two of them on axes that are long."""
    for peak, part in ((16, 0.6), (14, 0.5), (10, 0.36), (7, 0.22), (5, 0.19), (3, 0.14)):
        coarse = max(round(part * math.sqrt(size)), 2)
        yield Tents(size, coarse, 0, height, (peak, PEAKS[1]))
    if size >= 800:
        for peaks, number, ratio in (
            ((16, 16), 2.1, 0.67),
            ((14, 12), 1.65, 0.73),
            ((10, 8), 1.05, 0.67),
            ((7, 7), 1.05, 0.67),
        ):
            yield _two_grids(size, height, number, ratio, peaks)


def _two_grids(
    size: int,
    height: int,
    number: float,
    ratio: float,
    peaks: tuple[int, int] = PEAKS,
    left: int = MARGIN,
) -> Tents:
    """So many fine tents for the root of the size, and so many coarse ones for `fine`."""
    beside = (left + 1) / 4  # there are (coarse + beside)·fine fine ones
    root = math.sqrt(beside**2 + 4 * ratio * number * math.sqrt(size))
    fine = max(round((root - beside) / 2 / ratio), 2)
    return Tents(
        size, max(round(ratio * fine), 1 if left < MARGIN else 2), fine, height, peaks, left
    )
