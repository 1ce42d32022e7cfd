"""CSV files: packed or not, in any encoding, as text that the engine reads record by record.

How a file is written is told by its ending, its byte-order mark and its first line, or by the
owner; never by the values in it.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import lzma
import re
import shutil
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from hushtable.counting.columns import sql_paths, sql_text
from hushtable.counting.records import MAX_LINE, is_record, plain_lines
from hushtable.errors import DataError, OptionError

_PLAIN = (".csv", ".tsv", ".txt")
_DELIMITERS = (",", ";", "\t", "|")
# Codecs without a state that outlives a character: what one line says must not change the next.
_ENCODINGS = re.compile(
    r"ascii|utf-8(-sig)?|utf-(16|32)(-le|-be)?|iso8859-\d+|cp\d+|koi8-[ru]|mac-\w+|tis-620"
    r"|gbk|gb2312|gb18030|big5|big5hkscs|shift_jis|euc_jp|johab"
)
_MARKS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (b"\xfe\xff", "utf-16"))


@dataclass(frozen=True)
class CsvFormat:
    """How CSV files are written, where their first line does not tell."""

    delimiter: str | None = None
    encoding: str | None = None
    multiline: bool = False
    """Whether there are line breaks inside quotes. A line is then no longer judged by itself: the
    owner vouches that the file was written correctly."""

    def __post_init__(self) -> None:
        if self.delimiter is not None and (
            len(self.delimiter) != 1 or not self.delimiter.isascii() or self.delimiter in '"\r\n\0'
        ):
            raise OptionError("the CSV delimiter must be a single plain character")
        try:
            name = _codec(self.encoding or "utf-8")
        except (LookupError, TypeError, ValueError):
            raise OptionError("the CSV encoding is not one that Python knows") from None
        if not _ENCODINGS.fullmatch(name):
            raise OptionError("the CSV encoding is one in which a line can change the next")


def _codec(encoding: str) -> str:
    """The name of Python's codec.

    Its euc_kr composes characters of eight bytes, over line ends; cp949 holds all of its others.
    """
    name = codecs.lookup(encoding).name
    return "cp949" if name == "euc_kr" else name


def is_csv(path: str) -> bool:
    """Whether a file is CSV by its ending."""
    name = path.lower()
    for ending in _PACKED:
        name = name.removesuffix(ending)
    return name.endswith(_PLAIN)


def csv_source(
    paths: Sequence[str], columns: Sequence[str], form: CsvFormat, folder: Path
) -> tuple[str, list[str]]:
    """SQL that reads the files, every field as text, and the names in their first line.

    What has to be unpacked, decoded or cleaned first is copied to the folder.
    """
    plain = [_plain_copy(Path(path), form, folder) for path in paths]
    headers = {read_header(path) for path in plain}
    if len(headers) > 1:
        raise DataError("the CSV files do not all have the same first line")
    header = headers.pop()
    delimiter, names = _split_header(header, columns, form)
    if not is_record(header, delimiter):
        raise DataError(
            "the first line of the CSV file is no well-formed list of names; check its quotes"
        )
    clean = [
        str(plain_lines(path, folder, delimiter=delimiter, multiline=form.multiline))
        for path in plain
    ]
    types = ", ".join(f"'x{i}': 'VARCHAR'" for i in range(len(names)))
    source = (
        f"read_csv({sql_paths(clean)}, auto_detect = false, header = true, columns = {{{types}}},"
        f" delim = {sql_text(delimiter)}, quote = '\"', escape = '\"', nullstr = '',"
        " new_line = '\\n',"
        " ignore_errors = true, strict_mode = false, parallel = false, hive_partitioning = false)"
    )
    return source, names


def header_names(path: str, folder: Path) -> list[str]:
    """The names in a file's first line, by the delimiter that gives most of them."""
    header = read_header(_plain_copy(Path(path), CsvFormat(), folder))
    return max((_fields(header, delimiter) for delimiter in _DELIMITERS), key=len)


def read_header(path: Path) -> str:
    """The first line of a plain file."""
    with open(path, "rb") as file:
        line = file.readline(MAX_LINE + len("\r\n") + 1)
    try:
        return line.decode("utf-8-sig").rstrip("\r\n")
    except UnicodeDecodeError:
        raise DataError("the first line of the CSV file is not UTF-8 text") from None


def _plain_copy(path: Path, form: CsvFormat, folder: Path) -> Path:
    """The file itself if it is plain UTF-8, else a copy that is."""
    unpack = next((_PACKED[end] for end in _PACKED if path.name.lower().endswith(end)), None)
    copy = folder / f"plain-{len(list(folder.iterdir()))}.csv"
    try:
        with (unpack or _open_plain)(path) as file:
            encoding = form.encoding or _marked_encoding(path, unpack)
            if unpack is None and _codec(encoding) == "utf-8":
                return path
            with open(copy, "wb") as plain:
                _recode(file, plain, encoding)
    except (OSError, EOFError, zlib.error, lzma.LZMAError):
        raise DataError(f"{path} could not be opened; check that it is complete") from None
    return copy


def _open_plain(path: Path) -> IO[bytes]:
    return open(path, "rb")


def _open_zstd(path: Path) -> Any:
    import pyarrow as pa

    return pa.CompressedInputStream(pa.OSFile(str(path)), "zstd")


_PACKED: dict[str, Callable[[Path], Any]] = {
    ".gz": gzip.open,
    ".zst": _open_zstd,
    ".bz2": bz2.open,
    ".xz": lzma.open,
}


def _marked_encoding(path: Path, unpack: Callable[[Path], Any] | None) -> str:
    with (unpack or _open_plain)(path) as file:
        start = file.read(4)
    return next((name for mark, name in _MARKS if start.startswith(mark)), "utf-8")


def _recode(file: Any, plain: IO[bytes], encoding: str) -> None:
    """Copy as UTF-8, without a byte-order mark; what cannot be decoded becomes a mark of that.

    Bytes of a file that is UTF-8 already are copied as they are: the engine drops broken rows.
    """
    if _codec(encoding) == "utf-8":
        shutil.copyfileobj(file, plain, 2**20)
        return
    decoder = codecs.getincrementaldecoder(_codec(encoding))("replace")
    while piece := file.read(2**20):
        plain.write(decoder.decode(piece).encode("utf-8", "replace"))
    plain.write(decoder.decode(b"", True).encode("utf-8", "replace"))


def _split_header(header: str, columns: Sequence[str], form: CsvFormat) -> tuple[str, list[str]]:
    """The delimiter under which the header has most of the schema's columns."""

    def score(delimiter: str) -> int:
        present = {name.strip().casefold() for name in _fields(header, delimiter)}
        return sum(name.casefold() in present for name in columns)

    delimiter = form.delimiter or max(_DELIMITERS, key=score)
    return delimiter, _fields(header, delimiter)


def _fields(header: str, delimiter: str) -> list[str]:
    """The names of the columns; behind a delimiter that ends the line there is none."""
    try:
        names = next(csv.reader([header], delimiter=delimiter), [])
    except csv.Error:  # a field that no name could be
        return []
    while names and not names[-1].strip():
        names.pop()
    return names
