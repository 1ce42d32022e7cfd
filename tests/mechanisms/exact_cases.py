"""Small schemas that show everything a person can do, and their tables, counted once."""

from __future__ import annotations

from functools import cache
from typing import Any, Literal

import numpy as np

from hushtable.auditing.privacy_check import (
    PairLoss,
    PrivacyReport,
    Recipe,
    check_mechanism,
    check_recipe,
    curator_loss,
    recipe_of,
)
from hushtable.auditing.small_tables import Holdings, Row, Table
from hushtable.kernel.counting import CodedColumns, Counts
from hushtable.kernel.curator.holding import Holding
from hushtable.kernel.privacy.loss import NEIGHBOURS, Neighbours, parse_epsilon
from hushtable.schema import IntegerRange, Labels, Schema, Unit, ordinal

EPSILON = "0.3"

AGE = ordinal("age", IntegerRange(0, 1))
AGE_ROWS: list[Row] = [("0",), ("1",), ("9",), ("?",), (None,)]  # clipped, dropped, dropped
FEW: list[Row] = [("0",), ("9",), (None,)]

CASES: dict[str, tuple[dict[str, Any], list[Row]]] = {
    "clipped and dropped rows": ({"attributes": (AGE,)}, AGE_ROWS),
    "other values": (
        {"attributes": (ordinal("grade", Labels(("a", "b")), outside="other"),)},
        [("a",), ("b",), ("?",), (None,)],
    ),
    "two attributes": (
        {"attributes": (AGE, ordinal("grade", Labels(("a", "b"))))},
        [("0", "a"), ("0", "b"), ("1", "a"), ("0", "?")],
    ),
    "at most 1 row": ({"attributes": (AGE,), "unit": Unit("id", 1)}, FEW),
    "at most 3 rows": ({"attributes": (AGE,), "unit": Unit("id", 3)}, FEW),
}

__all__ = [
    "AGE",
    "CASES",
    "EPSILON",
    "NEIGHBOURS",
    "check",
    "check_asking",
    "loss_between",
    "schema_of",
]


def schema_of(case: str, neighbours: Neighbours = "add-remove") -> Schema:
    return Schema("small", parse_epsilon("3"), neighbours=neighbours, **CASES[case][0])


class SharedHoldings(Holdings):
    """Coded columns are the counted cells again, row by row: each table is counted only once."""

    def of(self, table: Table, needs: Literal["counts", "columns"] = "counts") -> Holding:
        counts = super().of(table)
        if needs == "counts":
            return counts
        assert isinstance(counts, Counts)
        cells = np.repeat(counts.codes, counts.counts)
        columns = np.unravel_index(cells, counts.shape)
        return CodedColumns(counts.shape, tuple(column.astype(np.uint8) for column in columns))


@cache
def holdings_of(case: str) -> Holdings:
    """Counting does not know the neighbour relation, so both share what was counted."""
    return SharedHoldings(schema_of(case))


def check(mechanism: Any, case: str, neighbours: Neighbours, **options: Any) -> PrivacyReport:
    return check_mechanism(
        mechanism,
        schema_of(case, neighbours),
        rows=CASES[case][1],
        holdings=options.pop("holdings", holdings_of(case)),
        **{"epsilon": EPSILON, **options},
    )


def check_asking(
    recipe: Recipe, case: str, neighbours: Neighbours, **options: Any
) -> PrivacyReport:
    return check_recipe(
        recipe,
        schema_of(case, neighbours),
        rows=CASES[case][1],
        holdings=options.pop("holdings", holdings_of(case)),
        **{"epsilon": EPSILON, **options},
    )


def loss_between(mechanism: str, schema: Schema, table: list[Row], other: list[Row]) -> PairLoss:
    """The loss of a mechanism between two tables."""
    recipe, needs = recipe_of(mechanism, schema, parse_epsilon(EPSILON), {})
    return curator_loss(recipe, schema, table, other, epsilon=EPSILON, needs=needs)
