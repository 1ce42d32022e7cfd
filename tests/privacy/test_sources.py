"""Files that a private table was published from are known again, whatever leads to them."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

import hushtable
from hushtable.errors import LedgerError
from hushtable.kernel.privacy.sources import LIST, Source, dataset_from, note_sources
from hushtable.schema import Schema


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    path.write_text("age\n1\n2\n")
    return path


def linked(table: Path) -> Path:
    link = table.with_name("link.csv")
    link.symlink_to(table)
    return link


def hard_linked(table: Path) -> Path:
    link = table.with_name("hard.csv")
    os.link(table, link)
    return link


def moved(table: Path) -> Path:
    return table.rename(table.with_name("moved.csv"))


def replaced(table: Path) -> Path:
    """Next month's table, in the same place."""
    new = table.with_name("new.csv")
    new.write_text("age\n3\n")
    os.replace(new, table)
    return table


@pytest.mark.parametrize("way", [lambda table: table, linked, hard_linked, moved, replaced])
def test_a_file_that_was_spent_on_is_known_again(table: Path, way: Any) -> None:
    note_sources("town", [Source.of(table)])
    assert dataset_from(Source.of(way(table))) == "town"


def test_other_files_are_not_known(table: Path) -> None:
    other = table.with_name("other.csv")
    other.write_text(table.read_text())  # the content is nobody's business
    assert dataset_from(Source.of(table)) is None
    note_sources("town", [Source.of(table)])
    assert dataset_from(Source.of(other)) is None


def test_a_file_is_noted_once_and_all_are_kept(table: Path, state_folder: Path) -> None:
    other = table.with_name("a\udc80ö\n.csv")
    other.write_text("age\n")
    for _ in range(3):
        note_sources("town", [Source.of(table), Source.of(other)])
    note_sources("city", [Source.of(other)])
    lines = [line for line in (state_folder / LIST).read_text().split("\n") if line]
    assert len(lines) == 3
    assert dataset_from(Source.of(other)) == "town"


def test_the_list_is_the_owners_alone(table: Path, state_folder: Path) -> None:
    note_sources("town", [Source.of(table)])
    assert (state_folder / LIST).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("content", ["{", "[]", '{"dataset": "x"}', "\xff"])
def test_a_list_that_cannot_be_read_is_no_licence(
    table: Path, state_folder: Path, content: str
) -> None:
    state_folder.mkdir(exist_ok=True)
    (state_folder / LIST).write_text(content, encoding="latin-1")
    with pytest.raises(LedgerError, match=re.escape(LIST)):
        dataset_from(Source.of(table))
    note_sources("town", [Source.of(table)])  # publishing goes on, and the line is whole
    assert (state_folder / LIST).read_bytes().endswith(b"}\n")


def test_without_a_state_folder_nothing_is_known_and_nothing_fails(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HUSHTABLE_STATE", "/proc/nowhere")
    note_sources("town", [Source.of(table)])
    assert dataset_from(Source.of(table)) is None


def schema() -> Schema:
    age = {"name": "age", "kind": "ordinal", "range": [0, 9]}
    return Schema.from_dict({"name": "town", "budget": "5", "attribute": [age]})


def test_publishing_and_curating_note_what_they_read(tmp_path: Path) -> None:
    for number in range(3):
        (tmp_path / f"{number}.csv").write_text("age\n1\n")
    options: dict[str, Any] = {"epsilon": "1", "ledger": tmp_path / "town.ledger"}
    hushtable.publish(f"{tmp_path}/[01].csv", schema(), out=tmp_path / "r", **options)
    known = [dataset_from(Source.of(tmp_path / f"{number}.csv")) for number in range(3)]
    assert known == ["town", "town", None]
    hushtable.curate(tmp_path / "2.csv", schema(), purpose="test", **options)
    assert dataset_from(Source.of(tmp_path / "2.csv")) == "town"


def test_a_release_says_nothing_of_where_its_table_was(tmp_path: Path) -> None:
    place = tmp_path / "somewhere-private"
    place.mkdir()
    (place / "people.csv").write_text("age\n1\n")
    ledger = tmp_path / "town.ledger"
    out = tmp_path / "r"
    hushtable.publish(place / "people.csv", schema(), epsilon="1", out=out, ledger=ledger)
    told = b"".join(path.read_bytes() for path in [ledger, *out.rglob("*")] if path.is_file())
    assert b"somewhere-private" not in told and b"people.csv" not in told


def test_what_is_refused_before_paying_is_not_noted(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("age\n1\n")
    with pytest.raises(hushtable.HushError):
        hushtable.publish(
            path, schema(), epsilon="9", out=tmp_path / "r", ledger=tmp_path / "town.ledger"
        )
    assert dataset_from(Source.of(path)) is None
