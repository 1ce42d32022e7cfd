"""How much one question, one client and all of them together may take of the machine."""

from __future__ import annotations

import os
from dataclasses import dataclass, fields
from typing import Any

from hushtable.errors import OptionError

PREFIX = "HUSHTABLE_"


@dataclass(frozen=True)
class Limits:
    """Limits of a server; each can be set by an environment variable, as HUSHTABLE_SECONDS."""

    workers: int = max(2, os.cpu_count() or 1)
    """Processes that answer, one question at a time each."""
    seconds: float = 15.0
    """A question that takes longer is ended, with its process."""
    memory: int = 1024
    """Megabytes of a process that answers; beyond, it is ended."""
    sql: int = 10_000
    """Characters of a URL's parameters."""
    rows: int = 100_000
    """Rows that a question may have."""
    body: int = 64
    """Megabytes of an answer."""
    queue: int = 256
    """Questions that wait."""
    wait: float = 30.0
    """Seconds that one waits at most."""
    client: int = 16
    """Questions of one client that wait or are answered."""

    def __post_init__(self) -> None:
        for one in fields(self):
            if not getattr(self, one.name) > 0:
                raise OptionError(f"the limit {one.name} must be above zero")

    @property
    def running(self) -> int:
        """Questions of one client that are answered at once: a process is left for others."""
        return max(1, self.workers - 1)

    @classmethod
    def from_environment(cls, **chosen: Any) -> Limits:
        """Those that are chosen, else those of the environment, else the usual ones."""
        values = {name: value for name, value in chosen.items() if value is not None}
        for one in fields(cls):
            text = os.environ.get(PREFIX + one.name.upper())
            if text is None or one.name in values:
                continue
            kind = float if isinstance(one.default, float) else int
            try:
                values[one.name] = kind(text)
            except ValueError:
                raise OptionError(f"{PREFIX}{one.name.upper()} must be a number") from None
        return cls(**values)
