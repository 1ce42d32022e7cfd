"""Counting: a table becomes the counts of its non-empty cells, or columns of small integers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import DataError
from hushtable.kernel.counting.bound import bound_contributions, fresh_salt
from hushtable.kernel.counting.csvfile import CsvFormat
from hushtable.kernel.counting.encode import encode
from hushtable.kernel.counting.silence import silent_engine
from hushtable.kernel.counting.source import interruptible, open_table
from hushtable.kernel.counting.tally import Tally
from hushtable.schema import Schema

MAX_CELLS = 2**62  # linear codes are 64-bit integers

_BATCH = 2**20
_PROBLEM = "the table could not be counted; check that its files are complete, and disk and memory"


@dataclass(frozen=True, repr=False)
class Counts:
    """The non-empty cells of a table: each one's linear code (last attribute fastest) and count.

    The cells stand in the order of their codes.
    """

    shape: tuple[int, ...]
    codes: NDArray[np.int64]
    counts: NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class CodedColumns:
    """The rows of a table as one column of codes per attribute, contributions bounded."""

    shape: tuple[int, ...]
    columns: tuple[NDArray[np.unsignedinteger[Any]], ...]


def count_table(
    data: Any, schema: Schema, csv: CsvFormat | None = None, *, salt: str | None = None
) -> Counts:
    """Encode and bound contributions inside the engine; count the cells as it tells them.

    Which rows of a person count depends on a secret. A `salt` takes its place in tests and audits,
    which compare tables; nothing counted with one may be published.
    """
    if schema.cells > MAX_CELLS:
        raise DataError(
            f"the domain has about 10^{math.log10(schema.cells):.1f} cells; cell counts need at"
            " most 2^62, about 10^18.7"
        )

    tally = Tally()

    def count(rows: Any) -> None:
        for batch in _batches(rows.select(cell=_linear_code(rows, schema))):
            tally.add(batch["cell"].to_numpy())

    with _bounded_rows(data, schema, csv, salt) as rows:
        interruptible(rows, lambda: count(rows))
        return Counts(schema.shape, *tally.result())


def code_table(
    data: Any, schema: Schema, csv: CsvFormat | None = None, *, salt: str | None = None
) -> CodedColumns:
    """Encode and bound contributions inside the engine; keep the rows, as small integers.

    For `salt` see `count_table`.
    """
    narrow = [np.min_scalar_type(size - 1) for size in schema.shape]

    with _bounded_rows(data, schema, csv, salt) as rows:
        names = [f"k{i}" for i in range(len(narrow))]
        codes = {n: rows[n].cast(str(kind)) for n, kind in zip(names, narrow, strict=True)}
        engine = rows.get_backend()
        arrow = interruptible(rows, lambda: engine.to_pyarrow(rows.select(**codes)))
        return CodedColumns(schema.shape, tuple(np.asarray(arrow[name]) for name in names))


@contextmanager
def _bounded_rows(
    data: Any, schema: Schema, csv: CsvFormat | None, salt: str | None
) -> Iterator[Any]:
    """The encoded rows, contributions bounded, while the engine that holds them is open."""
    secret = fresh_salt() if salt is None else salt  # before anything is read
    ids = [schema.unit.column] if schema.unit else []
    names = [attribute.name for attribute in schema.attributes] + ids
    with open_table(data, names, csv, ids=ids) as table, silent_engine(_PROBLEM):
        yield bound_contributions(encode(table, schema), schema, secret)


def _batches(table: Any) -> Any:
    """A stream of a table's rows, of which the engine never holds all."""
    import ibis
    from ibis.expr.operations import InMemoryTable

    engine = table.get_backend()
    for listed in table.op().find(InMemoryTable):  # lists of labels, which the engine must know
        engine.to_pyarrow(listed.to_expr().limit(0))
    return engine.con.sql(ibis.to_sql(table)).to_arrow_reader(_BATCH)


def _linear_code(rows: Any, schema: Schema) -> Any:
    code = rows["k0"].cast("int64")
    for i, size in enumerate(schema.shape[1:], start=1):
        code = code * size + rows[f"k{i}"]
    return code.cast("int32" if schema.cells <= 2**31 else "int64")
