"""The durable record of what was spent on a dataset: an append-only SQLite file.

Every operation opens its own connection, takes the write lock, verifies the whole hash chain, lets
`history` judge the new event, commits and closes. So a kill at any moment leaves either the old
ledger or the new one, any number of processes may spend at once, and nothing is shared over a fork.
Times are notes: the order is the sequence.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from hushtable.errors import BudgetError, LedgerError
from hushtable.privacy.anchor import Anchor, Mark, notes_of
from hushtable.privacy.history import FORMAT, Entry, History, LedgerState
from hushtable.privacy.loss import Neighbours, format_epsilon, parse_epsilon
from hushtable.scratch import sync_folder

__all__ = ["Entry", "Ledger", "LedgerState", "Reservation"]

BUSY_SECONDS = 30.0
_APPLICATION = 0x68757368  # "hush", in the file's header


@dataclass(frozen=True)
class Reservation:
    """An ε that is spent from now on, and the anchor by which a release names its entry.

    The anchor is the entry's hash without its number: what else was reserved is nobody's business.
    """

    id: str
    epsilon: Fraction
    anchor: dict[str, str]


class Ledger:
    """What was spent on one dataset, under one neighbour relation and one privacy unit."""

    def __init__(self, path: Path, ledger: str, warnings: list[str]) -> None:
        self.path = path
        self.warnings = warnings
        self._ledger = ledger
        self._anchor = Anchor(ledger, path, warnings)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        dataset: str,
        budget: Fraction | None,
        neighbours: Neighbours,
        unit: str | None,
        create: bool = True,
    ) -> Ledger:
        """Open the ledger of a dataset; the first use pins what the schema says.

        A budget of None stands for whatever budget an existing ledger has.
        """
        place, pins = _place(path), {"dataset": dataset, "neighbours": neighbours, "unit": unit}
        warnings: list[str] = []
        with _reported(place):
            if create and budget is not None and not _load(place).hashes:
                _create(place, {**pins, "budget": _stored(budget, "the budget")})
            history, seen = _load_newest(place, warnings)
            _check_pins(history, pins)
            _check_budget(history, budget)
            ledger = cls(place, history.pins["ledger"], warnings)
            if seen != history.head:
                with ledger._anchor.locked(seconds=BUSY_SECONDS) as held:
                    if held:
                        # Another copy may have been spent on since: look again, now none can be.
                        history = _load(place)
                        _check_newest(history, ledger._ledger, ledger._anchor.read())
                        ledger._anchor.advance(history.head)
        return ledger

    @staticmethod
    def check_not_lost(path: str | os.PathLike[str]) -> None:
        """Raise when there is no ledger at a path where one was spent on before."""
        place = _place(path)
        with _reported(place):
            lost = not _load(place).hashes and notes_of(place)
            if lost and not _load(place).hashes:  # it may have been made just now
                raise LedgerError(_LOST)

    @staticmethod
    def restart(path: str | os.PathLike[str]) -> None:
        """Forget the ledger that was kept at a path and is gone; a new one may start at zero."""
        place = _place(path)
        with _reported(place):
            if _load(place).hashes:
                raise LedgerError("it is there: only a ledger that is gone can be started again")
            for note in notes_of(place):
                note.unlink(missing_ok=True)

    @staticmethod
    def read(path: str | os.PathLike[str]) -> LedgerState:
        """What a ledger says, without a schema and without writing anything."""
        place = _place(path)
        with _reported(place):
            return _load_newest(place, [])[0].state()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing stays open between operations."""

    def state(self) -> LedgerState:
        """What was spent and what is left, now."""
        return self.read(self.path)

    def verify_anchor(self, anchor: Mapping[str, Any]) -> bool:
        """Whether a release's anchor is an entry of this very ledger.

        Releases of format-1 ledgers also give the entry's number, which must then be right.
        """
        with _reported(self.path):
            place = _load(self.path).place(str(anchor.get("hash")))
        ours = place is not None and anchor.get("ledger") == self._ledger
        return ours and anchor.get("sequence", place) == place

    def check(self, epsilon: Fraction) -> None:
        """Raise what `reserve` would raise now, and spend nothing."""
        self._append(_spending("reserve", epsilon, "", ""), keep=False)

    def reserve(self, epsilon: Fraction, *, mechanism: str, out: str) -> Reservation:
        """Spend ε, durably, before any noise is drawn."""
        return self._spend("reserve", epsilon, mechanism, out)

    def spend(self, epsilon: Fraction, *, mechanism: str, out: str = "") -> Reservation:
        """Spend ε on an answer that leaves at once: there is nothing to void."""
        return self._spend("spend", epsilon, mechanism, out)

    def drawing(self, id: str) -> None:
        """Record that noise is about to be drawn: from now on its ε stays spent."""
        self._append({"kind": "drawing", "id": id})

    def publishing(self, id: str) -> None:
        """Record that the release is about to become visible."""
        self._append({"kind": "publishing", "id": id})

    def published(self, id: str, manifest_sha256: str) -> None:
        """Record that the release is there, and which one it is."""
        self._append({"kind": "published", "id": id, "manifest": manifest_sha256})

    def void(self, id: str) -> None:
        """Give back a reservation for which no noise was drawn."""
        self._append({"kind": "void", "id": id})

    def raise_budget(self, budget: Fraction) -> None:
        """Allow more to be spent; a budget is never lowered."""
        self._append({"kind": "raise", "budget": _stored(budget, "the budget")})

    def _spend(self, kind: str, epsilon: Fraction, mechanism: str, out: str) -> Reservation:
        event = _spending(kind, epsilon, mechanism, out)
        mark = self._append(event)
        anchor = {"ledger": self._ledger, "hash": mark.hash}
        return Reservation(event["id"], parse_epsilon(epsilon), anchor)

    def _append(self, event: dict[str, Any], *, keep: bool = True) -> Mark:
        """Write one event, or refuse it and change nothing."""
        with (
            _reported(self.path),
            self._anchor.locked(seconds=BUSY_SECONDS) as held,
            _connected(self.path, "rw") as db,
        ):
            db.execute("BEGIN IMMEDIATE")
            history = _history(db)
            _check_newest(history, self._ledger, self._anchor.read())
            upgrade = [{"kind": "upgrade", "format": FORMAT}] if history.format < FORMAT else []
            rows = [_row(history, new) for new in (*upgrade, event)]
            if keep:  # otherwise closing the connection rolls back
                db.executemany("INSERT INTO event VALUES (?, ?, ?)", rows)
                if upgrade:
                    db.execute(f"PRAGMA user_version = {FORMAT}")
                db.execute("COMMIT")
            if keep and held:
                self._anchor.advance(history.head)
            return history.head


