"""CSV files of every make give the same counts, and no record can swallow another."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.shared_sizes import some_of

from hushtable.errors import DataError, OptionError
from hushtable.kernel.counting import CsvFormat, count_table
from hushtable.kernel.counting.readers import csvfile
from hushtable.kernel.counting.readers.records import (
    MAX_LINE,
    RecordLayout,
    record_batches,
    whole_lines,
    whole_records,
)
from hushtable.schema import Hierarchy, IntegerRange, Schema, nominal, ordinal

SCHEMA = Schema(
    "t",
    Fraction(1),
    (ordinal("age", IntegerRange(0, 9)), nominal("town", Hierarchy.flat(["Köln", "Łódź", "x"]))),
)
ROWS = [(i % 10, ["Köln", "Łódź", "x"][i % 3]) for i in range(300)]
TEXT = "age,town\n" + "".join(f"{age},{town}\n" for age, town in ROWS)


def counted(path: Path, form: CsvFormat | None = None) -> dict[int, int]:
    counts = count_table(path, SCHEMA, form)
    return dict(zip(counts.codes.tolist(), counts.counts.tolist(), strict=True))


@pytest.fixture
def plain(tmp_path: Path) -> dict[int, int]:
    (tmp_path / "t.csv").write_text(TEXT, encoding="utf-8")
    return counted(tmp_path / "t.csv")


def zstd(data: bytes) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as packed:
        packed.write(data)
    return sink.getvalue().to_pybytes()


PACKERS = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstd}


@pytest.mark.parametrize("ending", PACKERS)
def test_packed_files_count_as_plain_ones(plain, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"packed.csv{ending}"
    path.write_bytes(PACKERS[ending](TEXT.encode()))
    assert counted(path) == plain and sum(plain.values()) == 300
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DataError):
        counted(path)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "iso-8859-2", "cp1250", "gb18030"])
@pytest.mark.parametrize("piece", [2**22, 7])
def test_other_encodings_count_as_utf_8(
    plain, tmp_path: Path, encoding: str, piece: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csvfile, "_PIECE", piece)
    path = tmp_path / "coded.csv"
    path.write_bytes(TEXT.encode(encoding))
    marked = encoding == "utf-8-sig"  # a byte-order mark tells by itself
    assert counted(path, None if marked else CsvFormat(encoding=encoding)) == plain


def test_the_lines_of_a_mainframe_end_where_its_encoding_says(tmp_path: Path) -> None:
    path = tmp_path / "coded.csv"
    path.write_bytes("age,town\n5,x\n7,x\n".encode("cp500"))
    assert b"\n" not in path.read_bytes()
    assert counted(path, CsvFormat(encoding="cp500")) == {17: 1, 23: 1}


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le"])
def test_encodings_in_which_a_damaged_line_moves_all_others_are_refused(
    tmp_path: Path, encoding: str
) -> None:
    """One byte too few in one line, and every line below would be read as something else."""
    with pytest.raises(OptionError, match=r"UTF-16 and UTF-32 are not read.*iconv"):
        CsvFormat(encoding=encoding)
    path = tmp_path / "t.csv"
    path.write_bytes(TEXT.encode(encoding))
    with pytest.raises(DataError):
        counted(path)
    if encoding in ("utf-16", "utf-32"):  # which begin with a byte-order mark
        with pytest.raises(DataError, match=r"UTF-16 and UTF-32 are not read.*iconv"):
            counted(path)


@pytest.mark.parametrize("delimiter", [";", "\t", "|", ":", "^"])
def test_other_delimiters_are_told_by_the_header_or_the_owner(
    plain, tmp_path: Path, delimiter: str
) -> None:
    path = tmp_path / "t.txt"
    path.write_text(TEXT.replace(",", delimiter), encoding="utf-8")
    form = CsvFormat(delimiter=delimiter) if delimiter in ":^" else None
    assert counted(path, form) == plain


@pytest.mark.parametrize(
    "odd", [{"delimiter": '"'}, {"delimiter": ",,"}, {"encoding": "no-such"}, {"encoding": "utf-7"}]
)
def test_an_impossible_format_is_refused(odd: dict[str, str]) -> None:
    with pytest.raises(OptionError):
        CsvFormat(**odd)


ODD_LINES = [
    b'5,"x',
    b'"5,x',
    b'5,"x\n',
    b'5,x"',
    b'5,""x"',
    b'"',
    b'1,"',
    b'",',
    b'""',
    b'"""',
    b'5,"x" ',
    b'"5"5,x',
    b'5,"a\nb"',
    b"5,\xff\xfe",
    b"5,\0",
    b"5,x\r5,x\r5,x",
    b"5,x\r\r",
    b"5,x\r",
    b"9" * (MAX_LINE + 5) + b",x",
    b'"' + b"9" * (MAX_LINE + 5) + b'",x',
    b"9" * 2_200_000 + b",x",
]
FILES = {
    "plain": ("", b""),
    "quoted": ('"', b""),
    "with lone quotes": ("", b'"\n'),
    "with open fields": ("", b'1,"\n",\n'),
}


