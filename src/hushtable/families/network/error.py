"""How far off the answers of a network may be.

Where a measured table has all attributes of a question, finely enough, the table tells the count
itself: its noisy cells add up to the truth and the sum of as many noises, whatever the network
makes of them. The network was chosen before these noises were drawn. Several such tables are taken
together, each by its precision. Intervals are quantiles of that noise: promises.

The noisy number of rows was drawn before the network was chosen, and had a say in which tables are
measured; so its noise may not be added to theirs. Both say something of the total, each with half
of the chance of missing, and the interval is what both leave room for (Bonferroni).

Any other question rests on the network's word that attributes which share no table depend on each
other through others alone. What that misses can only be guessed, from the dependences that were
measured: each parent of each attribute is left out in turn, and the table of the link says what
the network would have missed without it, over what the shares of both could differ by at the most.
Parents that the network lacks were found less telling than those it has: the median of all
that it has is taken for what it misses. Intervals are estimates.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats
from hushtable.families.network.fit import TINY, FittedNetwork, project
from hushtable.families.network.inference import Elimination, Weights
from hushtable.families.network.network import MOST_ROWS, Link, Network, Seen
from hushtable.kernel.privacy.noises import KnownNoise
from hushtable.query.law import NoiseSum, checked_confidence, wider_quantile

Booleans = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class NoisyRows:
    """The noisy number of rows as it was stored: at least 1, and at most `MOST_ROWS`."""

    number: int
    noise: KnownNoise

    def ends(self, miss: float) -> tuple[float, float]:
        """What it says of the true number; at its limits it only says something to one side."""
        half = self.noise.reach(miss)
        low = self.number - half if self.number > 1 else 0.0
        return low, self.number + half if self.number < MOST_ROWS else math.inf


@dataclass(frozen=True, slots=True)
class MeasuredLaw:
    """The error of a value, from a count of the same question with noise of a known law."""

    value: float
    measured: float
    noise: NoiseSum
    rows: NoisyRows | None = None
    """Of the total, what was drawn before the tables were chosen."""

    @property
    def variance(self) -> float:
        """At least that of the noise; more where the value is further off than noise explains."""
        if self.rows is not None and self.rows.noise.variance < self.noise.variance:
            return max(self.rows.noise.variance, (self.value - self.rows.number) ** 2)
        return max(self.noise.variance, (self.value - self.measured) ** 2)

    @property
    def estimate(self) -> bool:
        return False

    def margins(self, confidence: float) -> tuple[float, float]:
        """How far the interval reaches below the value, and how far above; no count is negative."""
        low, high = self._ends(1 - checked_confidence(confidence))
        return self._as_far_as(self.value - max(low, 0.0)), self._as_far_as(high - self.value)

    def _ends(self, miss: float) -> tuple[float, float]:
        if self.rows is None:
            half = self.noise.reach(miss)
            return self.measured - half, self.measured + half
        half = self.noise.reach(miss / 2)
        low, high = self.measured - half, self.measured + half
        first, last = self.rows.ends(miss / 2)
        closer, nearer = max(low, first), min(high, last)
        return (closer, nearer) if closer <= nearer else (low, high)  # if not, one of them failed

    def _as_far_as(self, margin: float) -> float:
        """A margin that reaches an end in spite of rounding: the truth may lie just there."""
        exact = (self.measured * 2**20).is_integer()
        return max(margin, 0.0) + (0.0 if exact else 1e-12 * (1 + abs(self.measured)))

    def half_width(self, confidence: float) -> float:
        """The longer of both sides."""
        return max(self.margins(confidence))


@dataclass(frozen=True, slots=True)
class ModelError:
    """The error of a model: noise, and what the model may miss, both by their variances."""

    value: float
    noise: float
    missed: float
    room: float
    """How much more than the value there can be, by the counts of its attributes."""
    note: str = ""
    """Where the value comes from, if not from what its release is."""

    @property
    def variance(self) -> float:
        return self.noise + self.missed

    @property
    def estimate(self) -> bool:
        return True

    def margins(self, confidence: float) -> tuple[float, float]:
        """How far the interval reaches below the value, and how far above.

        By the tail of a Laplace law, or that of a normal one where it is the wider: the error may
        rest on a few noises, and a few dependences.
        """
        miss = 1 - checked_confidence(confidence)
        times = wider_quantile(miss)
        half = times * math.sqrt(self.variance)
        above = min(half, self.room + times * math.sqrt(self.noise))
        return min(half, max(self.value, 0.0)), above

    def half_width(self, confidence: float) -> float:
        """The longer of both sides."""
        return max(self.margins(confidence))


# ── what the measured tables tell ────────────────────────────────────────────────────────────────


@dataclass(eq=False)
class Told:
    """What the measured tables tell of some questions, each a union of disjoint boxes.

    All of them ask for the same attributes, and as finely (`alike_rows`). A table has a cell in one
    box at the most: where it has all attributes of two disjoint boxes, they have none in common.
    """

    fitted: FittedNetwork
    rows: int

    def __post_init__(self) -> None:
        self.inside, self.everything = True, False
        self.sums = np.zeros(self.rows)
        self._shares: list[Floats] = []
        self._cells: list[Floats] = []

    def add(self, weights: Weights) -> None:
        """Another box of each question."""
        tables = range(len(self.fitted.tables))
        able = [i for i in tables if tells(self.fitted.network, i, weights)]
        found = {i: _sum_of(self.fitted, i, weights, self.rows) for i in able}
        self.everything |= not weights
        cells, sums = np.zeros((2, len(tables), self.rows))
        for i, (number, total) in found.items():
            cells[i], sums[i] = number, total
        self.inside &= bool(found)
        precision = np.where(cells > 0, 1 / (np.maximum(cells, 1) * self._variances), 0.0)
        whole = precision.sum(axis=0)  # zero for a box without cells
        shares = precision / np.where(whole > 0, whole, 1.0)
        self.sums += (shares * sums).sum(axis=0)
        self._shares.append(shares)
        self._cells.append(cells)

    @property
    def _variances(self) -> Floats:
        return np.maximum(self.fitted.variances, TINY)[:, None]

    @property
    def number(self) -> NoisyRows | None:
        """What else is known of the total: the noisy number of rows, where it was not declared."""
        noisy = self.fitted.noisy
        if not self.everything or noisy.rows_noise is None:
            return None
        return NoisyRows(noisy.rows, noisy.rows_noise)

    def noises(self) -> list[NoiseSum] | None:
        """The noise of each question's sum; none if the tables do not tell all of it."""
        if not self.inside:
            return None
        if not self._shares:  # no box: nothing is counted
            return [NoiseSum(())] * self.rows
        shares, cells = np.concatenate(self._shares), np.concatenate(self._cells)
        kinds, which = np.unique(np.concatenate([shares, cells]), axis=1, return_inverse=True)
        laws = [self._noise(*np.split(kind, 2)) for kind in kinds.T]
        return [laws[kind] for kind in which.reshape(-1).tolist()]

    def _noise(self, shares: Floats, cells: Floats) -> NoiseSum:
        noises = self.fitted.noisy.noises
        terms: dict[tuple[float, KnownNoise], int] = {}
        for i, (share, number) in enumerate(zip(shares.tolist(), cells.tolist(), strict=True)):
            if share > 0:
                key = (share, noises[i % len(noises)])
                terms[key] = terms.get(key, 0) + int(number)
        return NoiseSum.weighted(terms)


