"""Workbooks and databases through every command that reads a table."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hushtable.generators import census

from .conftest import Hush


@pytest.fixture
def book(own: Path) -> Path:
    """The census as one of two tables of a database."""
    table = pq.read_table(own / "census.parquet")
    _store(own / "town.db", {"census": table, "notes": pa.table({"note": ["x"]})})
    (own / "census.parquet").unlink()
    return own / "town.db"


def _store(path: Path, tables: dict[str, pa.Table]) -> None:
    database = sqlite3.connect(path)
    for name, table in tables.items():
        database.execute(f"CREATE TABLE {name} ({', '.join(table.column_names)})")
        marks = ", ".join("?" * table.num_columns)
        rows = zip(*table.to_pydict().values(), strict=True)
        database.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
    database.commit()
    database.close()


def test_a_table_is_named_from_the_draft_to_the_evaluation(
    hush: Hush, own: Path, book: Path
) -> None:
    schema, release, named = own / "census.toml", own / "new", ("--table", "census")
    drafted = hush("schema", "draft", book, *named, "-o", own / "draft.toml", "--json")
    assert drafted.code == 0 and {"age", "sex"} <= set(drafted.json["attributes"])
    checked = hush("check", book, *named, "-s", schema, "--json")
    assert checked.json["rows"] == checked.json["kept"] == 3000
    options = ("-s", schema, "-e", "1", "-m", "basic", "-o", release, "--json")
    published = hush("publish", book, *named, *options, "--check", "--yes")
    assert published.json["check"]["rows"] == 3000
    evaluated = hush("evaluate", book, release, *named, "--queries", 50, "--json")
    assert evaluated.json["rows"] == 3000
    refused = hush("plan", schema, "-e", "1", "--proxy", book, "--proxy-table", "notes", "--public")
    assert refused.code == 2 and "was published from" in refused.err


@pytest.mark.parametrize("command", ["publish", "check", "draft", "evaluate"])
def test_without_a_name_the_tables_are_listed_and_nothing_is_spent(
    hush: Hush, own: Path, book: Path, shared: Path, command: str
) -> None:
    words: dict[str, tuple[object, ...]] = {
        "publish": ("publish", book, "-s", own / "census.toml", "-e", "1", "-o", own / "r"),
        "check": ("check", book, "-s", own / "census.toml"),
        "draft": ("schema", "draft", book, "-o", own / "draft.toml"),
        "evaluate": ("evaluate", book, shared / "census.release"),
    }
    before = sorted(own.iterdir())
    for more, line in (
        ((), f"hush: {book} holds 'census', 'notes'; name one with --table (in Python, table=)\n"),
        (("--table", "x"), f"hush: {book} has no table 'x'; it holds 'census', 'notes'\n"),
    ):
        said = hush(*words[command], *more)
        assert (said.code, said.err) == (2, line)
    assert sorted(own.iterdir()) == before


def test_a_csv_file_has_no_table_to_name(hush: Hush, own: Path) -> None:
    (own / "t.csv").write_text("age\n1\n")
    said = hush("check", own / "t.csv", "--table", "t", "-s", own / "census.toml")
    assert said.code == 2
    assert (
        said.err
        == f"hush: {own}/t.csv is a table by itself: leave out --table (in Python, table=)\n"
    )


def test_a_proxy_is_a_table_of_a_database_too(hush: Hush, own: Path) -> None:
    _store(own / "public.db", {"a": census(200, seed=9), "b": census(300, seed=8)})
    asked = ("plan", own / "census.toml", "-e", "1", "--public", "--runs", "1", "--proxy")
    assert "holds 'a', 'b'" in hush(*asked, own / "public.db").err
    said = hush(*asked, own / "public.db", "--proxy-table", "b", "-w", "total")
    assert said.code == 0 and "(300 rows)" in said.out and "--proxy-table b -o" in said.out
    alone = hush("plan", own / "census.toml", "-e", "1", "--proxy-table", "b")
    assert alone.code == 2 and "--proxy-table is about --proxy" in alone.err
    options = ("-s", own / "census.toml", "-e", "1", "-o", own / "r", "--proxy-table", "b")
    assert hush("publish", own / "census.parquet", *options).code == 2
