"""The durable record of what was spent on a dataset: an append-only SQLite file.

Every operation opens its own connection, takes the write lock, verifies the whole hash chain, lets
`history` judge the new event, commits and closes. So a kill at any moment leaves either the old
ledger or the new one, any number of processes may spend at once, and nothing is shared over a fork.
Times are notes: the order is the sequence.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import Any

from hushtable.errors import BudgetError, LedgerError, OptionError
from hushtable.kernel.privacy import storage
from hushtable.kernel.privacy.anchor import Anchor, Mark, Note, Spender
from hushtable.kernel.privacy.datasets import check_first, holds, known_ledgers, making_locked
from hushtable.kernel.privacy.history import FORMAT, Entry, History, LedgerState
from hushtable.kernel.privacy.loss import Neighbours, format_epsilon, parse_epsilon
from hushtable.kernel.privacy.storage import connected, history_of, load, place_of, reported
from hushtable.scratch import sync_folder

__all__ = ["Entry", "Ledger", "LedgerState", "Reservation"]

ONE_PERSON = "one person"
"""The unit of a dataset of several tables: whatever one person has in all of them."""

_LONGEST_REASON = 500


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

    def __init__(
        self,
        path: Path,
        pins: dict[str, Any],
        warnings: list[str],
        spender: Spender | None = None,
        attributes: Mapping[str, str] | None = None,
    ) -> None:
        self.path = path
        self.warnings = warnings
        self._pins = pins
        self._ledger: str = pins["ledger"]
        self._spender = spender
        self._attributes = dict(attributes or {})
        self._anchor = Anchor(self._ledger, path, pins["dataset"], warnings, spender)

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
        why: str | None = None,
        spender: Spender | None = None,
        attributes: Mapping[str, str] | None = None,
    ) -> Ledger:
        """Open the ledger of a dataset; the first use pins what the schema says.

        A budget of None stands for whatever budget an existing ledger has. With a reason, `why`, a
        new ledger is made, though the dataset has or had another one. By the `spender` the ledger
        is known again when the schema names another dataset. Its table, and fingerprints of its
        attributes, are noted beside what is spent.
        """
        place, pins = place_of(path), {"dataset": dataset, "neighbours": neighbours, "unit": unit}
        warnings: list[str] = []
        with reported(place):
            missing = not load(place).hashes
            if why is not None:
                _check_reason(why, missing)
            if create and budget is not None and missing:
                stored = {"budget": _stored(budget, "the budget"), "why": why}
                _create(place, {**pins, **stored}, warnings, spender)
            history, note = _load_newest(place, warnings)
            _check_pins(history, pins)
            _check_budget(history, budget)
            ledger = cls(place, history.pins, warnings, spender, attributes)
            ledger._keep_note(history.head, note)
        return ledger

    @staticmethod
    def check_first(
        path: str | os.PathLike[str],
        dataset: str,
        spender: Spender | None = None,
        *,
        gone: bool = True,
    ) -> None:
        """Raise when there is no ledger at a path and the dataset has, or had, one elsewhere.

        Without `gone`, what is gone is no obstacle.
        """
        place = place_of(path)
        with reported(place):
            if not load(place).hashes:
                check_first(dataset, place, spender, gone=gone)

    @staticmethod
    def read(path: str | os.PathLike[str]) -> LedgerState:
        """What a ledger says, without a schema and without writing anything."""
        place = place_of(path)
        with reported(place):
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
        with reported(self.path):
            place = load(self.path).place(str(anchor.get("hash")))
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
        if self._spender is not None:
            event |= {"table": self._spender.table, "attributes": self._attributes}
        mark = self._append(event)
        anchor = {"ledger": self._ledger, "hash": mark.hash}
        return Reservation(event["id"], parse_epsilon(epsilon), anchor)

    def _keep_note(self, head: Mark, note: Note | None) -> None:
        """Note where the ledger is and how far it got, unless that is known."""
        if note is None:
            self._warn_of_others()
        elif (note.seen, note.dataset) == (head, self._pins["dataset"]):
            if note.path == str(self.path):
                known = self._spender is None or self._spender in note.spenders
            else:
                known = holds(note)  # of two copies, the one spent on is noted
            if known:
                return
        with self._anchor.locked(seconds=storage.BUSY_SECONDS) as held:
            if held:
                # Another copy may have been spent on since: look again, now none can be.
                history = load(self.path)
                _check_newest(history, self._ledger, self._anchor.read())
                self._anchor.advance(history.head)

    def _warn_of_others(self) -> None:
        """A ledger that was made elsewhere is used as it is, but not in silence."""
        dataset = self._pins["dataset"]
        others = [n.path for n in known_ledgers(dataset, self.path) if n.ledger != self._ledger]
        if others and self._pins["why"] is None:
            self.warnings.append(
                f"the dataset {dataset!r} also has the ledger {others[0]!r}: what is spent from one"
                " does not count in the other"
            )

    def _append(self, event: dict[str, Any], *, keep: bool = True) -> Mark:
        """Write one event, or refuse it and change nothing."""
        with (
            reported(self.path),
            self._anchor.locked(seconds=storage.BUSY_SECONDS) as held,
            connected(self.path, "rw") as db,
        ):
            db.execute("BEGIN IMMEDIATE")
            history = history_of(db)
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


def _check_reason(why: str, missing: bool) -> None:
    if not missing:
        raise LedgerError("there is a ledger here: a new one can only be made in another place")
    if not why.strip() or not why.isprintable() or len(why) > _LONGEST_REASON:
        raise OptionError(f"say why in a line of at most {_LONGEST_REASON} characters")


def _create(
    path: Path, pins: dict[str, Any], warnings: list[str], spender: Spender | None = None
) -> None:
    """Begin a ledger; the state folder hears of it first, so that a kill leaves none unknown."""
    event = {"kind": "open", "format": FORMAT, "ledger": secrets.token_hex(16), **pins}
    with making_locked(warnings) as held:
        if load(path).hashes:
            return  # another process was first; its pins are compared with ours like any other's
        if pins["why"] is None:
            check_first(pins["dataset"], path, spender)
        with connected(path, "rwc") as db:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("BEGIN IMMEDIATE")
            if history_of(db).hashes:
                return
            if held:
                Anchor(event["ledger"], path, pins["dataset"], warnings, spender).announce()
            db.execute(f"PRAGMA application_id = {storage.APPLICATION}")
            db.execute(f"PRAGMA user_version = {FORMAT}")
            db.execute("CREATE TABLE event (sequence INTEGER PRIMARY KEY, body TEXT, hash TEXT)")
            db.execute("INSERT INTO event VALUES (?, ?, ?)", _row(History(), event))
            db.execute("COMMIT")
        sync_folder(path.parent)


def _load_newest(path: Path, warnings: list[str]) -> tuple[History, Note | None]:
    """The history, once it is known to be no older than what was noted, and the note."""
    first = load(path)
    if not first.hashes:
        raise LedgerError("there is no ledger here")
    # The note before the ledger: another process may commit in between, and the note never leads.
    ledger, dataset = first.pins["ledger"], first.pins["dataset"]
    note = Anchor(ledger, path, dataset, warnings).note()
    history = load(path)
    _check_newest(history, ledger, note.seen if note else None)
    return history, note


def _check_newest(history: History, ledger: str, seen: Mark | None) -> None:
    if history.pins.get("ledger") != ledger:
        raise LedgerError("another ledger was put in its place while it was in use")
    if seen is not None and not history.has(seen):
        raise LedgerError(
            "an older or altered copy was put back, or another copy of it was spent on"
            f" (entry {seen.sequence} is missing or differs): put the newest copy back"
        )


def _check_pins(history: History, pins: dict[str, Any]) -> None:
    """Compare what was pinned with what a schema says.

    A ledger of one table pins its id column and `max_rows`. Several tables about the same people
    have columns and bounds of their own: they ask for one person, and so did a ledger that pins an
    id column. One that pins no unit protects rows, of which a person may have had many.
    """
    pinned = dict(history.pins)
    if pins["unit"] == ONE_PERSON and pinned["unit"] is not None:
        pinned["unit"] = ONE_PERSON
    wrong = [name for name in pins if pinned[name] != pins[name]]
    if wrong:
        was = ", ".join(f"{name} {pinned[name] or 'none'!r}" for name in wrong)
        wanted = ", ".join(f"{name} {pins[name] or 'none'!r}" for name in wrong)
        raise LedgerError(
            f"it is pinned to {was} and the schema says {wanted}: use the schema it was made"
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
