"""Delta tables: the files of one version, by the library that keeps such tables.

Rows that were deleted by a vector of them stay uncounted. A table with features that we do not know
is refused: they may say that its files mean something else.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from hushtable.errors import DataError, OptionError
from hushtable.kernel.counting.readers.elsewhere.addresses import read_address
from hushtable.kernel.counting.readers.elsewhere.stores import ObjectStore, is_plain
from hushtable.kernel.counting.readers.lakes.table import LakeFile, LakeTable
from hushtable.kernel.counting.silence import raise_alone, silent_engine

_NEEDED = "Delta tables need another package: pip install 'hushtable[cloud]'"
_KNOWN = {
    *("deletionVectors", "timestampNtz", "v2Checkpoint", "vacuumProtocolCheck"),
    *("appendOnly", "domainMetadata", "typeWidening", "typeWidening-preview", "variantType"),
    *("invariants", "checkConstraints", "generatedColumns", "changeDataFeed", "inCommitTimestamp"),
}


def delta_table(place: str, store: ObjectStore | None = None) -> LakeTable:
    """The present version of a table, in a folder here or of a store."""
    try:
        from deltalake import DeltaTable
    except ModuleNotFoundError:
        raise_alone(OptionError(_NEEDED))
    import pyarrow as pa

    problem = f"{place} could not be opened as a Delta table; check that it is complete"
    with silent_engine(problem), _no_machine_asked():
        table = DeltaTable(place, storage_options=_options(place) if store else None)
        _check_known(place, table)
        actions = pa.table(table.get_add_actions(flatten=False))
        schema = pa.schema(table.schema().to_arrow())
        deleted = _deleted(place, table)
        paths = actions.column("path").to_pylist()
        parts = actions.column("partition") if "partition" in actions.column_names else None
        files = [
            _file(place, store, path, _constants(parts, row), deleted)
            for row, path in enumerate(paths)
        ]
        if len({str(file.file) for file in files}) < len(files):
            raise DataError(f"{place} has a file of two names in its log: write the table anew")
        if deleted:  # of a file that is not there
            raise DataError(problem)
    return LakeTable(place, schema, tuple(files))


def _check_known(place: str, table: Any) -> None:
    protocol = table.protocol()
    mapped = table.metadata().configuration.get("delta.columnMapping.mode", "none") != "none"
    if mapped or protocol.min_reader_version > 3 or set(protocol.reader_features or ()) - _KNOWN:
        raise DataError(
            f"{place} uses features of Delta that are not read (such as column mapping): write it"
            " anew without them, or publish a Parquet file made of it"
        )


def _constants(parts: Any, row: int) -> dict[str, Any]:
    """The values of the columns by which a table is parted: its files do not have these."""
    if parts is None:
        return {}
    value = parts[row]
    return {name: value[name] for name in value}


def _deleted(place: str, table: Any) -> dict[str, NDArray[np.bool_]]:
    """Which rows are left, by the names in the table of the files that have others."""
    import pyarrow as pa

    start = unquote(table.table_uri).rstrip("/") + "/"
    kept: dict[str, NDArray[np.bool_]] = {}
    for batch in pa.RecordBatchReader.from_stream(_vectors(place, table)):
        for address, rows in zip(batch.column(0), batch.column(1), strict=True):
            file = unquote(address.as_py())
            if not file.startswith(start) or file[len(start) :] in kept:
                raise DataError(f"{place} has deleted rows in files that cannot be told apart")
            kept[file[len(start) :]] = rows.values.to_numpy(zero_copy_only=False)
    return kept


def _vectors(place: str, table: Any) -> Any:
    try:
        return table.deletion_vectors()
    except Exception as problem:
        if "numRecords" not in str(problem):
            raise
    raise DataError(
        f"{place} has deleted rows in a file of which its log does not say how many rows it has:"
        " write the table anew"
    )


def _file(
    place: str,
    store: ObjectStore | None,
    path: str,
    constants: dict[str, Any],
    deleted: dict[str, NDArray[np.bool_]],
) -> LakeFile:
    plain = unquote(path)
    if "://" in plain or not {"", ".", ".."}.isdisjoint(plain.split("/")):
        raise DataError(
            f"{place} has files in other folders: write it anew, without shallow clones"
        )
    kept = deleted.pop(plain, None)
    if store is None:
        file = os.path.join(place, plain)
        if not Path(file).is_file():
            raise DataError(f"{place} lacks a file that its log names; check that it is complete")
        return LakeFile(file, constants, kept)
    found = store.find_named(f"{read_address(place).key.strip('/')}/{plain}")
    if found is None:
        raise DataError(f"{place} lacks a file that its log names; check that it is complete")
    return LakeFile(found, constants, kept)


def _options(place: str) -> dict[str, str]:
    """Of what the environment says, the library takes all but these."""
    scheme = read_address(place).scheme
    return {"allow_http": "true"} if is_plain(scheme) else {}


@contextmanager
def _no_machine_asked() -> Iterator[None]:
    """Let no machine of a cloud be asked but the one that is named.

    The library would ask it for the region even where it has keys. It looks at nothing but the
    environment, and there by another name than the one that readers of stores know.
    """
    named = os.environ.get("AWS_METADATA_ENDPOINT")
    name = "AWS_EC2_METADATA_SERVICE_ENDPOINT" if named else "AWS_EC2_METADATA_DISABLED"
    before = os.environ.get(name)
    os.environ[name] = named or "true"
    try:
        yield
    finally:
        del os.environ[name]
        if before is not None:
            os.environ[name] = before
