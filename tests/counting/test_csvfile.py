"""CSV files of every make give the same counts, and no record can swallow another."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hushtable.counting import CsvFormat, count_table
from hushtable.counting import records as records_module
from hushtable.counting.records import malformed_lines
from hushtable.errors import DataError, OptionError
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


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "iso-8859-2", "cp1250"])
def test_other_encodings_count_as_utf_8(plain, tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "coded.csv"
    path.write_bytes(TEXT.encode(encoding))
    marked = encoding in ("utf-8-sig", "utf-16")  # a byte-order mark tells by itself
    assert counted(path, None if marked else CsvFormat(encoding=encoding)) == plain


@pytest.mark.parametrize("delimiter", [";", "\t", "|", ":", "^"])
def test_other_delimiters_are_told_by_the_header_or_the_owner(
    plain, tmp_path: Path, delimiter: str
) -> None:
    path = tmp_path / "t.txt"
    path.write_text(TEXT.replace(",", delimiter), encoding="utf-8")
    form = CsvFormat(delimiter=delimiter) if delimiter in ":^" else None
    assert counted(path, form) == plain


@pytest.mark.parametrize("odd", [{"delimiter": '"'}, {"delimiter": ",,"}, {"encoding": "no-such"}])
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
    b'""',
    b'"""',
    b'5,"x" ',
    b'"5"5,x',
    b'5,"a\nb"',
    b'"5\n6\n7","x"',
    b"5,\xff\xfe",
    b"5,\0",
    b"9" * 70_000 + b",x",
    b'"' + b"9" * 70_000 + b'",x',
    b"5,x\r",
]


@pytest.mark.parametrize("quoted", [False, True], ids=["plain file", "quoted file"])
@pytest.mark.parametrize("odd", ODD_LINES, ids=lambda odd: repr(odd[:12]))
def test_an_odd_line_moves_one_cell_by_one_at_most(
    tmp_path: Path, odd: bytes, quoted: bool
) -> None:
    mark = '"' if quoted else ""
    lines = [f"{mark}{age}{mark},{mark}{town}{mark}".encode() for age, town in ROWS]
    path = tmp_path / "odd.csv"
    path.write_bytes(b"\n".join([b"age,town", *lines]) + b"\n")
    before = counted(path)
    assert sum(before.values()) == 300
    for place in (0, 150, 300):
        path.write_bytes(b"\n".join([b"age,town", *lines[:place], odd, *lines[place:]]) + b"\n")
        after = counted(path)
        moved = [abs(before.get(c, 0) - after.get(c, 0)) for c in before.keys() | after.keys()]
        assert sum(moved) <= 1, place


def test_without_the_scan_one_quote_swallows_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Why the scan is there: the test above would go red without it."""
    import hushtable.counting.csvfile as csvfile

    monkeypatch.setattr(csvfile, "drop_malformed", lambda path, folder, delimiter: path)
    path = tmp_path / "odd.csv"
    path.write_text(TEXT + '5,"x\n' + TEXT.partition("\n")[2], encoding="utf-8")
    assert sum(counted(path).values()) < 400


@settings(deadline=None, max_examples=200)
@given(
    st.lists(st.lists(st.text('ab"\n,;', max_size=5), min_size=2, max_size=3), max_size=8),
    st.booleans(),
)
def test_what_a_csv_writer_wrote_is_well_formed(rows: list[list[str]], always: bool) -> None:
    text = io.StringIO(newline="")
    quoting = csv.QUOTE_ALL if always else csv.QUOTE_MINIMAL
    csv.writer(text, quoting=quoting, lineterminator="\n").writerows(rows)
    data = np.frombuffer(text.getvalue().encode(), np.uint8)
    assert not len(malformed_lines(data, ","))


@settings(deadline=None, max_examples=200)
@given(st.lists(st.text('a",', max_size=6), min_size=1, max_size=6))
def test_single_malformed_lines_are_found_one_by_one(lines: list[str]) -> None:
    """Against a slow reading of each line, where no quote reaches beyond its line."""
    lines = [line if line.count('"') % 2 == 0 else line + '"' for line in lines]
    data = np.frombuffer("".join(f"{line}\n" for line in lines).encode(), np.uint8)
    found = {int(start) for start, _ in malformed_lines(data, ",")}
    starts = np.cumsum([0, *(len(line) + 1 for line in lines)])[:-1].tolist()
    for start, line in zip(starts, lines, strict=True):
        fields = slow_fields(line)
        if fields is not None:
            assert start not in found, line


def slow_fields(line: str) -> list[str] | None:
    """The fields of a line that is well-formed by itself, else None."""
    fields, rest = [], line
    while True:
        if rest.startswith('"'):
            end = 1
            while True:
                end = rest.find('"', end)
                if end < 0:
                    return None
                if rest[end : end + 2] != '""':
                    break
                end += 2
            fields.append(rest[1:end].replace('""', '"'))
            rest = rest[end + 1 :]
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


def test_many_malformed_lines_are_all_dropped(plain, tmp_path: Path) -> None:
    """More than are noted at once."""
    count = records_module._BATCH * 2 + 7
    path = tmp_path / "many.csv"
    path.write_text("age,town\n" + '5,x"\n' * count + TEXT.partition("\n")[2], encoding="utf-8")
    assert counted(path) == plain


def test_a_table_of_a_thousand_columns_is_read_by_the_few_it_needs(tmp_path: Path) -> None:
    names = [f"c{i}" for i in range(998)]
    path = tmp_path / "wide.csv"
    lines = [",".join(["age", *names, "town"])]
    lines += [",".join([str(i % 10), *["z"] * 998, "x"]) for i in range(20)]
    path.write_text("\n".join(lines) + "\n")
    assert sum(counted(path).values()) == 20
