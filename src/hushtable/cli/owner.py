"""Commands for the data owner: schema, publish, budget."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hushtable.cli.analyst import FilePath, json_option, print_attributes
from hushtable.cli.show import print_json, print_table, say, step_bar, warn
from hushtable.errors import OptionError, SchemaError

if TYPE_CHECKING:
    from hushtable.kernel.counting import CsvFormat

STEPS = {
    "plan": "planning",
    "try": "trying mechanisms",
    "count": "counting the table",
    "pay": "paying from the ledger",
    "draw": "drawing noise",
    "write": "writing the release",
    "publish": "publishing",
    "record": "recording",
}

schema_argument = click.argument("schema", metavar="SCHEMA", type=FilePath)
data_argument = click.argument("data", metavar="DATA")
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
        click.option("--public", is_flag=True, help="The table of --proxy is public: your word."),
        click.option("--proxy", metavar="FILE|RELEASE", help=help),
    ):
        command = option(command)
    return command


ledger_option = click.option("--ledger", type=FilePath, help="Default: beside the schema.")


def csv_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """How CSV files are written; the command gets it as `csv`."""

    @click.option("--csv-delimiter", metavar="C", help="Where a CSV's first line does not tell.")
    @click.option("--csv-encoding", metavar="NAME", help="Of CSV files.  [default: UTF-8]")
    @click.option("--csv-multiline", is_flag=True, help="CSV files have line breaks inside quotes.")
    @wraps(command)
    def with_format(
        *, csv_delimiter: str | None, csv_encoding: str | None, csv_multiline: bool, **given: Any
    ) -> Any:
        from hushtable.kernel.counting import CsvFormat

        return command(csv=CsvFormat(csv_delimiter, csv_encoding, csv_multiline), **given)

    return with_format


@click.command()
@data_argument
@click.option("--schema", "-s", type=FilePath, required=True, help="The schema file.")
@click.option("--epsilon", "-e", required=True, help="The ε to spend, as a decimal.")
@click.option("--out", "-o", type=FilePath, required=True, help="The release folder to make.")
@click.option("--mechanism", "-m", default="auto", show_default=True, help="How to publish.")
@click.option("--workload", "-w", help="What auto should be best for.  [default: everyday]")
@click.option("--people", type=int, help="About how many rows there are.  [default: the schema's]")
@click.option("--typical", type=float, help="About how many rows a used cell has: for auto.")
@click.option("--set", "settings", metavar="KEY=VALUE", multiple=True, help="A setting of it.")
@proxy_options
@ledger_option
@allow_option
@csv_options
@json_option
def publish(
    data: str,
    schema: Path,
    epsilon: str,
    out: Path,
    mechanism: str,
    workload: str | None,
    people: int | None,
    typical: float | None,
    settings: tuple[str, ...],
    proxy: str | None,
    public: bool,
    ledger: Path | None,
    allow_paths: tuple[Path, ...],
    csv: CsvFormat,
    as_json: bool,
) -> None:
    """Publish DATA (CSV or Parquet, a path or a glob): spend ε from its ledger, write a release.

    With --proxy, auto publishes what is best on public rows that are like DATA. DATA itself, or a
    file that a private table was published from, is refused as a proxy.

    Example: hush publish census.parquet --schema census.toml --epsilon 1 -o census.release
    """
    from hushtable.kernel.privacy.dataset_ledger import open_ledger
    from hushtable.publishing import publish as publish_table
    from hushtable.query.literal import sql_name
    from hushtable.release.accuracy import accuracy_of
    from hushtable.schema import Schema

    described = Schema.load(schema, allow_paths=allow_paths)
    steps = STEPS if proxy else {step: words for step, words in STEPS.items() if step != "try"}
    with step_bar(steps, quiet=as_json) as progress:
        release = publish_table(
            data,
            described,
            epsilon=epsilon,
            out=out,
            mechanism=mechanism,
            workload=workload,
            people=people,
            typical=typical,
            proxy=proxy,
            public=public,
            settings=key_values(settings),
            ledger=ledger,
            csv=csv,
            progress=progress,
        )
    state, accuracy = open_ledger(described, ledger).state(), accuracy_of(release)
    if as_json:
        print_json(
            {
                "release": str(out),
                "mechanism": release.mechanism,
                "epsilon": release.manifest["privacy"]["epsilon"],
                "left": _text(state.left),
                **accuracy.facts(),
            }
        )
        return
    say(f"published {out} by {release.mechanism}: ε = {_text(release.epsilon)} spent,")
    errors = ", ".join(f"{error} for {what}" for what, error in accuracy.lines())
    say(f"{_text(state.left)} of {_text(state.budget)} left; standard errors: {errors}")
    _print_usefulness(release.manifest.get("plan"))
    # Whoever wrote the schema named the table: what is pasted must be one word to the shell.
    asked = shlex.join([str(out), f"SELECT COUNT(*) FROM {sql_name(described.name)}"])
    say(f"try: hush query {asked}")


def _print_usefulness(plan: Any) -> None:
    """From how many people on the answers of what `auto` chose are useful."""
    from hushtable.families.forecast import about

    if plan:
        needed = about(plan["recommended"]["useful_from"])
        say(f"for {plan['workload']} questions it is useful from about {needed} people on")
        if "proxy" in plan:
            error = plan["recommended"]["rmse"]
            say(f"on the proxy it was the best, with a standard error of {error:.3g}")
        for note in plan.get("notes", ()):
            say(note)


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


def _text(epsilon: Any) -> str:
    from hushtable.kernel.privacy.loss import format_epsilon

    return format_epsilon(epsilon)


@click.command()
@schema_argument
@ledger_option
@click.option("--raise", "raise_to", metavar="E", help="Raise the total budget to E.")
@click.option("--void", metavar="ID", help="Give back a reservation that drew no noise.")
@click.option("--new-ledger", "why", metavar="WHY", help="Begin another budget, and record why.")
@click.option("--restart", is_flag=True, help="The same where the ledger before is gone.")
@allow_option
@json_option
def budget(
    schema: Path,
    ledger: Path | None,
    raise_to: str | None,
    void: str | None,
    why: str | None,
    restart: bool,
    allow_paths: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Show what was spent on a dataset, on what, and what is left.

    A dataset has one ledger, wherever its schema is and however it is renamed. --new-ledger begins
    another one: for other people, or where the ledger is lost with all that was published.

    Example: hush budget census.toml
    """
    from hushtable.kernel.privacy.dataset_ledger import check_first, ledger_path
    from hushtable.schema import Schema

    described = Schema.load(schema, allow_paths=allow_paths)
    place = ledger_path(described, ledger)
    if restart and why is None:
        check_first(described, place, gone=False)
        why = "the ledger before it is gone"
    if why is None:
        check_first(described, place)
    if not place.exists() and (raise_to, void, why) == (None, None, None):
        _print_budget(_unspent(described), as_json, place)
        return
    state = _change_budget(described, place, raise_to, void, why, as_json)
    _print_budget(state, as_json, place)