class OddFile:
    """The rows as a kind of file, perhaps with an odd line among them."""

    def __init__(self, folder: Path, kind: str) -> None:
        self.path = folder / "odd.csv"
        mark, self.stray = FILES[kind]
        self.lines = [f"{mark}{age}{mark},{mark}{town}{mark}".encode() for age, town in ROWS]
        self.before = self.counted(self.lines)
        assert sum(self.before.values()) == 300

    def counted(self, lines: list[bytes]) -> dict[int, int]:
        parts = (b"age,town\n" + self.stray, b"\n".join(lines), b"\n" + self.stray)
        self.path.write_bytes(b"".join(parts))
        return counted(self.path)

    def moved(self, odd: bytes, place: int) -> int:
        """By how many rows the cells change together."""
        after = self.counted([*self.lines[:place], odd, *self.lines[place:]])
        cells = self.before.keys() | after.keys()
        return sum(abs(self.before.get(cell, 0) - after.get(cell, 0)) for cell in cells)


@pytest.fixture(scope="module", params=FILES)
def odd_file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> OddFile:
    return OddFile(tmp_path_factory.mktemp("odd"), request.param)


@pytest.mark.parametrize("odd", some_of(ODD_LINES, ODD_LINES[::4]), ids=lambda odd: repr(odd[:12]))
def test_an_odd_line_moves_one_cell_by_one_at_most(odd: bytes, odd_file: OddFile) -> None:
    """Also in a file that has odd lines already: no two of them may close on each other."""
    for place in (0, 150, 300):
        assert odd_file.moved(odd, place) <= 1, place


def test_line_breaks_inside_quotes_need_the_owner_s_word(tmp_path: Path) -> None:
    path = tmp_path / "multi.csv"
    path.write_text('note,age,town\n"one\ntwo, ""three""",5,x\nplain,6,x\n', encoding="utf-8")
    assert sum(counted(path).values()) == 1
    assert sum(counted(path, CsvFormat(multiline=True)).values()) == 2


def test_with_the_owner_s_word_an_open_quote_reaches_the_next_one(tmp_path: Path) -> None:
    """What line breaks inside quotes cost: a broken record takes the lines up to a quote along.

    Never does it become rows: it is dropped up to the line end at which its quotes are closed.
    """
    path = tmp_path / "multi.csv"
    broken = b'note,age,town\na,1,x\n"b,2,x\nc,3,x\nd",4,x\ne,5,x\n'
    multiline = CsvFormat(multiline=True)
    path.write_bytes(broken)
    assert counted(path, multiline) == {5: 1, 14: 1, 17: 1}
    path.write_bytes(broken.replace(b'd"', b'd"d'))
    assert counted(path, multiline) == {5: 1, 17: 1}
    for unclosed in (b"d", b'"d"'):
        path.write_bytes(broken.replace(b'd"', unclosed))
        assert counted(path, multiline) == {5: 1}


