"""Whose question is next: clients take turns, and none may keep all places to itself."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from contextlib import suppress

from hushtable.web.limits import Limits


class Busy(Exception):
    """There is no place for another question now."""


class Turns:
    """Places at which questions are answered, and the queues of clients before them."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._free = limits.workers
        self._running: Counter[str] = Counter()
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()
        self._length = 0

    async def take(self, client: str) -> None:
        """Wait for a place. Raises Busy at once where too many wait, and after the longest wait."""
        queue = self._waiting.get(client, ())
        if self._length >= self._limits.queue:
            raise Busy
        if self._running[client] + len(queue) >= self._limits.client:
            raise Busy
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, deque()).append(turn)
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
        return self._running[client]

    def give_back(self, client: str) -> None:
        """Leave a place to the next."""
        self._free += 1
        self._running[client] -= 1
        if not self._running[client]:
            del self._running[client]
        self._call_next()

    def _leave(self, client: str, turn: asyncio.Future[None]) -> None:
        if turn.done():  # called in the same moment
            self.give_back(client)
            return
        with suppress(KeyError, ValueError):
            self._waiting[client].remove(turn)
            self._length -= 1
            if not self._waiting[client]:
                del self._waiting[client]

    def _call_next(self) -> None:
        """Give free places to the clients in turn."""
        for client in list(self._waiting):
            if not self._free:
                return
            if self._running[client] >= self._limits.running:
                continue
            queue = self._waiting.pop(client)
            queue.popleft().set_result(None)
            if queue:
                self._waiting[client] = queue  # behind all others
            self._length -= 1
            self._free -= 1
            self._running[client] += 1
        if self._free and any(
            self._running[client] < self._limits.running for client in self._waiting
        ):
            self._call_next()
