"""Kills, races, full disks and tampering: what is published was paid for, and never overpaid.

After each: spent ≥ Σ ε of the releases that exist, spent ≤ budget, every visible release is whole,
and whoever is refused is told in one line why.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from attack import Size, Tally
from publisher import make_world
from tests.shared_refusals import refused

import hushtable
from hushtable import publishing
from hushtable.errors import BudgetError, HushError, LedgerError
from hushtable.families.linear.ask.basic import Basic
from hushtable.kernel.privacy import ledger, storage
from hushtable.kernel.privacy.ledger import Ledger

HERE = Path(__file__).parent
PUBLISHER = HERE / "publisher.py"
SPENDER = HERE.parent / "privacy" / "spender.py"
# Ibis calls what DuckDB has renamed.
STRICT = ("-W", "error", "-W", "ignore:fetch_arrow_table:DeprecationWarning")


def run(program: Path, *words: object, seconds: float = 900) -> dict[str, Any]:
    """What a program found, or its failure."""
    done = subprocess.run(
        [sys.executable, *STRICT, str(program), *map(str, words)],
        text=True,
        capture_output=True,
        timeout=seconds,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout.splitlines()[-1])


class World:
    """A table, its schema, and its ledger."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ledger = folder / "people.toml.ledger"
        make_world(folder, "3")

    def publish(self, name: str, epsilon: str = "1", **options: Any) -> hushtable.Release:
        return hushtable.publish(
            self.folder / "people.csv",
            self.folder / "people.toml",
            epsilon=epsilon,
            out=self.folder / f"{name}.release",
            **options,
        )

    def released(self) -> Fraction:
        paths = self.folder.glob("*.release")
        return sum((hushtable.open(path).epsilon for path in paths), start=Fraction(0))

    def check(self, spent: str | None = None) -> None:
        state = Ledger.read(self.ledger)
        assert self.released() <= state.spent <= state.budget
        assert spent is None or state.spent == Fraction(spent)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


# ── kills ────────────────────────────────────────────────────────────────────────────────────────


def test_a_kill_at_any_line_of_the_ledger(tmp_path: Path, size: Size, tally: Tally) -> None:
    count = size(100, 750)
    reached = run(SPENDER, "kills", tmp_path, count)
    assert set(reached) == {"nothing", "reserved", "drawing", "publishing", "published"}
    assert sum(reached.values()) == count
    tally("kills", count)


def test_a_kill_at_every_step_of_publishing(tmp_path: Path, size: Size, tally: Tally) -> None:
    rounds = size(1, 20)
    found = run(PUBLISHER, "step_kills", tmp_path, rounds)
    assert found == {"kills": 8 * rounds, "releases": 2 * rounds}
    tally("kills", found["kills"])


def test_a_kill_at_any_moment_of_publishing(tmp_path: Path, size: Size, tally: Tally) -> None:
    count = size(3, 200)
    found = run(PUBLISHER, "random_kills", tmp_path, count)
    assert found["kills"] >= count
    assert 0 < found["releases"] <= found["entries"]
    assert found["reached"] > 1, "all kills came at the same stage"
    tally("kills", found["kills"])


# ── races ────────────────────────────────────────────────────────────────────────────────────────