def _place(path: str | os.PathLike[str]) -> Path:
    with _reported(path):
        place = Path(os.path.realpath(path))
        found = place.parent.exists() and place.parent.is_dir()
    if not found:
        raise LedgerError(f"the folder of the ledger {str(place)!r} does not exist")
    return place


def _stored(epsilon: Fraction, what: str = "epsilon") -> str:
    return format_epsilon(parse_epsilon(epsilon, what=what))


def _spending(kind: str, epsilon: Fraction, mechanism: str, out: str) -> dict[str, Any]:
    return {
        "kind": kind,
        "id": secrets.token_hex(6),
        "salt": secrets.token_hex(16),  # a release shows the entry's hash, which must tell nothing
        "epsilon": _stored(epsilon),
        "mechanism": mechanism,
        "out": os.path.abspath(out) if out else "",
    }


def _row(history: History, event: dict[str, Any]) -> tuple[int, str, str]:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    body, hash = history.append({**event, "sequence": len(history.hashes) + 1, "time": now})
    return len(history.hashes), body, hash


def _create(path: Path, pins: dict[str, Any]) -> None:
    event = {"kind": "open", "format": FORMAT, "ledger": secrets.token_hex(16), **pins}
    with _connected(path, "rwc") as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("BEGIN IMMEDIATE")
        if _history(db).hashes:
            return  # another process was first; its pins are compared with ours like any other's
        if notes_of(path):
            raise LedgerError(_LOST)
        db.execute(f"PRAGMA application_id = {_APPLICATION}")
        db.execute(f"PRAGMA user_version = {FORMAT}")
        db.execute("CREATE TABLE event (sequence INTEGER PRIMARY KEY, body TEXT, hash TEXT)")
        db.execute("INSERT INTO event VALUES (?, ?, ?)", _row(History(), event))
        db.execute("COMMIT")
    sync_folder(path.parent)


def _load(path: Path) -> History:
    """The verified history; an empty one where there is no ledger yet."""
    if not path.exists():
        return History()
    try:
        # Not mode=ro, which would leave its WAL files behind; query_only writes no more than that.
        with _connected(path, "rw") as db:
            db.execute("PRAGMA query_only = ON")
            db.execute("BEGIN")
            return _history(db)
    except sqlite3.OperationalError as error:
        if _code(error) != sqlite3.SQLITE_CANTOPEN or os.access(path.parent, os.W_OK):
            raise
    return _load_copy(path)


