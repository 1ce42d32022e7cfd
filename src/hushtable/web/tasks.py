"""What workers do: every answer of the site is made whole in a worker process."""

from __future__ import annotations

import gzip
import os
from collections import OrderedDict
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from hushtable.errors import HushError
from hushtable.web.exchange import Asked, Reply

if TYPE_CHECKING:
    from hushtable.release import Release

TASKS = {
    "page": "hushtable.web.page:page",
    "download.csv": "hushtable.web.page:download_csv",
    "download.parquet": "hushtable.web.page:download_parquet",
    "answer.json": "hushtable.web.api:answer",
    "info.json": "hushtable.web.api:info",
}
"""Tasks that ask one release."""

INDEX = "index"
SMALL = 1_000
"""Bytes below which compression is not worth it."""
_LEVEL = 5
MOST_OPEN = 16
"""Releases that a worker keeps open."""


class Opened:
    """The releases that a worker has open, the last used ones; one that changed is opened anew."""

    def __init__(self) -> None:
        self._releases: OrderedDict[tuple[object, ...], Release] = OrderedDict()

    def get(self, folder: str) -> Release:
        import hushtable as ht

        key = (folder, *identity(Path(folder)))
        release = self._releases.pop(key, None)
        if release is None:
            release = ht.open(folder)
        self._releases[key] = release
        while len(self._releases) > MOST_OPEN:
            self._releases.popitem(last=False)
        return release


def identity(folder: Path) -> tuple[int, int, int]:
    """What changes when a release is replaced by another."""
    try:
        found = os.stat(folder / "manifest.json")
    except OSError:
        return (0, 0, 0)
    return (found.st_ino, found.st_mtime_ns, found.st_size)


def carry_out(asked: Asked, opened: Opened) -> Reply:
    """Do what is asked, and compress the answer here, where it keeps nobody waiting."""
    reply = _answered(asked, opened)
    if not asked.gzip or len(reply.body) < SMALL:
        return reply
    body = gzip.compress(reply.body, _LEVEL, mtime=0)
    return Reply(reply.status, reply.kind, body, (*reply.headers, ("Content-Encoding", "gzip")))


def _answered(asked: Asked, opened: Opened) -> Reply:
    """What goes wrong is said in one line, without a trace or a path."""
    try:
        if asked.task == INDEX:
            return _function("hushtable.web.index:index")(asked)
        return _function(TASKS[asked.task])(opened.get(asked.folder), asked)
    except HushError as problem:
        return refused(asked, str(problem).replace(asked.folder, asked.name), 400)
    except MemoryError:
        return refused(asked, "the answer needs more memory than a question may take", 503)
    except Exception as problem:
        return refused(asked, f"internal error ({type(problem).__name__}); please report it", 500)


def refused(asked: Asked, line: str, status: int) -> Reply:
    """A refusal in one line, as a page or as JSON."""
    page = asked.task in ("page", INDEX)
    module = "hushtable.web.page" if page else "hushtable.web.api"
    reply: Reply = _function(f"{module}:refusal")(asked, line, status)
    return reply


def _function(name: str) -> Callable[..., Reply]:
    module, _, function = name.partition(":")
    found: Callable[..., Reply] = getattr(import_module(module), function)
    return found
