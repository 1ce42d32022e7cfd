"""A release as one table of cells that any tool can open: Parquet, CSV or a spreadsheet."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hushtable.errors import OptionError
from hushtable.query.result import ResultTable
from hushtable.release.decode import Decoder, decoder, unused_names
from hushtable.release.release import Release
from hushtable.release.rounding import whole_counts
from hushtable.scratch import whole_file

ENDINGS = (".parquet", ".csv", ".xlsx")
SHEET_ROWS = 1_048_576
SHEET_TEXT = 32_767
_BATCH = 2**20
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # what XML cannot hold

Progress = Callable[[int, int], None]
Codes = tuple[NDArray[np.intp], ...]
"""Places in a table, along each of its axes."""


class Sheet(NamedTuple):
    """A sheet whose rows are known at the end."""

    name: str
    rows: Callable[[], Iterable[Sequence[Any]]]


def check_target(path: Path, rows: int, instead: str = "use .parquet") -> None:
    """Refuse a file we cannot write, before doing any work; say what to do instead."""
    if path.suffix.lower() not in ENDINGS:
        raise OptionError(f"{path.name} must end in {', '.join(ENDINGS)}")
    check_new(path)
    if path.suffix.lower() == ".xlsx" and rows + 1 > SHEET_ROWS:
        raise OptionError(f"{rows:,} rows do not fit a spreadsheet ({SHEET_ROWS:,}); {instead}")


def check_new(path: Path) -> None:
    """Refuse a file or folder that is there already, or has nowhere to be."""
    with one_line(path):  # a name may be too long even to look for
        if path.exists():
            raise OptionError(f"{path} is there already; choose another name or remove it")
        if not path.parent.is_dir():
            raise OptionError(f"there is no folder {path.parent}")


def export_cells(
    release: Release, path: Path, progress: Progress | None = None, *, whole: bool = False
) -> int:
    """Write every cell with its labels, noisy count and standard error; returns how many.

    Whole counts have no standard error: they are no longer unbiased.
    """
    total = release.schema.cells
    check_target(path, total)
    _write(_cell_batches(release, whole), path, total, progress)
    return total


def export_rows(
    release: Release,
    path: Path,
    rows: int | None = None,
    *,
    seed: int | None = None,
    progress: Progress | None = None,
) -> int:
    """Write synthetic rows as they are drawn, by default as many as the noisy total."""
    total = release.number_of_rows() if rows is None else rows
    check_target(path, total)
    _write(release.synthetic_batches(total, seed=seed), path, total, progress)
    return total


def export_table(table: pa.Table | ResultTable, path: Path) -> None:
    """Write a table that is in memory."""
    arrow = table.to_arrow() if isinstance(table, ResultTable) else table
    check_target(path, arrow.num_rows)
    batches = arrow.to_batches(max_chunksize=_BATCH) or [
        pa.RecordBatch.from_pylist([], schema=arrow.schema)
    ]
    _write(iter(batches), path, arrow.num_rows, None)


def _cell_batches(release: Release, whole: bool) -> Iterator[pa.RecordBatch]:
    """The cells in the order of their codes, a piece at a time."""
    schema = release.schema
    counts = (whole_counts(release.cells()) if whole else release.cells()).reshape(-1)
    columns = [(attribute.name, decoder(attribute)) for attribute in schema.attributes]

    def known(_: slice, codes: Codes) -> dict[str, NDArray[Any]]:
        if whole:
            return {}
        estimate = {"estimate": np.ones(len(codes[0]), bool)} if release.estimate else {}
        return {"stderr": release.cell_stderrs(codes), **estimate}

    return count_batches(columns, schema.shape, counts, known)


def count_batches(
    columns: Sequence[tuple[str, Decoder]],
    shape: tuple[int, ...],
    counts: NDArray[Any],
    known: Callable[[slice, Codes], Mapping[str, NDArray[Any]]],
) -> Iterator[pa.RecordBatch]:
    """A row for every place of a shape: its labels, its count and what else is known of it."""
    for start in range(0, len(counts), _BATCH):
        part = slice(start, start + _BATCH)
        values = counts[part]
        values = values if values.dtype.kind == "f" else values.astype(np.int64)
        codes = np.unravel_index(np.arange(start, start + len(values)), shape)
        labels = [decode(along) for (_, decode), along in zip(columns, codes, strict=True)]
        measures = {"count": values, **known(part, codes)}
        names = unused_names([*(name for name, _ in columns), *measures])
        found = [*labels, *map(pa.array, measures.values())]
        yield pa.RecordBatch.from_arrays(found, names=names)


def _write(
    batches: Iterator[pa.RecordBatch], path: Path, total: int, progress: Progress | None
) -> None:
    with one_line(path), whole_file(path) as partial:
        write_batches(_watched(batches, total, progress), partial, path.suffix.lower())


@contextmanager
def one_line(path: Path) -> Iterator[None]:
    """What keeps a file from being written, as one line."""
    try:
        yield
    except OSError as problem:
        reason = problem.strerror or "the disk may be full"
        raise OptionError(f"{path} could not be written: {reason}") from None


def write_batches(batches: Iterator[pa.RecordBatch], path: Path, ending: str) -> None:
    """Write a table to a path in the format of an ending."""
    writers = {".parquet": _write_parquet, ".csv": _write_csv, ".xlsx": _write_xlsx}
    writers[ending](batches, path)


def _watched(
    batches: Iterator[pa.RecordBatch], total: int, progress: Progress | None
) -> Iterator[pa.RecordBatch]:
    done = 0
    for batch in batches:
        yield batch
        done += batch.num_rows
        if progress is not None:
            progress(done, total)


def _write_parquet(batches: Iterator[pa.RecordBatch], path: Path) -> None:
    import pyarrow.parquet as pq

    first = next(batches)
    with pq.ParquetWriter(path, first.schema) as writer:
        writer.write_batch(first)
        for batch in batches:
            writer.write_batch(batch)


def _write_csv(batches: Iterator[pa.RecordBatch], path: Path) -> None:
    import pyarrow.csv as pc

    first = next(batches)
    with pc.CSVWriter(path, first.schema) as writer:
        writer.write_batch(first)
        for batch in batches:
            writer.write_batch(batch)


def _write_xlsx(batches: Iterator[pa.RecordBatch], path: Path) -> None:
    write_book(path, iter([("cells", batches)]))


def write_book(
    path: Path,
    sheets: Iterator[tuple[str, Iterator[pa.RecordBatch]]],
    first: Sheet | None = None,
) -> None:
    """Write a spreadsheet; what its first sheet says may become known while others are written."""
    from openpyxl import Workbook

    book = Workbook(write_only=True)
    try:
        index = None if first is None else book.create_sheet(first.name)
        for name, batches in sheets:
            sheet = book.create_sheet(name)
            _fill(sheet, _rows(batches))
            sheet.close()  # each has a file of its own, and there may be thousands
        if first is not None:
            _fill(index, first.rows())
    except BaseException:
        _discard(book)
        raise
    book.save(path)


def _rows(batches: Iterator[pa.RecordBatch]) -> Iterator[Iterable[Any]]:
    """The names of the columns, then the rows."""
    start = next(batches)
    yield start.schema.names
    for batch in itertools.chain([start], batches):
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _fill(sheet: Any, rows: Iterable[Iterable[Any]]) -> None:
    for row in rows:
        sheet.append([_in_sheet(sheet, value) for value in row])


def _discard(book: Any) -> None:
    """Close the sheets and remove their temporary files."""
    for sheet in book.worksheets:
        if not sheet.closed:
            sheet.close()
        sheet._writer.cleanup()


def _in_sheet(sheet: Any, value: Any) -> Any:
    """A value for a spreadsheet; a label that looks like a formula or an error stays a label."""
    if not isinstance(value, str):
        return value
    if len(value) > SHEET_TEXT or _UNWRITABLE.search(value):
        raise OptionError(
            "a label is too long or too odd for a spreadsheet; use .parquet (for tables, a folder)"
        )
    if not value.startswith(("=", "#")):
        return value
    from openpyxl.cell import WriteOnlyCell

    cell = WriteOnlyCell(sheet, value)
    cell.data_type = "s"
    return cell
