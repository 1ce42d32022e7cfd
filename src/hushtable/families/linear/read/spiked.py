"""Half widths of very many groups at once, where nearly every one has weights of its own: tents.

A single code under tents is weighed by its own coefficient, which makes up nine tenths of the
variance or more, and by hundreds of others with a little each. In place of one inversion for each
group there are two bounds; the smaller one holds.

Let b be the weights times the scales of their noises, and X = Σ b·N/scale.

1. By the largest weight b₀, with S for the squares of the others, none of which is above b₁²:
   P[N > x] ≤ α^x/(1 + α) for every real x, so P[|X| > t] ≤ 2/(1 + α)·exp(−t/b₀)·E[exp(R/b₀)] for
   the sum R of the others, and log E[exp(R/b₀)] ≤ S/b₀²·g(b₁²/b₀²) with g(κ) = −log(1 − κ)/κ.
   Where one weight makes up most of the variance, nothing is given away.
2. By few laws that go further. With fractional parts F of its exponentials, |F| < 1, a discrete
   Laplace noise is a Laplace noise less F; sums of the F are sub-Gaussian with a sixth of Σ a².
   Sums of Laplace noises are √V·Z for a normal Z and V = Σ 2b²·E, with exponential E, and go the
   further the larger V is. A larger weight makes it larger; and the V of many weights of
   square at most M, which add up to r, is but for a chance of exp(−L) below that of as many equal
   weights as one likes, which add up to a little more than r + √(2rML) + ML. So groups fall
   into classes by the share of the one weight, and an inversion for each class is enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from hushtable.arrays import Floats, Integers
from hushtable.families.linear.read.groups import AxisGroups
from hushtable.families.linear.read.transforms import AxisReading, ProductReading
from hushtable.families.linear.rows import WeightRow
from hushtable.kernel.maps import AxisTransform, Tents
from hushtable.kernel.privacy.noises import DiscreteLaplace, KnownNoise
from hushtable.query.law import NoiseLaw, NoiseSum
from hushtable.query.law.gathered import Sizes
from hushtable.query.reader import SharedLaws

# So few laws are inverted one by one; more of them where the second bound would be needed, which
# gives away up to a tenth where few cells are summed.
_FEW, _FEW_MIXED = 512, 1024
# The shares of the one weight in a class differ by this at most, unless there are too many classes.
_STEP = 1 / 256
_MOST_CLASSES = 512
# So many equal weights stand for many small ones; and noise so wide that it is hardly discrete.
_EQUAL = 2**20
_FINE = DiscreteLaplace(Fraction(2**16))
# Parts of the chance of missing: what fractional parts may change, and each of two that is bounded.
_FRACTIONS, _BOUNDED = 1 / 500, 1 / 1000
# Above this share of the variance, the largest weight alone tells enough of rare misses.
_MOSTLY, _RARELY = 0.8, 0.1


@dataclass(frozen=True, eq=False)
class AxisKinds:
    """The weights of every kind of groups along an axis."""

    gains: Floats
    """The squares of each kind's weights by class: a row for each kind."""
    factors: Floats
    """The scale factor of each class."""
    top: Floats
    """The largest square of weight and factor, …"""
    second: Floats
    """… and what no other one exceeds."""
    sizes: tuple[Sizes, ...]
    """All weights times factors of each kind; nothing, where kinds have one weight and a rest."""

    @classmethod
    def of(cls, transform: AxisTransform, rows: Sequence[WeightRow]) -> AxisKinds:
        """Of kinds whose weights are known one by one."""
        stops = [c.stop for c in transform.classes]
        factors = np.array([float(c.factor) for c in transform.classes])
        gains, largest, sizes = [], [], []
        for row in rows:
            which = np.searchsorted(stops, row.positions, side="right")
            gains.append(np.bincount(which, row.weights**2, len(stops)))
            reaches = np.abs(row.weights) * factors[which]
            sizes.append(Sizes.of(reaches))
            largest.append(np.sort(np.append(reaches, [0.0, 0.0]))[-2:] ** 2)
        second, top = np.array(largest).T
        return cls(np.array(gains), factors, top, second, tuple(sizes))

    @classmethod
    def of_one(cls, gains: Floats, top: Floats, second: Floats) -> AxisKinds:
        """Of kinds that have one weight and a rest, all of factor one."""
        return cls(gains.reshape(-1, 1), np.ones(1), top, second, ())

    @property
    def squares(self) -> Floats:
        """Σ b², in units of the noise's scale."""
        return np.asarray(self.gains @ self.factors**2)

    @property
    def tops(self) -> Floats:
        """The part of Σ b² that the largest weight has."""
        squares = self.squares
        return np.divide(self.top, squares, out=np.zeros(len(squares)), where=squares > 0)

    def shares(self, bound: float, part: float) -> tuple[Floats, Floats]:
        """Of kinds that have one weight and a rest: its share of Σ b², where equal weights stand
        for the rest but for a chance of exp(−bound), and this sum.

        No weight along the other axes has more than a `part` of their squares.
        """
        rest = np.maximum(self.squares - self.top, 0.0)
        products = self.second * part * bound
        more = rest + np.sqrt(2 * rest * products) + np.where(rest > 0, products, 0.0)
        more *= 1 / (1 - math.sqrt(2 * bound / _EQUAL))
        whole = self.top + more
        return np.divide(self.top, whole, out=np.ones(len(whole)), where=whole > 0), whole


