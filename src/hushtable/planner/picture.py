"""A plan as a matplotlib picture: the forecast errors of every mechanism."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hushtable.planner.errors_drawn import TITLE, errors_of
from hushtable.planner.html import plan_title
from hushtable.query.picture import VALUE, draw_bars_of_errors, new_axes, tidy
from hushtable.text import figure_text

if TYPE_CHECKING:
    from hushtable.planner.plan import Plan

_RECOMMENDED = "#d55e00"


def draw_errors(plan: Plan, ax: Any = None) -> Any:
    """Draw on these Axes, or on new ones, and return them; the best mechanism is on top."""
    from matplotlib.ticker import LogLocator, NullFormatter

    errors = errors_of(plan)
    axes = new_axes((6.5, 1.2 + 0.32 * len(errors))) if ax is None else ax
    rows = range(len(errors))
    draw_bars_of_errors(axes, rows, [e.least for e in errors], [e.most for e in errors])
    for row, one in zip(rows, errors, strict=True):
        colour = _RECOMMENDED if one.recommended else VALUE
        axes.plot([one.error], [row], "o", color=colour, ms=7)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_yticks(rows, [figure_text(one.label) for one in errors])
    axes.set_ylim(len(errors) - 0.4, -0.6)
    axes.set_xlabel(TITLE)
    axes.set_title(figure_text(plan_title(plan)), loc="left", fontsize=11)
    tidy(axes, "x")
    return axes
