"""Commands for whoever holds a release: query, info, export. They never need the data."""

from __future__ import annotations

import math
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hushtable.cli.completing import folders
from hushtable.cli.show import (
    ESTIMATE,
    noted_warnings,
    open_release,
    print_json,
    print_result,
    print_table,
    row_bar,
    say,
    waiting,
)
from hushtable.errors import OptionError

if TYPE_CHECKING:
    from hushtable.query.result import ResultTable
    from hushtable.release import Release
    from hushtable.release.combining import Combination

FORMATS = ("parquet", "csv")
_CHANGES = ("INSERT", "UPDATE", "DELETE", "DROP", "CREATE", "ALTER", "TRUNCATE", "REPLACE")
# Tables that `info` lists.
_MOST_TABLES = 12

release_argument = click.argument("release", metavar="RELEASE", shell_complete=folders)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")
FilePath = click.Path(path_type=Path)


@click.command()
@click.argument("releases", nargs=-1, metavar="RELEASE...", shell_complete=folders)
@click.argument("sql", metavar="SQL")
@click.option("--confidence", default=0.95, show_default=True, help="Of the intervals.")
@click.option("--simultaneous", is_flag=True, help="Make all the table's intervals hold at once.")
@click.option("--out", "-o", type=FilePath, help="Also write .csv, .parquet or .xlsx.")
@click.option("--rows", default=100_000, show_default=True, help="The most a GROUP BY may give.")
@click.option("--estimate", is_flag=True, help="Answer by a model what small tables do not tell.")
@json_option
def query(
    releases: tuple[str, ...],
    sql: str,
    confidence: float,
    simultaneous: bool,
    out: Path | None,
    rows: int,
    estimate: bool,
    as_json: bool,
) -> None:
    """Ask a release for counts with error bars.

    Several releases of one table are averaged by the variances of their noise. The intervals are
    promises where all are of one snapshot (hush publish --snapshot), else estimates.

    Example: hush query census.release "SELECT sex, COUNT(*) FROM census GROUP BY sex"
    """
    folder = os.path.isdir(sql)  # false too for what is no path
    if not releases or (folder and all(map(os.path.isdir, releases))):
        raise click.MissingParameter(param_type="argument", param_hint="'SQL'")
    if folder:
        raise OptionError('the release comes first, then the SQL: hush query RELEASE "SELECT …"')
    if sql.strip().partition(" ")[0].upper() in _CHANGES:
        raise OptionError("a release never changes: ask a SELECT, or give its condition alone")
    from hushtable.release.described import answer_dict, is_scalar

    opened = _opened(releases)
    text = sql if _is_select(sql) else f"SELECT COUNT(*) FROM {_quoted(opened)} WHERE {sql}"
    with waiting("answering", quiet=as_json):
        result = opened.sql(
            text,
            confidence=confidence,
            simultaneous=simultaneous,
            row_cap=rows,
            estimate=estimate,
        )
    if out is not None:
        from hushtable.release.export import export_table

        export_table(result, out)
    if as_json:
        print_json(answer_dict(result))
    elif is_scalar(result):
        _print_answer(result)
    else:
        print_result(result)
    if result.clipping and not as_json:
        say(result.clipping)
    if len(releases) > 1 and not as_json:
        say(opened.reader.note)


def _opened(releases: tuple[str, ...]) -> Release | Combination:
    """A release, or several as one."""
    from hushtable.release.combining import combine

    opened = [open_release(release) for release in releases]
    return opened[0] if len(opened) == 1 else combine(*opened)


def _is_select(sql: str) -> bool:
    return re.match(r"[\s(]*(SELECT|WITH)\b", sql, re.IGNORECASE) is not None


def _quoted(release: Release | Combination) -> str:
    return '"' + release.schema.name.replace('"', '""') + '"'


def _print_answer(result: ResultTable) -> None:
    """The one number that was asked for."""
    from hushtable.query.answer import show_ends, show_level, show_number

    error, (low, high) = float(result.stderr[0]), (float(end[0]) for end in result.bounds)
    half = (high - low) / 2
    value = show_number(float(result.values[0]), half)
    first, last = show_ends(low, high, half)
    guess = "estimate: " if result.estimate else ""
    level = show_level(result.confidence, estimate=False, simultaneous=result.simultaneous)
    say(
        f"{value}  ({guess}between {first} and {last} with {level} confidence;"
        f" standard error {show_number(error, error)})"
    )
    if result.estimate:
        say(ESTIMATE)


