"""The ledger of a schema's dataset: where it is, what it pins, and what schemas were before."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

from hushtable.errors import OptionError
from hushtable.kernel.privacy.anchor import Spender
from hushtable.kernel.privacy.history import Entry, LedgerState, canonical
from hushtable.kernel.privacy.ledger import ONE_PERSON, Ledger
from hushtable.schema import Schema


def ledger_path(schema: Schema, ledger: str | Path | None = None) -> Path:
    """Where the ledger is: as given, or beside the schema's file, links resolved.

    It is named after the dataset, if the schema names one, so that schemas in one folder share it;
    otherwise after the schema's file.
    """
    if ledger is not None:
        return Path(ledger)
    if schema.source is None:
        raise OptionError("this schema is not from a file: say where the ledger is (ledger=…)")
    real = Path(os.path.realpath(schema.source))
    return real.with_name(f"{schema.dataset or real.name}.ledger")


def pins_of(schema: Schema) -> dict[str, Any]:
    """What the first use of a ledger pins, and every later use must repeat.

    A schema that names its dataset speaks of people: each table of the dataset has its own id
    column and `max_rows`, or one row per person, so these are not pinned.
    """
    unit = None if schema.unit is None and schema.counts is None else schema.protects
    return {
        "dataset": schema.dataset_name,
        "neighbours": schema.neighbours,
        "unit": unit if schema.dataset is None else ONE_PERSON,
    }


def spender_of(schema: Schema) -> Spender:
    """By what a schema is known again, should it name another dataset one day."""
    file = None if schema.source is None else os.path.realpath(schema.source)
    return Spender(schema.name, file, schema.dataset is not None)


def check_first(schema: Schema, path: Path, *, gone: bool = True) -> None:
    """Refuse to begin a ledger at a path for a schema whose people have one.

    Without `gone`, what is gone is no obstacle.
    """
    Ledger.check_first(path, schema.dataset_name, spender_of(schema), gone=gone)


def open_ledger(
    schema: Schema,
    ledger: str | Path | None = None,
    *,
    any_budget: bool = False,
    why: str | None = None,
) -> Ledger:
    """The dataset's ledger, by default beside its schema; made at first use.

    With `any_budget` an existing ledger's budget may differ from the schema's. With a reason,
    `why`, a new ledger is made though the dataset has another one.
    """
    path = ledger_path(schema, ledger)
    budget = None if any_budget and path.exists() else schema.budget
    return Ledger.open(
        path,
        budget=budget,
        why=why,
        spender=spender_of(schema),
        attributes=fingerprints(schema),
        **pins_of(schema),
    )


def fingerprints(schema: Schema) -> dict[str, str]:
    """Of each attribute, what its values are and how they are read, but for the column's name."""
    found = {}
    for attribute in schema.to_dict()["attribute"]:
        told = {key: value for key, value in attribute.items() if key not in ("name", "from")}
        found[attribute["name"]] = hashlib.sha256(canonical(told).encode("ascii")).hexdigest()[:16]
    return found


def changed_attributes(schema: Schema, state: LedgerState) -> dict[str, Entry]:
    """The attributes that were something else when they were last released, and that release.

    The newest one of the same table counts, or else the newest one of another table of the dataset.
    What was voided was never released.
    """
    made = [entry for entry in state.entries if entry.status != "void"]
    own_last = sorted(made, key=lambda entry: entry.table == schema.name)  # otherwise as they came
    last = {name: entry for entry in own_last for name in entry.attributes}
    now = fingerprints(schema)
    return {n: e for n, e in last.items() if n in now and now[n] != e.attributes[n]}


def change_lines(schema: Schema, state: LedgerState) -> list[str]:
    """A line for each earlier release that counted other values of an attribute than the schema."""
    names: dict[str, list[str]] = {}
    entries = {entry.id: entry for entry in state.entries}
    for name, entry in changed_attributes(schema, state).items():
        names.setdefault(entry.id, []).append(repr(name))
    return [_change_line(listed, entries[id]) for id, listed in names.items()]


def _change_line(names: list[str], entry: Entry) -> str:
    has_changed = "is not what it was" if len(names) == 1 else "are not what they were"
    where = f"{os.path.basename(entry.out) or entry.id}, table {entry.table!r}, {entry.time[:10]}"
    return (
        f"{', '.join(names)} {has_changed} when released before ({where}): other values, bins or"
        " outside, so counts of the two cannot be compared or added up"
    )
