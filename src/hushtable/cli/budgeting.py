"""The command about what was spent: budget."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hushtable.cli.analyst import json_option
from hushtable.cli.options import allow_option, epsilon_text, ledger_option, schema_argument
from hushtable.cli.show import print_json, print_table, say, warn


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
            "epsilon": epsilon_text(entry.epsilon),
            "status": entry.status,
            "release": entry.out,
        }
        for entry in state.entries
    ]
    if as_json:
        print_json(
            {
                "dataset": state.dataset,
                "budget": epsilon_text(state.budget),
                "spent": epsilon_text(state.spent),
                "left": epsilon_text(state.left),
                "neighbours": state.neighbours,
                "unit": state.unit,
                "releases": entries,
                "ledger": str(place),
                "why": state.why,
            }
        )
        return
    protects = "one row" if state.unit is None else state.unit
    spent, total, left = map(epsilon_text, (state.spent, state.budget, state.left))
    say(f"{state.dataset}: {spent} of {total} spent,", end=" ")
    say(f"{left} left ({state.neighbours}; protects {protects})")
    if state.why is not None:
        say(f"a new ledger was begun: {state.why}")
    if entries:
        rows = [list(entry.values()) for entry in entries]
        print_table(None, ["id", "time", "mechanism", "ε", "status", "release"], rows, left=6)
