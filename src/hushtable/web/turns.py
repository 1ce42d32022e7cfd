"""Whose question is next: the client that has taken least of the server's time.

Turns by question would let a client with heavy questions take as much as all others together. So
each client has an account of the seconds it held a place, and the lowest account is next
(start-time fair queueing). Who comes back after a pause starts level with those who are served
then: nobody saves up.
"""

from __future__ import annotations

import asyncio
import time
from collections import defaultdict, deque
from collections.abc import Callable
from contextlib import suppress

from hushtable.web.limits import Limits

_FIRST = 0.01
"""Seconds that a question pays as it begins, so that clients alternate; the rest follows."""
_MOST_KNOWN = 10_000
"""Accounts that are kept."""


class Busy(Exception):
    """There is no place for another question now."""


class Turns:
    """Places at which questions are answered, and the queues of clients before them."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._free = limits.workers
        self._since: defaultdict[str, deque[float]] = defaultdict(deque)
        self._waiting: defaultdict[str, deque[asyncio.Future[None]]] = defaultdict(deque)
        self._length = 0
        self._accounts: defaultdict[str, float] = defaultdict(float)
        self._level = 0.0
        """The account of the client that was served last, as it was then."""

    async def take(self, client: str) -> None:
        """Wait for a place. Raises Busy at once where too many wait, and after the longest wait."""
        if self._length >= self._limits.queue:
            raise Busy
        if self._questions(client) >= self._limits.client:
            raise Busy
        if not self._questions(client):
            self._accounts[client] = max(self._accounts[client], self._level)
        turn = asyncio.get_running_loop().create_future()
        self._waiting[client].append(turn)
        self._length += 1
        self._call_next()
        try:
            await asyncio.wait_for(asyncio.shield(turn), self._limits.wait)
        except TimeoutError:
            self._leave(client, turn)
            raise Busy from None
        except asyncio.CancelledError:
            self._leave(client, turn)
            raise

    def running(self, client: str) -> int:
        """How many places a client has."""
        return len(self._since.get(client, ()))

    def give_back(self, client: str) -> None:
        """Leave a place to the next, and pay for the time it was held."""
        held = self._since[client]
        self._accounts[client] += max(0.0, self._clock() - held.popleft() - _FIRST)
        if not held:
            del self._since[client]
        self._free += 1
        self._call_next()
        self._forget()

    def _questions(self, client: str) -> int:
        return self.running(client) + len(self._waiting.get(client, ()))

    def _leave(self, client: str, turn: asyncio.Future[None]) -> None:
        if turn.done():  # called in the same moment
            self.give_back(client)
            return
        with suppress(ValueError):
            self._waiting[client].remove(turn)
            self._length -= 1
        if not self._waiting[client]:
            del self._waiting[client]

    def _call_next(self) -> None:
        """Give free places to the clients with the lowest accounts."""
        while self._free and (able := self._able()):
            client = min(able, key=self._accounts.__getitem__)
            self._level = max(self._level, self._accounts[client])
            self._accounts[client] += _FIRST
            self._waiting[client].popleft().set_result(None)
            if not self._waiting[client]:
                del self._waiting[client]
            self._since[client].append(self._clock())
            self._length -= 1
            self._free -= 1

    def _able(self) -> list[str]:
        """The clients that wait and may have one more place."""
        return [one for one in self._waiting if self.running(one) < self._limits.running]

    def _forget(self) -> None:
        """Close the accounts that no longer decide anything, and all where they are too many."""
        if not self._waiting and not self._since:
            self._accounts.clear()
            self._level = 0.0
        elif len(self._accounts) > _MOST_KNOWN:
            asking = self._waiting.keys() | self._since.keys()
            self._accounts = defaultdict(float, {one: self._accounts[one] for one in asking})
