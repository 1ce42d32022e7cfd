"""A table of answers as an image inside a report, with the words that belong to it."""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hushtable.query.chart import ERROR, VALUE, table_spec
from hushtable.query.drawing import Drawing, drawing_of
from hushtable.web.wording import marks_of

if TYPE_CHECKING:
    from hushtable.query.result import ResultTable

MOST_ROWS = 150
"""Rows of numbers below a chart."""

_LONGEST = 80
"""Of a label in words."""

_INK, _SOFT, _LINE, _WARN = "#1b1f23", "#57606a", "#c8ced4", "#9a3300"
# Images know whether the reader likes dark pages: their ink changes as that of the page does.
_DARK = {
    _INK: "#e8ebee",
    _SOFT: "#a9b3bd",
    _LINE: "#3d4650",
    _WARN: "#ffa877",
    VALUE: "#56b4e9",
    ERROR: "#e8ebee",
}


@dataclass(frozen=True)
class Chart:
    """A chart, what it shows in words, and its numbers."""

    title: str
    image: str
    alt: str
    level: str
    said: tuple[str, ...]
    """How the attribute is seen, and what is left out."""
    estimate: bool
    noise: bool
    """Whether most of it may be noise."""
    columns: tuple[str, ...]
    rows: tuple[tuple[tuple[str, ...], str, str, bool], ...]
    """Of each row its labels, its value with the error bar, its interval, whether it is noise."""
    hidden: int
    wide: bool


def chart_of(title: str, table: ResultTable, *, private: bool, said: list[str]) -> Chart:
    """A chart of counts."""
    drawing = drawing_of(table)
    words = drawing.panels[0].words()
    noise = drawing.panels[0].is_noise
    rows = tuple(
        (labels, *shown, bool(pale))
        for labels, shown, pale in zip(_labels(drawing), words, noise.tolist(), strict=True)
    )
    marks = marks_of(private=private, estimate=table.estimate)
    return Chart(
        title,
        _image(table_spec(table), marks),
        _described(title, drawing, rows),
        table.level,
        (*said, *([drawing.note] if drawing.note else [])),
        table.estimate,
        bool(noise.mean() > 0.5),
        tuple(scale.name for scale in drawing.scales),
        rows[:MOST_ROWS],
        max(len(rows) - MOST_ROWS, 0),
        drawing.form == "grid",
    )


def _labels(drawing: Drawing) -> list[tuple[str, ...]]:
    columns = [[scale.labels[i] for i in scale.label_of_row.tolist()] for scale in drawing.scales]
    return list(zip(*columns, strict=True))


def _described(title: str, drawing: Drawing, rows: tuple[Any, ...]) -> str:
    """What someone is told who does not see the chart."""
    form = {"bars": "Bars", "line": "Line with a band", "grid": "Heat map"}[drawing.form]
    values = np.where(np.isfinite(drawing.panels[0].values), drawing.panels[0].values, 0.0)
    said = [f"{form}: number of people by {_cut(title)}, with error bars, {len(rows):,} groups."]
    for word, place in (("Largest", values.argmax()), ("Smallest", values.argmin())):
        labels, shown, *_ = rows[int(place)]
        said.append(f"{word}: {', '.join(map(_cut, labels))}, {shown}.")
    return " ".join(said)


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _image(spec: dict[str, Any], marks: list[str]) -> str:
    """An SVG as the address of an image; what the numbers are not is written on it."""
    import vl_convert

    spec.pop("title", None)
    if marks:
        spec["title"] = {"text": " · ".join(marks), "anchor": "start", "color": _WARN}
    axis = {"labelColor": _INK, "titleColor": _INK, "gridColor": _LINE, "labelLimit": 150}
    axis |= {"domainColor": _SOFT, "tickColor": _SOFT, "titleLimit": 240, "labelFontSize": 11}
    spec |= {"background": None, "width": 360}
    spec["config"] = {
        "aria": False,
        "view": {"stroke": _LINE},
        "axis": axis | {"titleFontSize": 12, "titleFontWeight": "normal"},
        "axisX": {"tickCount": 5, "labelLimit": 90},
        "legend": {"labelColor": _INK, "titleColor": _INK, "titleFontWeight": "normal"},
        "title": {"fontSize": 12},
    }
    svg = _renumbered(vl_convert.vegalite_to_svg(spec))
    start = svg.index(">") + 1
    content = svg[:start] + _dark_style() + svg[start:]
    return "data:image/svg+xml;base64," + base64.b64encode(content.encode()).decode()


def _renumbered(svg: str) -> str:
    """The same image with its ids counted from zero: Vega goes on counting from chart to chart."""
    numbers: dict[str, str] = {}

    def name(found: re.Match[str]) -> str:
        return found[1] + numbers.setdefault(found[2], f"part{len(numbers)}")

    id = re.compile(r'( id="|url\(#)((?:gradient_|clip)[0-9]+)')
    return re.sub("<[^>]*>", lambda tag: id.sub(name, tag[0]), svg)


def _dark_style() -> str:
    rules = [
        f'[{side}="{light}"]{{{side}:{dark}}}'
        for light, dark in _DARK.items()
        for side in ("fill", "stroke")
    ]
    return f"<style>@media screen and (prefers-color-scheme:dark){{{''.join(rules)}}}</style>"
