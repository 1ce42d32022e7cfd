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
from functools import partial
from typing import cast

import numpy as np

from hushtable.evaluation.experiment import Key, ResultRow, Task
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.families.sparse.expected import filter_for_size, threshold_for_size
from hushtable.kernel.maps.rules import Filter, Held, Priority, Rule, Threshold
from hushtable.kernel.maps.structure import On, Structure
from hushtable_papers.claims import Claim, Look, Results, listed
from hushtable_papers.figure import Figure, Plot, Scope
from hushtable_papers.sparse_errors import EPSILON, MEAN, SEED

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


def _task(experiment: str, method: str, on: str, cells: int, occupied: int) -> Task:
    key: Key = {
        "experiment": experiment,
        "method": method,
        "on": on,
        "cells": cells,
        "occupied": occupied,
        "density": occupied / cells,
        "seed": SEED,
    }

    def run() -> list[ResultRow]:
        structure = Structure(cast(On, on), (cells,))
        scale = structure.entering / EPSILON
        rule = _rule(method, structure, scale, occupied)
        random = np.random.default_rng([SEED, cells, occupied])
        codes = np.unique(random.integers(0, cells, occupied))
        counts = np.full(len(codes), MEAN)
        _seconds(structure, codes[:10], counts[:10], Filter(rule.theta + 1000), scale)
        seconds = min(_seconds(structure, codes, counts, rule, scale) for _ in range(_BEST_OF))
        return [{"seconds": seconds, "microseconds": seconds / len(codes) * 1e6}]

    return Task(key, run)


def _seconds(
    structure: Structure, codes: np.ndarray, counts: np.ndarray, rule: Rule, scale: Fraction
) -> float:
    # Compiles kernels: only when they are needed.
    from hushtable.kernel.noise.sparse_draws import summarise

    start = time.perf_counter()
    places, values = structure.forward(codes, counts)
    summarise(Held(places, values, structure.places), rule, scale, SeededEntropy(1))
    return time.perf_counter() - start


def _tasks(scope: Scope) -> Sequence[Task]:
    densities = (0.1, 0.001) if scope.quick else _DENSITIES
    domains = (10**6, 10**12) if scope.quick else (10**7, 10**9, 10**12, 10**15)
    held = scope.size(1000, 10**5)
    tasks = []
    for method in METHODS:
        for on, cells in (
            ("cells", scope.size(20_000, 10**7)),
            ("dyadic", scope.size(20_000, 10**6)),
        ):
            tasks += [
                _task("by density", method, on, cells, round(density * cells))
                for density in densities
            ]
        if method != "geometric":
            tasks += [_task("by domain", method, "cells", cells, held) for cells in domains]
    return tasks


def _plot(name: str, title: str, x: str, panels: str | None = None) -> Plot:
    names = {"microseconds": "µs for each occupied cell", "cells": "cells m", "on": "places"}
    where = {"experiment": f"by {name}"}
    return Plot(
        f"time_by_{name}", title, x, "microseconds", panels=panels, where=where, names=names
    )


# ── claims ───────────────────────────────────────────────────────────────────────────────────────


def _times(results: Results, method: str) -> dict[float, float]:
    """How many times faster a summary is made than geometric, by density."""
    return results.ratios("geometric", method, "density", measure="microseconds")


def _slowest(results: Results) -> dict[float, float]:
    """By density, how many times faster than geometric the slowest summary is."""
    found = [_times(results, method) for method in METHODS[1:]]
    return {density: min(times[density] for times in found) for density in found[0]}


def _priority_costs_more(results: Results) -> Look:
    times = {m: results.mean("microseconds", method=m) for m in ("filter", "threshold", "priority")}
    seen = f"µs for each occupied cell, mean over densities: {listed(times)}"
    return Look(seen, times["priority"] > max(times["filter"], times["threshold"]))


def _priority_like_geometric(results: Results) -> Look:
    density, times = max(_times(results, "priority").items())
    seen = f"priority is {times:.1f} times faster at a density of {density:g}"
    return Look(seen, 0.5 <= times <= 2)


def _faster(least: float, results: Results) -> Look:
    """Whether every summary is faster at every density, and so many times at the lowest."""
    times = _slowest(results)
    seen = f"geometric over the slowest summary, by density: {listed(times, '.1f')}"
    return Look(seen, min(times.values()) > 1 and times[min(times)] >= least)


def _flat(results: Results) -> Look:
    curves = {m: results.curve("microseconds", "cells", method=m) for m in METHODS[1:]}
    domains = results.values("cells")
    least, most = domains[0], domains[-1]
    spread = {m: curve.means[most] / curve.means[least] for m, curve in curves.items()}
    seen = f"time at {most:.0e} cells over {least:.0e}: {listed(spread)}"
    return Look(seen, least < most and max(spread.values()) <= 2)


def _dyadic_less_pronounced(results: Results) -> Look:
    density, times = min(_slowest(results).items())
    return Look(f"at a density of {density:g}: {times:.1f} times", 2 <= times <= 4)


_CELLS, _DYADIC = ({"experiment": "by density", "on": on} for on in ("cells", "dyadic"))
THROUGHPUT = Figure(
    name="sparse-throughput",
    title="Sparse data: time for each occupied cell, by density and by the number of cells",
    tasks=_tasks,
    plots=(
        _plot("density", "Time by density", "density", panels="on"),
        _plot("domain", "Time by the number of cells", "cells"),
    ),
    claims=(
        Claim(
            "Priority sampling costs more than filters and threshold sampling",
            _priority_costs_more,
            only=_CELLS,
        ),
        Claim(
            "At a density of 0.1 priority sampling takes about as long as geometric",
            _priority_like_geometric,
            "the candidates are drawn by a shortcut, and only those are compared",
            only=_CELLS,
        ),
        Claim(
            "On sparser tables all summaries are faster than geometric, by orders of magnitude",
            partial(_faster, 100),
            only=_CELLS,
        ),
        Claim(
            "Time follows the occupied cells and what is kept, not the domain",
            _flat,
            only={"experiment": "by domain"},
        ),
        Claim(
            "Over dyadic ranges, too, all summaries are faster than geometric",
            partial(_faster, 1),
            only=_DYADIC,
        ),
        Claim(
            "Over dyadic ranges the gain at small densities is 2 to 4 times, as all compute them",
            _dyadic_less_pronounced,
            "here noise on every node costs far more than computing those that are not empty",
            only=_DYADIC,
        ),
    ),
    minutes=0.5,
)