WITHIN = b"\n7,x,y\r\n7,x,y\n" * 9  # lines of a field that look like rows
REJECTED = {
    "too long": b'5,x,"' + WITHIN + b"z" * MAX_LINE + WITHIN + b'"',
    "far too long": b'5,x,"' + (WITHIN + b"z" * MAX_LINE) * 7 + WITHIN + b'"',
    "too long, of many lines": b'5,x,"' + b"7,x,y\n" * (MAX_LINE // 2) + b'"',
    "no text in quotes": b'5,x,"' + WITHIN + b"\xff" + WITHIN + b'"',
    "a lone carriage return": b'5,x\r,"' + WITHIN + b'"',
    "text behind a quote": b'5,x,"' + WITHIN + b'"z',
    "a quote in a plain field": b'5,x"' + WITHIN + b'",y',
}


@pytest.mark.parametrize("kind", REJECTED)
@pytest.mark.parametrize("codec", some_of(["utf-8", "cp1250", "gb18030"], ["utf-8", "gb18030"]))
def test_a_rejected_record_of_many_lines_is_dropped_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, codec: str
) -> None:
    path = tmp_path / "multi.csv"
    path.write_bytes(b"age,town,note\n" + b"\n".join([b'3,x,"a\nb"', REJECTED[kind], b"4,x,"]))
    decoded = codec != "utf-8" and kind == "no text in quotes"  # a mark stands for what is no text
    for piece in (2**22, 2**20 + 1, 2**16 + 1):
        monkeypatch.setattr(csvfile, "_PIECE", piece)
        found = counted(path, CsvFormat(encoding=codec, multiline=True))
        assert found == ({11: 1, 14: 1, 17: 1} if decoded else {11: 1, 14: 1}), piece


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.text('ab"\n\r ,;é', max_size=6), min_size=1, max_size=5),
    st.integers(0, 4),
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 255)), min_size=1, max_size=4),
    st.integers(1, 60),
)
def test_bytes_altered_inside_quotes_move_one_row_at_most(
    notes: list[str], place: int, alterations: list[tuple[int, int]], piece: int
) -> None:
    """Except quotes, which are the owner's word; the notes are lines that look like rows."""
    fields = [('7,"",\n' + note + "\n7,7\n").replace('"', '""').encode() for note in notes]
    records = [b'%d,"%s"\n' % (i, field) for i, field in enumerate(fields)]
    others = [str(i) for i in range(len(notes)) if i != place % len(notes)]
    altered = bytearray(fields[place % len(notes)])
    for at, byte in alterations:
        if ord('"') not in (altered[at % len(altered)], byte):
            altered[at % len(altered)] = byte
    records[place % len(notes)] = b'x,"%s"\n' % altered
    found = [first for first, _ in read(b"".join(records), 2, multiline=True, piece=piece)]
    assert found in (others, [*others[: place % len(notes)], "x", *others[place % len(notes) :]])


def test_a_quote_for_each_direction_of_writing_is_one(tmp_path: Path) -> None:
    path = tmp_path / "multi.csv"
    path.write_bytes(b'age,town,note\n5,x,\xa2a\n7,x,b"\n5,x,\n')
    assert path.read_bytes().decode("mac_arabic").count('"') == 2
    assert counted(path, CsvFormat(encoding="mac_arabic", multiline=True)) == {17: 2}


CHARACTERS = [
    "cp932",
    "cp949",
    "cp950",
    "gbk",
    "gb2312",
    "gb18030",
    "big5",
    "big5hkscs",
    "shift_jis",
    "euc_jp",
    "johab",
]


@pytest.mark.parametrize("codec", CHARACTERS)
def test_no_half_of_a_character_takes_a_quote_along(codec: str) -> None:
    """Records are cut before they are decoded, by the bytes that are quotes."""
    assert csvfile._quotes(codec) == b'"'
    halves = [bytes([first, second]) for first in range(0x80, 256) for second in range(256)]
    lines = b'"\n'.join(half for half in halves if half[1] not in b'"\n') + b'"\n'
    decoded = csvfile._decoded(lines, codec, b"\n").removesuffix(b"\n").split(b"\n")
    assert len(decoded) == 128 * 254
    assert all(line.count(b'"') == 1 and line.endswith(b'"') for line in decoded)


BROKEN_HEADERS = [
    b'note,age,"town',
    b'"note,age,town',
    b'note,age,to"wn',
    b'"no"te,age,town',
    b'note,age,"town""',
    b"note,age\r,town",
    b'age,town,"' + b"n" * MAX_LINE + b'"',
]


@pytest.mark.parametrize("header", BROKEN_HEADERS, ids=lambda header: repr(header[:20]))
@pytest.mark.parametrize("multiline", [False, True])
def test_a_first_line_that_is_no_list_of_names_is_refused(
    tmp_path: Path, header: bytes, multiline: bool
) -> None:
    """It would make the reader lose every row, or take rows for names."""
    path = tmp_path / "t.csv"
    path.write_bytes(header + b"\n" + b'a,5,x\n"b",6,x\n' * 5)
    with pytest.raises(DataError, match="the first line of the CSV file is no well-formed"):
        counted(path, CsvFormat(delimiter=",", multiline=multiline))


