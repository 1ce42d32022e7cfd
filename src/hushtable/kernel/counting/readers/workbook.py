"""Excel workbooks (.xlsx): the sheets they hold, and their rows as text, cell by cell.

The XML is read as a stream, by us: the usual readers fail for the whole sheet on one cell that is
odd, and keep as much in memory as a file from somebody else asks for. A cell's own type and format
say what it is, and nothing else does; one that cannot be read is an empty one.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from posixpath import dirname, join, normpath
from typing import IO, Any
from xml.parsers import expat
from zipfile import ZipFile

from hushtable.errors import DataError
from hushtable.kernel.counting.readers.cells import CellReader
from hushtable.kernel.counting.readers.filetable import FileTable, OneOf, open_stream
from hushtable.kernel.counting.readers.stream import Stream, portions
from hushtable.kernel.counting.readers.values import id_text, value_text
from hushtable.kernel.counting.silence import silent_engine

_ROWS = 2**14
_PIECE = 2**18
_MOST_COLUMNS = 2**14  # of a sheet
_MOST_TEXT = 2**20  # characters of a cell; a workbook has no more than 32,767
_MOST_DESCRIPTION = 2**24  # bytes of a part that describes the workbook, unpacked
_MOST_STRINGS = 2**29  # bytes of the texts that cells share, which are kept in memory
_MOST_PENDING = 2**24  # bytes of a tag
_MOST_DEPTH = 2**10  # of tags in tags
# Characters that XML cannot hold, though the usual programs write them, and numbers that stand for
# a character.
_ILLEGAL = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_REFERENCE = re.compile("&#(x[0-9A-Fa-f]{1,8}|[0-9]{1,8});")
_LONGEST_REFERENCE = len("&#x") + 8 + len(";")
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_PLACE = re.compile("([A-Z]{1,3})[0-9]*")

Row = dict[int, Any]
"""The values of the cells that are not empty, by the positions of their columns."""


@dataclass(frozen=True)
class _Workbook:
    """Where the parts of a workbook are in its file."""

    sheets: dict[str, str]
    hidden: frozenset[str]
    strings: str | None
    styles: str | None
    since_1904: bool


def open_workbook(path: str, table: str | None) -> FileTable:
    """A sheet of a workbook; its first row has the names of the columns."""
    problem = (
        f"{path} could not be opened: check that it is a complete .xlsx workbook without a password"
    )
    with silent_engine(problem), ZipFile(path) as file:
        book = _described(file)
        visible = [name for name in book.sheets if name not in book.hidden]
        aside = [name for name in book.sheets if name in book.hidden]
        sheet = book.sheets[OneOf(path, visible, aside=aside).choose(table)]
        cells = _cell_reader(file, book, path)
        with _rows(file, sheet, cells, None) as rows:
            header = next(rows, {})
        names = [value_text(header.get(i)) or "" for i in range(max(header, default=-1) + 1)]

    def open_columns(
        engine: Any, positions: Sequence[int], columns: Sequence[str], ids: Collection[str]
    ) -> Any:
        texts = [id_text if column in ids else value_text for column in columns]

        def batches() -> Iterator[Any]:
            with ZipFile(path) as file, _rows(file, sheet, cells, set(positions)) as rows:
                next(rows, None)
                for some in portions(rows, _ROWS, _length):
                    yield _batch(some, positions, texts)

        return open_stream(engine, Stream.of_text(len(positions), batches))

    return FileTable(tuple(names), open_columns)


def _length(row: Row) -> int:
    """Many cells may share one long text, which each of them has to itself from here on."""
    return sum(len(value) for value in row.values() if isinstance(value, str))


def _batch(
    rows: Sequence[Row], positions: Sequence[int], texts: Sequence[Callable[[Any], str | None]]
) -> Any:
    import pyarrow as pa

    columns = [
        pa.array([text(row.get(position)) for row in rows], pa.string())
        for position, text in zip(positions, texts, strict=True)
    ]
    return pa.record_batch(columns, [f"c{i}" for i in range(len(columns))])


# ── the parts of a file ──────────────────────────────────────────────────────────────────────────


def _described(file: ZipFile) -> _Workbook:
    main, _ = next(_related(file, "", "officeDocument"))
    sheets, hidden, since_1904 = {}, set(), False
    places = {key: place for place, key in _related(file, main, "worksheet")}
    for name, values in _elements(file, main):
        if name == "workbookPr":
            since_1904 = values.get("date1904") in ("1", "true")
        if name == "sheet" and values["id"] in places:  # others are charts
            sheets[values["name"]] = places[values["id"]]
            if values.get("state", "visible") != "visible":
                hidden.add(values["name"])
    strings, styles = (
        next((place for place, _ in _related(file, main, kind)), None)
        for kind in ("sharedStrings", "styles")
    )
    return _Workbook(sheets, frozenset(hidden), strings, styles, since_1904)


def _related(file: ZipFile, part: str, kind: str) -> Iterator[tuple[str, str]]:
    """The parts of a kind that a part names, and by which keys."""
    folder, _, own = part.rpartition("/")
    for name, values in _elements(file, join(folder, "_rels", f"{own}.rels")):
        if name == "Relationship" and values["Type"].endswith(f"/{kind}"):
            place = normpath(join("/", dirname(part), values["Target"])).lstrip("/")
            yield place, values["Id"]


def _elements(file: ZipFile, part: str) -> list[tuple[str, dict[str, str]]]:
    """The elements of a part in their order, each with its attributes."""
    found: list[tuple[str, dict[str, str]]] = []

    def start(tag: str, values: dict[str, str]) -> None:
        found.append((tag, {_local(key): value for key, value in values.items()}))

    with _part(file, part, _MOST_DESCRIPTION) as content:
        for _ in _fed(_parser(start), content):
            pass
    return found


def _cell_reader(file: ZipFile, book: _Workbook, path: str) -> CellReader:
    formats: dict[int, str] = {}
    styles: list[int] = []
    section = ""
    for name, values in _elements(file, book.styles) if book.styles else ():
        if name in ("numFmts", "cellStyleXfs", "cellXfs", "cellStyles", "dxfs"):
            section = name
        elif (section, name) == ("numFmts", "numFmt"):
            formats[int(values["numFmtId"])] = values["formatCode"]
        elif (section, name) == ("cellXfs", "xf"):
            styles.append(int(values.get("numFmtId", 0)))
    strings: list[str | None] = []
    if book.strings:
        if file.getinfo(book.strings).file_size > _MOST_STRINGS:
            raise DataError(f"{path} has more text than is kept in memory; save it as CSV")
        strings = _strings(file, book.strings)
    return CellReader.of(strings, styles, formats, since_1904=book.since_1904)


def _strings(file: ZipFile, part: str) -> list[str | None]:
    """The texts that cells share."""
    found: list[str | None] = []
    text = _Text()

    def end(tag: str) -> None:
        if tag == "si":
            found.append(text.taken())
        text.end(tag)

    with _part(file, part, _MOST_STRINGS) as content:
        parser = _parser(lambda tag, _: text.start(tag), end, text.add)
        for _ in _fed(parser, content):
            pass
    return found


class _Text:
    """Collects the text between tags that hold it, without how it is pronounced."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._open = self._aside = False

    def start(self, tag: str) -> None:
        self._aside |= tag == "rPh"
        self._open = tag in ("v", "t") and not self._aside

    def add(self, text: str) -> None:
        if self._open and self._length <= _MOST_TEXT:
            self._pieces.append(text)
            self._length += len(text)

    def end(self, tag: str) -> None:
        self._open = False
        self._aside &= tag != "rPh"

    def taken(self) -> str | None:
        """What was collected; None if it is too long for any cell."""
        text = "".join(self._pieces) if self._length <= _MOST_TEXT else None
        self._pieces, self._length = [], 0
        return text


