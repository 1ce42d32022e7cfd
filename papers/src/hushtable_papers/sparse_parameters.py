"""The parameters of filters and samples: errors against θ, and against the size of a sample.

Words as numbers: *generally* is at more than half of the values; *similar* within a quarter;
*around 1 %* at most 2 %; *about half of the mean* from 30 to 70 % of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from hushtable.evaluation.experiment import Task
from hushtable.evaluation.plots import draw_lines
from hushtable_papers.figure import Figure, Setting
from hushtable_papers.sparse_claims import Claim, Look, Means, listed, verdict_of
from hushtable_papers.sparse_errors import MEAN, Asked, MadeUp, Method, error_tasks

NAMES = {"absolute_error": "mean absolute error", "relative_error": "median relative error"}
_SIMILAR = 1.25
_SIDES = {"one-sided filter": "one", "two-sided filter": "two"}
_THETAS = (5, 10, 20, 30, 40, 50, 60, 70)


def _table(setting: Setting) -> MadeUp:
    return MadeUp(cells=setting.size(20_000, 10**6))


def _asked(setting: Setting, table: MadeUp) -> Asked:
    """Ranges of one in a hundred cells."""
    return Asked((table.cells // 100,), each=setting.size(20, 200))


# ── filters ──────────────────────────────────────────────────────────────────────────────────────


def _filter_tasks(setting: Setting) -> Sequence[Task]:
    table = _table(setting)
    thetas = (20, 50, 80) if setting.quick else (*_THETAS, 80, 100)
    methods = [
        Method(name, "filter", {"theta": theta, "sides": sides}, {"theta": theta})
        for name, sides in _SIDES.items()
        for theta in thetas
    ]
    repetitions = setting.size(1, 10)
    return error_tasks(
        "sparse-filter", table, methods, _asked(setting, table), repetitions=repetitions
    )


_CALLED = {
    **NAMES,
    "theta": "filter θ",
    "kept": "cells kept",
    "size": "size of the sample",
}


def _draw(results: pa.Table, path: Path, x: str, y: str, title: str, *, log: str = "y") -> None:
    draw_lines(results, path, x=x, y=y, by=("method",), names=_CALLED, log=log, title=title)


def _draw_filter(results: pa.Table, folder: Path) -> Sequence[Path]:
    error, size = folder / "error_by_theta.png", folder / "size_by_theta.png"
    ranges = "Filters: error of ranges of 1 % of the cells"
    _draw(results, error, "theta", "absolute_error", ranges)
    _draw(results, size, "theta", "kept", "Filters: size of the summary")
    return [error, size]


def _two_sided_is_better(means: Means) -> Look:
    one, two = ({"method": name} for name in _SIDES)
    ratios = means.ratios("absolute_error", "theta", two, one)
    better = sum(ratio < 1 for ratio in ratios.values())
    return f"two-sided over one-sided, by θ: {listed(ratios)}", better > len(ratios) / 2


def _around_one_percent(means: Means) -> Look:
    thetas = [t for t in means.values("theta", method="two-sided filter") if t <= MEAN / 2]
    errors = {
        t: 100 * means.mean("relative_error", method="two-sided filter", theta=t) for t in thetas
    }
    seen = f"median relative error in %, two-sided, by θ up to half of the mean: {listed(errors)}"
    return seen, max(errors.values()) <= 2


def _alike_when_small(means: Means) -> Look:
    theta = means.values("theta", method="two-sided filter")[-1]
    one, two = (means.mean("absolute_error", method=name, theta=theta) for name in _SIDES)
    return f"θ = {theta}: one-sided {one:,.0f}, two-sided {two:,.0f}", (
        max(one, two) <= _SIMILAR * min(one, two)
    )


def _least_in_between(means: Means) -> Look:
    errors = {
        t: means.mean("absolute_error", method="two-sided filter", theta=t)
        for t in means.values("theta", method="two-sided filter")
    }
    best = min(errors, key=lambda theta: errors[theta])
    kept = means.mean("kept", method="two-sided filter", theta=best)
    occupied = means.mean("cells") * means.mean("density")
    seen = (
        f"least at θ = {best}, with {kept:,.0f} cells kept of {occupied:,.0f} occupied;"
        f" errors by θ: {listed(errors, ',.0f')}"
    )
    return seen, min(errors) < best < max(errors) and kept > occupied


FILTER = Figure(
    name="sparse-filter",
    title="Sparse data, filtering: error against θ, one- and two-sided",
    tasks=_filter_tasks,
    draw=_draw_filter,
    verdict=verdict_of(
        Claim(
            "Two-sided filters are generally more accurate than one-sided ones",
            _two_sided_is_better,
            "what a one-sided filter adds by its empty cells makes up for occupied cells it drops",
        ),
        Claim(
            "The relative error of two-sided filters is around 1 % while most occupied cells pass",
            _around_one_percent,
            "a low θ lets the noise of nearly all empty cells pass",
        ),
        Claim("Where the summary is small, both have a similar accuracy", _alike_when_small),
        Claim(
            "The error is least where most occupied cells and few others pass, which may be a"
            " larger summary than wished",
            _least_in_between,
        ),
    ),
    minutes=0.5,
)


# ── samples ──────────────────────────────────────────────────────────────────────────────────────


def _sampling_tasks(setting: Setting) -> Sequence[Task]:
    table = _table(setting)
    n = table.occupied
    total = int(table.load()[1].counts.sum())
    sizes = (n // 2, n) if setting.quick else tuple(n * k // 5 for k in (1, 2, 3, 4, 5, 7, 10))
    methods = [
        Method(name, name, {"size": size, **more}, {"size": size})
        for name, more in (("threshold", {"total": total}), ("priority", {}))
        for size in sizes
    ]
    methods += [
        Method("filter-priority", "filter-priority", {"size": n, "theta": theta}, {"theta": theta})
        for theta in ((20, 50) if setting.quick else _THETAS)
    ]
    repetitions = setting.size(1, 10)
    return error_tasks(
        "sparse-sampling", table, methods, _asked(setting, table), repetitions=repetitions
    )


def _draw_sampling(results: pa.Table, folder: Path) -> Sequence[Path]:
    by_size, by_theta = folder / "error_by_size.png", folder / "error_by_theta.png"
    combined = pc.equal(results["method"], "filter-priority")
    samples, filtered = results.filter(pc.invert(combined)), results.filter(combined)
    ranges = "Samples: error of ranges of 1 % of the cells"
    _draw(samples, by_size, "size", "absolute_error", ranges, log="")
    own = "Filter-priority: error, by its filter"
    _draw(filtered, by_theta, "theta", "absolute_error", own)
    return [by_size, by_theta]


def _samples_are_alike(means: Means) -> Look:
    threshold, priority = {"method": "threshold"}, {"method": "priority"}
    ratios = means.ratios("absolute_error", "size", threshold, priority)
    return f"threshold over priority, by size: {listed(ratios)}", all(
        1 / _SIMILAR <= ratio <= _SIMILAR for ratio in ratios.values()
    )


def _relative(means: Means, method: str, by: str, low: float, high: float) -> Look:
    errors = {
        value: 100 * means.mean("relative_error", method=method, **{by: value})
        for value in means.values(by, method=method)
    }
    inside = all(low <= error <= high for error in errors.values())
    return f"median relative error in %, {method}, by {by}: {listed(errors)}", inside


def _best_is_half_the_mean(means: Means) -> Look:
    errors = {
        t: means.mean("absolute_error", method="filter-priority", theta=t)
        for t in means.values("theta", method="filter-priority")
    }
    best = min(errors, key=lambda theta: errors[theta])
    seen = f"least at θ = {best}; errors by θ: {listed(errors, ',.0f')}"
    return seen, 0.3 * MEAN <= best <= 0.7 * MEAN


SAMPLING = Figure(
    name="sparse-sampling",
    title="Sparse data, sampling: error against the size of a sample, and against θ",
    tasks=_sampling_tasks,
    draw=_draw_sampling,
    verdict=verdict_of(
        Claim("Threshold and priority sampling behave very similarly", _samples_are_alike),
        Claim(
            "The relative errors of samples are 1 % to 7 %",
            lambda means: _relative(means, "priority", "size", 1, 7),
            "the text prints neither its ranges nor its samples; ours have 1 % of the cells, and a"
            " fifth to twice as many as are occupied: the smallest are worse",
        ),
        Claim(
            "The relative errors of filter-priority, θ from 5 to 70, are 0.3 % to 6 %",
            lambda means: _relative(means, "filter-priority", "theta", 0.3, 6),
        ),
        Claim(
            "Filter-priority is best at a θ of about half of the mean of the occupied cells",
            _best_is_half_the_mean,
        ),
    ),
    minutes=0.5,
)
