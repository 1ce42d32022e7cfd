"""Summaries of dyadic ranges and Haar coefficients, and the consistency check.

Every summary is as large as the table has occupied cells. Noise is that of all levels together,
leaves and root included: twenty-one over 10^6 cells.

Words as numbers: *about 1 %* of the space is 0.3 to 3 %; *only weakly* is at most twice the error;
*similar* is within a factor of two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from hushtable.evaluation.experiment import Task
from hushtable_papers.claims import (
    Claim,
    Look,
    NotMeasuredError,
    Results,
    compared,
    listed,
    within,
)
from hushtable_papers.figure import Figure, Plot, Scope
from hushtable_papers.sparse_errors import MadeUp, Method, QuerySizes, error_tasks, sizes_up_to

_PLACES = ("uniform", "skewed")
_LOW_THETA = 300
"""Well below the θ of a filter by itself: the check has something to drop, sampling to choose."""


def _tasks(scope: Scope, experiment: str, methods: Callable[[int], Sequence[Method]]) -> list[Task]:
    tasks = []
    for places in _PLACES:
        table = MadeUp(cells=scope.size(20_000, 10**6), places=places)
        asked = QuerySizes(sizes_up_to(table.cells, 0.3), each=scope.size(10, 100))
        chosen, repetitions = methods(table.occupied), scope.size(1, 8)
        tasks += error_tasks(experiment, table, chosen, asked, repetitions=repetitions)
    return tasks


def _plot(name: str, title: str, *more: str, without: Sequence[str] = ()) -> Plot:
    """Errors by the size of a range, for all methods but some."""
    return Plot(
        name,
        title,
        "share",
        by=("method", *more),
        panels="places",
        names={"share": "range size (share of the cells)", "places": "occupied places"},
        shown=lambda results: results.filter(
            pc.invert(pc.is_in(results["method"], pa.array(without, pa.string())))
        ),
    )


# ── dyadic ranges ────────────────────────────────────────────────────────────────────────────────


def _dyadic_methods(size: int) -> list[Method]:
    """Without a check, which has a figure of its own; a filter at 1 keeps all noise."""
    dyadic: dict[str, str | int] = {"on": "dyadic", "size": size}
    unchecked = {**dyadic, "consistent": "no"}
    haar = {**dyadic, "on": "haar"}
    return [
        Method("geometric", "geometric"),
        Method("filter-priority", "filter-priority", {"theta": 40, "size": size}),
        Method("dyadic geometric", "filter", {**unchecked, "theta": 1}),
        Method("dyadic filter", "filter", unchecked),
        Method("dyadic priority", "priority", dyadic),
        Method("dyadic filter-priority", "filter-priority", unchecked),
        Method("haar geometric", "filter", {**haar, "theta": 1}),
        Method("haar filter", "filter", haar),
    ]


def _priority_is_worst(results: Results) -> Look:
    ratios = [
        results.ratios("dyadic priority", other, "share")
        for other in ("dyadic filter", "dyadic filter-priority")
    ]
    least = {share: min(found[share] for found in ratios) for share in ratios[0]}
    seen = f"priority over the next worst, by share of the space: {listed(least)}"
    return Look(seen, min(least.values()) > 1)


def _better_from_a_percent(results: Results) -> Look:
    """Where the dyadic filter gets better than noisy cells, and stays so."""
    ratios = results.ratios("dyadic filter", "geometric", "share")
    worse = [share for share, ratio in ratios.items() if ratio >= 1]
    better = [share for share in ratios if share > max(worse, default=0.0)]
    seen = f"dyadic filter over geometric, by share of the space: {listed(ratios)}"
    crossing = worse and better and max(worse) <= 0.01 and 0.003 <= min(better) <= 0.03
    return Look(seen, bool(crossing))


def _weakly_by_size(results: Results) -> Look:
    means = results.curve("absolute_error", "share", method="dyadic filter").means
    errors = {share: mean for share, mean in means.items() if share >= 0.01}
    if len(errors) < 2:
        raise NotMeasuredError
    seen = f"error of the dyadic filter, by share of the space: {listed(errors, ',.0f')}"
    return Look(seen, max(errors.values()) <= 2 * min(errors.values()))


_UNIFORM, _SKEWED = ({"places": places} for places in _PLACES)
DYADIC = Figure(
    name="sparse-dyadic",
    title="Sparse data, dyadic ranges: error against the size of a range, beside cells and Haar",
    tasks=lambda scope: _tasks(scope, "sparse-dyadic", _dyadic_methods),
    plots=(
        _plot("dyadic", "Cells and dyadic ranges", without=("haar geometric", "haar filter")),
        _plot(
            "haar",
            "Cells, dyadic ranges and Haar coefficients",
            without=("dyadic priority", "dyadic filter-priority"),
        ),
    ),
    claims=(
        Claim(
            "Priority sampling is the worst summary of dyadic ranges",
            _priority_is_worst,
            only=_UNIFORM,
        ),
        Claim(
            "From about 1 % of the space on, dyadic ranges are better than cells",
            _better_from_a_percent,
            only=_UNIFORM,
        ),
        Claim(
            "From there on the error depends on the size of a range only weakly",
            _weakly_by_size,
            only=_UNIFORM,
        ),
        Claim(
            "Where occupied cells are close together, a filter improves on geometric noise on"
            " dyadic ranges",
            compared("dyadic filter", "dyadic geometric", "share", within(0, 1)),
            "over large ranges the nodes at both ends that a filter drops cost more than the noise"
            " it saves",
            only=_SKEWED,
        ),
        Claim(
            "Wavelets and dyadic ranges have quite similar errors",
            compared(
                "haar geometric",
                "dyadic geometric",
                "share",
                within(0.5, 2),
                called="Haar over dyadic",
            ),
            "both have errors that grow with log^1.5 of the cells, but a range weighs a Haar"
            " coefficient by a half at the most, so that its noise counts for less",
            only=_UNIFORM,
        ),
    ),
    minutes=1.2,
)


# ── consistency ──────────────────────────────────────────────────────────────────────────────────


def _checked_methods(size: int) -> list[Method]:
    return [
        Method(name, name, {"on": "dyadic", "size": size, "consistent": check, **more}, varied)
        for name, more in (("filter", {}), ("filter-priority", {"theta": _LOW_THETA}))
        for check in ("no", "yes")
        for varied in [{"check": "checked" if check == "yes" else "unchecked"}]
    ]


def _times(results: Results, method: str, places: str) -> tuple[dict[float, float], float]:
    """By which factor the check changes the error, by the size of a range and on average."""
    held = results.only(method=method, places=places)
    times = held.ratios("checked", "unchecked", "share", of="check")
    return times, math.exp(sum(map(math.log, times.values())) / len(times))


def _gains(method: str, places: str, least: float, most: float = 1.0) -> Callable[[Results], Look]:
    """Whether the check lowers the error by a share within bounds."""

    def look(results: Results) -> Look:
        times, average = _times(results, method, places)
        seen = f"{method}: {average:.2f} times the error; by share of the space: {listed(times)}"
        return Look(seen, least <= 1 - average <= most)

    return look


def _gains_less(results: Results) -> Look:
    seen, less = [], True
    for method in ("filter", "filter-priority"):
        skewed, uniform = (1 - _times(results, method, p)[1] for p in ("skewed", "uniform"))
        seen.append(f"{method} {100 * skewed:.0f} % and {100 * uniform:.0f} %")
        less &= uniform < skewed
    return Look(f"skewed and uniform: {', '.join(seen)}", less)


_SHORT_ONLY = (
    "what the check drops is near the leaves: short ranges gain, but ranges of a percent and more"
    " are mostly made of nodes that stay"
)
_MORE_BIAS = (
    "the check lowers the spread of the errors, but what it drops is more often above zero than"
    " below, and made up for some of what the filter hides: the bias grows by as much"
)

CONSISTENCY = Figure(
    name="sparse-consistency",
    title="Sparse data, consistency check of dyadic ranges, uniform and skewed",
    tasks=lambda scope: _tasks(scope, "sparse-consistency", _checked_methods),
    plots=(_plot("absolute_error", "Dropping nodes with a missing ancestor", "check"),),
    claims=(
        Claim(
            "On skewed tables the check lowers the error of filters by 30 to 60 %",
            _gains("filter", "skewed", 0.3),
            _SHORT_ONLY,
        ),
        Claim(
            "On skewed tables the check lowers the error of filter-priority by 30 to 60 %, or more",
            _gains("filter-priority", "skewed", 0.3),
            _SHORT_ONLY,
        ),
        Claim("On uniform tables the check helps less than on skewed ones", _gains_less),
        Claim(
            "On uniform tables the check lowers the error of filters by about 10 %",
            _gains("filter", "uniform", 0.05, 0.15),
            _MORE_BIAS,
        ),
        Claim(
            "On uniform tables the check lowers the error of filter-priority by about 10 %",
            _gains("filter-priority", "uniform", 0.05, 0.15),
            "with θ low enough for sampling to matter, most of what passes the filter is noise"
            " without ancestors, and the check leaves less to sample from",
        ),
    ),
    minutes=0.6,
)
