"""A dry run of counting: what would be kept, clipped and dropped, and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hushtable.checking.advice import advise
from hushtable.checking.fates import (
    ABOVE,
    BELOW,
    EMPTY,
    LONGEST,
    UNKNOWN,
    UNREADABLE,
    fate_statement,
    reasons_of,
)
from hushtable.checking.likeness import Lookalikes, looks_like_number
from hushtable.checking.report import (
    AttributeCheck,
    CheckReport,
    CountsCheck,
    Misfit,
    OddValue,
    Outcome,
    PeopleCheck,
)
from hushtable.errors import DataError
from hushtable.kernel.counting import CsvFormat
from hushtable.kernel.counting.count import fetched
from hushtable.kernel.counting.encoding.columns import ColumnError
from hushtable.kernel.counting.readers.paths import table_in
from hushtable.kernel.counting.readers.records import LostRecords
from hushtable.schema import Attribute, Dates, Edges, Labels, Schema
from hushtable.text import plain

SHOWN_VALUES = 10
"""Of each attribute, so many values that do not fit are shown."""


def check(
    data: Any,
    schema: Schema | str | Path,
    *,
    table: str | None = None,
    csv: CsvFormat | None = None,
) -> CheckReport:
    """Tell what counting would make of a table. For the data owner only: not private.

    `data`, `table` and `csv` are as in `publish`; the schema may be a draft. Rows are read and
    encoded as for counting, and of what does not fit the most frequent values are told. Nothing is
    spent or written. Columns of types that the schema does not allow are left out, and named in the
    report. Raises DataError where the table cannot be read.
    """
    data = table_in(data, table)
    schema = schema if isinstance(schema, Schema) else Schema.load(schema)
    refused: list[str] = []
    while True:
        lost = LostRecords()
        try:
            found = fetched(_only_row, fate_statement, data, schema, csv, lost=lost)
            break
        except ColumnError as problem:  # before anything is read
            schema = _without(schema, problem)
            refused.append(problem.reason)
    report = replace(_report(schema, found, lost), refused=tuple(refused))
    return replace(report, advice=advise(report, schema))


def _without(schema: Schema, problem: ColumnError) -> Schema:
    """The schema without the attributes that cannot be read; refused if there are no others."""
    left = tuple(
        attribute
        for attribute in schema.attributes
        if attribute.column != problem.column
        or (problem.attribute is not None and attribute.name != problem.attribute)
    )
    if not left or len(left) == len(schema.attributes):
        raise DataError(problem.reason)
    return replace(schema, attributes=left)


def _only_row(rows: Any) -> dict[str, Any]:
    (row,) = rows.to_arrow_table().to_pylist()
    return dict(row)


def _report(schema: Schema, found: Mapping[str, Any], lost: LostRecords) -> CheckReport:
    rows, whole, kept = (int(found[name] or 0) for name in ("rows", "whole", "kept"))
    people, counted = _people(schema, found), _counted(schema, found)
    somebodys = whole if people is None else people.rows
    return CheckReport(
        table=schema.name,
        rows=rows,
        kept=kept,
        dropped=rows - whole,
        without_id=whole - somebodys,
        beyond_max_rows=0 if counted else somebodys - kept,
        of_nobody=whole - kept if counted else 0,
        short_lines=lost.short,
        broken_lines=lost.broken,
        attributes=_attributes(schema, found),
        people=people,
        counted=counted,
        cells=schema.cells,
        occupied=found["occupied"],
    )


def _people(schema: Schema, found: Mapping[str, Any]) -> PeopleCheck | None:
    if schema.unit is None:
        return None
    numbers = sorted((entry["rows"], entry["people"]) for entry in found["people"] or ())
    return PeopleCheck(schema.unit.column, schema.unit.max_rows, tuple(numbers))


def _counted(schema: Schema, found: Mapping[str, Any]) -> CountsCheck | None:
    if schema.counts is None:
        return None
    numbers = {name: int(found[name] or 0) for name in ("counted", "invalid", "above")}
    return CountsCheck(schema.counts.column, schema.counts.most, *numbers.values())


def _attributes(schema: Schema, found: Mapping[str, Any]) -> tuple[AttributeCheck, ...]:
    odd: dict[int, list[dict[str, Any]]] = {i: [] for i in range(len(schema.attributes))}
    for value in sorted(found["odd"] or (), key=lambda value: value["place"]):
        odd[value["attribute"]].append(value)
    return tuple(
        _attribute(attribute, i, found, odd[i]) for i, attribute in enumerate(schema.attributes)
    )


def _attribute(
    attribute: Attribute, place: int, found: Mapping[str, Any], odd: list[dict[str, Any]]
) -> AttributeCheck:
    numbers = {why: int(found[f"r{place}_{why}"] or 0) for why in reasons_of(attribute)}
    misfits = tuple(
        Misfit(_reason(attribute, why), _words(attribute, why), rows, _becomes(attribute, why))
        for why, rows in numbers.items()
        if rows
    )
    alike = _alike(attribute, odd)
    return AttributeCheck(
        attribute.name,
        found["rows"] - sum(numbers.values()),
        misfits,
        int(found.get(f"alone{place}") or 0),
        tuple(_odd_value(attribute, value, alike) for value in odd[:SHOWN_VALUES]),
        sum(value["rows"] for value in odd if value["value"] in alike),
        tuple(dict.fromkeys(name for _, names in alike.values() for name in names)),
    )


def _alike(
    attribute: Attribute, odd: Iterable[Mapping[str, Any]]
) -> dict[str, tuple[str, tuple[str, ...]]]:
    """The values that look like a label, with that label and how they differ."""
    values = [value["value"] for value in odd if value["reason"] == UNKNOWN]
    if not values or not isinstance(attribute.values, Labels):
        return {}
    lookalikes = Lookalikes(attribute.values.labels)
    found = {value: lookalikes.find(value) for value in values}
    return {value: label for value, label in found.items() if label is not None}


def _odd_value(
    attribute: Attribute, value: Mapping[str, Any], alike: Mapping[str, tuple[str, Any]]
) -> OddValue:
    text, why = value["value"], value["reason"]
    hint = None
    if text in alike:
        hint = f"the schema has '{plain(alike[text][0])}'"
    elif why == UNREADABLE and looks_like_number(text):
        hint = "a number with signs that are read if the schema says decimal"
    short = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
    becomes = _becomes(attribute, why)
    return OddValue(plain(short), value["rows"], _reason(attribute, why), becomes, hint)


def _becomes(attribute: Attribute, why: int) -> Outcome:
    if attribute.outside == "other":
        return "other"
    return "clipped" if attribute.outside == "clip" and why in (BELOW, ABOVE) else "dropped"


def _reason(attribute: Attribute, why: int) -> str:
    if why == UNREADABLE:
        return "not a date" if isinstance(attribute.values, Dates) else "not a number"
    return {EMPTY: "empty", BELOW: "below", ABOVE: "above", UNKNOWN: "unknown"}[why]


def _words(attribute: Attribute, why: int) -> str:
    reason, values = _reason(attribute, why), attribute.values
    if isinstance(values, Labels) or why not in (BELOW, ABOVE):
        return "not in the schema" if why == UNKNOWN else reason
    if isinstance(values, Edges):
        return f"{reason} {values.edges[0 if why == BELOW else -1]}"
    if isinstance(values, Dates):
        reason = "before" if why == BELOW else "after"
    return f"{reason} {values.label(0 if why == BELOW else values.size - 1)}"
