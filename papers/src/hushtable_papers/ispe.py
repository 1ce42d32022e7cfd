"""The figures of the ISPE paper (Xiao, Xiong, Yuan 2011, §5): parameters, sizes and trees.

Tables: `continuous` and `random` are generated; Adult, by age and schooling, where it is given.
The paper speaks of one error in each figure; here cells and ranges are judged apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hushtable.evaluation.experiment import Task
from hushtable.evaluation.plots import draw_lines
from hushtable.generators import continuous, unrelated
from hushtable_papers.figure import Figure, Setting, Statement
from hushtable_papers.ispe_tasks import (
    ANY,
    BUDGETS,
    SWEEPS,
    Grid,
    comparison_tasks,
    sweep_tasks,
    tree_tasks,
)
from hushtable_papers.trends import (
    FEWEST,
    TOO_FEW,
    Curve,
    Trend,
    alike,
    below,
    difference,
    runs,
    trend_statement,
    values_of,
)

KINDS = ("cells", "ranges")
EQUAL = 0.05
"""Two methods that the paper calls equal are within so much of each other."""
_CALLED = {"alpha1": "α₁ of α = 0.2", "iterations": "n_it", "xi": "ξ", "posterior": "error"}
_METHODS = {
    "posterior": "MMSE(NR)",
    "without_neighbours": "MMSE, no neighbours",
    "consistency": "consistency",
}
_TREE_METHODS = {
    "posterior": "MMSE",
    "consistency": "consistency",
    "weighted_consistency": "consistency, weighted",
}


def grids(setting: Setting) -> list[Grid]:
    """The tables of every figure but the trees."""
    rows, side = setting.size(2_000, 100_000), setting.size(12, 64)
    found = [Grid.made_up(generator(rows, side=side)) for generator in (continuous, unrelated)]
    if "adult" in setting.data:
        found.append(Grid.adult(setting.data["adult"]))
    return found


# ── Figures 7–15: parameters ─────────────────────────────────────────────────────────────────────


def _sweep(parameter: str) -> Callable[[Setting], list[Task]]:
    def tasks(setting: Setting) -> list[Task]:
        values, repetitions = SWEEPS[parameter], setting.size(1, 20)
        if setting.quick:
            values = values[:: len(values) - 1]
        return [
            task
            for grid in grids(setting)
            for task in sweep_tasks(grid, parameter, values=values, repetitions=repetitions)
        ]

    return tasks


def _draw_sweep(parameter: str, log: str) -> Callable[[pa.Table, Path], list[Path]]:
    def draw(results: pa.Table, folder: Path) -> list[Path]:
        path = folder / f"ispe-{parameter}.png"
        draw_lines(
            results, path, x=parameter, y="posterior", by=("questions",), panels="data", log=log,
            title=f"ISPE: mean absolute error by {_CALLED[parameter]}", names=_CALLED,
        )  # fmt: skip
        return [path]

    return draw


def _curves(results: pa.Table, parameter: str, data: str) -> Iterator[tuple[str, Curve]]:
    """The error of each kind of question as a parameter grows."""
    for kind in KINDS:
        curve = Curve.of(results, "posterior", parameter, data=data, questions=kind)
        if curve.runs:
            yield kind, curve


def alpha1_verdict(results: pa.Table) -> list[Statement]:
    """Figures 7–9."""
    found = []
    for kind, curve in _curves(results, "alpha1", "continuous"):
        why = f"the best α₁ is {curve.best:g}, at the end of those tried" + (
            ": a noisy cell serves every question, a region's count few"
            if curve.best == max(curve.values)
            else ""
        )
        paper = f"Figure 8, continuous data: an α₁ inside is best ({kind})"
        found.append(trend_statement(paper, curve, ("falls, then rises",), why=why))
    for kind, curve in _curves(results, "alpha1", "random"):
        paper = f"Figure 9, random data: that an α₁ inside is best is not clear ({kind})"
        wanted: tuple[Trend, ...] = ("falls", "rises", "no clear trend")
        found.append(trend_statement(paper, curve, wanted, why="one inside is clearly best"))
    return found


def iterations_verdict(results: pa.Table) -> list[Statement]:
    """Figures 10–12."""
    found = []
    for kind, curve in _curves(results, "iterations", "continuous"):
        paper = f"Figure 11, continuous data: the error falls as smoothing is repeated ({kind})"
        found.append(trend_statement(paper, curve, ("falls",), why=_other(curve)))
    for kind, curve in _curves(results, "iterations", "random"):
        paper = f"Figure 12, random data: the error rises as smoothing is repeated ({kind})"
        found.append(trend_statement(paper, curve, ("rises",), why=_other(curve)))
    for kind, curve in _curves(results, "iterations", "adult"):
        paper = f"Figure 10, Adult: the error falls, and may rise again later ({kind})"
        wanted: tuple[Trend, ...] = ("falls", "falls, then rises")
        found.append(trend_statement(paper, curve, wanted, why=_other(curve)))
    return found


def xi_verdict(results: pa.Table) -> list[Statement]:
    """Figures 13–15."""
    found = []
    for kind, curve in _curves(results, "xi", "continuous"):
        paper = f"Figure 14, continuous data: the error falls as ξ grows ({kind})"
        found.append(trend_statement(paper, curve, ("falls",), why=_other(curve)))
    for kind, curve in _curves(results, "xi", "random"):
        paper = f"Figure 15, random data: the trend is not clear ({kind})"
        wanted: tuple[Trend, ...] = ("no clear trend", "falls, then rises")
        found.append(trend_statement(paper, curve, wanted, why="there is a clear trend"))
    for kind, curve in _curves(results, "xi", "adult"):
        paper = f"Figure 13, Adult: the error falls at first and then stays ({kind})"
        found.append(_falls_and_stays(paper, curve))
    return found


def _falls_and_stays(paper: str, curve: Curve) -> Statement:
    told = trend_statement(paper, curve, ("falls", "falls, then rises"), why=_other(curve))
    if not told.holds or (curve.ends_lower and curve.stays(EQUAL)):
        return told
    return replace(told, holds=False, why="it does not stay where it has fallen to")


def _other(curve: Curve) -> str:
    """What is to be said of a curve that does not go as the paper's."""
    if not curve.enough:
        return ""
    if curve.trend() == "no clear trend":
        return f"from the first to the last, {difference(curve.runs[0], curve.runs[-1])}"
    lowest, first, last = min(curve.means), curve.means[0], curve.means[-1]
    return f"from {first:,.2f} to {last:,.2f}, lowest {lowest:,.2f} at {curve.best:g}"