@pytest.mark.parametrize(
    ("header", "row"),
    [
        (b",age,town", b"0,5,x"),  # as pandas writes a table with its index
        (b'"",age,town', b'"0",5,x'),
        (b"age,town,", b"5,x,"),
        (b"age,town,", b"5,x"),
        (b"age,town", b"5,x,"),
        (b"age,,town,, ,", b"5,,x"),
        (b"age,,town", b"5,,x,,,"),
        (b"age,town,\r", b"5,x\r"),
        (b'age,"town",""', b'5,"x"'),
        (b'age, "town"', b'5, "x"'),
        (b'"age" ,\t"town" ', b'"5" , "x"\t'),
        (b'age , "town"', b'5,"x"  ,'),
    ],
)
def test_columns_without_a_name_do_not_matter(tmp_path: Path, header: bytes, row: bytes) -> None:
    """A delimiter that ends the first line, or the others, adds no column to a row."""
    path = tmp_path / "t.csv"
    path.write_bytes(header + b"\n" + (row + b"\n") * 7)
    assert counted(path) == {17: 7}


def test_what_pandas_writes_with_its_index_is_read(plain, tmp_path: Path) -> None:
    frame = pd.DataFrame(ROWS, columns=["age", "town"])
    frame.to_csv(tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_bytes().startswith(b",age,town")
    assert counted(tmp_path / "t.csv") == plain


@pytest.mark.parametrize("ending", PACKERS)
def test_packed_files_put_behind_each_other_are_one(plain, tmp_path: Path, ending: str) -> None:
    """As `cat` does, and tools that pack piece by piece; pieces may end inside a line."""
    path, pack, text = tmp_path / f"t.csv{ending}", PACKERS[ending], TEXT.encode()
    path.write_bytes(b"".join(pack(text[i : i + 333]) for i in range(0, len(text), 333)))
    assert counted(path) == plain


@pytest.mark.parametrize("quote", [b"", b'"'], ids=["plain", "quoted"])
def test_the_engine_reads_lines_of_the_largest_length(tmp_path: Path, quote: bytes) -> None:
    """Several of them, among short ones: none is lost and none takes another along."""
    frame = b"5,x," + quote + quote
    lines = []
    for missing in (0, 1, 2, 3, -1):  # the last is too long, and dropped
        note = b"n" * (MAX_LINE - len(frame) - missing)
        lines += [b"5,x," + quote + note + quote, b"7,x,n"]
    path = tmp_path / "t.csv"
    path.write_bytes(b"age,town,note\n" + b"\n".join(lines) + b"\n")
    assert counted(path) == {17: 4, 23: 5}
    assert counted(path, CsvFormat(multiline=True)) == {17: 4, 23: 5}


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("last", [True, False])
def test_line_endings_and_marks_do_not_matter(
    plain, tmp_path: Path, ending: bytes, mark: bytes, last: bool
) -> None:
    path = tmp_path / "ends.csv"
    lines = TEXT.encode().splitlines()
    lines[0] = b'"age",town'
    path.write_bytes(mark + ending.join(lines) + (ending if last else b""))
    assert counted(path) == plain
    assert counted(path, CsvFormat(encoding="utf-8")) == plain


@pytest.mark.parametrize("ending", some_of(["", *PACKERS], ["", *PACKERS][::2]))
@pytest.mark.parametrize("multiline", [False, True])
def test_where_a_piece_of_a_file_ends_does_not_matter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, multiline: bool
) -> None:
    """With pieces of a few bytes, so that every place is at the edge of one."""
    odd = '"x' if not multiline else '"x\n1,x"z'  # neither is a record
    lines = f'4,\n7,x\n"5","Köln"\n5,{odd}\n\n1, "Łódź" \r\n'
    text = "\ufeffage,town\r\n" + lines * 5 + "9,x"
    path = tmp_path / f"edge.csv{ending}"
    path.write_bytes(PACKERS.get(ending, bytes)(text.encode()))
    form = CsvFormat(multiline=multiline)
    expected = {4: 5, 15: 5, 23: 5, 29: 1}
    for piece in (*range(1, 12), 2**20):
        monkeypatch.setattr(csvfile, "_PIECE", piece)
        assert counted(path, form) == expected


def read(
    text: bytes, fields: int = 1, *, multiline: bool = False, piece: int = 2**22
) -> list[list[str]]:
    """The first fields of every record that has so many."""
    pieces = [text[i : i + piece] for i in range(0, len(text), piece)]
    layout = RecordLayout(",", fields, tuple(range(fields)), multiline)
    blocks = whole_records(pieces) if multiline else whole_lines(pieces)
    batches = list(record_batches(blocks, layout))
    for batch in batches:
        batch.validate(full=True)
    return [list(row.values()) for batch in batches for row in batch.to_pylist()]


