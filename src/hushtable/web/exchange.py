"""What a worker process is asked, and what it replies: plain values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Asked:
    """A question to a release, as a request put it."""

    task: str
    folder: str
    name: str
    query: tuple[tuple[str, str], ...]
    root: str
    local: bool


@dataclass(frozen=True)
class Reply:
    """A whole answer, as it goes back over HTTP."""

    status: int
    kind: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
