"""Unfinished work: folders, private, locked while in use, removed also after a kill; and files."""

from __future__ import annotations

import glob
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl

    _CAN_LOCK = True
except ImportError:  # on Windows, where analysts export and nobody publishes
    _CAN_LOCK = False

_SPILL = "hushtable-spill-"
_GRACE_SECONDS = 60  # a folder this young may not have been locked yet


@contextmanager
def spill_folder() -> Iterator[Path]:
    """A folder for what an engine spills to disk, readable by this user only."""
    parent = Path(tempfile.gettempdir())
    remove_abandoned(parent, f"{_SPILL}*")
    with held_folder(Path(tempfile.mkdtemp(prefix=_SPILL, dir=parent))) as folder:
        yield folder


@contextmanager
def held_folder(folder: Path) -> Iterator[Path]:
    """Hold a folder's lock; remove the folder at the end, unless it has been moved away.

    A killed process cannot clean up after itself, but its locks are released: the next process
    finds the folder unlocked and removes it.
    """
    with _lock(folder):
        try:
            yield folder
        finally:
            try:
                shutil.rmtree(folder, ignore_errors=True)
            except BaseException:  # a signal came meanwhile: the commands let one through
                shutil.rmtree(folder, ignore_errors=True)
                raise


@contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Lock a folder, where the system can."""
    if not _CAN_LOCK:
        yield
        return
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def partial_folder(target: Path, id: str) -> Path:
    """The folder beside a target that is to become it."""
    return target.with_name(f".{target.name}.{id}.partial")


@contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """A path to write to, which becomes the target at the end; after a failure nothing is left."""
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        yield partial
        partial.replace(target)
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """A folder to fill, which becomes the target at the end; after a failure nothing is left."""
    remove_abandoned(target.parent, f".{glob.escape(target.name)}.*.partial")
    partial = partial_folder(target, str(os.getpid()))
    partial.mkdir()
    with held_folder(partial):
        yield partial
        partial.rename(target)


def remove_abandoned(parent: Path, pattern: str) -> None:
    """Remove this user's matching folders that no process holds any more, where locks can tell."""
    for folder in parent.glob(pattern) if _CAN_LOCK else ():
        with suppress(OSError):
            status = folder.lstat()
            if status.st_uid == os.getuid() and time.time() - status.st_ctime >= _GRACE_SECONDS:
                remove_unheld(folder)


def remove_unheld(folder: Path) -> bool:
    """Remove a folder unless a process holds it; whether it is gone."""
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        shutil.rmtree(folder, ignore_errors=True)
    except OSError:
        return False
    finally:
        os.close(lock)
    return not folder.exists()


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
