"""The figures of the ISPE paper (Xiao, Xiong, Yuan 2011, §5): parameters, sizes and trees.

Tables: `continuous` and `random` are generated; Adult, by age and schooling, where it is given.
The paper speaks of one error in each figure; here cells and ranges are judged apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hushtable.arrays import Floats
from hushtable.evaluation.experiment import Task
from hushtable.generators import continuous, unrelated
from hushtable_papers.claims import Claim, Curve, Look, Results, alike, below, difference, goes
from hushtable_papers.figure import Figure, Plot, Scope
from hushtable_papers.ispe_tasks import (
    ANY,
    BUDGETS,
    SIZES,
    SWEEPS,
    GridTable,
    comparison_tasks,
    sweep_tasks,
    tree_tasks,
)

EQUAL = 0.05
"""Two methods that the paper calls equal are within so much of each other."""
_APART = f"they differ by more than {EQUAL:.0%}"
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


def grids(scope: Scope) -> list[GridTable]:
    """The tables of every figure but the trees."""
    rows, side = scope.size(2_000, 100_000), scope.size(12, 64)
    found = [GridTable.made_up(generator(rows, side=side)) for generator in (continuous, unrelated)]
    if "adult" in scope.data:
        found.append(GridTable.adult(scope.data["adult"]))
    return found


# ── Figures 7–15: parameters ─────────────────────────────────────────────────────────────────────


def _sweep(parameter: str, scope: Scope) -> list[Task]:
    values, repetitions = SWEEPS[parameter], scope.size(1, 20)
    if scope.quick:
        values = values[:: len(values) - 1]
    return [
        task
        for grid in grids(scope)
        for task in sweep_tasks(grid, parameter, values=values, repetitions=repetitions)
    ]


def _swept(
    parameter: str, numbers: str, what: str, called: str, claims: Sequence[Claim], log: str = "y"
) -> Figure:
    name, title = f"ispe-{parameter}", f"ISPE: mean absolute error by {called}"
    names = {parameter: called, "posterior": "error"}
    plot = Plot(name, title, parameter, "posterior", ("questions",), "data", log, names=names)
    tasks = partial(_sweep, parameter)
    return Figure(name, f"ISPE, Figures {numbers}: error by {what}", tasks, [plot], claims, 2)


def _of_each(paper: str, data: str, look: Callable[[Results], Look], why: str = "") -> Claim:
    """What is said of a table: of its cells, and of its ranges."""
    return Claim(f"{paper} ({{questions}})", look, why, only={"data": data}, each="questions")


def _other(curve: Curve) -> str:
    """What is to be said of a curve that does not go as the paper's."""
    if curve.trend() == "no clear trend":
        return f"from the first to the last, {difference(curve.runs[0], curve.runs[-1])}"
    means = list(curve.means.values())
    lowest = f"lowest {min(means):,.2f} at {curve.best:g}"
    return f"from {means[0]:,.2f} to {means[-1]:,.2f}, {lowest}"


def _at_the_end(curve: Curve) -> str:
    said = f"the best α₁ is {curve.best:g}, at the end of those tried"
    last = ": a noisy cell serves every question, a region's count few"
    return said + (last if curve.best == max(curve.values) else "")


