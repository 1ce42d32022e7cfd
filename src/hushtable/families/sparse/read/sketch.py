"""Answers from a count sketch: every cell of a question is looked up in each row of buckets.

The cells of a question that share a bucket err together, so that a bucket counts with the sum of
their signs, which is public. The noise of a row is a weighted sum of that many buckets' noises, of
a known law. Where every cell has a bucket of its own, that is all, and intervals hold as often as
they say. Elsewhere the counts of other cells come along, and of these only an estimate is known.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats, Integers
from hushtable.errors import QueryError
from hushtable.kernel.maps.hashing import Sketch
from hushtable.kernel.privacy.noises import KnownNoise
from hushtable.query.batch import count_each
from hushtable.query.box import Boxes
from hushtable.query.cutting import Cuts, cells_by_group, listed_cells
from hushtable.query.law import NoiseLaw, NoiseSum, checked_confidence, wider_quantile
from hushtable.query.reader import Estimates

Combination = Literal["mean", "median"]

MOST_CELLS = 2**23
"""Cells that one question may look up."""

# Buckets of all groups together that are laid out, where sorting would take longer.
_LAID_OUT = 2**25
# Buckets that an estimate of the others is made from.
_LOOKED_AT = 2**20
# The estimate itself is off by as much where there are few buckets.
_UNSURE = 1.1


class Touched(NamedTuple):
    """The buckets of one row that a group of cells touches."""

    weights: Floats
    """The signs of the group's cells in each bucket, added up."""
    cells: Floats
    """How many of the group's cells each bucket has."""
    value: float
    """The row's estimate of the group."""

    @property
    def energy(self) -> float:
        """Σ weight²: what the counts of other cells, each in any bucket, are multiplied by."""
        return float(self.weights @ self.weights)

    @property
    def own_energy(self) -> float:
        """Σ (sign·weight − 1)² over the group's cells: what their own counts are multiplied by."""
        return float(self.cells @ (self.weights**2 + 1)) - 2 * self.energy

    @property
    def shift(self) -> float:
        """By how much the estimate is off if all cells of the group have the same count."""
        number = float(self.cells.sum())
        return abs(self.value) * abs(self.energy / number - 1) if number else 0.0


@dataclass(frozen=True, eq=False)
class Others:
    """How the counts of other cells are spread over buckets, by the noisy buckets themselves."""

    sizes: Floats
    """What buckets hold, without signs and in order."""
    noise: KnownNoise

    @cached_property
    def variance(self) -> float:
        """Squares add up to those of the counts and of the noise."""
        squares = float(np.square(self.sizes).mean()) if len(self.sizes) else 0.0
        return max(squares - self.noise.variance, 0.0)

    @lru_cache(maxsize=64)  # noqa: B019 - one for each release that is read
    def quantile(self, miss: float) -> float:
        """The half width of what a cell shares its bucket with, in standard errors.

        Few large counts make for longer tails than any law of that variance: so many buckets do
        hold as much. Their noise is counted elsewhere.
        """
        spread = math.sqrt(self.variance)
        if not spread:
            return 0.0
        last = len(self.sizes) - 1 - math.floor(miss * len(self.sizes))
        noise = self.noise.reach(miss)
        seen = math.sqrt(max(float(self.sizes[max(last, 0)]) ** 2 - noise**2, 0.0))
        return _UNSURE * max(wider_quantile(miss), seen / spread)


@dataclass(frozen=True, slots=True)
class RowError:
    """The error of the estimate of a row, or of the mean of all."""

    noise: NoiseSum
    others: Others
    share: float
    """How many times the variance of one bucket's other cells it has."""
    shift: float

    @property
    def shared(self) -> float:
        return self.share * self.others.variance

    @property
    def variance(self) -> float:
        return self.noise.variance + self.shared + self.shift**2

    def reach(self, miss: float) -> float:
        """A t with P[|error| > t] ≤ miss: for the noise alone surely, with the rest about."""
        noise = self.noise.reach(miss)
        others = math.sqrt(self.shared) * self.others.quantile(miss) if self.shared else 0.0
        return math.hypot(noise, others) + self.shift


