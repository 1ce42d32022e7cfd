"""Commands about the public description of a table: draft, check, import."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import click

from hushtable.cli.analyst import FilePath, json_option, print_attributes
from hushtable.cli.options import (
    allow_option,
    check_new,
    csv_options,
    data_argument,
    epsilon_text,
    schema_argument,
    table_option,
)
from hushtable.cli.show import print_json, say, waiting


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
    protects = described.protects
    if described.dataset is not None:
        protects += f" of one person; the budget is that of the dataset {described.dataset}"
    say(f"{described.name}: {len(described.attributes)} attributes, {described.cells:,} cells,")
    say(f"budget {epsilon_text(described.budget)}, {described.neighbours}, protects {protects}")
    if described.people is not None:
        say(f"about {described.people:,} rows, as declared")
    print_attributes(described)
    if not described.reviewed:
        say("a draft: review it and set reviewed = true before publishing")
    say(f"next: hush check DATA --schema {shlex.quote(str(schema))}")


@click.command("draft")
@data_argument
@table_option
@click.option("--out", "-o", type=FilePath, required=True, help="The schema file to write.")
@click.option("--name", help="The dataset's name.  [default: the file's]")
@csv_options
@json_option
def schema_draft(
    data: str, table: str | None, out: Path, name: str | None, csv: Any, as_json: bool
) -> None:
    """Draft a schema by looking at the data; it must be reviewed before it is used.

    It understands dates and times, amounts, codes of categories and places, ordered labels, ids
    and values that stand for a missing one. Comments say why each attribute looks as it does.

    Example: hush schema draft census.csv -o census.toml
    """
    from hushtable.drafting import draft_schema

    check_new(out)
    with waiting("looking at the table", quiet=as_json):
        draft = draft_schema(data, name=name or out.stem, table=table, csv=csv)
    _tell_draft(draft, out, as_json, imported=False)
    if not as_json:
        if draft.hints:
            say("  its first lines say what to consider about the whole table")
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


def _tell_draft(draft: Any, out: Path, as_json: bool, *, imported: bool) -> None:
    from hushtable.drafting import write_draft

    write_draft(draft, out, imported=imported)
    if as_json:
        print_json(
            {
                "file": str(out),
                "attributes": [attribute.name for attribute in draft.schema.attributes],
                "left_out": dict(draft.left_out),
                "why": {name: list(lines) for name, lines in draft.notes.items()},
                "hints": list(draft.hints),
            }
        )
        return
    say(f"wrote {out}: {len(draft.schema.attributes)} attributes")
    for column, reason in draft.left_out:
        say(f"  left out {column}: {reason}")
