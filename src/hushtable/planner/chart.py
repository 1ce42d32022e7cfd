"""A plan as a Vega-Lite specification, which Altair and web pages draw."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hushtable.planner.errors_drawn import TITLE, errors_of
from hushtable.planner.html import plan_title
from hushtable.query.answer import show_number
from hushtable.query.chart import ERROR, VALUE, Spec, layer, number, titled, tooltips
from hushtable.text import plain

if TYPE_CHECKING:
    from hushtable.planner.plan import Plan

_RECOMMENDED = "#d55e00"


def plan_spec(plan: Plan) -> Spec:
    """The forecast errors of every mechanism, the best on top."""
    rows = [
        {
            "group": one.label,
            "value": one.error,
            "lower": one.least,
            "upper": one.most,
            "recommended": one.recommended,
            "shown": show_number(one.error),
            "interval": f"{show_number(one.least)} to {show_number(one.most)}",
        }
        for one in errors_of(plan)
    ]
    shared = {
        "y": {"field": "group", "type": "ordinal", "sort": None, "title": None},
        "tooltip": tooltips("mechanism", "standard error"),
    }
    along = {"scale": {"type": "log"}}
    colour = {"condition": {"test": "datum.recommended", "value": _RECOMMENDED}, "value": VALUE}
    ends = {"x": number("upper", TITLE) | along, "x2": {"field": "lower"}}
    value = {"x": number("value", TITLE) | along, "color": colour}
    return {
        "title": titled(plain(plan_title(plan))),
        "data": {"values": rows},
        "width": 460,
        "height": {"step": 24},
        "layer": [
            layer("errorbar", shared | ends, color=ERROR, ticks=True),
            layer("point", shared | value, filled=True, size=70, opacity=1),
        ],
    }
