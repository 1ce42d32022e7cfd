"""What is said of a release's accuracy means something for every mechanism."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.shared_sizes import some_of

import hushtable
from hushtable.errors import OptionError
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.families import MECHANISMS
from hushtable.release.accuracy import Accuracy, accuracy_of
from hushtable.schema import Schema

SIZED = ("filter", "threshold", "priority", "filter-threshold", "filter-priority")


def published(folder: Path, mechanism: str, columns: int) -> Any:
    random = np.random.default_rng(3)
    names = [f"c{i}" for i in range(columns)]
    attributes = [{"name": name, "kind": "ordinal", "range": [0, 7]} for name in names]
    settings = {"size": "500"} if mechanism in SIZED else {}
    return hushtable.publish(
        pa.table({name: random.integers(0, 8, 2000) for name in names}),
        Schema.from_dict({"name": "t", "budget": "9", "attribute": attributes}),
        epsilon="1",
        out=folder / "r",
        mechanism=mechanism,
        settings=settings,
        ledger=folder / "ledger",
        entropy=SeededEntropy(1),
    )


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_small_tables_have_errors_of_rows_and_values(mechanism: str, tmp_path: Path) -> None:
    release = published(tmp_path, mechanism, 3)
    told = accuracy_of(release)
    assert told.total == pytest.approx(release.count().stderr)
    assert told.values["c1"] == pytest.approx(release.count("c1 = 0").stderr)
    assert list(told.values) == ["c0", "c1", "c2"]
    assert all(error >= 1 for error in (told.total, *told.values.values()))
    assert told.cell is None or told.cell == release.cell_stderr >= 1


@pytest.mark.parametrize(
    "mechanism",
    some_of(MECHANISMS, ("basic", "sketch", "filter-priority", "marginals", "privbayes", "ispe")),
)
def test_wide_tables_have_no_error_of_next_to_nothing(mechanism: str, tmp_path: Path) -> None:
    """A cell of 8¹⁵ is not told where only a model or an empty place speaks of it."""
    try:
        release = published(tmp_path, mechanism, 15)
    except OptionError as refused:
        assert "cells" in str(refused) or "places" in str(refused)  # too many to lay out
        return
    told = accuracy_of(release)
    shown = dict(told.lines())
    assert shown and all(error >= 1 for error in told.values.values())
    assert told.cell is None or told.cell >= 1
    assert (told.total is None) == (mechanism == "sketch")  # it looks up every cell
    assert ("one value of an attribute" in shown) == (mechanism != "sketch")
    assert (told.table is None) == (mechanism != "marginals")


def test_numbers_are_shown_as_people_read_them() -> None:
    told = Accuracy(12345.6, {"a": 0.51234, "b": 70.0}, 3.0, "a+b")
    assert told.lines() == [
        ("all rows", "12,346"),
        ("one value of an attribute", "0.512 to 70"),
        ("a cell of a+b", "3"),
    ]
    alike = Accuracy(None, {"a": 1.0001, "b": 1.0002}, None, None)
    assert alike.lines() == [("one value of an attribute", "1")]
    assert alike.facts()["cell_stderr"] is None
