"""A table of journeys by origin and destination, as the paper's of homes and places of work.

Without a real one, a made-up one of the same kind: places of very different sizes in a plane, flows
as Poisson counts that grow with both sizes and fall with the cube of the distance. As in the
paper's table few pairs of places have journeys, two thirds of these one or two, and a few very
many: 130 on average, where the paper has 150 in a table of 16 million cells. Pairs are put in a row
by destination, then by origin. The summary is a sixth of the cells.

Words as numbers: *inaccurate* is at least twice the error; *not much worse* is at most a quarter
more; *less than 0.8 %* as it stands.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hushtable.errors import OptionError
from hushtable.evaluation.experiment import Task
from hushtable.kernel.counting import Counts
from hushtable.schema import IntegerRange, Schema, ordinal
from hushtable_papers.claims import Claim, Look, Results, listed, within
from hushtable_papers.figure import Figure, Plot, Scope
from hushtable_papers.sparse_errors import Loaded, Method, QuerySizes, error_tasks

_SHARES = (0.001, 0.003, 0.01, 0.05, 0.1, 0.2, 0.5)
_COLUMNS = ("origin", "destination", "flow")


@dataclass(frozen=True)
class Journeys:
    """Flows between so many made-up places, or those of a folder's CSV file."""

    places: int = 400
    folder: Path | None = None

    @property
    def key(self) -> dict[str, str | int | float]:
        if self.folder is None:
            return {"data": "made up", "cells": self.places**2}
        content = _file(self.folder).read_bytes()
        cells = self.load()[0].cells
        return {"data": hashlib.sha256(content).hexdigest()[:16], "cells": cells}

    def load(self) -> Loaded:
        return _loaded(self)


@lru_cache(maxsize=2)
def _loaded(journeys: Journeys) -> Loaded:
    flows = _made_up(journeys.places) if journeys.folder is None else _read(journeys.folder)
    line = flows.reshape(-1)
    codes = np.flatnonzero(line)
    pairs = ordinal("pair", IntegerRange(0, len(line) - 1))
    schema = Schema(name="journeys", budget=Fraction(10), attributes=(pairs,))
    return schema, Counts(schema.shape, codes, line[codes])


def _made_up(places: int) -> NDArray[np.int64]:
    """Flows by destination and origin."""
    random = np.random.default_rng(1)
    sizes = random.lognormal(0.0, 1.5, places)
    where = random.random((places, 2))
    squares = np.square(where[:, None] - where[None, :]).sum(axis=2)
    expected = np.outer(sizes, sizes) / (squares + 0.0005) ** 1.5 / 2000
    return np.asarray(random.poisson(expected), np.int64)


def _file(folder: Path) -> Path:
    found = sorted(folder.glob("*.csv"))
    if len(found) != 1:
        raise OptionError(f"{folder} must hold one CSV file of journeys")
    return found[0]


def _read(folder: Path) -> NDArray[np.int64]:
    """Flows by destination and origin, places in the order of their names."""
    from pyarrow import csv

    table = csv.read_csv(_file(folder))
    if not set(_COLUMNS) <= set(table.column_names):
        raise OptionError(f"a file of journeys needs the columns {', '.join(_COLUMNS)}")
    names = pa.concat_arrays([*table["origin"].chunks, *table["destination"].chunks])
    names = pc.unique(names).sort()
    flows = np.zeros((len(names), len(names)), np.int64)
    origin, destination = (
        np.asarray(pc.index_in(table[name], names)) for name in ("origin", "destination")
    )
    np.add.at(flows, (destination, origin), np.asarray(table["flow"], np.int64))
    return flows


# ── tasks and plots ──────────────────────────────────────────────────────────────────────────────


