"""The files that a path, a pattern or a list of them names, each of them once.

Noise is scaled for a row that counts once. A file that is reached twice, by a link or by a pattern
that matches in two ways, is therefore read once. Two files with the same content are two.
"""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hushtable.errors import DataError, OptionError
from hushtable.kernel.counting.engines.clusters import SparkTable, cluster_table, is_cluster
from hushtable.kernel.counting.readers.elsewhere.addresses import is_address
from hushtable.kernel.counting.readers.elsewhere.remote import RemoteFile
from hushtable.kernel.counting.readers.lakes.table import LakeTable
from hushtable.kernel.counting.readers.server import is_server, server_table
from hushtable.kernel.counting.silence import raise_alone

File = str | RemoteFile
"""A path on this machine, or a file elsewhere."""

_ANY_FILE = (str, Path, RemoteFile)


@dataclass(frozen=True)
class TableIn:
    """A table by its name, in a file that may hold several."""

    file: Any
    name: str


def table_in(data: Any, name: str | None) -> Any:
    """The table of this name in a file, server or cluster; without a name, the data as they are."""
    if is_cluster(data):
        return cluster_table(data, name)
    if is_server(data):
        return server_table(data, name)
    if name is None:
        return data
    if not isinstance(name, str) or not names_files(data) or isinstance(data, TableIn):
        raise OptionError("a table is named by its text, and only in a file that holds tables")
    return TableIn(data, name)


def names_files(data: Any) -> bool:
    """Whether a table is given by where its files are."""
    if is_cluster(data) or is_server(data):
        return False
    if isinstance(data, TableIn | LakeTable | str | Path | RemoteFile):
        return True
    return isinstance(data, list | tuple) and all(isinstance(item, _ANY_FILE) for item in data)


def files_of(data: Any) -> list[File]:
    """A table's files; none where it is in memory or in an engine."""
    if isinstance(data, SparkTable):
        return [path for path in data.paths if os.path.isfile(path)]
    if not names_files(data):
        return []
    found = settled(data)
    if isinstance(found, LakeTable):
        return [each.file for each in found.files]
    return find_files(found)


def settled(data: Any) -> Any:
    """A table whose files elsewhere, or in a lake, are pinned to the state that they are in now.

    Whatever reads it later reads these. Of other tables that are here, nothing changes.
    """
    given, name = (data.file, data.name) if isinstance(data, TableIn) else (data, None)
    if isinstance(given, LakeTable) or not names_files(given):
        return data
    if isinstance(given, str | Path):
        lake = _found_lake(str(given), name)
        if lake is not None:
            return lake
    if not any(map(_is_elsewhere, _listed(given))):
        return data
    found = find_files(given)
    return found if name is None else TableIn(found, name)


def _found_lake(place: str, name: str | None) -> LakeTable | None:
    from hushtable.kernel.counting.readers.lakes.finding import find_lake

    return find_lake(place, name)


def find_files(data: Any) -> list[File]:
    """All files, none of which is another's; refused if there are none."""
    if isinstance(data, TableIn):
        return find_files(data.file)
    given = _listed(data)
    if not given:
        raise DataError("the list of files is empty")
    if not any(map(_is_elsewhere, given)):
        return list(_found_here(list(map(str, given)), alone=not isinstance(data, list | tuple)))
    if not all(map(_is_elsewhere, given)):
        raise DataError("the files of a table are either all on this machine or all elsewhere")
    pinned = [file for file in given if isinstance(file, RemoteFile)]
    texts = [text for text in given if isinstance(text, str)]
    named: dict[str, File] = {}
    for file in (*pinned, *(_found_elsewhere(texts) if texts else ())):
        named.setdefault(file.name, file)
    return list(named.values())


def _listed(data: Any) -> list[File]:
    items = data if isinstance(data, list | tuple) else [data]
    return [item if isinstance(item, RemoteFile) else str(item) for item in items]


def _is_elsewhere(file: File) -> bool:
    return isinstance(file, RemoteFile) or is_address(file)


def _found_here(paths: Sequence[str], *, alone: bool) -> list[str]:
    """What looks like a list of paths may be a list of values: none of them is shown."""
    return each_once(
        path
        for i, given in enumerate(paths, start=1)
        for path in _matches(given, repr(given) if alone else f"number {i} of the list")
    )


def _found_elsewhere(texts: Sequence[str]) -> list[RemoteFile]:
    from hushtable.kernel.counting.readers.elsewhere.finding import find_elsewhere

    return find_elsewhere(texts)


def each_once(paths: Iterable[str]) -> list[str]:
    """The first path of every file."""
    found: dict[tuple[int, int], str] = {}
    for path in paths:
        found.setdefault(_identity(path), path)
    return list(found.values())


def _matches(pattern: str, shown: str) -> list[str]:
    """The files that a pattern stands for; the file of that name, if there is one."""
    try:
        found = [pattern] if Path(pattern).exists() else sorted(glob.glob(pattern, recursive=True))
    except (OSError, ValueError):
        found = []
    if not found:
        raise DataError(f"there is no file {shown}")
    if any(Path(path).is_dir() for path in found):
        raise DataError(f"{shown} is a folder; name its files, as in 'FOLDER/*.parquet'")
    return found


def _identity(path: str) -> tuple[int, int]:
    """What two paths of one file have in common, whatever links lead to it."""
    try:
        status = os.stat(path)
    except OSError:
        raise_alone(DataError(f"{path} could not be opened; check that it is complete"))
    return status.st_dev, status.st_ino
