"""Notes outside the ledgers: where each is, whose it is, and the newest entry seen in it.

There is one small JSON file per ledger, named by the ledger's identity, in the user's state folder
(HUSHTABLE_STATE overrides it). By the newest entry an older copy put back is noticed; it only ever
moves forward. By the dataset's name, and by the schemas that spent from it, a second ledger of a
dataset is noticed (see `datasets`). Where the folder cannot be used a ledger still works, and warns
of that. The notes guard against mistakes (a restored backup, a copied folder, a renamed schema),
not against an owner who alters them too.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hushtable.errors import LedgerError
from hushtable.kernel.posix import fcntl
from hushtable.scratch import sync_folder

_UNGUARDED = "the state folder cannot be used"
_DAMAGED = (ValueError, TypeError, KeyError, OverflowError, RecursionError)


@dataclass(frozen=True)
class Mark:
    """One place in a ledger's hash chain."""

    sequence: int
    hash: str


@dataclass(frozen=True)
class Spender:
    """A schema by which a ledger is spent from."""

    table: str
    file: str | None
    """Its file, links resolved; None for a schema in memory."""
    names_dataset: bool
    """Whether it says whose budget it spends; otherwise the dataset is the table."""


@dataclass(frozen=True)
class Note:
    """What the state folder says of one ledger."""

    ledger: str
    path: str
    dataset: str | None
    """None in the notes of older software."""
    seen: Mark | None
    """The newest entry; None when the ledger was only about to be made."""
    spenders: tuple[Spender, ...] = ()
    """All that were seen; none in the notes of older software."""


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

    def __init__(
        self,
        ledger: str,
        path: Path,
        dataset: str,
        warnings: list[str],
        spender: Spender | None = None,
    ) -> None:
        self._ledger = ledger
        self._about = {"path": str(path), "dataset": dataset}
        self._warnings = warnings
        self._spenders = () if spender is None else (spender,)

    def note(self) -> Note | None:
        """What was noted so far, or None when there is no note that can be read."""
        try:
            file = state_folder() / f"{self._ledger}.json"
            return _parsed(self._ledger, json.loads(file.read_bytes()))
        except FileNotFoundError:
            return None
        except OSError as error:
            _warn(self._warnings, error)
            return None
        except _DAMAGED:
            raise LedgerError(
                f"the note of the newest entry, {str(file)!r}, is damaged: remove it once you are"
                " sure that this ledger is the newest copy"
            ) from None

    def read(self) -> Mark | None:
        """The newest entry seen so far, if any is noted."""
        note = self.note()
        return None if note is None else note.seen

    def announce(self) -> None:
        """Note a ledger that is about to be made."""
        self._write(Mark(0, ""), ())

    def advance(self, mark: Mark) -> None:
        """Move the note forward, never back; only for whoever holds it."""
        note = self.note()
        seen = None if note is None else note.seen
        if seen is None or seen.sequence <= mark.sequence:
            self._write(mark, () if note is None else note.spenders)

    def _write(self, mark: Mark, before: tuple[Spender, ...]) -> None:
        spenders = [asdict(spender) for spender in dict.fromkeys((*before, *self._spenders))]
        content = {**asdict(mark), **self._about, "spenders": spenders}
        try:
            _write_whole(state_folder() / f"{self._ledger}.json", json.dumps(content))
        except OSError as error:
            _warn(self._warnings, error)

    def locked(self, *, seconds: float) -> contextlib.AbstractContextManager[bool]:
        """Hold the note alone, so that two copies of a ledger cannot be spent on at once."""
        return locked(self._ledger, self._warnings, seconds=seconds)


@contextlib.contextmanager
def locked(name: str, warnings: list[str], *, seconds: float) -> Iterator[bool]:
    """Hold a lock of the state folder alone.

    False when there is nothing to hold; the work then goes on without it.
    """
    with contextlib.ExitStack() as held:
        done = False
        try:
            folder = state_folder()
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
            handle = os.open(folder / f"{name}.lock", flags, 0o600)
            held.callback(os.close, handle)
            _lock(handle, seconds)
            held.callback(fcntl.flock, handle, fcntl.LOCK_UN)
            done = True
        except OSError as error:
            _warn(warnings, error)
        yield done


def notes(unreadable: list[Path] | None = None) -> list[Note]:
    """All notes that can be read; the files of the others are added to `unreadable`."""
    found = []
    with contextlib.suppress(OSError):
        for file in sorted(state_folder().glob("*.json")):
            try:
                found.append(_parsed(file.stem, json.loads(file.read_bytes())))
            except FileNotFoundError:
                continue  # removed meanwhile
            except (OSError, *_DAMAGED):
                if unreadable is not None:
                    unreadable.append(file)
    return found


def _parsed(ledger: str, content: Any) -> Note:
    mark = Mark(int(content["sequence"]), str(content["hash"]))
    dataset = content.get("dataset")
    return Note(
        ledger=ledger,
        path=str(content["path"]),
        dataset=None if dataset is None else str(dataset),
        seen=mark if mark.sequence else None,
        spenders=tuple(map(_spender, content.get("spenders", ()))),
    )


def _spender(content: Any) -> Spender:
    file = content["file"]
    return Spender(
        str(content["table"]),
        None if file is None else str(file),
        bool(content["names_dataset"]),
    )


def _warn(warnings: list[str], error: OSError) -> None:
    if not any(warning.startswith(_UNGUARDED) for warning in warnings):
        warnings.append(
            f"{_UNGUARDED} ({error.strerror or error}), so neither an older copy of the ledger put"
            " back nor a second ledger of the dataset would be noticed: set HUSHTABLE_STATE to a"
            " folder that can be written"
        )


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
