"""The ledger of a schema's dataset: where it is, and what it pins."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hushtable.errors import OptionError
from hushtable.kernel.privacy.anchor import Spender
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
    spender = spender_of(schema)
    return Ledger.open(path, budget=budget, why=why, spender=spender, **pins_of(schema))
