"""Where private tables were published from: none of these is ever a public stand-in.

A mechanism may be chosen by trying it on public rows; tried on the private ones, the choice would
be paid by nobody. So the user's state folder lists every file that was spent on, one JSON object in
a line. It is the owner's alone: neither a ledger nor a release says where its table was. A file is
known again by its place, and by its number on the disk whatever its names are; a table of a server
by numbers that the server gives it.

The list guards against mistakes, not against an owner who copies a table and calls it public.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hushtable.errors import LedgerError
from hushtable.kernel.privacy.anchor import state_folder

LIST = "sources.jsonl"

_NO_DISK = -2
_ELSEWHERE = -1


@dataclass(frozen=True)
class Source:
    """A file: where it is, links resolved, and its number on its disk; elsewhere, it has none."""

    path: str
    device: int
    inode: int

    @classmethod
    def of(cls, path: Any) -> Source:
        """The file that a path leads to, or one elsewhere, which has its name as text."""
        if not isinstance(path, str | Path):
            return cls(str(path), _ELSEWHERE, _ELSEWHERE)
        status = os.stat(path)
        return cls(os.path.realpath(path), status.st_dev, status.st_ino)

    @classmethod
    def of_table(cls, identity: str) -> Source:
        """A table of a server, by what is known of it whatever its address is."""
        number = int.from_bytes(hashlib.sha256(identity.encode()).digest()[:6], "big")
        return cls(identity, _NO_DISK, number)

    def is_same(self, other: Source) -> bool:
        """Whether two files are one, or stand in one place."""
        known = self.inode != _ELSEWHERE
        numbers = known and (self.device, self.inode) == (other.device, other.inode)
        return numbers or self.path == other.path


def note_sources(dataset: str, sources: Iterable[Source]) -> None:
    """Note the files of a private table, before anything is spent on it.

    Where the state folder cannot be used, the ledger warns of that.
    """
    lines = [json.dumps({"dataset": dataset, **asdict(source)}) for source in sources]
    with suppress(OSError):
        file = state_folder() / LIST
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        with open(os.open(file, flags, 0o600), "r+", encoding="ascii", errors="replace") as listed:
            known = set(listed.read().split("\n"))
            listed.write("".join(f"\n{line}\n" for line in lines if line not in known))
            listed.flush()
            os.fsync(listed.fileno())


def dataset_from(source: Source) -> str | None:
    """The dataset that was published from a file, if one was."""
    try:
        lines = (state_folder() / LIST).read_text(encoding="ascii").split("\n")
        listed = [json.loads(line) for line in lines if line]
        return next((str(one["dataset"]) for one in listed if source.is_same(_read(one))), None)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        raise LedgerError(
            f"the list of files that were published from, {LIST!r} in the state folder, is damaged"
            " or cannot be read: restore it, or remove it once you are sure that the proxy is"
            " public"
        ) from None


def _read(listed: Any) -> Source:
    return Source(str(listed["path"]), int(listed["device"]), int(listed["inode"]))
