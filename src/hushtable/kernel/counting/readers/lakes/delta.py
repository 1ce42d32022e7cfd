"""Delta tables: the files of one version, by the library that keeps such tables.

Rows that were deleted by a vector of them stay uncounted. A table with features that we do not know
is refused: they may say that its files mean something else.
"""

from __future__ import annotations

import os
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
    with silent_engine(problem):
        table = DeltaTable(place, storage_options=_options(place) if store else None)
        _check_known(place, table)
        actions = pa.table(table.get_add_actions(flatten=False))
        schema = pa.schema(table.schema().to_arrow())
        deleted = _deleted(table)
        paths = actions.column("path").to_pylist()
        parts = actions.column("partition") if "partition" in actions.column_names else None
        files = [
            _file(place, store, path, _constants(parts, row), deleted)
            for row, path in enumerate(paths)
        ]
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


def _deleted(table: Any) -> dict[str, NDArray[np.bool_]]:
    """Which rows are left, by the names of the files that have others."""
    import pyarrow as pa

    kept: dict[str, NDArray[np.bool_]] = {}
    for batch in pa.RecordBatchReader.from_stream(table.deletion_vectors()):
        for path, rows in zip(batch.column(0), batch.column(1), strict=True):
            kept[unquote(path.as_py())] = rows.values.to_numpy(zero_copy_only=False)
    return kept


def _file(
    place: str,
    store: ObjectStore | None,
    path: str,
    constants: dict[str, Any],
    deleted: dict[str, NDArray[np.bool_]],
) -> LakeFile:
    plain = unquote(path)
    if "://" in plain or plain.startswith("/") or ".." in plain.split("/"):
        raise DataError(
            f"{place} has files in other folders: write it anew, without shallow clones"
        )
    kept = _popped(deleted, plain)
    if store is None:
        file = os.path.join(place, plain)
        if not Path(file).is_file():
            raise DataError(f"{place} lacks a file that its log names; check that it is complete")
        return LakeFile(file, constants, kept)
    found = store.find_named(f"{read_address(place).key.strip('/')}/{plain}")
    if found is None:
        raise DataError(f"{place} lacks a file that its log names; check that it is complete")
    return LakeFile(found, constants, kept)


def _popped(deleted: dict[str, NDArray[np.bool_]], path: str) -> NDArray[np.bool_] | None:
    """The rows that are left of a file, whose name is the end of an address."""
    names = [name for name in deleted if name.endswith(f"/{path}")]
    return deleted.pop(names[0]) if names else None


def _options(place: str) -> dict[str, str]:
    """Of what the environment says, the library takes all but these."""
    scheme = read_address(place).scheme
    return {"allow_http": "true"} if is_plain(scheme) else {}
