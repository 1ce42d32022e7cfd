"""How far long work is: for whoever waits at a terminal, and for nobody else.

What takes long tells how much of it is done; unless someone listens, that goes nowhere. How far a
count is says how large a table is, which is its owner's to know: it is shown, and never written.
The listener is no argument, since it concerns none of the many functions on the way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

Listener = Callable[[int, int], None]
"""Told how much is done, and of how much: bytes, rows, pieces."""


def nobody(done: int, total: int) -> None:
    """Listen to nothing."""


_listener: ContextVar[Listener] = ContextVar("listener", default=nobody)


def listener() -> Listener:
    """Who listens. To be asked by the thread that waits for the work, before others begin it."""
    return _listener.get()


@contextmanager
def heard(by: Listener) -> Iterator[None]:
    """Let someone listen to all work meanwhile; what fails in listening is no work's failure."""
    before = _listener.set(by if by is nobody else _harmless(by))
    try:
        yield
    finally:
        _listener.reset(before)


def _harmless(by: Listener) -> Listener:
    def tell(done: int, total: int) -> None:
        with suppress(Exception):
            by(done, total)

    return tell


class Gauge:
    """Adds up what is done of a whole."""

    def __init__(self, tell: Listener, total: int) -> None:
        self._tell, self._total, self._done = tell, total, 0

    def add(self, more: int) -> None:
        """Tell that so much more is done."""
        self._done += more
        self._tell(self._done, self._total)
