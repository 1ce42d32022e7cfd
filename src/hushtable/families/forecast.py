"""What every forecast is: how accurate a mechanism would be, known before any budget is spent.

A family's `forecast.py` has a function `forecasts(purpose)`. What it gives follows from the purpose
and so from public facts alone: a `Forecast` where the noise does not depend on the data, so that
errors are exact, and a `SummaryForecast` where they hold only if declared figures do.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from hushtable.arrays import Floats, available_memory
from hushtable.errors import OptionError
from hushtable.query.box import Boxes
from hushtable.query.law import NoiseLaw
from hushtable.schema import Schema
from hushtable.workload import Workload
from hushtable.workload.sampling import Sample

CONFIDENCE = 0.95

MOST_NAMED = 4
"""Questions about so many attributes and more are counted together."""

_SIZES = 8
# Of the arrays of a release, the engine's tables and the writing included: 1.75 was measured.
_PEAK = 2


@dataclass(frozen=True, eq=False)
class Purpose:
    """What a release is wanted for: all that a forecast may depend on."""

    schema: Schema
    epsilon: Fraction
    workload: Workload
    people: int | None = None
    """A declared number of rows."""
    typical: float = 1.0
    """A declared number of rows in a cell that is occupied."""
    budgets: bool = False
    """Whether to search for the best shares of ε too, which takes longer."""

    @cached_property
    def sample(self) -> Sample:
        """Boxes and questions by which the worst, the typical and the error by size are found."""
        return Sample.of(self.workload)


class Strategy(Protocol):
    """What would be measured."""

    def law(self, boxes: Boxes, epsilon: Fraction) -> NoiseLaw:
        """The exact law of the noise in the count of disjoint boxes."""


@dataclass(frozen=True)
class Sized:
    """The error of questions of about the same size."""

    cells: float
    rmse: float


@dataclass(frozen=True)
class Resources:
    """What publishing takes: orders of magnitude, for planning."""

    arrays: int
    """Bytes of the arrays that are laid out."""
    disk: int
    seconds: float

    @property
    def memory(self) -> int:
        """Bytes that are needed at once."""
        return _PEAK * self.arrays

    @property
    def fits(self) -> bool:
        """Whether this machine has the memory."""
        return self.arrays <= available_memory() * 3 / 4


@dataclass(frozen=True, eq=False, kw_only=True)
class Forecast:
    """What a mechanism would give for a purpose, exactly."""

    mechanism: str
    parameters: dict[str, str]
    """The settings to publish with."""
    strategy: Strategy
    epsilon: Fraction
    rmse: float
    """The root of the mean noise variance over the workload."""
    worst: float
    """The largest standard error of any question, or of those of a sample where none is known."""
    typical: Boxes
    """A question whose error is about the mean."""
    by_size: tuple[Sized, ...]
    by_attributes: dict[int, float]
    """The error of questions that name one, two, three, and four or more attributes."""
    useful_from: float
    """How many people there must be for a typical question to err by no more than it counts, if
    people were spread evenly over all cells."""
    bound: float | None
    """A published bound on every standard error, where there is one."""
    resources: Resources

    @classmethod
    def of(
        cls,
        purpose: Purpose,
        strategy: Strategy,
        *,
        mechanism: str,
        parameters: dict[str, str],
        mean: float,
        variances: Floats,
        worst: float,
        resources: Resources,
        bound: float | None = None,
    ) -> Forecast:
        """From the mean variance over the workload, and the variances of the purpose's sample."""
        return cls(
            mechanism=mechanism,
            parameters=parameters,
            strategy=strategy,
            epsilon=purpose.epsilon,
            rmse=math.sqrt(mean),
            worst=worst,
            typical=purpose.sample.boxes(int(np.abs(variances - mean).argmin())),
            by_size=_by_size(purpose.sample, variances),
            by_attributes=by_attributes(purpose.sample, variances),
            useful_from=_useful_from(purpose, variances),
            bound=bound,
            resources=resources,
        )

    @property
    def error(self) -> float:
        """What plans compare: the mean of the errors by how many attributes are named.

        The root of the mean square over all would be decided by the questions about most.
        """
        return mean_error(self.rmse, self.by_attributes)

    def margin(self, epsilon: Fraction | None = None) -> float:
        """How far a typical count is off at most, 95 times in 100; perhaps at another ε."""
        law = self.strategy.law(self.typical, self.epsilon if epsilon is None else epsilon)
        return law.half_width(CONFIDENCE)

    def epsilon_for(self, error: float) -> Fraction:
        """The least ε, in three digits, at which a typical count is that close 95 times in 100."""
        low, high = Fraction(1, 10**9), Fraction(10**9)
        while high / low > Fraction(10_005, 10_000):
            middle = Fraction(math.sqrt(float(low * high))).limit_denominator(10**12)
            low, high = (low, middle) if self._fits(middle, error) else (middle, high)
        return rounded_up(high, 3)

    def _fits(self, epsilon: Fraction, error: float) -> bool:
        try:
            return self.margin(epsilon) <= error
        except OptionError:  # so little that noise would not fit 64 bits
            return False

    def to_dict(self) -> dict[str, Any]:
        """For machines, and for the manifest of what `auto` publishes."""
        return {
            "mechanism": self.mechanism,
            "parameters": self.parameters,
            "error": self.error,
            "rmse": self.rmse,
            "margin": self.margin(),
            "margin_at_twice_epsilon": self.margin(2 * self.epsilon),
            "worst": self.worst,
            "bound": self.bound,
            "by_size": [{"cells": sized.cells, "rmse": sized.rmse} for sized in self.by_size],
            "by_attributes": {str(named): rmse for named, rmse in self.by_attributes.items()},
            "useful_from": self.useful_from,
            "memory": self.resources.memory,
            "disk": self.resources.disk,
            "seconds": self.resources.seconds,
            "fits": self.resources.fits,
        }