def _unspent(schema: Any) -> Any:
    from fractions import Fraction

    from hushtable.kernel.privacy.dataset_ledger import pins_of
    from hushtable.kernel.privacy.history import LedgerState

    return LedgerState(budget=schema.budget, spent=Fraction(0), entries=(), **pins_of(schema))


def _change_budget(
    schema: Any, place: Path, raise_to: str | None, void: str | None, why: str | None, quiet: bool
) -> Any:
    """Do what was asked, then read the ledger; only raising may differ from the schema's budget."""
    from hushtable.kernel.privacy.dataset_ledger import open_ledger
    from hushtable.kernel.privacy.loss import parse_epsilon

    books = open_ledger(schema, place, any_budget=raise_to is not None, why=why)
    if raise_to is not None:
        books.raise_budget(parse_epsilon(raise_to, what="--raise"))
    if void is not None:
        books.void(void)
    if not quiet:
        for warning in books.warnings:
            warn(warning)
    return books.state()


def _print_budget(state: Any, as_json: bool, place: Path) -> None:
    entries = [
        {
            "id": entry.id,
            "time": entry.time,
            "mechanism": entry.mechanism,
            "epsilon": _text(entry.epsilon),
            "status": entry.status,
            "release": entry.out,
        }
        for entry in state.entries
    ]
    if as_json:
        print_json(
            {
                "dataset": state.dataset,
                "budget": _text(state.budget),
                "spent": _text(state.spent),
                "left": _text(state.left),
                "neighbours": state.neighbours,
                "unit": state.unit,
                "releases": entries,
                "ledger": str(place),
                "why": state.why,
            }
        )
        return
    protects = "one row" if state.unit is None else state.unit
    say(f"{state.dataset}: {_text(state.spent)} of {_text(state.budget)} spent,", end=" ")
    say(f"{_text(state.left)} left ({state.neighbours}; protects {protects})")
    if state.why is not None:
        say(f"a new ledger was begun: {state.why}")
    if entries:
        rows = [list(entry.values()) for entry in entries]
        print_table(None, ["id", "time", "mechanism", "ε", "status", "release"], rows, left=6)


