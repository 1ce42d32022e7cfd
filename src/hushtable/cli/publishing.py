"""The command that spends: publish."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hushtable.cli import completing
from hushtable.cli.analyst import FilePath, json_option
from hushtable.cli.checking import looked, print_report
from hushtable.cli.options import (
    allow_option,
    check_can_ask,
    confirmed,
    csv_options,
    data_argument,
    engine_option,
    epsilon_text,
    key_values,
    ledger_option,
    proxy_options,
    table_option,
)
from hushtable.cli.show import print_json, say, step_bar

if TYPE_CHECKING:
    from hushtable.checking import CheckReport
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


@click.command()
@data_argument
@table_option
@engine_option
@click.option("--schema", "-s", type=FilePath, required=True, help="The schema file.")
@click.option("--epsilon", "-e", required=True, help="The ε to spend, as a decimal.")
@click.option("--out", "-o", type=FilePath, required=True, help="The release folder to make.")
@click.option(
    "--mechanism",
    "-m",
    default="auto",
    show_default=True,
    help="See hush mechanisms.",
    shell_complete=completing.mechanisms,
)
@click.option(
    "--workload",
    "-w",
    help="What auto should be best for.  [default: everyday]",
    shell_complete=completing.workloads,
)
@click.option("--people", type=int, help="About how many rows there are.  [default: the schema's]")
@click.option("--typical", type=float, help="About how many rows a used cell has: for auto.")
@click.option(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    help="A setting of it.",
    shell_complete=completing.settings,
)
@click.option("--snapshot", help="A word for the state of the table, such as 2026-10: published.")
@proxy_options
@ledger_option
@allow_option
@csv_options
@click.option("--check", "look_first", is_flag=True, help="Run hush check first, then ask.")
@click.option("--yes", is_flag=True, help="With --check: publish without asking.")
@json_option
def publish(
    data: str,
    table: str | None,
    engine: str | None,
    schema: Path,
    epsilon: str,
    out: Path,
    mechanism: str,
    workload: str | None,
    people: int | None,
    typical: float | None,
    settings: tuple[str, ...],
    snapshot: str | None,
    proxy: str | None,
    public: bool,
    proxy_table: str | None,
    ledger: Path | None,
    allow_paths: tuple[Path, ...],
    csv: CsvFormat | None,
    look_first: bool,
    yes: bool,
    as_json: bool,
) -> None:
    """Publish DATA: spend ε from its ledger, write a release.

    DATA is a path or glob of CSV or Parquet files, a workbook (.xlsx), a DuckDB or SQLite
    database, or a SAS, SPSS or Stata file; CSV and Parquet also by s3://, gs://, az:// and https://
    addresses. A folder with a _delta_log is a Delta table; Iceberg tables are named by their
    metadata file, or as iceberg://CATALOG. DATA is also the address of a Postgres database
    (postgresql://host/name; the password is best in PGPASSWORD or a service file) or of a Spark
    cluster (spark:// or sc://). --table says which table.

    With --proxy, auto publishes what is best on public rows that are like DATA. DATA itself, or a
    file that a private table was published from, is refused as a proxy.

    Whatever rows DATA has, it is published: to see beforehand how many would count, use hush check,
    or --check. Whoever then declines has spent nothing; the exit code is 0.

    hush mechanisms lists the mechanisms, and hush mechanisms NAME what may be set.

    Example: hush publish census.parquet --schema census.toml --epsilon 1 -o census.release
    """
    from hushtable.kernel.counting.engines.clusters import files_on_spark
    from hushtable.kernel.privacy.dataset_ledger import open_ledger
    from hushtable.publishing import check_beforehand
    from hushtable.publishing import publish as publish_table
    from hushtable.query.literal import sql_name
    from hushtable.release.accuracy import accuracy_of
    from hushtable.schema import Schema

    described = Schema.load(schema, allow_paths=allow_paths)
    report = None
    if look_first:
        check_can_ask(as_json=as_json, yes=yes)
        check_beforehand(described, epsilon, out, ledger)
        report = looked(data, described, table, csv, as_json)
        if not _agreed(report, as_json=as_json, yes=yes):
            say("not published, nothing spent")
            return
    steps = STEPS if proxy else {step: words for step, words in STEPS.items() if step != "try"}
    with step_bar(steps, quiet=as_json) as progress:
        release = publish_table(
            data if engine is None else files_on_spark(data, engine),
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
            table=table,
            proxy_table=proxy_table,
            csv=csv,
            snapshot=snapshot,
            progress=progress,
        )
    state, accuracy = open_ledger(described, ledger).state(), accuracy_of(release)
    if as_json:
        print_json(
            {
                "release": str(out),
                "mechanism": release.mechanism,
                "epsilon": release.manifest["privacy"]["epsilon"],
                "left": epsilon_text(state.left),
                **accuracy.facts(),
                **({} if report is None else {"check": report.to_dict()}),
            }
        )
        return
    say(f"published {out} by {release.mechanism}: ε = {epsilon_text(release.epsilon)} spent,")
    errors = ", ".join(f"{error} for {what}" for what, error in accuracy.lines())
    left, total = epsilon_text(state.left), epsilon_text(state.budget)
    say(f"{left} of {total} left; standard errors: {errors}")
    _print_usefulness(release.manifest.get("plan"))
    # Whoever wrote the schema named the table: what is pasted must be one word to the shell.
    asked = shlex.join([str(out), f"SELECT COUNT(*) FROM {sql_name(described.name)}"])
    say(f"try: hush query {asked}")


def _agreed(report: CheckReport, *, as_json: bool, yes: bool) -> bool:
    """Show what was found, and whether the owner wants to publish."""
    if not as_json:
        print_report(report)
        say()
    return confirmed("publish?", yes=yes)


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
