"""One budget per dataset: by whatever name its schema and its ledger are reached."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hushtable
from hushtable.errors import HushError, LedgerError, SchemaError
from hushtable.kernel.privacy.dataset_ledger import ledger_path, open_ledger
from hushtable.kernel.privacy.ledger import Ledger
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


class TestEditedNames:
    """A dataset that is named otherwise in the same schema is the same people."""

    def write(self, schema: Path, name: str, dataset: str | None, unit: str = VISITS) -> Path:
        line = "" if dataset is None else f'dataset = "{dataset}"\n'
        text = f'name = "{name}"\n{line}budget = "3"\nunit = {unit}\n{ATTRIBUTE.format("day")}'
        schema.write_text(text, encoding="utf-8")
        return schema

    @pytest.fixture
    def schema(self, tmp_path: Path) -> Path:
        return tmp_path / "visits.toml"

    def refuse(self, schema: Path, *words: str) -> None:
        """Neither publishing nor looking begins another budget; `--new-ledger` does."""
        known = sorted(schema.parent.glob("*.ledger"))
        for attempt in (publish, lambda schema: curate("x.csv", schema, epsilon="1", purpose="x")):
            with pytest.raises(LedgerError) as caught:
                attempt(schema)
            message = str(caught.value)
            assert "\n" not in message and "--new-ledger" in message
            assert all(word in message for word in (repr(str(known[0])), *words)), message
        assert sorted(schema.parent.glob("*.ledger")) == known
        open_ledger(Schema.load(schema), why="other people")
        publish(schema)

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            (None, "people"),  # added
            ("clinic", None),  # removed
            ("clinic", "clinc"),  # mistyped
            ("clinic", "hospital"),  # changed
        ],
    )
    def test_another_dataset_in_the_same_file_begins_no_budget(
        self, schema: Path, before: str | None, after: str | None
    ) -> None:
        publish(self.write(schema, "visits", before))
        self.write(schema, "visits", after)
        self.refuse(schema, "this schema file", repr(before or "visits"), "--ledger")

    @pytest.mark.parametrize(
        ("before", "after"),
        [("clinic", "Clinic"), ("straße", "STRASSE"), ("caf\u00e9", "cafe\u0301")],
    )
    @pytest.mark.parametrize("named", [True, False])
    def test_another_spelling_is_the_same_name(
        self, schema: Path, before: str, after: str, named: bool
    ) -> None:
        names = [("visits", name) if named else (name, None) for name in (before, after)]
        publish(self.write(schema, *names[0]))
        other = self.write(schema.with_name("other.toml"), *names[1])
        self.refuse(other, "has a ledger already", f"under the name {before!r}")

    def test_a_schema_with_another_name_in_another_file_begins_no_budget(
        self, schema: Path
    ) -> None:
        publish(self.write(schema, "visits", None))
        schema.unlink()
        other = self.write(schema.with_name("stays.toml"), "stays", None)
        self.refuse(other, "no longer in this folder", "'visits.toml'", "'visits'")

    def test_a_copy_without_its_dataset_begins_no_budget(self, schema: Path) -> None:
        publish(self.write(schema, "visits", "clinic"))
        self.refuse(self.write(schema.with_name("copy.toml"), "Visits", None), "'visits.toml'")

    def test_every_schema_that_ever_spent_is_remembered(self, schema: Path) -> None:
        second, third = schema.with_name("stays.toml"), schema.with_name("people.toml")
        publish(self.write(schema, "visits", "clinic"))
        publish(self.write(second, "stays", "clinic"))
        publish(self.write(third, "people", "clinic", EACH_ONE_ROW))
        for file, name in ((schema, "visits"), (second, "stays"), (third, "people")):
            self.refuse(self.write(file, name, f"{name} of another clinic"), "this schema file")

    def test_ledgers_noted_before_schemas_were_are_known_by_their_names(
        self, schema: Path, state_folder: Path
    ) -> None:
        publish(self.write(schema, "visits", None))
        (file,) = state_folder.glob("*.json")
        note = json.loads(file.read_bytes())
        del note["spenders"]
        file.write_text(json.dumps(note))
        self.refuse(self.write(schema, "visits", "people"), "this schema file", "'visits'")

    def test_a_ledger_of_which_nobody_knows_whose_it_is_is_known_by_its_name(
        self, schema: Path, state_folder: Path
    ) -> None:
        publish(self.write(schema, "visits", None))
        (file,) = state_folder.glob("*.json")
        note = json.loads(file.read_bytes())
        file.write_text(json.dumps({name: note[name] for name in ("sequence", "hash", "path")}))
        Path(f"{schema}.ledger").write_bytes(b"not a database" * 500)
        with pytest.raises(LedgerError, match=r"this schema file spent from .*\.ledger': to go on"):
            publish(self.write(schema, "visits", "people"))

    def test_the_way_back_to_the_ledger_that_it_tells_is_one(self, schema: Path) -> None:
        publish(self.write(schema, "visits", None))
        with pytest.raises(LedgerError, match="name the dataset as before and use that ledger"):
            publish(self.write(schema, "visits", "people"))
        publish(self.write(schema, "visits", "visits"), ledger=f"{schema}.ledger")
        assert Ledger.read(f"{schema}.ledger").spent == 2


class TestMovedAndEdited:
    """A ledger that was moved is the same people's, also before it is opened again."""

    write = TestEditedNames.write
    refuse = TestEditedNames.refuse

    def moved(self, tmp_path: Path, dataset: str | None) -> Path:
        """A folder that was published from and moved since."""
        (tmp_path / "a").mkdir()
        publish(self.write(tmp_path / "a" / "s.toml", "visits", dataset))
        return (tmp_path / "a").rename(tmp_path / "b")

    @pytest.mark.parametrize(
        ("before", "after"), [("clinic", "hospital"), ("clinic", None), (None, "clinic")]
    )
    def test_another_dataset_begins_no_budget(
        self, tmp_path: Path, before: str | None, after: str | None
    ) -> None:
        folder = self.moved(tmp_path, before)
        self.refuse(self.write(folder / "s.toml", "visits", after), "this schema file")

    def test_another_name_in_another_file_begins_no_budget(self, tmp_path: Path) -> None:
        folder = self.moved(tmp_path, None)
        (folder / "s.toml").unlink()
        self.refuse(self.write(folder / "t.toml", "stays", None), "no longer in this folder")

    def test_a_schema_that_was_moved_alone_begins_no_budget(self, tmp_path: Path) -> None:
        (tmp_path / "a").mkdir()
        (tmp_path / "b").mkdir()
        schema = self.write(tmp_path / "a" / "s.toml", "visits", "clinic")
        publish(schema)
        schema.unlink()
        with pytest.raises(LedgerError, match=r"a/s\.toml' of this name and table, which is gone"):
            publish(self.write(tmp_path / "b" / "s.toml", "visits", "hospital"))
        publish(self.write(tmp_path / "b" / "s.toml", "stays", "hospital"))  # another table


