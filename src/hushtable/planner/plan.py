"""Plans: how accurate each mechanism would be for a workload, known before any budget is spent.

Everything here follows from the schema, ε and the workload. Nothing in this folder can read data:
it imports nothing that does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hushtable.arrays import available_memory
from hushtable.errors import OptionError
from hushtable.families.linear.bounds import range_bound
from hushtable.families.linear.choices import choices, describe, has_trees, tree, wavelet
from hushtable.families.sparse.forecast import SummaryForecast, summaries
from hushtable.kernel.maps import AxisTransform, Identity, Product, Tree
from hushtable.kernel.privacy.loss import EpsilonLike, format_epsilon, parse_epsilon
from hushtable.planner.forecast import Forecaster, Setting, Sized, law_of
from hushtable.planner.reading import read_workload
from hushtable.planner.resources import Resources, resources
from hushtable.planner.search import best_product, families_along, loss
from hushtable.planner.workload import Workload
from hushtable.query.box import Region
from hushtable.schema import Schema

CONFIDENCE = 0.95

DATA_DEPENDENT = ("privelet*", "ispe", "kdtree")
"""Mechanisms whose error depends on the data, so that it cannot be known before."""

_MOST_PEOPLE = 10**15


@dataclass(frozen=True, eq=False)
class Forecast:
    """What a mechanism would give for a workload."""

    mechanism: str
    parameters: dict[str, str]
    """The settings to publish with."""
    transform: Product
    setting: Setting
    rmse: float
    """The root of the mean noise variance over the workload."""
    worst: float
    """The largest standard error of any question."""
    typical: Region
    """A question whose error is about the mean."""
    by_size: tuple[Sized, ...]
    bound: float | None
    """What the Privelet paper's Equation 7 bounds every standard error by, where it applies."""
    resources: Resources

    def margin(self, epsilon: Fraction | None = None) -> float:
        """How far a typical count is off at most, 95 times in 100; perhaps at another ε."""
        setting = self.setting
        if epsilon is not None:
            setting = Setting(setting.exposure, epsilon)
        return law_of(self.transform, setting, self.typical).half_width(CONFIDENCE)

    def epsilon_for(self, error: float) -> Fraction:
        """The least ε, in three digits, at which a typical count is that close 95 times in 100."""
        low, high = Fraction(1, 10**9), Fraction(10**9)
        while high / low > Fraction(10_005, 10_000):
            middle = Fraction(math.sqrt(float(low * high))).limit_denominator(10**12)
            low, high = (low, middle) if self._fits(middle, error) else (middle, high)
        return _three_digits(high)

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
            "rmse": self.rmse,
            "margin": self.margin(),
            "margin_at_twice_epsilon": self.margin(2 * self.setting.epsilon),
            "worst": self.worst,
            "bound": self.bound,
            "by_size": [{"cells": sized.cells, "rmse": sized.rmse} for sized in self.by_size],
            "memory": self.resources.memory,
            "disk": self.resources.disk,
            "seconds": self.resources.seconds,
            "fits": self.resources.fits,
        }


@dataclass(frozen=True, eq=False)
class Plan:
    """Forecasts for one workload, the best first."""

    schema: Schema
    epsilon: Fraction
    workload: Workload
    people: int | None
    forecasts: tuple[Forecast, ...]
    """Of the mechanisms that lay out all cells; none where this machine cannot."""
    summaries: tuple[SummaryForecast, ...] = ()
    """Of summaries of sparse tables, for declared figures."""

    @property
    def recommended(self) -> Forecast | SummaryForecast:
        """The most accurate mechanism that this machine has the memory for.

        A summary of a sparse table only where no other fits.
        """
        fitting = [forecast for forecast in self.forecasts if forecast.resources.fits]
        if fitting or self.forecasts:
            return (fitting or list(self.forecasts))[0]
        return next(one for one in self.summaries if one.mechanism == "filter-priority")

    def to_dict(self) -> dict[str, Any]:
        """Write as plain values; the most accurate mechanism first."""
        listed = []
        for forecast in self.forecasts:
            told = forecast.to_dict()
            if self.people:
                told["relative"] = forecast.rmse / self.people
            listed.append(told)
        return {
            "dataset": self.schema.name,
            "epsilon": format_epsilon(self.epsilon),
            "neighbours": self.schema.neighbours,
            "workload": self.workload.name,
            "exact": self.workload.exact,
            "confidence": CONFIDENCE,
            "people": self.people,
            "mechanisms": listed,
            "summaries": [one.to_dict() for one in self.summaries],
            "recommended": self.recommended.mechanism,
            "depends_on_the_data": list(DATA_DEPENDENT),
        }

    def __str__(self) -> str:
        best = self.recommended
        if isinstance(best, SummaryForecast):
            return f"{best.mechanism}: about {best.expected.size:,.0f} cells would be kept"
        return (
            f"{best.mechanism}: a typical count of {self.workload.name} would be"
            f" ± {best.margin():.3g} at 95 %"
        )


