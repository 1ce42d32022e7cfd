"""What is drawn of a table of answers: which form it has, and where its rows stand.

Pictures and charts are two ways to draw one of these. Text in it is shown as it is, with escapes
for what would stay unseen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats
from hushtable.query.answer import show_bar, show_ends, show_number
from hushtable.text import plain

if TYPE_CHECKING:
    from hushtable.query.result import Label, Measure, ResultTable

Form = Literal["bars", "line", "grid"]
Kind = Literal["category", "number", "date", "bins"]

MOST_BARS = 50
FEW_POINTS = 40
"""Of a line, on which each is marked."""

PALE = "pale: mostly noise"
NUMBER_IS_NOISE = "the interval holds zero, or the error bar is larger than the value"
MEAN_IS_NOISE = "the interval covers over half of all declared values"
"""What that means of counts, sums and differences; of means, quantiles and the like."""

_FEWEST_POINTS = 3
"""Fewer make no line."""

_DATE = re.compile(r"[0-9]{4}-[0-9]{2}(-[0-9]{2})?")
_YEAR = re.compile(r"[0-9]{4}")
_BIN = re.compile(r"\[(-?[0-9.e+]+), -?[0-9.e+]+[\])]")


@dataclass(frozen=True, eq=False)
class Scale:
    """One group column as an axis: its labels in order, and which of them each row has."""

    name: str
    kind: Kind
    labels: list[str]
    points: NDArray[Any]
    """Where each label stands: its number, its date, or its place among the others."""
    label_of_row: NDArray[np.intp]

    @property
    def of_rows(self) -> NDArray[Any]:
        """Where each row stands."""
        return self.points[self.label_of_row]


@dataclass(frozen=True, eq=False)
class Panel:
    """One aggregate, row by row."""

    name: str
    title: str
    values: Floats
    lower: Floats
    upper: Floats
    halves: Floats
    reach: tuple[float, float]
    """What an axis of it shows: all finite numbers, and zero."""
    is_noise: NDArray[np.bool_]
    """Which rows are mostly noise."""

    @property
    def drawn(self) -> tuple[Floats, Floats]:
        """The ends as they are drawn: those that there are, and the edge where there is none."""
        low, high = self.reach
        return (
            np.where(np.isinf(self.lower), low, self.lower),
            np.where(np.isinf(self.upper), high, self.upper),
        )

    @property
    def uneven(self) -> bool:
        """Whether one colour would be that of nearly all cells, were colours in proportion.

        Of counts, that is: a few of them are below zero, for all their noise, and not far below.
        """
        values = self.values[np.isfinite(self.values) & ~self.is_noise]
        if not len(values):
            return False
        most, middle = float(values.max()), float(np.median(values))
        return 0 < 4 * middle < most and float(values.min()) > -most / 4

    def words(self) -> list[tuple[str, str]]:
        """Each row's value with its error bar, and its interval."""
        rows = zip(self.values, self.halves, self.lower, self.upper, strict=True)
        return [
            (
                f"{show_number(value, half)} ± {show_bar(value, half)}",
                " to ".join(show_ends(low, high, half)),
            )
            for value, half, low, high in rows
        ]


@dataclass(frozen=True, eq=False)
class Drawing:
    """A table as it is drawn: one panel for each aggregate."""

    form: Form
    scales: tuple[Scale, ...]
    """One, or of a grid two: across and up."""
    panels: tuple[Panel, ...]
    note: str
    """What is not drawn."""
    rows: NDArray[np.intp]
    """Which rows of the table are drawn, in this order."""


def drawing_of(table: ResultTable) -> Drawing:
    """The form that suits the table's group columns."""
    scales = [_scale(name, labels) for name, labels in table.groups.items()]
    form = _form(scales)
    rows = np.arange(len(table))
    if form == "line":
        scales, rows, note = _in_order(table, scales[0])
    elif form == "grid":
        scales, note = sorted(scales, key=_upright), ""
    else:
        rows = rows[:MOST_BARS]
        hidden = len(table) - len(rows)
        scales, note = [_joined(table, rows)], f"{hidden:,} more rows" if hidden else ""
    by = f" by {', '.join(map(plain, table.groups))}" if table.groups else ""
    panels = [
        _panel(plain(name), f"{plain(name)}{by} ({table.level})", measure, table, rows)
        for name, measure in table.measures.items()
    ]
    return Drawing(form, tuple(scales), tuple(panels), note, rows)


def _form(scales: list[Scale]) -> Form:
    rows = list(zip(*(scale.label_of_row.tolist() for scale in scales), strict=True))
    if len(set(rows)) < len(rows):  # subtotals, for instance
        return "bars"
    if len(scales) == 1 and scales[0].kind != "category":
        return "line" if len(scales[0].labels) >= _FEWEST_POINTS else "bars"
    both = len(scales) == 2 and min(len(scale.labels) for scale in scales) > 1
    return "grid" if both else "bars"


def _upright(scale: Scale) -> tuple[bool, int]:
    """A heat map has along its width what is ordered, or has more labels."""
    return scale.kind == "category", -len(scale.labels)


