"""Regions of cells, and what boxes cut out of them: for very many boxes at once.

A region that a box cuts has a cell inside next to one outside, for it is connected; so it has a
cell in the outermost layer of the box. Only these regions are looked at cell by cell.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats, Integers
from hushtable.errors import ReleaseError
from hushtable.families.regions.adjacency import Adjacency, components
from hushtable.families.regions.moments import Portions
from hushtable.families.regions.posterior import sums_by
from hushtable.query.batch import accumulate, box_sums

# Cells that are compared with boxes at once.
_LOT = 2**21


@dataclass(frozen=True, eq=False)
class RegionLayout:
    """The noisy cells, the regions they are in, and the noisy counts of these."""

    noisy: NDArray[Any]
    numbers: NDArray[Any]
    counts: NDArray[Any]

    def __post_init__(self) -> None:
        # Whoever made the folder: every region has a cell, and no cell is in an unknown one.
        if int(self.numbers.min()) < 0 or int(self.numbers.max()) >= len(self.counts):
            raise ReleaseError("the release has a cell in a region that it does not count")
        if not self.sizes.all():
            raise ReleaseError("the release counts a region that has no cell")

    @property
    def shape(self) -> tuple[int, ...]:
        return self.noisy.shape

    @property
    def regions(self) -> int:
        return len(self.counts)

    @cached_property
    def cells(self) -> Floats:
        """The noisy count of each cell, flat."""
        return self.noisy.reshape(-1).astype(np.float64)

    @cached_property
    def labels(self) -> Integers:
        """The region of each cell, flat."""
        return self.numbers.reshape(-1).astype(np.int64)

    @cached_property
    def sizes(self) -> Integers:
        """How many cells each region has."""
        return np.bincount(self.labels, minlength=self.regions)

    @cached_property
    def totals(self) -> Floats:
        """The sum of each region's noisy cells."""
        return sums_by(self.labels, self.cells, self.regions)

    @cached_property
    def apart(self) -> Floats:
        """How much more each region's own count says than its cells."""
        return np.asarray(self.counts.astype(np.float64) - self.totals)

    @cached_property
    def order(self) -> Integers:
        """The cells, region by region."""
        return np.argsort(self.labels, kind="stable")

    @cached_property
    def first(self) -> Integers:
        """Where each region begins in that order."""
        return np.cumsum(self.sizes) - self.sizes

    @cached_property
    def hulls(self) -> Floats:
        """How many cells the smallest box about each region has."""
        volumes = np.ones(self.regions)
        for along in np.unravel_index(self.order, self.shape):
            low, high = (f.reduceat(along, self.first) for f in (np.minimum, np.maximum))
            volumes *= high - low + 1
        return volumes

    def whole(self) -> Portions:
        """Every region as a whole."""
        return Portions(self.sizes, np.zeros_like(self.sizes), self.totals, self.apart)

    def single(self, places: Integers) -> Portions:
        """Some cells, each a portion of its region."""
        label = self.labels[places]
        one = np.ones(len(places), np.int64)
        return Portions(one, self.sizes[label] - 1, self.cells[places], self.apart[label])

    def check_connected(self, adjacency: Adjacency) -> None:
        """Refuse regions of several pieces: they could be cut by a box without being noticed."""
        links = adjacency.links(self.numbers.astype(np.int64), 0.5)
        if int(components(self.labels.size, links).max()) + 1 != self.regions:
            raise ReleaseError("the release has a region that does not hang together")


def whole_sums(tables: list[Floats], starts: Integers, stops: Integers) -> Floats:
    """The sums over boxes by each of some tables of sums; zero for a box without cells."""
    held = (starts < stops).all(axis=1)
    return np.stack([np.where(held, box_sums(table, starts, stops), 0.0) for table in tables])


