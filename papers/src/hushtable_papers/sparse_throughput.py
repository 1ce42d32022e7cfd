"""How fast sparse summaries are made: time for each occupied cell, by density and by domain.

Measured from the counts in memory to what is kept of them, the best of three; over dyadic ranges
with the computation of their counts. These figures depend on the machine, and only their ratios
mean anything.

Words as numbers: *orders of magnitude* is 100 times or more, *about the same* within a factor of
two, *flat* at most twice from the smallest to the largest domain.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow as pa

from hushtable.evaluation.entropy import SeededEntropy
from hushtable.evaluation.experiment import Key, Row, Task
from hushtable.evaluation.plots import draw_lines
from hushtable.families.sparse.expected import filter_for_size, threshold_for_size
from hushtable.kernel.maps.rules import Filter, Held, Priority, Rule, Threshold
from hushtable.kernel.maps.structure import On, Structure
from hushtable_papers.figure import Figure, Setting
from hushtable_papers.sparse_claims import Claim, Look, Means, listed, verdict_of
from hushtable_papers.sparse_errors import EPSILON, MEAN

METHODS = ("geometric", "filter", "threshold", "priority", "filter-priority")
_DENSITIES = (0.1, 0.03, 0.01, 0.003, 0.001, 0.0003, 0.0001)
_BEST_OF = 3


def _rule(method: str, structure: Structure, scale: Fraction, occupied: int) -> Rule:
    """The rule that keeps about as many places as are occupied cells."""
    places = structure.places
    theta = filter_for_size(places, scale, occupied)
    total = float(MEAN * occupied * structure.entering)
    rules: dict[str, Rule] = {
        "geometric": Filter(1),
        "filter": Filter(theta),
        "threshold": Threshold(threshold_for_size(places, scale, 1, occupied, total)),
        "priority": Priority(occupied),
        "filter-priority": Priority(occupied, theta),
    }
    return rules[method]


def _task(experiment: str, method: str, on: str, cells: int, occupied: int, seed: int = 1) -> Task:
    key: Key = {
        "experiment": experiment,
        "method": method,
        "on": on,
        "cells": cells,
        "occupied": occupied,
        "density": occupied / cells,
        "seed": seed,
    }

    def run() -> list[Row]:
        structure = Structure(cast(On, on), (cells,))
        scale = structure.entering / EPSILON
        rule = _rule(method, structure, scale, occupied)
        random = np.random.default_rng([seed, cells, occupied])
        codes = np.unique(random.integers(0, cells, occupied))
        counts = np.full(len(codes), MEAN)
        _seconds(structure, codes[:10], counts[:10], Filter(rule.theta + 1000), scale)
        seconds = min(_seconds(structure, codes, counts, rule, scale) for _ in range(_BEST_OF))
        return [{"seconds": seconds, "microseconds": seconds / len(codes) * 1e6}]

    return Task(key, run)


def _seconds(
    structure: Structure, codes: np.ndarray, counts: np.ndarray, rule: Rule, scale: Fraction
) -> float:
    from hushtable.kernel.noise.sparse_draws import (
        summarise,  # compiles kernels: only when they are needed
    )

    start = time.perf_counter()
    places, values = structure.forward(codes, counts)
    summarise(Held(places, values, structure.places), rule, scale, SeededEntropy(1))
    return time.perf_counter() - start


def _tasks(setting: Setting) -> Sequence[Task]:
    densities = (0.1, 0.001) if setting.quick else _DENSITIES
    domains = (10**6, 10**12) if setting.quick else (10**7, 10**9, 10**12, 10**15)
    held = setting.size(1000, 10**5)
    tasks = []
    for method in METHODS:
        for on, cells in (
            ("cells", setting.size(20_000, 10**7)),
            ("dyadic", setting.size(20_000, 10**6)),
        ):
            tasks += [
                _task("by density", method, on, cells, round(density * cells))
                for density in densities
            ]
        if method != "geometric":
            tasks += [_task("by domain", method, "cells", cells, held) for cells in domains]
    return tasks


def _draw(results: pa.Table, folder: Path) -> Sequence[Path]:
    by_density, by_domain = folder / "time_by_density.png", folder / "time_by_domain.png"
    names = {"microseconds": "µs for each occupied cell", "cells": "cells m", "on": "places"}
    draw_lines(
        results,
        by_density,
        x="density",
        y="microseconds",
        by=("method",),
        panels="on",
        where={"experiment": "by density"},
        names=names,
        title="Time by density",
    )
    draw_lines(
        results,
        by_domain,
        x="cells",
        y="microseconds",
        by=("method",),
        names=names,
        where={"experiment": "by domain"},
        title="Time by the number of cells",
    )
    return [by_density, by_domain]


# ── claims ───────────────────────────────────────────────────────────────────────────────────────


def _times(means: Means, method: str, on: str) -> dict[float, float]:
    """How many times faster a summary is made than geometric, by density."""
    return means.ratios(
        "microseconds",
        "density",
        {"method": "geometric"},
        {"method": method},
        experiment="by density",
        on=on,
    )


def _slowest(means: Means, on: str) -> dict[float, float]:
    """By density, how many times faster than geometric the slowest summary is."""
    found = [_times(means, method, on) for method in METHODS[1:]]
    return {density: min(times[density] for times in found) for density in found[0]}


def _priority_costs_more(means: Means) -> Look:
    times = {
        method: means.mean("microseconds", method=method, experiment="by density", on="cells")
        for method in ("filter", "threshold", "priority")
    }
    seen = f"µs for each occupied cell, mean over densities: {listed(times)}"
    return seen, times["priority"] > max(times["filter"], times["threshold"])


def _priority_like_geometric(means: Means) -> Look:
    times = _times(means, "priority", "cells")
    density = max(times)
    seen = f"priority is {times[density]:.1f} times faster at a density of {density:g}"
    return seen, 0.5 <= times[density] <= 2


def _orders_faster(means: Means) -> Look:
    times = _slowest(means, "cells")
    sparsest = times[min(times)]
    return f"geometric over the slowest summary, by density: {listed(times, '.1f')}", (
        min(times.values()) > 1 and sparsest >= 100
    )


def _flat(means: Means) -> Look:
    spread = {}
    for method in METHODS[1:]:
        where = {"method": method, "experiment": "by domain"}
        found = [
            means.mean("microseconds", cells=m, **where) for m in means.values("cells", **where)
        ]
        spread[method] = found[-1] / found[0]
    domains = means.values("cells", experiment="by domain")
    seen = f"time at {domains[-1]:.0e} cells over {domains[0]:.0e}: {listed(spread)}"
    return seen, len(domains) > 1 and max(spread.values()) <= 2


def _dyadic_faster(means: Means) -> Look:
    times = _slowest(means, "dyadic")
    return f"geometric over the slowest summary, by density: {listed(times, '.1f')}", (
        min(times.values()) > 1
    )


def _dyadic_less_pronounced(means: Means) -> Look:
    times = _slowest(means, "dyadic")
    density = min(times)
    return f"at a density of {density:g}: {times[density]:.1f} times", 2 <= times[density] <= 4


THROUGHPUT = Figure(
    name="sparse-throughput",
    title="Sparse data: time for each occupied cell, by density and by the number of cells",
    tasks=_tasks,
    draw=_draw,
    verdict=verdict_of(
        Claim(
            "Priority sampling costs more than filters and threshold sampling", _priority_costs_more
        ),
        Claim(
            "At a density of 0.1 priority sampling takes about as long as geometric",
            _priority_like_geometric,
            "the candidates are drawn by a shortcut, and only those are compared",
        ),
        Claim(
            "On sparser tables all summaries are faster than geometric, by orders of magnitude",
            _orders_faster,
        ),
        Claim("Time follows the occupied cells and what is kept, not the domain", _flat),
        Claim("Over dyadic ranges, too, all summaries are faster than geometric", _dyadic_faster),
        Claim(
            "Over dyadic ranges the gain at small densities is 2 to 4 times, as all compute them",
            _dyadic_less_pronounced,
            "here noise on every node costs far more than computing those that are not empty",
        ),
    ),
    minutes=0.5,
)
