"""The noise of every question of a workload, read from coefficients: exact, from public facts."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import cast

import numpy as np

from hushtable.arrays import Floats
from hushtable.families.forecast import Purpose
from hushtable.families.linear.gains import largest_gain, mean_gains
from hushtable.families.linear.read.coefficients import NoisyCoefficients
from hushtable.families.linear.read.groups import weights_of
from hushtable.families.linear.read.transforms import AxisReading, ProductReading, reading_of
from hushtable.families.linear.rows import WeightRow
from hushtable.kernel.maps import AxisTransform, Product
from hushtable.kernel.privacy.loss import Exposure
from hushtable.kernel.privacy.noises import DiscreteLaplace
from hushtable.query.box import Boxes
from hushtable.query.law import NoiseLaw
from hushtable.workload.intervals import Along

Variance = Callable[[Fraction], float]
"""The variance of the noise on one coefficient, by its scale factor."""


@dataclass(frozen=True)
class NoisyProduct:
    """Coefficients of a product of transforms, each measured once."""

    transform: Product
    exposure: Exposure

    def noise(self, epsilon: Fraction) -> DiscreteLaplace:
        """The noise of a coefficient whose factor is one."""
        transform = self.transform
        return self.exposure.noise(epsilon, entering=transform.entering, moving=transform.moving)

    def law(self, boxes: Boxes, epsilon: Fraction) -> NoiseLaw:
        """The law of the noise in the count of disjoint boxes."""
        reading = ProductReading.of(self.transform)
        return NoisyCoefficients(reading, _no_data, self.noise(epsilon), "").law(boxes)


@dataclass(eq=False)
class Variances:
    """Computes variances for one purpose; remembers the gains of axes it has met."""

    purpose: Purpose
    _readings: dict[Hashable, AxisReading] = field(default_factory=dict)
    _means: dict[tuple[AxisReading, Along], Floats] = field(default_factory=dict)
    _tops: dict[tuple[AxisReading, Along], float] = field(default_factory=dict)

    def strategy(self, transform: Product) -> NoisyProduct:
        """What would be measured of a transform."""
        return NoisyProduct(transform, self.purpose.schema.exposure)

    def mean(self, transform: Product) -> float:
        """The weighted mean of the noise variances of all questions."""
        variance, reading = self._variance(transform), self._reading(transform)
        workload, total = self.purpose.workload, 0.0
        if workload.box_sets:
            gains = [
                np.stack([self._mean(axis, boxes.along[i]) for boxes in workload.box_sets])
                for i, axis in enumerate(reading.axes)
            ]
            weights = np.array([boxes.weight for boxes in workload.box_sets])
            total += float(weights @ reading.variances(gains, variance))
        for question in workload.questions:
            total += question.weight * boxes_variance(reading, question.boxes, variance)
        return total / workload.weight

    def sampled(self, transform: Product) -> Floats:
        """The variances of the purpose's sample."""
        sample = self.purpose.sample
        variance, reading = self._variance(transform), self._reading(transform)
        gains = [
            axis.gains(sample.starts[:, i], sample.stops[:, i])
            for i, axis in enumerate(reading.axes)
        ]
        boxes = reading.variances(gains, variance) if len(sample.starts) else np.zeros(0)
        asked = [boxes_variance(reading, q.boxes, variance) for q in sample.questions]
        return np.append(boxes, asked)

    def worst(self, transform: Product, sampled: Floats) -> float:
        """The largest standard error: of one-scale transforms exactly, else of what was sampled."""
        largest = float(sampled.max(initial=0.0))
        if all(len(axis.classes) == 1 for axis in transform.axes):
            variance = self._variance(transform)(Fraction(1))
            for boxes in self.purpose.workload.box_sets:
                parts = zip(self._reading(transform).axes, boxes.along, strict=True)
                largest = max(largest, variance * math.prod(self._top(*part) for part in parts))
        return math.sqrt(largest)

    def _variance(self, transform: Product) -> Variance:
        noise = self.strategy(transform).noise(self.purpose.epsilon)
        return lambda factor: noise.times(factor).variance

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
            self._means[key] = mean_gains(axis, along)
        return self._means[key]

    def _top(self, axis: AxisReading, along: Along) -> float:
        key = axis, along
        if key not in self._tops:
            self._tops[key] = largest_gain(axis, along)
        return self._tops[key]


def boxes_variance(reading: ProductReading, boxes: Boxes, variance: Variance) -> float:
    """The noise variance of a count of several boxes, which share coefficients.

    It is Σ over pairs of boxes of Π over axes ⟨weights, weights′⟩, class by class.
    """
    rows = [
        [weights_of(axis, codes) for axis, codes in zip(reading.axes, box.sets, strict=True)]
        for box in boxes
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


def _inner(axis: AxisTransform, one: WeightRow, other: WeightRow) -> Floats:
    """The inner product of two rows of weights within each class."""
    common, mine, theirs = np.intersect1d(
        one.positions, other.positions, assume_unique=True, return_indices=True
    )
    products = one.weights[mine] * other.weights[theirs]
    stops = [c.stop for c in axis.classes]
    which = np.searchsorted(stops, common, side="right")
    return np.bincount(which, products, minlength=len(stops)).astype(np.float64)


def _no_data(*slices: slice) -> Floats:
    raise AssertionError("a forecast reads nothing")
