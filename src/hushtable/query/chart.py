"""Tables of answers as Vega-Lite specifications, which Altair and web pages draw.

A specification is plain values: all of its data is in it, and nothing but what the table tells.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hushtable.errors import OptionError
from hushtable.query.answer import finite
from hushtable.query.drawing import FEW_POINTS, PALE, Drawing, Panel, Scale, drawing_of

if TYPE_CHECKING:
    from hushtable.query.result import ResultTable

Spec = dict[str, Any]

VALUE, ERROR = "#0072b2", "#333333"
_WIDTH, _HEIGHT = 460, 240
_PALE = 0.2
_TYPES = {
    "number": "quantitative",
    "date": "temporal",
    "bins": "ordinal",
    "category": "ordinal",
}


def to_altair(spec: Spec) -> Any:
    """The Altair chart of a specification."""
    try:
        import altair
    except ImportError:
        raise OptionError("charts need Altair: pip install 'hushtable[notebook]'") from None
    return altair.Chart.from_dict(spec)


def table_spec(table: ResultTable, marks: Sequence[str] = ()) -> Spec:
    """A table with its error bars; several aggregates stand side by side.

    `marks` are what must be said of its numbers wherever the picture goes: they stand in it.
    """
    drawing = drawing_of(table)
    draw = {"bars": _bars, "line": _line, "grid": _heat_map}[drawing.form]
    panels = [
        {
            "title": titled(panel.title, *marks, drawing.note),
            "data": {"values": _rows(drawing, panel)},
            **draw(drawing, panel),
        }
        for panel in drawing.panels
    ]
    return panels[0] if len(panels) == 1 else {"hconcat": panels}


def titled(text: str, *notes: str) -> Spec:
    """A title, and what must be said, or is not drawn, below it."""
    lines = [note for note in notes if note]
    below = {"subtitle": lines if len(lines) > 1 else lines[0]} if lines else {}
    return {"text": text, "anchor": "start"} | below


def _rows(drawing: Drawing, panel: Panel) -> list[Spec]:
    """What is drawn of each row, and what is told of it."""
    names = ("x", "y") if drawing.form == "grid" else ("group",)
    groups = [
        dict(zip(names, places, strict=True))
        for places in zip(*map(_places, drawing.scales), strict=True)
    ]
    columns = (panel.values, *panel.drawn)
    numbers = zip(*(map(finite, column.tolist()) for column in columns), strict=True)
    return [
        group
        | dict(zip(("value", "lower", "upper"), ends, strict=True))
        | {"shown": shown, "interval": interval, "noise": noise, "row": row}
        for group, ends, (shown, interval), noise, row in zip(
            groups,
            numbers,
            panel.words(),
            panel.is_noise.tolist(),
            drawing.rows.tolist(),
            strict=True,
        )
    ]


def _places(scale: Scale) -> list[Any]:
    """What each row has along an axis: a number, a day or a label."""
    if scale.kind == "number" and len(scale.points) == len(scale.labels):
        return [_whole(number) for number in scale.of_rows.tolist()]
    if scale.kind == "date" and len(scale.points) == len(scale.labels):
        return list(np.datetime_as_string(scale.of_rows).tolist())
    return [scale.labels[i] for i in scale.label_of_row.tolist()]


def _whole(number: float) -> float | int:
    return int(number) if number.is_integer() else number


def _bars(drawing: Drawing, panel: Panel) -> Spec:
    (scale,) = drawing.scales
    rows = {"field": "group", "type": "ordinal", "sort": None, "title": scale.name or None}
    shared = {"y": rows, "tooltip": tooltips(scale.name, panel.name)}
    return {
        "width": _WIDTH,
        "height": {"step": 20},
        "layer": [
            layer("bar", shared | _paled(0.55) | {"x": number("value", panel.name)}, color=VALUE),
            layer("errorbar", shared | _ends("x", panel), color=ERROR, ticks=True),
        ],
    }


def _line(drawing: Drawing, panel: Panel) -> Spec:
    (scale,) = drawing.scales
    shared = {"x": _axis("group", scale), "tooltip": tooltips(scale.name, panel.name)}
    few = len(scale.labels) <= FEW_POINTS  # a bar is seen where a band is too narrow
    bars = [layer("errorbar", shared | _ends("y", panel), color=ERROR, ticks=True)] if few else []
    return {
        "width": _WIDTH,
        "height": _HEIGHT,
        "layer": [
            layer("errorband", shared | _ends("y", panel), color=VALUE, opacity=0.25),
            *_lines(shared, panel, few),
            *bars,
        ],
    }


def _lines(shared: Spec, panel: Panel, few: bool) -> list[Spec]:
    """One line; where some of it is noise a pale one, and what is not over it."""

    def line(field: str, opacity: float) -> Spec:
        point = {"color": VALUE, "opacity": opacity} if few else False
        encoding = shared | {"y": number(field, panel.name)}
        return layer("line", encoding, color=VALUE, opacity=opacity, point=point)

    if not panel.is_noise.any():
        return [line("value", 1.0)]
    known = {"calculate": "datum.noise ? null : datum.value", "as": "sure"}
    return [line("value", _PALE), {"transform": [known], **line("sure", 1.0)}]


def _heat_map(drawing: Drawing, panel: Panel) -> Spec:
    across, up = drawing.scales
    told = [
        {"field": "x", "type": "nominal", "title": across.name},
        {"field": "y", "type": "nominal", "title": up.name},
        *tooltips("", panel.name)[1:],
    ]
    scale: Spec = {"scheme": "viridis"}
    if panel.uneven:
        scale |= {"type": "sqrt", "domain": [0, panel.reach[1]], "clamp": True}
    colour = number("value", panel.name) | {"scale": scale}
    return {
        "width": _WIDTH,
        "height": {"step": 20},
        "mark": {"type": "rect"},
        "encoding": {
            "x": _cells("x", across) | {"title": f"{across.name} ({PALE})"},
            "y": _cells("y", up),
            "color": colour,
            **_paled(1),
            "tooltip": told,
        },
    }


def _paled(opacity: float) -> Spec:
    """What is mostly noise is pale."""
    pale = {"condition": {"test": "datum.noise", "value": _PALE}, "value": opacity}
    return {"opacity": pale}


def _axis(field: str, scale: Scale) -> Spec:
    """Along a line: numbers and days where they are, bins in their order."""
    spec: Spec = {"field": field, "type": _TYPES[scale.kind], "title": scale.name}
    if scale.kind == "date":  # days have no time zone
        return spec | {"scale": {"type": "utc"}}
    if scale.kind == "number":
        return spec | {"scale": {"zero": False, "nice": False}}
    return spec | {"sort": None, "axis": {"labelOverlap": True}}


def _cells(field: str, scale: Scale) -> Spec:
    """Along a heat map: every label in its order."""
    order = list(dict.fromkeys(_places(scale)[i] for i in np.argsort(scale.label_of_row)))
    axis = {"labelOverlap": True}
    return {"field": field, "type": "ordinal", "sort": order, "title": scale.name, "axis": axis}


def _ends(side: str, panel: Panel) -> Spec:
    return {side: number("upper", panel.name), f"{side}2": {"field": "lower"}}


def number(field: str, title: str) -> Spec:
    """A number along an axis, or as a colour."""
    return {"field": field, "type": "quantitative", "title": title}


def tooltips(group: str, name: str) -> list[Spec]:
    """What is told of a row: its group, its value with the error bar, its interval."""
    fields = (("group", group), ("shown", name), ("interval", "interval"))
    return [{"field": field, "type": "nominal", "title": title} for field, title in fields]


def layer(mark: str, encoding: Spec, **style: Any) -> Spec:
    """One layer of a chart."""
    return {"mark": {"type": mark, **style}, "encoding": encoding}