def alike_rows(
    network: Network, boxes: Sequence[Weights], rows: int
) -> Iterator[tuple[NDArray[np.intp], list[Weights]]]:
    """Questions that constrain the same attributes by groups of the same levels, and which.

    Boxes without any code are left out.
    """
    seen = sorted({one for table in network.measured for one in table})
    traits = [np.zeros(rows, bool)]
    for weights in boxes:
        traits += [np.broadcast_to(part.all(axis=1), rows) for part in weights.values()]
        traits += [np.broadcast_to(part.any(axis=1), rows) for part in weights.values()]
        fine = (groups_of(network, s, weights[s[0]])[0] for s in seen if s[0] in weights)
        traits += [np.broadcast_to(fits, rows) for fits in fine]
    kinds, which = np.unique(np.stack(traits), axis=1, return_inverse=True)
    for kind in range(kinds.shape[1]):
        lot = np.flatnonzero(which.reshape(-1) == kind)
        taken = [_taken(weights, lot) for weights in boxes]
        yield lot, [box for box in taken if all(part.any() for part in box.values())]


def _taken(weights: Weights, rows: NDArray[np.intp]) -> Weights:
    """The weights of some boxes, without attributes of which they have all codes."""
    taken = {axis: part if len(part) == 1 else part[rows] for axis, part in weights.items()}
    return {axis: part for axis, part in taken.items() if not part.all()}


def groups_of(network: Network, seen: Seen, rows: Floats) -> tuple[Booleans, Booleans]:
    """Whether codes are whole groups of an attribute's level, for each box, and which groups."""
    axis, level = seen
    starts = np.flatnonzero(np.diff(network.levels[axis][level], prepend=-1))
    inside = np.add.reduceat(rows, starts, axis=1)
    whole = np.diff(starts, append=rows.shape[1])
    return np.asarray(((inside == 0) | (inside == whole)).all(axis=1)), inside > 0


def tells(network: Network, table: int, weights: Weights) -> bool:
    """Whether boxes are made of whole cells of a measured table."""
    levels = dict(network.measured[table])
    return all(
        axis in levels and bool(groups_of(network, (axis, levels[axis]), part)[0].all())
        for axis, part in weights.items()
    )


