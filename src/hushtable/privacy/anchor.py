"""A note outside the ledger of the newest entry seen, so that an older copy put back is noticed.

There is one small JSON file per ledger, named by the ledger's identity, in the user's state folder
(HUSHTABLE_STATE overrides it). It only ever moves forward. Where the folder cannot be used the
ledger still works, and warns that older copies would not be noticed. It guards against mistakes (a
restored backup, a copied folder), not against an owner who alters both.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hushtable.errors import LedgerError
from hushtable.scratch import sync_folder

_UNGUARDED = "the state folder cannot be used"


@dataclass(frozen=True)
class Mark:
    """One place in a ledger's hash chain."""

    sequence: int
    hash: str


def state_folder() -> Path:
    """The folder for notes that outlive a run."""
    chosen = os.environ.get("HUSHTABLE_STATE")
    if chosen:
        return Path(chosen).absolute()
    import platformdirs  # here, because reading a release never needs it

    folder = platformdirs.user_state_path("hushtable")
    if not folder.is_absolute():  # without a home, "~" stays as it is and would mean a folder here
        raise FileNotFoundError("there is no home folder")
    return folder


class Anchor:
    """The note about one ledger; trouble with the folder goes to `warnings`."""

    def __init__(self, ledger: str, path: Path, warnings: list[str]) -> None:
        self._ledger = ledger
        self._path = str(path)
        self._warnings = warnings

    def read(self) -> Mark | None:
        """The newest entry seen so far, or None when there is no note that can be read."""
        try:
            file = state_folder() / f"{self._ledger}.json"
            note = json.loads(file.read_bytes())
            return Mark(int(note["sequence"]), str(note["hash"]))
        except FileNotFoundError:
            return None
        except OSError as error:
            self._warn(error)
            return None
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
            raise LedgerError(
                f"the note of the newest entry, {str(file)!r}, is damaged: remove it once you are"
                " sure that this ledger is the newest copy"
            ) from None

    def advance(self, mark: Mark) -> None:
        """Move the note forward, never back; only for whoever holds it."""
        try:
            seen = self.read()
            if seen is None or seen.sequence < mark.sequence:
                note = {"sequence": mark.sequence, "hash": mark.hash, "path": self._path}
                _write_whole(state_folder() / f"{self._ledger}.json", json.dumps(note))
        except OSError as error:
            self._warn(error)

    @contextlib.contextmanager
    def locked(self, *, seconds: float) -> Iterator[bool]:
        """Hold the note alone, so that two copies of a ledger cannot be spent on at once.

        False when there is no note to hold; the work then goes on without it.
        """
        with contextlib.ExitStack() as held:
            locked = False
            try:
                folder = state_folder()
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
                handle = os.open(folder / f"{self._ledger}.lock", flags, 0o600)
                held.callback(os.close, handle)
                _lock(handle, seconds)
                held.callback(fcntl.flock, handle, fcntl.LOCK_UN)
                locked = True
            except OSError as error:
                self._warn(error)
            yield locked

    def _warn(self, error: OSError) -> None:
        if not any(warning.startswith(_UNGUARDED) for warning in self._warnings):
            self._warnings.append(
                f"{_UNGUARDED} ({error.strerror or error}), so an older copy of the ledger put back"
                " would not be noticed: set HUSHTABLE_STATE to a folder that can be written"
            )


def notes_of(path: Path) -> list[Path]:
    """The notes about ledgers that were kept at a path."""
    found = []
    with contextlib.suppress(OSError):
        for file in state_folder().glob("*.json"):
            with contextlib.suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
                if json.loads(file.read_bytes())["path"] == str(path):
                    found.append(file)
    return found


def _lock(handle: int, seconds: float) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                raise LedgerError(
                    "the ledger is busy: another process is spending on it; try again later"
                ) from None
            time.sleep(0.01)


def _write_whole(file: Path, text: str) -> None:
    """Replace a file by one that is complete and durable, whenever the power goes."""
    new = file.with_suffix(".tmp")
    with new.open("w", encoding="ascii") as writing:
        writing.write(text)
        writing.flush()
        os.fsync(writing.fileno())
    os.replace(new, file)
    sync_folder(file.parent)