def crossing_portions(
    layout: RegionLayout, adjacency: Adjacency, starts: Integers, stops: Integers
) -> tuple[Integers, Integers, Portions]:
    """The portions of regions that boxes cut out: the box, the region, and what was seen of it."""
    boxes, regions = _candidates(layout, adjacency, starts, stops)
    order = np.argsort(regions, kind="stable")
    boxes, regions = boxes[order], regions[order]
    count, seen = np.zeros(len(boxes), np.int64), np.zeros(len(boxes))
    listed = np.ones(len(boxes), bool)
    for run in _laid_out(layout, regions):
        listed[run] = False
        low, high = starts[boxes[run]], stops[boxes[run]]
        count[run], seen[run] = _by_table(layout, int(regions[run.start]), low, high)
    for pairs in _lots(np.flatnonzero(listed), layout.sizes[regions]):
        low, high = starts[boxes[pairs]], stops[boxes[pairs]]
        count[pairs], seen[pairs] = _by_list(layout, regions[pairs], low, high)
    siblings = layout.sizes[regions] - count
    cut = siblings > 0  # one that only touches a face from inside is whole
    portions = Portions(count, siblings, seen, layout.apart[regions])
    return boxes[cut], regions[cut], portions[cut]


def _candidates(
    layout: RegionLayout, adjacency: Adjacency, starts: Integers, stops: Integers
) -> tuple[Integers, Integers]:
    """Every box with every region of several cells that has one in its outermost layer."""
    larger = layout.sizes > 1
    found, sizes = [np.zeros(0, np.int64)], []
    for low, high in zip(starts.tolist(), stops.tolist(), strict=True):
        layers: list[Any] = []
        if all(a < b for a, b in zip(low, high, strict=True)):
            layers = [layout.numbers[part].reshape(-1) for part in adjacency.layers(low, high)]
        held = np.unique(np.concatenate(layers)).astype(np.int64) if layers else found[0]
        found.append(held[larger[held]])
        sizes.append(len(found[-1]))
    return np.repeat(np.arange(len(starts)), sizes), np.concatenate(found)


def _laid_out(layout: RegionLayout, regions: Integers) -> Iterator[slice]:
    """The runs of pairs of one region that are better answered from a table of it.

    Comparing costs a region's cells for each box; a table costs the hull of the region.
    """
    edges = np.flatnonzero(np.diff(np.concatenate(([-1], regions, [-1]))))
    if len(edges) < 2:
        return
    starts, stops = edges[:-1], edges[1:]
    region = regions[starts]
    costly = (stops - starts) * layout.sizes[region] > 4 * layout.hulls[region] + 4096
    for start, stop in zip(starts[costly].tolist(), stops[costly].tolist(), strict=True):
        yield slice(start, stop)


def _by_table(
    layout: RegionLayout, region: int, starts: Integers, stops: Integers
) -> tuple[Integers, Floats]:
    first = layout.first[region]
    places = layout.order[first : first + layout.sizes[region]]
    codes = np.unravel_index(places, layout.shape)
    low = np.array([int(along.min()) for along in codes])
    hull = [int(along.max()) + 1 for along in codes] - low
    inside = tuple(along - start for along, start in zip(codes, low, strict=True))
    tables = [np.zeros(hull), np.zeros(hull)]
    tables[0][inside], tables[1][inside] = 1.0, layout.cells[places]
    starts, stops = np.clip(starts - low, 0, hull), np.clip(stops - low, 0, hull)
    held = (starts < stops).all(axis=1)
    count, seen = (
        np.where(held, box_sums(accumulate(table), starts, stops), 0.0) for table in tables
    )
    return np.rint(count).astype(np.int64), seen


def _lots(pairs: Integers, sizes: Integers) -> Iterator[Integers]:
    """The pairs in lots of so many cells."""
    ends = np.cumsum(sizes[pairs])
    while len(pairs):
        stop = max(int(np.searchsorted(ends, _LOT, side="right")), 1)
        yield pairs[:stop]
        pairs, ends = pairs[stop:], ends[stop:] - ends[stop - 1]


def _by_list(
    layout: RegionLayout, regions: Integers, starts: Integers, stops: Integers
) -> tuple[Integers, Floats]:
    """Compare every cell of each region with its box."""
    sizes = layout.sizes[regions]
    pair = np.repeat(np.arange(len(regions)), sizes)
    within = np.arange(len(pair)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    places = layout.order[layout.first[regions][pair] + within]
    inside = np.ones(len(pair), bool)
    for axis, along in enumerate(np.unravel_index(places, layout.shape)):
        inside &= (along >= starts[pair, axis]) & (along < stops[pair, axis])
    pair, places = pair[inside], places[inside]
    count = np.bincount(pair, minlength=len(regions))
    return count, sums_by(pair, layout.cells[places], len(regions))
