"""Options and arguments that several of the owner's commands share."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click

from hushtable.cli.analyst import FilePath
from hushtable.cli.completing import files
from hushtable.errors import OptionError, SchemaError

schema_argument = click.argument("schema", metavar="SCHEMA", type=FilePath)


def _table(_: click.Context, __: click.Parameter, data: str) -> str:
    """Refuse a release where a table is expected."""
    if os.path.isfile(os.path.join(data, "manifest.json")):
        raise OptionError(f"{data} is a release; DATA is the table, a CSV or Parquet file")
    return data


data_argument = click.argument("data", metavar="DATA", callback=_table, shell_complete=files)
table_option = click.option(
    "--table",
    metavar="NAME",
    help="Of a workbook, database or cluster that holds several: which one.",
)
engine_option = click.option(
    "--engine",
    metavar="ENGINE",
    help="Count Parquet files, or a folder of them, in Spark: 'spark' here, or spark://, sc://.",
)
allow_option = click.option(
    "--allow-path",
    "allow_paths",
    metavar="DIR",
    type=FilePath,
    multiple=True,
    help="Let the schema name hierarchy files in this folder too (repeatable).",
)


def proxy_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What to try mechanisms on."""
    help = "Try all mechanisms on public rows: a table, or a release to draw them from."
    for option in (
        click.option("--proxy-table", metavar="NAME", help="What --table is, for --proxy."),
        click.option("--public", is_flag=True, help="The table of --proxy is public: your word."),
        click.option("--proxy", metavar="FILE|RELEASE", help=help, shell_complete=files),
    ):
        command = option(command)
    return command


ledger_option = click.option("--ledger", type=FilePath, help="Default: beside the schema.")


def csv_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """How CSV files are written; the command gets it as `csv`, or None if nothing is said of it."""

    @click.option("--csv-delimiter", metavar="C", help="Where a CSV's first line does not tell.")
    @click.option("--csv-encoding", metavar="NAME", help="Of CSV files.  [default: UTF-8]")
    @click.option("--csv-multiline", is_flag=True, help="CSV files have line breaks inside quotes.")
    @wraps(command)
    def with_format(
        *, csv_delimiter: str | None, csv_encoding: str | None, csv_multiline: bool, **given: Any
    ) -> Any:
        if not (csv_delimiter is not None or csv_encoding is not None or csv_multiline):
            return command(csv=None, **given)
        from hushtable.kernel.counting import CsvFormat

        return command(csv=CsvFormat(csv_delimiter, csv_encoding, csv_multiline), **given)

    return with_format


def key_values(pairs: tuple[str, ...]) -> dict[str, str]:
    """The settings that were given as key=value, one by one."""
    settings = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise OptionError("--set takes key=value")
        if key.strip() in settings:
            raise OptionError(f"--set {key.strip()} is given twice")
        settings[key.strip()] = value.strip()
    return settings


def check_new(out: Path) -> None:
    """Refuse a file that is there already, or in a folder that is not."""
    if out.exists():
        raise SchemaError(f"{out} is there already; choose another name")
    if not out.parent.is_dir():
        raise SchemaError(f"there is no folder {out.parent}: make it first")


def check_can_ask(*, as_json: bool, yes: bool) -> None:
    """Refuse to begin what ends in a question that nobody could answer."""
    if not yes and (as_json or not sys.stdin.isatty()):
        raise OptionError(
            "nobody can be asked here (no terminal, or --json): add --yes to say yes beforehand"
        )


def confirmed(question: str, *, yes: bool) -> bool:
    """Ask; the answer is no unless it is yes, here or beforehand."""
    return yes or click.confirm(question, default=False)


def epsilon_text(epsilon: Any) -> str:
    """An ε as people write it."""
    from hushtable.kernel.privacy.loss import format_epsilon

    return format_epsilon(epsilon)