# ── Figures 16–21: against consistency checking ──────────────────────────────────────────────────


def _size_tasks(setting: Setting) -> list[Task]:
    repetitions = setting.size(1, 20)
    return [
        task for grid in grids(setting) for task in comparison_tasks(grid, repetitions=repetitions)
    ]


def _draw_sizes(results: pa.Table, folder: Path) -> list[Path]:
    table = by_method(results, _METHODS)
    questions, sizes = folder / "ispe-questions.png", folder / "ispe-sizes.png"
    whole = table.filter(pc.not_equal(table["questions"], "squares"))
    names = {"size": "side of the square"}
    draw_lines(
        whole, questions, x="questions", y="error", by=("method",), panels="data", log="y",
        title="ISPE against consistency checking, by question (Figures 16–18)",
    )  # fmt: skip
    draw_lines(
        table.filter(pc.greater(table["size"], ANY)), sizes, x="size", y="error",
        by=("method",), panels="data", names=names,
        title="ISPE against consistency checking, by the size of a range (Figures 19–21)",
    )  # fmt: skip
    return [questions, sizes]


def by_method(results: pa.Table, methods: Mapping[str, str]) -> pa.Table:
    """A row for each method, instead of a column."""
    parts = [
        results.drop_columns([name for name in methods if name in results.column_names])
        .append_column("method", pa.array([called] * results.num_rows))
        .append_column("error", results[name])
        for name, called in methods.items()
    ]
    return pa.concat_tables(parts)


def sizes_verdict(results: pa.Table) -> list[Statement]:
    """Figures 16–21."""
    data = values_of(results, "data")
    found = []
    for name, figure in (("adult", 16), ("continuous", 17)):
        if name in data:
            kinds = ("cells", "partitions", "ranges")
            found += [_better(results, name, figure, kind) for kind in kinds]
    found.append(_equally_good(results))
    for name, figure in (("adult", 19), ("continuous", 20), ("random", 21)):
        if name in data:
            found.append(_growth(results, name, figure))
            found.append(_slower(results, name, figure))
    return found


def _better(results: pa.Table, data: str, figure: int, kind: str) -> Statement:
    paper = f"Figure {figure}, {data}: ISPE is better than consistency checking ({kind})"
    ours, theirs = (
        runs(results, method, data=data, questions=kind) for method in ("posterior", "consistency")
    )
    seen = f"{ours.mean():,.2f} against {theirs.mean():,.2f}"
    if len(ours) < FEWEST:
        return Statement(paper, seen, None, TOO_FEW)
    why = "it is worse"
    if not below(theirs, ours):
        why = difference(ours, theirs)
        reason = "too different" if kind == "cells" else "not referred to beyond one cell"
        why += f"; neighbours are {reason}"
    holds = below(ours, theirs)
    return Statement(paper, seen, holds, "" if holds else why)


def _equally_good(results: pa.Table) -> Statement:
    paper = "Figure 18, random data: both are equally good (ranges)"
    return _equal(paper, results, data="random", questions="ranges")


def _equal(paper: str, results: pa.Table, **where: str | int) -> Statement:
    ours, theirs = (runs(results, method, **where) for method in ("posterior", "consistency"))
    seen = f"{ours.mean():,.2f} against {theirs.mean():,.2f}"
    if len(ours) < FEWEST:
        return Statement(paper, seen, None, TOO_FEW)
    holds = alike(ours, theirs, EQUAL)
    return Statement(paper, seen, holds, "" if holds else f"they differ by more than {EQUAL:.0%}")


