"""Forecasts on made-up tables of a declared shape."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from hushtable.cli.main import app
from hushtable.errors import OptionError
from hushtable.evaluation.shapes import SHAPES, forecast_on_shape, shaped_counts
from hushtable.schema import IntegerRange, Schema, ordinal


def schema_of(size: int) -> Schema:
    axes = tuple(ordinal(name, IntegerRange(0, size - 1)) for name in "xy")
    return Schema("land", Fraction(10), attributes=axes)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_shape_has_about_the_people_it_was_told(shape: str) -> None:
    counts = shaped_counts(schema_of(20), shape, 40_000)
    assert counts.counts.sum() == pytest.approx(40_000, rel=0.05)
    again = shaped_counts(schema_of(20), shape, 40_000)
    assert np.array_equal(counts.counts, again.counts)


def test_shapes_are_what_they_are_called() -> None:
    def dense(shape: str) -> np.ndarray:
        counts = shaped_counts(schema_of(40), shape, 10**6)
        cells = np.zeros(1600)
        cells[counts.codes] = counts.counts
        return cells.reshape(40, 40)

    rough = {shape: np.abs(np.diff(dense(shape))).mean() / dense(shape).std() for shape in SHAPES}
    assert rough["continuous"] < 0.3 < rough["random"]
    assert (dense("sparse") > 0).mean() == pytest.approx(0.05, abs=0.03)
    assert (dense("random") > 0).mean() > 0.9


def test_the_error_of_basic_is_the_one_that_can_be_known() -> None:
    from hushtable.planner import plan

    found = forecast_on_shape(
        schema_of(16), epsilon="1", shape="random", people=9_000, mechanisms=["basic"], releases=20
    )
    known = next(
        f
        for f in plan(schema_of(16), epsilon="1", workload="paper").forecasts
        if f.mechanism == "basic"
    )
    assert found[0].rmse == pytest.approx(known.rmse, rel=0.25)


def test_what_cannot_be_made_up_is_refused() -> None:
    for options in ({"shape": "round"}, {"people": 0}):
        with pytest.raises(OptionError):
            shaped_counts(schema_of(4), **{"shape": "random", "people": 10, **options})  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="at most"):
        shaped_counts(schema_of(5000), "random", 10)


def test_hush_plan_tries_shapes(tmp_path: Path) -> None:
    path = tmp_path / "land.toml"
    schema_of(8).save(path)
    asked = ["plan", str(path), "--epsilon", "1", "--people", "500", "--shape", "random"]
    told = json.loads(CliRunner().invoke(app, [*asked, "--json"]).output)
    assert {t["mechanism"] for t in told["shapes"]} >= {"basic", "ispe", "kdtree", "privelet*"}
    assert {"ispe", "kdtree"} <= set(told["depends_on_the_data"])
    said = CliRunner().invoke(app, asked).output
    assert "made-up" in said and "ispe" in said
    assert CliRunner().invoke(app, ["plan", str(path), "-e", "1", "--shape", "random"]).exit_code
