"""The files that a path, a pattern or a list of them names, each of them once.

Noise is scaled for a row that counts once. A file that is reached twice, by a link or by a pattern
that matches in two ways, is therefore read once. Two files with the same content are two.
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from posixpath import normpath
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from hushtable.errors import DataError, OptionError
from hushtable.kernel.counting.engines.clusters import SparkTable, cluster_table, is_address
from hushtable.kernel.counting.readers.server import is_server, server_table
from hushtable.kernel.counting.silence import raise_alone

_REMOTE = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_PORTS = {"http": 80, "https": 443}
_SAME_STORE = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}


@dataclass(frozen=True)
class TableIn:
    """A table by its name, in a file that may hold several."""

    file: Any
    name: str


def table_in(data: Any, name: str | None) -> Any:
    """The table of this name in a file, server or cluster; without a name, the data as they are."""
    if is_address(data):
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
    if is_address(data) or is_server(data):
        return False
    if isinstance(data, str | Path | TableIn):
        return True
    return isinstance(data, list | tuple) and all(isinstance(item, str | Path) for item in data)


def files_of(data: Any) -> list[str]:
    """The paths of a table's files; none where it is in memory or in an engine."""
    if isinstance(data, SparkTable):
        return [path for path in data.paths if os.path.isfile(path)]
    return find_files(data) if names_files(data) else []


def find_files(data: str | Path | TableIn | Sequence[str | Path]) -> list[str]:
    """The paths of all files, none of which is another's; refused if there are none."""
    if isinstance(data, TableIn):
        return find_files(data.file)
    if isinstance(data, str | Path):
        named = {f"{str(data)!r}": str(data)}
    else:  # what looks like a list of paths may be a list of values: none is shown
        named = {f"number {i} of the list": str(path) for i, path in enumerate(data, start=1)}
    if not named:
        raise DataError("the list of files is empty")
    paths = each_once(path for shown, path in named.items() for path in _matches(path, shown))
    if any(map(_REMOTE.match, paths)):
        raise DataError("files elsewhere than on this machine are not read; copy them here first")
    return paths


def each_once(paths: Iterable[str]) -> list[str]:
    """The first path of every file."""
    found: dict[Hashable, str] = {}
    for path in paths:
        found.setdefault(_identity(path), path)
    return list(found.values())


def _matches(pattern: str, shown: str) -> list[str]:
    """The files that a pattern stands for; the file of that name, if there is one."""
    if _REMOTE.match(pattern):
        return [pattern]
    try:
        found = [pattern] if Path(pattern).exists() else sorted(glob.glob(pattern, recursive=True))
    except (OSError, ValueError):
        found = []
    if not found:
        raise DataError(f"there is no file {shown}")
    if any(Path(path).is_dir() for path in found):
        raise DataError(f"{shown} is a folder; name its files, as in 'FOLDER/*.parquet'")
    return found


def _identity(path: str) -> Hashable:
    """What two paths of one file have in common, whatever links lead to it."""
    if _REMOTE.match(path):
        return _plain_url(path)
    try:
        status = os.stat(path)
    except OSError:
        raise_alone(DataError(f"{path} could not be opened; check that it is complete"))
    return status.st_dev, status.st_ino


def _plain_url(url: str) -> str:
    """The one way to write an address.

    The case of its host, a usual port, steps up and escapes do not matter on the web. In a store of
    objects, names are what they are.
    """
    parts = urlsplit(url)
    scheme, host, path = parts.scheme.lower(), parts.netloc.lower(), parts.path
    if scheme in _PORTS:
        host = host.removesuffix(f":{_PORTS[scheme]}")
        path = quote(normpath("/" + unquote(path).lstrip("/")))
    return f"{_SAME_STORE.get(scheme, scheme)}://{host}{path}?{parts.query}"
