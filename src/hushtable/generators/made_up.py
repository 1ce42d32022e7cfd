"""A made-up table: a schema, and rows that come block by block, each block from its own seed.

Rows are a function of the seed and of their place alone. So a table is the same whatever the size
of the batches it is written in, and a longer one begins with the shorter one, where rows are drawn
one by one and not from given counts.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushtable.errors import OptionError
from hushtable.kernel.counting import Counts, count_table
from hushtable.schema import Attribute, IntegerRange, Schema
from hushtable.scratch import whole_file

BLOCK = 2**16
BATCH = 2**20
MAX_ROWS = 10**12

Codes = tuple[NDArray[Any], ...]
Progress = Callable[[int, int], None]
"""Told how many rows are done, and of how many."""


def own_dataset(schema: Schema) -> Schema:
    """The schema with a dataset of its own: made-up people have a new budget every time.

    A real dataset has one budget, wherever its files are; whoever tries things twice, in another
    folder, would be refused.
    """
    return replace(schema, dataset=f"{schema.name}-{secrets.token_hex(4)}")


@dataclass(frozen=True, repr=False)
class MadeUpTable:
    """A table of people who never lived; none of it is private."""

    schema: Schema
    rows: int
    block: Callable[[int], pa.Table]
    """The k-th block of rows, all of them: what is beyond the end is cut off here."""
    count: Callable[[], Counts] | None = None
    """A quicker way to the counts than through the rows, where there is one."""

    def __post_init__(self) -> None:
        if isinstance(self.rows, bool) or not 1 <= self.rows <= MAX_ROWS:
            raise OptionError(f"rows must be a whole number from 1 to {MAX_ROWS:,}")

    def batches(self, size: int = BATCH) -> Iterator[pa.Table]:
        """The rows in order, so many at a time; no more than a batch and a block are held."""
        if size < 1:
            raise OptionError("a batch has at least one row")
        held = None
        for start in range(0, self.rows, BLOCK):
            block = self.block(start // BLOCK).slice(0, self.rows - start)
            held = block if held is None else pa.concat_tables([held, block])
            while held.num_rows >= size:
                yield held.slice(0, size)
                held = held.slice(size)
        if held is not None and held.num_rows:
            yield held

    def table(self) -> pa.Table:
        """All rows, in memory."""
        return pa.concat_tables(self.batches(BLOCK))

    def counts(self) -> Counts:
        """The counts of the non-empty cells, as publishing would find them."""
        return count_table(self.table(), self.schema) if self.count is None else self.count()

    def write(self, path: str | Path, progress: Progress | None = None, size: int = BATCH) -> None:
        """Write the rows to a Parquet file, which is there only when it is whole."""
        import pyarrow.parquet as pq

        target = Path(path)
        done = 0
        try:
            with (
                whole_file(target) as partial,
                pq.ParquetWriter(partial, self.block(0).schema) as writer,
            ):
                for batch in self.batches(size):
                    writer.write_table(batch)
                    done += batch.num_rows
                    if progress is not None:
                        progress(done, self.rows)
        except OSError as problem:
            reason = problem.strerror or "is there room, and may you write there?"
            raise OptionError(f"{target} cannot be written: {reason}") from None


def table_of_codes(
    schema: Schema, rows: int, draw: Callable[[np.random.Generator], Codes], *, seed: int
) -> MadeUpTable:
    """A table whose blocks are drawn as codes, a column of BLOCK codes for each attribute."""
    check_seed(seed)
    decode = decoder_of(schema)

    def codes(k: int) -> Codes:
        return draw(np.random.default_rng([seed, 1, k]))

    def count() -> Counts:
        blocks = -(-rows // BLOCK)
        linear = [np.ravel_multi_index(codes(k), schema.shape) for k in range(blocks)]
        held, counts = np.unique(np.concatenate(linear)[:rows], return_counts=True)
        return Counts(schema.shape, held, counts)

    return MadeUpTable(schema, rows, lambda k: decode(codes(k)), count)


def table_of_cells(schema: Schema, cells: Counts) -> MadeUpTable:
    """A table with given counts; its rows stand in the order of the cells."""
    ends, decode = np.cumsum(cells.counts), decoder_of(schema)
    rows = int(ends[-1]) if len(ends) else 0

    def block(k: int) -> pa.Table:
        places = np.arange(k * BLOCK, min((k + 1) * BLOCK, rows))
        held = cells.codes[np.searchsorted(ends, places, side="right")]
        return decode(np.unravel_index(held, schema.shape))

    return MadeUpTable(schema, rows, block, lambda: cells)


def decoder_of(schema: Schema) -> Callable[[Codes], pa.Table]:
    """What turns codes into a table; labels stay dictionaries, which are small."""
    columns = {attribute.name: _column(attribute) for attribute in schema.attributes}

    def decode(codes: Codes) -> pa.Table:
        pairs = zip(columns.items(), codes, strict=True)
        return pa.table({name: column(along) for (name, column), along in pairs})

    return decode


def _column(attribute: Attribute) -> Callable[[NDArray[Any]], pa.Array]:
    values = attribute.values
    if isinstance(values, IntegerRange):
        low = values.low
        width = np.int32 if max(abs(low), abs(values.high)) < 2**31 else np.int64
        return lambda codes: pa.array((codes + low).astype(width))
    labels = pa.array([str(values.label(code)) for code in range(values.size)])
    return lambda codes: pa.DictionaryArray.from_arrays(codes.astype(np.int32), labels)


class Conditional:
    """Draws from one of several laws over the same codes, given by a row of weights each."""

    def __init__(self, weights: NDArray[np.float64]) -> None:
        rows, self._size = weights.shape
        ends = np.cumsum(weights / weights.sum(axis=1, keepdims=True), axis=1)
        ends[:, -1] = 1.0
        # Law after law on one line: that of row r lies between r and r + 1.
        self._ends = (ends + np.arange(rows)[:, None]).reshape(-1)

    def draw(self, law: NDArray[np.int64], random: np.random.Generator) -> NDArray[np.int64]:
        """A code for each row, by the law that the row names."""
        places = np.searchsorted(self._ends, law + random.random(len(law)), side="right")
        # Adding the row's number rounds, at worst up to the next law.
        return np.asarray(np.minimum(places - law * self._size, self._size - 1), np.int64)


def check_seed(seed: int) -> None:
    """Refuse what NumPy cannot start from."""
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise OptionError("seed must be a whole number, zero or more")
