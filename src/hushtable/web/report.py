"""A report to hand over: one HTML file with all charts in it, which opens offline and runs nothing.

Charts are images inside the file, so that nothing of one can reach the page, and each has a text
that says what it shows. The same release always gives the same bytes.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hushtable.errors import HushError, OptionError
from hushtable.kernel.privacy.loss import format_epsilon
from hushtable.query.answer import show_bar, show_ends, show_number
from hushtable.query.drawing import MOST_BARS, drawing_of
from hushtable.query.reader import ModelReader
from hushtable.query.result import Order
from hushtable.query.table_names import split_tables
from hushtable.release.export import check_new
from hushtable.schema import Edges, IntegerRange
from hushtable.scratch import whole_file
from hushtable.web.grain import default_grain
from hushtable.web.question import By, Question
from hushtable.web.wording import alike

if TYPE_CHECKING:
    from hushtable.query.answer import Answer
    from hushtable.query.result import ResultTable
    from hushtable.release import Release
    from hushtable.schema import Attribute
    from hushtable.web.report_chart import Chart

MOST_CHARTS = 60
"""Attributes that have a chart."""

MOST_POINTS = 1_000
"""Of a line."""

LARGEST = 30
"""Bars of an attribute that has more values than a chart shows."""

MOST_PAIRS, MOST_CELLS = 8, 300
MOST_LISTED = 40
"""Small tables, or refusals, that are named."""

MOST_VALUES = 12
"""Values of an attribute that are named."""

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Written:
    """What a report has."""

    charts: int
    pairs: int
    refused: int


@dataclass(frozen=True)
class Number:
    """One number with its error bar."""

    title: str
    value: str
    bar: str
    low: str
    high: str
    estimate: bool


def write_report(release: Release, out: str | Path, progress: Progress | None = None) -> Written:
    """Write a new `.html` file about a release; the extra `hushtable[web]` draws it."""
    path = Path(out)
    if path.suffix.lower() not in (".html", ".htm"):
        raise OptionError(f"{path.name} must end in .html")
    check_new(path)
    try:
        import jinja2  # noqa: F401
        import vl_convert  # noqa: F401
    except ImportError:
        raise OptionError("a report needs an extra: pip install 'hushtable[web]'") from None
    from hushtable.web.rendering import render

    found = _Findings(release, progress or (lambda done, total: None))
    content = render("report.html", **found.facts()).body
    with whole_file(path) as partial:
        partial.write_bytes(content)
    return Written(len(found.charts), len(found.pairs), len(found.refused))


class _Findings:
    """All that a release is asked for a report."""

    def __init__(self, release: Release, progress: Progress) -> None:
        self.release = release
        self.refused: list[tuple[str, str]] = []
        self.charts: list[Chart] = []
        self.pairs: list[Chart] = []
        attributes = release.schema.attributes
        drawn = attributes[:MOST_CHARTS]
        steps = len(drawn) + MOST_PAIRS + 1
        self.total = self._number("All together", lambda: release.count())
        self.sizes: dict[str, int] = {}
        for done, attribute in enumerate(drawn):
            progress(done, steps)
            self._draw_attribute(attribute)
        self.means = [
            mean
            for attribute in drawn
            if isinstance(attribute.values, IntegerRange | Edges)
            for mean in [self._mean(attribute.name)]
            if mean is not None
        ]
        candidates = self._pairs()
        for done, (first, second) in enumerate(candidates[:MOST_PAIRS], len(drawn)):
            progress(done, steps)
            self._draw_pair(first, second)
        self.hidden_charts = len(attributes) - len(drawn)
        self.hidden_pairs = max(len(candidates) - MOST_PAIRS, 0)
        progress(steps, steps)

    # ── asking ───────────────────────────────────────────────────────────────────────────────────

    def _number(self, title: str, ask: Callable[[], Answer]) -> Number | None:
        try:
            answer = ask()
            low, high = answer.interval()
        except HushError as problem:
            self.refused.append((title, problem.plainly))
            return None
        value, half = float(answer.value), answer.law.half_width(0.95)
        ends = show_ends(float(low), float(high), half)
        shown = show_number(value, half), show_bar(value, half)
        return Number(title, *shown, *ends, estimate=answer.estimate)

    def _mean(self, name: str) -> Number | None:
        return self._number(f"Mean of {name}", lambda: self.release.mean(name))

    def _table(self, title: str, *attributes: Attribute) -> ResultTable | None:
        by = tuple(By(attribute, default_grain(attribute)) for attribute in attributes)
        try:
            return self.release.sql(Question(self.release.schema.name, by=by).sql())
        except HushError as problem:
            self.refused.append((title, problem.plainly))
            return None

    def _draw_attribute(self, attribute: Attribute) -> None:
        from hushtable.web.report_chart import chart_of

        table = self._table(attribute.name, attribute)
        if table is None:
            return
        rows = len(table)
        self.sizes[attribute.name] = rows
        drawing = drawing_of(table)
        if drawing.form == "line" and rows > MOST_POINTS:
            line = f"its {rows:,} values are too many for a chart"
            self.refused.append((attribute.name, line))
            return
        said = [] if default_grain(attribute).code == "each" else [default_grain(attribute).words]
        if drawing.form == "bars" and rows > MOST_BARS:
            table = table.ordered([Order(table.count_name, descending=True)], LARGEST)
            said.append(
                f"the {LARGEST} largest of {rows:,}; their error bars hold all at once, for they"
                " were chosen by their size"
            )
        chart = chart_of(attribute.name, table, private=self.release.private, said=said)
        self.charts.append(chart)

    def _pairs(self) -> list[tuple[Attribute, Attribute]]:
        """Pairs that one table tells and that can be read as a heat map, the largest first."""
        schema = self.release.schema
        listed = [
            [name for name, _ in items]
            for table in self.release.tables
            for items in split_tables(table)
        ] or [[attribute.name for attribute in schema.attributes]]
        pairs = {
            pair
            for names in listed
            for pair in combinations(sorted(names, key=schema.index), 2)
            if all(self.sizes.get(name, 0) > 1 for name in pair) and self._cells(pair) <= MOST_CELLS
        }
        order = sorted(pairs, key=lambda pair: (-self._cells(pair), *map(schema.index, pair)))
        return [(schema.attribute(first), schema.attribute(second)) for first, second in order]

    def _cells(self, pair: tuple[str, ...]) -> int:
        return self.sizes[pair[0]] * self.sizes[pair[1]]

    def _draw_pair(self, first: Attribute, second: Attribute) -> None:
        from hushtable.web.report_chart import chart_of

        title = f"{first.name} and {second.name}"
        table = self._table(title, first, second)
        if table is not None:
            said = [
                f"{one.name} in {default_grain(one).words}"
                for one in (first, second)
                if default_grain(one).code != "each"
            ]
            self.pairs.append(chart_of(title, table, private=self.release.private, said=said))

    # ── telling ──────────────────────────────────────────────────────────────────────────────────

    def facts(self) -> dict[str, Any]:
        """What the template shows."""
        release = self.release
        privacy = release.manifest["privacy"]
        tables = [name.replace("+", " × ").replace("@", " at level ") for name in release.tables]
        return {
            "name": release.schema.name,
            "private": release.private,
            "privacy": privacy,
            "alike": alike(release.schema),
            "epsilon": format_epsilon(release.epsilon),
            "mechanism": release.mechanism,
            "noise": release.manifest["noise"]["law"],
            "created": release.manifest["created"],
            "snapshot": release.snapshot,
            "estimate": release.estimate,
            "total": self.total,
            "means": self.means,
            "attributes": [_attribute(one) for one in release.schema.attributes],
            "charts": self.charts,
            "hidden_charts": self.hidden_charts,
            "pairs": self.pairs,
            "hidden_pairs": self.hidden_pairs,
            "most_cells": MOST_CELLS,
            "refused": self.refused[:MOST_LISTED],
            "hidden_refused": max(len(self.refused) - MOST_LISTED, 0),
            "tables": tables[:MOST_LISTED],
            "hidden_tables": max(len(tables) - MOST_LISTED, 0),
            "has_model": isinstance(release.reader, ModelReader),
            **_asking(release),
        }


def _attribute(attribute: Attribute) -> dict[str, Any]:
    """What values an attribute has, in few words."""
    size = attribute.declared
    ends = [str(attribute.label(code)) for code in (0, size - 1)]
    if attribute.kind == "nominal" or not isinstance(attribute.values, IntegerRange | Edges):
        labels = [str(attribute.label(code)) for code in range(min(size, MOST_VALUES))]
        more = [f"… ({size:,} in all)"] if size > MOST_VALUES else []
        values = [*labels, *more]
    else:
        values = [f"{ends[0]} to {ends[1]}" if size > 1 else ends[0]]
    fates = {
        "clip": "count as the nearest one",
        "drop": "are not counted",
        "other": "are counted together, as “no value”",
    }
    hierarchy = attribute.hierarchy
    groups = hierarchy.nodes if hierarchy is not None and hierarchy.height > 1 else ()
    top = [node.label for node in groups if node.depth == 1]
    return {
        "name": attribute.name,
        "kind": "in order" if attribute.kind == "ordinal" else "categories",
        "size": f"{size:,}",
        "values": values,
        "groups": [*top[:MOST_VALUES], *([f"… ({len(top):,})"] if len(top) > MOST_VALUES else [])],
        "outside": fates[attribute.outside],
    }


def _asking(release: Release) -> dict[str, str]:
    """Questions in SQL and Python, and the page: how to go on."""
    first = next(iter(release.schema.attributes))
    sql = " ".join(
        Question(release.schema.name, by=(By(first, default_grain(first)),)).sql().split("\n")
    )
    folder = release.folder.name
    return {
        "shell": f"hush query {shlex.quote(folder)} {shlex.quote(sql)}",
        "python": f"import hushtable as ht\nht.open({folder!r}).sql({sql!r})",
        "explore": f"hush explore {shlex.quote(folder)}",
    }
