"""Line plots of an experiment: a measure against a parameter, a line for each mechanism."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from hushtable.errors import OptionError
from hushtable.text import figure_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# A mechanism looks the same in every figure: colours that colour-blind people can tell apart.
_COLOURS = {
    "basic": "#7f7f7f",
    "privelet": "#56b4e9",
    "privelet+": "#0072b2",
    "privelet*": "#d55e00",
    "hierarchical": "#009e73",
}
_MORE_COLOURS = ("#cc79a7", "#e69f00", "#1d3557", "#8c564b", "#bc4b51", "#17becf")
_MARKERS = "os^Dv<>PX*"
_MOST_TICKS, _LONGEST_TICK = 7, 6
_FEW_DECADES = 300


def draw_lines(
    results: pa.Table,
    path: str | Path,
    *,
    x: str,
    y: str,
    by: Sequence[str] = ("mechanism",),
    panels: str | None = None,
    where: Mapping[str, Any] | None = None,
    log: str = "xy",
    title: str = "",
    names: Mapping[str, str] | None = None,
) -> None:
    """Draw the mean of `y` against `x` to a file, a line for each value of the columns `by`.

    `panels` names a column whose values have a panel each; `where` chooses rows by their values;
    `log` names the axes that are logarithmic, on which what is not above zero cannot be shown;
    `names` says how columns are called in the figure.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    shown = _averaged(results, [*([panels] if panels else []), *by, x], y, where or {})
    called = {"epsilon": "ε", **(names or {})}
    parts = pc.unique(shown[panels]).to_pylist() if panels else [None]
    styles = _styles([_label(row, by) for row in shown.to_pylist()])
    figure = Figure(figsize=(1.2 + 3.4 * len(parts), 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    all_axes = figure.subplots(1, len(parts), sharey=True, squeeze=False)[0]
    for axes, part in zip(all_axes, parts, strict=True):
        rows = [row for row in shown.to_pylist() if panels is None or row[panels] == part]
        _draw_panel(axes, rows, x, y, by, styles, log)
        axes.set_xlabel(called.get(x, x.replace("_", " ")))
        if panels:
            # A panel's text speaks for itself, a number does not.
            text = part if isinstance(part, str) else f"{called.get(panels, panels)} = {part}"
            axes.set_title(figure_text(text), loc="left", fontsize=10)
    if "y" in log:
        _mark_few_decades(all_axes[0])  # all panels share it
    all_axes[0].set_ylabel(called.get(y, y.replace("_", " ")))
    all_axes[-1].legend(frameon=False, fontsize=9)
    if title:
        figure.suptitle(figure_text(title), x=0.01, ha="left", fontsize=11)
    figure.savefig(path, dpi=150)


def _averaged(results: pa.Table, columns: list[str], y: str, where: Mapping[str, Any]) -> pa.Table:
    """The mean of a measure for each combination of the columns' values, in their order."""
    for name in (*columns, y, *where):
        if name not in results.column_names:
            raise OptionError(f"the results have no column {name!r}")
    for name, value in where.items():
        results = results.filter(pc.equal(results[name], pa.scalar(value)))
    if not results.num_rows:
        raise OptionError("there are no results to draw")
    means = results.group_by(columns).aggregate([(y, "mean")])
    means = means.rename_columns([*columns, y])
    return means.sort_by([(name, "ascending") for name in columns])


def _label(row: Mapping[str, Any], by: Sequence[str]) -> str:
    return ", ".join(str(row[name]) for name in by if row[name] not in (None, ""))


def _styles(labels: list[str]) -> dict[str, tuple[str, str]]:
    """A colour and a marker for each line."""
    spare = iter(_MORE_COLOURS * (1 + len(labels) // len(_MORE_COLOURS)))
    different = dict.fromkeys(labels)
    return {
        label: (_COLOURS.get(label) or next(spare), _MARKERS[i % len(_MARKERS)])
        for i, label in enumerate(different)
    }


def _draw_panel(
    axes: Axes,
    rows: list[dict[str, Any]],
    x: str,
    y: str,
    by: Sequence[str],
    styles: dict[str, tuple[str, str]],
    log: str,
) -> None:
    for label, style in styles.items():
        points = [(row[x], row[y]) for row in rows if _label(row, by) == label]
        if points:
            along, up = zip(*points, strict=True)
            colour, marker = style
            named = figure_text(label)
            axes.plot(along, up, label=named, lw=1.4, ms=4.5, color=colour, marker=marker)
    if "x" in log:
        axes.set_xscale("log")
        _mark_values(axes, sorted({row[x] for row in rows}))
    elif max((row[x] for row in rows if not isinstance(row[x], str)), default=0) >= 10_000:
        from matplotlib.ticker import EngFormatter

        axes.xaxis.set_major_formatter(EngFormatter(sep=""))
    if "y" in log:
        axes.set_yscale("log")
    axes.grid(True, which="major", color="#dddddd", lw=0.6)
    axes.spines[["top", "right"]].set_visible(False)


def _mark_few_decades(axes: Axes) -> None:
    """Plain numbers 1, 2, 5 … on an upright axis that has room for no more than two decades."""
    from matplotlib.ticker import EngFormatter, FuncFormatter, LogLocator, NullFormatter

    low, high = axes.get_ylim()
    if high > _FEW_DECADES * low:
        return
    large = EngFormatter(sep="")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(
        FuncFormatter(lambda value, _: large(value) if value >= 10_000 else f"{value:g}")
    )
    axes.yaxis.set_minor_formatter(NullFormatter())


def _mark_values(axes: Axes, values: list[Any]) -> None:
    """Ticks where something was measured, if that can be read; else those of decades."""
    from matplotlib.ticker import EngFormatter, NullFormatter, NullLocator

    large = EngFormatter(places=1, sep="")
    labels = [large(value) if value >= 10_000 else f"{value:g}" for value in values]
    if len(labels) > _MOST_TICKS or max(map(len, labels)) > _LONGEST_TICK:
        axes.xaxis.set_minor_formatter(NullFormatter())
        return
    axes.set_xticks(values, labels)
    axes.xaxis.set_minor_locator(NullLocator())
