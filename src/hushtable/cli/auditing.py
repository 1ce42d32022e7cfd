"""The command that attacks a mechanism: what it loses on small tables, exactly and in runs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from hushtable.cli.analyst import FilePath, json_option
from hushtable.cli.owner import key_values
from hushtable.cli.show import print_json, print_table, row_bar
from hushtable.errors import OptionError

if TYPE_CHECKING:
    from hushtable.evaluation.auditing.audit import Audit
    from hushtable.schema import Schema


@click.command()
@click.argument("mechanism", metavar="MECHANISM")
@click.option(
    "--schema",
    "-s",
    "schemas",
    multiple=True,
    help="A small schema file, or the name of a built-in one.  [default: all built-in ones]",
)
@click.option("--epsilon", "-e", default="1", show_default=True, help="The ε that is claimed.")
@click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, help="A setting of it.")
@click.option("--runs", type=int, help="Runs on each of two tables.  [default: 2000]")
@click.option("--nightly", is_flag=True, help="Minutes, not seconds: more runs, on every schema.")
@click.option("--seed", type=int, help="Noise that can be repeated.  [default: the system's]")
@click.option("--out", "-o", type=FilePath, help="Also write a report: a new .md file.")
@json_option
def audit(
    mechanism: str,
    schemas: tuple[str, ...],
    epsilon: str,
    settings: tuple[str, ...],
    runs: int | None,
    nightly: bool,
    seed: int | None,
    out: Path | None,
    as_json: bool,
) -> int:
    """Attack a mechanism on small tables: does it lose more than ε? Reads no data.

    All neighbours of all small tables are checked exactly, under both relations, and a lower bound
    on ε is shown by experiment. Exits with 1 if more than ε is lost. Built-in schemas: range,
    other, two, one-row, several-rows, ladder, tree, grid, trees, bits.

    Example: hush audit privelet --schema ladder --schema tree --epsilon 1
    """
    from hushtable.evaluation.auditing.audit import audit as attack
    from hushtable.evaluation.entropy import SeededEntropy

    _check_report(out)
    with _bar(quiet=as_json) as progress:
        found = attack(
            mechanism,
            [_schema(name) for name in schemas] or None,
            epsilon=epsilon,
            settings=key_values(settings),
            runs=runs,
            nightly=nightly,
            entropy=None if seed is None else SeededEntropy(seed),
            progress=progress,
        )
    if out is not None:
        out.write_text(found.to_markdown(), encoding="utf-8")
    if as_json:
        print_json(found.to_dict() | ({} if out is None else {"report": str(out)}))
    else:
        _print(found, out)
    return 0 if found.holds else 1


def _check_report(out: Path | None) -> None:
    if out is None:
        return
    if out.suffix.lower() != ".md":
        raise OptionError(f"{out.name} must end in .md")
    if out.exists() or not out.parent.is_dir():
        raise OptionError(f"{out} is there already, or its folder is not")


def _schema(name: str) -> str | Schema:
    """A built-in schema by name, or one from a file."""
    from hushtable.evaluation.auditing.schemas import BUILT_IN
    from hushtable.schema import Schema

    return name if name in BUILT_IN else Schema.load(Path(name))


@contextmanager
def _bar(quiet: bool) -> Iterator[Callable[[str, int, int], None]]:
    """A progress bar that says which schema and relation is under attack."""
    with row_bar("auditing", quiet) as tell:
        yield lambda what, done, total: tell(done, total)


def _print(found: Audit, out: Path | None) -> None:
    from hushtable.evaluation.auditing.report import COLUMNS, problems, rows, verdict
    from hushtable.privacy.loss import format_epsilon

    title = f"{found.mechanism} at ε = {format_epsilon(found.epsilon)}"
    print_table(title, COLUMNS, rows(found), left=2)
    print("Exactly: all tables of fewer than three people with so many of its kinds of rows.")
    for problem in problems(found):
        print(problem)
    for name, reason in found.left_out.items():
        print(f"{name} left out: {reason}")
    text = verdict(found)
    print(text[0].upper() + text[1:] + ".")
    if out is not None:
        print(f"wrote {out}")
