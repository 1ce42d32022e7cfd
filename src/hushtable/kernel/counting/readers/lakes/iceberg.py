"""Iceberg tables: the files of one snapshot, by the library that keeps such tables.

A table is named by its metadata file, or by its name in a catalog that the environment configures.
Where rows were deleted without their files being written anew, the table is refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hushtable.errors import DataError, OptionError
from hushtable.kernel.counting.readers.elsewhere.addresses import is_address
from hushtable.kernel.counting.readers.lakes.finding import CATALOG
from hushtable.kernel.counting.readers.lakes.one_store import FilesOfOneStore
from hushtable.kernel.counting.readers.lakes.table import LakeFile, LakeTable
from hushtable.kernel.counting.silence import raise_alone, silent_engine

_NEEDED = "Iceberg tables need another package: pip install 'hushtable[cloud]'"
_DELETED = (
    "has deleted rows that are still in its files: write these anew first, as by CALL"
    " system.rewrite_data_files(table => …, options => map('delete-file-threshold', '1'))"
)


def iceberg_table(place: str, name: str | None = None) -> LakeTable:
    """The present snapshot of a table: of a metadata file, or in a catalog."""
    try:
        import pyiceberg.table
    except ModuleNotFoundError:
        raise_alone(OptionError(_NEEDED))
    shown = place if name is None else f"{place.rstrip('/')}/{name}"
    with silent_engine(f"{shown} could not be opened as an Iceberg table; check its name"):
        reading = {"py-io-impl": f"{__package__}.iceberg_files.ReadingFiles"}
        if name is None:
            table: Any = pyiceberg.table.StaticTable.from_metadata(_uri(place), reading)
        else:
            from pyiceberg.catalog import load_catalog

            table = load_catalog(place[len(CATALOG) :].strip("/"), **reading).load_table(name)
        return _snapshot(shown, table)


def _snapshot(shown: str, table: Any) -> LakeTable:
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    snapshot = table.current_snapshot()
    schema = table.schema() if snapshot is None else table.schemas()[snapshot.schema_id]
    fields = schema.fields
    tasks = [] if snapshot is None else table.scan(snapshot_id=snapshot.snapshot_id).plan_files()
    places: dict[str, LakeFile] = {}
    files = FilesOfOneStore(table.metadata_location)
    for task in tasks:
        if task.delete_files:
            raise DataError(f"{shown} {_DELETED}")
        if str(getattr(task.file.file_format, "value", task.file.file_format)) != "PARQUET":
            raise DataError(f"{shown} has files that are not Parquet, and only these are read")
        places[task.file.file_path] = LakeFile(files.find(task.file.file_path))
    if any(getattr(field, "initial_default", None) is not None for field in fields):
        raise DataError(f"{shown} has columns with a default for old rows: write it anew")
    numbers = tuple(field.field_id for field in fields)
    return LakeTable(shown, schema_to_pyarrow(schema), tuple(places.values()), numbers)


def _uri(place: str) -> str:
    return place if is_address(place) else f"file://{Path(place).resolve()}"