def _growth(results: pa.Table, data: str, figure: int) -> Statement:
    paper = f"Figure {figure}, {data}: the error grows with the size of a range"
    curve = _sized(results, "posterior", data)
    return trend_statement(paper, curve, ("rises",), why=_other(curve))


def _sized(results: pa.Table, method: str, data: str) -> Curve:
    kept = results.filter(pc.greater(results["size"], ANY))
    return Curve.of(kept, method, "size", data=data)


def _slower(results: pa.Table, data: str, figure: int) -> Statement:
    """How much more is wrong in the largest squares than in cells, by both methods."""
    expected = data != "random"
    told = "grows more slowly than that of" if expected else "does not clearly part from that of"
    paper = f"Figure {figure}, {data}: the error of ISPE {told} consistency checking"
    curves = [_sized(results, method, data) for method in ("posterior", "consistency")]
    ours, theirs = (curve.runs[-1] - curve.runs[0] for curve in curves)
    size = curves[0].values[-1]
    seen = f"by {ours.mean():,.1f} from 1 to {size:g}, against {theirs.mean():,.1f}"
    if not curves[0].enough:
        return Statement(paper, seen, None, TOO_FEW)
    if expected:
        why = "its advantage is in single cells, by their neighbours; larger squares have none"
        holds = below(ours, theirs)
        return Statement(paper, seen, holds, "" if holds else why)
    holds = alike(ours, theirs, EQUAL)
    return Statement(paper, seen, holds, "" if holds else f"by more than {EQUAL:.0%}")


# ── Figures 22 and 23: trees ─────────────────────────────────────────────────────────────────────


def _tree_tasks(setting: Setting) -> list[Task]:
    leaves = np.random.default_rng(1).poisson(40, setting.size(8, 32))
    return tree_tasks(leaves, repetitions=setting.size(1, 60))


def _draw_trees(results: pa.Table, folder: Path) -> list[Path]:
    path = folder / "ispe-trees.png"
    table = by_method(results, _TREE_METHODS)
    draw_lines(
        table.filter(pc.greater(table["size"], ANY)), path, x="size", y="error",
        by=("method",), panels="budgets", names={"size": "leaves in the range"},
        title="(2, L)-trees by the budgets of their levels (Figures 22, 23)",
    )  # fmt: skip
    return [path]


def trees_verdict(results: pa.Table) -> list[Statement]:
    """Figures 22 and 23; the paper does not say at which end the doubled budgets begin."""
    paper = "Figure 22, equal budgets: both are almost equally good (ranges of any size)"
    found = [_equal(paper, results, budgets="equal", size=ANY)]
    for budgets in BUDGETS[1:]:
        end = budgets.removesuffix(" first")
        paper = f"Figure 23, budgets doubled towards the {end}: MMSE is better than consistency"
        found.append(_tree_better(paper, results, budgets))
    return found


def _tree_better(paper: str, results: pa.Table, budgets: str) -> Statement:
    ours, theirs, weighted = (
        runs(results, method, budgets=budgets, size=ANY) for method in _TREE_METHODS
    )
    seen = (
        f"{ours.mean():,.1f} against {theirs.mean():,.1f};"
        f" least squares that know the budgets: {weighted.mean():,.1f}"
    )
    if len(ours) < FEWEST:
        return Statement(paper, seen, None, TOO_FEW)
    holds = below(ours, theirs)
    why = "not clearly below" + (
        ": the noise of the leaves is most of the error, and no estimate mends that"
        if alike(ours, weighted, EQUAL) and float(theirs.mean()) < 1.5 * float(ours.mean())
        else ""
    )
    return Statement(paper, seen, holds, "" if holds else why)


_SWEEPS: Sequence[tuple[str, str, str, Callable[[pa.Table], list[Statement]], str]] = (
    ("alpha1", "7–9", "the share of α for the cells", alpha1_verdict, "y"),
    ("iterations", "10–12", "iterations of smoothing", iterations_verdict, "y"),
    ("xi", "13–15", "the threshold of regions", xi_verdict, "xy"),
)

FIGURES = (
    *(
        Figure(
            f"ispe-{parameter}",
            f"ISPE, Figures {numbers}: error by {what}",
            _sweep(parameter),
            _draw_sweep(parameter, log),
            verdict,
            minutes=2,
        )
        for parameter, numbers, what, verdict, log in _SWEEPS
    ),
    Figure(
        "ispe-sizes",
        "ISPE, Figures 16–21: MMSE(NR) against consistency checking, by question and size",
        _size_tasks,
        _draw_sizes,
        sizes_verdict,
    ),
    Figure(
        "ispe-trees",
        "ISPE, Figures 22 and 23: MMSE against consistency checking on trees",
        _tree_tasks,
        _draw_trees,
        trees_verdict,
        minutes=1.5,
    ),
)