@dataclass(frozen=True, eq=False)
class SpikedLaws:
    """The half widths of many laws: combinations of kinds along all axes, the last one fastest."""

    noise: KnownNoise
    axes: tuple[AxisKinds, ...]
    shape: tuple[int, ...]
    smallest: Fraction
    """The smallest scale factor of any coefficient."""

    def half_widths(self, numbers: Integers, confidence: float) -> Floats:
        """A t for each law with P[|noise| ≤ t] ≥ confidence, hardly larger than it must be."""
        places = np.unravel_index(numbers, self.shape)
        miss = 1 - confidence
        squares = self._product([axis.squares for axis in self.axes], places)
        top = self._product([axis.top for axis in self.axes], places)
        found = self._by_largest(places, squares, top, miss)
        mixed = np.flatnonzero(top < (_MOSTLY if miss <= _RARELY else 1) * squares)
        if len(mixed):
            some = tuple(place[mixed] for place in places)
            found[mixed] = np.minimum(found[mixed], self._by_class(some, miss))
        return found * (1 + 1e-9)

    def _by_largest(
        self, places: Sequence[Integers], squares: Floats, top: Floats, miss: float
    ) -> Floats:
        held = top > 0  # a group without codes has no noise
        largest = np.where(held, top, 1.0)
        ratio = np.zeros(len(top))
        for axis, place in zip(self.axes, places, strict=True):
            own = np.where(axis.top > 0, axis.top, 1.0)
            ratio = np.maximum(ratio, (axis.second / own)[place])
        room = np.clip(1 - ratio, 1e-300, 1.0)
        rising = np.divide(-np.log(room), ratio, out=np.ones(len(ratio)), where=ratio > 1e-9)
        log_moment = np.maximum(squares / largest - 1, 0.0) * (rising + 1e-9)
        log_moment[ratio >= 1] = np.inf
        few = math.log(2 / (1 + math.exp(-self.noise.times(self.smallest).rate)) / miss)
        found = float(self.noise.scale) * np.sqrt(largest) * (few + log_moment)
        return np.asarray(np.where(held, found, 0.0))

    def _by_class(self, places: Sequence[Integers], miss: float) -> Floats:
        spiked = sum(not axis.sizes for axis in self.axes)
        bound = math.log(2 * 2**spiked / (_BOUNDED * miss))
        part = math.prod(float(axis.tops.max()) for axis in self.axes if axis.sizes)
        step = _STEP
        while True:
            wholes, numbers = [], np.zeros(len(places[0]), np.int64)
            ends: list[list[tuple[float, float]]] = []
            for axis, place in zip(self.axes, places, strict=True):
                if axis.sizes:
                    wholes.append(np.ones(len(place)))
                    ends.append([])
                    numbers = numbers * len(axis.sizes) + place
                    continue
                shares, whole = axis.shares(bound, part)
                wholes.append(np.sqrt(whole[place]))
                cells = np.floor(shares / step).astype(np.int64)
                found, which = np.unique(cells, return_inverse=True)
                low, high = np.full(len(found), np.inf), np.zeros(len(found))
                np.minimum.at(low, which.reshape(-1), shares)
                np.maximum.at(high, which.reshape(-1), shares)
                ends.append(list(zip(low.tolist(), high.tolist(), strict=True)))
                numbers = numbers * len(found) + which.reshape(-1)[place]
            classes, of_row = np.unique(numbers, return_inverse=True)
            if len(classes) <= _MOST_CLASSES or step > 0.5:
                break
            step *= 2
        counts = [len(a.sizes) or len(e) for a, e in zip(self.axes, ends, strict=True)]
        chosen = zip(*np.unravel_index(classes, counts), strict=True)
        halves = [
            _half_width(
                tuple(
                    axis.sizes[i] if axis.sizes else _two_weights(*of[i])
                    for axis, of, i in zip(self.axes, ends, choice, strict=True)
                ),
                miss,
            )
            for choice in chosen
        ]
        plain = self._product([axis.gains.sum(axis=1) for axis in self.axes], places)
        fractions = np.sqrt(2 * math.log(1 / _FRACTIONS) * plain / 6)
        scale = float(self.noise.scale) * np.prod(wholes, axis=0)
        return np.asarray(scale * np.array(halves)[of_row.reshape(-1)] + fractions)

    @staticmethod
    def _product(along: Sequence[Floats], places: Sequence[Integers]) -> Floats:
        parts = [of[place] for of, place in zip(along, places, strict=True)]
        return np.asarray(np.prod(parts, axis=0))


