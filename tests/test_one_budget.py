"""One budget per dataset: by whatever name its schema and its ledger are reached."""

from __future__ import annotations

import dataclasses
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hushtable
from hushtable.errors import HushError, LedgerError, SchemaError
from hushtable.ledgers import ledger_path, open_ledger
from hushtable.privacy.ledger import Ledger
from hushtable.publishing import curate
from hushtable.schema import Schema

ATTRIBUTE = '[[attribute]]\nname = "{}"\nkind = "ordinal"\nrange = [0, 4]\n'
PEOPLE = f'name = "people"\nbudget = "3"\n{ATTRIBUTE.format("age")}'
SHARED = 'name = "{}"\ndataset = "clinic"\nbudget = "3"\nunit = {}\n'
EACH_ONE_ROW = '"one row per person"'
VISITS = '{ column = "patient", max_rows = 2 }'


def publish(schema: Any, **options: Any) -> hushtable.Release:
    """Spend 1 on a table beside the schema, or on the same table elsewhere."""
    folder = Path(schema).parent if isinstance(schema, str | Path) else Path.cwd()
    (folder / "data.csv").write_text("patient,age,day\na,1,2\na,1,3\nb,4,0\n")
    out = folder / f"{len(list(folder.iterdir()))}.release"
    call = {"data": folder / "data.csv", "schema": schema, "epsilon": "1", "out": out}
    return hushtable.publish(**{**call, **options})