@dataclass(frozen=True)
class SummaryForecast:
    """What a summary of a sparse table would give, if the declared figures are right.

    Errors are roots of mean square errors.
    """

    mechanism: str
    parameters: dict[str, str]
    people: int
    """The number of rows it is for."""
    bounded: bool
    """Whether it has at most a chosen size, whatever the table holds."""
    rmse: float
    """The error over the workload."""
    by_attributes: dict[int, float]
    useful_from: float
    """As of a `Forecast`, if errors of so many people are those of any number."""
    size: float
    """Places that are kept."""
    noise_share: float
    """The share of them that are empty in truth."""
    point: float
    """The error of one occupied cell."""
    range: float
    """The error of a range of adjacent cells."""
    subset: float
    """The error of as many cells that are scattered."""

    @property
    def error(self) -> float:
        """What plans compare, as of a `Forecast`."""
        return mean_error(self.rmse, self.by_attributes)

    def to_dict(self) -> dict[str, Any]:
        return {
            "mechanism": self.mechanism,
            "parameters": self.parameters,
            "error": self.error,
            "rmse": self.rmse,
            "useful_from": self.useful_from,
            "size": self.size,
            "noise_share": self.noise_share,
            "point": self.point,
            "range": self.range,
            "subset": self.subset,
        }


def _by_size(sample: Sample, variances: Floats) -> tuple[Sized, ...]:
    """The error of small and of large questions, in classes of about equal weight."""
    sizes, weights = sample.sizes, sample.weights
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


def by_attributes(sample: Sample, variances: Floats) -> dict[int, float]:
    """The error of questions by how many attributes they name; the total names none."""
    named = np.minimum(sample.named, MOST_NAMED)
    found = {}
    for number in np.unique(named[named > 0]).tolist():
        chosen = named == number
        share = sample.weights[chosen] / sample.weights[chosen].sum()
        found[number] = math.sqrt(float(share @ variances[chosen]))
    return found


def mean_error(rmse: float, by_attributes: dict[int, float]) -> float:
    """The mean of errors by how many attributes are named; the error itself of one number alone."""
    if len(by_attributes) < 2:
        return rmse
    return math.fsum(by_attributes.values()) / len(by_attributes)


def _useful_from(purpose: Purpose, variances: Floats) -> float:
    """The typical error as a part of all people, were they spread evenly over all cells."""
    sample = purpose.sample
    return typical_ratio(np.sqrt(variances), sample.shares, sample.weights)


def typical_ratio(errors: Floats, shares: Floats, weights: Floats) -> float:
    """The geometric mean of errors over shares.

    A median would jump where one kind of question outweighs another: half of the everyday questions
    about a long axis are single values, which count nearly nobody, and half are ranges.
    """
    logarithms = np.log(np.maximum(errors, 1e-300)) - np.log(np.maximum(shares, 1e-300))
    return math.exp(min(float(np.average(logarithms, weights=weights)), 700.0))


def about(people: float) -> str:
    """A number of people to be told: rounded up to two digits."""
    return f"{math.ceil(rounded_up(Fraction(max(people, 1.0)), 2)):,}"


def rounded_up(number: Fraction, digits: int) -> Fraction:
    """The number, rounded up to so many digits."""
    exponent = math.floor(math.log10(float(number))) + 1 - digits
    unit = Fraction(10) ** exponent
    return math.ceil(number / unit) * unit
