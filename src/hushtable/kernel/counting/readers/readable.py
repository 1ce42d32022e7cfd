"""Arrow columns in which every value is one that the engine can read.

Arrow does not check that text is text, that a decimal has the digits its type allows, nor that a
time is one that a calendar has; the engine does, and fails for the whole table. Here such values
become text with marks in it, or nulls. Whether times have a zone stays a fact of their type. Types
that are no plain values are refused, by their type alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from decimal import Decimal
from typing import Any

from hushtable.kernel.counting.encoding.columns import ColumnError
from hushtable.kernel.counting.readers.values import value_text

MARK, ID_MARK = "?", "\ufffd"  # for bytes that are no text

_BROKEN = re.compile("[\udc80-\udcff]")
_SECONDS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_DAY = 86_400
_YEAR_1, _YEAR_10000 = -62_135_596_800, 253_402_300_800  # seconds since 1970
_MOST_DIGITS = 38  # of the engine's decimals
_FEW = 256  # texts that are decoded one by one
_PLAIN = (
    *("null", "boolean", "integer", "floating", "decimal", "date", "timestamp", "time"),
    *("string", "large_string", "string_view"),
    *("binary", "large_binary", "binary_view", "fixed_size_binary"),
)


def _stored_type(kind: Any) -> Any:
    """Categories and runs are another way to write down their values."""
    import pyarrow as pa

    while pa.types.is_dictionary(kind) or pa.types.is_run_end_encoded(kind):
        kind = kind.value_type
    return kind


def check_type(kind: Any, name: str) -> None:
    """Refuse a column whose values are lists, spans or of somebody's own type."""
    import pyarrow as pa

    kind = _stored_type(kind)
    shown = getattr(kind, "extension_name", None) or str(kind).partition("<")[0]
    plain = any(getattr(pa.types, f"is_{test}")(kind) for test in _PLAIN)
    if pa.types.is_decimal(kind):
        plain = 0 <= kind.scale <= kind.precision
    if not plain and shown != "arrow.uuid":
        raise ColumnError(name, shown)


def is_long_decimal(kind: Any) -> bool:
    """Whether decimals of a type have more digits than the engine can hold."""
    import pyarrow as pa

    return bool(pa.types.is_decimal(kind)) and kind.precision > _MOST_DIGITS


def readable(data: Any, names: Sequence[str], ids: Collection[str] = ()) -> Any:
    """A table or a stream of batches with the same rows, every value of which can be read.

    Bytes that are no text become `?`, as in the engine's own reader; in ids, a mark that no other
    text has.
    """
    import pyarrow as pa

    for kind, name in zip(data.schema.types, names, strict=True):
        check_type(kind, name)
    marks = [ID_MARK if name in ids else MARK for name in names]
    if isinstance(data, pa.Table):
        return _table(data, marks)
    schema = _table(data.schema.empty_table(), marks).schema
    batches = (readable_batch(batch, marks) for batch in data)
    return pa.RecordBatchReader.from_batches(schema, batches)


def _table(table: Any, marks: Sequence[str]) -> Any:
    """Chunk by chunk: together, they may be longer than an array can be."""
    import pyarrow as pa

    columns = [
        pa.chunked_array([_readable(chunk, mark) for chunk in column.chunks])
        if column.num_chunks
        else _readable(pa.nulls(0, column.type), mark)
        for column, mark in zip(table.columns, marks, strict=True)
    ]
    return pa.table(columns, names=[f"c{i}" for i in range(len(columns))])


def readable_batch(batch: Any, marks: Sequence[str]) -> Any:
    """A batch with the same rows, every value of which can be read."""
    import pyarrow as pa

    names = [f"c{i}" for i in range(batch.num_columns)]
    columns = [_readable(*pair) for pair in zip(batch.columns, marks, strict=True)]
    return pa.RecordBatch.from_arrays(columns, names=names)


def readable_schema(types: Sequence[Any]) -> list[Any]:
    """What becomes of columns of these types."""
    import pyarrow as pa

    return [_readable(pa.nulls(0, kind), MARK).type for kind in types]


