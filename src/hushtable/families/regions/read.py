"""Answers from noisy cells and the noisy counts of regions, by the posterior of both.

A question is cut into what it asks of each region. Regions share no noise, so the posterior of an
answer is that of a sum of independent portions. What the noisy count of a region says beyond its
noisy cells is one number, θ₂ − θ₁ = y_P − Σ y, the same for every question.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats, Integers
from hushtable.errors import QueryError
from hushtable.families.regions.adjacency import Adjacency
from hushtable.families.regions.crossing import RegionLayout, crossing_portions, whole_sums
from hushtable.families.regions.moments import Portions, portion_cumulants
from hushtable.families.regions.options import INTERVALS, LIKELIHOODS, PRIORS, Intervals, Likelihood
from hushtable.families.regions.posterior import (
    Estimator,
    Hill,
    PosteriorLaw,
    sums_by,
)
from hushtable.families.regions.promise import CUT, Promise, PromisedLaw, SeenQuestions
from hushtable.families.regions.reference import Alike, alike_cumulants, credible_cells
from hushtable.query.box import Boxes
from hushtable.query.cutting import Cuts, cells_by_group, listed_cells
from hushtable.query.law import NoiseLaw, checked_confidence
from hushtable.query.law.normal import cornish_fisher, nearly_normal
from hushtable.query.reader import Estimates

Read = Callable[[], NDArray[Any]]

NOTE = "posterior mean of noisy cells and noisy counts of regions"
PROMISED = "; the error is that of the noise, however the regions were chosen"
ALIKE = "{}; single cells are taken to be equal to adjacent cells of the same region"

MOST_ADJACENT = 64
"""Cells with more adjacent ones than this are answered without them."""

# Keys of owner and region are counted in a table of at most so many, and sorted beyond.
_TABLE = 2**24
# Noisy counts of cells and of those adjacent that are held at once.
_SEEN = 2**23


@dataclass(frozen=True, eq=False)
class RegionReader:
    """Noisy cells, the region of each, and the noisy counts of the regions."""

    adjacency: Adjacency
    read_cells: Read
    read_regions: Read
    read_counts: Read
    estimator: Estimator
    reference: bool = True
    """Whether a question for one cell also looks at adjacent ones."""
    likelihood: Likelihood = "joint"
    intervals: Intervals = "promised"
    """Whether intervals hold however regions were chosen, or are quantiles of the posterior."""

    @property
    def estimate(self) -> bool:
        return self.intervals == "posterior"

    @property
    def note(self) -> str:
        """Where its values and errors come from."""
        negative = ", none negative" if self.estimator.prior == "non-negative" else ""
        return NOTE + negative + ("" if self.estimate else PROMISED)

    @cached_property
    def layout(self) -> RegionLayout:
        """The cells by region, read and verified when first needed."""
        return RegionLayout(self.read_cells(), self.read_regions(), self.read_counts())

    def reading(self, **options: Any) -> RegionReader:
        """The same measurements, read by another prior, likelihood or without adjacent cells."""
        known = {
            "prior": PRIORS,
            "likelihood": LIKELIHOODS,
            "reference": (True, False),
            "intervals": INTERVALS,
        }
        for name, value in options.items():
            if name not in known:
                raise QueryError(f"there is no {name!r} to read by; there are {', '.join(known)}")
            if value not in known[name]:
                raise QueryError(f"{name} must be one of {', '.join(map(str, known[name]))}")
        prior = options.pop("prior", self.estimator.prior)
        return replace(self, estimator=replace(self.estimator, prior=prior), **options)

    # ── questions ────────────────────────────────────────────────────────────────────────────────

    def law(self, boxes: Boxes) -> NoiseLaw:
        """The posterior of a count of disjoint boxes; reads the measurements: it needs them."""
        return self.count(boxes)[1]

    def count(self, boxes: Boxes) -> tuple[float, NoiseLaw]:
        """The posterior mean of a count, and its posterior."""
        return self.group(boxes, ()).only()

    def group(self, boxes: Boxes, cuts: Cuts) -> Estimates:
        """The posterior means of disjoint boxes cut by groups of codes along some axes."""
        sizes = cells_by_group(boxes, cuts)
        owner, portions, first = self.portions(boxes, cuts, len(sizes))
        cumulants = portion_cumulants(self.estimator, portions)
        sums = np.stack([sums_by(owner, row, len(sizes)) for row in cumulants])
        laws = self._laws(owner, portions, sums)
        if self._refers and (sizes == 1).any():
            single = np.flatnonzero(sizes == 1)
            self._refer(single, first[np.searchsorted(owner, single)], sums, laws)
        if self.intervals == "posterior":
            return Estimates(sums[0], tuple(laws), np.arange(len(sizes)))
        seen = _seen(np.asarray(sizes, np.int64), owner, portions)
        promised = (
            PromisedLaw(float(value), self._promise, seen.only(i), law.note)
            for i, (value, law) in enumerate(zip(sums[0], laws, strict=True))
        )
        return Estimates(sums[0], tuple(promised), np.arange(len(sizes)))

    def portions(
        self, boxes: Boxes, cuts: Cuts, owners: int
    ) -> tuple[Integers, Portions, Integers]:
        """What each group asks of each region, in the order of groups; and a cell of each."""
        layout = self.layout
        keys, cells = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for box in boxes:
            if box.cells:
                owner, places = listed_cells(box, cuts, self.adjacency.shape)
                keys.append(owner * layout.regions + layout.labels[places])
                cells.append(places)
        key, place = np.concatenate(keys), np.concatenate(cells)
        held, first, which = _distinct(key, owners * layout.regions)
        number = held % layout.regions
        count = np.bincount(which, minlength=len(held))
        seen = sums_by(which, layout.cells[place], len(held))
        portions = Portions(count, layout.sizes[number] - count, seen, layout.apart[number])
        return held // layout.regions, portions, place[first]

    def _laws(self, owner: Integers, portions: Portions, sums: Floats) -> list[PosteriorLaw]:
        """A law for each group; its portions are only laid out when they are asked for."""
        groups = np.arange(sums.shape[1])
        starts, stops = (np.searchsorted(owner, groups, side) for side in ("left", "right"))

        def law(i: int) -> PosteriorLaw:
            start, stop = int(starts[i]), int(stops[i])

            def hills() -> list[Hill]:
                return [self.estimator.posterior(portions.portion(j)) for j in range(start, stop)]

            return PosteriorLaw(sums[:, i], hills, stop - start)

        return [law(i) for i in range(sums.shape[1])]

    def _refer(
        self, single: Integers, cells: Integers, sums: Floats, laws: list[PosteriorLaw]
    ) -> None:
        """Answer questions for one cell by adjacent ones too."""
        alike = Alike.of(self.layout, self.adjacency, cells, self._credible)
        found = alike_cumulants(self.estimator, alike, self.likelihood)

        def law(i: int) -> PosteriorLaw:
            def hills() -> list[Hill]:
                return [alike.posterior(i, self.estimator, self.likelihood)]

            note = ALIKE.format(self.note) if alike.count[i] > 1 else None
            return PosteriorLaw(found[:, i], hills, 1, note)

        for i, place in enumerate(single.tolist()):
            laws[place] = law(i)
        sums[:, single] = found

    # ── many at once ─────────────────────────────────────────────────────────────────────────────

    def cells(self) -> Floats:
        """The posterior mean of every cell."""
        every = np.arange(math.prod(self.adjacency.shape))
        return np.asarray(self._cell_cumulants(every)[0].reshape(self.adjacency.shape))

    def fresh_cells(self) -> Floats:
        """The posterior mean of every cell, in memory of its own."""
        return self.cells()

    def cell_variances(self, codes: Sequence[NDArray[Any]]) -> Floats:
        """The variance of the error of each of many cells."""
        flat = np.ravel_multi_index(tuple(codes), self.adjacency.shape)
        places = np.asarray(flat, np.int64)
        if self.intervals == "posterior":
            return np.asarray(self._cell_cumulants(places)[1])
        portions = self.layout.single(places)
        return self._promise.variances(_seen(portions.cells, np.arange(len(places)), portions))

    def _cell_cumulants(self, places: Integers) -> Floats:
        if not self._refers:
            return portion_cumulants(self.estimator, self.layout.single(places))
        lots = -(-len(places) * (1 + len(self.adjacency.steps)) // _SEEN) or 1
        found = []
        for lot in np.array_split(places, lots):
            alike = Alike.of(self.layout, self.adjacency, lot, self._credible)
            found.append(alike_cumulants(self.estimator, alike, self.likelihood))
        return np.concatenate(found, axis=1)

    @property
    def _refers(self) -> bool:
        """Whether adjacent cells are looked at: not hundreds of siblings."""
        return self.reference and len(self.adjacency.steps) <= MOST_ADJACENT

    def range_variances(self, starts: Integers, stops: Integers) -> Floats:
        """The variance of the error of each of many boxes."""
        return self.ranges(starts, stops)[1]

    def ranges(self, starts: Integers, stops: Integers) -> tuple[Floats, Floats]:
        """The posterior means of many boxes, and the variances of their errors."""
        crossed = crossing_portions(self.layout, self.adjacency, starts, stops)
        found = self.range_cumulants(starts, stops, crossed)
        if self.intervals == "posterior":
            return found[0], found[1]
        return found[0], self._promise.variances(self._range_seen(starts, stops, crossed[0]))

    def range_cumulants(
        self, starts: Integers, stops: Integers, crossed: tuple[Integers, Integers, Portions]
    ) -> Floats:
        """The first four cumulants of the posteriors of many boxes.

        Regions within a box count as a whole: from a table of sums. Those that it cuts are found
        along its faces (`crossed`), and corrected.
        """
        found = whole_sums(self._whole_tables, starts, stops)
        boxes, regions, portions = crossed
        share = portions.cells / self.layout.sizes[regions]
        change = portion_cumulants(self.estimator, portions) - share * self._whole[:, regions]
        found += np.stack([sums_by(boxes, row, len(starts)) for row in change])
        single = np.flatnonzero((stops - starts == 1).all(axis=1))
        if self._refers and len(single):
            places = np.ravel_multi_index(tuple(starts[single].T), self.adjacency.shape)
            found[:, single] = self._cell_cumulants(np.asarray(places, np.int64))
        return found

    def range_intervals(
        self, starts: Integers, stops: Integers, confidence: float
    ) -> tuple[Floats, Floats, Floats]:
        """The posterior means of many boxes, and the ends of their intervals."""
        from hushtable.query.batch import range_boxes

        level = checked_confidence(confidence)
        crossed = crossing_portions(self.layout, self.adjacency, starts, stops)
        found = self.range_cumulants(starts, stops, crossed)
        if self.intervals == "promised":
            seen = self._range_seen(starts, stops, crossed[0])
            low, high = self._promise.ends(seen, level)
            return found[0], np.minimum(low, found[0]), np.maximum(high, found[0])
        low, high = cornish_fisher(found, level)
        odd = np.flatnonzero(~nearly_normal(found))
        for i, box in zip(odd.tolist(), range_boxes(starts[odd], stops[odd]), strict=True):
            value, law = self.count((box,))
            assert isinstance(law, PosteriorLaw)
            below, above = law.margins(level)
            low[i], high[i] = value - below, value + above
        return found[0], low, high

    def _range_seen(self, starts: Integers, stops: Integers, cut: Integers) -> SeenQuestions:
        """What was seen of many boxes, of which some cut a region."""
        noisy, regions, counted = np.rint(whole_sums(self._seen_tables, starts, stops))
        regions[cut] = CUT
        cells = np.prod(np.maximum(stops - starts, 0), axis=1)
        return SeenQuestions(cells.astype(np.int64), noisy, regions.astype(np.int64), counted)

    @cached_property
    def _promise(self) -> Promise:
        return Promise(self.estimator, self.layout)

    @cached_property
    def _seen_tables(self) -> list[Floats]:
        """Tables of sums: of the noisy cells, and of each cell's share of its region."""
        from hushtable.query.batch import accumulate

        layout, shape = self.layout, self.adjacency.shape
        shares = (1 / layout.sizes, layout.counts / layout.sizes)
        each = (layout.cells.copy(), *(share[layout.labels] for share in shares))
        return [accumulate(row.reshape(shape)) for row in each]

    @cached_property
    def _credible(self) -> NDArray[np.bool_]:
        """The cells around which adjacent ones may be equal, as far as can be seen."""
        return credible_cells(self.layout, self.adjacency, self.estimator)

    @cached_property
    def _whole(self) -> Floats:
        """The cumulants of every region as a whole."""
        return portion_cumulants(self.estimator, self.layout.whole())

    @cached_property
    def _whole_tables(self) -> list[Floats]:
        """Tables of sums of every cell's share of its region."""
        from hushtable.query.batch import accumulate

        self.layout.check_connected(self.adjacency)
        shape = self.adjacency.shape
        each = self._whole / self.layout.sizes
        return [accumulate(row[self.layout.labels].reshape(shape)) for row in each]


def _seen(cells: Integers, owner: Integers, portions: Portions) -> SeenQuestions:
    """What was seen of questions, from the portions that each has of regions."""
    number = len(cells)
    cut = sums_by(owner, portions.siblings > 0, number) > 0
    regions = np.where(cut, CUT, np.bincount(owner, minlength=number))
    noisy, apart = (sums_by(owner, seen, number) for seen in (portions.seen, portions.apart))
    return SeenQuestions(cells, noisy, regions, noisy + apart)


def _distinct(keys: Integers, limit: int) -> tuple[Integers, Integers, Integers]:
    """The different keys in order, a place of each, and which of them each one is."""
    if limit > _TABLE:
        held, first, which = np.unique(keys, return_index=True, return_inverse=True)
        return held, first, which.reshape(-1)
    place = np.full(limit, -1)
    place[keys] = np.arange(len(keys))
    held = np.flatnonzero(place >= 0)
    number = np.zeros(limit, np.int64)
    number[held] = np.arange(len(held))
    return held, place[held], number[keys]
