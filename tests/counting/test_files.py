"""A file counts once, however many paths lead to it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from slow_encoding import counted, make

from hushtable.drafting import draft_schema
from hushtable.errors import DataError

SCHEMA = make({"name": "age", "kind": "ordinal", "range": [0, 9]})


def write(path: Path, age: int) -> None:
    path.parent.mkdir(exist_ok=True)
    if path.suffix == ".csv":
        path.write_text(f"age\n{age}\n")
    else:
        pq.write_table(pa.table({"age": [age]}), path)


@pytest.fixture(params=["csv", "parquet"])
def ending(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def folder(tmp_path: Path, ending: str) -> Path:
    """Two months, in two folders, and every kind of second way to the first."""
    months = tmp_path / "months"
    write(months / f"jan.{ending}", 1)
    write(months / "later" / f"feb.{ending}", 2)
    (months / f"latest.{ending}").symlink_to(f"jan.{ending}")
    (months / f"chain.{ending}").symlink_to(months / f"latest.{ending}")
    os.link(months / f"jan.{ending}", months / f"hard.{ending}")
    (months / "again").symlink_to(months / "later")
    return months


def ways(folder: Path, ending: str) -> dict[str, Any]:
    everything = [f"{folder}/*.{ending}", f"{folder}/later/feb.{ending}"]
    return {
        "recursive": f"{folder}/**/*.{ending}",
        "twice recursive": f"{folder}/**/**/*.{ending}",
        "patterns": everything,
        "paths": [folder / f"jan.{ending}", folder / "again" / f"feb.{ending}"],
        "paths twice": [*everything, *everything, Path(f"{folder}/./later/../jan.{ending}")],
        "tuple": (*everything, f"{folder}/hard.{ending}"),
    }


@pytest.mark.parametrize("way", ways(Path(), ""))
def test_a_file_that_is_reached_twice_counts_once(folder: Path, ending: str, way: str) -> None:
    assert counted(ways(folder, ending)[way], SCHEMA) == {1: 1, 2: 1}


def test_one_file_by_links_alone(folder: Path, ending: str) -> None:
    assert counted(f"{folder}/*.{ending}", SCHEMA) == {1: 1}
    for name in ("latest", "chain", "hard"):
        assert counted(folder / f"{name}.{ending}", SCHEMA) == {1: 1}


def test_files_that_only_look_alike_all_count(tmp_path: Path, ending: str) -> None:
    for name in ("a", "b", "A b"):
        write(tmp_path / f"{name}.{ending}", 3)
    assert counted(f"{tmp_path}/*.{ending}", SCHEMA) == {3: 3}


def test_a_draft_reads_lists_of_files_too(folder: Path, ending: str) -> None:
    (found,) = draft_schema(ways(folder, ending)["paths"], name="t").schema.attributes
    assert (found.values.low, found.values.high) == (1, 2)  # type: ignore[union-attr]


def test_folders_are_refused_wherever_they_are_named(folder: Path, ending: str) -> None:
    for data in (folder, str(folder), [folder], [f"{folder}/jan.{ending}", folder], f"{folder}/*"):
        with pytest.raises(DataError, match="is a folder; name its files"):
            counted(data, SCHEMA)


def test_a_list_of_values_is_not_quoted() -> None:
    with pytest.raises(DataError, match="there is no file number 1 of the list"):
        counted(["Zyxwvut"], SCHEMA)
    for empty in ([], ()):
        with pytest.raises(DataError, match="the list of files is empty"):
            counted(empty, SCHEMA)