def kept(text: bytes, *, multiline: bool = False) -> list[bytes]:
    """The first field of every record."""
    return [field.encode() for (field,) in read(text, multiline=multiline)]


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.lists(st.text('ab"\n ,;é', max_size=5), min_size=2, max_size=3), max_size=8),
    st.booleans(),
    st.integers(1, 60),
)
def test_what_a_csv_writer_wrote_is_read(rows: list[list[str]], always: bool, piece: int) -> None:
    text = io.StringIO(newline="")
    quoting = csv.QUOTE_ALL if always else csv.QUOTE_MINIMAL
    csv.writer(text, quoting=quoting, lineterminator="\n").writerows(rows)
    written = text.getvalue().encode()
    assert read(written, 2, multiline=True, piece=piece) == [row[:2] for row in rows]
    lines = [row[:2] for row in rows if not any("\n" in field for field in row)]
    if len(lines) == len(rows):
        assert read(written, 2, piece=piece) == lines


@settings(deadline=None, max_examples=120)
@given(st.lists(st.text('a",é\r ', max_size=6), min_size=1, max_size=6), st.integers(1, 20))
def test_every_line_is_kept_or_dropped_by_itself(lines: list[str], piece: int) -> None:
    """Against a slow reading of each line."""
    found = []
    for line in lines:
        bare = line.removesuffix("\r")
        fields = slow_fields(bare)
        if fields is not None and not any("\r" in f for f in unquoted(bare)):
            found.append(fields)
    text = "".join(f"{line}\n" for line in lines).encode()
    for count in (1, 2, 3):
        expected = [fields[:count] for fields in found if len(fields) >= count]
        assert read(text, count, piece=piece) == expected


def unquoted(line: str) -> list[str]:
    """The parts of a line outside quotes."""
    return line.replace('""', "").split('"')[::2]


@settings(deadline=None, max_examples=150)
@given(st.binary(max_size=8))
def test_bytes_that_are_no_text_drop_their_line(odd: bytes) -> None:
    if any(byte in odd for byte in b'\n\r",'):
        return
    try:
        odd.decode()
    except UnicodeDecodeError:
        assert kept(odd + b"\nx\n") == [b"x"]
    else:
        assert kept(odd + b"\nx\n") == [odd, b"x"]


def test_a_line_is_text_exactly_where_python_reads_it_so() -> None:
    """Every start of a character, over-long ones, surrogates and what lies beyond included."""
    starts = [bytes([first, second]) for first in range(0x80, 0x100) for second in range(0x80, 256)]
    ends = (b"", b"\x80", b"\x80\x80", b"\xbfa", b"\x80\xc0", b"\x80\x80\x80")
    lines = [start + end for start in starts for end in ends]
    lines += [bytes([first]) + b"a" for first in range(0x80, 0x100)]
    assert kept(b"\n".join(lines) + b"\n") == [line for line in lines if is_text(line)]


