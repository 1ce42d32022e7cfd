"""The command about what was spent: budget."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from hushtable.cli.analyst import json_option
from hushtable.cli.options import (
    allow_option,
    check_can_ask,
    confirmed,
    epsilon_text,
    ledger_option,
    schema_argument,
)
from hushtable.cli.show import print_json, print_table, say, warn

if TYPE_CHECKING:
    from hushtable.kernel.privacy.ledger import Entry, LedgerState
    from hushtable.schema import Schema

_UNKNOWN = "–"
"""Of entries that older software made, which did not note their table."""


@click.command()
@schema_argument
@ledger_option
@click.option("--raise", "raise_to", metavar="E", help="Raise the total budget to E; asks first.")
@click.option("--yes", is_flag=True, help="With --raise: raise it without asking.")
@click.option("--void", metavar="ID", help="Give back a reservation that drew no noise.")
@click.option("--new-ledger", "why", metavar="WHY", help="Begin another budget, and record why.")
@click.option("--restart", is_flag=True, help="The same where the ledger before is gone.")
@allow_option
@json_option
def budget(
    schema: Path,
    ledger: Path | None,
    raise_to: str | None,
    yes: bool,
    void: str | None,
    why: str | None,
    restart: bool,
    allow_paths: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Show what was spent on a dataset, on which tables, and what is left.

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
    if raise_to is not None:
        total = _agreed_raise(described, place, raise_to, as_json=as_json, yes=yes)
        if total is None:
            say("not raised, nothing changed")
            return
    if place.exists() or (raise_to, void, why) != (None, None, None):
        raised = None if raise_to is None else total
        state = _change_budget(described, place, raised, void, why, as_json)
    else:
        state = _unspent(described)
    _tell(described, state, place, schema, as_json)


def _unspent(schema: Schema) -> LedgerState:
    from hushtable.kernel.privacy.dataset_ledger import pins_of
    from hushtable.kernel.privacy.history import LedgerState

    return LedgerState(budget=schema.budget, spent=Fraction(0), entries=(), **pins_of(schema))


def _agreed_raise(
    schema: Schema, place: Path, raise_to: str, *, as_json: bool, yes: bool
) -> Fraction | None:
    """The budget that the owner wants, said twice; None if not."""
    from hushtable.errors import BudgetError
    from hushtable.kernel.privacy.dataset_ledger import open_ledger
    from hushtable.kernel.privacy.loss import parse_epsilon

    total, now = parse_epsilon(raise_to, what="--raise"), schema.budget
    if place.exists():
        now = open_ledger(schema, place, any_budget=True).state().budget
    before, after = epsilon_text(now), epsilon_text(total)
    if total <= now:
        raise BudgetError(f"the budget is {before}; it can be raised above that, never lowered")
    check_can_ask(as_json=as_json, yes=yes)
    question = f"raise the budget of {schema.dataset_name} from {before} to {after}?"
    return total if confirmed(f"{question} This cannot be undone.", yes=yes) else None


def _change_budget(
    schema: Schema,
    place: Path,
    raise_to: Fraction | None,
    void: str | None,
    why: str | None,
    quiet: bool,
) -> LedgerState:
    """Do what was asked, then read the ledger, whose budget may differ from the schema's."""
    from hushtable.kernel.privacy.dataset_ledger import open_ledger

    books = open_ledger(schema, place, any_budget=True, why=why)
    if raise_to is not None:
        books.raise_budget(raise_to)
    if void is not None:
        books.void(void)
    if not quiet:
        for warning in books.warnings:
            warn(warning)
    return books.state()


def _tell(schema: Schema, state: LedgerState, place: Path, file: Path, as_json: bool) -> None:
    from hushtable.kernel.privacy.dataset_ledger import change_lines

    changed = change_lines(schema, state)
    if as_json:
        print_json(_facts(schema, state, place) | {"changed": changed})
        return
    protects = "one row" if state.unit is None else state.unit
    spent, total, left = map(epsilon_text, (state.spent, state.budget, state.left))
    say(f"{state.dataset}: {spent} of {total} spent,", end=" ")
    say(f"{left} left ({state.neighbours}; protects {protects})")
    if schema.budget != state.budget:
        say(_which_counts(schema, state, file))
    if state.why is not None:
        say(f"a new ledger was begun: {state.why}")
    if state.entries:
        columns = ["id", "time", "table", "mechanism", "ε", "status", "release"]
        print_table(None, columns, _shown(map(_listed, state.entries)), left=7)
    tables = _tables(schema, state)
    if len(tables) > 1:
        print_table(None, ["table", "spent", "releases"], _shown(tables))
    for line in changed:
        say(line)


def _facts(schema: Schema, state: LedgerState, place: Path) -> dict[str, Any]:
    return {
        "dataset": state.dataset,
        "budget": epsilon_text(state.budget),
        "schema_budget": epsilon_text(schema.budget),
        "spent": epsilon_text(state.spent),
        "left": epsilon_text(state.left),
        "neighbours": state.neighbours,
        "unit": state.unit,
        "tables": _tables(schema, state),
        "releases": [_listed(entry) for entry in state.entries],
        "ledger": str(place),
        "why": state.why,
    }


def _which_counts(schema: Schema, state: LedgerState, file: Path) -> str:
    """Which of two budgets counts, and how to make them one."""
    written, now = epsilon_text(schema.budget), epsilon_text(state.budget)
    line = f'the schema says budget = "{written}", but the ledger\'s {now} counts:'
    if schema.budget < state.budget:
        return f'{line} write budget = "{now}" in {file.name}'
    return f"{line} to raise it, hush budget {shlex.quote(str(file))} --raise {written}"


def _listed(entry: Entry) -> dict[str, Any]:
    return {
        "id": entry.id,
        "time": entry.time,
        "table": entry.table,
        "mechanism": entry.mechanism,
        "epsilon": epsilon_text(entry.epsilon),
        "status": entry.status,
        "release": entry.out,
    }


def _tables(schema: Schema, state: LedgerState) -> list[dict[str, Any]]:
    """What was spent on each table, in the order in which they came; the schema's own is named."""
    spent: dict[str | None, list[Fraction]] = {}
    for entry in state.entries:
        if entry.status != "void":
            spent.setdefault(entry.table, []).append(entry.epsilon)
    spent.setdefault(schema.name, [])
    return [
        {"table": table, "spent": epsilon_text(sum(each, Fraction(0))), "releases": len(each)}
        for table, each in spent.items()
    ]


def _shown(rows: Iterable[dict[str, Any]]) -> list[list[Any]]:
    return [[_UNKNOWN if value is None else value for value in row.values()] for row in rows]
