"""The ledger's SQLite file: opened, replayed and closed again for every look.

Whatever goes wrong with it becomes one line that names the file.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

from hushtable.errors import LedgerError
from hushtable.kernel.privacy.history import FORMAT, History

BUSY_SECONDS = 30.0
APPLICATION = 0x68757368  # "hush", in the file's header


def place_of(path: str | os.PathLike[str]) -> Path:
    """Where a ledger really is, links resolved."""
    with reported(path):
        place = Path(os.path.realpath(path))
        found = place.parent.exists() and place.parent.is_dir()
    if not found:
        raise LedgerError(f"the folder of the ledger {str(place)!r} does not exist")
    return place


def load(path: Path) -> History:
    """The verified history; an empty one where there is no ledger yet."""
    if not path.exists():
        return History()
    try:
        # Not mode=ro, which would leave its WAL files behind; query_only writes no more than that.
        with connected(path, "rw") as db:
            db.execute("PRAGMA query_only = ON")
            db.execute("BEGIN")
            return history_of(db)
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
        with connected(Path(folder, path.name), "rw") as db:
            return history_of(db)


def history_of(db: sqlite3.Connection) -> History:
    """The verified history in a database; an empty one where nothing was written yet."""
    (application,) = db.execute("PRAGMA application_id").fetchone()
    (version,) = db.execute("PRAGMA user_version").fetchone()
    if not application and not db.execute("SELECT 1 FROM sqlite_master").fetchone():
        return History()  # made, but killed before its first event
    if application != APPLICATION:
        raise LedgerError("it is a database, but not a ledger")
    if version > FORMAT:
        raise LedgerError("it was written by a newer hushtable: upgrade to use it")
    rows = db.execute("SELECT sequence, body, hash FROM event ORDER BY sequence")
    return History.replay(rows.fetchall())  # read to the end, so that the connection can close


@contextlib.contextmanager
def connected(path: Path, mode: str) -> Iterator[sqlite3.Connection]:
    """A connection whose commits wait for the disk."""
    db = sqlite3.connect(
        f"{path.as_uri()}?mode={mode}", uri=True, timeout=BUSY_SECONDS, isolation_level=None
    )
    with contextlib.closing(db):
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA fullfsync = ON")
        yield db


@contextlib.contextmanager
def reported(path: str | os.PathLike[str]) -> Iterator[None]:
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
