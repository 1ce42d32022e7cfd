"""A picture of an evaluation: errors by fifths of the questions, and how often intervals hold.

It shows figures of the true table, so the warning that they are not private is part of it.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hushtable.errors import OptionError
from hushtable.query.answer import show_percent
from hushtable.text import figure_text

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
    fifths = [row for row in evaluation.errors if row.group in _GROUPS]
    _scale(first, "y", [error for row in fifths for error in _errors(row)])
    first.set_ylabel("error of a count, in rows")
    first.legend(frameon=False, fontsize=9)
    _draw_intervals(third, evaluation)
    figure.suptitle(figure_text(evaluation.title), x=0.01, ha="left", fontsize=11)
    figure.supxlabel(OWNER_ONLY, x=0.01, ha="left", fontsize=8.5, color="#a00000")
    figure.savefig(path, dpi=150)


def check_picture(path: Path) -> None:
    """Refuse what no picture can be written to, before anything is read."""
    if not path.name:  # "" and "." are the same path
        raise OptionError("the plot has no file name: name a new .png or .svg")
    if path.is_dir():
        raise OptionError(f"{path} is a folder: name a new .png or .svg for the plot")
    if path.suffix.lower() not in (".png", ".svg"):
        raise OptionError(f"{path.name} must end in .png or .svg")
    if path.exists():
        raise OptionError(f"{path} is there already: name a new file for the plot")
    if not path.parent.is_dir():
        raise OptionError(f"{path} cannot be written: there is no folder {path.parent}")


def _errors(row: ErrorRow) -> tuple[float, float, float]:
    return row.rmse, row.absolute_error, row.forecast_rmse


def _draw_errors(axes: Axes, rows: list[ErrorRow], group: str) -> None:
    """The same names as in the table; open marks show what lies below them."""
    sizes = [getattr(row, group) for row in rows]
    lines: list[tuple[str, str, str, dict[str, Any]]] = [
        ("rms error", "rmse", "-o", {"color": _TRUE, "ms": 7, "mfc": "none"}),
        ("mean error", "absolute_error", "-s", {"color": _TRUE, "ms": 3.5}),
        ("forecast", "forecast_rmse", "--^", {"color": _STATED, "ms": 5, "mfc": "none"}),
    ]
    for label, figure, line, style in lines:
        axes.plot(sizes, [getattr(row, figure) for row in rows], line, lw=1.4, label=label, **style)
    axes.set_xlabel(f"mean {group} of a fifth: {_GROUPS[group]}", fontsize=9)
    _scale(axes, "x", sizes)
    _tidy(axes)


def _scale(axes: Axes, side: Literal["x", "y"], values: list[float]) -> None:
    """A logarithmic axis for values that span decades; a plain one from zero for the others."""
    from matplotlib.ticker import LogLocator, StrMethodFormatter

    axis = axes.xaxis if side == "x" else axes.yaxis
    above = sorted({value for value in values if value > 0})
    if len(above) < 3 or above[-1] < 10 * above[0]:
        axes.set(**{f"{side}lim": (0, 1.15 * above[-1] if above else 1)})
        axis.set_major_formatter(StrMethodFormatter("{x:,.6g}"))
    elif min(values) <= 0:  # some questions hold no row at all, or some errors are none
        scale = axes.set_xscale if side == "x" else axes.set_yscale
        scale("symlog", linthresh=above[0])
    else:
        axes.set(**{f"{side}scale": "log"})
        if above[-1] < 100 * above[0]:  # powers of ten alone would be one or two ticks
            axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.set_major_formatter(StrMethodFormatter("{x:,.6g}"))


def _draw_intervals(axes: Axes, evaluation: Evaluation) -> None:
    """Both lines are open and a little apart: they often run through the same points."""
    from matplotlib.ticker import MaxNLocator

    least = 100.0
    styles = (("#444444", "o", -0.06), ("#009e73", "s", 0.06))
    for group, (colour, marker, aside) in zip(_GROUPS, styles, strict=True):
        rows = [row for row in evaluation.errors if row.group == group and row.inside is not None]
        shares = [100.0 * (row.inside or 0.0) for row in rows]
        places = [row.fifth + aside for row in rows]
        axes.plot(places, shares, f"-{marker}", color=colour, mfc="none", ms=7, label=f"by {group}")
        least = min([least, *shares])
    level = 100 * evaluation.confidence
    axes.axhline(level, color="#444444", lw=1, ls=":")
    axes.set_xticks(range(1, 6))
    axes.set_xlim(0.7, 5.3)
    axes.yaxis.set_major_locator(MaxNLocator(steps=[1, 2, 5, 10], integer=True))
    axes.set_xlabel("fifth of the questions by size", fontsize=9)
    named = show_percent(evaluation.confidence)
    axes.set_ylabel(f"truth inside the {named} interval, %")
    low = max(min(least - 2, level - 15), -2)
    axes.set_ylim(low, 100 + 0.04 * (100 - low))
    axes.legend(frameon=False, fontsize=9)
    _tidy(axes)


def _tidy(axes: Axes) -> None:
    axes.tick_params(labelsize=8.5)
    axes.grid(True, which="major", color=_GRID, lw=0.6)
    axes.spines[["top", "right"]].set_visible(False)
