"""The ledger is never overspent, never forgets, and says in one line what is wrong with it."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.shared_refusals import refused

from hushtable.errors import BudgetError, HushError, LedgerError
from hushtable.kernel.privacy import history, ledger, storage
from hushtable.kernel.privacy.ledger import Ledger

SPENDER = Path(__file__).with_name("spender.py")
PINS: dict[str, Any] = {
    "dataset": "census",
    "budget": Fraction(3),
    "neighbours": "add-remove",
    "unit": "person_id, at most 4 rows",
}


def open_ledger(path: Path, **changes: Any) -> Ledger:
    return Ledger.open(path, **{**PINS, **changes})


def announce(spending: Ledger) -> Callable[[str], None]:
    return lambda id: spending.published(id, "0" * 64)


def reserve(spending: Ledger, epsilon: str = "1", out: str = "") -> str:
    return spending.reserve(Fraction(epsilon), mechanism="basic", out=out).id


def spender(*words: object, **options: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "error", str(SPENDER), *map(str, words)]
    return subprocess.Popen(command, text=True, stdout=subprocess.PIPE, **options)


def output(process: subprocess.Popen[str]) -> list[str]:
    text, _ = process.communicate(timeout=900)
    assert process.returncode == 0
    return text.splitlines()


def edit(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        assert db.execute(statement).rowcount > 0


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "census.toml.ledger"


STEPS = ("drawing", "publishing", "published", "void")
ONE_PATH = ["reserve", "drawing", "publishing", "published"]


def opened_history() -> history.History:
    """A history that has begun, and may spend 3."""
    begun = history.History()
    pins = {"kind": "open", "format": history.FORMAT, "ledger": "0" * 32, **PINS, "budget": "3"}
    begun.append({**pins, "sequence": 1})
    return begun


class TestPins:
    def test_the_first_use_pins_and_later_uses_agree(self, path: Path) -> None:
        open_ledger(path)
        with open_ledger(path) as again:
            state = again.state()
        assert (state.dataset, state.neighbours, state.unit) == tuple(
            PINS[name] for name in ("dataset", "neighbours", "unit")
        )
        assert (state.budget, state.spent, state.left, state.entries) == (3, 0, 3, ())
        assert sorted(os.listdir(path.parent)) == [path.name, "state"]

    @pytest.mark.parametrize(
        ("name", "value"),
        [("dataset", "other"), ("neighbours", "replace-one"), ("unit", None), ("unit", "id")],
    )
    def test_another_schema_is_refused_naming_both(self, path: Path, name: str, value: Any) -> None:
        open_ledger(path)
        with refused(LedgerError, str(path), name, repr(PINS[name]), repr(value or "none")):
            open_ledger(path, **{name: value})
        open_ledger(path)

    def test_a_budget_it_never_had_is_refused(self, path: Path) -> None:
        open_ledger(path)
        with refused(BudgetError, "is 5", "is 3", "hush budget", "--raise 5"):
            open_ledger(path, budget=Fraction(5))
        with refused(BudgetError, "is 2.5", "never lowered"):
            open_ledger(path, budget=Fraction(5, 2))

    def test_every_budget_it_had_is_accepted_and_the_newest_governs(self, path: Path) -> None:
        open_ledger(path).raise_budget(Fraction(5))
        for budget in (Fraction(3), Fraction(5), None):
            spending = open_ledger(path, budget=budget)
            assert spending.state().budget == 5
        with refused(BudgetError, "never lowered"):
            spending.raise_budget(Fraction(5))
        reserve(spending, "5")

    @pytest.mark.parametrize("create", [False, True])
    def test_a_missing_ledger_is_made_only_when_asked(self, path: Path, create: bool) -> None:
        if create:
            open_ledger(path, create=True)
        else:
            with refused(LedgerError, str(path), "no ledger"):
                open_ledger(path, create=False)
            with refused(LedgerError, str(path), "no ledger"):
                Ledger.read(path)
        assert path.exists() == create

    def test_odd_names_make_no_second_line(self, tmp_path: Path) -> None:
        path = tmp_path / "a\nb %41?mode=ro#c.ledger"
        open_ledger(path, dataset="two\nlines")
        assert path.exists()
        with refused(LedgerError, "two\\nlines"):
            open_ledger(path)


class TestSpending:
    def test_sums_are_exact(self, path: Path) -> None:
        spending = open_ledger(path, budget=Fraction("0.3"))
        for epsilon in ("0.1", "0.2"):
            reserve(spending, epsilon)
        assert spending.state().left == 0

    def test_thirds_and_tiny_ratios_come_back_as_they_went_in(self, path: Path) -> None:
        spending = open_ledger(path)
        for epsilon in ("1/3", "1/3", f"1/{2**190}", f"1/{3**90}"):
            reserve(spending, epsilon)
        assert spending.state().spent == Fraction(2, 3) + Fraction(1, 2**190) + Fraction(1, 3**90)

    def test_what_does_not_fit_is_refused_and_changes_nothing(self, path: Path) -> None:
        spending = open_ledger(path)
        reserve(spending, "2.75")
        before = path.read_bytes()
        for attempt in (spending.check, lambda epsilon: reserve(spending, str(epsilon))):
            with refused(BudgetError, "epsilon 0.5", "0.25 is left", "budget of 3"):
                attempt(Fraction(1, 2))
        spending.check(Fraction(1, 4))
        assert path.read_bytes() == before

    @pytest.mark.parametrize("epsilon", [0, -1, float("nan"), True, None])
    def test_only_positive_amounts_are_spent(self, path: Path, epsilon: Any) -> None:
        spending = open_ledger(path)
        for spend in (spending.reserve, spending.spend):
            with refused(HushError, "epsilon must"):
                spend(epsilon, mechanism="basic", out="")
        assert spending.state().entries == ()

    def test_the_entries_tell_what_was_spent_on_what(self, path: Path, tmp_path: Path) -> None:
        spending = open_ledger(path)
        first = reserve(spending, "1", out=str(tmp_path / "out"))
        second = spending.spend(Fraction(1, 2), mechanism="count")
        entries = Ledger.read(path).entries
        assert [entry.id for entry in entries] == [first, second.id]
        assert [entry.mechanism for entry in entries] == ["basic", "count"]
        assert [entry.epsilon for entry in entries] == [1, Fraction(1, 2)]
        assert [entry.out for entry in entries] == [str(tmp_path / "out"), ""]
        assert [entry.status for entry in entries] == ["reserved", "published"]

    def test_a_release_goes_through_its_stages(self, path: Path) -> None:
        spending, seen = open_ledger(path), []
        id = reserve(spending)
        for step in (spending.drawing, spending.publishing, announce(spending)):
            step(id)
            seen += [entry.status for entry in spending.state().entries]
        assert seen == ["drawing", "publishing", "published"]
        assert spending.state().spent == 1

    def test_an_anchor_is_known_by_its_own_ledger_only(self, path: Path) -> None:
        spending = open_ledger(path)
        other = open_ledger(path.with_name("other"), dataset="other")
        anchor = spending.reserve(Fraction(1), mechanism="basic", out="").anchor
        assert spending.verify_anchor(anchor) and not other.verify_anchor(anchor)
        assert anchor.keys() == {"ledger", "hash"}
        for wrong in ({"sequence": 1}, {"sequence": 9}, {"sequence": "2"}, {"hash": None}):
            assert not spending.verify_anchor({**anchor, **wrong})
        assert spending.verify_anchor({**anchor, "sequence": 2})  # as releases once gave it
        assert not spending.verify_anchor({})

    def test_an_anchor_cannot_be_guessed_from_what_is_public(self, path: Path) -> None:
        """Whoever could guess an entry would learn from its hash what stands before it."""
        spending = open_ledger(path)
        reserve(spending)
        with closing(sqlite3.connect(path)) as db:
            (body,) = db.execute("SELECT body FROM event WHERE sequence = 2").fetchone()
        assert re.fullmatch("[0-9a-f]{32}", json.loads(body)["salt"])


class TestVoiding:
    def test_a_reservation_without_noise_is_given_back(self, path: Path) -> None:
        spending = open_ledger(path)
        id = reserve(spending, "3", out=str(path.with_name("never")))
        spending.void(id)
        assert (spending.state().spent, spending.state().entries[0].status) == (0, "void")
        for again in (spending.void, spending.drawing, spending.publishing):
            with refused(LedgerError, id, "voided"):
                again(id)

    def test_what_was_drawn_for_stays_spent(self, path: Path) -> None:
        spending = open_ledger(path)
        id = reserve(spending)
        for advance in (spending.drawing, spending.publishing, announce(spending)):
            advance(id)
            with refused(LedgerError, id, "its epsilon stays spent"):
                spending.void(id)
        answered = spending.spend(Fraction(1), mechanism="count").id
        with refused(LedgerError, answered, "its epsilon stays spent"):
            spending.void(answered)
        assert spending.state().spent == 2

    def test_an_unknown_reservation_is_named(self, path: Path) -> None:
        spending = open_ledger(path)
        steps = (spending.void, spending.drawing, spending.publishing, announce(spending))
        for step in steps:
            with refused(LedgerError, "no reservation 'beef\\n'"):
                step("beef\n")

    def test_no_step_is_left_out(self, path: Path) -> None:
        spending = open_ledger(path)
        id = reserve(spending)
        for step in (spending.publishing, announce(spending)):
            with refused(LedgerError, id, "was not drawn for"):
                step(id)
        spending.drawing(id)
        for step in (spending.drawing, announce(spending)):
            with refused(LedgerError, id, "may have been drawn for"):
                step(id)

    @given(st.lists(st.tuples(st.sampled_from(["reserve", *STEPS]), st.integers(0, 3))))
    def test_any_steps_in_any_order_follow_the_one_path(self, steps: list[tuple[str, int]]) -> None:
        """Against a model: what is spent is what is not void, and nothing drawn is ever void."""
        events, model = opened_history(), {}
        for kind, number in steps:
            event = {"kind": kind, "id": f"r{number}", "sequence": len(events.hashes) + 1}
            if kind == "reserve":
                event |= {"epsilon": "1/8", "mechanism": "", "out": "", "time": ""}
            told = [*model.get(number, []), kind]
            allowed = ONE_PATH[: len(told)] == told or told == ["reserve", "void"]
            if allowed:
                events.append(event)
                model[number] = told
            else:
                with pytest.raises((LedgerError, ValueError)):
                    events.append(event)
        kept = [told for told in model.values() if told[-1] != "void"]
        assert events.spent == Fraction(len(kept), 8)
        assert all(told == ["reserve", "void"] or "void" not in told for told in model.values())


def make_cheaper(path: Path) -> None:
    """Let entry 2 say that it cost 1, and fit its hash to that."""
    with closing(sqlite3.connect(path)) as db, db:
        rows = db.execute("SELECT body, hash FROM event ORDER BY sequence").fetchall()
        cheap = rows[1][0].replace('"epsilon":"2"', '"epsilon":"1"')
        new = history.chained(rows[0][1], cheap)
        db.execute("UPDATE event SET body = ?, hash = ? WHERE sequence = 2", (cheap, new))


class TestTampering:
    @pytest.mark.parametrize(
        ("statement", "entry"),
        [
            ("UPDATE event SET body = replace(body, '\"2\"', '\"1\"') WHERE sequence = 2", 2),
            ("UPDATE event SET body = replace(body, ':', ': ') WHERE sequence = 2", 2),
            ("UPDATE event SET body = x'00ff' WHERE sequence = 2", 2),
            ("UPDATE event SET body = NULL WHERE sequence = 2", 2),
            ("UPDATE event SET hash = upper(hash) WHERE sequence = 3", 3),
            ("UPDATE event SET sequence = 7 WHERE sequence = 3", 3),
            ("DELETE FROM event WHERE sequence = 2", 2),
            ("DELETE FROM event WHERE sequence = 1", 1),
            ("INSERT INTO event SELECT 4, body, hash FROM event WHERE sequence = 3", 4),
        ],
    )
    def test_a_hand_edited_row_is_named(self, path: Path, statement: str, entry: int) -> None:
        spending = open_ledger(path)
        reserve(spending, "2")
        reserve(spending, "0.5")
        edit(path, statement)
        for use in (open_ledger, Ledger.read, lambda _: reserve(spending, "0.1")):
            with refused(LedgerError, str(path), f"entry {entry} was altered"):
                use(path)

    def test_a_row_that_breaks_the_rules_is_named_even_with_a_right_hash(self, path: Path) -> None:
        first = history.History()
        opened = {"kind": "open", "ledger": "0" * 32, "sequence": 1, "time": "", **PINS}
        rows = [(1, *first.append({**opened, "budget": "3"}))]
        spent = {"kind": "spend", "id": "a", "epsilon": "3.1", "mechanism": "", "out": ""}
        body = history.canonical({**spent, "sequence": 2, "time": ""})
        with refused(LedgerError, "entry 2 was altered"):
            history.History.replay([*rows, (2, body, history.chained(first.head.hash, body))])

    @pytest.mark.parametrize(
        "event",
        [
            {"kind": "spend", "id": "a", "epsilon": "1", "mechanism": "", "out": "", "time": ""},
            {"kind": "raise", "budget": 5},
            {"kind": "open", "ledger": "../../note", **PINS, "budget": "3"},
            {"kind": "open", "ledger": ["0" * 32], **PINS, "budget": "3"},
            {"kind": "open", "ledger": "0" * 32, **PINS, "budget": "3", "neighbours": "both"},
            {"kind": "forget"},
            {},
        ],
    )
    def test_a_strange_first_row_is_named_even_with_a_right_hash(
        self, event: dict[str, Any]
    ) -> None:
        body = history.canonical({**event, "sequence": 1})
        with refused(LedgerError, "entry 1 was altered"):
            history.History.replay([(1, body, history.chained("0" * 64, body))])

    @pytest.mark.parametrize(
        "notes",
        [
            {"table": ["town"]},
            {"table": 7},
            {"table": {}},
            {"attributes": None},
            {"attributes": ""},
            {"attributes": "age"},
            {"attributes": [["age", "0"]]},
            {"attributes": {"age": 1}},
            {"attributes": {"age": ["0"]}},
        ],
    )
    def test_a_note_that_is_no_text_is_named_even_with_a_right_hash(
        self, notes: dict[str, Any]
    ) -> None:
        opened = {"kind": "open", "ledger": "0" * 32, "sequence": 1, "time": "", **PINS}
        spent = {"kind": "spend", "id": "a", "epsilon": "1", "mechanism": "", "out": "", "time": ""}
        for told, is_refused in (
            ({}, False),
            ({"table": "t", "attributes": {}}, False),
            (notes, True),
        ):
            first = history.History()
            rows = [(1, *first.append({**opened, "budget": "3"}))]
            body = history.canonical({**spent, **told, "sequence": 2})
            rows.append((2, body, history.chained(first.head.hash, body)))
            if not is_refused:
                assert history.History.replay(rows).spent == 1
                continue
            with refused(LedgerError, "entry 2 was altered"):
                history.History.replay(rows)

    def test_a_row_altered_with_its_own_hash_breaks_the_next(self, path: Path) -> None:
        spending = open_ledger(path)
        reserve(spending, "2")
        reserve(spending, "0.5")
        make_cheaper(path)
        with refused(LedgerError, "entry 3 was altered"):
            Ledger.read(path)

    def test_a_row_altered_with_all_its_hashes_is_noticed(self, path: Path) -> None:
        spending = open_ledger(path)
        reserve(spending, "2")
        make_cheaper(path)
        with refused(LedgerError, "older or altered copy", "entry 2"):
            reserve(spending)

    @pytest.mark.parametrize("statement", ["DELETE FROM event", "DROP TABLE event"])
    def test_an_emptied_ledger_is_not_begun_again(self, path: Path, statement: str) -> None:
        reserve(open_ledger(path))
        with closing(sqlite3.connect(path)) as db, db:
            db.execute(statement)
        with refused(LedgerError, str(path)):
            open_ledger(path)

    def test_an_older_copy_put_back_is_noticed(self, path: Path) -> None:
        spending = open_ledger(path)
        reserve(spending)
        old = path.read_bytes()
        reserve(spending)
        path.write_bytes(old)
        for use in (open_ledger, Ledger.read, lambda _: reserve(spending, "0.1")):
            with refused(LedgerError, "older or altered copy was put back", "entry 3"):
                use(path)

    def test_a_copy_is_noticed_once_the_other_was_spent_on(self, path: Path) -> None:
        spending, copy = open_ledger(path), path.with_name("copy.ledger")
        shutil.copy(path, copy)
        copied = open_ledger(copy)
        reserve(spending)
        for use in (lambda: open_ledger(copy), lambda: reserve(copied)):
            with refused(LedgerError, str(copy), "another copy of it was spent on"):
                use()
        reserve(open_ledger(path))

    @pytest.mark.parametrize("emptied", [False, True])
    def test_a_lost_or_emptied_ledger_does_not_start_again_by_itself(
        self, path: Path, emptied: bool
    ) -> None:
        open_ledger(path)
        path.unlink()
        if emptied:
            path.touch()
        for attempt in (open_ledger, lambda path: Ledger.check_first(path, "census")):
            with refused(LedgerError, "is gone: put it back", '--new-ledger "why"'):
                attempt(path)
        assert open_ledger(path, why="the disk broke").state().why == "the disk broke"
        assert open_ledger(path).state().spent == 0

    def test_a_ledger_that_is_there_cannot_be_started_again(self, path: Path) -> None:
        reserve(open_ledger(path))
        with refused(LedgerError, str(path), "there is a ledger here"):
            open_ledger(path, why="for a change")
        assert open_ledger(path).state().spent > 0

    def test_impossible_paths_are_one_clear_line(self, path: Path) -> None:
        for odd in (
            path.parent / ("x" * 300) / "l",
            path.with_name("a\0b"),
            path.parent / ("x" * 300),
        ):
            with pytest.raises(LedgerError) as told:
                open_ledger(odd)
            assert "\n" not in str(told.value)

    def test_another_ledger_in_its_place_is_noticed(self, path: Path) -> None:
        spending = open_ledger(path)
        path.unlink()
        open_ledger(path, why="for a change")
        with refused(LedgerError, "another ledger was put in its place"):
            reserve(spending)

    def test_the_clock_may_go_backwards(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        spending = open_ledger(path)
        reserve(spending)

        class Early(datetime):
            @classmethod
            def now(cls, tz: Any = None) -> datetime:
                return datetime(1970, 1, 1, tzinfo=UTC)

        monkeypatch.setattr(ledger, "datetime", Early)
        reserve(spending)
        times = [entry.time for entry in open_ledger(path).state().entries]
        assert times[1].startswith("1970") and times == sorted(times, reverse=True)


class TestNotes:
    def test_a_lost_note_is_written_again(self, path: Path, state_folder: Path) -> None:
        reserve(open_ledger(path))
        shutil.rmtree(state_folder)
        spending = open_ledger(path)
        old = path.read_bytes()
        reserve(spending)
        path.write_bytes(old)
        with refused(LedgerError, "older"):
            open_ledger(path)
        assert spending.warnings == []

    def test_the_note_never_moves_back(self, path: Path) -> None:
        spending = open_ledger(path)
        note, first = spending._anchor, spending._anchor.read()
        reserve(spending)
        newest = note.read()
        assert first is not None
        note.advance(first)
        assert note.read() == newest != first

    def test_without_a_state_folder_work_goes_on_with_a_warning(
        self, path: Path, state_folder: Path
    ) -> None:
        state_folder.write_text("a file where the folder should be")
        spending = open_ledger(path)
        reserve(spending)
        (warning,) = spending.warnings
        assert "state folder" in warning and "\n" not in warning
        assert Ledger.read(path).spent == 1

    def test_a_damaged_note_is_named(self, path: Path, state_folder: Path) -> None:
        open_ledger(path)
        (note,) = state_folder.glob("*.json")
        for damage in ("{", "[]", '{"sequence": "x"}', ""):
            note.write_text(damage)
            with refused(LedgerError, str(note), "damaged"):
                open_ledger(path)

    def test_the_default_folder_is_the_users(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from hushtable.kernel.privacy.anchor import state_folder

        monkeypatch.delenv("HUSHTABLE_STATE")
        assert state_folder().is_absolute() and "hushtable" in state_folder().parts


class TestFiles:
    @pytest.mark.parametrize(
        "content", [b"not a database" * 500, b"SQLite format 3\0" + b"x" * 5000]
    )
    def test_what_is_no_database_is_refused_and_left_alone(
        self, path: Path, content: bytes
    ) -> None:
        path.write_bytes(content)
        for use in (open_ledger, Ledger.read):
            with refused(LedgerError, str(path), "ledger"):
                use(path)
        assert path.read_bytes() == content

    def test_another_database_is_refused_and_left_alone(self, path: Path) -> None:
        with closing(sqlite3.connect(path)) as db, db:
            db.execute("CREATE TABLE event (sequence, body, hash)")
        before = path.read_bytes()
        for use in (open_ledger, Ledger.read):
            with refused(LedgerError, str(path), "not a ledger"):
                use(path)
        assert path.read_bytes() == before

    def test_a_newer_format_is_refused(self, path: Path) -> None:
        open_ledger(path)
        with closing(sqlite3.connect(path)) as db:
            db.execute(f"PRAGMA user_version = {history.FORMAT + 1}")
        with refused(LedgerError, "newer"):
            open_ledger(path)

    def test_a_damaged_file_is_refused(self, path: Path) -> None:
        spending = open_ledger(path)
        for _ in range(20):
            reserve(spending, "0.01")
        content = path.read_bytes()
        path.write_bytes(content[:4096] + os.urandom(len(content) - 8192) + content[-4096:])
        with refused(LedgerError, str(path)):
            open_ledger(path)

    def test_an_unfinished_creation_is_finished(self, path: Path) -> None:
        path.touch()
        reserve(open_ledger(path))
        other = path.with_name("other")
        with closing(sqlite3.connect(other)) as db:
            db.execute("PRAGMA journal_mode = WAL")
        reserve(open_ledger(other, dataset="other"))

    def test_whoever_comes_second_does_not_begin_the_ledger_again(self, path: Path) -> None:
        spending = open_ledger(path)
        reserve(spending)
        ledger._create(path, {**PINS, "budget": "9", "why": None}, [])
        assert (spending.state().budget, spending.state().spent) == (3, 1)

    def test_a_missing_folder_and_a_folder_for_a_file_are_refused(self, path: Path) -> None:
        with refused(LedgerError, "folder", "does not exist"):
            open_ledger(path / "x.ledger")
        with refused(LedgerError, str(path.parent), "must be a file"):
            open_ledger(path.parent)

    def test_a_link_to_a_ledger_is_that_ledger(self, path: Path) -> None:
        link = path.with_name("link")
        link.symlink_to(path)
        reserve(open_ledger(link))
        assert not path.is_symlink() and Ledger.read(path).spent == 1

    def test_a_busy_ledger_says_so(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        spending = open_ledger(path)
        monkeypatch.setattr(storage, "BUSY_SECONDS", 0.2)
        holder = spender("hold", path, stdin=subprocess.PIPE)
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        with refused(LedgerError, str(path), "busy"):
            reserve(spending)
        assert spending.state().spent == 0
        output(holder)
        reserve(spending)

    def test_a_busy_note_says_so(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        spending = open_ledger(path)
        monkeypatch.setattr(storage, "BUSY_SECONDS", 0.2)
        with spending._anchor.locked(seconds=1), refused(LedgerError, str(path), "busy"):
            reserve(spending)

    def test_where_nothing_can_be_written_it_can_still_be_read(
        self, state_folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            monkeypatch.setenv("HUSHTABLE_STATE", str(folder / "state"))
            path = folder / "x.ledger"
            open_ledger(path, budget=Fraction(10), unit=None).spend(Fraction(2), mechanism="count")
            newest_in_the_wal(path)
            folder.chmod(0o555)
            (folder / "state").chmod(0o555)
            try:
                lines = output(spender("unprivileged", path))
            finally:
                folder.chmod(0o755)
                (folder / "state").chmod(0o755)
        assert lines[0] == "3"
        assert all(str(path.parent) in line and "writ" in line for line in lines[1:3])
        assert len(lines) == 4 and "state folder" in lines[3]

    def test_on_a_full_disk_what_was_accepted_stays(self, path: Path) -> None:
        accepted, message = output(spender("small_disk", path))
        assert "disk is full" in message and int(accepted) > 0
        assert Ledger.read(path).spent == Fraction(int(accepted), 1000)


def newest_in_the_wal(path: Path) -> None:
    """Spend once more and leave it in the WAL file, as a kill does."""
    spending = open_ledger(path, budget=Fraction(10), unit=None)
    with closing(sqlite3.connect(path)) as db:
        db.execute("SELECT count(*) FROM event").fetchone()
        spending.spend(Fraction(1), mechanism="count")
        wal = path.with_name(f"{path.name}-wal")
        main, tail = path.read_bytes(), wal.read_bytes()
    assert tail
    path.write_bytes(main)
    wal.write_bytes(tail)


class TestProcesses:
    @pytest.mark.parametrize("notes", [True, False])
    def test_racing_processes_spend_the_budget_exactly(
        self, path: Path, state_folder: Path, notes: bool
    ) -> None:
        if not notes:  # then nothing but the database keeps them apart
            state_folder.write_text("a file where the folder should be")
        racers = [spender("race", path, 10) for _ in range(4)]
        accepted = [id for racer in racers for id in output(racer)]
        state = Ledger.read(path)
        assert sorted(accepted) == sorted(entry.id for entry in state.entries)
        assert len(accepted) == 10 == state.spent

    def test_of_two_copies_spent_on_at_once_only_one_goes_on(self, path: Path) -> None:
        copy = path.with_name("copy.ledger")
        open_ledger(path, budget=Fraction(10), unit=None)
        shutil.copy(path, copy)
        racers = [spender("race", place, 10) for place in (path, copy, path, copy)]
        said = [output(racer) for racer in racers]
        accepted = [sum("another copy" not in line for line in lines) for lines in said]
        assert sum(accepted) == 10
        assert 0 in (accepted[0] + accepted[2], accepted[1] + accepted[3])

    @pytest.mark.thorough
    def test_a_kill_at_any_line_loses_nothing_that_was_published(self, tmp_path: Path) -> None:
        (line,) = output(spender("kills", tmp_path, 30))
        assert set(json.loads(line)) == {
            "nothing",
            "reserved",
            "drawing",
            "publishing",
            "published",
        }

    def test_a_kill_at_any_time_loses_nothing_that_was_said(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for number, delay in enumerate((0.0, 0.003, 0.01, 0.03)):
            monkeypatch.setenv("HUSHTABLE_STATE", str(path.with_name(f"state {number}")))
            place = path.with_name(str(number))
            racer = spender("race", place, 1000)
            assert racer.stdout is not None
            said = [racer.stdout.readline()]
            time.sleep(delay)
            racer.send_signal(signal.SIGKILL)
            said += racer.communicate()[0].splitlines()
            assert len(said) <= Ledger.read(place).spent <= min(10, len(said) + 1)
            open_ledger(place, budget=Fraction(10), unit=None).raise_budget(Fraction(11))
