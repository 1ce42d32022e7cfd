"""`hush generate`: a file and its schema, or one clear line."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from hushtable.generators import GENERATORS, generate
from hushtable.schema import Schema

Hush = Callable[..., tuple[int, str, str]]


@pytest.fixture
def hush(run_hush: Hush) -> Hush:
    return partial(run_hush, "generate")


def test_it_writes_the_rows_and_their_schema(hush: Hush) -> None:
    options = ("-o", "b.parquet", "--schema", "people.toml", "--rows", "500", "--seed", "3")
    code, out, _ = hush("brazil", *options)
    made = generate("brazil", 500, seed=3)
    assert code == 0 and "500 rows" in out and "hush publish" in out
    assert pq.read_table("b.parquet").equals(made.table())
    written = Schema.load("people.toml")
    assert written.dataset is not None and written.dataset.startswith("brazil")
    assert replace(written, dataset=None) == made.schema


def test_every_schema_is_of_a_dataset_of_its_own(hush: Hush) -> None:
    """Made-up people can be published again and again, each time with a whole budget."""
    for name in ("a", "b"):
        hush("brazil", "-o", f"{name}.parquet", "--rows", "50")
    assert Schema.load("a.toml").dataset != Schema.load("b.toml").dataset


def test_it_speaks_json_and_takes_settings(hush: Hush) -> None:
    settings = ("--set", "cells=100", "--set", "density=0.5", "--set", "deviation=0")
    code, out, _ = hush("sparse", "-o", "s.parquet", *settings, "--json")
    assert code == 0 and json.loads(out) == {
        "file": "s.parquet",
        "schema": "s.toml",
        "name": "sparse",
        "rows": 5000,
        "cells": 100,
        "seed": 1,
    }
    assert Path("s.toml").is_file()


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nowhere", "-o", "a.parquet"], "there is no table"),
        (["us", "-o", "a.parquet", "--rows", "0"], "rows must be"),
        (["us", "-o", "a.csv"], "must end in .parquet"),
        (["us", "-o", "missing/a.parquet"], "there is no folder"),
        (["us", "-o", "there.parquet"], "there already"),
        (["us", "-o", "a.parquet", "-s", "there.parquet"], "there already"),
        (["us", "-o", "a.parquet", "--set", "cells"], "key=value"),
    ],
)
def test_what_cannot_be_done_is_one_line(hush: Hush, arguments: list[str], told: str) -> None:
    Path("there.parquet").touch()
    code, _, err = hush(*arguments)
    assert code == 2 and told in err and err.count("\n") == 1
    assert [path.name for path in Path().iterdir()] == ["there.parquet"]


def test_its_help_names_every_table(hush: Hush) -> None:
    shown = " ".join(hush("--help")[1].replace(",", " ").split())
    assert all(f" {name} " in shown for name in GENERATORS)
