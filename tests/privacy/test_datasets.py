"""A dataset has one ledger, however its files are named, copied, linked and moved."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hushtable.errors import HushError, LedgerError, OptionError
from hushtable.kernel.privacy import datasets, storage
from hushtable.kernel.privacy.anchor import Spender, notes
from hushtable.kernel.privacy.ledger import ONE_PERSON, Ledger

PINS: dict[str, Any] = {
    "dataset": "census",
    "budget": Fraction(3),
    "neighbours": "add-remove",
    "unit": None,
}


def open_ledger(path: Path, **changes: Any) -> Ledger:
    return Ledger.open(path, **{**PINS, **changes})


def spend(path: Path, **changes: Any) -> Ledger:
    spending = open_ledger(path, **changes)
    spending.spend(Fraction(1), mechanism="count")
    return spending


@contextmanager
def refused(kind: type[HushError], *words: str) -> Iterator[None]:
    """One line, of this kind, with all these words."""
    with pytest.raises(kind) as caught:
        yield
    message = str(caught.value)
    assert "\n" not in message and all(word in message for word in words), message


@pytest.fixture
def first(tmp_path: Path) -> Path:
    """A ledger that was spent from."""
    spend(tmp_path / "first.ledger")
    return tmp_path / "first.ledger"


class TestSecondLedgers:
    def test_one_is_refused_naming_the_first(self, first: Path) -> None:
        second = first.with_name("second.ledger")
        for attempt in (open_ledger, lambda path: Ledger.check_first(path, "census")):
            with refused(LedgerError, repr(str(second)), repr(str(first)), "--new-ledger"):
                attempt(second)
        assert not second.exists()
        Ledger.check_first(first, "census")

    def test_another_dataset_is_no_second(self, first: Path) -> None:
        second = first.with_name("second.ledger")
        spend(second, dataset="other")
        assert Ledger.read(second).spent == Ledger.read(first).spent == 1

    def test_one_is_made_for_a_reason_which_it_keeps(self, first: Path) -> None:
        second, third = first.with_name("second.ledger"), first.with_name("third.ledger")
        assert open_ledger(second, why="people of 2031").warnings == []
        assert Ledger.read(second).why == "people of 2031" and Ledger.read(first).why is None
        for path in (first, second):
            spend(path)  # each goes on
        with refused(LedgerError, "has a ledger already"):
            open_ledger(third)

    @pytest.mark.parametrize("why", ["", " ", "two\nlines", "x" * 501])
    def test_a_reason_is_a_line(self, first: Path, why: str) -> None:
        with refused(OptionError, "say why"):
            open_ledger(first.with_name("second.ledger"), why=why)
        assert not first.with_name("second.ledger").exists()

    def test_the_first_may_be_begun_with_a_reason_too(self, tmp_path: Path) -> None:
        assert open_ledger(tmp_path / "x", why="to have it").state().why == "to have it"

    def test_no_other_is_made_meanwhile(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Between looking for other ledgers and making one, nobody else can make one."""
        monkeypatch.setattr(storage, "BUSY_SECONDS", 0.1)
        monkeypatch.setattr("hushtable.kernel.privacy.ledger.check_first", lambda *_: second())

        def second() -> None:
            monkeypatch.undo()
            monkeypatch.setenv("HUSHTABLE_STATE", str(tmp_path / "state"))
            monkeypatch.setattr(storage, "BUSY_SECONDS", 0.1)
            with refused(LedgerError, "busy"):
                open_ledger(tmp_path / "b.ledger")

        open_ledger(tmp_path / "a.ledger")
        assert [path.name for path in tmp_path.glob("*.ledger")] == ["a.ledger"]

    def test_racing_processes_make_one(self, tmp_path: Path) -> None:
        spender = Path(__file__).with_name("spender.py")
        racers = [
            subprocess.Popen(
                [sys.executable, str(spender), "race", str(tmp_path / f"{number}.ledger"), "1"],
                stdout=subprocess.PIPE,
            )
            for number in range(4)
        ]
        for racer in racers:
            racer.communicate(timeout=60)
        assert len(list(tmp_path.glob("*.ledger"))) == 1 == len(notes())

    def test_one_that_was_made_elsewhere_is_used_with_a_warning_once(
        self, first: Path, state_folder: Path
    ) -> None:
        second = first.with_name("second.ledger")
        with pytest.MonkeyPatch.context() as elsewhere:
            elsewhere.setenv("HUSHTABLE_STATE", str(state_folder.with_name("elsewhere")))
            spend(second)
        (warning,) = open_ledger(second).warnings
        assert repr(str(first)) in warning and "\n" not in warning
        assert open_ledger(second).warnings == []


