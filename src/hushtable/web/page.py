"""The page of a release: a question, its answer as a chart and a table, and where to go from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from io import BytesIO
from typing import TYPE_CHECKING, Any

from hushtable.errors import HushError
from hushtable.kernel.privacy.loss import format_epsilon
from hushtable.query.answer import ESTIMATE, show_bar, show_ends, show_number
from hushtable.query.chart import table_spec
from hushtable.query.drawing import MOST_BARS, drawing_of, mostly_noise, noise_words
from hushtable.query.reader import ModelReader
from hushtable.query.table_names import split_tables
from hushtable.web.controls import control_of
from hushtable.web.exchange import Asked, Reply
from hushtable.web.grain import grains_of, level_grain
from hushtable.web.question import (
    OF_AN_ATTRIBUTE,
    SHOWN,
    By,
    Filter,
    Question,
    by_of,
    read_question,
)
from hushtable.web.rendering import render
from hushtable.web.wording import alike, marks_of

if TYPE_CHECKING:
    from hushtable.query.result import ResultTable
    from hushtable.release import Release
    from hushtable.schema import Attribute, Schema

SHOWN_ROWS = 1_000
"""Of a table on the page; a download has all."""

MOST_DRAWN = 5_000
"""Points of a line or cells of a heat map; more are only listed."""

MOST_COMPARED = 300
"""Rows among which two can be chosen."""

MOST_TABLES = 40


def page(release: Release, asked: Asked) -> Reply:
    """The page of a release, with the answer to the question of the URL."""
    try:
        question = read_question(release.schema, asked.query, start=_start(release))
    except HushError as problem:
        question = _fallback(release, asked)
        return _render(release, asked, question, refused=problem.plainly, understood=False)
    try:
        answer = _answered(release, question, question.sql(), asked.rows)
        difference = _difference(release, question)
    except HushError as problem:
        return _render(release, asked, question, refused=problem.plainly)
    return _render(release, asked, question, answer=answer, difference=difference)


def download(release: Release, asked: Asked, ending: str) -> Reply:
    """The whole table of a question as a file."""
    import pyarrow.csv
    import pyarrow.parquet

    question = read_question(release.schema, asked.query, start=_start(release))
    table = _answered(release, question, question.sql(), asked.rows)
    content = BytesIO()
    if ending == "csv":
        pyarrow.csv.write_csv(table.to_arrow(), content)
    else:
        pyarrow.parquet.write_table(table.to_arrow(), content)
    kinds = {"csv": "text/csv; charset=utf-8", "parquet": "application/vnd.apache.parquet"}
    named = (("Content-Disposition", f'attachment; filename="answer.{ending}"'),)
    return Reply(200, kinds[ending], content.getvalue(), named)


def download_csv(release: Release, asked: Asked) -> Reply:
    """The whole table of a question for a spreadsheet."""
    return download(release, asked, "csv")


def download_parquet(release: Release, asked: Asked) -> Reply:
    """The whole table of a question for other tools."""
    return download(release, asked, "parquet")


def refusal(asked: Asked, line: str, status: int) -> Reply:
    """A page that says in one line why there is no answer."""
    return render("refusal.html", status=status, root=asked.root, title="No answer", line=line)


# ── asking ───────────────────────────────────────────────────────────────────────────────────────


def _answered(release: Release, question: Question, sql: str, rows: int) -> ResultTable:
    return release.sql(
        sql,
        confidence=question.confidence,
        simultaneous=question.together,
        estimate=question.estimate,
        row_cap=rows,
    )


@dataclass(frozen=True)
class Difference:
    """Two rows compared: how far apart they are, and whether noise alone may have done it."""

    first: str
    second: str
    value: str
    bar: str
    low: str
    high: str
    certain: bool
    larger: str
    estimate: bool
    sql: str


def _difference(release: Release, question: Question) -> Difference | None:
    sql = question.difference_sql()
    if sql is None or question.compared is None:
        return None
    table = _answered(release, replace(question, together=False), sql, 1)
    value, half = float(table.values[0]), float(table.half_widths[0])
    low, high = (float(end[0]) for end in table.bounds)
    first, second = question.compared
    return Difference(
        first,
        second,
        show_number(value, half),
        show_bar(value, half),
        *show_ends(low, high, half),
        certain=low > 0 or high < 0,
        larger=first if low > 0 else second,
        estimate=table.estimate,
        sql=sql,
    )


def _start(release: Release) -> str:
    """The attribute whose counts are shown first: one that can be told by itself."""
    names = [attribute.name for attribute in release.schema.attributes]
    told = {
        name
        for table in release.tables
        for items in split_tables(table)
        for name, level in items
        if level is None
    }
    return next((name for name in names if not told or name in told), names[0])


def _fallback(release: Release, asked: Asked) -> Question:
    """A question to go on from, where the URL has none that can be understood."""
    sql = dict(asked.query).get("sql")
    kept = (("sql", sql),) if sql else ()
    return read_question(release.schema, kept, start=_start(release))


# ── showing ──────────────────────────────────────────────────────────────────────────────────────


def _render(
    release: Release,
    asked: Asked,
    question: Question,
    *,
    answer: ResultTable | None = None,
    difference: Difference | None = None,
    refused: str | None = None,
    understood: bool = True,
) -> Reply:
    schema = release.schema
    base = f"{asked.root}/{asked.name}"
    return render(
        "release.html",
        status=200 if refused is None else 400,
        root=asked.root,
        base=base,
        title=schema.name,
        name=asked.name,
        about=_about(release),
        question=question,
        sql=question.sql() if understood or question.own_sql is not None else "",
        python=_python(asked.name, question) if not refused else "",
        controls=_controls(schema, question),
        chips=_chips(question, base),
        answer=None if answer is None else _shown(answer, question, base, release.private),
        difference=difference,
        compare=[] if answer is None else _comparable(answer, question),
        refused=refused,
        model_url=_model_url(release, question, base) if refused else None,
        tables=_tables(release) if refused else [],
        query=question.url() if not refused else "",
        hidden=_hidden(question),
        has_model=isinstance(release.reader, ModelReader),
    )


def _about(release: Release) -> dict[str, Any]:
    privacy = release.manifest["privacy"]
    return {
        "dataset": release.schema.name,
        "protects": privacy["unit"],
        "neighbours": privacy["neighbours"],
        "alike": alike(release.schema),
        "guarantee": privacy["guarantee"],
        "epsilon": format_epsilon(release.epsilon),
        "delta": privacy["delta"],
        "mechanism": release.mechanism,
        "noise": release.manifest["noise"]["law"],
        "created": release.manifest["created"],
        "private": release.private,
        "estimate": release.estimate,
        "snapshot": release.snapshot,
        "attributes": len(release.schema.attributes),
    }


def _controls(schema: Schema, question: Question) -> dict[str, Any]:
    chosen = [by.attribute.name for by in question.by] + ["", ""]
    filters = {one.attribute.name: one for one in question.filters}
    return {
        "by": [_grouping(question, place) for place in (0, 1)],
        "names": [attribute.name for attribute in schema.attributes],
        "chosen": chosen[:2],
        "shown": SHOWN,
        "of_an_attribute": OF_AN_ATTRIBUTE,
        "numbers": [one.name for one in schema.attributes if _is_numeric(one)],
        "filters": [
            control_of(attribute, filters.get(attribute.name)) for attribute in schema.attributes
        ],
        "levels": ["0.9", "0.95", "0.99", "0.999"],
    }


def _grouping(question: Question, place: int) -> list[tuple[str, str, bool]]:
    """The ways to see the attribute at a place: code, words, and whether it is chosen."""
    if place >= len(question.by):
        return []
    by = question.by[place]
    listed = grains_of(by.attribute)
    grains = listed if by.grain in listed else [*listed, by.grain]
    return [(one.code, one.words, one == by.grain) for one in grains]


def _is_numeric(attribute: Attribute) -> bool:
    from hushtable.schema import Edges, IntegerRange

    return isinstance(attribute.values, IntegerRange | Edges)


@dataclass(frozen=True)
class Chip:
    """A filter that is on, the way to drop it, and the groups around it."""

    name: str
    words: str
    drop: str
    up: tuple[tuple[str, str], ...]


def _chips(question: Question, base: str) -> list[Chip]:
    return [
        Chip(
            one.attribute.name,
            one.words(),
            base + question.without(one).url(),
            tuple(_above(question, one, base)),
        )
        for one in question.filters
    ]


def _above(question: Question, one: Filter, base: str) -> list[tuple[str, str]]:
    """The groups that hold the one that is looked at, the widest first."""
    hierarchy = one.attribute.hierarchy
    node = hierarchy.find(one.values[0]) if hierarchy and len(one.values) == 1 else None
    if hierarchy is None or node is None:
        return []
    around = [n for n in hierarchy.nodes if n.start <= node.start and node.stop <= n.stop]
    links = []
    for outer in around:
        if outer.depth >= node.depth:
            continue
        if outer.depth == 0:
            wider = question.without(one)
        else:
            wider = question.within(by_of(one.attribute), outer.label)
        if question.by and question.by[0].attribute == one.attribute:
            wider = wider.split(_below(one.attribute, outer.depth), *question.by[1:])
        label = f"all of {one.attribute.name}" if outer.depth == 0 else outer.label
        links.append((label, base + wider.url()))
    return links


def _below(attribute: Attribute, depth: int) -> By:
    """An attribute by the groups just below a depth of its hierarchy."""
    return By(attribute, level_grain(attribute, depth + 1))


def _shown(table: ResultTable, question: Question, base: str, private: bool) -> dict[str, Any]:
    """A table as the template shows it."""
    marks = marks_of(private=private, estimate=table.estimate)
    drawn = len(table) if len(table) <= MOST_DRAWN else 0
    form = drawing_of(table).form if drawn else ""
    rows = _rows(table.first(SHOWN_ROWS), table, question, base)
    return {
        "columns": [*table.groups],
        "measures": [*table.measures],
        "level": table.level,
        "rows": rows,
        "hidden": len(table) - len(rows),
        "single": not table.groups and len(table) == 1,
        "estimate": table.estimate,
        "estimate_words": ESTIMATE,
        "simultaneous": table.simultaneous,
        "note": table.whole_note,
        "spec": table_spec(table, marks) if form and table.groups else None,
        "pale": list(dict.fromkeys(map(noise_words, table.measures.values()))),
        "form": form,
        "most_bars": MOST_BARS,
        "menus": _menus(rows, question),
        "too_many": not drawn,
    }


def _rows(
    shown: ResultTable, table: ResultTable, question: Question, base: str
) -> list[dict[str, Any]]:
    columns = [list(labels) for labels in shown.groups.values()]
    measures = [_measure(measure, table) for measure in shown.measures.values()]
    return [
        {
            "labels": [None if label is None else str(label) for label in labels],
            "link": _inside(question, labels, base),
            "numbers": numbers,
        }
        for labels, numbers in zip(
            zip(*columns, strict=True) if columns else [()] * len(shown),
            zip(*measures, strict=True),
            strict=True,
        )
    ]


def _measure(measure: Any, table: ResultTable) -> list[dict[str, Any]]:
    halves = measure.half_widths(table.row_confidence).tolist()
    lower, upper = (end.tolist() for end in measure.bounds(table.row_confidence))
    values = measure.values.tolist()
    noisy = mostly_noise(measure, table.row_confidence).tolist()
    return [
        {
            "value": show_number(value, half),
            "bar": show_bar(value, half),
            "interval": " to ".join(show_ends(low, high, half)),
            "sort": float(value),
            "noise": noise,
            "estimate": bool(guess),
        }
        for value, half, low, high, noise, guess in zip(
            values, halves, lower, upper, noisy, measure.estimates.tolist(), strict=True
        )
    ]


def _inside(question: Question, labels: tuple[Any, ...], base: str) -> str | None:
    """Where a click on a row leads: what is inside its group, or the group by another attribute."""
    if question.own_sql is not None or not question.by:
        return None
    by = question.by[0]
    label = None if labels[0] is None else str(labels[0])
    narrowed = question.within(by, label)
    finer = by.grain.finer(by.attribute, label)
    if finer is not None:
        return base + narrowed.split(By(by.attribute, finer), *question.by[1:]).url()
    return base + narrowed.split(*question.by[1:]).url()


def _menus(rows: list[dict[str, Any]], question: Question) -> dict[str, Any] | None:
    """What a click on the chart offers: the inside of a group, or the group by another attribute.

    The links themselves are put together in the browser, for rows may be many.
    """
    if question.own_sql is not None or not question.by:
        return None
    by = question.by[0]
    groups = []
    for row in rows:
        label = row["labels"][0]
        narrowed = question.within(by, label)
        one = next(f for f in narrowed.filters if f.attribute == by.attribute)
        groups.append(
            {
                "label": "no value" if label is None else label,
                "link": row["link"],
                "finer": by.grain.finer(by.attribute, label) is not None,
                "filter": one.parameters(),
            }
        )
    kept = tuple(one for one in question.filters if one.attribute != by.attribute)
    rest = replace(question, by=(), filters=kept, compared=None)
    return {
        "attribute": by.attribute.name,
        "groups": groups,
        "rest": [pair for pair in rest.parameters() if pair[0] != "by"],
    }


def _comparable(table: ResultTable, question: Question) -> list[str]:
    """The groups of which two can be compared."""
    if question.own_sql is not None or len(question.by) != 1 or len(table) > MOST_COMPARED:
        return []
    labels = list(next(iter(table.groups.values())))
    return [str(label) for label in labels if label is not None] if len(table) > 1 else []


def _hidden(question: Question) -> list[tuple[str, str]]:
    """The parameters that the form of a comparison carries along."""
    return [pair for pair in question.parameters() if pair[0] not in ("a", "b")]


def _model_url(release: Release, question: Question, base: str) -> str | None:
    """The same question, answered by a model of what was measured, where there is one."""
    if question.estimate or not isinstance(release.reader, ModelReader):
        return None
    return base + replace(question, estimate=True).url()


def _tables(release: Release) -> list[str]:
    return [name.replace("+", " × ").replace("@", " at level ") for name in release.tables][
        :MOST_TABLES
    ]


def _python(name: str, question: Question) -> str:
    """The line of Python that gives the same."""
    options = [
        *([] if question.confidence == 0.95 else [f"confidence={question.confidence:g}"]),
        *(["simultaneous=True"] if question.together else []),
        *(["estimate=True"] if question.estimate else []),
    ]
    sql = " ".join(question.sql().split("\n"))
    arguments = ", ".join([repr(sql), *options])
    return f"import hushtable as ht\nht.open({name + '.release'!r}).sql({arguments})"
