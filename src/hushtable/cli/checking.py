"""The command that looks before anything is spent: what would be kept, clipped and dropped."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hushtable.cli.analyst import FilePath, json_option
from hushtable.cli.options import (
    allow_option,
    check_new,
    csv_options,
    data_argument,
    table_option,
)
from hushtable.cli.show import print_json, print_points, print_table, say, waiting

if TYPE_CHECKING:
    from hushtable.checking import CheckReport
    from hushtable.checking.report import AttributeCheck, PeopleCheck
    from hushtable.kernel.counting import CsvFormat
    from hushtable.schema import Schema

_LONGEST = 40
_MANY = 10**12
_FEW = 3
"""Of values beyond the ends of a range, so many are shown."""


@click.command()
@data_argument
@table_option
@click.option("--schema", "-s", type=FilePath, required=True, help="The schema file.")
@click.option("--out", "-o", type=FilePath, help="Write the report to this file too, as JSON.")
@allow_option
@csv_options
@json_option
def check(
    data: str,
    table: str | None,
    schema: Path,
    out: Path | None,
    allow_paths: tuple[Path, ...],
    csv: CsvFormat | None,
    as_json: bool,
) -> None:
    """Look at DATA before publishing: what would be kept, clipped and dropped, and why.

    For the owner only: it prints values and counts of the true table. Nothing is spent, and nothing
    written without --out. The schema may be a draft.

    Example: hush check census.csv --schema census.toml
    """
    from hushtable.schema import Schema

    if out is not None:
        check_new(out)
    described = Schema.load(schema, allow_paths=allow_paths)
    report = looked(data, described, table, csv, as_json)
    if out is not None:
        _write(report, out)
    if as_json:
        print_json(report.to_dict())
        return
    print_report(report)
    if out is not None:
        say(f"wrote {out}: keep it as private as the table")
    if report.kept and described.reviewed and not report.refused:
        say(f"next: hush plan {shlex.quote(str(schema))} --epsilon 1")


def looked(
    data: str, schema: Schema, table: str | None, csv: CsvFormat | None, as_json: bool
) -> CheckReport:
    """Check a table, with a bar for who waits."""
    from hushtable.checking import check as check_table

    with waiting("looking at the table", quiet=as_json):
        return check_table(data, schema, table=table, csv=csv)


def print_report(report: CheckReport) -> None:
    """Print all that was found: figures first, then what does not fit, then what to do."""
    from hushtable.checking import OWNER_ONLY

    say(OWNER_ONLY)
    say(report.headline)
    for number, words in _losses(report):
        say(f"  {number:,} {words}")
    columns = ["attribute", "as it is", "clipped", "other", "dropped", "only by it"]
    print_table(None, columns, [_numbers(attribute) for attribute in report.attributes])
    odd = [row for attribute in report.attributes for row in _odd_rows(attribute)]
    if odd:
        print_table("What does not fit", ["attribute", "why", "", "values"], odd, left=3)
    if report.people is not None:
        say(_people_line(report.people))
    if report.counted is not None:
        say(f"People: {report.counted.people:,}, counted in {report.counted.column!r}")
    say(_cells_line(report))
    say()
    print_points(report.advice)


def _losses(report: CheckReport) -> Iterator[tuple[int, str]]:
    lines = report.short_lines + report.broken_lines
    losses = {
        "dropped by the schema": report.dropped,
        "of nobody: they have no id": report.without_id,
        "beyond max_rows": report.beyond_max_rows,
        "of nobody: they count no people": report.of_nobody,
        "more line is no row" if lines == 1 else "more lines are no rows": lines,
    }
    return ((number, words) for words, number in losses.items() if number)


def _numbers(attribute: AttributeCheck) -> list[str]:
    numbers = (
        attribute.as_is,
        attribute.number("clipped"),
        attribute.number("other"),
        attribute.number("dropped"),
        attribute.dropped_alone,
    )
    return [attribute.name, *(f"{number:,}" if number else "" for number in numbers)]


def _odd_rows(attribute: AttributeCheck) -> Iterator[list[Any]]:
    """Each reason with the values it is about."""
    name = attribute.name
    for misfit in attribute.misfits:
        yield [name, misfit.words, misfit.becomes, f"{misfit.rows:,}"]
        name = ""
        values = [value for value in attribute.values if value.reason == misfit.reason]
        for value in values[: _FEW if misfit.reason in ("below", "above") else None]:
            text = value.text if len(value.text) <= _LONGEST else f"{value.text[:_LONGEST]}…"
            yield ["", f"  '{text}'", value.hint, f"{value.rows:,}"]


def _people_line(people: PeopleCheck) -> str:
    from hushtable.checking.report import show_share

    if not people.people:
        return f"People: no row has an id in {people.column!r}"
    within = show_share(people.within, people.people)
    rows = f"median {people.median:,}, most {people.most:,}"
    limit = f"at most max_rows = {people.max_rows:,}"
    return f"People: {people.people:,}; rows of each: {rows}; {within} have {limit}"


def _cells_line(report: CheckReport) -> str:
    each, cells = report.rows_per_cell, f"{report.cells:,}"
    if report.cells >= _MANY:
        cells = f"about 10^{math.log10(report.cells):.1f}"
    line = f"Cells: {report.occupied:,} of {cells} are occupied"
    if each is None:
        return line
    what = "rows" if report.counted is None else "people"
    return f"{line}; {what} in each, on average: {each:,.3g} (see --typical)"


def _write(report: CheckReport, out: Path) -> None:
    """Write a file that nobody else may read."""
    from hushtable.scratch import whole_file
    from hushtable.text import plain_json

    with whole_file(out) as partial:
        partial.touch(mode=0o600)
        partial.write_text(plain_json(report.to_dict(), indent=2) + "\n", encoding="utf-8")
