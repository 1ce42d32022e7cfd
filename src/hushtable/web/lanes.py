"""Two lanes, so that heavy questions do not slow down light ones even where cores are few.

Turns share places out fairly, but a question that takes seconds also takes a core, which the
others would share with it. So clients whose questions took long lately are answered by processes of
their own that have a low priority: as fast as any while nobody else asks, and in the gaps while
others do.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from dataclasses import replace

from hushtable.web.exchange import Asked, Reply
from hushtable.web.limits import Limits
from hushtable.web.workers import WORKER, Pool

LONG = 0.1
"""Seconds of a core beyond which a question is heavy."""
_FORGETS = 0.8
"""What is left of a client's longest question after another one that was short."""
_MOST_KNOWN = 10_000
"""Clients whose questions are remembered."""


class Lanes:
    """The workers of a server: those for anybody, and those for clients with heavy questions."""

    def __init__(self, limits: Limits, module: str = WORKER) -> None:
        heavy = replace(limits, workers=limits.running)
        self.quick = Pool(limits, module, took=self._note)
        self.heavy = Pool(heavy, module, took=self._note, low_priority=True)
        self._longest: OrderedDict[str, float] = OrderedDict()

    async def ask(self, asked: Asked, client: str) -> Reply:
        """The reply to a question; raises Busy where there is no place for it."""
        return await self.lane(client).ask(asked, client)

    def lane(self, client: str) -> Pool:
        """Where a client is answered now."""
        return self.heavy if self._longest.get(client, 0.0) > LONG else self.quick

    def _note(self, client: str, seconds: float) -> None:
        """Remember how long a client's questions take: the longest, and less so with each other."""
        longest = max(seconds, _FORGETS * self._longest.pop(client, 0.0))
        if longest > LONG:  # others are light unless they are known
            self._longest[client] = longest
        if len(self._longest) > _MOST_KNOWN:
            self._longest.popitem(last=False)

    async def warm_up(self) -> None:
        """Start one worker before the first question."""
        await self.quick.warm_up()

    async def close(self) -> None:
        """End all processes."""
        await asyncio.gather(self.quick.close(), self.heavy.close())