@dataclass(frozen=True, slots=True)
class SketchNoise:
    """The error of the median of some rows' estimates, or of their mean: that is one row."""

    rows: tuple[RowError, ...]
    estimate: bool

    @property
    def variance(self) -> float:
        """That of a median is π/2 times that of a mean for many rows, and less for few."""
        number = len(self.rows)
        mean = math.fsum(row.variance for row in self.rows) / number
        return mean * min(1.0, math.pi / 2 / number)

    def half_width(self, confidence: float) -> float:
        """As far as enough rows reach for their median not to be further off."""
        miss = majority_miss(len(self.rows), 1 - checked_confidence(confidence))
        return max(row.reach(miss) for row in self.rows)


@lru_cache(maxsize=256)
def majority_miss(rows: int, miss: float) -> float:
    """How often each of some independent rows may be off, for their median to be off by `miss`.

    The median is above t only if half of the rows are, or more than half of an odd number.
    """
    if rows == 1:
        return miss
    low, high = math.log(miss / 2) - math.log(2) * rows, math.log(0.5)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if _most_above(rows, math.exp(middle)) <= miss / 2 else (low, middle)
        )
    return 2 * math.exp(low)


def _most_above(rows: int, chance: float) -> float:
    """The chance that at least half of the rows have what each has with some chance."""
    return math.fsum(
        math.comb(rows, k) * chance**k * (1 - chance) ** (rows - k)
        for k in range((rows + 1) // 2, rows + 1)
    )


@dataclass(frozen=True, eq=False)
class SketchReader:
    """The noisy buckets of a sketch, and how the rows' estimates become one."""

    sketch: Sketch
    read: Callable[[], NDArray[Any]]
    noise: KnownNoise
    combination: Combination

    @property
    def estimate(self) -> bool:
        return self.sketch.collides

    @property
    def note(self) -> str:
        """Where its values and errors come from."""
        note = f"{self.combination} of the rows of a count sketch"
        return note + ("; its error is estimated" if self.sketch.collides else "")

    @cached_property
    def buckets(self) -> NDArray[Any]:
        """The noisy buckets, read and verified when first needed."""
        return self.read()

    @cached_property
    def others(self) -> Others:
        """What cells share their buckets with; nothing where each has its own."""
        if not self.sketch.collides:
            return Others(np.zeros(0), self.noise)
        every = self.buckets.reshape(-1)
        some = every[:: -(-every.size // _LOOKED_AT)].astype(np.float64)
        return Others(np.sort(np.abs(some)), self.noise)

    @cached_property
    def cell_variance(self) -> float:
        """The estimated variance of one cell: the noise, and what shares its buckets."""
        one = Touched(np.ones(1), np.ones(1), 0.0)
        return self._law([one] * self.sketch.rows).variance

    def law(self, boxes: Boxes) -> NoiseLaw:
        """The law of the error in the count of disjoint boxes."""
        return self.count(boxes)[1]

    def count(self, boxes: Boxes) -> tuple[float, NoiseLaw]:
        """The estimated count of disjoint boxes, and the law of its error."""
        return self.group(boxes, ()).only()

    def group(self, boxes: Boxes, cuts: Cuts) -> Estimates:
        """The estimated counts of disjoint boxes cut by groups of codes along some axes."""
        self._check(sum(box.cells for box in boxes))
        size = len(cells_by_group(boxes, cuts))
        rows = [list(self._touched(row, boxes, cuts, size)) for row in range(self.sketch.rows)]
        values = self._combined(np.array([[one.value for one in row] for row in rows]))
        laws = [self._law(group) for group in zip(*rows, strict=True)]
        known = {law: number for number, law in enumerate(dict.fromkeys(laws))}
        return Estimates(values, tuple(known), np.array([known[law] for law in laws], np.intp))

    def _touched(self, row: int, boxes: Boxes, cuts: Cuts, size: int) -> Iterator[Touched]:
        """What each group touches in one row."""
        keys, signs = [np.zeros(0, np.int64)], [np.zeros(0)]
        for box in boxes:
            if box.cells:
                owner, codes = listed_cells(box, cuts, self.sketch.shape)
                where, sign = self.sketch.hashed(row, codes)
                keys.append(owner * self.sketch.width + where)
                signs.append(sign.astype(np.float64))
        pairs, weights, cells = _added(
            np.concatenate(keys), np.concatenate(signs), self._room(size)
        )
        owner, where = np.divmod(pairs, self.sketch.width)
        ends = np.searchsorted(owner, np.arange(size + 1))
        found = weights * self.buckets[row][where].astype(np.float64)
        for start, stop in pairwise(ends.tolist()):
            part = slice(start, stop)
            yield Touched(weights[part], cells[part], float(found[part].sum()))

    def _room(self, size: int) -> int | None:
        room = size * self.sketch.width
        return room if room <= _LAID_OUT else None

    def _law(self, rows: Sequence[Touched]) -> SketchNoise:
        """The law of the error in one group, by what it touches in each row."""
        errors = [
            RowError(
                self._noise([row], 1),
                self.others,
                _share(row, self.sketch.width),
                row.shift if self.sketch.collides else 0.0,
            )
            for row in rows
        ]
        number = len(rows)
        if self.combination == "mean" or number == 2:  # a median of two is their mean
            share = math.fsum(error.share for error in errors) / number**2
            shift = math.fsum(error.shift for error in errors) / number
            errors = [RowError(self._noise(rows, number), self.others, share, shift)]
        return SketchNoise(tuple(errors), self.sketch.collides)

    def _noise(self, rows: Sequence[Touched], number: int) -> NoiseSum:
        """The law of the mean of the noise of some rows."""
        weights = np.concatenate([np.abs(row.weights) for row in rows])
        sizes, counts = np.unique(weights, return_counts=True)
        pairs = zip(sizes.tolist(), counts.tolist(), strict=True)
        return NoiseSum.weighted({(w / number, self.noise): count for w, count in pairs})

    def _combined(self, rows: Floats) -> Floats:
        combine = np.mean if self.combination == "mean" else np.median
        return np.asarray(combine(rows, axis=0), np.float64)

    def _looked_up(self, row: int, codes: Integers) -> Floats:
        where, signs = self.sketch.hashed(row, codes)
        return np.asarray(signs * self.buckets[row][where].astype(np.float64))

    def _check(self, cells: int) -> None:
        if cells > MOST_CELLS:
            raise QueryError(
                f"a sketch looks up every cell, and these are {cells:,}: ask for at most"
                f" {MOST_CELLS:,} at once"
            )

    def cells(self) -> Floats:
        """The estimate of every cell."""
        self._check(self.sketch.cells)
        codes = np.arange(self.sketch.cells)
        rows = np.stack([self._looked_up(row, codes) for row in range(self.sketch.rows)])
        return self._combined(rows).reshape(self.sketch.shape)

    def fresh_cells(self) -> Floats:
        """The estimate of every cell, in memory of its own."""
        return self.cells()

    def cell_variances(self, codes: Sequence[NDArray[Any]]) -> Floats:
        """The estimated variance of each of many cells: all have the same."""
        return np.full(len(codes[0]), self.cell_variance)

    def range_variances(self, starts: Integers, stops: Integers) -> Floats:
        """The estimated variance of each of many boxes."""
        return self.ranges(starts, stops)[1]

    def ranges(self, starts: Integers, stops: Integers) -> tuple[Floats, Floats]:
        """The counts of many boxes, and their variances."""
        return count_each(self.count, starts, stops)


def _added(keys: Integers, signs: Floats, room: int | None) -> tuple[Integers, Floats, Floats]:
    """The distinct keys in order, the signs of each added up, and how many there are."""
    if room is None:
        pairs, keys = np.unique(keys, return_inverse=True)
        cells = np.bincount(keys, minlength=len(pairs)).astype(np.float64)
        return pairs, np.asarray(np.bincount(keys, signs, len(pairs)), np.float64), cells
    cells = np.bincount(keys, minlength=room).astype(np.float64)
    pairs = np.asarray(np.flatnonzero(cells), np.int64)
    weights = np.asarray(np.bincount(keys, signs, room), np.float64)
    return pairs, weights[pairs], cells[pairs]


def _share(row: Touched, width: int) -> float:
    """How many times the squares in a bucket the squared error has, wherever the counts are.

    The count of a cell outside the group is in any bucket. Of those inside, two that share a bucket
    are off together.
    """
    cells = float(row.cells.sum())
    return max(row.energy, 2 * row.own_energy * width / cells if cells else 0.0)