def is_text(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


@pytest.mark.parametrize("mark", [b"", b'"'], ids=["plain", "quoted"])
def test_a_line_is_kept_up_to_its_largest_length(mark: bytes) -> None:
    longest = mark + b"9" * (MAX_LINE - 2 * len(mark)) + mark
    longer = mark + b"9" * (MAX_LINE + 1 - 2 * len(mark)) + mark
    text = longest + b"\n" + longer + b"\n5\r\n" + longest + b"\r\n" + longer + b"\r\n" + longer
    number = longest.strip(b'"').decode()
    for piece in (2**22, 2**18):
        for multiline in (False, True):
            assert read(text, piece=piece, multiline=multiline) == [[number], ["5"], [number]]


@pytest.mark.parametrize(
    "head", [b'age,town,"odd', b'age,town,"', b'age,town,"a"b', b'age,town,a"']
)
def test_a_first_line_that_could_swallow_rows_is_refused(tmp_path: Path, head: bytes) -> None:
    """A quote that it leaves open would be closed by somebody's row, and no other row's."""
    path = tmp_path / "head.csv"
    for row in (b"5,x,1", b'5,""",a","5,"'):
        path.write_bytes(head + b"\n" + b"5,x,1\n" * 9 + row + b"\n" + b"5,x,1\n" * 9)
        with pytest.raises(DataError, match="first line"):
            counted(path)


@pytest.mark.parametrize("encoding", ["ascii", "cp1250", "shift_jis", "gbk", "big5"])
def test_what_an_encoding_does_not_have_is_one_odd_value(tmp_path: Path, encoding: str) -> None:
    """A byte or half a character, in a file that is decoded first."""
    odd = {"cp1250": b"\x81", "shift_jis": b"\x81", "gbk": b"\x81"}.get(encoding, b"\xff")
    path = tmp_path / "odd.csv"
    lines = [line.encode(encoding) for line in ("age,town\n", "5,x\n", "5,", "\n", "7,x\n")]
    path.write_bytes(b"".join([*lines[:3], "x".encode(encoding), odd, *lines[3:]]))
    assert counted(path, CsvFormat(encoding=encoding)) == {17: 1, 23: 1}


@pytest.mark.parametrize("encoding", ["euc-kr", "korean", "cp949"])
def test_a_broken_character_of_korean_leaves_the_lines_below(tmp_path: Path, encoding: str) -> None:
    """Python's own codec would take eight bytes for it, with the line ends among them."""
    path = tmp_path / "odd.csv"
    path.write_bytes("age,town\n5,x\n7,가\n".encode("euc-kr") + b"\xa4\xd4,x\n5,x\n7,x")
    found = counted(path, CsvFormat(encoding=encoding))
    path.write_bytes("age,town\n5,x\n7,가\n".encode("euc-kr") + b"5,x\n7,x")
    without = counted(path, CsvFormat(encoding=encoding))
    assert sum(found.values()) - sum(without.values()) in (0, 1)
    assert all(found[cell] >= rows for cell, rows in without.items())


def test_an_open_quote_costs_no_more_than_it_has_text_below() -> None:
    """Read again with each further line, it would take minutes here."""
    text = b'5\n"6\n' + b"5\n" * 200_000
    assert kept(text, multiline=True) == [b"5"]
    assert kept(text + b'"\n5\n', multiline=True) == [b"5", text[3:], b"5"]


@pytest.mark.parametrize("piece", some_of([2**22, 2**20 - 1, 2**17 + 3], [2**17 + 3]))
def test_long_records_of_a_csv_writer_are_read_up_to_the_largest_length(piece: int) -> None:
    """Against Python's reader, with line breaks and quotes at every edge of a piece."""
    sizes = (1, 2**20 - 40, 5, 2**20 + 9, 2**19, 3 * 2**20, 7, 2**20 - 9)
    rows = [[str(i), ('a"\n,é' * size)[:size]] for i, size in enumerate(sizes)]
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    lines = text.getvalue()
    limit = csv.field_size_limit(2**30)
    try:
        assert list(csv.reader(io.StringIO(lines, newline=""))) == rows
    finally:
        csv.field_size_limit(limit)
    expected = [row for row in rows if written_size(row) <= MAX_LINE]
    assert 0 < len(expected) < len(rows)
    assert read(lines.encode(), 2, multiline=True, piece=piece) == expected


def written_size(row: list[str]) -> int:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="").writerow(row)
    return len(text.getvalue().encode())


def slow_fields(line: str) -> list[str] | None:
    """The fields of a line that is well-formed by itself, else None."""
    fields, rest = [], line
    while True:
        if rest.lstrip(" \t").startswith('"'):
            rest = rest.lstrip(" \t")
            end = 1
            while True:
                end = rest.find('"', end)
                if end < 0:
                    return None
                if rest[end : end + 2] != '""':
                    break
                end += 2
            fields.append(rest[1:end].replace('""', '"'))
            rest = rest[end + 1 :].lstrip(" \t")
        else:
            field, _, _ = rest.partition(",")
            if '"' in field:
                return None
            fields.append(field)
            rest = rest[len(field) :]
        if not rest:
            return fields
        if not rest.startswith(","):
            return None
        rest = rest[1:]


def test_a_table_of_a_thousand_columns_is_read_by_the_few_it_needs(tmp_path: Path) -> None:
    names = [f"c{i}" for i in range(998)]
    path = tmp_path / "wide.csv"
    lines = [",".join(["age", *names, "town"])]
    lines += [",".join([str(i % 10), *["z"] * 998, "x"]) for i in range(20)]
    path.write_text("\n".join(lines) + "\n")
    assert sum(counted(path).values()) == 20