@lru_cache(maxsize=1 << 12)
def _two_weights(low: float, high: float) -> Sizes:
    """A weight with the larger share of the squares, and equal ones with what the other leaves."""
    rest = math.sqrt((1 - low) / _EQUAL)
    return Sizes.of(np.array([math.sqrt(high), rest]), np.array([1, _EQUAL]))


def _half_width(along: Sequence[Sizes], miss: float) -> float:
    """How far a sum of Laplace noises reaches, with a part of the chance of missing left over."""
    sizes = Sizes.alike(1)
    for one in along:
        sizes = sizes * one
    chance = miss * (1 - _FRACTIONS - 2 * _BOUNDED)
    reach = NoiseSum.gathered([(_FINE, sizes)]).reach(chance)
    squares = float(sizes.squares.sum())
    fractions = math.sqrt(2 * math.log(2 / (_BOUNDED * miss)) * squares / 6)
    return (reach + fractions) / float(_FINE.scale)


def shared_laws(
    reading: ProductReading,
    noise: KnownNoise,
    groups: Sequence[AxisGroups],
    firsts: Mapping[int, Integers],
    law: Callable[[int], NoiseLaw],
) -> SharedLaws | None:
    """The laws of all combinations of kinds, each of which `law` knows by itself.

    `firsts` has, of every axis that is cut in order, a group of each kind. Of few laws, or where
    groups under tents are no single codes, there is no such thing.
    """
    if math.prod(map(len, firsts.values())) <= _FEW:
        return None
    axes = []
    for i, (axis, along) in enumerate(zip(reading.axes, groups, strict=True)):
        kinds = _kinds(axis, along, firsts.get(i, np.zeros(1, np.intp)))
        if kinds is None:
            return None
        axes.append(kinds)
    largest = math.prod(float(kinds.tops[kinds.top > 0].min(initial=1.0)) for kinds in axes)
    if largest < _MOSTLY and math.prod(map(len, firsts.values())) <= _FEW_MIXED:
        return None
    order = [*firsts, *(i for i in range(len(axes)) if i not in firsts)]
    sizes = tuple(len(axes[i].gains) for i in order)
    factors = {factor for _, factor in reading.product.blocks()}
    spread = reading.class_variances(lambda factor: noise.times(factor).variance)
    spread = spread.transpose(order)
    for i in order:  # the first class is contracted, and the kinds come last
        spread = np.tensordot(spread, axes[i].gains, axes=(0, 1))
    variances = spread.reshape(-1)
    spiked = SpikedLaws(noise, tuple(axes[i] for i in order), sizes, min(factors))
    return SharedLaws(math.prod(sizes), law, lambda some: variances[some], spiked.half_widths)


def _kinds(axis: AxisReading, along: AxisGroups, firsts: Integers) -> AxisKinds | None:
    """The kinds of groups along an axis, of each of which one group is given."""
    if isinstance(axis.transform, Tents) and along.groups > 1:
        from hushtable.families.linear.tents_reading import TentsReading

        if not along.single or not isinstance(axis, TentsReading):
            return None
        codes = np.full(along.groups, -1, np.int64)
        codes[along.owner] = along.starts
        held = codes[firsts] >= 0
        return AxisKinds.of_one(*(np.where(held, of, 0.0) for of in axis.single(codes[firsts])))
    return AxisKinds.of(axis.transform, [along.row(int(group)) for group in firsts])