def _tasks(scope: Scope) -> Sequence[Task]:
    folder = scope.data.get("commuting")
    table = Journeys(scope.size(60, 400), folder)
    cells = table.load()[0].cells
    sizes = tuple(size for share in _SHARES if (size := round(share * cells)) > 1)
    each, repetitions = scope.size(10, 100), scope.size(1, 10)
    tasks = []
    for kind, methods in (("subsets", _on_cells), ("ranges", _on_nodes)):
        tasks += error_tasks(
            f"sparse-origins, {kind}",
            table,
            methods(cells // 6),
            QuerySizes(sizes, each, kind),
            repetitions=repetitions,
        )
    return tasks


def _on_cells(size: int) -> list[Method]:
    return [
        Method("geometric", "geometric"),
        Method("filter", "filter", {"size": size // 10}),
        Method("priority", "priority", {"size": size}),
        Method("filter-priority", "filter-priority", {"theta": 5, "size": size}),
    ]


def _on_nodes(size: int) -> list[Method]:
    dyadic: dict[str, str | int] = {"on": "dyadic", "size": size // 2}
    return [
        Method("geometric", "geometric"),
        Method("dyadic geometric", "filter", {**dyadic, "theta": 1, "consistent": "no"}),
        Method("dyadic filter", "filter", {**dyadic, "consistent": "no"}),
        Method("dyadic filter, checked", "filter", {**dyadic, "consistent": "yes"}),
    ]


def _plot(kind: str) -> Plot:
    return Plot(
        kind,
        f"Journeys by origin and destination: {kind}",
        "share",
        names={"share": "share of the cells"},
        where=_asked_of(kind),
    )


def _asked_of(kind: str) -> dict[str, str]:
    return {"experiment": f"sparse-origins, {kind}"}


# ── claims ───────────────────────────────────────────────────────────────────────────────────────


def _compared(
    one: str, other: str, holds: Callable[[list[float]], bool], least: float = 0.0
) -> Callable[[Results], Look]:
    """How many times the error of another method one has, by share of the cells in %."""

    def look(results: Results) -> Look:
        found = results.ratios(one, other, "share")
        ratios = {_percent(share): ratio for share, ratio in found.items() if share >= least}
        seen = f"{one} over {other}, by share of the cells: {listed(ratios)}"
        return Look(seen, holds(list(ratios.values())))

    return look


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"


def _average(ratios: list[float]) -> float:
    return sum(ratios) / len(ratios)


def _relative(results: Results) -> Look:
    errors = {
        f"{method} at {_percent(share)}": 100 * mean
        for method in ("geometric", "priority", "filter-priority")
        for share, mean in results.curve("relative_error", "share", method=method).means.items()
        if share >= 0.045
    }
    return Look(f"median relative error in %: {listed(errors)}", max(errors.values()) < 0.8)


ORIGINS = Figure(
    name="sparse-origins",
    title="Sparse data: journeys by origin and destination, subsets and ranges",
    tasks=_tasks,
    plots=(_plot("subsets"), _plot("ranges")),
    claims=(
        Claim(
            "Filters are inaccurate here: they wipe out many small values",
            _compared("filter", "geometric", lambda found: found[-1] >= 2),
            only=_asked_of("subsets"),
        ),
        Claim(
            "Priority and filter-priority are not much worse than geometric for most subsets",
            _compared(
                "filter-priority",
                "geometric",
                lambda found: sorted(found)[len(found) // 2] <= 1.25,
            ),
            "where a sixth of the cells is kept, sampling adds more variance than the noise has",
            only=_asked_of("subsets"),
        ),
        Claim(
            "Priority is better than geometric for subsets of 20 % of the cells and more",
            _compared("priority", "geometric", within(0, 1), least=0.19),
            "an unbiased sample of noisy counts has the variance of the noise and of the sampling:"
            " it cannot have less error than all of the noisy counts",
            only=_asked_of("subsets"),
        ),
        Claim(
            "Relative errors of subsets of 5 % of the cells and more are below 0.8 %",
            _relative,
            "the noise of a share of the cells grows with its root, the count in proportion: the"
            " paper's table is a hundred times as large",
            only=_asked_of("subsets"),
        ),
        Claim(
            "Dyadic ranges are better than cells from about 1 % of the cells on",
            _compared("dyadic filter", "geometric", within(0, 1), least=0.0095),
            "1 % of fewer cells than the paper's 16 million has less noise, and the levels of a"
            " tree over them hardly less",
            only=_asked_of("ranges"),
        ),
        Claim(
            "On dyadic ranges a filter improves on geometric noise",
            _compared("dyadic filter", "dyadic geometric", lambda found: _average(found) < 1),
            "what it drops at the ends of a range costs more than the noise it saves",
            only=_asked_of("ranges"),
        ),
        Claim(
            "The consistency check lowers the error by about 10 %",
            _compared(
                "dyadic filter, checked",
                "dyadic filter",
                lambda found: 0.8 <= _average(found) <= 0.95,
            ),
            "it drops noise near the leaves only, of which ranges of many cells have little",
            only=_asked_of("ranges"),
        ),
    ),
    minutes=0.5,
)
