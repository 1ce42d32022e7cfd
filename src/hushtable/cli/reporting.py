"""The command that writes a report of a release, to hand over."""

from __future__ import annotations

from pathlib import Path

import click

from hushtable.cli.analyst import FilePath, json_option, release_argument
from hushtable.cli.show import open_release, print_json, row_bar, say


@click.command()
@release_argument
@click.option("--out", "-o", type=FilePath, required=True, help="A new .html file.")
@json_option
def report(release: str, out: Path, as_json: bool) -> None:
    """Write one HTML file with a release's guarantee, attributes and charts.

    It opens offline in any browser, prints well and holds no script.

    Example: hush report census.release -o report.html
    """
    from hushtable.web.report import write_report

    opened = open_release(release)
    with row_bar("drawing charts", quiet=as_json) as progress:
        written = write_report(opened, out, progress)
    if as_json:
        told = {"charts": written.charts, "pairs": written.pairs, "refused": written.refused}
        print_json({"file": str(out), **told, "bytes": out.stat().st_size})
        return
    say(f"wrote {written.charts} charts and {written.pairs} tables of two attributes to {out}")
