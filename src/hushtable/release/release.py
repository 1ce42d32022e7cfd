"""A release, opened: counts with error bars, for anyone, without the data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hushtable.errors import QueryError
from hushtable.query.answer import Draws, unrounded
from hushtable.query.batch import (
    WORTH_A_TABLE,
    accumulate,
    box_sums,
    checked_ranges,
    range_boxes,
)
from hushtable.query.box import Box, CodeSet
from hushtable.query.law import margins_of
from hushtable.query.reader import (
    IntervalReader,
    OptionalReader,
    RangeReader,
    Reader,
    RowReader,
    TablesReader,
)
from hushtable.release.asking import Asking
from hushtable.release.manifest import Manifest, read_manifest
from hushtable.release.opening import Arrays, Opened, open_reader
from hushtable.schema import Schema

if TYPE_CHECKING:
    import pyarrow


MOST_STREAMED = 10**12


def open(path: str | Path) -> Release:
    """Open a release folder; nothing in it is run, and little of it is read."""
    folder = Path(path)
    manifest = read_manifest(folder)
    return Release(folder, manifest, open_reader(folder, manifest))


class Release(Asking):
    """Published measurements of a table, and the answers they give.

    Its files are opened when it is first asked, unless they are given opened.
    """

    def __init__(self, folder: Path, manifest: Manifest, opened: Opened | None = None) -> None:
        self.folder = folder
        self._manifest = manifest
        self._opened = opened
        self._sums: NDArray[Any] | None = None

    def __repr__(self) -> str:
        return f"<Release of {self.schema.name!r} by {self.mechanism}, ε = {self.epsilon}>"

    def _repr_html_(self) -> str:
        from hushtable.release.html import release_html

        return release_html(self)

    @property
    def manifest(self) -> dict[str, Any]:
        """What its manifest.json says, every field of the type it should have."""
        return self._manifest.content

    @property
    def schema(self) -> Schema:
        """The public description of the table."""
        return self._manifest.schema

    @property
    def mechanism(self) -> str:
        """The mechanism that made it."""
        return self._manifest.stated.mechanism

    @property
    def epsilon(self) -> Fraction:
        """The ε it cost."""
        return self._manifest.epsilon

    @property
    def private(self) -> bool:
        """Whether its noise came from the operating system's randomness."""
        return self._manifest.stated.private

    @property
    def snapshot(self) -> str | None:
        """The word by which the owner says of which state of the table it is."""
        return self._manifest.stated.snapshot

    @property
    def draws(self) -> Draws:
        """What tells its noise from that of others: what it was paid for, but for experiments.

        Noise that was injected may be that of another release.
        """
        paid = self.manifest.get("reservation"), self.manifest.get("ledger")
        return frozenset([tuple(map(str, paid))]) if self.private and all(paid) else None

    @property
    def arrays(self) -> Arrays:
        """Its files, by the names they have in the manifest."""
        return self._open()[0]

    @property
    def reader(self) -> Reader:
        """What answers from its files."""
        return self._open()[1]

    def _open(self) -> Opened:
        if self._opened is None:
            self._opened = open_reader(self.folder, self._manifest)
        return self._opened

    @property
    def estimate(self) -> bool:
        """Whether some of its intervals are estimates, which may hold less often than they say.

        Each answer says for itself whether its own interval is one.
        """
        return self.reader.estimate

    def verify(self) -> None:
        """Check every byte against the manifest's checksums."""
        for array in self.arrays.values():
            array.verify()

    def count_ranges(
        self, starts: ArrayLike, stops: ArrayLike
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """The counts of many boxes and their standard errors, quickly.

        A box is a row of codes start ≤ code < stop, one column per attribute of the schema. Many
        boxes are answered from a table of sums over the whole domain, which is made once.
        """
        low, high = checked_ranges(starts, stops, self.schema.shape)
        if isinstance(self.reader, RangeReader):
            values, variances = self.reader.ranges(low, high)
            return values, np.sqrt(variances)
        errors = np.sqrt(self.reader.range_variances(low, high))
        if len(low) >= WORTH_A_TABLE or self._sums is not None:
            if self._sums is None:
                self._sums = accumulate(self.reader.fresh_cells())
            return box_sums(self._sums, low, high), errors
        boxes = range_boxes(low, high)
        return np.array([self.reader.count((box,))[0] for box in boxes]), errors

    def range_intervals(
        self, starts: ArrayLike, stops: ArrayLike, *, confidence: float = 0.95
    ) -> tuple[NDArray[Any], NDArray[np.float64], NDArray[np.float64]]:
        """The counts of many boxes, and the lower and upper ends of their intervals."""
        low, high = checked_ranges(starts, stops, self.schema.shape)
        if isinstance(self.reader, IntervalReader):
            return self.reader.range_intervals(low, high, confidence)
        values, _ = self.count_ranges(low, high)
        laws = (self.reader.law((box,)) for box in range_boxes(low, high))
        sides = np.array([margins_of(law, confidence) for law in laws], np.float64).reshape(-1, 2)
        return values, *unrounded(values, sides[:, 0], sides[:, 1])

    def reading(self, **options: Any) -> Release:
        """The same release read in another way, where its reader knows several.

        Nothing is spent: `prior`, `likelihood`, `reference` and `intervals` of `ispe` and `kdtree`
        are choices of the analyst.
        """
        if not isinstance(self.reader, OptionalReader):
            raise QueryError(f"there is only one way to read a release of {self.mechanism}")
        return Release(self.folder, self._manifest, (self.arrays, self.reader.reading(**options)))

    def cells(self) -> NDArray[Any]:
        """The noisy count of every cell, as an array of the schema's shape; may be negative."""
        return self.reader.cells()

    @property
    def tables(self) -> tuple[str, ...]:
        """The small tables that it consists of, such as `age+sex`; empty where it is one table.

        Conditions on attributes that are in none of them together have estimates alone.
        """
        return self.reader.table_names if isinstance(self.reader, TablesReader) else ()

    @property
    def cell_stderr(self) -> float:
        """The standard error of a single cell: of the first, where they differ.

        Of several small tables it is a cell of the first.
        """
        if isinstance(self.reader, TablesReader):
            return math.sqrt(self.reader.law(self.reader.first_cell).variance)
        cell = Box(tuple(CodeSet.single(0) for _ in self.schema.shape))
        return math.sqrt(self.reader.law((cell,)).variance)

    def cell_stderrs(self, codes: Sequence[NDArray[Any]]) -> NDArray[np.float64]:
        """The standard error of each of many cells, given by their codes along each axis."""
        return np.sqrt(self.reader.cell_variances(codes))

    @property
    def network(self) -> Any:
        """The Bayesian network that this release is, or None where it is something else."""
        return getattr(self.reader, "network", None)

    def synthesize(self, rows: int | None = None, *, seed: int | None = None) -> pyarrow.Table:
        """Draw rows that look like the table; by default as many as the noisy total.

        This is post-processing of what is already public, so ordinary randomness will do.
        """
        from hushtable.release.synthesize import MAX_ROWS, checked_rows, synthesize

        if not isinstance(self.reader, RowReader):
            return synthesize(self.schema, self.cells(), rows=rows, seed=seed)
        import pyarrow as pa

        rows = checked_rows(self.number_of_rows() if rows is None else rows, MAX_ROWS)
        return pa.Table.from_batches(list(self.synthetic_batches(rows, seed=seed)))

    def synthetic_batches(
        self, rows: int | None = None, *, seed: int | None = None
    ) -> Iterator[pyarrow.RecordBatch]:
        """Draw rows as `synthesize` does, a batch at a time; there is at least one batch.

        A network, and a model of small tables, draw any number of rows in flat memory.
        """
        from hushtable.release.synthesize import checked_rows, checked_seed

        if not isinstance(self.reader, RowReader):
            table = self.synthesize(rows, seed=seed)
            batches = table.to_batches(max_chunksize=2**17)
            return iter(batches or [_empty_batch(table)])
        rows = checked_rows(self.number_of_rows() if rows is None else rows, MOST_STREAMED)
        return self.reader.batches(rows, checked_seed(seed))

    def export(
        self,
        out: str | Path,
        tables: Sequence[str] = (),
        *,
        format: str | None = None,
        whole: bool = False,
        seed: int | None = None,
    ) -> None:
        """Write a new `.parquet`, `.csv` or `.xlsx` file, or a folder with a file for each table.

        These are its tables, or all its cells where it is one; `tables` names others, such as
        `age+sex` or `occupation@1`. A folder has no ending; its files have this `format`, "parquet"
        or "csv". With `whole`, counts are whole numbers, none negative, without error bars; several
        tables are then counted off the synthetic rows of the `seed`, so that they agree.
        """
        from hushtable.release.export_tables import export

        export(self, out, tables, format=format, whole=whole, seed=seed)

    def report(self, out: str | Path) -> None:
        """Write a report to hand over: one new `.html` file with charts, which opens offline.

        Needs the extra `hushtable[web]`.
        """
        from hushtable.web.report import write_report

        write_report(self, out)

    def number_of_rows(self) -> int:
        """How many rows there are, by the noisy answers; zero or more."""
        if isinstance(self.reader, RowReader):
            return round(self.reader.total)
        return max(round(self.count().value), 0)


def _empty_batch(table: pyarrow.Table) -> pyarrow.RecordBatch:
    import pyarrow as pa

    return pa.RecordBatch.from_pylist([], schema=table.schema)