def plan(
    schema: Schema,
    *,
    epsilon: EpsilonLike,
    workload: str | Workload = "ranges",
    people: int | None = None,
    typical: float = 1.0,
    budgets: bool = False,
) -> Plan:
    """Forecast the error of every mechanism whose noise does not depend on the data.

    `people` is a public guess of how many rows there are, for relative figures, and `typical` of
    how many an occupied cell holds: sparse summaries are forecast for these. With `budgets`,
    levels of trees may have different shares of ε, which takes longer to search.
    """
    asked = workload if isinstance(workload, Workload) else read_workload(workload, schema)
    if asked.shape != schema.shape:
        raise OptionError("the workload was made for another schema")
    if people is not None and not (type(people) is int and 0 < people <= _MOST_PEOPLE):
        raise OptionError("people must be a whole number above zero")
    setting = Setting(schema.exposure, parse_epsilon(epsilon))
    dense = _can_be_laid_out(schema)
    forecasts = _forecasts(schema, asked, setting, people, budgets) if dense else []
    kept: tuple[SummaryForecast, ...] = ()
    if people is not None or not dense:
        kept = summaries(schema, setting.epsilon, people, typical)
    if not forecasts and not kept:
        raise OptionError(
            f"{schema.cells:,} cells are too many for this machine's memory and for sparse"
            " summaries: use coarser bins or fewer attributes, or privbayes"
        )
    return Plan(schema, setting.epsilon, asked, people, tuple(forecasts), kept)


def _forecasts(
    schema: Schema, asked: Workload, setting: Setting, people: int | None, budgets: bool
) -> list[Forecast]:
    """Of every mechanism that lays out all cells, the best first."""
    forecaster = Forecaster(asked)
    forecasts = [
        _forecast(name, product, parameters, schema, forecaster, setting, people)
        for name, product, parameters in _candidates(schema, forecaster, setting, budgets)
        if loss(forecaster, setting, product) < math.inf
    ]
    if not forecasts:
        raise OptionError("epsilon is so small that noise would not fit 64-bit integers")
    # Of equal ones the simplest, which is tried first, comes first.
    return sorted(forecasts, key=lambda forecast: float(f"{forecast.rmse:.9g}"))


def _can_be_laid_out(schema: Schema) -> bool:
    """Whether this machine has the memory for all cells of the domain."""
    return 8 * schema.cells <= available_memory() * 3 // 4


def _candidates(
    schema: Schema, forecaster: Forecaster, setting: Setting, budgets: bool
) -> Iterator[tuple[str, Product, dict[str, str]]]:
    """The mechanisms, simple ones first, each with its best parameters."""
    attributes = schema.attributes
    listable = all("," not in a.name for a in attributes)  # in a setting that lists attributes
    plain = Product(tuple(Identity(a.size) for a in attributes))
    wavelets = Product(tuple(wavelet(a) for a in attributes))
    yield "basic", plain, {}
    yield "privelet", wavelets, {}
    pairs = [_distinct([w, p]) for w, p in zip(wavelets.axes, plain.axes, strict=True)]
    plus = best_product(forecaster, setting, pairs, [plain, wavelets])
    named = [a.name for a, axis in zip(attributes, plus.axes, strict=True) if _is_plain(axis)]
    if listable:
        yield "privelet+", plus, {"identity": ",".join(named)}
    families = [families_along(forecaster.workload, i) for i in range(len(attributes))]
    every = [
        choices(a, along, budgets=budgets) for a, along in zip(attributes, families, strict=True)
    ]
    starts = [plain, wavelets, plus]
    if all(map(has_trees, attributes)):
        grown = [
            _distinct([tree(a, along) for along in alongs] or [tree(a)])
            for a, alongs in zip(attributes, families, strict=True)
        ]
        trees = best_product(forecaster, setting, grown)
        if listable:
            yield "hierarchical", trees, _branching(schema, trees)
        every = [_distinct([*some, *more]) for some, more in zip(every, grown, strict=True)]
        starts.append(trees)
    mixed = best_product(forecaster, setting, every, starts)
    described = zip(attributes, mixed.axes, strict=True)
    yield "mixed", mixed, {a.name: describe(axis) for a, axis in described}


def _distinct(axes: list[AxisTransform]) -> list[AxisTransform]:
    return list(dict.fromkeys(axes))


def _is_plain(axis: AxisTransform) -> bool:
    return isinstance(axis, Identity)


def _branching(schema: Schema, product: Product) -> dict[str, str]:
    """The setting of `hierarchical` that makes these trees; own hierarchies need none."""
    parts = []
    for attribute, axis in zip(schema.attributes, product.axes, strict=True):
        if isinstance(axis, Tree) and axis.radices is not None:
            parts.append(f"{attribute.name}:{'x'.join(map(str, axis.radices))}")
        elif isinstance(axis, Identity) and axis.size > 1:
            parts.append(f"{attribute.name}:{axis.size}")
    return {"branching": ",".join(parts)} if parts else {}


def _forecast(
    name: str,
    product: Product,
    parameters: dict[str, str],
    schema: Schema,
    forecaster: Forecaster,
    setting: Setting,
    people: int | None,
) -> Forecast:
    scale = setting.noise(product).scale
    return Forecast(
        mechanism=name,
        parameters=parameters,
        transform=product,
        setting=setting,
        rmse=math.sqrt(forecaster.mean_variance(product, setting)),
        worst=forecaster.worst(product, setting),
        typical=forecaster.typical(product, setting),
        by_size=forecaster.by_size(product, setting),
        bound=range_bound(schema, product, scale),
        resources=resources(product, scale, people),
    )


def _three_digits(number: Fraction) -> Fraction:
    """The number, rounded up to three digits."""
    exponent = math.floor(math.log10(float(number))) - 2
    unit = Fraction(10) ** exponent
    return math.ceil(number / unit) * unit
