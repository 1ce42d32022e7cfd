"""Ledgers of format 1, which did not record when noise was drawn, go on under today's rules.

`format_1.json` holds the rows of a ledger that the software of its time wrote, with entries in
every state, and the anchor that it gave to a release.
"""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hushtable.errors import LedgerError
from hushtable.kernel.privacy import history
from hushtable.kernel.privacy.ledger import Ledger

MADE: dict[str, Any] = json.loads(Path(__file__).with_name("format_1.json").read_text())
STATES = ["void", "published", "publishing", "reserved", "published"]
SPENT = Fraction("0.975")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A ledger as it was written then."""
    path = tmp_path / "census.toml.ledger"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(f"PRAGMA application_id = {0x68757368}")
        db.execute("PRAGMA user_version = 1")
        db.execute("CREATE TABLE event (sequence INTEGER PRIMARY KEY, body TEXT, hash TEXT)")
        db.executemany("INSERT INTO event VALUES (?, ?, ?)", MADE["rows"])
    return path


def opened(path: Path) -> Ledger:
    return Ledger.open(
        path,
        dataset="census",
        budget=Fraction(4),
        neighbours="add-remove",
        unit="person_id, at most 4 rows",
    )


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        return int(db.execute("PRAGMA user_version").fetchone()[0])


def states(path: Path) -> list[str]:
    return [entry.status for entry in Ledger.read(path).entries]


def test_it_reads_as_it_did_and_reading_changes_nothing(path: Path) -> None:
    state = opened(path).state()
    assert (state.spent, state.budget) == (SPENT, 4) and states(path) == STATES
    assert version(path) == 1  # older software may still use it


def test_a_reservation_in_it_may_have_drawn_and_is_not_given_back(path: Path) -> None:
    spending = opened(path)
    for entry in spending.state().entries:
        with pytest.raises(LedgerError, match=r"stays spent|was voided"):
            spending.void(entry.id)
    assert spending.state().spent == SPENT and version(path) == 1


def test_the_first_write_upgrades_it(path: Path) -> None:
    spending = opened(path)
    new = spending.reserve(Fraction(1), mechanism="basic", out="").id
    assert version(path) == history.FORMAT
    assert states(path) == ["void", "published", "publishing", "drawing", "published", "reserved"]
    with pytest.raises(LedgerError, match="may have been drawn for"):
        spending.void(spending.state().entries[3].id)
    spending.void(new)
    assert spending.state().spent == SPENT


def test_what_was_under_way_in_it_can_be_finished(path: Path) -> None:
    spending = opened(path)
    announced, reserved = spending.state().entries[2:4]
    spending.published(announced.id, "0" * 64)
    spending.publishing(reserved.id)
    spending.published(reserved.id, "0" * 64)
    assert states(path) == ["void", "published", "published", "published", "published"]
    assert spending.state().spent == SPENT


def test_the_anchors_of_its_releases_are_still_known(path: Path) -> None:
    spending = opened(path)
    for _ in range(2):
        assert spending.verify_anchor(MADE["anchor"])
        assert not spending.verify_anchor({**MADE["anchor"], "sequence": 5})
        spending.spend(Fraction("0.1"), mechanism="count")


def test_it_cannot_be_talked_back_into_the_old_rules(path: Path) -> None:
    spending = opened(path)
    id = spending.reserve(Fraction(1), mechanism="basic", out="").id
    spending.drawing(id)
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 1")
    with pytest.raises(LedgerError, match="stays spent"):
        opened(path).void(id)


@pytest.mark.parametrize("format", [0, 1, 3, None, "2"])
def test_a_ledger_is_upgraded_once_to_what_there_is(path: Path, format: Any) -> None:
    replayed = history.History.replay(MADE["rows"])
    with pytest.raises(ValueError, match="upgraded once"):
        replayed.append({"kind": "upgrade", "format": format, "sequence": 12})
    replayed.append({"kind": "upgrade", "format": 2, "sequence": 12})
    with pytest.raises(ValueError, match="upgraded once"):
        replayed.append({"kind": "upgrade", "format": 2, "sequence": 13})