@click.command()
@release_argument
@click.option("--verify", is_flag=True, help="Check every byte's checksum.")
@click.option("--plot", type=FilePath, help="Draw a network: a new .svg or .png.")
@json_option
def info(release: str, verify: bool, plot: Path | None, as_json: bool) -> None:
    """Say what a release is, how it was made and what it guarantees.

    Example: hush info census.release --verify
    """
    from hushtable.release.accuracy import accuracy_of
    from hushtable.release.described import release_dict

    opened = open_release(release)
    if verify:
        with waiting("checking every byte", quiet=as_json):
            opened.verify()
    if plot is not None:
        from hushtable.families.network.picture import draw_network

        draw_network(opened, plot)
    accuracy = accuracy_of(opened)
    facts = release_dict(opened, accuracy)
    if as_json:
        drawn = {} if plot is None else {"plot": str(plot)}
        print_json(facts | {"verified": verify} | drawn)
        return
    print_table(
        f"{facts['dataset']}: {facts['mechanism']}, ε = {facts['epsilon']}",
        ["", ""],
        [
            ["guarantee", facts["guarantee"]],
            ["protects", facts["unit"]],
            ["cells", _show_cells(facts["cells"])],
            ["noise", f"{facts['noise']['law']}, scale {facts['noise']['scale']}"],
            *([["kept", facts["kept"]]] if "kept" in facts else []),
            *([["tables", _show_tables(opened.tables)]] if opened.tables else []),
            *([f"standard error of {what}", error] for what, error in accuracy.lines()),
            ["intervals", ESTIMATE if facts["estimate"] else "hold as often as they say, or more"],
            *([["snapshot", facts["snapshot"]]] if facts["snapshot"] else []),
            ["created", facts["created"]],
            ["reservation", facts["reservation"]],
            ["private", "yes" if facts["private"] else "NO: made with injected randomness"],
            ["checksums", "all right" if verify else "not checked (--verify)"],
        ],
        left=2,
    )
    print_attributes(opened.schema)
    if opened.network is not None:
        for line in opened.network.lines():
            say(line)


def _show_tables(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:_MOST_TABLES])
    return shown if len(names) <= _MOST_TABLES else f"{shown}, … ({len(names):,} in all)"


def _show_cells(cells: int) -> str:
    return f"{cells:,}" if cells < 10**15 else f"about 10^{math.log10(cells):.1f}"


def print_attributes(schema: Any) -> None:
    """A table of a schema's attributes."""
    rows = []
    for attribute in schema.attributes:
        first, last = attribute.label(0), attribute.label(attribute.declared - 1)
        levels = "" if attribute.hierarchy is None else str(attribute.hierarchy.height + 1)
        span = f"{first} … {last}" if attribute.declared > 1 else f"{first}"
        rows.append(
            [attribute.name, attribute.kind, span, attribute.outside, levels, attribute.size]
        )
    columns = ["attribute", "kind", "values", "outside", "levels", "codes"]
    print_table(None, columns, rows, left=4)


@click.command()
@release_argument
@click.option("--out", "-o", required=True, help="A new .parquet, .csv or .xlsx, or a folder.")
@click.option(
    "--table", "tables", metavar="NAMES", multiple=True, help="Only this table (repeatable)."
)
@click.option("--format", type=click.Choice(FORMATS), help="Of the files of a folder.")
@click.option("--whole", is_flag=True, help="Whole counts, none negative, that keep the total.")
@click.option("--synthetic", metavar="ROWS", type=int, help="Write synthetic rows, not counts.")
@click.option("--seed", type=int, help="Repeat the same synthetic rows.")
@json_option
def export(
    release: str,
    out: str,
    tables: tuple[str, ...],
    format: str | None,
    whole: bool,
    synthetic: int | None,
    seed: int | None,
    as_json: bool,
) -> None:
    """Write a release for other tools: its cells or its tables, or synthetic rows.

    Several tables, such as --table age+sex --table occupation@1, make a spreadsheet with a sheet
    for each, or a folder (a name without an ending) with a file for each, and an index.

    Example: hush export census.release -o cells.parquet
    """
    if synthetic is None:
        _export_counts(open_release(release), out, tables, format, whole, seed, as_json)
        return
    if whole or tables or format is not None:
        raise OptionError("--whole, --table and --format: synthetic rows are whole already")
    _export_rows(open_release(release), Path(out), synthetic, seed, as_json)


def _export_counts(
    release: Release,
    out: str,
    tables: tuple[str, ...],
    format: str | None,
    whole: bool,
    seed: int | None,
    as_json: bool,
) -> None:
    from hushtable.release.export_tables import export

    with row_bar("writing counts", quiet=as_json) as progress, noted_warnings() as notes:
        done = export(
            release, out, tables, format=format, whole=whole, seed=seed, progress=progress
        )
    if as_json:
        listed = {"tables": done.tables} if done.tables else {}
        print_json({"file": out, "rows": done.rows, **listed, "warnings": notes})
        return
    several = f" in {done.tables:,} tables" if done.tables > 1 else ""
    say(f"wrote {done.rows:,} cells{several} to {out}")


def _export_rows(release: Release, out: Path, rows: int, seed: int | None, as_json: bool) -> None:
    from hushtable.release.export import export_rows

    with row_bar("writing rows", quiet=as_json) as progress, noted_warnings() as notes:
        rows = export_rows(release, out, rows, seed=seed, progress=progress)
    if as_json:
        print_json({"file": str(out), "rows": rows, "warnings": notes})
    else:
        say(f"wrote {rows:,} synthetic rows to {out}")
