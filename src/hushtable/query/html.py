"""Answers and tables of answers as HTML, for notebooks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hushtable.markup import (
    MOST_ROWS,
    Markup,
    block,
    element,
    grid,
    interval,
    more_rows,
    paragraph,
    small,
)
from hushtable.query.answer import (
    ESTIMATE,
    show_bar,
    show_ends,
    show_level,
    show_number,
    show_percent,
)
from hushtable.query.drawing import reach_of

if TYPE_CHECKING:
    from hushtable.query.answer import Answer
    from hushtable.query.result import Measure, ResultTable

_CONFIDENCE = 0.95


def answer_html(answer: Answer) -> str:
    """A value, its error bar, and what both mean in words."""
    half = answer.law.half_width(_CONFIDENCE)
    low, high = show_ends(*answer.interval(_CONFIDENCE), half)
    level = show_level(_CONFIDENCE, estimate=answer.estimate)
    shown = f"{show_number(answer.value, half)} ± {show_bar(answer.value, half)}"
    words = (
        f"The true value lies between {low} and {high} with {show_percent(_CONFIDENCE)} confidence;"
        f" the standard error is {show_number(answer.stderr, answer.stderr)}."
    )
    return block(
        shown,
        element("span", f" ({level})"),
        paragraph(words),
        _estimate(answer.estimate),
        small(answer.note) if answer.note else Markup(),
    )


def table_html(table: ResultTable) -> str:
    """The first rows, each aggregate with its error bar as numbers and as a sketch."""
    shown = table.first(MOST_ROWS)
    heads: list[Any] = [*shown.groups]
    columns: list[list[Any]] = [
        ["NULL" if label is None else label for label in labels] for labels in shown.groups.values()
    ]
    for name, measure in shown.measures.items():
        told = _measure_columns(name, measure, table, alone=len(table.measures) == 1)
        heads += [head for head, _ in told]
        columns += [column for _, column in told]
    rows = list(zip(*columns, strict=True))
    return element(
        "div",
        grid(heads, rows, left=len(shown.groups)),
        more_rows(len(table) - len(shown)),
        _estimate(table.estimate),
        small(table.clipping) if table.clipping else Markup(),
    )


def _measure_columns(
    name: str, measure: Measure, table: ResultTable, *, alone: bool
) -> list[tuple[str, list[Any]]]:
    """The columns of an aggregate: the ends of its intervals too where there is no other."""
    halves = measure.half_widths(table.row_confidence)
    low, high = (np.asarray(end, float) for end in measure.bounds(table.row_confidence))
    values = np.asarray(measure.values, float)
    reach = reach_of(values, low, high)
    bars = [
        Markup(show_bar(value, half) + (" " + element("em", "estimate") if guess else ""))
        for value, half, guess in zip(values, halves, measure.estimates, strict=True)
    ]
    columns: list[tuple[str, list[Any]]] = [
        (name, list(map(show_number, values, halves))),
        (f"± ({table.level})", bars),
    ]
    if alone:
        pairs = list(map(show_ends, low, high, halves))
        columns += [(head, [pair[i] for pair in pairs]) for i, head in enumerate(("from", "to"))]
    sketches = [interval(*row, reach) for row in zip(values, low, high, strict=True)]
    return [*columns, ("", sketches)] if len(values) > 1 else columns


def _estimate(estimate: bool) -> Markup:
    if not estimate:
        return Markup()
    return paragraph(element("em", "estimate"), f": {ESTIMATE}.")
