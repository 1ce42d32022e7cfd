"""Encoding: a value of a column becomes a code, by the schema and that value alone.

Every expression here is total: whatever a value is, the engine returns a code or NULL (the row is
then dropped) and never fails. So text is read by TRY_CAST, and arithmetic and plain casts, which
raise on large values, see only what a CASE has found to lie between the ends of the attribute.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import pairwise
from typing import Any

from hushtable.errors import DataError
from hushtable.kernel.counting.columns import stripped
from hushtable.schema import Attribute, Dates, Edges, IntegerRange, Labels, Schema
from hushtable.schema.attribute import EXACT_INTEGERS, is_integer_text

_DECIMAL = re.compile(r"(?!-0*(\.0*)?$)-?(0|[1-9][0-9]*)(\.[0-9]+)?")
MAX_COMPARED = 64  # bins up to which a tree of comparisons is faster than a sorted join


def encode(table: Any, schema: Schema) -> Any:
    """The table with columns k0, k1, … of codes beside its own; NULL where a row is dropped."""
    attributes = {f"k{i}": attribute for i, attribute in enumerate(schema.attributes)}
    labelled = {k: a for k, a in attributes.items() if isinstance(a.values, Labels)}
    numeric = {k: a for k, a in attributes.items() if k not in labelled}
    # Each step is one query for all columns, so that what an expression needs more than once is
    # written once; one query per column would be too deep for fifty of them.
    columns = [_checked(table[f"c{i}"], a) for i, a in enumerate(schema.attributes)]
    texts = zip(attributes.items(), columns, strict=True)
    table = table.mutate(**{f"{k}_text": _text(column, a) for (k, a), column in texts})
    numbers = {k: _number(table[f"{k}_text"], a) for k, a in numeric.items()}
    table = table.mutate(**{f"{k}_number": number for k, number in numbers.items()})
    codes = {}
    for k, attribute in numeric.items():
        table, codes[k] = _numeric_code(table, k, attribute)
    table = table.mutate(**codes)
    return _join_labels(table, labelled) if labelled else table


def _checked(column: Any, attribute: Attribute) -> Any:
    kind = column.type()
    if kind.is_null() or kind.is_unknown():  # so the engine calls a column of nulls
        return column.cast("string")
    shown = f"column {attribute.name!r} is of type {type(kind).__name__.lower()}"
    if kind.is_nested() or kind.is_binary() or kind.is_time() or kind.is_interval():
        raise DataError(f"{shown}; the schema needs plain values")
    numeric = kind.is_string() or kind.is_numeric() or kind.is_boolean()
    dated = kind.is_string() or kind.is_integer() or kind.is_date() or kind.is_timestamp()
    if isinstance(attribute.values, Dates) and not dated:
        raise DataError(f"{shown}; the schema says dates")
    if isinstance(attribute.values, IntegerRange | Edges) and not numeric:
        raise DataError(f"{shown}; the schema says numbers")
    if isinstance(attribute.values, Labels):
        _check_labels(kind, attribute.values, shown)
    return column


def _check_labels(kind: Any, values: Labels, shown: str) -> None:
    """Refuse labels that no value of a type can have, or that several values would."""
    if kind.is_boolean() and not {"true", "false"} & values.spellings.keys():
        raise DataError(f"{shown}; the schema's labels for it must be true and false, or 1 and 0")
    whole = [int(label) for label in values.spellings if is_integer_text(label)]
    if kind.is_integer() and not whole:
        raise DataError(f"{shown}; none of the schema's labels for it is such a number")
    if kind.is_floating():
        exact = EXACT_INTEGERS if kind.nbytes == 8 else 2**24 - 1
        if any(abs(number) > exact for number in whole):
            raise DataError(
                f"{shown}, which rounds labels beyond ±{exact}; store it as integers or as text"
            )


def _text(column: Any, attribute: Attribute) -> Any:
    """What is read as a number or a date, or compared with the labels: text without blanks around
    it, or a value of another type that needs no text."""
    kind = column.type()
    if kind.is_string():
        return stripped(column)
    if isinstance(attribute.values, Labels):
        if kind.is_integer() or kind.is_decimal():
            return column
        # Adding zero makes 0 of −0, which is printed otherwise.
        return (column + 0.0 if kind.is_floating() else column).cast("string")
    dated = isinstance(attribute.values, Dates) and kind.is_integer()
    return column.cast("string") if dated else column


def _number(text: Any, attribute: Attribute) -> Any:
    """The value as a 64-bit float; NULL for text that is no number, and for NaN.

    True and false are 1 and 0, also as text: tools turn a column of truth values into text as soon
    as one of them is missing.
    """
    import ibis

    if isinstance(attribute.values, Dates):
        return _date_number(text, attribute.values)
    number = text.try_cast("float64")
    if text.type().is_string():
        number = ibis.cases(
            (text.lower() == "true", ibis.literal(1.0)),
            (text.lower() == "false", ibis.literal(0.0)),
            else_=text.try_cast("float64"),
        )
    return number.nullif(float("nan"))  # to the engine, NaN equals NaN


def _date_number(text: Any, dates: Dates) -> Any:
    """The number of the day, month or year, as a float; NULL for what is no date.

    Text is an ISO date or time, of which hours and time zones do not count, a month or a year.
    """
    import ibis

    if text.type().is_string():
        moment = ibis.coalesce(
            *((text + rest).try_cast("timestamp") for rest in ("", "-01", "-01-01"))
        )
    else:
        moment = text.try_cast("timestamp")
    if dates.by == "day":
        number = moment.try_cast("date").epoch_seconds() / 86_400
    elif dates.by == "month":
        number = moment.year() * 12 + moment.month() - 1
    else:
        number = moment.year()
    return number.try_cast("float64")


def _ends(attribute: Attribute) -> tuple[int | float, int | float]:
    """The first number that has a code, and the first integer or last number beyond which none."""
    if isinstance(attribute.values, IntegerRange | Dates):
        return attribute.values.low, attribute.values.high + 1
    assert isinstance(attribute.values, Edges)
    return attribute.values.edges[0], attribute.values.edges[-1]


def _between(number: Any, attribute: Attribute) -> Any:
    """NULL outside the ends: arithmetic sees only what cannot make it overflow."""
    import ibis

    return ibis.cases((number.between(*_ends(attribute)), number), else_=ibis.null("float64"))


def _numeric_code(table: Any, name: str, attribute: Attribute) -> tuple[Any, Any]:
    """The code of a number, and the table it belongs to."""
    import ibis

    number = table[f"{name}_number"]
    low, high = _ends(attribute)
    if isinstance(attribute.values, Edges):
        table, inside = _bin(table, _between(number, attribute), attribute.values.edges, name)
        too_high = number > high
    else:
        inside = _floor(_between(number, attribute)) - low
        too_high = number >= high
    last = attribute.declared - 1
    null, below, above = (None, 0, last) if attribute.outside == "clip" else (attribute.other,) * 3
    return table, ibis.cases(
        (number.isnull(), _code(null)),
        (number < low, _code(below)),
        (too_high, _code(above)),
        else_=inside,
    )


def _code(code: int | None) -> Any:
    import ibis

    return ibis.null("int64") if code is None else ibis.literal(code, "int64")


def _floor(number: Any) -> Any:
    """⌊x⌋ as an integer, of a number between the ends."""
    return number.floor().cast("int64")


def _bin(table: Any, number: Any, edges: Sequence[int | float], name: str) -> tuple[Any, Any]:
    """The bin that holds a number between the first and the last edge; the table it belongs to."""
    import ibis

    bins = len(edges) - 1
    widths = {right - left for left, right in pairwise(edges)}
    whole = len(widths) == 1 and all(isinstance(edge, int) for edge in edges)
    if whole and edges[-1] - edges[0] <= EXACT_INTEGERS:
        # Integers below 2^53: floats divide them exactly enough that no quotient rounds up.
        code = (_floor(number) - edges[0]) // next(iter(widths))
        code = ibis.cases((code >= bins, _code(bins - 1)), else_=code.try_cast("int64"))
    elif bins <= MAX_COMPARED:
        code = _search(number, edges, 0, bins - 1)
    else:
        table, code = _join_bins(table, number, edges, name)
    return table, code


def _join_bins(table: Any, number: Any, edges: Sequence[int | float], name: str) -> tuple[Any, Any]:
    """Join each number with the last edge that is not above it, which cannot multiply rows."""
    import ibis
    import pyarrow as pa

    # The last bin is closed, so that its right edge starts none.
    codes = pa.array(range(len(edges) - 1), pa.int64())
    starts = pa.array([float(edge) for edge in edges[:-1]], pa.float64())
    listed = ibis.memtable(pa.table({f"{name}_start": starts, f"{name}_bin": codes}))
    table = table.mutate(**{f"{name}_between": number})
    table = table.asof_join(listed, on=table[f"{name}_between"] >= listed[f"{name}_start"])
    return table, table[f"{name}_bin"]


def _search(number: Any, edges: Sequence[int | float], first: int, last: int) -> Any:
    """Binary search among the bins first … last, as a tree of comparisons."""
    import ibis

    if first == last:
        return _code(first)
    middle = (first + last + 1) // 2
    return ibis.ifelse(
        number < edges[middle],
        _search(number, edges, first, middle - 1),
        _search(number, edges, middle, last),
    )


def _join_labels(table: Any, labelled: dict[str, Attribute]) -> Any:
    """Look labels up by outer joins with the lists of them, which cannot multiply rows.

    All joins stand in one query, beside each other.
    """
    listed = {name: _labels(table[f"{name}_text"], a, name) for name, a in labelled.items()}
    joined = table
    for name, labels in listed.items():
        joined = joined.left_join(labels, table[f"{name}_text"] == labels[f"{name}_label"])
    joined = joined.drop(*(f"{name}_{part}" for name in labelled for part in ("text", "label")))
    filled = {
        name: joined[name].fill_null(attribute.other)
        for name, attribute in labelled.items()
        if attribute.other is not None
    }
    return joined.mutate(**filled) if filled else joined


def _labels(text: Any, attribute: Attribute, name: str) -> Any:
    """The texts that are read as a label, and their codes."""
    import ibis
    import pyarrow as pa

    assert isinstance(attribute.values, Labels)
    codes = attribute.values.spellings
    keys: Any
    if text.type().is_integer():  # an integer's text is a label exactly if the label is its text
        unsigned = text.type().is_unsigned_integer()
        low, high = (0, 2**64) if unsigned else (-(2**63), 2**63)
        codes = {
            label: code
            for label, code in codes.items()
            if is_integer_text(label) and low <= int(label) < high
        }
        keys = pa.array(map(int, codes), pa.uint64() if unsigned else pa.int64())
    elif text.type().is_decimal():
        kind = pa.decimal128(text.type().precision, text.type().scale)
        numbers = _decimals(codes, kind.precision, kind.scale)
        codes = {label: codes[label] for label in numbers.values()}
        keys = pa.array(numbers, kind)
    else:
        keys = pa.array(codes, pa.string())
    return ibis.memtable(
        pa.table({f"{name}_label": keys, name: pa.array(codes.values(), pa.int64())})
    )


def _decimals(labels: Iterable[str], precision: int, scale: int) -> dict[Decimal, str]:
    """The decimals of a type that are labels: each once, or a row would be counted twice.

    Of labels that are one number, it is the one with as many places as the type has.
    """
    numbers: dict[Decimal, str] = {}
    for label in sorted(labels, key=lambda label: len(label.partition(".")[2]) != scale):
        if _DECIMAL.fullmatch(label):
            whole, _, places = label.partition(".")
            number = Decimal(f"{whole}.{places.rstrip('0')}")
            if len(places.rstrip("0")) <= scale and number.copy_abs() < 10 ** (precision - scale):
                numbers.setdefault(number, label)
    return numbers
