"""The noise of every question of a workload, before anything is spent: exact, from public facts."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import cast

import numpy as np

from hushtable.arrays import Floats, Integers
from hushtable.families.linear.intervals import Along, even_points, some_of
from hushtable.families.linear.read.coefficients import NoisyCoefficients, weights_of
from hushtable.families.linear.read.transforms import AxisReading, ProductReading, reading_of
from hushtable.families.linear.rows import Row
from hushtable.kernel.maps import AxisTransform, Product
from hushtable.kernel.privacy.loss import Exposure
from hushtable.kernel.privacy.noises import KnownNoise
from hushtable.planner.workload import Workload
from hushtable.query.box import Box, CodeSet, Region, cells
from hushtable.query.law import NoiseLaw

# Boxes by which the worst and the typical question, and the error by size, are found.
_BOXES = 4096
_SIZES = 8
# Intervals among which the one of the largest gain is looked for, and how many at once.
_INTERVALS = 2**17
_PIECE = 2**15


@dataclass(frozen=True)
class Setting:
    """What is public about a release to come, besides its transform."""

    exposure: Exposure
    epsilon: Fraction

    def noise(self, transform: Product) -> KnownNoise:
        """The noise of a coefficient whose factor is one."""
        return self.exposure.noise(
            self.epsilon, entering=transform.entering, moving=transform.moving
        )


@dataclass(frozen=True, eq=False)
class Sized:
    """The error of questions of about the same size."""

    cells: float
    rmse: float


@dataclass(eq=False)
class Forecaster:
    """Computes variances for one workload; remembers the mean gains of axes it has met."""

    workload: Workload
    _readings: dict[Hashable, AxisReading] = field(default_factory=dict)
    _means: dict[tuple[AxisReading, Along], Floats] = field(default_factory=dict)
    _tops: dict[tuple[AxisReading, Along], float] = field(default_factory=dict)

    def mean_variance(self, transform: Product, setting: Setting) -> float:
        """The weighted mean of the noise variances of all questions."""
        variance, reading = _variance(setting.noise(transform)), self._reading(transform)
        total = 0.0
        if self.workload.families:
            gains = [
                np.stack([self._mean(axis, f.along[i]) for f in self.workload.families])
                for i, axis in enumerate(reading.axes)
            ]
            weights = np.array([family.weight for family in self.workload.families])
            total += float(weights @ reading.variances(gains, variance))
        for question in self.workload.questions:
            total += question.weight * region_variance(reading, question.region, variance)
        return total / self.workload.weight

    def _reading(self, transform: Product) -> ProductReading:
        return ProductReading(tuple(map(self._axis_reading, transform.axes)))

    def _axis_reading(self, axis: AxisTransform) -> AxisReading:
        key = cast(Hashable, axis)
        if key not in self._readings:
            self._readings[key] = reading_of(axis)
        return self._readings[key]

    def _mean(self, axis: AxisReading, along: Along) -> Floats:
        key = axis, along
        if key not in self._means:
            self._means[key] = along.mean_gains(axis)
        return self._means[key]

    @cached_property
    def _boxes(self) -> tuple[Integers, Integers, Floats]:
        """An even choice of the families' boxes, and the weight each stands for."""
        families = self.workload.families
        each = max(_BOXES // max(len(families), 1), 16)
        starts, stops, weights = [], [], []
        for family in families:
            points = even_points(each, 2 * len(family.along))
            ends = [
                along.spread(points[2 * axis], points[2 * axis + 1])
                for axis, along in enumerate(family.along)
            ]
            starts.append(np.stack([start for start, _ in ends], axis=1))
            stops.append(np.stack([stop for _, stop in ends], axis=1))
            weights.append(np.full(each, family.weight / each))
        axes = len(self.workload.shape)
        none = np.zeros((0, axes), np.int64)
        return (
            np.concatenate([none, *starts]),
            np.concatenate([none, *stops]),
            np.concatenate([np.zeros(0), *weights]),
        )

    def sampled(self, transform: Product, setting: Setting) -> tuple[Floats, Floats, Floats]:
        """Sizes in cells, variances and weights of sampled boxes and of all questions."""
        starts, stops, weights = self._boxes
        variance, reading = _variance(setting.noise(transform)), self._reading(transform)
        gains = [axis.gains(starts[:, i], stops[:, i]) for i, axis in enumerate(reading.axes)]
        variances = reading.variances(gains, variance) if len(starts) else np.zeros(0)
        asked = self.workload.questions
        sizes = np.prod((stops - starts).astype(np.float64), axis=1)
        return (
            np.append(sizes, [float(cells(q.region)) for q in asked]),
            np.append(variances, [region_variance(reading, q.region, variance) for q in asked]),
            np.append(weights, [q.weight for q in asked]),
        )

    def region(self, number: int) -> Region:
        """The sampled box or the question of that number."""
        starts, stops, _ = self._boxes
        if number >= len(starts):
            return self.workload.questions[number - len(starts)].region
        ends = zip(starts[number].tolist(), stops[number].tolist(), strict=True)
        return (Box(tuple(CodeSet.of(pair) for pair in ends)),)

    def typical(self, transform: Product, setting: Setting) -> Region:
        """The question whose variance is nearest to the mean."""
        _, variances, _ = self.sampled(transform, setting)
        mean = self.mean_variance(transform, setting)
        return self.region(int(np.abs(variances - mean).argmin()))

    def worst(self, transform: Product, setting: Setting) -> float:
        """The largest standard error: of one-scale transforms exactly, else of what was sampled."""
        _, variances, _ = self.sampled(transform, setting)
        largest = float(variances.max(initial=0.0))
        if all(len(axis.classes) == 1 for axis in transform.axes):
            variance = _variance(setting.noise(transform))(Fraction(1))
            for family in self.workload.families:
                parts = zip(self._reading(transform).axes, family.along, strict=True)
                largest = max(largest, variance * math.prod(self._top(*part) for part in parts))
        return math.sqrt(largest)

    def _top(self, axis: AxisReading, along: Along) -> float:
        """The largest gain of an interval: of all, or of an even choice of very many."""
        key = axis, along
        if key not in self._tops:
            starts, stops = some_of(along, _INTERVALS)
            pieces = [slice(k, k + _PIECE) for k in range(0, len(starts), _PIECE)]
            gains = (float(axis.gains(starts[piece], stops[piece]).max()) for piece in pieces)
            self._tops[key] = max(gains)
        return self._tops[key]

    def by_size(self, transform: Product, setting: Setting) -> tuple[Sized, ...]:
        """The error of small and of large questions, in classes of about equal weight."""
        sizes, variances, weights = self.sampled(transform, setting)
        order = np.argsort(sizes, kind="stable")
        edges = np.cumsum(weights[order]) / weights.sum() * _SIZES
        numbers = np.minimum(edges.astype(int), _SIZES - 1)
        found = []
        for number in np.unique(numbers):
            chosen = order[numbers == number]
            share = weights[chosen] / weights[chosen].sum()
            middle = math.exp(float(share @ np.log(np.maximum(sizes[chosen], 1))))
            found.append(Sized(middle, math.sqrt(float(share @ variances[chosen]))))
        return tuple(found)


def law_of(transform: Product, setting: Setting, region: Region) -> NoiseLaw:
    """The law of the noise in the count of a region."""
    reading = ProductReading.of(transform)
    return NoisyCoefficients(reading, _no_data, setting.noise(transform), "").law(region)


def region_variance(
    reading: ProductReading, region: Region, variance: Callable[[Fraction], float]
) -> float:
    """The noise variance of a count of several boxes, which share coefficients.

    It is Σ over pairs of boxes of Π over axes ⟨weights, weights′⟩, class by class.
    """
    rows = [
        [weights_of(axis, codes) for axis, codes in zip(reading.axes, box.sets, strict=True)]
        for box in region
        if box.cells
    ]
    pairs = [(one, other) for one in rows for other in rows]
    if not pairs:
        return 0.0
    gains = [
        np.stack([_inner(axis.transform, one[i], other[i]) for one, other in pairs])
        for i, axis in enumerate(reading.axes)
    ]
    return float(reading.variances(gains, variance).sum())


def _inner(axis: AxisTransform, one: Row, other: Row) -> Floats:
    """The inner product of two rows of weights within each class."""
    common, mine, theirs = np.intersect1d(
        one.positions, other.positions, assume_unique=True, return_indices=True
    )
    products = one.weights[mine] * other.weights[theirs]
    stops = [c.stop for c in axis.classes]
    which = np.searchsorted(stops, common, side="right")
    return np.bincount(which, products, minlength=len(stops)).astype(np.float64)


def _variance(noise: KnownNoise) -> Callable[[Fraction], float]:
    return lambda factor: noise.times(factor).variance


def _no_data(*slices: slice) -> Floats:
    raise AssertionError("a forecast reads nothing")
