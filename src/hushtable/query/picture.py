"""Tables of answers as matplotlib pictures: bars, lines or heat maps, with their error bars."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hushtable.errors import OptionError
from hushtable.query.drawing import FEW_POINTS, PALE, Drawing, Panel, Scale, drawing_of
from hushtable.text import figure_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from hushtable.query.result import ResultTable

VALUE, ERROR, GRID = "#0072b2", "#333333", "#dddddd"
_BAR = "#73b0d5"
_FADED = 0.2
_MOST_TICKS, _LONGEST_TICK = 26, 28


def draw_table(table: ResultTable, ax: Any = None) -> Any:
    """Draw a table on these Axes, or on new ones, and return them."""
    drawing = drawing_of(table)
    draw = {"bars": _draw_bars, "line": _draw_line, "grid": _draw_grid}[drawing.form]
    all_axes = _given(ax, len(drawing.panels)) if ax is not None else _made(drawing)
    for axes, panel in zip(all_axes, drawing.panels, strict=True):
        draw(axes, drawing, panel)
        axes.set_title(figure_text(panel.title), loc="left", fontsize=11)
    if drawing.note:
        add_note(all_axes[0], drawing.note)
    return all_axes[0] if len(all_axes) == 1 else np.array(all_axes)


def _given(ax: Any, panels: int) -> list[Axes]:
    """The Axes to draw on, one for each aggregate."""
    given = list(np.asarray(ax, dtype=object).ravel())
    if len(given) != panels:
        raise OptionError(f"the table has {panels} aggregates: give as many Axes, or none")
    return given


def _made(drawing: Drawing) -> list[Axes]:
    from matplotlib import pyplot  # notebooks show the figures that it knows

    sizes = {"bars": (6.0, 1.0 + 0.28 * len(drawing.scales[0].labels)), "line": (6.5, 3.4)}
    if drawing.form == "grid":
        sizes["grid"] = (6.5, 1.3 + 0.26 * min(len(drawing.scales[1].labels), 30))
    width, height = sizes[drawing.form]
    panels = len(drawing.panels)
    size = (width if panels == 1 else 0.75 * width * panels, max(height, 1.8))
    _, axes = pyplot.subplots(1, panels, figsize=size, layout="constrained", squeeze=False)
    return list(axes[0])


def _draw_bars(axes: Axes, drawing: Drawing, panel: Panel) -> None:
    (scale,) = drawing.scales
    rows = scale.of_rows
    bars = axes.barh(rows, panel.values, color=_BAR, height=0.7)
    for place in np.flatnonzero(panel.is_noise).tolist():
        bars[place].set_alpha(_FADED)
    draw_bars_of_errors(axes, rows, *panel.drawn)
    _mark(axes, "y", scale)
    axes.set_ylim(len(rows) - 0.4, -0.6)  # the first row on top
    axes.set_xlabel(figure_text(panel.name))
    tidy(axes, "x")


def draw_bars_of_errors(axes: Axes, rows: Any, low: Any, high: Any) -> None:
    """An error bar for each row, from its low to its high end."""
    axes.hlines(rows, low, high, color=ERROR, lw=1.2)
    for ends in (low, high):
        axes.plot(ends, rows, "|", color=ERROR, ms=6)


def _draw_line(axes: Axes, drawing: Drawing, panel: Panel) -> None:
    (scale,) = drawing.scales
    along = scale.of_rows
    axes.fill_between(along, *panel.drawn, color=VALUE, alpha=0.25, lw=0)
    few = len(along) <= FEW_POINTS  # a bar is seen where a band is too narrow
    marker = "o" if few else ""
    known = np.where(panel.is_noise, np.nan, panel.values)
    for values, alpha in [(panel.values, _FADED)] * int(panel.is_noise.any()) + [(known, None)]:
        axes.plot(along, values, marker=marker, ms=3, lw=1.2, color=VALUE, alpha=alpha)
    if few:
        axes.vlines(along, *panel.drawn, color=ERROR, lw=1.0)
        for ends in panel.drawn:
            axes.plot(along, ends, "_", color=ERROR, ms=6)
    axes.axhline(0, color="#888888", lw=0.6)
    if scale.kind == "bins":
        _mark(axes, "x", scale)
    axes.set_xlabel(figure_text(scale.name))
    axes.set_ylabel(figure_text(panel.name))
    tidy(axes, "y")


def _draw_grid(axes: Axes, drawing: Drawing, panel: Panel) -> None:
    from matplotlib.colors import PowerNorm

    across, up = drawing.scales
    shape = len(up.labels), len(across.labels)
    values, shades = np.full(shape, np.nan), np.zeros(shape)
    cells = up.label_of_row, across.label_of_row
    values[cells] = panel.values
    shades[cells] = np.where(panel.is_noise, _FADED, 1.0)
    image = axes.imshow(values, alpha=shades, aspect="auto", cmap="viridis", interpolation="none")
    if panel.uneven:
        image.set_norm(PowerNorm(0.5, vmin=0.0, vmax=panel.reach[1], clip=True))
    bar = axes.figure.colorbar(image, ax=axes, format=_thousands())
    bar.ax.tick_params(labelsize=8.5)
    _mark(axes, "x", across)
    _mark(axes, "y", up)
    axes.set_xlabel(f"{figure_text(across.name)}    ({PALE})")
    axes.set_ylabel(figure_text(up.name))


def _mark(axes: Axes, side: str, scale: Scale) -> None:
    """Ticks with labels, as many as can be read."""
    step = _step(len(scale.labels), _MOST_TICKS if side == "y" or scale.kind == "bins" else 13)
    places = list(range(0, len(scale.labels), step))
    labels = [_short(scale.labels[place]) for place in places]
    axis = axes.xaxis if side == "x" else axes.yaxis
    axis.set_ticks(places, labels)
    axes.tick_params(labelsize=8.5)
    if side == "x" and sum(map(len, labels)) > 60:
        axes.tick_params(axis="x", rotation=90)


def _step(labels: int, most: int) -> int:
    """Which of many labels are shown: every one, second, fifth, tenth, …"""
    steps = (int(factor * 10**power) for power in range(9) for factor in (1, 2, 5))
    return next(step for step in steps if math.ceil(labels / step) <= most)


def tidy(axes: Axes, numbers: str) -> None:
    """The house style; `numbers` is the side whose numbers are told."""
    axis = axes.xaxis if numbers == "x" else axes.yaxis
    axis.set_major_formatter(_thousands())
    axes.tick_params(labelsize=8.5)
    axes.set_axisbelow(True)
    axis.grid(True, which="major", color=GRID, lw=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def add_note(axes: Axes, note: str) -> None:
    """Say below a picture what is not in it."""
    label = axes.get_xlabel()
    axes.set_xlabel(f"{label}\n{figure_text(note)}" if label else figure_text(note))


def _thousands() -> Any:
    from matplotlib.ticker import StrMethodFormatter

    return StrMethodFormatter("{x:,.6g}")


def _short(label: str) -> str:
    """A label as it is, but not endless."""
    return figure_text(label if len(label) <= _LONGEST_TICK else f"{label[: _LONGEST_TICK - 1]}…")


def new_axes(size: Sequence[float]) -> Axes:
    """Axes of a new figure that notebooks show."""
    from matplotlib import pyplot

    _, axes = pyplot.subplots(figsize=tuple(size), layout="constrained")
    return axes