# ── rows ─────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def _rows(
    file: ZipFile, sheet: str, cells: CellReader, needed: Collection[int] | None
) -> Iterator[Iterator[Row]]:
    """The rows of a sheet that have anything in them; of their cells, those that are needed."""
    with file.open(sheet) as content:
        yield _each_row(content, _RowCollector(cells, needed))


def _each_row(content: IO[bytes], collector: _RowCollector) -> Iterator[Row]:
    parser = _parser(collector.start, collector.end, collector.text.add)
    for _ in _fed(parser, content):
        yield from collector.taken()


class _RowCollector:
    """Collects rows while their XML is read.

    A row in which no cell has a value or a formula is none: sheets have many that are only
    formatted.
    """

    def __init__(self, cells: CellReader, needed: Collection[int] | None) -> None:
        self.text = _Text()
        self._cells, self._needed = cells, needed
        self._rows: list[Row] = []
        self._row: Row = {}
        self._any = False
        self._position = -1
        self._kind, self._style = "n", ""

    def start(self, tag: str, values: dict[str, str]) -> None:
        if tag == "row":
            self._row, self._any, self._position = {}, False, -1
        elif tag == "c":
            self.text.taken()  # what stands between cells is no cell's
            self._position = _position(values.get("r"), self._position + 1)
            self._kind, self._style = values.get("t", "n"), values.get("s", "0")
        elif tag == "f":
            self._any = True
        self.text.start(tag)

    def end(self, tag: str) -> None:
        if tag == "c":
            self._add(self.text.taken())
        elif tag == "row" and self._any:
            self._rows.append(self._row)
            self._any = False  # a row that ends inside another is not both
        self.text.end(tag)

    def _add(self, text: str | None) -> None:
        if text == "":
            return
        self._any = True
        if text is None or self._position >= _MOST_COLUMNS:
            return
        if self._needed is None or self._position in self._needed:
            self._row[self._position] = self._cells.value(self._kind, self._style, text)

    def taken(self) -> list[Row]:
        """The rows that are complete by now."""
        rows, self._rows = self._rows, []
        return rows


