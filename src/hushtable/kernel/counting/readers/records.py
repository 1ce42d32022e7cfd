"""CSV records: lines of text as Arrow columns, none of which can change how another is read.

Readers of CSV let one record reach into the next: by a quote that is never closed, a lone carriage
return, bytes that are no text, or where their buffers happen to end. Here a row is a line. Every
line is judged by itself, and every file is read in this one way, whatever it holds; a line that is
not well-formed is dropped. Line breaks inside quotes are read only where the owner says that the
file has them, and vouches that it was written correctly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import cores, made_ahead
from hushtable.compiled import compiled

# The most bytes of a line. A reader need not hold more of one than it takes to see that.
MAX_LINE = 2**20
_ENOUGH = MAX_LINE + len("\r\n")


@dataclass(frozen=True)
class RecordLayout:
    """How records are written, and which of their fields are needed."""

    delimiter: str
    fields: int
    """The least number of fields of a record; further ones are ignored."""
    needed: tuple[int, ...]
    multiline: bool = False

    def places(self) -> NDArray[np.int32]:
        """For each field, which of the needed ones it is, or −1."""
        places = np.full(max(self.fields, *self.needed) + 1, -1, np.int32)
        places[list(self.needed)] = range(len(self.needed))
        return places


@dataclass
class LostRecords:
    """How many records were dropped, as far as files were read: for their owner's eyes alone."""

    short: int = 0
    """They have fewer fields than the first line."""
    broken: int = 0
    """They are not fields, plain or in quotes, or too long, or have no end."""

    def add(self, short: int, broken: int) -> None:
        self.short += short
        self.broken += broken


def whole_lines(pieces: Iterable[bytes], newline: bytes = b"\n") -> Iterator[bytes]:
    """The same bytes, cut behind line ends only; of a line too long to count, only its start.

    The last line gets an end if it has none.
    """
    rest = b""
    for piece in pieces:
        cut = piece.rfind(newline) + 1
        if cut:
            yield rest + piece[:cut]
            rest = piece[cut:]
        else:
            rest = (rest + piece)[:_ENOUGH]
    if rest:
        yield rest + newline


def whole_records(
    pieces: Iterable[bytes],
    newline: bytes = b"\n",
    quotes: bytes = b'"',
    lost: LostRecords | None = None,
) -> Iterator[bytes]:
    """The same bytes, cut behind the ends of records only, without records too long to count.

    A record ends at the first line end with an even number of quotes before it; one without such
    an end is dropped. Of a record too long to count, no more is held than it takes to see that.
    """
    lost = lost or LostRecords()
    is_quote = np.isin(np.arange(256), list(quotes))
    rest: NDArray[np.uint8] = np.empty(0, np.uint8)
    quoted = False
    for piece in pieces:
        held = np.empty(len(rest) + len(piece), np.uint8)
        held[: len(rest)] = rest
        data: NDArray[np.uint8] = np.frombuffer(piece, np.uint8)
        whole, size, quoted, dropped = _hold(data, held, len(rest), quoted, is_quote, newline[0])
        lost.add(0, dropped)
        if whole:
            yield held[:whole].tobytes()
        rest = held[whole:size].copy()
    if len(rest) and len(rest) < _ENOUGH and not quoted:
        yield rest.tobytes() + newline
    elif len(rest):
        lost.add(0, 1)


def record_batches(
    blocks: Iterable[bytes], layout: RecordLayout, lost: LostRecords | None = None
) -> Iterator[Any]:
    """The needed fields of all well-formed records as batches of text columns c0, c1, …

    A block is whole lines, or whole records where these may be several lines. Blocks are read side
    by side.
    """
    for batch, short, broken in made_ahead(lambda b: _read_block(b, layout), blocks, cores()):
        if lost is not None:
            lost.add(short, broken)
        yield batch


def _read_block(block: bytes, layout: RecordLayout) -> tuple[Any, int, int]:
    """A batch of the block's records, how many others are too short, and how many broken."""
    import pyarrow as pa

    data: NDArray[np.uint8] = np.frombuffer(block, np.uint8)
    shape = (len(layout.needed), block.count(b"\n") + 1)
    starts, ends = np.empty(shape, np.int32), np.empty(shape, np.int32)
    how = (ord(layout.delimiter), layout.multiline, layout.fields, layout.places())
    rows, short, broken = _read_records(data, *how, starts, ends)
    columns = [_text_column(data, starts[i, :rows], ends[i, :rows]) for i in range(shape[0])]
    batch = pa.RecordBatch.from_arrays(columns, [f"c{i}" for i in range(shape[0])])
    return batch, short, broken


def _text_column(data: NDArray[np.uint8], starts: Any, ends: Any) -> Any:
    import pyarrow as pa

    offsets = np.empty(len(starts) + 1, np.int32)
    offsets[0] = 0
    np.cumsum(ends - np.where(starts < 0, ~starts, starts), out=offsets[1:])
    text = np.empty(offsets[-1], np.uint8)
    _gather(data, starts, ends, offsets, text)
    return pa.StringArray.from_buffers(len(starts), pa.py_buffer(offsets), pa.py_buffer(text))


def split_line(line: str, delimiter: str) -> list[str] | None:
    """The fields of a line; None if it is not fields, plain or in quotes, and nothing else."""
    data: NDArray[np.uint8] = np.frombuffer(line.encode(), np.uint8)
    places = np.arange(len(data) + 1, dtype=np.int32)
    starts, ends = np.empty((len(places), 1), np.int32), np.empty((len(places), 1), np.int32)
    found = _read_fields(data, 0, len(data), ord(delimiter), places, starts, ends, 0)
    if found < 0:
        return None
    fields: list[str] = _text_column(data, starts[:found].ravel(), ends[:found].ravel()).to_pylist()
    return fields


