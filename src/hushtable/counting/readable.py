"""Arrow columns in which every value is one that the engine can read.

Arrow does not check that text is text, nor that a time is one that a calendar has; the engine does,
and fails for the whole table. Here such values become text with marks in it, or nulls.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

_SECONDS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_YEAR_1, _YEAR_10000 = -62_135_596_800, 253_402_300_800  # seconds since 1970


def readable(data: Any) -> Any:
    """A table or a stream of batches with the same rows, every value of which can be read."""
    import pyarrow as pa

    if isinstance(data, pa.Table):
        names = [f"c{i}" for i in range(data.num_columns)]
        return pa.table(
            [_readable(column.combine_chunks()) for column in data.columns], names=names
        )
    first = pa.RecordBatch.from_pylist([], schema=data.schema)
    schema = _batch(first).schema
    return pa.RecordBatchReader.from_batches(schema, map(_batch, data))


def parquet_batches(paths: Sequence[str], positions: Sequence[int]) -> Any:
    """The columns of Parquet files at some positions, as a stream in which all can be read."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    def batches() -> Iterator[Any]:
        for path in paths:
            with pq.ParquetFile(path) as file:
                names = [file.schema_arrow.names[position] for position in positions]
                for batch in file.iter_batches(columns=names):
                    yield batch.select(names)

    with pq.ParquetFile(paths[0]) as file:
        fields = [file.schema_arrow.field(position) for position in positions]
    return readable(pa.RecordBatchReader.from_batches(pa.schema(fields), batches()))


def _batch(batch: Any) -> Any:
    import pyarrow as pa

    names = [f"c{i}" for i in range(batch.num_columns)]
    return pa.RecordBatch.from_arrays([_readable(column) for column in batch.columns], names=names)


def _readable(column: Any) -> Any:
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    kind = column.type
    if pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return _texts(column)
    if pa.types.is_timestamp(kind):
        return _times(column)
    return column


def _texts(column: Any) -> Any:
    import pyarrow as pa

    raw = column.cast(pa.large_binary())
    try:
        return raw.cast(pa.large_string())  # this looks at every byte
    except pa.ArrowInvalid:
        values = (value.as_py() for value in raw)
        decoded = [None if value is None else value.decode("utf-8", "replace") for value in values]
        return pa.array(decoded, pa.large_string())


def _times(column: Any) -> Any:
    """Times of the years 1 to 9999 in UTC, to the microsecond; others become nulls."""
    import pyarrow as pa
    import pyarrow.compute as pc

    unit = _SECONDS[column.type.unit]
    ticks = column.view(pa.int64())
    low, high = (max(end * unit, -(2**63)) for end in (_YEAR_1, _YEAR_10000))
    inside = pc.and_(
        pc.greater_equal(ticks, pa.scalar(low, pa.int64())),
        pc.less(ticks, pa.scalar(min(high, 2**63 - 1), pa.int64())),
    )
    ticks = pc.if_else(inside, ticks, pa.scalar(None, pa.int64()))
    times = ticks.view(pa.timestamp(column.type.unit))
    return times.cast(pa.timestamp("us"), safe=False)
