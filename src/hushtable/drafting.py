"""A first draft of a schema, made by looking at the data, and therefore not yet a public one.

Minima, maxima and lists of values taken from the data can reveal someone; a draft is marked as not
reviewed, and nothing is published by it until a person has replaced them by what is known publicly.
"""

from __future__ import annotations

import math
from contextlib import suppress
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from hushtable.errors import DataError, SchemaError
from hushtable.kernel.counting.columns import ColumnError
from hushtable.kernel.counting.silence import silent_engine
from hushtable.kernel.counting.source import column_names, interruptible, open_table
from hushtable.schema import (
    Attribute,
    Edges,
    Hierarchy,
    IntegerRange,
    Schema,
    nominal,
    ordinal,
)
from hushtable.schema.foreign import Draft
from hushtable.schema.hierarchy import check_label

MAX_VALUES = 1000
MAX_RANGE = 1000
BINS = 20

_LOOKED = """\
# DRAFT, made by looking at the data: its ranges, bins and values could reveal someone.
# Go through every attribute and replace them by what is publicly known: the codes of the
# questionnaire, the limits of a form, a published classification. Then set reviewed = true.
"""
_IMPORTED = """\
# DRAFT, imported: bins are a guess where the file gave only bounds. Go through every attribute,
# then set reviewed = true.
"""
_HEADER = """\
# budget is the total ε that may ever be spent on this dataset; set it before the first release.
# If a person can have several rows, add:  unit = { column = "person_id", max_rows = 4 }
"""


def draft_schema(data: Any, *, name: str) -> Draft:
    """Describe every column that looks like an attribute."""
    present = column_names(data)
    columns = [column for column in present if column.strip()]
    left_out = [(column, "it has no name") for column in present if not column.strip()]
    while True:
        try:
            attributes = _draft_attributes(data, columns, left_out)
            break
        except ColumnError as refused:  # before anything is read
            columns.remove(refused.column)
            left_out.append((refused.column, "not plain values"))
    if not attributes:
        raise DataError("no column of the table looks like an attribute; write the schema by hand")
    schema = Schema(name, Fraction(1), tuple(attributes), reviewed=False)
    return Draft(schema, tuple(left_out))


def _draft_attributes(
    data: Any, columns: list[str], left_out: list[tuple[str, str]]
) -> list[Attribute]:
    attributes: list[Attribute] = []
    with open_table(data, columns) as table, silent_engine("the table could not be read"):
        for i, column in enumerate(columns):
            found = interruptible(table, partial(_draft_attribute, table, f"c{i}", column))
            if isinstance(found, Attribute):
                attributes.append(found)
            else:
                left_out.append((column, found))
    return attributes


def write_draft(draft: Draft, path: Path, *, imported: bool = False) -> None:
    """Write a draft with its warnings."""
    draft.schema.save(path)
    header = (_IMPORTED if imported else _LOOKED) + _HEADER
    notes = "".join(f"# left out: {column!r}, {reason}\n" for column, reason in draft.left_out)
    path.write_text(header + notes + "\n" + path.read_text(encoding="utf-8"), encoding="utf-8")


def _draft_attribute(table: Any, place: str, column: str) -> Attribute | str:
    """The attribute a column looks like, or why it does not."""
    values = table[place]
    text = values.strip().nullif("") if values.type().is_string() else values
    if values.type().is_nested() or values.type().is_binary():
        return "not plain values"
    number = text.try_cast("float64") if not values.type().is_boolean() else None
    facts = {"rows": text.count(), "distinct": text.nunique()}
    if number is not None:
        facts |= {"numbers": number.count(), "low": number.min(), "high": number.max()}
        facts["whole"] = (number == number.round(0).try_cast("float64")).all()
    seen = table.aggregate(**facts).to_pyarrow().to_pylist()[0]
    if not seen["rows"]:
        return "it has no values"
    if seen.get("numbers") == seen["rows"] and math.isfinite(seen["low"] + seen["high"]):
        return _draft_numbers(column, seen)
    if seen["distinct"] > MAX_VALUES:
        return f"more than {MAX_VALUES} different values: an id, free text, or needs a hierarchy"
    labels = table.select(label=text.cast("string")).distinct().order_by("label").to_pyarrow()
    known = [label for label in labels["label"].to_pylist() if _can_be_label(label)]
    return nominal(column, Hierarchy.flat(known)) if known else "it has no values"


def _can_be_label(value: Any) -> bool:
    """Whether a value may stand in a schema; one that may not is left out, and never quoted."""
    with suppress(SchemaError):
        return bool(check_label(value))
    return False


def _draft_numbers(column: str, seen: dict[str, Any]) -> Attribute | str:
    low, high = seen["low"], seen["high"]
    if seen["whole"] and seen["distinct"] == seen["rows"] > MAX_RANGE:
        return "every value occurs once: it looks like an id"
    if max(abs(low), abs(high)) > 2**50:
        return "its numbers are too large"
    if seen["whole"] and high - low < MAX_RANGE:
        return ordinal(column, IntegerRange(int(low), int(high)))
    return ordinal(column, Edges(_round_edges(low, high)))


def _round_edges(low: float, high: float) -> tuple[int | float, ...]:
    """About 20 bins between round numbers that include both ends."""
    span = (high - low) or abs(high) or 1.0
    step = 10.0 ** math.floor(math.log10(span / BINS))
    step *= next(factor for factor in (1, 2, 5, 10) if span / (step * factor) <= BINS)
    first, last = math.floor(low / step), math.ceil(high / step)
    last = max(last, first + 1)
    edges = [round(k * step, 12) for k in range(first, last + 1)]
    whole = all(edge == int(edge) for edge in edges)
    return tuple(int(edge) if whole else edge for edge in edges)
