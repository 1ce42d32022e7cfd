"""Which ledgers a dataset is known to have: its budget belongs to it, not to the name of a file.

Wherever a ledger is made, the user's state folder hears of it first. A dataset that has a ledger
gets a second one only when its owner says why: a renamed, copied or moved schema, or a mistyped
path, would otherwise begin a fresh budget. A ledger is known by its identity, so it may be moved.
"""

from __future__ import annotations

import hashlib
import sqlite3
from contextlib import AbstractContextManager
from pathlib import Path

from hushtable.errors import LedgerError
from hushtable.privacy import storage
from hushtable.privacy.anchor import Note, locked, notes

_ANEW = 'start again at zero with `hush budget SCHEMA --new-ledger "why"`'


def check_first(dataset: str, path: Path, *, gone: bool = True) -> None:
    """Refuse to begin a ledger for a dataset that has one, or where one was kept and is gone.

    Without `gone`, what is gone is no obstacle.
    """
    known = [(note, holds(note)) for note in known_ledgers(dataset, path)]
    if any(there and note.path == str(path) for note, there in known):
        return  # made by another process, just now
    for note, there in known:
        if there:
            raise LedgerError(
                f"the dataset {dataset!r} has a ledger already, {note.path!r}: use it (--ledger) or"
                " move it here; for other people, name the dataset otherwise. A second budget"
                ' begins with `hush budget SCHEMA --new-ledger "why"`'
            )
    for note, _ in known:
        if gone and note.seen is not None:  # otherwise it was never made
            was = "a ledger was kept here before and is gone: put it back."
            if note.path != str(path):
                was = f"the dataset {dataset!r} had its ledger at {note.path!r}, which is gone:"
                was += " put it back."
            raise LedgerError(f"{was} If its data and releases are gone too, {_ANEW}")


def known_ledgers(dataset: str, path: Path) -> list[Note]:
    """The ledgers that were noted for a dataset, and those that were kept at a path."""
    return [
        note
        for note in notes()
        if note.path == str(path) or (note.dataset or _pinned(note)) == dataset
    ]


def holds(note: Note) -> bool:
    """Whether a ledger is still where it was noted, as far as can be seen."""
    try:
        return storage.load(Path(note.path)).pins.get("ledger") == note.ledger
    except (LedgerError, sqlite3.Error, OSError, ValueError):
        return True  # something is there


def _pinned(note: Note) -> str | None:
    """The dataset of a ledger that older software noted, from the ledger itself."""
    try:
        pins = storage.load(Path(note.path)).pins
    except (LedgerError, sqlite3.Error, OSError, ValueError):
        return None
    return pins["dataset"] if pins.get("ledger") == note.ledger else None


def dataset_locked(dataset: str, warnings: list[str]) -> AbstractContextManager[bool]:
    """Keep others from making a ledger of this dataset meanwhile."""
    name = hashlib.sha256(dataset.encode()).hexdigest()
    return locked(name, warnings, seconds=storage.BUSY_SECONDS)