def _load_copy(path: Path) -> History:
    """The history in a folder that cannot be written, where SQLite does not read WAL files.

    The WAL is copied too, or the newest entries would be overlooked. Nowhere else: closing a plain
    handle on the file would drop the locks that another thread's connection has on it.
    """
    with tempfile.TemporaryDirectory(prefix="hushtable-") as folder:
        for name in (path.name, f"{path.name}-wal"):
            if path.with_name(name).exists():
                shutil.copyfile(path.with_name(name), Path(folder, name))
        with _connected(Path(folder, path.name), "rw") as db:
            return _history(db)


def _load_newest(path: Path, warnings: list[str]) -> tuple[History, Mark | None]:
    """The history, once it is known to be no older than what was seen before, and what was seen."""
    first = _load(path)
    if not first.hashes:
        raise LedgerError("there is no ledger here")
    # The note before the ledger: another process may commit in between, and the note never leads.
    seen = Anchor(first.pins["ledger"], path, warnings).read()
    history = _load(path)
    _check_newest(history, first.pins["ledger"], seen)
    return history, seen


def _history(db: sqlite3.Connection) -> History:
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if not application and not db.execute("SELECT 1 FROM sqlite_master").fetchone():
        return History()  # made, but killed before its first event
    if application != _APPLICATION:
        raise LedgerError("it is a database, but not a ledger")
    if version > FORMAT:
        raise LedgerError("it was written by a newer hushtable: upgrade to use it")
    rows = db.execute("SELECT sequence, body, hash FROM event ORDER BY sequence")
    return History.replay(rows.fetchall())  # read to the end, so that the connection can close


def _check_newest(history: History, ledger: str, seen: Mark | None) -> None:
    if history.pins.get("ledger") != ledger:
        raise LedgerError("another ledger was put in its place while it was in use")
    if seen is not None and not history.has(seen):
        raise LedgerError(
            "an older or altered copy was put back, or another copy of it was spent on"
            f" (entry {seen.sequence} is missing or differs): put the newest copy back"
        )


def _check_pins(history: History, pins: dict[str, Any]) -> None:
    wrong = [name for name in pins if history.pins[name] != pins[name]]
    if wrong:
        pinned = ", ".join(f"{name} {history.pins[name] or 'none'!r}" for name in wrong)
        wanted = ", ".join(f"{name} {pins[name] or 'none'!r}" for name in wrong)
        raise LedgerError(
            f"it is pinned to {pinned} and the schema says {wanted}: use the schema it was made"
            " with, or another ledger"
        )


def _check_budget(history: History, budget: Fraction | None) -> None:
    if budget is None or budget in history.budgets:
        return
    now, asked = format_epsilon(history.budgets[-1]), format_epsilon(budget)
    if budget < history.budgets[-1]:
        advice = f"a budget is never lowered; write {now} in the schema"
    else:
        advice = f"to raise it, use `hush budget SCHEMA --raise {asked}`"
    raise BudgetError(f"the schema's budget is {asked} but the ledger's is {now}: {advice}")


@contextlib.contextmanager
def _connected(path: Path, mode: str) -> Iterator[sqlite3.Connection]:
    db = sqlite3.connect(
        f"{path.as_uri()}?mode={mode}", uri=True, timeout=BUSY_SECONDS, isolation_level=None
    )
    with contextlib.closing(db):
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA fullfsync = ON")
        yield db


@contextlib.contextmanager
def _reported(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn whatever goes wrong with the file into one line that names it."""
    try:
        yield
    except LedgerError as error:
        raise LedgerError(f"ledger {str(path)!r}: {error}") from None
    except sqlite3.Error as error:
        reason = _REASONS.get(_code(error), "it is damaged: put an intact copy back")
        raise LedgerError(f"ledger {str(path)!r}: {reason}") from None
    except OSError as error:
        raise LedgerError(f"ledger {str(path)!r}: {error.strerror or 'disk error'}") from None
    except ValueError:
        raise LedgerError("the ledger's path is not possible") from None


def _code(error: sqlite3.Error) -> int:
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


_LOST = (
    "a ledger was kept here before and is gone: put it back. If its data and releases are gone too,"
    " start again at zero with `hush budget SCHEMA --restart`"
)

_REASONS = {
    sqlite3.SQLITE_BUSY: "it is busy: another process is writing to it; try again later",
    sqlite3.SQLITE_LOCKED: "it is busy: another process is writing to it; try again later",
    sqlite3.SQLITE_READONLY: "it is read-only: make the file and its folder writable",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened: it must be a file, in a folder you can write to",
    sqlite3.SQLITE_PERM: "it cannot be opened: make the file and its folder writable",
    sqlite3.SQLITE_FULL: "the disk is full, so nothing was recorded",
    sqlite3.SQLITE_IOERR: "the disk is full or failing, so nothing can be recorded",
    sqlite3.SQLITE_NOTADB: "it is not a ledger, nor any SQLite database",
}