def _readable(column: Any, mark: str) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_run_end_encoded(kind):
        return _readable(pc.run_end_decode(column), mark)
    if pa.types.is_dictionary(kind):
        return _readable(column.dictionary, mark).take(column.indices)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return _texts(column, mark)
    if pa.types.is_timestamp(kind):
        return _times(column)
    if pa.types.is_time(kind):
        return _times_of_day(column)
    if pa.types.is_decimal(kind):
        return _decimals(column)
    if pa.types.is_float16(kind):
        return column.cast(pa.float32())
    return column


def _texts(column: Any, mark: str) -> Any:
    """Text as it is; where bytes are no text, the mark stands for each of them."""
    import pyarrow as pa

    raw = column.cast(pa.large_binary())
    try:
        return raw.cast(pa.large_string())  # this looks at every byte
    except pa.ArrowInvalid:
        if len(raw) > _FEW:  # the rest need not wait for one that is broken
            middle = len(raw) // 2
            return pa.concat_arrays([_texts(raw[:middle], mark), _texts(raw[middle:], mark)])
        values = (value.as_py() for value in raw)
        return pa.array([decoded(value, mark) for value in values], pa.large_string())


def decoded(value: bytes | None, mark: str, encoding: str = "utf-8") -> str | None:
    """Text of bytes, with a mark for each of those that are none."""
    if value is None:
        return None
    return _BROKEN.sub(mark, value.decode(encoding, "surrogateescape"))


def _decimals(column: Any) -> Any:
    """Decimals of as many digits as their type has; others become nulls.

    Those of types with more digits than the engine has become text: as floats, they would merge.
    Equal numbers have one text, whole ones that of an integer, as which labels are known.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    digits = column
    ends: list[Any] = [Decimal((sign, (9,) * kind.precision, -kind.scale)) for sign in (1, 0)]
    if kind.bit_width <= 64:  # Arrow compares them as longer ones, and fails on those that are odd
        digits = column.view(pa.int32() if kind.bit_width == 32 else pa.int64())
        ends = [1 - 10**kind.precision, 10**kind.precision - 1]
    low, high = (pa.scalar(end, digits.type) for end in ends)
    inside = pc.and_(pc.greater_equal(digits, low), pc.less_equal(digits, high))
    digits = pc.if_else(inside, digits, pa.scalar(None, digits.type)).view(kind)
    if is_long_decimal(kind):
        return pa.array([value_text(number) for number in digits.to_pylist()], pa.large_string())
    return digits.cast(pa.decimal128(kind.precision, kind.scale))


def _times(column: Any) -> Any:
    """Times of the years 1 to 9999, to the microsecond; others become nulls.

    Those with a zone are in UTC, whatever the zone: each is a moment that all zones share.
    """
    import pyarrow as pa

    kind, per_second = column.type, _SECONDS[column.type.unit]
    ticks = _between(column.view(pa.int64()), _YEAR_1 * per_second, _YEAR_10000 * per_second)
    times = ticks.view(pa.timestamp(kind.unit)).cast(pa.timestamp("us"), safe=False)
    return times if kind.tz is None else times.view(pa.timestamp("us", "UTC"))


def _times_of_day(column: Any) -> Any:
    """Times from midnight to the next, to the microsecond; others become nulls."""
    import pyarrow as pa

    kind, per_second = column.type, _SECONDS[column.type.unit]
    width = pa.int32() if kind.bit_width == 32 else pa.int64()
    ticks = _between(column.view(width).cast(pa.int64()), 0, _DAY * per_second)
    return ticks.cast(width).view(kind).cast(pa.time64("us"), safe=False)


def _between(ticks: Any, low: int, high: int) -> Any:
    """Integers from the first to below the last; others become nulls."""
    import pyarrow as pa
    import pyarrow.compute as pc

    first, last = (pa.scalar(min(max(end, -(2**63)), 2**63 - 1), pa.int64()) for end in (low, high))
    inside = pc.and_(pc.greater_equal(ticks, first), pc.less(ticks, last))
    return pc.if_else(inside, ticks, pa.scalar(None, pa.int64()))