def a_state_of_its_own(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A second budget for the same people would be refused: every round is another owner."""
    folder.mkdir()
    monkeypatch.setenv("HUSHTABLE_STATE", str(folder / "state"))


def test_races_spend_the_budget_exactly(
    tmp_path: Path, size: Size, tally: Tally, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight processes spend 1 of a budget of 10 as often as they are let, on one ledger."""
    for number in range(size(1, 12, 2)):
        a_state_of_its_own(tmp_path / str(number), monkeypatch)
        path = tmp_path / f"{number}.ledger"
        command = [sys.executable, "-W", "error", str(SPENDER), "race", str(path), "10"]
        racers = [subprocess.Popen(command, text=True, stdout=subprocess.PIPE) for _ in range(8)]
        said = [racer.communicate(timeout=900)[0].split() for racer in racers]
        assert [racer.returncode for racer in racers] == [0] * 8
        state = Ledger.read(path)
        accepted = [id for lines in said for id in lines]
        assert sorted(accepted) == sorted(entry.id for entry in state.entries)
        assert state.spent == 10 == state.budget
        tally("racing processes", 8)


def test_of_racing_publishers_as_many_publish_as_can_be_paid(
    tmp_path: Path, size: Size, tally: Tally, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(size(1, 10, 2)):
        place = tmp_path / str(number)
        a_state_of_its_own(place, monkeypatch)
        assert run(PUBLISHER, "races", place, 8) == {"races": 8, "releases": 3}
        tally("racing processes", 8)


# ── disks ────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def mounted(folder: Path, options: str) -> Iterator[None]:
    folder.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if shutil.which("mount") is None:
        pytest.skip("there is no mount command here")
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"no tmpfs can be mounted here: {done.stderr.strip()[:100]}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_loses_nothing_that_was_published(tmp_path: Path, tally: Tally) -> None:
    with mounted(tmp_path / "disk", "size=320k"):
        found = run(PUBLISHER, "fill_disk", tmp_path / "disk", 0)
    assert found["releases"] > 0
    assert found["releases"] <= found["entries"]
    assert len(found["refused"]) > 3
    for line in found["refused"]:
        assert "\n" not in line
        assert "disk" in line.lower() or "space" in line.lower(), line
    tally("disks filled", 1)


def test_a_ledger_on_a_read_only_disk_is_not_spent(tmp_path: Path, tally: Tally) -> None:
    place = tmp_path / "disk"
    with mounted(place, "size=4m"):
        world = World(place)
        world.publish("first")
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        with refused(HushError, "Read-only"):
            world.publish("second")
        with refused(HushError, str(world.ledger), "you can write to"):
            hushtable.publish(
                place / "people.csv", place / "people.toml", epsilon="1", out=tmp_path / "r"
            )
        world.check(spent="1")
        assert not (tmp_path / "r").exists()
    tally("disks filled", 1)


def test_the_history_is_judged_under_the_write_lock(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between reading what is left and spending it, nobody else can spend."""
    world.publish("first")
    kept_out: list[bool] = []
    row = ledger._row

    def watched(*arguments: Any) -> Any:
        with closing(sqlite3.connect(world.ledger, timeout=0, isolation_level=None)) as other:
            try:
                other.execute("BEGIN IMMEDIATE")
                kept_out.append(False)
            except sqlite3.OperationalError:
                kept_out.append(True)
        return row(*arguments)

    monkeypatch.setattr(ledger, "_row", watched)
    world.publish("second")
    assert len(kept_out) >= 5 and all(kept_out)  # checked, then each of the four events


def test_every_commit_waits_for_the_disk(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A commit that a power cut could undo would forget what was spent."""
    modes: list[tuple[int, str]] = []

    class Watched(sqlite3.Connection):
        def execute(self, statement: str, *parameters: Any) -> sqlite3.Cursor:
            if statement == "COMMIT":
                (level,) = super().execute("PRAGMA synchronous").fetchone()
                (journal,) = super().execute("PRAGMA journal_mode").fetchone()
                modes.append((level, journal))
            return super().execute(statement, *parameters)

    connect = sqlite3.connect
    monkeypatch.setattr(
        storage.sqlite3, "connect", lambda *a, **k: connect(*a, factory=Watched, **k)
    )
    world.publish("first")
    full = 2
    assert len(modes) == 5  # opened, reserved, drawing, publishing, published
    assert set(modes) == {(full, "wal")}


def test_a_release_is_durable_before_it_is_visible(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All files on the disk, then announced and named, then the name on the disk, then recorded."""
    seen: list[str] = []
    rename, fsync, append = Path.rename, os.fsync, Ledger._append

    def watched_fsync(handle: int) -> None:
        fsync(handle)
        seen.append(f"synced {Path(os.readlink(f'/proc/self/fd/{handle}')).name}")

    def watched_rename(self: Path, target: Path) -> Path:
        seen.append("renamed")
        return rename(self, target)

    def watched_append(self: Ledger, event: dict[str, Any], *, keep: bool = True) -> Any:
        result = append(self, event, keep=keep)
        if keep:
            seen.append(event["kind"])
        return result

    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(Path, "rename", watched_rename)
    monkeypatch.setattr(Ledger, "_append", watched_append)
    world.publish("first")
    visible = seen.index("renamed")
    before, after = seen[:visible], seen[visible:]
    needed = ["reserve", "drawing", "synced cells.npy", "publishing", "synced manifest.json"]
    assert [line for line in before if line in needed] == needed, seen
    assert any(line.endswith(".partial") for line in before), "the folder's own names"
    assert after.index(f"synced {world.folder.name}") < after.index("published")


# ── tampering, as a publisher meets it ───────────────────────────────────────────────────────────


def put_older_back(world: World) -> None:
    old = world.ledger.read_bytes()
    world.publish("second")
    world.ledger.write_bytes(old)


def edit_a_row(world: World) -> None:
    with closing(sqlite3.connect(world.ledger)) as db, db:
        statement = "UPDATE event SET body = replace(body, '\"1\"', '\"0.1\"') WHERE sequence = 2"
        assert db.execute(statement).rowcount == 1


def delete_a_row(world: World) -> None:
    with closing(sqlite3.connect(world.ledger)) as db, db:
        assert db.execute("DELETE FROM event WHERE sequence = 2").rowcount == 1


def delete_the_last_rows(world: World) -> None:
    with closing(sqlite3.connect(world.ledger)) as db, db:
        assert db.execute("DELETE FROM event WHERE sequence > 1").rowcount == 4


def delete_it(world: World) -> None:
    world.ledger.unlink()


def empty_it(world: World) -> None:
    world.ledger.write_bytes(b"")


def another_in_its_place(world: World) -> None:
    world.ledger.unlink()
    other = world.folder / "other"
    other.mkdir()
    elsewhere = World(other)
    schema = other / "people.toml"
    schema.write_text(schema.read_text().replace('"people"', '"strangers"'))
    elsewhere.publish("x", epsilon="0.1")
    for path in other.glob("*.ledger*"):
        path.rename(world.folder / path.name)


def spend_on_a_copy(world: World) -> None:
    copy = world.folder / "copy.ledger"
    shutil.copy(world.ledger, copy)
    world.publish("on the copy", epsilon="0.5", ledger=copy)


def write_garbage(world: World) -> None:
    world.ledger.write_bytes(b"not a database" * 500)


TAMPERED: dict[Callable[[World], None], str] = {
    put_older_back: "older or altered copy",
    edit_a_row: "entry 2 was altered",
    delete_a_row: "entry 2 was altered",
    delete_the_last_rows: "older or altered copy",
    delete_it: "is gone: put it back",
    empty_it: "is gone: put it back",
    another_in_its_place: "pinned to",
    spend_on_a_copy: "another copy of it was spent on",
    write_garbage: "not a ledger",
}


class TestTamperedLedgers:
    @pytest.mark.parametrize("tamper", TAMPERED, ids=lambda tamper: tamper.__name__)
    def test_nothing_is_published_on_a_ledger_that_was_tampered_with(
        self, world: World, tamper: Callable[[World], None], tally: Tally
    ) -> None:
        world.publish("first")
        tamper(world)
        before = sorted(world.folder.iterdir())
        for attempt in range(2):
            with refused(LedgerError, TAMPERED[tamper]):
                world.publish(f"attempt {attempt}", epsilon="0.1")
        assert sorted(world.folder.iterdir()) == before
        tally("tampered ledgers", 1)

    def test_a_busy_ledger_is_not_spent_and_says_so(
        self, world: World, monkeypatch: pytest.MonkeyPatch, tally: Tally
    ) -> None:
        world.publish("first")
        monkeypatch.setattr(storage, "BUSY_SECONDS", 0.2)
        with closing(sqlite3.connect(world.ledger, isolation_level=None)) as db:
            db.execute("BEGIN IMMEDIATE")
            with refused(LedgerError, "busy", "try again"):
                world.publish("second")
        world.check(spent="1")
        world.publish("second")
        tally("tampered ledgers", 1)

    @pytest.mark.parametrize("years", [-50, 50])
    def test_the_clock_may_jump(
        self, world: World, years: int, monkeypatch: pytest.MonkeyPatch, tally: Tally
    ) -> None:
        world.publish("first")
        now = time.time()
        shifted = publishing.datetime.fromtimestamp(now + years * 3.15e7, publishing.UTC)

        class Clock(publishing.datetime):  # type: ignore[name-defined, misc]
            @classmethod
            def now(cls, tz: Any = None) -> Any:
                return shifted

        monkeypatch.setattr(publishing, "datetime", Clock)
        monkeypatch.setattr(ledger, "datetime", Clock)
        monkeypatch.setattr(time, "time", lambda: now + years * 3.15e7)
        world.publish("second")
        with refused(BudgetError, "1 is left"):
            world.publish("too much", epsilon="1.5")
        world.check(spent="2")
        tally("tampered ledgers", 1)


def test_a_mechanism_cannot_spend_more_than_was_paid(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure = Basic.measure

    def greedy(self: Basic, curator: Any, schema: Any, **options: Any) -> Any:
        measure(self, curator, schema, **options)
        return measure(self, curator, schema, **options)

    monkeypatch.setattr(Basic, "measure", greedy)
    with refused(BudgetError, "left of the allotment", "was spent"):
        world.publish("first")
    assert world.released() == 0
    world.check(spent="1")


def test_the_invariant_is_checked_by_a_check_that_can_fail(world: World) -> None:
    world.publish("first")
    world.publish("second")
    world.check()
    shutil.copytree(world.folder / "first.release", world.folder / "third.release")
    with pytest.raises(AssertionError):
        world.check()
