"""Amounts as people write them are read by the decimal mark that the schema names."""

from __future__ import annotations

import re
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slow_encoding import counted, make

from hushtable.errors import SchemaError
from hushtable.schema import Schema

QUARTERS = range(-40, 41)
HIGHER = (1234, 1234.25, 1234.5, 1235, 10**6, 10**6 + 1, 10**9)
EDGES = [*(quarter / 4 for quarter in QUARTERS), *HIGHER]


def schema(decimal: str) -> Schema:
    column = {"name": "x", "kind": "ordinal", "edges": EDGES, "outside": "other"}
    return make({**column, "decimal": decimal})


def read(texts: list[str], decimal: str) -> list[float | None]:
    """The edge that each value is counted at; None for what is no amount."""
    found: list[float | None] = []
    for text in texts:
        (code,) = counted(pa.table({"x": [text]}), schema(decimal))
        found.append(EDGES[code] if code < len(EDGES) - 1 else None)
    return found


SAID = {
    "$1,234.50": (1234.5, None),
    "1.234,50 €": (None, 1234.5),
    "1,234": (1234, 1.0),
    "1.234": (1.0, 1234),
    "1 234": (1234, 1234),
    "1\u202f234": (1234, 1234),
    "1'234.5": (1234.5, None),
    "1,000,000": (10**6, None),
    "1,00,000": (None, None),
    "-5": (-5, -5),
    "\u22125": (-5, -5),
    "($5.25)": (-5.25, None),
    "-$7": (-7, -7),
    "$ -7": (-7, -7),
    "USD 7": (7, 7),
    "7 EUR": (7, 7),
    "US$7": (7, 7),
    "7 %": (7, 7),
    "5.": (5, None),
    ".5": (0.5, None),
    ",5": (None, 0.5),
    " $5 ": (5, 5),
}
NO_AMOUNTS = [
    "",
    "$",
    "x",
    "1e3",
    "--5",
    "$$5",
    "5 5",
    "12,345,67",
    "(5",
    "5)",
    "(-5)",
    "inf",
    "５",
]


@pytest.mark.parametrize("place", [0, 1])
def test_the_mark_that_is_declared_decides(place: int) -> None:
    expected = [values[place] for values in SAID.values()]
    assert read(list(SAID), ".,"[place]) == expected
    assert read(NO_AMOUNTS, ".,"[place]) == [None] * len(NO_AMOUNTS)


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.decimals(-10, 9, places=2), min_size=1, max_size=9),
    st.sampled_from([".", ","]),
    st.sampled_from(["{}", "${}", "{} €", "CHF {}"]),
)
def test_whatever_is_written_is_read(numbers: list[Decimal], decimal: str, form: str) -> None:
    texts = [form.format(f"{number:.2f}".replace(".", decimal)) for number in numbers]
    plain = make({"name": "x", "kind": "ordinal", "edges": EDGES, "outside": "other"})
    as_written = counted(pa.table({"x": texts}), schema(decimal))
    assert as_written == counted(pa.table({"x": [float(n) for n in numbers]}), plain)


def test_columns_of_numbers_are_read_as_they_are() -> None:
    assert counted(pa.table({"x": [1234.5, -5.0]}), schema(",")) == {83: 1, 20: 1}


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"range": [0, 9], "decimal": ";"}, "decimal must be '.'"),
        ({"range": [0, 9], "decimal": 5}, "decimal must be '.'"),
        ({"labels": ["a"], "decimal": "."}, "decimal goes with range, edges or bins"),
        ({"part": "hour", "decimal": "."}, "decimal is for amounts"),
    ],
)
def test_a_mark_where_no_amounts_are_is_refused(more: dict[str, object], problem: str) -> None:
    with pytest.raises(SchemaError, match=re.escape(problem)):
        make({"name": "x", "kind": "ordinal", **more})


def test_a_mark_is_written_with_its_schema() -> None:
    assert Schema.from_dict(schema(",").to_dict()) == schema(",")