@pytest.fixture
def first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A schema on which 1 of 3 was spent."""
    (tmp_path / "a").mkdir()
    monkeypatch.chdir(tmp_path)
    schema = tmp_path / "a" / "people.toml"
    schema.write_text(PEOPLE)
    publish(schema)
    return schema


def rename(schema: Path) -> Path:
    return schema.rename(schema.with_name("renamed.toml"))


def copy(schema: Path) -> Path:
    return Path(shutil.copy(schema, schema.with_name("copy.toml")))


def copy_elsewhere(schema: Path) -> Path:
    elsewhere = schema.parent.with_name("b")
    elsewhere.mkdir()
    return Path(shutil.copy(schema, elsewhere))


def hard_link(schema: Path) -> Path:
    schema.with_name("link.toml").hardlink_to(schema)
    return schema.with_name("link.toml")


@pytest.mark.parametrize("reach", [rename, copy, copy_elsewhere, hard_link])
def test_another_name_of_the_schema_begins_no_budget(
    first: Path, reach: Callable[[Path], Path]
) -> None:
    known, schema = f"{first}.ledger", reach(first)
    for attempt in (publish, lambda schema: curate("x.csv", schema, epsilon="1", purpose="look")):
        with pytest.raises(LedgerError, match="has a ledger already") as caught:
            attempt(schema)
        assert repr(known) in str(caught.value) and "\n" not in str(caught.value)
    assert not Path(f"{schema}.ledger").exists()
    publish(schema, ledger=known)
    assert Ledger.read(known).spent == 2


def test_a_mistyped_ledger_begins_no_budget(first: Path) -> None:
    with pytest.raises(LedgerError, match="has a ledger already"):
        publish(first, ledger=first.with_name("poeple.toml.ledger"))
    assert not first.with_name("poeple.toml.ledger").exists()


def test_a_schema_in_memory_begins_no_budget(first: Path) -> None:
    schema = dataclasses.replace(Schema.load(first), source=None)
    with pytest.raises(LedgerError, match="has a ledger already"):
        publish(schema, ledger="another.ledger")
    publish(schema, ledger=f"{first}.ledger")


@pytest.mark.parametrize("link", ["folder", "schema", "both"])
def test_a_link_leads_to_the_one_ledger(first: Path, link: str) -> None:
    elsewhere = first.parent.with_name("b")
    schema = elsewhere / first.name
    if link == "folder":
        elsewhere.symlink_to(first.parent)
    else:
        elsewhere.mkdir()
        schema.symlink_to(first)
    if link == "both":
        Path("c").symlink_to(elsewhere)
        schema = Path("c", first.name)
    assert ledger_path(Schema.load(schema)) == Path(f"{first}.ledger")
    publish(schema)
    assert Ledger.read(f"{first}.ledger").spent == 2


def test_a_folder_that_was_moved_keeps_its_budget(first: Path) -> None:
    moved = first.parent.rename(first.parent.with_name("b")) / first.name
    publish(moved)
    assert Ledger.read(f"{moved}.ledger").spent == 2
    with pytest.raises(LedgerError, match="has a ledger already"):
        publish(copy(moved))


def test_a_folder_that_was_moved_without_its_ledger_has_none(first: Path) -> None:
    Path(f"{first}.ledger").unlink()
    moved = first.parent.rename(first.parent.with_name("b")) / first.name
    with pytest.raises(LedgerError, match="is gone: put it back"):
        publish(moved)


def test_a_reason_begins_another_budget(first: Path) -> None:
    schema = copy_elsewhere(first)
    open_ledger(Schema.load(schema), why="people of another town")
    publish(schema)
    assert Ledger.read(f"{schema}.ledger").spent == Ledger.read(f"{first}.ledger").spent == 1


class TestTablesOfOneDataset:
    @pytest.fixture
    def tables(self, tmp_path: Path) -> tuple[Path, Path]:
        """People with one row each, and their visits, of which each may have two."""
        people, visits = tmp_path / "people.toml", tmp_path / "visits.toml"
        people.write_text(SHARED.format("people", EACH_ONE_ROW) + ATTRIBUTE.format("age"))
        visits.write_text(SHARED.format("visits", VISITS) + ATTRIBUTE.format("day"))
        return people, visits

    def test_they_share_one_ledger(self, tables: tuple[Path, Path], tmp_path: Path) -> None:
        releases = [publish(schema) for schema in tables]
        state = Ledger.read(tmp_path / "clinic.ledger")
        assert (state.dataset, state.unit, state.spent) == ("clinic", "one person", 2)
        assert sorted(path.name for path in tmp_path.glob("*.ledger")) == ["clinic.ledger"]
        assert [release.schema.dataset for release in releases] == ["clinic", "clinic"]
        assert releases[1].sql("SELECT COUNT(*) FROM visits").to_arrow().num_rows == 1
        with pytest.raises(HushError, match="1 is left"):
            publish(tables[0], epsilon="1.5")

    def test_in_other_folders_they_are_pointed_to_it(
        self, tables: tuple[Path, Path], tmp_path: Path
    ) -> None:
        publish(tables[0])
        (tmp_path / "b").mkdir()
        visits = tables[1].rename(tmp_path / "b" / "visits.toml")
        with pytest.raises(LedgerError, match="has a ledger already"):
            publish(visits)
        publish(visits, ledger=tmp_path / "clinic.ledger")
        assert Ledger.read(tmp_path / "clinic.ledger").spent == 2

    def test_a_table_published_before_brings_its_ledger(
        self, tables: tuple[Path, Path], tmp_path: Path
    ) -> None:
        alone = tmp_path / "clinic.toml"
        alone.write_text(VISITS.join(('name = "clinic"\nbudget = "3"\nunit = ', "\n")) + (
            ATTRIBUTE.format("day")
        ))  # fmt: skip
        publish(alone)
        with pytest.raises(LedgerError, match="has a ledger already"):
            publish(tables[0])
        os.rename(f"{alone}.ledger", tmp_path / "clinic.ledger")
        publish(tables[0])
        assert Ledger.read(tmp_path / "clinic.ledger").spent == 2

    def test_a_table_of_rows_does_not_become_one_of_people(
        self, tables: tuple[Path, Path], tmp_path: Path
    ) -> None:
        rows = tmp_path / "clinic.toml"
        rows.write_text(f'name = "clinic"\nbudget = "3"\n{ATTRIBUTE.format("day")}')
        publish(rows)
        os.rename(f"{rows}.ledger", tmp_path / "clinic.ledger")
        for schema in tables:
            with pytest.raises(LedgerError, match="unit 'none' and the schema says unit 'one pers"):
                publish(schema)


class TestSchemas:
    def load(self, tmp_path: Path, text: str) -> Schema:
        (tmp_path / "s.toml").write_text(text + ATTRIBUTE.format("age"))
        return Schema.load(tmp_path / "s.toml")

    @pytest.mark.parametrize("unit", [EACH_ONE_ROW, VISITS])
    def test_a_dataset_is_read_and_written(self, tmp_path: Path, unit: str) -> None:
        schema = self.load(tmp_path, SHARED.format("people", unit))
        assert (schema.name, schema.dataset, schema.dataset_name) == ("people", "clinic", "clinic")
        assert Schema.from_dict(schema.to_dict()) == schema
        schema.save(tmp_path / "again.toml")
        assert Schema.load(tmp_path / "again.toml") == schema

    def test_without_one_it_is_the_table(self, tmp_path: Path) -> None:
        schema = self.load(tmp_path, 'name = "people"\nbudget = "3"\n')
        assert (schema.dataset, schema.dataset_name) == (None, "people")
        assert "dataset" not in schema.to_dict() and "unit" not in schema.to_dict()

    @pytest.mark.parametrize(
        ("lines", "words"),
        [
            ('dataset = "clinic"', "whose the rows are"),
            (f"unit = {EACH_ONE_ROW}", "goes with dataset"),
            (f'dataset = "a/b"\nunit = {EACH_ONE_ROW}', "slash"),
            (f'dataset = ".."\nunit = {EACH_ONE_ROW}', "dot"),
            (f'dataset = "{"é" * 101}"\nunit = {EACH_ONE_ROW}', "bytes"),
            (f'dataset = ""\nunit = {EACH_ONE_ROW}', "not empty"),
            (f"dataset = 3\nunit = {EACH_ONE_ROW}", "must be text"),
            ('dataset = "clinic"\nunit = "rows"', "unit must be a table"),
        ],
    )
    def test_what_makes_no_sense_is_refused(self, tmp_path: Path, lines: str, words: str) -> None:
        with pytest.raises(SchemaError, match=words) as caught:
            self.load(tmp_path, f'name = "people"\nbudget = "3"\n{lines}\n')
        assert "\n" not in str(caught.value)
