"""The parameters of filters and samples: errors against θ, and against the size of a sample.

Words as numbers: *generally* is at more than half of the values; *similar* within a quarter;
*around 1 %* at most 2 %; *about half of the mean* from 30 to 70 % of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from hushtable.evaluation.experiment import Task
from hushtable_papers.claims import Claim, Look, Results, compared, listed, within
from hushtable_papers.figure import Figure, Plot, Scope
from hushtable_papers.sparse_errors import MEAN, MadeUp, Method, QuerySizes, error_tasks

_similar = within(1 / 1.25, 1.25)
_SIDES = {"one-sided filter": "one", "two-sided filter": "two"}
_THETAS = (5, 10, 20, 30, 40, 50, 60, 70)


def _table(scope: Scope) -> MadeUp:
    return MadeUp(cells=scope.size(20_000, 10**6))


def _tasks(experiment: str, scope: Scope, methods: Sequence[Method]) -> list[Task]:
    """Errors of ranges of one in a hundred cells."""
    table = _table(scope)
    asked = QuerySizes((table.cells // 100,), each=scope.size(20, 200))
    return error_tasks(experiment, table, methods, asked, repetitions=scope.size(1, 10))


# ── filters ──────────────────────────────────────────────────────────────────────────────────────


def _filter_tasks(scope: Scope) -> Sequence[Task]:
    thetas = (20, 50, 80) if scope.quick else (*_THETAS, 80, 100)
    methods = [
        Method(name, "filter", {"theta": theta, "sides": sides}, {"theta": theta})
        for name, sides in _SIDES.items()
        for theta in thetas
    ]
    return _tasks("sparse-filter", scope, methods)


def _plot(name: str, title: str, x: str, y: str = "absolute_error", log: str = "y") -> Plot:
    names = {"theta": "filter θ", "kept": "cells kept", "size": "size of the sample"}
    return Plot(name, title, x, y, log=log, names=names)


def _relative(
    method: str, along: str, least: float, most: float, *, upto: float = math.inf, called: str = ""
) -> Callable[[Results], Look]:
    """Whether the median relative error of a method, in %, is within bounds along a column."""

    def look(results: Results) -> Look:
        means = results.curve("relative_error", along, method=method).means
        errors = {value: 100 * mean for value, mean in means.items() if value <= upto}
        seen = f"median relative error in %, {called or f'{method}, by {along}'}: {listed(errors)}"
        return Look(seen, within(least, most)(list(errors.values())))

    return look


def _alike_when_small(results: Results) -> Look:
    theta = results.values("theta")[-1]
    one, two = (results.mean("absolute_error", method=name, theta=theta) for name in _SIDES)
    seen = f"θ = {theta}: one-sided {one:,.0f}, two-sided {two:,.0f}"
    return Look(seen, _similar([one / two]))


def _least_in_between(results: Results) -> Look:
    errors = results.curve("absolute_error", "theta", method="two-sided filter")
    kept = results.mean("kept", method="two-sided filter", theta=errors.best)
    occupied = results.mean("cells") * results.mean("density")
    seen = (
        f"least at θ = {errors.best}, with {kept:,.0f} cells kept of {occupied:,.0f} occupied;"
        f" errors by θ: {listed(errors.means, ',.0f')}"
    )
    return Look(seen, errors.best not in (errors.values[0], errors.values[-1]) and kept > occupied)


FILTER = Figure(
    name="sparse-filter",
    title="Sparse data, filtering: error against θ, one- and two-sided",
    tasks=_filter_tasks,
    plots=(
        _plot("error_by_theta", "Filters: error of ranges of 1 % of the cells", "theta"),
        _plot("size_by_theta", "Filters: size of the summary", "theta", "kept"),
    ),
    claims=(
        Claim(
            "Two-sided filters are generally more accurate than one-sided ones",
            compared(
                "two-sided filter",
                "one-sided filter",
                "theta",
                lambda found: sum(ratio < 1 for ratio in found) > len(found) / 2,
                called="two-sided over one-sided",
            ),
            "what a one-sided filter adds by its empty cells makes up for occupied cells it drops",
        ),
        Claim(
            "The relative error of two-sided filters is around 1 % while most occupied cells pass",
            _relative(
                "two-sided filter",
                "theta",
                0,
                2,
                upto=MEAN / 2,
                called="two-sided, by θ up to half of the mean",
            ),
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


def _sampling_tasks(scope: Scope) -> Sequence[Task]:
    table = _table(scope)
    n = table.occupied
    total = int(table.load()[1].counts.sum())
    sizes = (n // 2, n) if scope.quick else tuple(n * k // 5 for k in (1, 2, 3, 4, 5, 7, 10))
    methods = [
        Method(name, name, {"size": size, **more}, {"size": size})
        for name, more in (("threshold", {"total": total}), ("priority", {}))
        for size in sizes
    ]
    methods += [
        Method("filter-priority", "filter-priority", {"size": n, "theta": theta}, {"theta": theta})
        for theta in ((20, 50) if scope.quick else _THETAS)
    ]
    return _tasks("sparse-sampling", scope, methods)


def _best_is_half_the_mean(results: Results) -> Look:
    errors = results.curve("absolute_error", "theta", method="filter-priority")
    seen = f"least at θ = {errors.best}; errors by θ: {listed(errors.means, ',.0f')}"
    return Look(seen, 0.3 * MEAN <= errors.best <= 0.7 * MEAN)


SAMPLING = Figure(
    name="sparse-sampling",
    title="Sparse data, sampling: error against the size of a sample, and against θ",
    tasks=_sampling_tasks,
    plots=(
        _plot("error_by_size", "Samples: error of ranges of 1 % of the cells", "size", log=""),
        _plot("error_by_theta", "Filter-priority: error, by its filter", "theta"),
    ),
    claims=(
        Claim(
            "Threshold and priority sampling behave very similarly",
            compared("threshold", "priority", "size", _similar),
        ),
        Claim(
            "The relative errors of samples are 1 % to 7 %",
            _relative("priority", "size", 1, 7),
            "the text prints neither its ranges nor its samples; ours have 1 % of the cells, and a"
            " fifth to twice as many as are occupied: the smallest are worse",
        ),
        Claim(
            "The relative errors of filter-priority, θ from 5 to 70, are 0.3 % to 6 %",
            _relative("filter-priority", "theta", 0.3, 6),
        ),
        Claim(
            "Filter-priority is best at a θ of about half of the mean of the occupied cells",
            _best_is_half_the_mean,
        ),
    ),
    minutes=0.5,
)
