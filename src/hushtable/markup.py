"""HTML for notebooks: pieces from which values show themselves.

Text from others is escaped, and what would stay unseen in it is shown. There is no script, nothing
is loaded from elsewhere, and all colours are those of the page, so that light and dark ones do.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from hushtable.text import plain

MOST_ROWS = 20
"""Rows of a table that are shown."""

_WIDTH, _HEIGHT = 120, 14


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def written(value: Any) -> Markup:
    """A value as HTML; markup stays as it is.

    >>> written("<b>"), written(Markup("<b/>"))
    ('&lt;b&gt;', '<b/>')
    """
    return value if isinstance(value, Markup) else Markup(escape(plain(str(value))))


def element(tag: str, *inside: Any, style: str = "") -> Markup:
    """An element with what is inside it."""
    styled = f' style="{style}"' if style else ""
    return Markup(f"<{tag}{styled}>{''.join(map(written, inside))}</{tag}>")


def block(title: str, *parts: Markup) -> Markup:
    """All that a value shows: a title, and parts one below the other."""
    return element("div", element("strong", title), *parts)


def paragraph(*inside: Any) -> Markup:
    """A line of text."""
    return element("div", *inside, style="margin:0.3em 0")


def small(*inside: Any) -> Markup:
    """A line that matters less."""
    return element("div", *inside, style="margin:0.3em 0;font-size:smaller;opacity:0.75")


def code(text: str) -> Markup:
    """Code to copy."""
    return element("code", text)


def facts(pairs: Iterable[tuple[str, Any]]) -> Markup:
    """What there is to know, a line for each fact."""
    left = "text-align:left;vertical-align:top;"
    rows = [
        element(
            "tr",
            element("th", name, style=f"{left}font-weight:normal;opacity:0.75"),
            element("td", value, style=left),
        )
        for name, value in pairs
    ]
    return element("table", element("tbody", *rows), style="margin:0.3em 0")


def grid(heads: Sequence[Any], rows: Sequence[Sequence[Any]], *, left: int = 1) -> Markup:
    """A table; all but the first `left` columns are flush right. Rows beyond some are counted."""
    sides = ["text-align:left" if i < left else "text-align:right" for i in range(len(heads))]
    head = [element("th", name, style=side) for name, side in zip(heads, sides, strict=True)]
    lines = [
        element("tr", *(element("td", v, style=s) for v, s in zip(row, sides, strict=True)))
        for row in rows[:MOST_ROWS]
    ]
    inside = (element("thead", element("tr", *head)), element("tbody", *lines))
    table = element("table", *inside, style="margin:0.3em 0;font-variant-numeric:tabular-nums")
    return Markup(table + more_rows(len(rows) - len(lines)))


def more_rows(hidden: int) -> Markup:
    """How many rows are not shown, if there are any."""
    return small(f"… {hidden:,} more row{'s' * (hidden > 1)}") if hidden > 0 else Markup()


def interval(value: float, low: float, high: float, reach: tuple[float, float]) -> Markup:
    """A sketch of an interval and the value in it; `reach` is what the width stands for.

    What lies beyond the reach, as an interval without an end does, goes to the edge.
    """
    first, last, middle = (_place(number, reach) for number in (low, high, value))
    if math.isnan(first) or math.isnan(last) or math.isnan(middle):
        return Markup()
    zero = _place(0.0, reach)
    half = _HEIGHT / 2
    return _picture(
        _line(zero, 1, zero, _HEIGHT - 1, "0.35"),
        _line(first, half, last, half, "0.7"),
        *(_line(x, half - 3, x, half + 3, "0.7") for x in (first, last)),
        f'<circle cx="{middle:.1f}" cy="{half:g}" r="2.5" fill="currentColor"/>',
    )


def length(value: float, longest: float) -> Markup:
    """A sketch of a number above zero: a bar whose full width stands for the longest one."""
    if not (math.isfinite(value) and longest > 0):
        return Markup()
    wide = max(_place(value, (0.0, longest)) - _place(0.0, (0.0, longest)), 1.0)
    return _picture(
        f'<rect x="3" y="4" width="{wide:.1f}" height="{_HEIGHT - 8}" fill="currentColor"'
        ' opacity="0.55"/>'
    )


def _place(number: float, reach: tuple[float, float]) -> float:
    """Where a number stands in a sketch, at the edge if beyond."""
    low, high = reach
    share = (number - low) / (high - low) if high > low else 0.5
    return 3 + (_WIDTH - 6) * (share if math.isnan(share) else min(max(share, 0.0), 1.0))


def _line(x1: float, y1: float, x2: float, y2: float, opacity: str) -> str:
    ends = f'x1="{x1:.1f}" y1="{y1:g}" x2="{x2:.1f}" y2="{y2:g}"'
    return f'<line {ends} stroke="currentColor" stroke-width="1.2" opacity="{opacity}"/>'


def _picture(*shapes: str) -> Markup:
    """Whoever does not see it has the numbers beside it."""
    size = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
    style = 'style="vertical-align:middle"'
    return Markup(f'<svg {size} aria-hidden="true" {style}>{"".join(shapes)}</svg>')