def _sum_of(fitted: FittedNetwork, i: int, weights: Weights, rows: int) -> tuple[Floats, Floats]:
    """How many cells of a measured table each box is made of, and their noisy sum."""
    seen, cells = fitted.network.measured[i], np.ones(rows)
    whole = tuple(place for place, (axis, _) in enumerate(seen) if axis not in weights)
    cells *= math.prod(fitted.noisy.tables[i].shape[place] for place in whole)
    table = fitted.noisy.tables[i].sum(axis=whole, dtype=np.float64)[None]
    for axis, level in reversed([one for one in seen if one[0] in weights]):
        mask = groups_of(fitted.network, (axis, level), weights[axis])[1]
        cells = cells * mask.sum(axis=1)
        table = (table * mask.reshape(len(mask), *[1] * (table.ndim - 2), -1)).sum(axis=-1)
    return cells, np.broadcast_to(table, rows)


# ── what the network may miss ────────────────────────────────────────────────────────────────────


def missed_part(fitted: FittedNetwork) -> float:
    """What the network may miss of a count, over what its attributes could make of it.

    Without any parent, nothing is known about dependences, and anything may be missed.
    """
    found = [
        _without(fitted, link, parent)
        for link in fitted.network.links
        for parent in range(len(link.parents))
    ]
    return math.sqrt(float(np.median(found))) if found else 1.0


def _without(fitted: FittedNetwork, link: Link, parent: int) -> float:
    """The square of what would be missed of a child's counts by a parent, if it were left out.

    Their noise is taken off, but for as much as it may hide.
    """
    noisy = project(fitted.network, fitted.noisy.tables, link)
    made = np.moveaxis(project(fitted.network, fitted.tables, link), parent, -2)
    given = made.reshape(-1, *made.shape[-2:])
    both = given.sum(axis=2)[:, :, None] * given.sum(axis=1)[:, None, :]
    rest = given.sum(axis=(1, 2))[:, None, None]
    expected = np.divide(both, rest, out=np.zeros_like(both), where=rest > 0).sum(axis=0)
    others = tuple(i for i in range(noisy.ndim - 1) if i != parent)
    seen = noisy.sum(axis=others)
    home = fitted.network.home(link)
    noise = fitted.variances[home] * fitted.tables[home].size / seen.size
    squares = float(((seen - expected) ** 2).sum())
    hidden = noise * math.sqrt(2 * seen.size)
    ours, theirs = (_spread(given.sum(axis=axes) / fitted.total) for axes in ((0, 2), (0, 1)))
    most = fitted.total**2 * float(ours.sum() * theirs.sum())
    return min((max(squares - noise * seen.size, 0.0) + hidden) / most, 1.0) if most > 0 else 1.0


def _spread(shares: Floats) -> Floats:
    return np.asarray(shares * (1 - shares))


def missed_count(
    fitted: FittedNetwork, weights: Weights, together: Floats, part: float
) -> tuple[Floats, Floats]:
    """The deviation of what the network may miss of boxes, and the most that there can be of them.

    A box is cut into blocks that tables tell; what they make `together` is the network's word.
    """
    blocks = _blocks(fitted.network, weights)
    shares = [
        np.clip(Elimination(fitted, {axis: weights[axis] for axis in block}).probabilities, 0, 1)
        for block in blocks
    ]
    deviation = missed_share(shares, together)
    most = np.minimum.reduce(np.broadcast_arrays(*shares))
    return part * fitted.total * deviation, fitted.total * most


def missed_share(shares: Sequence[Floats], together: Floats) -> Floats:
    """The most that a model may miss of boxes, as a deviation of their share of all rows.

    Given are the shares of the blocks that boxes are made of, and what the model says of all of
    them together.
    """
    squares = np.zeros_like(together)
    for one, other in itertools.combinations(shares, 2):
        rest = np.ones_like(squares)
        if len(shares) > 2:
            rest = np.minimum(together / np.maximum(one * other, 1e-300), 1.0)
        squares = squares + _spread(one) * _spread(other) * rest**2
    return np.sqrt(squares)


def _blocks(network: Network, weights: Weights) -> list[list[int]]:
    """The attributes of boxes in groups that one table each tells, large ones first."""
    held = []
    for i, table in enumerate(network.measured):
        asked = (axis for axis, _ in table if axis in weights)
        held.append({axis for axis in asked if tells(network, i, {axis: weights[axis]})})
    left, blocks = set(weights), []
    while left:
        block = max((axes & left for axes in held), key=len)
        blocks.append(sorted(block))
        left -= block
    return blocks


def missed_together(
    fitted: FittedNetwork, boxes: Sequence[tuple[Weights, Floats]], part: float, rows: int
) -> tuple[Floats, Floats]:
    """For unions of boxes: deviations add up, for what is missed of each may have one cause.

    Each box comes with its probabilities by the network.
    """
    deviations, most = np.zeros(rows), np.zeros(rows)
    for weights, together in boxes:
        found, limit = missed_count(fitted, weights, together, part)
        deviations, most = deviations + found, most + limit
    return deviations, most
