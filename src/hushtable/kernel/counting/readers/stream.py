"""Batches of rows that an engine reads as they come, from the start whenever it asks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

_Row = TypeVar("_Row")

_MOST_LENGTH = 2**26


@dataclass(frozen=True)
class Stream:
    """An Arrow schema, and a function that reads the batches; for the engine, a table."""

    schema: Any
    batches: Callable[[], Iterable[Any]]

    @classmethod
    def of_text(cls, columns: int, batches: Callable[[], Iterable[Any]]) -> Stream:
        import pyarrow as pa

        return cls(pa.schema([(f"c{i}", pa.string()) for i in range(columns)]), batches)

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        import pyarrow as pa

        reader = pa.RecordBatchReader.from_batches(self.schema, self.batches())
        return reader.__arrow_c_stream__(requested_schema)


def portions(
    rows: Iterable[_Row], most: int, length: Callable[[_Row], int]
) -> Iterator[list[_Row]]:
    """Rows, so many at a time, or fewer where they are long: a column of text has a largest size,
    and so has memory."""
    some: list[_Row] = []
    total = 0
    for row in rows:
        some.append(row)
        total += length(row)
        if len(some) == most or total > _MOST_LENGTH:
            yield some
            some, total = [], 0
    if some:
        yield some
