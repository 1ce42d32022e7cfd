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
from hushtable.kernel.counting.encoding.amounts import amount
from hushtable.kernel.counting.encoding.columns import ColumnError, stripped
from hushtable.kernel.counting.encoding.moments import (
    check_moments,
    date_number,
    day_as_written,
    in_utc,
    is_timed,
    known_time,
    local_time,
    part_of,
    written,
)
from hushtable.kernel.counting.silence import raise_alone
from hushtable.schema import Attribute, Dates, Edges, IntegerRange, Labels, Schema
from hushtable.schema.attribute import EXACT_INTEGERS, is_integer_text

_DECIMAL = re.compile(r"(?!-0*(\.0*)?$)-?(0|[1-9][0-9]*)(\.[0-9]+)?")
MAX_COMPARED = 64  # bins up to which a tree of comparisons is faster than a sorted join


def encode(table: Any, schema: Schema) -> Any:
    """The table with columns k0, k1, … of codes beside its own; NULL where a row is dropped.

    Beside them stand the columns of what they were made of: k0_text, and k0_number of a number.
    """
    attributes = {f"k{i}": attribute for i, attribute in enumerate(schema.attributes)}
    labelled = {k: a for k, a in attributes.items() if isinstance(a.values, Labels)}
    numeric = {k: a for k, a in attributes.items() if k not in labelled}
    # Each step is one query for all columns, so that what an expression needs more than once is
    # written once; one query per column would be too deep for fifty of them.
    places = {column: f"c{i}" for i, column in enumerate(schema.columns)}
    columns = {k: _fitting(table[places[a.column]], a) for k, a in attributes.items()}
    table, times = _local_times(table, attributes, columns)
    texts = {k: _text((columns | times)[k], attribute) for k, attribute in attributes.items()}
    table = table.mutate(**{f"{k}_text": text for k, text in texts.items()})
    numbers = {k: _number(table[f"{k}_text"], a) for k, a in numeric.items()}
    table = table.mutate(**{f"{k}_number": number for k, number in numbers.items()})
    codes = {}
    for k, attribute in numeric.items():
        table, codes[k] = _numeric_code(table, k, attribute)
    table = table.mutate(**codes)
    return _join_labels(table, labelled) if labelled else table


def _local_times(
    table: Any, attributes: dict[str, Attribute], columns: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """The local times that attributes ask for parts of, and the table they belong to.

    Attributes that read one column in one zone share its times.
    """
    ways = {k: (a.column, a.origin.zone) for k, a in attributes.items() if is_timed(a)}
    names = {way: f"t{i}" for i, way in enumerate(dict.fromkeys(ways.values()))}
    moments = {names[way]: written(columns[k]) for k, way in ways.items()}
    table = table.mutate(**{f"{name}_written": moment for name, moment in moments.items()})
    times = {name: local_time(table[f"{name}_written"], zone) for (_, zone), name in names.items()}
    table = table.mutate(**times)
    return table, {
        k: known_time(table[names[way]], table[f"{names[way]}_written"], attributes[k])
        for k, way in ways.items()
    }


def _fitting(column: Any, attribute: Attribute) -> Any:
    """The column, unless it is of a type that does not hold what the schema says."""
    try:
        return _checked(column, attribute)
    except DataError as refused:
        name = attribute.name
        raise_alone(ColumnError(attribute.column, line=str(refused), attribute=name))


def _checked(column: Any, attribute: Attribute) -> Any:
    kind = column.type()
    shown = f"column {attribute.column!r} is of type {_type_name(kind)}"
    if kind.is_null() or (kind.is_unknown() and "TIMESTAMP" not in str(kind)):
        return column.cast("string")  # "unknown" is also what the engine calls a column of nulls
    if kind.is_nested() or kind.is_binary() or kind.is_interval() or kind.is_unknown():
        raise DataError(f"{shown}; the schema needs plain values")
    if is_timed(attribute):
        check_moments(kind, attribute, shown)
        return column
    if kind.is_time():
        raise DataError(f"{shown}; the schema needs plain values, or part = 'hour'")
    _check_values(kind, attribute, shown)
    return in_utc(column)


def _check_values(kind: Any, attribute: Attribute, shown: str) -> None:
    """Refuse types that hold no such values as the schema says."""
    numeric = kind.is_string() or kind.is_numeric() or kind.is_boolean()
    dated = kind.is_string() or kind.is_integer() or kind.is_date() or kind.is_timestamp()
    if attribute.origin.prefix is not None and not (kind.is_string() or kind.is_integer()):
        raise DataError(f"{shown}; a prefix is taken of text or whole numbers")
    if isinstance(attribute.values, Dates) and not dated:
        raise DataError(f"{shown}; the schema says dates")
    if isinstance(attribute.values, IntegerRange | Edges) and not numeric:
        raise DataError(f"{shown}; the schema says numbers")
    if isinstance(attribute.values, Labels) and attribute.origin.prefix is None:
        _check_labels(kind, attribute.values, shown)


def _type_name(kind: Any) -> str:
    return type(kind).__name__.lower()


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
    kind, prefix = column.type(), attribute.origin.prefix
    if is_timed(attribute):
        return part_of(column, attribute) if isinstance(attribute.values, Labels) else column
    if prefix is not None:
        return stripped(stripped(column.cast("string")).left(prefix))
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

    if is_timed(attribute):
        return part_of(text, attribute)
    if isinstance(attribute.values, Dates):
        return date_number(day_as_written(text), attribute.values)
    if attribute.origin.decimal is not None and text.type().is_string():
        return amount(text, attribute.origin.decimal)
    number = text.try_cast("float64")
    if text.type().is_string():
        number = ibis.cases(
            (text.lower() == "true", ibis.literal(1.0)),
            (text.lower() == "false", ibis.literal(0.0)),
            else_=text.try_cast("float64"),
        )
    return number.nullif(float("nan"))  # to the engine, NaN equals NaN


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


def misfits(number: Any, attribute: Attribute) -> dict[str, Any]:
    """Why a number has no code of its own: the first of these that is true, if one is."""
    low, high = _ends(attribute)
    too_high = number >= high
    if isinstance(attribute.values, Edges):  # the last bin is closed
        too_high = number > high
    return {"unreadable": number.isnull(), "below": number < low, "above": too_high}


def _numeric_code(table: Any, name: str, attribute: Attribute) -> tuple[Any, Any]:
    """The code of a number, and the table it belongs to."""
    import ibis

    number = table[f"{name}_number"]
    if isinstance(attribute.values, Edges):
        table, inside = _bin(table, _between(number, attribute), attribute.values.edges, name)
    else:
        inside = _floor(_between(number, attribute)) - _ends(attribute)[0]
    last = attribute.declared - 1
    codes = (None, 0, last) if attribute.outside == "clip" else (attribute.other,) * 3
    misfit = misfits(number, attribute).values()
    return table, ibis.cases(*zip(misfit, map(_code, codes), strict=True), else_=inside)


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
    joined = joined.drop(*(f"{name}_label" for name in labelled))
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
