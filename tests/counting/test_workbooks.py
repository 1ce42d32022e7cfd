"""What a cell is, it says itself; what is in a workbook from somebody else does no harm."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import openpyxl
import pytest
from raw_workbooks import number, row, text, write_workbook
from slow_encoding import counted, make
from tests.shared_sizes import some_of

from hushtable.checking import check
from hushtable.errors import DataError
from hushtable.kernel.counting import count_table
from hushtable.kernel.counting.readers import workbook
from hushtable.kernel.counting.readers.cells import CellReader
from hushtable.kernel.counting.readers.paths import TableIn
from hushtable.kernel.counting.readers.workbook import Row, open_workbook
from hushtable.schema import Schema

LABELS = ["true", "7", "0.3", "a", "two\nlines", "rich text", "2020-01-02", "a\tb"]
AGE = {"name": "age", "kind": "ordinal", "range": [0, 20], "outside": "other"}
JOB = {"name": "job", "kind": "nominal", "values": LABELS, "outside": "other"}
OTHER = len(LABELS)
HEADER = row(text("age"), text("job"))


def jobs(tmp_path: Path, cells: Sequence[str], schema: Schema | None = None) -> dict[int, int]:
    """What is counted of a sheet with these cells, one in each row, beside an age."""
    rows = [HEADER, *(row(number(5), cell) for cell in cells)]
    path = write_workbook(tmp_path / "t.xlsx", {"people": rows}, strings=STRINGS)
    return counted(path, schema or make(JOB))


STRINGS = (
    "<t>a</t>",
    '<r><t>rich</t></r><r><t xml:space="preserve"> text</t></r><rPh sb="0" eb="1"><t>so</t></rPh>',
    "<t>two\nlines</t>",
    "<t>a_x0009_b</t>",
)


@pytest.mark.parametrize(
    ("cell", "label"),
    [
        (number(7), "7"),
        (number("7.0"), "7"),
        (number("7E0"), "7"),
        (number("0.29999999999999999"), "0.3"),  # as the usual programs write the float
        (number("7", 99), "7"),  # of a style that is not there
        (text("7"), "7"),
        ('<c t="str"><f>A1</f><v>7</v></c>', "7"),
        ('<c t="b"><v>1</v></c>', "true"),
        ('<c t="s"><v>0</v></c>', "a"),
        ('<c t="s"><v>1</v></c>', "rich text"),
        ('<c t="s"><v>2</v></c>', "two\nlines"),
        ('<c t="s"><v>3</v></c>', "a\tb"),
        (number(43832, 1), "2020-01-02"),
        (number(43832, 5), "2020-01-02"),
    ],
)
def test_a_cell_is_read_by_its_own_type(cell: str, label: str, tmp_path: Path) -> None:
    assert jobs(tmp_path, [cell]) == {LABELS.index(label): 1}


ODD_CELLS = [
    "<c/>",
    "<c><v/></c>",
    "<c><f>1+1</f></c>",
    '<c t="e"><v>#N/A</v></c>',
    '<c t="n"><v>x</v></c>',
    f'<c t="n"><v>{"9" * 5000}</v></c>',
    '<c t="n"><v>1e999</v></c>',
    '<c t="n"><v>nan</v></c>',
    '<c t="s"><v>99</v></c>',
    '<c t="s"><v>-1</v></c>',
    '<c t="s"><v>x</v></c>',
    '<c t="s"><v>1e400</v></c>',
    '<c t="b"><v>2</v></c>',
    '<c t="d"><v>yesterday</v></c>',
    '<c t="?"><v>7</v></c>',
    '<c s="x"><v>nothing</v></c>',
    number("1e300", 1),
    number("-1e300", 2),
    number("nan", 1),
    number("x", 1),
    number(-5, 3),
    number("1.5", 4),
    f"<c r='B2' t='inlineStr'><is><t>{'x' * (2**20 + 1)}</t></is></c>",
    "<c r='ZZZ2'><v>7</v></c>",
    "<c r='A2'><v>8</v></c>",
    "<c><v>7</v><v>7</v></c>",
    "<c><unknown><v><deep>7</deep></v></unknown></c>",
    '<c t="inlineStr"><is><t>_xD800_</t></is></c>',
]


@pytest.mark.parametrize("cell", some_of(ODD_CELLS, ODD_CELLS[::2]), ids=range(len(ODD_CELLS)))
def test_an_odd_cell_belongs_to_its_row_alone(cell: str, tmp_path: Path) -> None:
    """Nor does it make the table one that cannot be read, or change how many rows there are."""
    plain = [number(7), text("a"), '<c t="s"><v>2</v></c>'] * 3
    schema = make(AGE, JOB)
    before = jobs(tmp_path, plain, schema)
    for cells in ([cell, *plain], [*plain, cell], [*plain[:4], cell, *plain[4:]]):
        after = jobs(tmp_path, cells, schema)
        assert not before - after and (after - before).total() == 1


ILLEGAL = ["\ufffe", "\uffff", "\x00", "\x0b", "&#0;", "&#xFFFF;", "&#55296;", "&#99999999;"]


@pytest.mark.parametrize("mark", ILLEGAL, ids=range(len(ILLEGAL)))
@pytest.mark.parametrize("piece", some_of([2**18, 1, 7], [2**18, 7]))
def test_a_character_that_xml_cannot_hold_belongs_to_its_cell_alone(
    mark: str, piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The usual programs write some of them; of an id, such text is nobody's."""
    monkeypatch.setattr(workbook, "_PIECE", piece)
    cells = [text("a"), text(mark), text(f"a{mark}"), text("two&#10;lines"), number(7)]
    assert jobs(tmp_path, cells) == {3: 1, OTHER: 2, 4: 1, 1: 1}
    people = make(AGE, unit={"column": "job", "max_rows": 9})
    assert jobs(tmp_path, cells, people) == {5: 3}