_QUOTE, _NEWLINE, _RETURN, _SPACE, _TAB = (ord(character) for character in '"\n\r \t')


@compiled
def _hold(
    data: Any, held: Any, size: int, quoted: bool, is_quote: Any, newline: int
) -> tuple[int, int, bool, int]:
    """Put bytes behind the start of a record that is held, without records that are too long.

    How much is held of whole records, how much with the start of the next, whether that start
    leaves a quote open, and how many records were too long.
    """
    whole = dropped = 0
    for byte in data:
        if size - whole <= _ENOUGH:  # one byte more than enough shows that it is too long
            held[size] = byte
            size += 1
        if is_quote[byte]:
            quoted = not quoted
        elif byte == newline and not quoted:
            if size - whole > _ENOUGH:
                size = whole
                dropped += 1
            whole = size
    return whole, size, quoted, dropped


@compiled
def _read_records(
    data: Any,
    delimiter: int,
    multiline: bool,
    fields: int,
    places: Any,
    starts: Any,
    ends: Any,
) -> Any:
    """Note where the needed fields of all records are. What is no record is dropped whole.

    How many records there are, how many others have too few fields, and how many are broken.
    """
    rows = short = broken = 0
    position = 0
    while position < len(data):
        # Only with the owner's word does a quote that is open take in the lines below.
        end = _record_end(data, position) if multiline else _line_end(data, position)
        found = _read_fields(
            data, position, _text_end(data, position, end), delimiter, places, starts, ends, rows
        )
        if found >= fields:
            rows += 1
        elif found >= 0:
            short += 1
        else:
            broken += 1
        position = end + 1
    return rows, short, broken


@compiled
def _line_end(data: Any, position: int) -> Any:
    while position < len(data) and data[position] != _NEWLINE:
        position += 1
    return position


@compiled
def _record_end(data: Any, position: int) -> Any:
    """The first line end with an even number of quotes before it, as in every good record."""
    quoted = False
    while position < len(data) and (quoted or data[position] != _NEWLINE):
        if data[position] == _QUOTE:
            quoted = not quoted
        position += 1
    return position


@compiled
def _text_end(data: Any, position: int, end: int) -> Any:
    """Where a line ends, without the carriage return before its end."""
    return end - 1 if end > position and data[end - 1] == _RETURN else end


@compiled
def _read_fields(
    data: Any,
    position: int,
    stop: int,
    delimiter: int,
    places: Any,
    starts: Any,
    ends: Any,
    row: int,
) -> Any:
    """How many fields a record has; −1 if it is not fields, plain or in quotes, and nothing else.

    Where a needed field begins and ends is noted; its beginning as ~begin if it has quotes inside.
    Blanks outside quotes are no part of a field in quotes.
    """
    if stop - position > MAX_LINE:
        return -1
    found = 0
    while True:
        first = _behind_blanks(data, position, stop, delimiter)
        if first < stop and data[first] == _QUOTE:
            begin = first + 1
            end, doubled = _quoted_end(data, begin, stop)
            if end < 0:
                return -1
            position = _behind_blanks(data, end + 1, stop, delimiter)
        else:
            begin, doubled = position, False
            end = _plain_end(data, first, stop, delimiter)
            if end < 0:
                return -1
            position = end
        if found < len(places) and places[found] >= 0:
            starts[places[found], row] = ~begin if doubled else begin
            ends[places[found], row] = end
        found += 1
        if position == stop:
            return found
        if data[position] != delimiter:
            return -1
        position += 1


@compiled
def _behind_blanks(data: Any, position: int, stop: int, delimiter: int) -> Any:
    while position < stop and data[position] in (_SPACE, _TAB) and data[position] != delimiter:
        position += 1
    return position


@compiled
def _plain_end(data: Any, position: int, stop: int, delimiter: int) -> Any:
    """Behind a field without quotes, carriage returns and bytes that are no text; else −1."""
    while position < stop and data[position] != delimiter:
        byte = data[position]
        if byte in (_QUOTE, _RETURN, _NEWLINE):
            return -1
        width = 1 if byte < 0x80 else _character(data, position, stop)
        if width == 0:
            return -1
        position += width
    return position


@compiled
def _quoted_end(data: Any, position: int, stop: int) -> Any:
    """Where the quote is that closes a field, and whether there are others in it.

    −1 if none closes it, or if bytes in it are no text.
    """
    doubled = False
    while position < stop:
        if data[position] == _QUOTE:
            if position + 1 < stop and data[position + 1] == _QUOTE:
                doubled = True
                position += 2
                continue
            return position, doubled
        width = _character(data, position, stop)
        if width == 0:
            return -1, doubled
        position += width
    return -1, doubled


@compiled
def _gather(data: Any, starts: Any, ends: Any, offsets: Any, text: Any) -> None:
    """Put fields behind each other, quotes inside them once instead of twice."""
    shift = 0
    for row in range(len(starts)):
        to = offsets[row] - shift
        offsets[row] = to
        begin = starts[row]
        if begin >= 0:
            for i in range(begin, ends[row]):
                text[to] = data[i]
                to += 1
            continue
        i = ~begin
        while i < ends[row]:
            text[to] = data[i]
            to += 1
            if data[i] == _QUOTE:
                shift += 1
                i += 1
            i += 1
    offsets[len(starts)] -= shift


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
