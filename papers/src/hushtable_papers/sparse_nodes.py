"""Summaries of dyadic ranges and Haar coefficients, and the consistency check.

Every summary is as large as the table has occupied cells. Noise is that of all levels together,
leaves and root included: twenty-one over 10^6 cells.

Words as numbers: *about 1 %* of the space is 0.3 to 3 %; *only weakly* is at most twice the error;
*similar* is within a factor of two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hushtable.evaluation.experiment import Task
from hushtable.evaluation.plots import draw_lines
from hushtable_papers.figure import Figure, Setting
from hushtable_papers.sparse_claims import Claim, Look, Means, NotMeasuredError, listed, verdict_of
from hushtable_papers.sparse_errors import Asked, MadeUp, Method, error_tasks, sizes_up_to
from hushtable_papers.sparse_parameters import NAMES

_PLACES = ("uniform", "skewed")
_LOW_THETA = 300
"""Well below the θ of a filter by itself: the check has something to drop, sampling to choose."""


def _tasks(
    setting: Setting, experiment: str, methods: Callable[[int], Sequence[Method]]
) -> list[Task]:
    tasks = []
    for places in _PLACES:
        table = MadeUp(cells=setting.size(20_000, 10**6), places=places)
        asked = Asked(sizes_up_to(table.cells, 0.3), each=setting.size(10, 100))
        repetitions = setting.size(1, 8)
        chosen = methods(table.occupied)
        tasks += error_tasks(experiment, table, chosen, asked, repetitions=repetitions)
    return tasks


def _draw(results: pa.Table, path: Path, title: str, by: Sequence[str]) -> Sequence[Path]:
    names = {**NAMES, "share": "range size (share of the cells)", "places": "occupied places"}
    draw_lines(
        results,
        path,
        x="share",
        y="absolute_error",
        by=by,
        panels="places",
        names=names,
        title=title,
    )
    return [path]


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


def _draw_dyadic(results: pa.Table, folder: Path) -> Sequence[Path]:
    """Two plots: eight lines would be too many for one."""
    haar = pc.starts_with(results["method"], "haar")
    dyadic = pc.starts_with(results["method"], "dyadic")
    alone = pc.is_in(results["method"], pa.array(["dyadic geometric", "dyadic filter"]))
    parts = {
        "dyadic": (pc.invert(haar), "Cells and dyadic ranges"),
        "haar": (pc.or_(pc.invert(dyadic), alone), "Cells, dyadic ranges and Haar coefficients"),
    }
    return [
        path
        for name, (chosen, title) in parts.items()
        for path in _draw(results.filter(chosen), folder / f"{name}.png", title, ("method",))
    ]


def _against(means: Means, one: str, other: str, by: str = "share", **where: Any) -> dict[Any, Any]:
    return means.ratios("absolute_error", by, {"method": one}, {"method": other}, **where)


def _better_from_a_percent(means: Means) -> Look:
    """Where the dyadic filter gets better than noisy cells, and stays so."""
    ratios = _against(means, "dyadic filter", "geometric", places="uniform")
    worse = [share for share, ratio in ratios.items() if ratio >= 1]
    better = [share for share in ratios if share > max(worse, default=0.0)]
    seen = f"dyadic filter over geometric, by share of the space: {listed(ratios)}"
    if not worse or not better:
        return seen, False
    return seen, max(worse) <= 0.01 and 0.003 <= min(better) <= 0.03


def _priority_is_worst(means: Means) -> Look:
    others = ("dyadic filter", "dyadic filter-priority")
    ratios = [_against(means, "dyadic priority", other, places="uniform") for other in others]
    least = {share: min(found[share] for found in ratios) for share in ratios[0]}
    return f"priority over the next worst, by share of the space: {listed(least)}", (
        min(least.values()) > 1
    )


def _weakly_by_size(means: Means) -> Look:
    errors = {
        share: means.mean("absolute_error", method="dyadic filter", places="uniform", share=share)
        for share in means.values("share", places="uniform")
        if share >= 0.01
    }
    if len(errors) < 2:
        raise NotMeasuredError
    seen = f"error of the dyadic filter, by share of the space: {listed(errors, ',.0f')}"
    return seen, max(errors.values()) <= 2 * min(errors.values())


def _filter_helps_where_skewed(means: Means) -> Look:
    ratios = _against(means, "dyadic filter", "dyadic geometric", places="skewed")
    return f"dyadic filter over dyadic geometric, by share of the space: {listed(ratios)}", (
        max(ratios.values()) < 1
    )


def _haar_is_similar(means: Means) -> Look:
    ratios = _against(means, "haar geometric", "dyadic geometric", places="uniform")
    return f"Haar over dyadic, by share of the space: {listed(ratios)}", all(
        0.5 <= ratio <= 2 for ratio in ratios.values()
    )


DYADIC = Figure(
    name="sparse-dyadic",
    title="Sparse data, dyadic ranges: error against the size of a range, beside cells and Haar",
    tasks=lambda setting: _tasks(setting, "sparse-dyadic", _dyadic_methods),
    draw=_draw_dyadic,
    verdict=verdict_of(
        Claim(
            "Priority sampling is the worst summary of dyadic ranges",
            _priority_is_worst,
        ),
        Claim(
            "From about 1 % of the space on, dyadic ranges are better than cells",
            _better_from_a_percent,
        ),
        Claim(
            "From there on the error depends on the size of a range only weakly",
            _weakly_by_size,
        ),
        Claim(
            "Where occupied cells are close together, a filter improves on geometric noise on"
            " dyadic ranges",
            _filter_helps_where_skewed,
            "over large ranges the nodes at both ends that a filter drops cost more than the noise"
            " it saves",
        ),
        Claim(
            "Wavelets and dyadic ranges have quite similar errors",
            _haar_is_similar,
            "both have errors that grow with log^1.5 of the cells, but a range weighs a Haar"
            " coefficient by a half at the most, so that its noise counts for less",
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


def _gain(means: Means, method: str, places: str) -> tuple[str, float]:
    """By which share the check lowers the error, on average over all sizes of a range."""
    gains = {}
    for share in means.values("share", places=places, method=method):
        checked, unchecked = (
            means.mean("absolute_error", method=method, places=places, share=share, check=check)
            for check in ("checked", "unchecked")
        )
        gains[share] = checked / unchecked
    average = math.exp(sum(map(math.log, gains.values())) / len(gains))
    seen = f"{method}: {average:.2f} times the error; by share of the space: {listed(gains)}"
    return seen, 1 - average


def _gains_between(
    method: str, places: str, low: float, high: float = 1.0
) -> Callable[[Means], Look]:
    def look(means: Means) -> Look:
        seen, gain = _gain(means, method, places)
        return seen, low <= gain <= high

    return look


def _gains_less(means: Means) -> Look:
    seen, less = [], True
    for method in ("filter", "filter-priority"):
        gains = [_gain(means, method, places)[1] for places in ("skewed", "uniform")]
        seen.append(f"{method} {100 * gains[0]:.0f} % and {100 * gains[1]:.0f} %")
        less &= gains[1] < gains[0]
    return f"skewed and uniform: {', '.join(seen)}", less


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
    tasks=lambda setting: _tasks(setting, "sparse-consistency", _checked_methods),
    draw=lambda results, folder: _draw(
        results,
        folder / "absolute_error.png",
        "Dropping nodes with a missing ancestor",
        ("method", "check"),
    ),
    verdict=verdict_of(
        Claim(
            "On skewed tables the check lowers the error of filters by 30 to 60 %",
            _gains_between("filter", "skewed", 0.3),
            _SHORT_ONLY,
        ),
        Claim(
            "On skewed tables the check lowers the error of filter-priority by 30 to 60 %, or more",
            _gains_between("filter-priority", "skewed", 0.3),
            _SHORT_ONLY,
        ),
        Claim(
            "On uniform tables the check helps less than on skewed ones",
            _gains_less,
        ),
        Claim(
            "On uniform tables the check lowers the error of filters by about 10 %",
            _gains_between("filter", "uniform", 0.05, 0.15),
            _MORE_BIAS,
        ),
        Claim(
            "On uniform tables the check lowers the error of filter-priority by about 10 %",
            _gains_between("filter-priority", "uniform", 0.05, 0.15),
            "with θ low enough for sampling to matter, most of what passes the filter is noise"
            " without ancestors, and the check leaves less to sample from",
        ),
    ),
    minutes=0.6,
)