def test_what_openpyxl_writes_is_read(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for line in (["age", "job"], [5, "\ufffe"], [6, "\ud800"], [7, "a"]):
        book.active.append(line)
    book.save(tmp_path / "t.xlsx")
    assert counted(tmp_path / "t.xlsx", make(AGE)) == {5: 1, 6: 1, 7: 1}


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16"])
def test_bytes_that_are_no_text_belong_to_their_cell_alone(codec: str, tmp_path: Path) -> None:
    path = write_workbook(tmp_path / "t.xlsx", {"t": [HEADER, row(number(5), text("marked"))]})
    with ZipFile(path) as whole:
        parts = {name: whole.read(name).decode().encode(codec) for name in whole.namelist()}
    marked, broken = "marked".encode(codec.removesuffix("-sig") + "-le" * (codec == "utf-16")), b""
    broken = marked[:-4] + (b"\x00\xd8\x00\xd8" if codec == "utf-16" else b"\xff\xc3\x81\xc3")
    with ZipFile(path, "w") as file:
        for name, content in parts.items():
            file.writestr(name, content.replace(marked, broken))
    assert counted(path, make(AGE, JOB)) == {5 * (OTHER + 1) + OTHER: 1}


@pytest.mark.parametrize("stray", ["<v>1</v>", "<is><t>1</t></is>", "<v>" + "1" * 2**21 + "</v>"])
def test_text_between_cells_is_no_cell_s(stray: str, tmp_path: Path) -> None:
    rows = [HEADER, f"<row>{stray}{number(5)}{stray}</row>", stray, row(number(6)), stray]
    path = write_workbook(tmp_path / "t.xlsx", {"t": rows})
    assert counted(path, make(AGE)) == {5: 1, 6: 1}


def test_a_row_in_another_counts_once(tmp_path: Path) -> None:
    rows = [HEADER, f"<row>{number(5)}{row(number(6))}</row>", row(number(7))]
    path = write_workbook(tmp_path / "t.xlsx", {"t": rows})
    assert counted(path, make(AGE)) == {6: 1, 7: 1}


@pytest.mark.parametrize(
    ("ids", "people"),
    [
        (["3", "3.0", "3E0", "+3"], 1),
        (["9007199254740993", "9007199254740993.0", "9.007199254740993E15"], 1),
        (["9007199254740992", "9007199254740993"], 2),
        (["1E300", "1" + "0" * 300], 1),
        (["1" * 401, "1e999", "-1e999"], 0),  # nobody's: all of them would be one infinite number
        (["0.1", "0.10000000000000001"], 1),  # as programs write one float
    ],
)
def test_numbers_are_one_person_s_exactly_if_they_are_equal(
    ids: list[str], people: int, tmp_path: Path
) -> None:
    schema = make(AGE, unit={"column": "job", "max_rows": 1})
    assert jobs(tmp_path, [number(id) for id in ids], schema).get(5, 0) == people


def test_formulas_that_were_never_computed_are_empty_and_told_by_check(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for line in (["age", "job"], ["=1+1", "=A2"], [3, "a"], [None, None], [4, "a"]):
        book.active.append(line)
    book.save(tmp_path / "t.xlsx")
    report = check(tmp_path / "t.xlsx", make(AGE, JOB))
    assert report.rows == 3  # a row without anything in it is none
    assert [(m.reason, m.rows) for a in report.attributes for m in a.misfits] == [("empty", 1)] * 2


def test_rows_that_are_only_formatted_are_none(tmp_path: Path) -> None:
    empty = row('<c r="A9" s="3"/>', '<c s="1"></c>', text(""))
    rows = [empty, HEADER, empty, row(number(5)), *[empty] * 50, "<row/>"]
    path = write_workbook(tmp_path / "t.xlsx", {"people": rows})
    assert counted(path, make(AGE)) == {5: 1}


def test_columns_are_found_by_their_letters(tmp_path: Path) -> None:
    header = row('<c r="B1" t="str"><v>AGE</v></c>', '<c r="AB1" t="str"><v> job </v></c>')
    cells = ('<c r="AB2" t="str"><v>a</v></c>', '<c r="B2"><v>5</v></c>', number(6))
    path = write_workbook(tmp_path / "t.xlsx", {"t": [header, row(*cells), row(*cells[:1])]})
    names = open_workbook(str(path), None).names
    assert len(names) == 28 and names[1] == "AGE" and names[27] == " job " and not any(names[2:27])
    assert counted(path, make(AGE)) == {5: 1, 21: 1} and counted(path, make(JOB)) == {3: 2}


def test_only_the_first_cell_of_merged_ones_has_a_value(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    for line in (["age"], [5], [6]):
        book.active.append(line)
    book.active.merge_cells("A2:A3")
    book.save(tmp_path / "t.xlsx")
    assert counted(tmp_path / "t.xlsx", make(AGE)) == {5: 1}


def test_hidden_sheets_are_read_only_if_they_are_named(tmp_path: Path) -> None:
    sheets = {"shown": [HEADER, row(number(1))], "secret": [HEADER, row(number(2))]}
    path = write_workbook(tmp_path / "t.xlsx", sheets, hidden=["secret"])
    assert counted(path, make(AGE)) == {1: 1}
    assert counted(TableIn(path, "secret"), make(AGE)) == {2: 1}
    with pytest.raises(DataError, match=r"it holds 'shown', 'secret' \(hidden\)$"):
        count_table(TableIn(path, "other"), make(AGE))


def test_days_are_counted_from_the_year_that_the_workbook_says(tmp_path: Path) -> None:
    day = {"name": "job", "kind": "ordinal", "dates": ["2020-01-01", "2020-01-03"]}
    for since_1904, serial in ((False, 43832), (True, 43832 - 1462)):
        rows = [HEADER, row(number(1), number(serial, 1)), row(number(1), number(serial + 0.75, 2))]
        path = write_workbook(tmp_path / "t.xlsx", {"t": rows}, since_1904=since_1904)
        assert counted(path, make(day)) == {1: 2}
    hour = {"name": "job", "kind": "ordinal", "part": "hour"}
    midnight, evening, clock = number(serial, 2), number(serial + 0.75, 2), number(0.25, 3)
    rows = [HEADER, *(row(number(1), cell) for cell in (midnight, evening, clock))]
    path = write_workbook(tmp_path / "t.xlsx", {"t": rows}, since_1904=True)
    assert counted(path, make(hour)) == {0: 1, 6: 1, 18: 1}


# ── workbooks from somebody else ─────────────────────────────────────────────────────────────────


def test_more_shared_text_than_fits_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_workbook(tmp_path / "t.xlsx", {"t": [HEADER]}, strings=["<t>x</t>"] * 10_000)
    monkeypatch.setattr("hushtable.kernel.counting.readers.workbook._MOST_STRINGS", 10_000)
    with pytest.raises(DataError, match="more text than is kept in memory; save it as CSV"):
        count_table(path, make(AGE))


def test_a_sheet_is_never_held_whole(tmp_path: Path) -> None:
    """A hundred million bytes of XML, a hundred thousand of them packed, in a few megabytes."""
    path = write_workbook(tmp_path / "t.xlsx", {"t": [HEADER, row(number(5))]})
    with ZipFile(path) as whole:
        parts = {name: whole.read(name) for name in whole.namelist()}
    with ZipFile(path, "w", 8) as file:
        for name, content in parts.items():
            start, _, end = content.partition(b"</sheetData>")
            with file.open(name, "w") as part:
                part.write(start)
                if end:
                    for _ in range(100):
                        part.write(b"<c>" + b" " * 10**6 + b"</c>")
                    part.write(b"</sheetData>" + end)
    tracemalloc.start()
    assert counted(path, make(AGE)) == {5: 1}
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert path.stat().st_size < 10**6 and most < 20 * 2**20


@pytest.mark.parametrize("piece", ["<c r='" + "A" * 300_000 + "'/>", "<c>" + "<c>" * 300_000])
def test_tags_without_end_are_refused(
    piece: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [HEADER, f"<row>{piece}", "</row>"]
    path = write_workbook(tmp_path / "t.xlsx", {"t": rows})
    monkeypatch.setattr("hushtable.kernel.counting.readers.workbook._MOST_PENDING", 2**16)
    monkeypatch.setattr("hushtable.kernel.counting.readers.workbook._PIECE", 2**12)
    with pytest.raises(DataError, match=r"could not be|too many tags"):
        count_table(path, make(AGE))


def test_tags_in_tags_without_end_are_refused_though_each_is_closed(tmp_path: Path) -> None:
    for depth, words in ((1000, None), (2000, "too many tags in each other")):
        deep = "<x>" * depth + "</x>" * depth
        path = write_workbook(tmp_path / "t.xlsx", {"t": [HEADER, row(number(5), deep)]})
        if words is None:
            assert counted(path, make(AGE)) == {5: 1}
            continue
        with pytest.raises(DataError, match=words):
            count_table(path, make(AGE))


def test_a_long_text_that_many_cells_share_fits_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each batch is a part of what would be too large for one column of text."""
    lengths: list[int] = []

    def noted(rows: Sequence[Row], *others: Any) -> Any:
        lengths.append(len(rows))
        return batch(rows, *others)

    batch = workbook._batch
    monkeypatch.setattr(workbook, "_batch", noted)
    monkeypatch.setattr("hushtable.kernel.counting.readers.stream._MOST_LENGTH", 2**20)
    rows = [HEADER, *[row(number(5), '<c t="s"><v>0</v></c>')] * 100]
    strings = [f"<t>{'x' * 2**16}</t>"]
    path = write_workbook(tmp_path / "t.xlsx", {"t": rows}, strings=strings)
    assert counted(path, make(AGE, JOB)) == {5 * (OTHER + 1) + OTHER: 100}
    assert sum(lengths) == 100 and max(lengths) <= 17


def test_entities_are_not_expanded(tmp_path: Path) -> None:
    doctype = '<!DOCTYPE worksheet [<!ENTITY a "aaaaaaaaaa">]>'
    path = write_workbook(tmp_path / "t.xlsx", {"t": [HEADER, row(text("&a;"))]}, doctype=doctype)
    with pytest.raises(DataError, match="declares a document type"):
        count_table(path, make(AGE))


def test_strings_are_not_counted_from_their_end() -> None:
    reader = CellReader(["first", "last"], {})
    assert reader.value("s", "0", "1") == "last" and reader.value("s", "0", "-1") is None