class TestOtherPeople:
    """What is about other people is not refused for a name that it shares."""

    write = TestEditedNames.write

    def test_one_table_name_in_two_datasets(self, tmp_path: Path) -> None:
        for clinic in ("north", "south"):
            publish(self.write(tmp_path / f"{clinic}.toml", "visits", clinic))
        assert {path.name for path in tmp_path.glob("*.ledger")} == {"north.ledger", "south.ledger"}

    def test_a_copy_that_names_another_dataset(self, first: Path) -> None:
        for other in (first.with_name("copy.toml"), copy_elsewhere(first)):
            publish(self.write(other, "people", f"people of {other.stem}"))

    def test_unrelated_tables_in_one_folder(self, first: Path) -> None:
        publish(self.write(first.with_name("visits.toml"), "visits", None))
        publish(self.write(first.with_name("stays.toml"), "stays", "hospital"))

    def test_a_table_of_that_name_in_another_folder(self, tmp_path: Path) -> None:
        for folder in ("a", "b"):
            (tmp_path / folder).mkdir()
        publish(self.write(tmp_path / "a" / "s.toml", "visits", "clinic"))
        publish(self.write(tmp_path / "b" / "s.toml", "visits", None))

    def test_a_file_made_anew_where_all_was_removed(self, tmp_path: Path) -> None:
        """As `hush demo` does, whose people are new ones every time."""
        for number in range(3):
            shutil.rmtree(tmp_path / "demo", ignore_errors=True)
            (tmp_path / "demo").mkdir()
            publish(self.write(tmp_path / "demo" / "s.toml", "census", f"census-{number}"))
        shutil.rmtree(tmp_path / "demo")
        (tmp_path / "demo").mkdir()
        publish(self.write(tmp_path / "demo" / "s.toml", "census", None))

    def test_schemas_written_for_a_moment_beside_nothing(self, tmp_path: Path) -> None:
        """A schema that vanished says something about the ledgers of its own folder only."""
        (tmp_path / "ledgers").mkdir()
        for name in ("visits", "stays"):
            schema = self.write(tmp_path / f"{name}.toml", name, None)
            publish(schema, ledger=tmp_path / "ledgers" / f"{name}.ledger")
            schema.unlink()
