"""Connections of which nothing is left once they are lost."""

from __future__ import annotations

from uvicorn.protocols.http.h11_impl import H11Protocol


class Connection(H11Protocol):
    """A connection whose clock stops when it ends, however it does.

    Where a client resets it, uvicorn lets the clock run out, and what it would end is held until
    then: a client that comes and goes a thousand times a second fills the memory.
    """

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self.timeout_keep_alive_task is not None:
            self.timeout_keep_alive_task.cancel()
            self.timeout_keep_alive_task = None
