"""A picture of an evaluation: errors by fifths of the questions, and how often intervals hold.

It shows figures of the true table, so the warning that they are not private is part of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hushtable.errors import OptionError
from hushtable.query.answer import show_percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hushtable.evaluation.evaluate import ErrorRow, Evaluation

_TRUE, _STATED, _GRID = "#d55e00", "#0072b2", "#dddddd"
_GROUPS = {"coverage": "share of the cells", "selectivity": "share of the rows"}


def draw_evaluation(evaluation: Evaluation, path: Path) -> None:
    """Draw the errors against the size of the questions, beside those the release states."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    from hushtable.evaluation.evaluate import OWNER_ONLY

    check_picture(path)
    figure = Figure(figsize=(11.0, 4.3), layout="constrained")
    FigureCanvasAgg(figure)
    first, second, third = figure.subplots(1, 3)
    second.sharey(first)
    for axes, group in ((first, "coverage"), (second, "selectivity")):
        _draw_errors(axes, [row for row in evaluation.errors if row.group == group], group)
    first.set_ylabel("error of a count, in rows")
    first.legend(frameon=False, fontsize=9)
    _draw_intervals(third, evaluation)
    figure.suptitle(
        f"{evaluation.dataset} by {evaluation.mechanism}, ε = {evaluation.epsilon}:"
        f" {evaluation.asked}",
        x=0.01,
        ha="left",
        fontsize=11,
    )
    figure.supxlabel(OWNER_ONLY, x=0.01, ha="left", fontsize=8.5, color="#a00000")
    figure.savefig(path, dpi=150)


def check_picture(path: Path) -> None:
    """Refuse what no picture can be written to, before anything is read."""
    if path.suffix.lower() not in (".png", ".svg"):
        raise OptionError(f"{path.name} must end in .png or .svg")
    if path.exists() or not path.parent.is_dir():
        raise OptionError(f"{path} is there already, or its folder is not")


def _draw_errors(axes: Axes, rows: list[ErrorRow], group: str) -> None:
    sizes = [getattr(row, group) for row in rows]
    style: dict[str, Any] = {"lw": 1.4, "ms": 4.5}
    errors = {
        "root mean square": [row.rmse for row in rows],
        "mean absolute": [row.absolute_error for row in rows],
    }
    for marker, (label, values) in zip("os", errors.items(), strict=True):
        axes.plot(sizes, values, f"-{marker}", color=_TRUE, label=label, **style)
    stated = [row.forecast_rmse for row in rows]
    axes.plot(sizes, stated, "--^", color=_STATED, label="stated by the release", **style)
    if min(sizes) > 0:
        axes.set_xscale("log")
    else:  # some questions hold no row at all
        axes.set_xscale("symlog", linthresh=min((s for s in sizes if s > 0), default=1.0))
    if min(*stated, *errors["root mean square"], *errors["mean absolute"]) > 0:
        axes.set_yscale("log")
    axes.set_xlabel(f"mean {group} of a fifth: {_GROUPS[group]}", fontsize=9)
    _tidy(axes)


def _draw_intervals(axes: Axes, evaluation: Evaluation) -> None:
    least = 100.0
    for group, style in zip(_GROUPS, (("#444444", "o"), ("#009e73", "s")), strict=True):
        colour, marker = style
        rows = [row for row in evaluation.errors if row.group == group and row.inside is not None]
        shares = [100.0 * (row.inside or 0.0) for row in rows]
        axes.plot([row.fifth for row in rows], shares, f"-{marker}", color=colour, label=group)
        least = min([least, *shares])
    level = 100 * evaluation.confidence
    axes.axhline(level, color="#444444", lw=1, ls=":")
    axes.set_xticks(range(1, 6))
    axes.set_xlabel("fifth of the questions by size", fontsize=9)
    named = show_percent(evaluation.confidence)
    axes.set_ylabel(f"truth inside the {named} interval, %")
    axes.set_ylim(min(least - 2, level - 15), 101)
    axes.legend(frameon=False, fontsize=9)
    _tidy(axes)


def _tidy(axes: Axes) -> None:
    axes.grid(True, which="major", color=_GRID, lw=0.6)
    axes.spines[["top", "right"]].set_visible(False)
