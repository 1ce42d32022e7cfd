"""Small releases to look at: one with every kind of attribute, one that others wrote to do harm."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import hushtable as ht

PEOPLE, VILLAGERS = 20_000, 4_000
TREE = {
    "Office": ["Clerk", "Lawyer"],
    "Outdoors": {"Farm": ["Herder", "Picker"], "Sea": ["Sailor", "Diver"]},
}
JOBS = ["Clerk", "Lawyer", "Herder", "Picker", "Sailor", "Diver"]
HOSTILE = [
    "</script><script>alert(1)</script>",
    '"><img src=x onerror=alert(2)>',
    "it's {{7*7}} [x]",
]
UNSEEN = "a\u202eb\x1b[31m"


def town_schema() -> ht.Schema:
    """Every kind of attribute."""
    attributes = [
        {"name": "age", "kind": "ordinal", "range": [0, 99]},
        {"name": "sex", "kind": "nominal", "values": ["F", "M"]},
        {"name": "job", "kind": "nominal", "tree": TREE},
        {"name": "pay", "kind": "ordinal", "edges": [0, 10, 20, 50, 100], "outside": "other"},
    ]
    return ht.Schema.from_dict({"name": "town", "budget": "9", "attribute": attributes})


def town_rows() -> dict[str, Any]:
    """Its people: the same ones every time, men twice as often as women."""
    random = np.random.default_rng(3)
    return {
        "age": random.integers(0, 100, PEOPLE),
        "sex": random.choice(["F", "M"], PEOPLE, p=[1 / 3, 2 / 3]),
        "job": random.choice(JOBS, PEOPLE),
        "pay": random.choice([5.0, 15.0, 60.0, np.nan], PEOPLE),
    }


def publish_town(folder: Path, name: str = "town", **options: Any) -> ht.Release:
    """A release of it, as a folder of this name."""
    return _publish(town_rows(), town_schema(), folder / f"{name}.release", **options)


def publish_village(folder: Path) -> ht.Release:
    """A release of few people, most of whom do the same: many of its groups are mostly noise."""
    random = np.random.default_rng(5)
    age = np.clip(random.normal(38, 16, VILLAGERS), 0, 99).astype(int)
    rows = town_rows() | {
        "age": age,
        "sex": random.choice(["F", "M"], VILLAGERS),
        "job": random.choice(JOBS, VILLAGERS, p=[0.06, 0.02, 0.5, 0.3, 0.1, 0.02]),
        "pay": random.choice([5.0, 15.0, 60.0, np.nan], VILLAGERS),
    }
    schema = replace(town_schema(), name="village")
    return _publish(rows, schema, folder / "village.release")


def publish_hostile(folder: Path) -> ht.Release:
    """A release whose names and labels are made to do harm."""
    attributes = [
        {"name": '<b>"group"</b>', "kind": "nominal", "values": [*HOSTILE, UNSEEN]},
        {"name": "select", "kind": "nominal", "values": ["x", "y"]},
    ]
    schema = ht.Schema.from_dict({"name": "drop <i>", "budget": "9", "attribute": attributes})
    rows = {'<b>"group"</b>': [*HOSTILE, UNSEEN] * 50, "select": ["x", "y"] * 100}
    return _publish(rows, schema, folder / "hostile.release", mechanism="basic")


def _publish(rows: dict[str, Any], schema: ht.Schema, out: Path, **options: Any) -> ht.Release:
    schema = replace(schema, dataset=f"{schema.name} of {out.parent.name}")  # a budget of its own
    ledger = out.with_suffix(".ledger")
    chosen = {"epsilon": "1", "mechanism": "basic"} | options
    return ht.publish(pa.table(rows), schema, out=out, ledger=ledger, **chosen)
