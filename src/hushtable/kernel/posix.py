"""What the kernel needs of the system, and says in one line where there is none of it.

A budget is safe because a ledger is locked, and durable in its folder; true data, because spilled
files are in a folder that nobody else can open and that is removed also after a kill, and because a
signal ends a run cleanly. Windows has neither these locks nor folders that can be made durable.
"""

from __future__ import annotations

from hushtable.errors import PlatformError

try:
    import fcntl
    from signal import SIGHUP, SIGINT, SIGTERM, pthread_sigmask
except ImportError:
    raise PlatformError(
        "this needs Linux or macOS, where a ledger can be locked and made durable and true data"
        " stay private; on Windows, run it in WSL (wsl --install). Releases can be read here: hush"
        " query, info, export, plan, mechanisms, schema check"
    ) from None

STOPPING = (SIGINT, SIGTERM, SIGHUP)
"""Signals that end a run."""

__all__ = ["STOPPING", "fcntl", "pthread_sigmask"]
