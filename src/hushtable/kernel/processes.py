"""Which process this is: what must not be used twice is not used by a forked copy of its owner."""

from __future__ import annotations

import os

_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count_fork)


def this_process() -> tuple[int, int]:
    """Name this process by its pid and by how many forks led to it.

    A pid alone may be that of the parent, in another namespace or when it is used again; the count
    alone misses forks that C code makes.
    """
    return os.getpid(), _forks
