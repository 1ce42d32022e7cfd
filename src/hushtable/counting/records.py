"""CSV files as records that cannot swallow each other.

A quote that is opened and never closed makes an ordinary reader take all that follows for one
field: one person's value would change how everybody else's is read. Here a record that is not
well-formed is dropped, that line alone, and reading goes on with the next line. Newlines inside
quotes are allowed, within limits.
"""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

# The most bytes a record may have, and the most that is read to see whether a quote closes.
MAX_RECORD = 2**16

_BATCH = 4096


def drop_malformed(path: Path, folder: Path, *, delimiter: str) -> Path:
    """The file itself if all its records are well-formed, else a copy in the folder without those
    lines that are not."""
    with open(path, "rb") as file:
        if not path.stat().st_size:
            return path
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            # A long line without any quote cannot swallow anything; the engine drops it.
            if content.find(b'"') < 0:
                return path
            data: NDArray[np.uint8] = np.frombuffer(content, np.uint8)
            try:
                bad = malformed_lines(data, delimiter)
                if not len(bad):
                    return path
                return _copy_without(data, bad, folder / f"{len(list(folder.iterdir()))}.csv")
            finally:
                del data  # the map cannot be closed while the array refers to it


def malformed_lines(data: NDArray[np.uint8], delimiter: str) -> NDArray[np.int64]:
    """The start and end of every line that is not part of a well-formed record."""
    found, position = [], 0
    while position < len(data):
        batch = np.empty((_BATCH, 2), np.int64)
        count, position = _scan(data, position, ord(delimiter), batch, MAX_RECORD)
        found.append(batch[:count])
    return np.concatenate(found) if found else np.empty((0, 2), np.int64)


def _copy_without(data: NDArray[np.uint8], bad: NDArray[np.int64], path: Path) -> Path:
    kept = 0
    with open(path, "xb") as copy:
        for start, stop in bad:
            copy.write(data[kept:start].data)
            kept = stop
        copy.write(data[kept:].data)
    return path


_QUOTE, _NEWLINE, _RETURN = ord('"'), ord("\n"), ord("\r")


@numba.njit(cache=True, nogil=True)
def _scan(data: Any, position: int, delimiter: int, bad: Any, limit: int) -> Any:
    """Walk from record to record; note the lines that begin none."""
    count = 0
    while position < len(data) and count < len(bad):
        end = _record_end(data, position, delimiter, limit)
        if end < 0:
            end = _line_end(data, position)
            bad[count, 0], bad[count, 1] = position, end
            count += 1
        position = end
    return count, position


@numba.njit(cache=True, nogil=True)
def _line_end(data: Any, position: int) -> Any:
    while position < len(data):
        if data[position] == _NEWLINE:
            return position + 1
        position += 1
    return position


@numba.njit(cache=True, nogil=True)
def _record_end(data: Any, start: int, delimiter: int, limit: int) -> Any:
    """Where the record that starts here ends, behind its newline; −1 if it is not well-formed."""
    position, stop = start, min(start + limit, len(data))
    while position < stop:
        if data[position] == _QUOTE:
            position = _quoted_end(data, position + 1, stop)
            if position < 0 or (position < stop and not _ends_field(data[position], delimiter)):
                return -1
        while position < stop and data[position] != delimiter and data[position] != _NEWLINE:
            if data[position] == _QUOTE:  # in the middle of a plain field: the engine may differ
                return -1
            position += 1
        if position < stop and data[position] == _NEWLINE:
            return position + 1
        position += 1
    return len(data) if stop == len(data) else -1


@numba.njit(cache=True, nogil=True)
def _ends_field(byte: int, delimiter: int) -> Any:
    return byte in (delimiter, _NEWLINE, _RETURN)


@numba.njit(cache=True, nogil=True)
def _quoted_end(data: Any, position: int, stop: int) -> Any:
    """Behind the quote that closes a field; −1 if none does."""
    while position < stop:
        if data[position] == _QUOTE:
            if position + 1 < stop and data[position + 1] == _QUOTE:
                position += 1
            else:
                return position + 1
        position += 1
    return -1