def _position(place: str | None, following: int) -> int:
    """The position of a cell's column; it follows the last one if it does not say."""
    found = _PLACE.fullmatch(place or "")
    if found is None:
        return following
    number = 0
    for letter in found[1]:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number - 1


# ── XML ──────────────────────────────────────────────────────────────────────────────────────────


def _part(file: ZipFile, name: str, most: int) -> IO[bytes]:
    """A part of the file, which is never longer than it says."""
    if file.getinfo(name).file_size > most:
        raise DataError("a part of the workbook is too large")
    return file.open(name)


def _parser(
    start: Callable[[str, dict[str, str]], None],
    end: Callable[[str], None] = lambda _: None,
    text: Callable[[str], None] = lambda _: None,
) -> Any:
    """A parser that tells of tags, by their names without namespaces, and of the text in them."""
    depth = 0

    def opened(name: str, values: dict[str, str]) -> None:
        nonlocal depth
        depth += 1
        if depth > _MOST_DEPTH:  # those that are open are kept in memory
            raise DataError("the workbook's XML has too many tags in each other")
        start(_local(name), values)

    def closed(name: str) -> None:
        nonlocal depth
        depth -= 1
        end(_local(name))

    parser = expat.ParserCreate("utf-8", " ")
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler = opened, closed
    parser.CharacterDataHandler = text
    parser.StartDoctypeDeclHandler = _refuse  # where entities are declared
    return parser


def _refuse(*_: Any) -> None:
    raise DataError("the workbook's XML declares a document type, which no workbook needs")


def _fed(parser: Any, content: IO[bytes]) -> Iterator[None]:
    """Give the parser what there is, piece by piece; tags of any length would fill the memory."""
    given = 0
    for text in _legal(content):
        piece = text.encode()
        parser.Parse(piece, False)
        given += len(piece)
        if given - parser.CurrentByteIndex > _MOST_PENDING:
            raise DataError("the workbook's XML has a tag that is too long")
        yield
    parser.Parse(b"", True)
    yield


def _legal(content: IO[bytes]) -> Iterator[str]:
    """XML as text, with a mark for every character that it cannot hold.

    A single one in a cell would make the parser refuse the whole sheet.
    """
    piece, held = content.read(_PIECE), ""
    codec = "utf-16" if piece.startswith(_WIDE) else "utf-8-sig"
    decoder = codecs.getincrementaldecoder(codec)("replace")
    while piece:
        text = held + decoder.decode(piece)
        cut = text.rfind("&", max(0, len(text) - _LONGEST_REFERENCE))  # where one may be cut
        cut = len(text) if cut < 0 else cut
        text, held = text[:cut], text[cut:]
        yield _marked(text)
        piece = content.read(_PIECE)
    yield _marked(held + decoder.decode(b"", True))


def _marked(text: str) -> str:
    return _REFERENCE.sub(_legal_reference, _ILLEGAL.sub("\ufffd", text))


def _legal_reference(found: re.Match[str]) -> str:
    digits = found[1]
    number = int(digits[1:], 16) if digits.startswith("x") else int(digits)
    legal = number <= 0x10FFFF and not _ILLEGAL.match(chr(number))
    return found[0] if legal else "\ufffd"


def _local(name: str) -> str:
    """A name without its namespace, of which there are several for the same names."""
    return name.rpartition(" ")[2]
