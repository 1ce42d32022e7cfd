"""Encoding: a value of a column becomes a code, by the schema and that value alone.

Every expression here is total: whatever a value is, the engine returns a code or NULL (the row is
then dropped) and never fails. So only TRY_CAST, comparisons and CASE are used; Ibis's floor and
clip compile to casts that raise on large values, and LEAST and GREATEST skip nulls.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from hushtable.errors import DataError
from hushtable.schema import Attribute, Edges, IntegerRange, Labels, Schema

MAX_UNEVEN_BINS = 4096  # the engine evaluates one comparison tree over the edges


def encode(table: Any, schema: Schema) -> Any:
    """The table with columns k0, k1, … of codes beside its own; NULL where a row is dropped."""
    for i, attribute in enumerate(schema.attributes):
        column = _checked(table[f"c{i}"], attribute)
        if isinstance(attribute.values, Labels):
            table = _join_labels(table, column, attribute, f"k{i}")
        else:
            table = table.mutate(**{f"k{i}": _numeric_code(_number(column), attribute)})
    return table


def _checked(column: Any, attribute: Attribute) -> Any:
    kind = column.type()
    if kind.is_null():
        return column.cast("string")
    if kind.is_nested() or kind.is_binary():
        raise DataError(f"column {attribute.name!r} holds {kind.name.lower()}s, not plain values")
    numeric = kind.is_string() or kind.is_numeric() or kind.is_boolean()
    if not numeric and not isinstance(attribute.values, Labels):
        raise DataError(
            f"column {attribute.name!r} holds {kind.name.lower()}s; the schema says numbers"
        )
    return column


def _number(column: Any) -> Any:
    """The value as a 64-bit float; NULL for text that is no number, and for NaN."""
    import ibis

    text = column.strip() if column.type().is_string() else column
    number = text.try_cast("float64")
    return ibis.cases((number.isnan(), ibis.null("float64")), else_=number)


def _numeric_code(number: Any, attribute: Attribute) -> Any:
    import ibis

    low: int | float
    high: int | float
    values = attribute.values
    if isinstance(values, IntegerRange):
        low, high = values.low, values.high + 1
        too_high = number >= high
    else:
        assert isinstance(values, Edges)
        low, high = values.edges[0], values.edges[-1]
        too_high = number > high
    # Arithmetic sees only numbers between the ends, so that it cannot overflow.
    between = ibis.cases((number.between(low, high), number), else_=ibis.null("float64"))
    last = attribute.declared - 1
    null, below, above = (None, 0, last) if attribute.outside == "clip" else (attribute.other,) * 3
    return ibis.cases(
        (number.isnull(), _code(null)),
        (number < low, _code(below)),
        (too_high, _code(above)),
        else_=_floor(between) - low
        if isinstance(values, IntegerRange)
        else _bin(between, values.edges),
    )


def _code(code: int | None) -> Any:
    import ibis

    return ibis.null("int64") if code is None else ibis.literal(code, "int64")


def _floor(number: Any) -> Any:
    """⌊x⌋ as an integer, NULL where no 64-bit integer is near; casts round to the nearest."""
    nearest = number.try_cast("int64")
    return nearest - (nearest.try_cast("float64") > number).cast("int64")


def _bin(number: Any, edges: Sequence[int | float]) -> Any:
    """The bin that holds a number between the first and the last edge."""
    import ibis

    bins = len(edges) - 1
    widths = {right - left for left, right in pairwise(edges)}
    if len(widths) == 1 and all(isinstance(edge, int) for edge in edges):
        # Integers below 2^53: floats divide them exactly enough that no quotient rounds up.
        code = (_floor(number) - edges[0]) // next(iter(widths))
        return ibis.cases((code >= bins, _code(bins - 1)), else_=code.try_cast("int64"))
    if bins > MAX_UNEVEN_BINS:
        raise DataError(f"more than {MAX_UNEVEN_BINS} bins need edges at equal whole distances")
    return _search(number, edges, 0, bins - 1)


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


def _join_labels(table: Any, column: Any, attribute: Attribute, name: str) -> Any:
    """Look labels up by an outer join with the list of them, which cannot multiply rows."""
    import ibis
    import pyarrow as pa

    assert isinstance(attribute.values, Labels)
    codes = {label: code for code, label in enumerate(attribute.values.labels)}
    keys: Any
    if column.type().is_integer():  # an integer's text is a label exactly if the label is its text
        codes = {label: code for label, code in codes.items() if _is_integer_text(label)}
        keys, value = pa.array(map(int, codes), pa.int64()), column
    else:
        keys = pa.array(codes, pa.string())
        value = column.strip() if column.type().is_string() else column.cast("string")
    listed = ibis.memtable(
        pa.table({f"{name}_label": keys, name: pa.array(codes.values(), pa.int64())})
    )
    table = table.mutate(**{f"{name}_text": value})
    joined = table.left_join(listed, table[f"{name}_text"] == listed[f"{name}_label"])
    joined = joined.drop(f"{name}_text", f"{name}_label")
    if attribute.other is not None:
        joined = joined.mutate(**{name: joined[name].fill_null(attribute.other)})
    return joined


def _is_integer_text(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdigit() and len(digits) < 19 and text == str(int(text))
