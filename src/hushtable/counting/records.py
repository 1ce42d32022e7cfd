"""CSV files as lines that cannot change how each other is read.

Readers of CSV let one record reach into the next: by a quote that is never closed, a lone carriage
return, bytes that are no text, or where their buffers happen to end. Here a row is a line. Every
line is judged by itself; one that is not well-formed is dropped, and the engine reads a file in
which all that is left is plain. Line breaks inside quotes are read only where the owner says that
the file has them, and vouches that it was written correctly.
"""

from __future__ import annotations

import mmap
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.compiled import compiled

# The most bytes of a line; far below what the engine takes, so that it never has to decide.
MAX_LINE = 2**20

_MARK = b"\xef\xbb\xbf"


def plain_lines(path: Path, folder: Path, *, delimiter: str, multiline: bool) -> Path:
    """The file itself if the engine can only read it one way, else a copy in the folder."""
    size = path.stat().st_size
    if not size:
        return path
    copy = folder / f"lines-{len(list(folder.iterdir()))}.csv"
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        data: NDArray[np.uint8] = np.frombuffer(content, np.uint8)
        try:
            if content[-1:] == b"\n" and _is_plain(data, _start(data)):
                return path
            lines = np.memmap(copy, np.uint8, "w+", shape=(size + 1,))
            length = copy_lines(data, lines, delimiter, multiline)
            lines.flush()
            del lines
        finally:
            del data  # the map cannot be closed while the array refers to it
    with open(copy, "r+b") as written:
        written.truncate(length)
    return copy


def copy_lines(
    data: NDArray[np.uint8], lines: NDArray[np.uint8], delimiter: str, multiline: bool
) -> int:
    """Copy the first line and all that are well-formed; returns the length of the copy."""
    return int(_copy(data, _start(data), lines, ord(delimiter), multiline))


def is_record(line: str, delimiter: str) -> bool:
    """Whether a line is fields, plain or in quotes, and nothing else."""
    data: NDArray[np.uint8] = np.frombuffer(line.encode(), np.uint8)
    return bool(_is_record(data, 0, len(data), ord(delimiter)))


def _start(data: NDArray[np.uint8]) -> int:
    """Behind a byte-order mark, which belongs to no line."""
    return len(_MARK) if data[: len(_MARK)].tobytes() == _MARK else 0


_QUOTE, _NEWLINE, _RETURN = ord('"'), ord("\n"), ord("\r")


@compiled
def _is_plain(data: Any, start: int) -> Any:
    """Whether there is no quote and no carriage return, all is UTF-8, and no line is long."""
    line = start
    position = start
    while position < len(data):
        byte = data[position]
        if byte in (_QUOTE, _RETURN) or position - line > MAX_LINE:
            return False
        if byte == _NEWLINE:
            line = position + 1
        width = _character(data, position, len(data))
        if width == 0:
            return False
        position += width
    return True


@compiled
def _copy(data: Any, position: int, lines: Any, delimiter: int, multiline: bool) -> Any:
    length = 0
    first = True
    while position < len(data):
        # Only with the owner's word does a quote that is open take in the lines below.
        end = _record_end(data, position) if multiline else _line_end(data, position)
        stop = end
        if stop > position and data[stop - 1] == _RETURN:
            stop -= 1
        good = _is_record(data, position, stop, delimiter)
        if not good:
            end = _line_end(data, position)
            stop = end
        if good or first:
            for i in range(position, stop):
                lines[length] = data[i]
                length += 1
            lines[length] = _NEWLINE
            length += 1
        first = False
        position = end + 1
    return length


@compiled
def _line_end(data: Any, position: int) -> Any:
    while position < len(data) and data[position] != _NEWLINE:
        position += 1
    return position


@compiled
def _record_end(data: Any, position: int) -> Any:
    """The first line end with an even number of quotes before it, as in every good record."""
    last = min(len(data), position + MAX_LINE + 2)
    quoted = False
    for i in range(position, last):
        if data[i] == _QUOTE:
            quoted = not quoted
        elif data[i] == _NEWLINE and not quoted:
            return i
    return last


@compiled
def _is_record(data: Any, position: int, stop: int, delimiter: int) -> Any:
    """Whether these bytes are fields, plain or in quotes, and nothing else."""
    if stop - position > MAX_LINE:
        return False
    while True:
        quoted = position < stop and data[position] == _QUOTE
        if quoted:
            position = _quoted_end(data, position + 1, stop)
            if position < 0:
                return False
        else:
            position = _plain_end(data, position, stop, delimiter)
            if position < 0:
                return False
        if position == stop:
            return True
        if data[position] != delimiter:
            return False
        position += 1


@compiled
def _plain_end(data: Any, position: int, stop: int, delimiter: int) -> Any:
    """Behind a field without quotes, carriage returns and bytes that are no text; else −1."""
    while position < stop and data[position] != delimiter:
        byte = data[position]
        width = _character(data, position, stop)
        if byte in (_QUOTE, _RETURN, _NEWLINE) or width == 0:
            return -1
        position += width
    return position


@compiled
def _quoted_end(data: Any, position: int, stop: int) -> Any:
    """Behind the quote that closes a field; −1 if none does, or if bytes in it are no text."""
    while position < stop:
        if data[position] == _QUOTE:
            if position + 1 < stop and data[position + 1] == _QUOTE:
                position += 2
                continue
            return position + 1
        width = _character(data, position, stop)
        if width == 0:
            return -1
        position += width
    return -1


@compiled
def _character(data: Any, position: int, stop: int) -> Any:
    """How many bytes the UTF-8 character at a position has; 0 if it is none."""
    byte = data[position]
    if byte < 0x80:
        return 1
    if byte < 0xC2 or byte > 0xF4:
        return 0
    width = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
    if position + width > stop:
        return 0
    for i in range(1, width):
        if data[position + i] & 0xC0 != 0x80:
            return 0
    second = data[position + 1]
    overlong = (byte == 0xE0 and second < 0xA0) or (byte == 0xF0 and second < 0x90)
    if overlong or (byte == 0xED and second > 0x9F) or (byte == 0xF4 and second > 0x8F):
        return 0
    return width
