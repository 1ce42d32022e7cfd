"""Iceberg tables: the files of one snapshot, by the library that keeps such tables.

A table is named by its metadata file, or by its name in a catalog that the environment configures.
Where rows were deleted without their files being written anew, the table is refused. What a table
says of programs, hosts and keys has no effect: we alone choose how it is read.
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
_READER = "py-io-impl"
_DELETED = (
    "has deleted rows that are still in its files: write these anew first, as by CALL"
    " system.rewrite_data_files(table => …, options => map('delete-file-threshold', '1'))"
)


def iceberg_table(place: str, name: str | None = None) -> LakeTable:
    """The present snapshot of a table: of a metadata file, or in a catalog."""
    try:
        import pyiceberg.table  # noqa: F401
    except ModuleNotFoundError:
        raise_alone(OptionError(_NEEDED))
    shown = place if name is None else f"{place.rstrip('/')}/{name}"
    with silent_engine(f"{shown} could not be opened as an Iceberg table; check its name"):
        table = _by_itself(_uri(place)) if name is None else _in_catalog(place, name)
        if _READER in table.properties:
            raise DataError(
                f"{shown} names a program that is to read it: remove its property {_READER}"
            )
        return _snapshot(shown, table)


def _by_itself(place: str) -> Any:
    """The table of a metadata file."""
    from pyiceberg.catalog.noop import NoopCatalog
    from pyiceberg.serializers import FromInputFile
    from pyiceberg.table import StaticTable

    from hushtable.kernel.counting.readers.lakes.iceberg_files import ReadingFiles

    files = ReadingFiles.beside(place)
    metadata = FromInputFile.table_metadata(files.new_input(place))
    return StaticTable(("table", place), metadata, place, files, NoopCatalog("none"))


def _in_catalog(place: str, name: str) -> Any:
    """A table of a catalog, which would let the properties of a table choose how it is read."""
    from pyiceberg.catalog import load_catalog

    from hushtable.kernel.counting.readers.lakes.iceberg_files import ReadingFiles

    reading = {_READER: f"{ReadingFiles.__module__}.{ReadingFiles.__name__}"}
    catalog: Any = load_catalog(place[len(CATALOG) :].strip("/"), **reading)
    if not hasattr(catalog, "_load_file_io"):
        raise OptionError("this version of pyiceberg is not known to be safe: install another")
    catalog._load_file_io = lambda properties=None, location=None: ReadingFiles()
    return catalog.load_table(name)


def _snapshot(shown: str, table: Any) -> LakeTable:
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    from hushtable.kernel.counting.readers.lakes.iceberg_files import ReadingFiles

    table.io = ReadingFiles.beside(table.metadata_location)
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
