"""Encoding as it is documented, value by value and slowly, to compare the engine with."""

from __future__ import annotations

import math
import re
from collections import Counter
from decimal import Decimal
from typing import Any

from hushtable.kernel.counting import CsvFormat, count_table
from hushtable.schema import Attribute, IntegerRange, Labels, Schema

BLANKS = " \t\n\r\v\f"

# What the engine does with text that is hardly a number is its own affair, as long as it does so
# to that value alone. This is where it differs from Python.
PECULIAR = {"+-5": -5.0}


def slow_number(value: Any) -> float | None:
    """A value as a float; None where it is missing, no number, or NaN."""
    if value is None:
        return None
    if not isinstance(value, str):
        number = float(value)
    else:
        text = value.strip(BLANKS)
        try:
            number = {"true": 1.0, "false": 0.0, **PECULIAR}[text.lower()]
        except KeyError:
            try:
                number = float(text if text.isascii() and text.isprintable() else "no number")
            except ValueError:
                return None
    return None if math.isnan(number) else number


def slow_text(value: Any) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, Decimal) and value == int(value):
        return str(int(value))
    return None if value is None else str(value).strip(BLANKS)


def slow_label_code(text: str | None, labels: tuple[str, ...]) -> int | None:
    if text in labels:
        return labels.index(text)
    if text is None:
        return None
    if text in ("true", "True", "TRUE", "false", "False", "FALSE"):
        alike = [i for i, label in enumerate(labels) if label.lower() == text.lower()]
        return alike[0] if alike else slow_label_code("01"[text.lower() == "true"], labels)
    other = text.removesuffix(".0") if text.endswith(".0") else f"{text}.0"
    whole = text.removesuffix(".0").removeprefix("-")
    plain = whole == "0" or (whole.isascii() and whole.isdigit() and whole[0] != "0")
    plain = plain and len(whole) <= 20 and -(2**63) <= int(text.removesuffix(".0")) < 2**64
    if plain and text != "-0" and other in labels:
        return labels.index(other)
    return next((i for i, label in enumerate(labels) if _without_zeros(label) == text), None)


def _without_zeros(label: str) -> str | None:
    """A number with zeros at its end as it is written without them."""
    if not re.fullmatch(r"-?[0-9]+\.[0-9]*0", label):
        return None
    return label.rstrip("0").removesuffix(".")


def slow_code(value: Any, attribute: Attribute) -> int | None:
    """The code of a value, None where its row is dropped."""
    values = attribute.values
    if isinstance(values, Labels):
        code = slow_label_code(slow_text(value), values.labels)
        return attribute.other if code is None else code
    number = slow_number(value)
    if number is None:
        return attribute.other
    if isinstance(values, IntegerRange):
        low: float = values.low
        below, above = number < low, number >= values.high + 1
    else:
        low = values.edges[0]
        below, above = number < low, number > values.edges[-1]
    if below or above:
        clipped = 0 if below else attribute.declared - 1
        return clipped if attribute.outside == "clip" else attribute.other
    if isinstance(values, IntegerRange):
        return math.floor(number) - values.low
    return min(sum(number >= edge for edge in values.edges) - 1, values.size - 1)


def slow_counts(rows: list[tuple[Any, ...]], schema: Schema) -> Counter[int]:
    """The count of each linear code, without a unit."""
    counts: Counter[int] = Counter()
    for row in rows:
        codes = [slow_code(v, a) for v, a in zip(row, schema.attributes, strict=True)]
        if None not in codes:
            cell = 0
            for code, size in zip(codes, schema.shape, strict=True):
                cell = cell * size + code
            counts[cell] += 1
    return counts


def counted(
    data: Any, schema: Schema, form: CsvFormat | None = None, *, salt: str | None = None
) -> Counter[int]:
    """What the engine counts."""
    counts = count_table(data, schema, form, salt=salt)
    assert len(set(counts.codes.tolist())) == len(counts.codes)
    assert (counts.counts > 0).all()
    return Counter(dict(zip(counts.codes.tolist(), counts.counts.tolist(), strict=True)))


def make(*attributes: dict[str, Any], **more: Any) -> Schema:
    return Schema.from_dict({"name": "t", "budget": "1", "attribute": list(attributes), **more})
