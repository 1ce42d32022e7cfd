"""Counting: a table becomes the counts of its non-empty cells, or columns of small integers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.counting.bound import bound_contributions
from hushtable.counting.csvfile import CsvFormat
from hushtable.counting.encode import encode
from hushtable.counting.source import open_table, silent_engine
from hushtable.errors import DataError
from hushtable.schema import Schema

MAX_CELLS = 2**62  # linear codes are 64-bit integers

_PROBLEM = "the table could not be counted; check that its files are complete, and disk and memory"


@dataclass(frozen=True, repr=False)
class Counts:
    """The non-empty cells of a table: each one's linear code (last attribute fastest) and count.

    The order of the cells means nothing.
    """

    shape: tuple[int, ...]
    codes: NDArray[np.int64]
    counts: NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class CodedColumns:
    """The rows of a table as one column of codes per attribute, contributions bounded."""

    shape: tuple[int, ...]
    columns: tuple[NDArray[np.unsignedinteger[Any]], ...]


def count_table(data: Any, schema: Schema, csv: CsvFormat | None = None) -> Counts:
    """Encode, bound contributions and group by cell, all inside the engine."""
    if schema.cells > MAX_CELLS:
        raise DataError(
            f"the domain has about 10^{math.log10(schema.cells):.1f} cells; cell counts need at"
            " most 2^62, about 10^18.7"
        )

    def cells(rows: Any) -> Any:
        rows = rows.select(cell=_linear_code(rows, schema))
        return rows.group_by("cell").aggregate(rows=rows.count())

    arrow = _computed(cells, data, schema, csv)
    return Counts(schema.shape, _numpy(arrow["cell"]), _numpy(arrow["rows"]))


def code_table(data: Any, schema: Schema, csv: CsvFormat | None = None) -> CodedColumns:
    """Encode and bound contributions inside the engine; keep the rows, as small integers."""
    narrow = [np.min_scalar_type(size - 1) for size in schema.shape]

    def codes(rows: Any) -> Any:
        return rows.select(**{f"k{i}": rows[f"k{i}"].cast(str(t)) for i, t in enumerate(narrow)})

    arrow = _computed(codes, data, schema, csv)
    return CodedColumns(schema.shape, tuple(np.asarray(arrow[f"k{i}"]) for i in range(len(narrow))))


def _computed(
    wanted: Callable[[Any], Any], data: Any, schema: Schema, csv: CsvFormat | None
) -> Any:
    """What is wanted of the encoded, bounded rows."""
    with open_table(data, _columns(schema), csv) as table, silent_engine(_PROBLEM):
        result = wanted(bound_contributions(encode(table, schema), schema))
        return result.get_backend().to_pyarrow(result)


def _columns(schema: Schema) -> list[str]:
    names = [attribute.name for attribute in schema.attributes]
    return names + ([schema.unit.column] if schema.unit else [])


def _linear_code(rows: Any, schema: Schema) -> Any:
    code = rows["k0"]
    for i, size in enumerate(schema.shape[1:], start=1):
        code = code * size + rows[f"k{i}"]
    return code.cast("int64")


def _numpy(column: Any) -> NDArray[np.int64]:
    return np.ascontiguousarray(column.to_numpy(), dtype=np.int64)