def _falls_and_stays(results: Results) -> Look:
    told = _error("xi", "falls", "falls, then rises")(results)
    curve = results.curve("posterior", "xi")
    rest = list(curve.means.values())[len(curve.values) // 2 :]
    stays = max(rest) <= (1 + EQUAL) * min(rest)
    if not told.holds or (below(curve.runs[-1], curve.runs[0]) and stays):
        return told
    return replace(told, holds=False, why="it does not stay where it has fallen to")


_error = partial(goes, "posterior", why=_other)
_ALPHA1 = (
    _of_each(
        "Figure 8, continuous data: an α₁ inside is best",
        "continuous",
        _error("alpha1", "falls, then rises", why=_at_the_end),
    ),
    _of_each(
        "Figure 9, random data: that an α₁ inside is best is not clear",
        "random",
        goes("posterior", "alpha1", "falls", "rises", "no clear trend"),
        "one inside is clearly best",
    ),
)
_ITERATIONS = (
    _of_each(
        "Figure 11, continuous data: the error falls as smoothing is repeated",
        "continuous",
        _error("iterations", "falls"),
    ),
    _of_each(
        "Figure 12, random data: the error rises as smoothing is repeated",
        "random",
        _error("iterations", "rises"),
    ),
    _of_each(
        "Figure 10, Adult: the error falls, and may rise again later",
        "adult",
        _error("iterations", "falls", "falls, then rises"),
    ),
)
_XI = (
    _of_each(
        "Figure 14, continuous data: the error falls as ξ grows",
        "continuous",
        _error("xi", "falls"),
    ),
    _of_each(
        "Figure 15, random data: the trend is not clear",
        "random",
        goes("posterior", "xi", "no clear trend", "falls, then rises"),
        "there is a clear trend",
    ),
    _of_each(
        "Figure 13, Adult: the error falls at first and then stays", "adult", _falls_and_stays
    ),
)


# ── Figures 16–21: against consistency checking ──────────────────────────────────────────────────


def _size_tasks(scope: Scope) -> list[Task]:
    repetitions = scope.size(1, 20)
    return [
        task for grid in grids(scope) for task in comparison_tasks(grid, repetitions=repetitions)
    ]


def by_method(methods: Mapping[str, str], results: pa.Table) -> pa.Table:
    """A row for each method, instead of a column."""
    parts = [
        results.drop_columns([name for name in methods if name in results.column_names])
        .append_column("method", pa.array([called] * results.num_rows))
        .append_column("error", results[name])
        for name, called in methods.items()
    ]
    return pa.concat_tables(parts)


def _whole(results: pa.Table) -> pa.Table:
    return by_method(_METHODS, results.filter(pc.not_equal(results["questions"], "squares")))


def _sized(methods: Mapping[str, str], results: pa.Table) -> pa.Table:
    return by_method(methods, results.filter(pc.greater(results["size"], ANY)))


def _better(results: Results) -> Look:
    ours, theirs = results.runs("posterior"), results.runs("consistency")
    seen = f"{ours.mean():,.2f} against {theirs.mean():,.2f}"
    holds = below(ours, theirs)
    if holds is not False:
        return Look(seen, holds, clear=True)
    if below(theirs, ours):
        return Look(seen, False, "it is worse", clear=True)
    beyond = results.values("questions") != ["cells"]
    reason = "not referred to beyond one cell" if beyond else "too different"
    return Look(seen, False, f"{difference(ours, theirs)}; neighbours are {reason}", clear=True)


def _equal(results: Results) -> Look:
    ours, theirs = results.runs("posterior"), results.runs("consistency")
    seen = f"{ours.mean():,.2f} against {theirs.mean():,.2f}"
    return Look(seen, alike(ours, theirs, EQUAL))


def _growth(judged: Callable[[Floats, Floats], bool | None], results: Results) -> Look:
    """How much more is wrong in the largest squares than in cells, by both methods."""
    curves = [results.curve(method, "size") for method in ("posterior", "consistency")]
    ours, theirs = (curve.runs[-1] - curve.runs[0] for curve in curves)
    seen = f"by {ours.mean():,.1f} from 1 to {curves[0].values[-1]}, against {theirs.mean():,.1f}"
    return Look(seen, judged(ours, theirs), clear=judged is below)


def _is_better(figure: int, data: str) -> Claim:
    return Claim(
        f"Figure {figure}, {data}: ISPE is better than consistency checking ({{questions}})",
        _better,
        only={"data": data, "questions": ("cells", "partitions", "ranges")},
        each="questions",
    )


def _grows(figure: int, data: str) -> tuple[Claim, Claim]:
    says = "the error of ISPE grows more slowly than that of consistency checking"
    judged: Callable[[Floats, Floats], bool | None] = below
    why = "its advantage is in single cells, by their neighbours; larger squares have none"
    if data == "random":
        says = "the error of ISPE does not clearly part from that of consistency checking"
        judged, why = partial(alike, within=EQUAL), f"by more than {EQUAL:.0%}"
    rises = "the error grows with the size of a range"
    only = {"data": data, "size": SIZES}
    return (
        Claim(f"Figure {figure}, {{data}}: {rises}", _error("size", "rises"), "", only, "data"),
        Claim(f"Figure {figure}, {{data}}: {says}", partial(_growth, judged), why, only, "data"),
    )


_COMPARED = (
    _is_better(16, "adult"),
    _is_better(17, "continuous"),
    Claim(
        "Figure 18, random data: both are equally good (ranges)",
        _equal,
        _APART,
        only={"data": "random", "questions": "ranges"},
    ),
    *_grows(19, "adult"),
    *_grows(20, "continuous"),
    *_grows(21, "random"),
)


# ── Figures 22 and 23: trees ─────────────────────────────────────────────────────────────────────


def _tree_tasks(scope: Scope) -> list[Task]:
    leaves = np.random.default_rng(1).poisson(40, scope.size(8, 32))
    return tree_tasks(leaves, repetitions=scope.size(1, 60))


def _tree_better(results: Results) -> Look:
    ours, theirs, weighted = (results.runs(method) for method in _TREE_METHODS)
    seen = (
        f"{ours.mean():,.1f} against {theirs.mean():,.1f};"
        f" least squares that know the budgets: {weighted.mean():,.1f}"
    )
    holds = below(ours, theirs)
    near = alike(ours, weighted, EQUAL) and float(theirs.mean()) < 1.5 * float(ours.mean())
    leaves = ": the noise of the leaves is most of the error, and no estimate mends that"
    why = "" if holds else "not clearly below" + (leaves if near else "")
    return Look(seen, holds, why, clear=True)


_TREES = (
    Claim(
        "Figure 22, equal budgets: both are almost equally good (ranges of any size)",
        _equal,
        _APART,
        only={"budgets": "equal", "size": ANY},
    ),
    # The paper does not say at which end the doubled budgets begin.
    *(
        Claim(
            f"Figure 23, budgets doubled towards the {budgets.removesuffix(' first')}: MMSE is"
            " better than consistency",
            _tree_better,
            only={"budgets": budgets, "size": ANY},
        )
        for budgets in BUDGETS[1:]
    ),
)

FIGURES = (
    _swept("alpha1", "7–9", "the share of α for the cells", "α₁ of α = 0.2", _ALPHA1),
    _swept("iterations", "10–12", "iterations of smoothing", "n_it", _ITERATIONS),
    _swept("xi", "13–15", "the threshold of regions", "ξ", _XI, log="xy"),
    Figure(
        "ispe-sizes",
        "ISPE, Figures 16–21: MMSE(NR) against consistency checking, by question and size",
        _size_tasks,
        [
            Plot(
                "ispe-questions",
                "ISPE against consistency checking, by question (Figures 16–18)",
                "questions", "error", panels="data", log="y", shown=_whole,
            ),
            Plot(
                "ispe-sizes",
                "ISPE against consistency checking, by the size of a range (Figures 19–21)",
                "size", "error", panels="data", names={"size": "side of the square"},
                shown=partial(_sized, _METHODS),
            ),
        ],
        _COMPARED,
    ),
    Figure(
        "ispe-trees",
        "ISPE, Figures 22 and 23: MMSE against consistency checking on trees",
        _tree_tasks,
        [
            Plot(
                "ispe-trees",
                "(2, L)-trees by the budgets of their levels (Figures 22, 23)",
                "size", "error", panels="budgets", names={"size": "leaves in the range"},
                shown=partial(_sized, _TREE_METHODS),
            )
        ],
        _TREES,
        minutes=1.5,
    ),
)  # fmt: skip