@click.command("check")
@schema_argument
@allow_option
@json_option
def schema_check(schema: Path, allow_paths: tuple[Path, ...], as_json: bool) -> None:
    """Check a schema file and show how it reads.

    Example: hush schema check census.toml
    """
    from hushtable.schema import Schema

    described = Schema.load(schema, allow_paths=allow_paths)
    if as_json:
        facts = {"cells": described.cells, "reviewed": described.reviewed}
        print_json({"schema": described.to_dict(), **facts})
        return
    protects = "one row" if described.unit is None else str(described.unit)
    if described.dataset is not None:
        protects += f" of one person; the budget is that of the dataset {described.dataset}"
    say(f"{described.name}: {len(described.attributes)} attributes, {described.cells:,} cells,")
    say(f"budget {_text(described.budget)}, {described.neighbours}, protects {protects}")
    if described.people is not None:
        say(f"about {described.people:,} rows, as declared")
    print_attributes(described)
    if not described.reviewed:
        say("a draft: review it and set reviewed = true before publishing")


@click.command("draft")
@data_argument
@click.option("--out", "-o", type=FilePath, required=True, help="The schema file to write.")
@click.option("--name", help="The dataset's name.  [default: the file's]")
@json_option
def schema_draft(data: str, out: Path, name: str | None, as_json: bool) -> None:
    """Draft a schema by looking at the data; it must be reviewed before it is used.

    Example: hush schema draft census.csv -o census.toml
    """
    from hushtable.drafting import draft_schema

    check_new(out)
    draft = draft_schema(data, name=name or out.stem)
    _tell_draft(draft, out, as_json, imported=False)
    if not as_json:
        say("This draft looked at the data: its ranges and values could reveal someone.")
        say("Replace them by what is publicly known, then set reviewed = true.")


@click.command("import")
@click.argument("file", metavar="FILE", type=FilePath)
@click.option("--out", "-o", type=FilePath, required=True, help="The schema file to write.")
@click.option("--name", help="The dataset's name.  [default: the file's]")
@allow_option
@json_option
def schema_import(
    file: Path, out: Path, name: str | None, allow_paths: tuple[Path, ...], as_json: bool
) -> None:
    """Draft a schema from what another tool has: SmartNoise YAML, an mbi domain, CSVW JSON.

    Example: hush schema import metadata.yaml -o census.toml
    """
    from hushtable.schema.foreign import import_schema

    check_new(out)
    draft = import_schema(file, name=name or out.stem, allow_paths=allow_paths)
    _tell_draft(draft, out, as_json, imported=True)
    if not as_json:
        say("Review it, then set reviewed = true.")


def check_new(out: Path) -> None:
    """Refuse a file that is there already, or in a folder that is not."""
    if out.exists():
        raise SchemaError(f"{out} is there already; choose another name")
    if not out.parent.is_dir():
        raise SchemaError(f"there is no folder {out.parent}")


def _tell_draft(draft: Any, out: Path, as_json: bool, *, imported: bool) -> None:
    from hushtable.drafting import write_draft

    write_draft(draft, out, imported=imported)
    if as_json:
        print_json(
            {
                "file": str(out),
                "attributes": [attribute.name for attribute in draft.schema.attributes],
                "left_out": dict(draft.left_out),
            }
        )
        return
    say(f"wrote {out}: {len(draft.schema.attributes)} attributes")
    for column, reason in draft.left_out:
        say(f"  left out {column}: {reason}")
