"""Which small tables to measure, and what share of ε each gets: a search by exact forecasts.

The noise of a table with share θ has variance c·Πℓ²/θ², where ℓ is the number of coefficients that
a row is in along an axis, one for plain counts. So a part R of the tables (`least_squares.py`) has
V(R) = c / Σ θ²·t(R, S) over the tables S ⊇ R, with t = 1/(Πκ·Πℓ²), and the mean variance of a
workload is f = Σ a(R)·V(R), with weights a(R) that follow from the workload. Two steps lower f:

* Shares. With h(S) = Σ_{R⊆S} a(R)·V(R)²·θ²·t(R, S)/c, whose sum over S is f, the best shares
  have θ = h/f. Moving θ towards it, θ·(h/(θf))^⅓, is a step that is exact where each part is told
  by one table, and lowers f elsewhere in practice.
* Tables. One attribute is added to a table, taken out or exchanged for another, two tables are
  joined, or two attributes change places, as long as f falls. Such a search stops at the first
  table set that no one step improves, so it begins at several: the asked tables themselves, and
  designs in which any two or three attributes are together in as few blocks as can be (lines of
  finite planes, hyperplanes of binary spaces).

Steps are counted, not timed, and chance has a fixed seed: the search reads public facts alone, and
finds the same tables again with the same version of NumPy. A release says which tables it has.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats
from hushtable.errors import OptionError
from hushtable.families.marginals.designs import Axes, first_sets, largest
from hushtable.families.marginals.tables import MOST_AXES, subsets

# Starts that are followed, and steps that are tried from all of them together.
_STARTS = 4
_TRIES = 80_000
_TRIES_PER_TABLE = 200
# How much a step may raise the loss, at the beginning.
_RISE = 0.002
# Times that weights are balanced, and adjustments of all shares before each.
_ROUNDS = 6
_STEPS = 30
# Changes of the tables between two adjustments of all shares.
_CHANGES = 12
# A table whose share is less than this part of the largest is dropped.
_NOTHING = 1e-4
# Searches that are kept.
_KEPT = 4
# Shares are written in parts of about this many.
_UNITS = 100_000


@dataclass(frozen=True, eq=False)
class Wanted:
    """Parts whose variances count, with their weights: a workload, as far as tables go."""

    sizes: tuple[int, ...]
    weights: dict[Axes, float]
    """a(R), for every part R of a question."""
    asked: tuple[Axes, ...]
    """The sets of attributes that are asked about."""
    gains: tuple[float, ...]
    """κ of each axis: of plain counts its size."""
    levels: tuple[int, ...]
    """How many coefficients a row is in, along each axis."""

    @classmethod
    def of(
        cls,
        sizes: Sequence[int],
        questions: Iterable[Question],
        gains: Sequence[float] | None = None,
        levels: Sequence[int] | None = None,
    ) -> Wanted:
        weights: dict[Axes, float] = {}
        asked: dict[Axes, None] = {}
        for question in questions:
            if named := max(question, key=len):  # the total needs no table of its own
                asked[named] = None
            for part, weight in question.items():
                weights[part] = weights.get(part, 0.0) + weight
        kappas = tuple(sizes if gains is None else gains)
        depths = tuple([1] * len(sizes) if levels is None else levels)
        return cls(tuple(sizes), weights, tuple(asked), kappas, depths)

    @classmethod
    def joined(cls, parts: Sequence[Wanted], factors: Sequence[float]) -> Wanted:
        """Several of the same axes, each with all its weights times a factor."""
        weights: dict[Axes, float] = {}
        for wanted, factor in zip(parts, factors, strict=True):
            for part, weight in wanted.weights.items():
                weights[part] = weights.get(part, 0.0) + factor * weight
        asked = dict.fromkeys(axes for wanted in parts for axes in wanted.asked)
        return replace(parts[0], weights=weights, asked=tuple(asked))

    def cells(self, axes: Axes) -> int:
        return math.prod([self.sizes[axis] for axis in axes])

    def told(self, table: Axes, most: int) -> tuple[list[Axes], Floats]:
        """The parts of at most so many attributes, and how well a table tells each: 1/(Πκ·Πℓ²)."""
        parts: list[Axes] = []
        others: list[float] = []
        gains = [self.gains[axis] for axis in table]
        for ways in range(min(most, len(table)) + 1):
            parts += itertools.combinations(table, ways)
            # Attributes that are left are listed the other way round than those that are taken.
            left = itertools.combinations(gains, len(table) - ways)
            others += reversed(list(map(math.prod, left)))
        depth = math.prod([self.levels[axis] for axis in table]) ** 2
        return parts, 1 / (np.array(others, np.float64) * depth)


Incidence = tuple[NDArray[np.intp], NDArray[np.intp], Floats]
"""Every part of every table: the part's number, the table's, and how well it tells it."""

Question = Mapping[Axes, float]
"""What counts over some attributes ask of each part of their table."""


def boxes_of(axes: Axes, own: Sequence[float], mean: Sequence[float], weight: float) -> Question:
    """Boxes with k of the n codes of each axis: `own` is the mean of k − k²/n, `mean` of k²/n²."""
    return {
        part: weight * math.prod(own[i] if a in part else mean[i] for i, a in enumerate(axes))
        for part in subsets(axes)
    }


def cells_of(axes: Axes, sizes: Sequence[int], weight: float = 1.0) -> Question:
    """Every single cell of a table."""
    own = [1 - 1 / sizes[axis] for axis in axes]
    return boxes_of(axes, own, [1 / sizes[axis] ** 2 for axis in axes], weight)


@dataclass(eq=False)
class Design:
    """Tables with their shares of ε, and the forecast that follows; changed in place."""

    wanted: Wanted
    tables: list[Axes]
    shares: Floats
    known: _Parts = field(repr=False)
    _held: tuple[list[Axes], Incidence] | None = field(default=None, repr=False)

    @classmethod
    def of(cls, wanted: Wanted, tables: Iterable[Axes], known: _Parts | None = None) -> Design:
        listed = list(dict.fromkeys(tables))
        even = np.full(len(listed), 1 / len(listed))
        return cls(wanted, listed, even, known or _Parts(wanted))

    @property
    def loss(self) -> float:
        """f, for c = 1; infinite where a question cannot be answered."""
        told = self._told()
        return float((self.known.weights / told).sum()) if told.all() else math.inf

    def loss_of(self, wanted: Wanted) -> float:
        """The same for other weights of some of these parts."""
        variances = dict(zip(self.wanted.weights, 1 / self._told(), strict=True))
        return math.fsum(weight * variances[part] for part, weight in wanted.weights.items())

    def _told(self) -> Floats:
        """1/V of every part."""
        parts, tables, gains = self._incidence()
        told = np.bincount(parts, self.shares[tables] ** 2 * gains, len(self.known.weights))
        return told.astype(np.float64, copy=False)

    def _incidence(self) -> Incidence:
        """Found once for a list of tables: another list takes its place, none is changed."""
        if self._held is None or self._held[0] is not self.tables:
            rows = [self.known.of(table) for table in self.tables]
            places = np.repeat(np.arange(len(rows)), [len(parts) for parts, _ in rows])
            parts = np.concatenate([parts for parts, _ in rows])
            gains = np.concatenate([gains for _, gains in rows])
            self._held = self.tables, (parts, places, gains)
        return self._held[1]

    def adjust(self, steps: int) -> None:
        """Move the shares towards their best, and drop tables that get none."""
        self.improve_shares(steps)
        self._drop_small()

    def improve_shares(self, steps: int) -> None:
        """Move the shares towards their best."""
        parts, tables, gains = self._incidence()
        weights, last = self.known.weights, math.inf
        for _ in range(steps):
            informed = self.shares[tables] ** 2 * gains
            told = np.bincount(parts, informed, len(weights))
            loss = float((weights / told).sum())
            if not last - loss > 1e-7 * loss:
                break
            last = loss
            heard = np.bincount(tables, (weights / told**2)[parts] * informed, len(self.tables))
            self.shares = np.maximum(self.shares**2 * heard / loss, 1e-99) ** (1 / 3)
            self.shares /= self.shares.sum()

    def _drop_small(self) -> None:
        keep = self.shares > _NOTHING * self.shares.max()
        kept = [table for table, held in zip(self.tables, keep, strict=True) if held]
        if not keep.all():
            fewer = Design(
                self.wanted, kept, self.shares[keep] / self.shares[keep].sum(), self.known
            )
            if fewer.loss <= 1.001 * self.loss:
                self.tables, self.shares = fewer.tables, fewer.shares

    def search(self, tries: int, most: int) -> None:
        """Change tables, one step at a time; steps that raise the loss a little are taken too, ever
        fewer of them, and the best tables met are kept."""
        random, may_be = np.random.default_rng(0), cache(partial(self._may_be, most=most))
        told, loss, changes = self._told(), self.loss, 0
        best = loss, self.tables, self.shares
        for done in range(tries):
            gone, come = _step(self.tables, self.shares, len(self.wanted.sizes), random)
            if not come or not all(may_be(table) for table, _ in come):
                continue
            after = self._told_after(told, gone, come)
            possible = np.minimum.reduce(after) > 0
            changed = float(np.add.reduce(self.known.weights / after)) if possible else math.inf
            if changed < loss * (1 + _RISE * (1 - done / tries) ** 2 * random.exponential()):
                self._replace(gone, come)
                told, loss, changes = after, changed, changes + 1
                if changes % _CHANGES == 0:
                    self.adjust(5)
                    told, loss = self._told(), self.loss
                best = min(best, (loss, self.tables, self.shares), key=lambda found: found[0])
        _, self.tables, self.shares = best
        self.adjust(300)

    def _may_be(self, table: Axes, most: int) -> bool:
        return 0 < len(table) <= MOST_AXES and self.wanted.cells(table) <= most

    def _told_after(
        self, told: Floats, gone: Sequence[int], come: Sequence[tuple[Axes, float]]
    ) -> Floats:
        """1/V of every part, if some tables go and others come; what rounding leaves is nothing."""
        after = told.copy()
        for number in gone:
            parts, gains = self.known.of(self.tables[number])
            after[parts] -= self.shares[number] ** 2 * gains
        after[after < 1e-9 * told] = 0.0
        for table, share in come:
            parts, gains = self.known.of(table)
            after[parts] += share**2 * gains
        return after

    def _replace(self, gone: Sequence[int], come: Sequence[tuple[Axes, float]]) -> None:
        held = {
            table: share
            for number, (table, share) in enumerate(
                zip(self.tables, self.shares.tolist(), strict=True)
            )
            if number not in gone
        }
        for table, share in come:
            held[table] = held.get(table, 0.0) + share
        self.tables, self.shares = list(held), np.array(list(held.values()))


class _Parts:
    """The parts that count, numbered, and how well each table tells them."""

    def __init__(self, wanted: Wanted) -> None:
        self._wanted = wanted
        self._numbers = {part: number for number, part in enumerate(wanted.weights)}
        self._ways = max(map(len, wanted.weights))
        self._known: dict[Axes, tuple[NDArray[np.intp], Floats]] = {}
        self.weights = np.array(list(wanted.weights.values()))

    def of(self, table: Axes) -> tuple[NDArray[np.intp], Floats]:
        """The numbers of the parts of a table, and how well it tells each."""
        if (known := self._known.get(table)) is None:
            parts, told = self._wanted.told(table, self._ways)
            numbers = np.array([self._numbers.get(part, -1) for part in parts], np.intp)
            held = numbers >= 0
            known = self._known[table] = numbers[held], told[held]
        return known


Step = tuple[list[int], list[tuple[Axes, float]]]
"""Tables that go, by their numbers, and those that come, with their shares."""


def _step(tables: Sequence[Axes], shares: Floats, axes: int, random: np.random.Generator) -> Step:
    """A change of one or two tables, at random."""
    kind, one, other, pick, put = random.random(5).tolist()
    first, second = int(one * len(tables)), int(other * len(tables))
    table, share = tables[first], shares[first]
    outside = [axis for axis in range(axes) if axis not in table]
    leaving = table[int(pick * len(table))]
    entering = outside[int(put * len(outside))] if outside else leaving
    if kind < 0.4:
        return [first], [(_exchanged(table, leaving, entering), share)]
    if kind < 0.55:
        return [first], [(tuple(sorted({*table, entering})), share)]
    if kind < 0.7:
        return [first], [(tuple(axis for axis in table if axis != leaving), share)]
    if first == second:
        return [], []
    another, its_share = tables[second], shares[second]
    if kind < 0.85:
        return [first, second], [(tuple(sorted({*table, *another})), share + its_share)]
    mine = [axis for axis in table if axis not in another]
    theirs = [axis for axis in another if axis not in table]
    if not mine or not theirs:
        return [], []
    leaving, entering = mine[int(pick * len(mine))], theirs[int(put * len(theirs))]
    return [first, second], [
        (_exchanged(table, leaving, entering), share),
        (_exchanged(another, entering, leaving), its_share),
    ]


def _exchanged(table: Axes, leaving: int, entering: int) -> Axes:
    return tuple(sorted({entering if axis == leaving else axis for axis in table}))


# ── where to begin ───────────────────────────────────────────────────────────────────────────────


def best_tables(wanted: Wanted, most: int) -> Design:
    """The best tables that were found, none of more than `most` cells.

    The last few are kept: to look at a plan, and then to publish by it, takes one search.
    """
    weights = tuple(wanted.weights.items())
    rest = wanted.sizes, wanted.asked, wanted.gains, wanted.levels
    return replace(_searched(weights, *rest, most))


@lru_cache(_KEPT)
def _searched(
    weights: tuple[tuple[Axes, float], ...],
    sizes: tuple[int, ...],
    asked: tuple[Axes, ...],
    gains: tuple[float, ...],
    levels: tuple[int, ...],
    most: int,
) -> Design:
    wanted = Wanted(sizes, dict(weights), asked, gains, levels)
    tries = min(_TRIES, _TRIES_PER_TABLE << len(wanted.sizes))
    starts = _first_designs(wanted, most)
    if len(largest(wanted.asked)) == 1:  # one table holds all that is asked
        return starts[0]
    for design in starts[:_STARTS]:
        design.search(tries // _STARTS, most)
    return min(starts, key=lambda design: design.loss)


def balanced(parts: Sequence[Wanted], most: int) -> Wanted:
    """All of them, with such weights that the least loss has the least sum of standard errors.

    Where Σ √f is smallest, so is Σ f/√f₀, with f₀ the losses f there. So kinds of questions whose
    errors must be large do not decide alone. Tables without a search tell f₀ well enough.
    """
    factors = [1.0] * len(parts)
    wanted = Wanted.joined(parts, factors)
    tables = list(dict.fromkeys((*wanted.asked, *first_tables(wanted, most).tables)))
    for _ in range(_ROUNDS if len(parts) > 1 else 0):
        design = Design.of(wanted, tables)
        design.improve_shares(_STEPS)
        factors = [1 / math.sqrt(design.loss_of(part)) for part in parts]
        wanted = Wanted.joined(parts, factors)
    return wanted


def first_tables(wanted: Wanted, most: int) -> Design:
    """The best tables to begin with: good ones, without a search."""
    return _first_designs(wanted, most)[0]


def _first_designs(wanted: Wanted, most: int) -> list[Design]:
    """Where a search begins, the best first."""
    known, starts = _Parts(wanted), []
    for tables in first_sets(wanted.asked, wanted.sizes):
        if all(wanted.cells(table) <= most and len(table) <= MOST_AXES for table in tables):
            design = Design.of(wanted, tables, known)
            if design.loss < math.inf:
                design.adjust(30)
                starts.append(design)
    if not starts:
        raise OptionError(f"a table that is asked for has more than {most:,} cells")
    return sorted(starts, key=lambda design: design.loss)


def whole_shares(shares: Floats) -> tuple[int, ...]:
    """Shares as whole numbers, none of them nothing."""
    return tuple(max(1, int(share)) for share in np.floor(shares / shares.sum() * _UNITS))