def _scale(name: str, labels: Sequence[Label] | NDArray[Any]) -> Scale:
    """Labels in the order of what they stand for, else of their first rows; NULL comes last."""
    each = list(labels.tolist() if isinstance(labels, np.ndarray) else labels)
    different = list(dict.fromkeys(each))
    kind, points = _points([label for label in different if label is not None])
    if kind != "category":
        known = [label for label in different if label is not None]
        order = np.argsort(points, kind="stable")
        different = [known[i] for i in order] + [None] * (None in different)
        points = points[order]
    if kind in ("category", "bins"):
        points = np.arange(len(different))
    place = {label: i for i, label in enumerate(different)}
    of_row = np.array([place[label] for label in each], np.intp)
    return Scale(plain(name), kind, _distinct(map(_shown, different)), points, of_row)


def _points(labels: list[Any]) -> tuple[Kind, NDArray[Any]]:
    """What labels stand for, and where each stands among them."""
    if not labels:
        return "category", np.zeros(0)
    if all(isinstance(label, int | float) for label in labels):
        return "number", np.array(labels, np.float64)
    texts = [str(label) for label in labels]
    if all(map(_DATE.fullmatch, texts)) or _are_years(texts):
        try:
            return "date", np.array(texts, "datetime64[D]")
        except ValueError:  # no such day
            return "category", np.zeros(0)
    bins = [_BIN.fullmatch(text) for text in texts]
    if all(bins):
        return "bins", np.array([float(found[1]) for found in bins if found])
    return "category", np.zeros(0)


def _are_years(texts: list[str]) -> bool:
    """Whether these are years in a row; other codes of four digits have gaps."""
    if not all(map(_YEAR.fullmatch, texts)):
        return False
    years = sorted(map(int, texts))
    return len(years) > 1 and years == list(range(years[0], years[-1] + 1))


def _in_order(table: ResultTable, scale: Scale) -> tuple[list[Scale], NDArray[np.intp], str]:
    """Rows along their axis; NULL has no place on one, but is told."""
    order = np.argsort(scale.label_of_row, kind="stable")
    known = len(scale.labels)
    if None not in list(next(iter(table.groups.values()))):
        return [_taken(scale, order, known)], order, ""
    words = ", ".join(
        f"{plain(name)} {show_number(value, half)} ± {show_bar(value, half)}"
        for name, measure in table.measures.items()
        for value in [float(measure.values[order[-1]])]
        for half in [float(measure.half_widths(table.row_confidence)[order[-1]])]
    )
    return [_taken(scale, order[:-1], known - 1)], order[:-1], f"without NULL: {words}"


def _taken(scale: Scale, rows: NDArray[np.intp], known: int) -> Scale:
    return Scale(
        scale.name,
        scale.kind,
        scale.labels[:known],
        scale.points[:known],
        scale.label_of_row[rows],
    )


def _joined(table: ResultTable, rows: NDArray[np.intp]) -> Scale:
    """Each row by itself, named by all its labels."""
    columns = [list(labels) for labels in table.groups.values()]
    names = [" · ".join(_shown(column[i]) for column in columns) for i in rows.tolist()]
    title = ", ".join(map(plain, table.groups))
    return Scale(title, "category", _distinct(names), np.arange(len(rows)), np.arange(len(rows)))


def _panel(
    name: str, title: str, measure: Measure, table: ResultTable, rows: NDArray[np.intp]
) -> Panel:
    some = measure.taken(rows)
    lower, upper = (np.asarray(end, np.float64) for end in some.bounds(table.row_confidence))
    values = np.asarray(some.values, np.float64)
    halves = some.half_widths(table.row_confidence)
    reach, noise = reach_of(values, lower, upper), mostly_noise(some, table.row_confidence)
    return Panel(name, title, values, lower, upper, halves, reach, noise)


def mostly_noise(measure: Measure, level: float) -> NDArray[np.bool_]:
    """Which rows tell little: their noise is as large as what was asked for.

    A number may be zero in truth. A mean may be nearly anywhere: zero is a value like others there.
    """
    lower, upper = (np.asarray(end, np.float64) for end in measure.bounds(level))
    values = np.asarray(measure.values, np.float64)
    if measure.extent is None:
        is_known = measure.half_widths(level) <= np.abs(values)  # not of what is no number
        return np.asarray((lower <= 0) & (upper >= 0) | ~is_known)
    least, most = measure.extent
    covered = np.minimum(upper, most) - np.maximum(lower, least)
    is_bounded = np.isfinite(lower) & np.isfinite(upper) & np.isfinite(values)
    return np.asarray(~(is_bounded & (covered >= 0) & (2 * covered <= most - least)))


def noise_words(measure: Measure) -> str:
    """When a row of an aggregate is mostly noise."""
    return NUMBER_IS_NOISE if measure.extent is None else MEAN_IS_NOISE


def reach_of(*columns: NDArray[Any]) -> tuple[float, float]:
    """The least range that holds zero and all finite numbers of columns."""
    numbers = np.concatenate([np.asarray(column, np.float64) for column in columns])
    finite = numbers[np.isfinite(numbers)]
    return float(finite.min(initial=0.0)), float(finite.max(initial=0.0))


def _shown(label: Label) -> str:
    return "NULL" if label is None else plain(str(label))


def _distinct(labels: Any) -> list[str]:
    """Labels of which no two are the same text: the second one "x" becomes "x (2)"."""
    seen: dict[str, None] = {}
    for label in labels:
        name, number = label, 1
        while name in seen:
            number += 1
            name = f"{label} ({number})"
        seen[name] = None
    return list(seen)
