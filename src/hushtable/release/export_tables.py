"""Tables of a release for any tool: one file, a spreadsheet with a sheet each, or a folder."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from hushtable.errors import OptionError
from hushtable.release.export import (
    ENDINGS,
    Progress,
    Sheet,
    check_new,
    check_target,
    export_cells,
    one_line,
    write_batches,
    write_book,
)
from hushtable.release.release import Release
from hushtable.release.safe_names import file_names, sheet_names
from hushtable.release.table_counts import TableSet
from hushtable.release.table_form import TableForm, forms_of
from hushtable.scratch import whole_file, whole_folder
from hushtable.text import plain_json

FORMATS = ("parquet", "csv")
INDEX = "index"
# Cells of a table that is laid out to be exported.
_MOST_CELLS = 2**27


class Exported(NamedTuple):
    """What was written: how many rows of files or sheets, and in how many tables."""

    rows: int
    tables: int


def export(
    release: Release,
    out: str | Path,
    tables: Sequence[str] = (),
    *,
    format: str | None = None,
    whole: bool = False,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Exported:
    """Write a release to a new file or folder, whole or not at all.

    `out` ends in `.parquet`, `.csv` or `.xlsx`, or is a folder, which gets a file for each table,
    in this `format`. `tables` names some, such as `age+sex` or `occupation@1`: without names, those
    are written that the release consists of, or all its cells if it is one table. Whole counts are
    the nearest ones of a single table; several are counted off the synthetic rows of a `seed`, so
    that they agree. Raises `OptionError` or `QueryError` where that cannot be done.
    """
    path, is_folder = Path(out), _is_folder(out)
    names = tuple(tables) or release.tables
    if format is not None and (not is_folder or not names):
        raise OptionError("format is for a folder of tables; the ending of a file says its own")
    if not names:
        return Exported(export_cells(release, path, progress, whole=whole), 0)
    forms = forms_of(names, release)
    _check(path, is_folder, forms)
    chosen = TableSet(release, forms, whole=whole, seed=seed, progress=progress)
    ending = _checked_format(format) if is_folder else path.suffix.lower()
    with one_line(path):
        if is_folder:
            _write_folder(chosen, path, ending)
        elif ending == ".xlsx":
            _write_sheets(chosen, path)
        else:
            with whole_file(path) as partial:
                write_batches(next(chosen.tables()).batches, partial, ending)
    return Exported(sum(form.cells for form in forms), len(forms))


def _is_folder(out: str | Path) -> bool:
    """A name that has no ending, or ends as those of folders do."""
    return str(out).endswith(("/", os.sep)) or not Path(out).suffix


def _checked_format(format: str | None) -> str:
    if format not in (None, *FORMATS):
        raise OptionError(f"format must be one of {', '.join(FORMATS)}")
    return f".{format or FORMATS[0]}"


def _check(path: Path, is_folder: bool, forms: Sequence[TableForm]) -> None:
    """Refuse what cannot be written, before doing any work."""
    large = next((form for form in forms if form.cells > _MOST_CELLS), None)
    if large is not None:
        raise OptionError(f"{large.name} has {large.cells:,} cells, more than {_MOST_CELLS:,}")
    if is_folder:
        check_new(path)
        return
    if path.suffix.lower() not in ENDINGS:
        raise OptionError(f"{path.name} must end in {', '.join(ENDINGS)}, or in / for a folder")
    check_target(path, max(form.cells for form in forms), "give a folder: a name without an ending")
    if path.suffix.lower() != ".xlsx" and len(forms) > 1:
        raise OptionError(
            f"{len(forms):,} tables do not fit one {path.suffix.lower()} file: choose one of them"
            f" (--table {forms[0].name}), or give a folder (a name without an ending) or .xlsx"
        )


def _write_folder(chosen: TableSet, path: Path, ending: str) -> None:
    """A file for each table, and an index that says which file is which."""
    files = [name + ending for name in file_names((f.title for f in chosen.forms), [INDEX])]
    listed = []
    with whole_folder(path) as partial:
        for file, table in zip(files, chosen.tables(), strict=True):
            write_batches(table.batches, partial / file, ending)
            listed.append({"file": file, "table": table.form.name, **table.facts()})
        index = {"release": chosen.facts(), "tables": listed}
        (partial / f"{INDEX}.json").write_text(plain_json(index, indent=2) + "\n", encoding="utf-8")


def _write_sheets(chosen: TableSet, path: Path) -> None:
    """A sheet for each table, after one that says which sheet is which."""
    names = sheet_names((form.title for form in chosen.forms), [INDEX])
    listed: list[list[object]] = [["sheet", "table", "attributes", "cells", "stderr", "estimate"]]

    def sheets() -> Iterator[tuple[str, Iterator[pa.RecordBatch]]]:
        for name, table in zip(names, chosen.tables(), strict=True):
            yield name, table.batches
            attributes, *facts = table.facts().values()
            listed.append([name, table.form.name, ", ".join(attributes), *facts])

    def index() -> Iterator[list[object]]:
        yield from ([key, value] for key, value in chosen.facts().items())
        yield []
        yield from listed

    with whole_file(path) as partial:
        write_book(partial, sheets(), Sheet(INDEX, index))
