"""Counting: a table becomes the counts of its non-empty cells, or columns of small integers."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Integers
from hushtable.errors import DataError
from hushtable.kernel.counting.away import Counts, KnownTables, RowsAway
from hushtable.kernel.counting.encoding.bound import PEOPLE, fresh_salt, narrow_kinds, people_column
from hushtable.kernel.counting.encoding.moments import check_zones
from hushtable.kernel.counting.encoding.statement import Select, SqlStatement, statement
from hushtable.kernel.counting.engines.spark import (
    code_rows,
    count_cells,
    is_spark,
    kept_rows,
    known_tables,
)
from hushtable.kernel.counting.growing import GrowingColumns
from hushtable.kernel.counting.people import bounded, kept_statement, people_statement
from hushtable.kernel.counting.readers.csvfile import CsvFormat
from hushtable.kernel.counting.readers.records import LostRecords
from hushtable.kernel.counting.silence import silent_engine
from hushtable.kernel.counting.source import interruptible, open_table
from hushtable.kernel.counting.tally import Tally
from hushtable.schema import Schema

_Result = TypeVar("_Result")

MAX_CELLS = 2**62  # linear codes are 64-bit integers

_BATCH = 2**20
_PROBLEM = "the table could not be counted; check that its files are complete, and disk and memory"


@dataclass(frozen=True, repr=False)
class CodedColumns:
    """The rows of a table as one column of codes per attribute, contributions bounded."""

    shape: tuple[int, ...]
    columns: tuple[NDArray[np.unsignedinteger[Any]], ...]
    people: NDArray[np.int64] | None = None
    """How many people each row stands for; by default one."""

    def people_of_rows(self) -> NDArray[np.int64]:
        """The same, row by row."""
        one_each = np.broadcast_to(np.int64(1), len(self.columns[0]))
        return one_each if self.people is None else self.people

    @property
    def number(self) -> int:
        """How many people there are in all, or rows where each is one."""
        return len(self.columns[0]) if self.people is None else int(self.people.sum())


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

    if is_spark(data):
        return Counts(schema.shape, *count_cells(data, schema, _linear_codes, _secret(salt)))

    def count(rows: Any) -> Counts:
        tally = Tally()
        for batch in rows.to_arrow_reader(_BATCH):  # the engine never holds all rows
            people = _integers(batch[PEOPLE]) if schema.counts else None
            tally.add(_integers(batch["cell"]), people)
        return Counts(schema.shape, *tally.result())

    return _fetched(count, _linear_codes, data, schema, csv, salt)


def _integers(column: Any) -> Integers:
    """A column as an array; Arrow's own conversion would import pandas wherever that is there."""
    return cast(Integers, np.from_dlpack(column))


def code_table(
    data: Any, schema: Schema, csv: CsvFormat | None = None, *, salt: str | None = None
) -> CodedColumns:
    """Encode and bound contributions inside the engine; keep the rows, as small integers.

    For `salt` see `count_table`.
    """

    def keep(rows: Any) -> CodedColumns:
        people_too = ["int64"] if schema.counts else []
        columns = GrowingColumns([*narrow_kinds(schema).values(), *people_too])
        for batch in rows.to_arrow_reader(_BATCH):
            columns.add([_integers(column) for column in batch.columns])
        return of(columns.arrays())

    def of(columns: list[NDArray[Any]]) -> CodedColumns:
        people = columns.pop() if schema.counts else None
        return CodedColumns(schema.shape, tuple(columns), people)

    if is_spark(data):
        return of(code_rows(data, schema, _narrow_codes, _secret(salt)))
    return _fetched(keep, _narrow_codes, data, schema, csv, salt)


@contextmanager
def held_rows(
    data: Any,
    schema: Schema,
    csv: CsvFormat | None = None,
    *,
    foreseen: Sequence[Sequence[Any]] | None = None,
    salt: str | None = None,
) -> Iterator[CodedColumns | RowsAway]:
    """Coded rows for whom joint counts will do: where they can be counted, they stay meanwhile.

    The tables that are `foreseen`, each by its views, are all that will be asked for; then they are
    counted at once. For `salt` see `count_table`.
    """
    if not is_spark(data):
        yield code_table(data, schema, csv, salt=salt)
    elif foreseen is not None:
        found = known_tables(data, schema, _narrow_codes, _secret(salt), foreseen)
        yield KnownTables(schema.shape, foreseen, found)
    else:
        with kept_rows(data, schema, _narrow_codes, _secret(salt)) as rows:
            yield rows


def _fetched(
    fetch: Callable[[Any], _Result],
    select: Select,
    data: Any,
    schema: Schema,
    csv: CsvFormat | None,
    salt: str | None,
) -> _Result:
    """What is fetched of the encoded rows, contributions bounded."""
    secret = _secret(salt)
    if schema.unit is None:
        return fetched(
            fetch, lambda schema, types: statement(schema, types, select), data, schema, csv, secret
        )
    engines: list[Any] = []

    def bound(rows: Any) -> _Result:
        with bounded(rows, kept_statement(schema, select), secret, engines.append) as kept:
            return fetch(kept)

    return fetched(bound, people_statement, data, schema, csv, secret, engines=engines)


def fetched(
    fetch: Callable[[Any], _Result],
    write: Callable[[Schema, Any], SqlStatement],
    data: Any,
    schema: Schema,
    csv: CsvFormat | None,
    salt: str | None = None,
    *,
    lost: LostRecords | None = None,
    engines: Sequence[Any] = (),
) -> _Result:
    """What is fetched of a statement about the table's rows while their engine is open.

    The statement is written for the types of the columns. For `lost` see `open_table`, for the
    other `engines` that work for it `interruptible`.
    """
    secret = _secret(salt)  # before anything is read
    ids = [schema.unit.column] if schema.unit else []
    zones = {a.origin.zone for a in schema.attributes if a.origin.zone is not None}
    with (
        open_table(data, [*schema.columns, *ids], csv, ids=ids, lost=lost) as table,
        silent_engine(_PROBLEM),
    ):
        check_zones(zones, table.get_backend().con)
        written = write(schema, table.schema())

        def work() -> _Result:
            with written.result(table, secret) as rows:
                return fetch(rows)

        return interruptible(table, work, engines)


def _secret(salt: str | None) -> str:
    return fresh_salt() if salt is None else salt


def _linear_codes(rows: Any, schema: Schema) -> Any:
    """A column of linear codes, of the cells that the rows fall into; and whom they stand for."""
    code = rows["k0"].cast("int64")
    for i, size in enumerate(schema.shape[1:], start=1):
        code = code * size + rows[f"k{i}"].cast("int64")
    cell = code.cast("int32" if schema.cells <= 2**31 else "int64")
    return rows.select(cell=cell, **people_column(rows, schema))


def _narrow_codes(rows: Any, schema: Schema) -> Any:
    """The columns of codes, each of the narrowest type that holds them; and whom they stand for."""
    codes = {name: rows[name].cast(kind) for name, kind in narrow_kinds(schema).items()}
    return rows.select(**codes, **people_column(rows, schema))
