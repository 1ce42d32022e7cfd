"""CSV files: packed or not, in most encodings, as Arrow columns of text.

How a file is written is told by its ending, its byte-order mark and its first line, or by the
owner; never by the values in it. Files are read as streams: no copy of them is made.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import lzma
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO, Any

from hushtable.errors import DataError, OptionError
from hushtable.kernel.counting.encoding.columns import MissingColumn, match_columns
from hushtable.kernel.counting.readers.elsewhere.remote import opened, size_of
from hushtable.kernel.counting.readers.paths import File
from hushtable.kernel.counting.readers.records import (
    MAX_LINE,
    LostRecords,
    RecordLayout,
    record_batches,
    split_line,
    whole_lines,
    whole_records,
)
from hushtable.kernel.counting.readers.stream import Stream
from hushtable.kernel.counting.silence import raise_alone
from hushtable.progress import Gauge, listener

_PLAIN = (".csv", ".tsv", ".txt")
_DELIMITERS = (",", ";", "\t", "|")
# Codecs without a state that outlives a line: what one line says must not change the next. Those
# of characters of several bytes are given one line at a time, for the same reason.
_OF_BYTES = r"ascii|iso8859-\d+|cp\d+|koi8-[ru]|mac-\w+|tis-620"
_OF_CHARACTERS = re.compile(
    r"cp(932|949|950)|gbk|gb2312|gb18030|big5|big5hkscs|shift_jis|euc_jp|johab"
)
_ENCODINGS = re.compile("|".join(("utf-8", _OF_BYTES, _OF_CHARACTERS.pattern)))
_WIDE = re.compile(r"utf-(16|32)(-le|-be)?")
_WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)
_NO_WIDE = (
    "CSV files in UTF-16 and UTF-32 are not read, since one damaged line would change all below it;"
    " convert the file, as in: iconv -f UTF-16 -t UTF-8 OLD.csv > NEW.csv"
)
_NOT_UTF8 = (
    "the first line of the CSV file is not UTF-8 text; if it is in another encoding, name it by"
    " --csv-encoding, such as latin-1 or cp1252"
)
_PIECE = 2**22


@dataclass(frozen=True)
class CsvFormat:
    """How CSV files are written, where their first line does not tell."""

    delimiter: str | None = None
    encoding: str | None = None
    multiline: bool = False
    """Whether there are line breaks inside quotes. A row then ends where its quotes are closed, and
    no longer with its line: the owner vouches that the file was written correctly."""

    def __post_init__(self) -> None:
        if self.delimiter is not None and (
            len(self.delimiter) != 1 or not self.delimiter.isascii() or self.delimiter in '"\r\n\0'
        ):
            raise OptionError("the CSV delimiter must be a single plain character, such as ;")
        try:
            name = _codec(self.encoding or "utf-8")
        except (LookupError, TypeError, ValueError):
            raise_alone(OptionError("the CSV encoding is not one that Python knows; try latin-1"))
        if _WIDE.fullmatch(name):
            raise OptionError(_NO_WIDE)
        if not _ENCODINGS.fullmatch(name):
            raise OptionError("the CSV encoding is one in which a line can change the next")


def _codec(encoding: str) -> str:
    """The name of Python's codec; a byte-order mark is dropped elsewhere.

    Its euc_kr composes characters of eight bytes, over line ends; cp949 holds all of its others.
    """
    name = codecs.lookup(encoding).name
    return {"euc_kr": "cp949", "utf-8-sig": "utf-8"}.get(name, name)


def is_csv(path: File) -> bool:
    """Whether a file is CSV by its ending."""
    name = str(path).lower()
    for ending in _PACKED:
        name = name.removesuffix(ending)
    return name.endswith(_PLAIN)


def csv_source(
    paths: Sequence[File],
    columns: Sequence[str],
    form: CsvFormat,
    lost: LostRecords | None = None,
) -> tuple[Stream, list[int]]:
    """The needed columns of the files as a stream of text, and which of its columns each is.

    What is not well-formed is counted among the `lost` as it is read.
    """
    headers = {read_header(path, form) for path in paths}
    if len(headers) > 1:
        raise DataError("the CSV files do not all have the same first line")
    delimiter, names = _split_header(headers.pop(), columns, form)
    positions = _matched(names, columns, delimiter)
    needed = tuple(dict.fromkeys(positions))
    layout = RecordLayout(delimiter, len(names), needed, form.multiline)
    tell = listener()

    def batches() -> Iterator[Any]:
        gauge = Gauge(tell, sum(map(size_of, paths)))
        for path in paths:
            yield from record_batches(_rows(path, form, lost, gauge), layout, lost)

    return Stream.of_text(len(needed), batches), [needed.index(position) for position in positions]


def header_names(path: File, form: CsvFormat) -> list[str]:
    """The names in a file's first line, by the delimiter that gives most of them."""
    header = read_header(path, form)
    delimiters = (form.delimiter,) if form.delimiter else _DELIMITERS
    names = max((_names(header, delimiter) for delimiter in delimiters), key=len)
    return _checked(names, header)


def read_header(path: File, form: CsvFormat) -> str:
    """The first line of a file."""
    line = next(_lines(path, form, MAX_LINE + len("\r\n") + 1), b"").partition(b"\n")[0]
    try:
        return line.decode("utf-8").removesuffix("\r")
    except UnicodeDecodeError:
        raise_alone(DataError(_NOT_UTF8))


