"""A release as one table of cells that any tool can open: Parquet, CSV or a spreadsheet."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from hushtable.errors import OptionError
from hushtable.query.answer import ResultTable
from hushtable.release.decode import decoder, unused_names
from hushtable.release.release import Release
from hushtable.release.rounding import whole_counts
from hushtable.scratch import whole_file

ENDINGS = (".parquet", ".csv", ".xlsx")
SHEET_ROWS = 1_048_576
SHEET_TEXT = 32_767
_BATCH = 2**20
_UNWRITABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # what XML cannot hold

Progress = Callable[[int, int], None]


def check_target(path: Path, rows: int) -> None:
    """Refuse a file we cannot write, before doing any work."""
    if path.suffix.lower() not in ENDINGS:
        raise OptionError(f"{path.name} must end in {', '.join(ENDINGS)}")
    if path.exists():
        raise OptionError(f"{path} is there already; choose another name or remove it")
    if not path.parent.is_dir():
        raise OptionError(f"there is no folder {path.parent}")
    if path.suffix.lower() == ".xlsx" and rows + 1 > SHEET_ROWS:
        raise OptionError(f"{rows:,} rows do not fit a spreadsheet ({SHEET_ROWS:,}); use .parquet")


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
    flat = (whole_counts(release.cells()) if whole else release.cells()).reshape(-1)
    decoders = {attribute.name: decoder(attribute) for attribute in schema.attributes}
    names = unused_names([*decoders, "count", "stderr", "estimate"])
    count_name, stderr_name, estimate_name = names[-3:]
    for start in range(0, schema.cells, _BATCH):
        counts = flat[start : start + _BATCH]
        counts = counts if counts.dtype.kind == "f" else counts.astype(np.int64)
        codes = np.unravel_index(np.arange(start, start + len(counts)), schema.shape)
        columns = {
            name: decode(along)
            for (name, decode), along in zip(decoders.items(), codes, strict=True)
        }
        columns[count_name] = pa.array(counts)
        if not whole:
            columns[stderr_name] = pa.array(release.cell_stderrs(codes))
            if release.estimate:
                columns[estimate_name] = pa.array(np.ones(len(counts), bool))
        yield pa.RecordBatch.from_pydict(columns)


def _write(
    batches: Iterator[pa.RecordBatch], path: Path, total: int, progress: Progress | None
) -> None:
    writers = {".parquet": _write_parquet, ".csv": _write_csv, ".xlsx": _write_xlsx}
    try:
        with whole_file(path) as partial:
            writers[path.suffix.lower()](_watched(batches, total, progress), partial)
    except OSError as problem:
        reason = problem.strerror or "the disk may be full"
        raise OptionError(f"{path} could not be written: {reason}") from None


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
    from openpyxl import Workbook

    book = Workbook(write_only=True)
    try:
        sheet = book.create_sheet("cells")
        first = next(batches)
        sheet.append([_in_sheet(sheet, name) for name in first.schema.names])
        for batch in itertools.chain([first], batches):
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                sheet.append([_in_sheet(sheet, value) for value in row])
    except BaseException:
        _discard(book)
        raise
    book.save(path)


def _discard(book: Any) -> None:
    """Close the sheets and remove their temporary files."""
    for sheet in book.worksheets:
        sheet.close()
        sheet._writer.cleanup()


def _in_sheet(sheet: Any, value: Any) -> Any:
    """A value for a spreadsheet; a label that looks like a formula or an error stays a label."""
    if not isinstance(value, str):
        return value
    if len(value) > SHEET_TEXT or _UNWRITABLE.search(value):
        raise OptionError("a label is too long or too odd for a spreadsheet; use .parquet")
    if not value.startswith(("=", "#")):
        return value
    from openpyxl.cell import WriteOnlyCell

    cell = WriteOnlyCell(sheet, value)
    cell.data_type = "s"
    return cell