class TestLostLedgers:
    def test_another_place_does_not_begin_at_zero(self, first: Path) -> None:
        first.unlink()
        with refused(LedgerError, repr(str(first)), "is gone: put it back", "--new-ledger"):
            open_ledger(first.with_name("second.ledger"))

    def test_what_is_gone_is_no_obstacle_when_one_says_so(self, first: Path) -> None:
        second = first.with_name("second.ledger")
        with refused(LedgerError, "has a ledger already"):
            Ledger.check_first(second, "census", gone=False)
        first.unlink()
        Ledger.check_first(second, "census", gone=False)
        with refused(LedgerError, "is gone"):
            Ledger.check_first(second, "census")

    def test_one_that_was_announced_and_never_made_was_none(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def killed(*_: Any) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as broken, pytest.raises(KeyboardInterrupt):
            broken.setattr("hushtable.kernel.privacy.ledger._row", killed)
            open_ledger(tmp_path / "a.ledger")
        assert len(notes()) == 1
        spend(tmp_path / "b.ledger")


class TestMovedLedgers:
    def test_a_moved_ledger_is_the_same_and_its_new_place_is_known(self, first: Path) -> None:
        moved = first.with_name("moved.ledger")
        first.rename(moved)
        assert open_ledger(moved).warnings == []
        assert [note.path for note in notes()] == [str(moved)]
        with refused(LedgerError, repr(str(moved)), "has a ledger already"):
            open_ledger(first)

    def test_of_two_copies_the_one_spent_from_is_known(self, first: Path) -> None:
        copy = first.with_name("copy.ledger")
        shutil.copy(first, copy)
        open_ledger(copy)
        assert [note.path for note in notes()] == [str(first)]
        spend(copy)
        assert [note.path for note in notes()] == [str(copy)]
        with refused(LedgerError, str(first), "another copy of it was spent on"):
            open_ledger(first)

    def test_a_ledger_that_older_software_noted_is_known_by_its_pins(
        self, first: Path, state_folder: Path
    ) -> None:
        (file,) = state_folder.glob("*.json")
        note = json.loads(file.read_bytes())
        del note["dataset"]
        file.write_text(json.dumps(note))
        with refused(LedgerError, repr(str(first)), "has a ledger already"):
            open_ledger(first.with_name("second.ledger"))
        open_ledger(first)
        assert [note.dataset for note in notes()] == ["census"]

    @pytest.mark.parametrize("state", ["gone", "cannot be read"])
    @pytest.mark.parametrize("named", ["by the ledger", "by the dataset", "by the schema"])
    def test_one_that_older_software_noted_and_that_is_not_there_may_be_ours(
        self, tmp_path: Path, state_folder: Path, state: str, named: str
    ) -> None:
        """Its note has no dataset, so the name of its file must tell."""
        name = {"by the dataset": "census.ledger"}.get(named, "Survey.toml.ledger")
        old = self.lost(tmp_path / name, state_folder, state)
        (tmp_path / "b").mkdir()
        place = tmp_path / "b" / {"by the ledger": "survey.toml.ledger"}.get(named, "new.ledger")
        file = {"by the schema": str(tmp_path / "b" / "survey.toml")}.get(named)
        asks = Spender("census", file, names_dataset=False)
        with refused(LedgerError, repr(str(old)), state, "older software", "--new-ledger"):
            open_ledger(place, spender=asks)
        with refused(LedgerError, repr(str(old)), "older software"):
            Ledger.check_first(place, "census", asks)
        if state == "gone":
            Ledger.check_first(place, "census", asks, gone=False)
        open_ledger(place, spender=asks, why="it was another one")

    def test_other_names_that_older_software_noted_are_no_obstacle(
        self, tmp_path: Path, state_folder: Path
    ) -> None:
        """Whoever deleted experiments can begin new ones, in the same folder too."""
        for name in ("first.toml.ledger", "second.toml.ledger"):
            self.lost(tmp_path / name, state_folder, "gone")
        asks = Spender("third", str(tmp_path / "third.toml"), names_dataset=False)
        spend(tmp_path / "third.toml.ledger", dataset="third", spender=asks)

    @staticmethod
    def lost(path: Path, state_folder: Path, state: str) -> Path:
        """A ledger that was noted without its dataset, and is no longer what it was."""
        before = set(state_folder.glob("*.json"))
        spend(path, dataset=f"of {path.name}")
        (file,) = set(state_folder.glob("*.json")) - before
        note = json.loads(file.read_bytes())
        file.write_text(json.dumps({name: note[name] for name in ("sequence", "hash", "path")}))
        path.unlink() if state == "gone" else path.write_bytes(b"not a database" * 500)
        return path

    def test_one_that_cannot_be_read_is_not_gone(self, first: Path) -> None:
        first.write_bytes(b"not a database" * 500)
        (note,) = notes()
        assert datasets.holds(note)
        with refused(LedgerError, "has a ledger already"):
            open_ledger(first.with_name("second.ledger"))


class TestUnreadableNotes:
    """A note that nobody can read may be about any dataset."""

    @pytest.mark.parametrize("damage", ["", "{", "[]", '{"sequence": 1}', "folder"])
    def test_one_stands_in_the_way_of_a_new_ledger(
        self, first: Path, state_folder: Path, damage: str
    ) -> None:
        (file,) = state_folder.glob("*.json")
        file.unlink()
        file.mkdir() if damage == "folder" else file.write_text(damage)
        second = first.with_name("second.ledger")
        for dataset in ("census", "other"):
            for attempt in (open_ledger, lambda path, dataset: Ledger.check_first(path, dataset)):
                with refused(LedgerError, repr(str(file)), "cannot be read", "remove the note"):
                    attempt(second, dataset=dataset)
        assert not second.exists()
        open_ledger(second, why="there was none").spend(Fraction(1), mechanism="count")
        spend(second)  # one that is there is used

    def test_one_that_is_removed_meanwhile_is_none(
        self, first: Path, state_folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (file,) = state_folder.glob("*.json")
        monkeypatch.setattr(Path, "glob", lambda *_: [file.with_name("gone.json"), file])
        unreadable: list[Path] = []
        assert len(notes(unreadable)) == 1 and not unreadable


class TestUnits:
    """Tables about the same people share a ledger; rows and people are not added up."""

    def test_tables_with_columns_of_their_own_share_one(self, first: Path) -> None:
        path = first.with_name("people.ledger")
        for _ in range(2):
            spend(path, dataset="people", unit=ONE_PERSON)
        with refused(LedgerError, "'one person'", "'id, at most 4 rows'"):
            open_ledger(path, dataset="people", unit="id, at most 4 rows")

    def test_a_ledger_that_pins_an_id_column_protects_people(self, tmp_path: Path) -> None:
        spend(tmp_path / "x", unit="id, at most 4 rows")
        spend(tmp_path / "x", unit=ONE_PERSON)
        with refused(LedgerError, "'id, at most 4 rows'"):
            open_ledger(tmp_path / "x", unit="household, at most 4 rows")

    def test_a_ledger_without_a_unit_protects_rows(self, first: Path) -> None:
        with refused(LedgerError, "unit 'none'", "unit 'one person'"):
            open_ledger(first, unit=ONE_PERSON)

    def test_the_relation_is_the_same_for_all(self, tmp_path: Path) -> None:
        spend(tmp_path / "x", unit=ONE_PERSON)
        with refused(LedgerError, "neighbours 'add-remove'"):
            open_ledger(tmp_path / "x", unit=ONE_PERSON, neighbours="replace-one")