def _rows(path: File, form: CsvFormat, lost: LostRecords | None, gauge: Gauge) -> Iterator[bytes]:
    """Whole lines or records, without the first line, which is one of either."""
    blocks = _lines(path, form, _PIECE, records=form.multiline, lost=lost, gauge=gauge)
    yield next(blocks, b"").partition(b"\n")[2]
    yield from blocks


def _lines(
    path: File,
    form: CsvFormat,
    size: int,
    *,
    records: bool = False,
    lost: LostRecords | None = None,
    gauge: Gauge | None = None,
) -> Iterator[bytes]:
    """Whole lines, or whole records, in UTF-8, some at a time, without a byte-order mark."""
    codec = _codec(form.encoding or "utf-8")
    pieces = _pieces(path, size, gauge)
    # No byte of a longer character is a line end or a quote in any of these.
    newline = "\n".encode(codec)
    if records:
        blocks = whole_records(pieces, newline, _quotes(codec), lost)
    else:
        blocks = whole_lines(pieces, newline)
    return blocks if codec == "utf-8" else (_decoded(block, codec, newline) for block in blocks)


def _quotes(codec: str) -> bytes:
    """The bytes that are a quote: in some codecs there is one for each direction of writing."""
    return bytes(byte for byte in range(256) if bytes([byte]).decode(codec, "replace") == '"')


def _decoded(lines: bytes, codec: str, newline: bytes) -> bytes:
    """Lines as UTF-8; what cannot be decoded becomes a mark of that."""
    if not _OF_CHARACTERS.fullmatch(codec):
        return lines.decode(codec, "replace").encode()
    texts = (
        # A line that is too long, or its start, stays one that does not count.
        '"' if len(line) > MAX_LINE + 1 else _decoded_line(line, codec)
        for line in lines.split(newline)
    )
    return "\n".join(texts).encode()


def _decoded_line(line: bytes, codec: str) -> str:
    """Half a character before a quote would take it along, and open or close a field."""
    return '"'.join(part.decode(codec, "replace") for part in line.split(b'"'))


def _pieces(path: File, size: int, gauge: Gauge | None = None) -> Iterator[bytes]:
    """What is in a file, unpacked, without the mark that says how it is encoded.

    The gauge is told how many bytes of the file were read, packed as they are.
    """
    name = str(path).lower()
    unpack = next((_PACKED[end] for end in _PACKED if name.endswith(end)), _as_it_is)
    try:
        with opened(path) as raw, unpack(raw) as file:
            before = 0
            piece = file.read(4)  # as long as the longest mark
            if piece.startswith(_WIDE_MARKS):
                raise DataError(_NO_WIDE)
            yield piece.removeprefix(codecs.BOM_UTF8)
            while piece := file.read(size):
                yield piece
                if gauge is not None:
                    gauge.add(raw.tell() - before)
                    before = raw.tell()
    except PermissionError:
        raise_alone(DataError(f"{path} could not be opened: change who may read it"))
    except (OSError, EOFError, zlib.error, lzma.LZMAError):
        raise_alone(DataError(f"{path} could not be opened; check that it is complete"))


def _as_it_is(raw: IO[bytes]) -> IO[bytes]:
    return raw


def _open_zstd(raw: IO[bytes]) -> Any:
    import pyarrow as pa

    return pa.CompressedInputStream(raw, "zstd")


_PACKED: dict[str, Callable[[IO[bytes]], Any]] = {
    ".gz": gzip.open,
    ".zst": _open_zstd,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}


def _split_header(header: str, columns: Sequence[str], form: CsvFormat) -> tuple[str, list[str]]:
    """The delimiter under which the header has most of the schema's columns."""

    def score(delimiter: str) -> int:
        present = {name.strip().casefold() for name in _names(header, delimiter)}
        return sum(name.casefold() in present for name in columns)

    delimiter = form.delimiter or max(_DELIMITERS, key=score)
    return delimiter, _checked(_names(header, delimiter), header)


def _matched(names: list[str], columns: Sequence[str], delimiter: str) -> list[int]:
    """Where the schema's columns are; a first line that has none of them may be no header."""
    try:
        return match_columns(names, columns)
    except MissingColumn as problem:
        present = {name.strip().casefold() for name in names}
        if not present.isdisjoint(name.casefold() for name in columns):
            raise
        advice = "a CSV file must begin with a line of their names"
        if len(names) == 1 < len(columns):
            shown = "a tab" if delimiter == "\t" else repr(delimiter)
            advice = f"its first line has no {shown}: say by --csv-delimiter what separates names"
        raise_alone(DataError(f"{problem}; {advice}"))


def _names(header: str, delimiter: str) -> list[str]:
    """The names of the columns, none if they are not well-formed.

    Behind a delimiter that ends the line there is no column.
    """
    names = split_line(header, delimiter) or []
    while names and not names[-1].strip():
        names.pop()
    return names


def _checked(names: list[str], header: str) -> list[str]:
    if not header.strip():
        raise DataError(
            "the CSV file is empty, or its first line is: it must begin with a line of the names of"
            " its columns"
        )
    if not names:
        raise DataError(
            "the first line of the CSV file is no well-formed list of names; check its quotes"
        )
    return names
