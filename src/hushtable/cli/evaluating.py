"""The command that looks at the truth: how far a release is from it, for the data owner alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from hushtable.cli.analyst import FilePath, json_option, release_argument
from hushtable.cli.completing import files, workloads
from hushtable.cli.options import csv_options, table_option
from hushtable.cli.show import open_release, print_json, print_table, say, step_bar
from hushtable.errors import OptionError

if TYPE_CHECKING:
    from hushtable.evaluation.evaluate import ErrorRow, Evaluation
    from hushtable.kernel.counting import CsvFormat

STEPS = {
    "count": "counting the table",
    "truth": "answering from the table",
    "ask": "asking the release",
    "intervals": "looking at its intervals",
}


@click.command()
@click.argument("data", metavar="DATA", shell_complete=files)
@release_argument
@table_option
@click.option(
    "--workload",
    "-w",
    default="everyday",
    show_default=True,
    help="What is asked.",
    shell_complete=workloads,
)
@click.option(
    "--queries", default=10_000, show_default=True, help="At most so many: 1 to 1,000,000."
)
@click.option(
    "--intervals", default=500, show_default=True, help="At most so many are looked at: 1 or more."
)
@click.option("--confidence", default=0.95, show_default=True, help="Of the intervals.")
@click.option("--plot", type=FilePath, help="Draw the errors: a new .png or .svg.")
@csv_options
@json_option
def evaluate(
    data: str,
    release: str,
    table: str | None,
    workload: str,
    queries: int,
    intervals: int,
    confidence: float,
    plot: Path | None,
    csv: CsvFormat | None,
    as_json: bool,
) -> None:
    """Compare a release with the true DATA. For the owner only: what it prints is not private.

    A workload is everyday, ranges, prefixes, identity, nodes, total, paper, marginals:2,
    level:attribute=1, a file of SQL queries (.sql or .txt, each ended by ";"), or a sum:
    "2*ranges + marginals:1".

    Example: hush evaluate census.parquet census.release --workload marginals:2
    """
    from hushtable.evaluation.evaluate import evaluate as compare
    from hushtable.evaluation.evaluation_picture import check_picture
    from hushtable.release.store import MANIFEST

    if plot is not None:
        check_picture(plot)
    if (Path(data) / MANIFEST).is_file():
        raise OptionError("the table comes first, then the release: hush evaluate DATA RELEASE")
    opened = open_release(release)
    with step_bar(STEPS, quiet=as_json) as progress:
        found = compare(
            data,
            opened,
            workload=workload,
            queries=queries,
            intervals=intervals,
            confidence=confidence,
            table=table,
            csv=csv,
            progress=progress,
        )
    if plot is not None:
        found.plot(plot)
    if as_json:
        print_json(found.to_dict() | ({} if plot is None else {"plot": str(plot)}))
    else:
        _print(found)
        if plot is not None:
            say(f"wrote {plot}")


def _print(found: Evaluation) -> None:
    from hushtable.evaluation.evaluate import OWNER_ONLY
    from hushtable.query.answer import show_percent

    say(OWNER_ONLY)
    columns = [
        "queries",
        "",
        "number",
        "coverage",
        "selectivity",
        "mean error",
        "rms error",
        "forecast",
        "relative",
        f"inside {show_percent(found.confidence)}",
    ]
    rows = [_cells(row) for row in found.errors]
    print_table(found.title, columns, rows, left=2)
    say("Errors are in rows. Forecast: what the release's own error bars say the rms error is.")
    say("Relative: by the true count, or by 0.1 % of all rows where that is more.")
    looked = found.overall.intervals
    these = "the one query" if found.queries == 1 else f"{looked:,} of the queries"
    say(f"Inside: the truth within the interval, for {these}.")
    for note in found.notes:
        say(note)


def _cells(row: ErrorRow) -> list[str]:
    size = {0: "", 1: "smallest fifth", 5: "largest fifth"}.get(row.fifth, f"fifth {row.fifth}")
    return [
        "all" if row.group == "all" else f"by {row.group}",
        size,
        f"{row.queries:,}",
        f"{row.coverage:.2g}",
        f"{row.selectivity:.2g}",
        *(_short(error) for error in (row.absolute_error, row.rmse, row.forecast_rmse)),
        "–" if row.relative_error is None else f"{row.relative_error:.2%}",
        "" if row.inside is None else f"{row.inside:.1%}",
    ]


def _short(number: float) -> str:
    """Three digits, or all of a large number's whole part."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"
