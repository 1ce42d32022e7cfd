"""Workbooks written by hand, cell by cell: what the usual writers refuse to write can come in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"

# Style 1 shows a date, 2 a date and a time, 3 a time, 4 a span; 5 is a format of the workbook.
STYLES = (
    f'<styleSheet xmlns="{MAIN}">'
    '<numFmts><numFmt numFmtId="200" formatCode="DD.MM.YYYY"/></numFmts>'
    '<cellStyleXfs><xf numFmtId="22"/></cellStyleXfs><cellXfs>'
    + "".join(f'<xf numFmtId="{number}"/>' for number in (0, 14, 22, 21, 46, 200))
    + "</cellXfs></styleSheet>"
)


def text(value: str) -> str:
    """A cell of text."""
    return f'<c t="inlineStr"><is><t>{value}</t></is></c>'


def number(value: object, style: int = 0) -> str:
    """A cell of a number in a style."""
    return f'<c s="{style}"><v>{value}</v></c>'


def row(*cells: str) -> str:
    return f"<row>{''.join(cells)}</row>"


def write_workbook(
    path: Path,
    sheets: dict[str, Sequence[str]],
    *,
    strings: Iterable[str] = (),
    hidden: Iterable[str] = (),
    since_1904: bool = False,
    doctype: str = "",
) -> Path:
    """A workbook of sheets, each a list of rows in XML; the strings are shared by all cells."""
    kinds = {f"worksheets/{i}.xml": "worksheet" for i, _ in enumerate(sheets)}
    parts = [*kinds.items(), ("strings.xml", "sharedStrings"), ("/xl/styles.xml", "styles")]
    listed = "".join(
        f'<sheet name="{name}" sheetId="{i + 1}" r:id="r{i}"'
        + (' state="hidden"/>' if name in hidden else "/>")
        for i, name in enumerate(sheets)
    )
    with ZipFile(path, "w", ZIP_DEFLATED) as file:
        file.writestr("_rels/.rels", _relations([("xl/workbook.xml", "officeDocument")]))
        file.writestr("xl/_rels/workbook.xml.rels", _relations(parts))
        file.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><workbookPr date1904="{since_1904:d}"/>'
            f"<sheets>{listed}</sheets></workbook>",
        )
        file.writestr("xl/styles.xml", STYLES)
        shared = "".join(f"<si>{string}</si>" for string in strings)
        file.writestr("xl/strings.xml", f'<sst xmlns="{MAIN}">{shared}</sst>')
        for i, rows in enumerate(sheets.values()):
            content = f"<sheetData>{''.join(rows)}</sheetData>"
            sheet = f'{doctype}<worksheet xmlns="{MAIN}">{content}</worksheet>'
            file.writestr(f"xl/worksheets/{i}.xml", sheet)
    return path


def _relations(parts: Iterable[tuple[str, str]]) -> str:
    listed = "".join(
        f'<Relationship Id="r{i}" Type="{OFFICE}/{kind}" Target="{place}"/>'
        for i, (place, kind) in enumerate(parts)
    )
    return f'<Relationships xmlns="{PACKAGE}">{listed}</Relationships>'
