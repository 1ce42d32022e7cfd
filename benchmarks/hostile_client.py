"""A client that means harm to a server: it does everything at once, and looks for what leaks.

    python -m benchmarks.hostile_client PORT SECONDS --broken 2500 --secret /srv/releases

It comes from 127.0.0.2, has a dozen connections for each of its tricks, and reads every reply for
paths, tracebacks and ledgers. What it did and found is printed as JSON. It leaves the server some
connections, since to limit those is a proxy's work.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import re
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from urllib.parse import quote

ADDRESS = "127.0.0.2"
CONNECTIONS = 12
"""For each trick."""
PATIENCE = 60.0

LEAKS = (
    *(rb"Traceback", rb'File "', rb"site-packages", rb"\.py\b", rb"root:x:", rb"(?i:ledger)"),
    *(rb"/(home|root|tmp|usr|var|dev)/",),
)
"""What no reply may hold, besides the secrets that are named."""
_OVERLAP = 1000
"""Bytes of a reply that are looked at again with those that follow."""

_ROWS = f"/cells.json?sql={quote('SELECT a, b, COUNT(*) FROM cells GROUP BY a, b')}"
_PATHS = (
    "/../../etc/passwd",
    "/cells/..%2f..%2fetc%2fpasswd",
    "/%2e%2e/%2e%2e/etc/passwd.json",
    "/..%2fmoney",
    "/../money.json",
    "/cells%00.json",
    "/-/static/..%2fpage.py",
    "/cells.release/manifest.json",
    "//cells.release/manifest.json",
    "/-/owner",
    "/-/owner/plan.json?epsilon=1",
    "/" + "a" * 30_000,
)
_BROKEN = (
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"\x00" * 500,
    b"GET\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET /cells HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    b"POST /cells.json HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
    b"GET /cells.json?sql=%ff%fe%00 HTTP/1.1\r\nHost: \xff\r\nConnection: close\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\nX-Wait",
)


@dataclass
class Done:
    """What came of a trick."""

    requests: int = 0
    replies: Counter[str] = field(default_factory=Counter)
    """By status; "none" where the connection was closed or ran into its limit."""
    leaks: Counter[str] = field(default_factory=Counter)


@dataclass
class Enemy:
    """One who asks, and what was learned."""

    port: int
    leak: re.Pattern[bytes]
    done: dict[str, Done] = field(default_factory=dict)

    async def send(self, trick: str, request: bytes, pause: float = 0.0) -> None:
        """Send bytes, and read whatever comes back, slowly if there is a pause."""
        done = self.done.setdefault(trick, Done())
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self.port, local_addr=(ADDRESS, 0)
        )
        done.requests += 1
        status = "none"
        try:
            writer.write(request)
            if trick == "malformed requests":
                writer.write_eof()  # nothing more will come
            tail = b""
            while received := await reader.read(1000 if pause else 65_536):
                if status == "none" and received.startswith(b"HTTP/1.1 "):
                    status = received[9:12].decode("latin-1")
                seen = tail + received
                done.leaks.update(hit[0].decode("latin-1") for hit in self.leak.finditer(seen))
                tail = seen[-_OVERLAP:]
                await asyncio.sleep(pause)
        finally:
            done.replies[status] += 1
            writer.close()

    async def get(self, trick: str, path: str, pause: float = 0.0) -> None:
        """Ask for a path."""
        head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
        await self.send(trick, head.encode(), pause)


def long_sql(draw: random.Random) -> str:
    """A condition as long as one may be, or longer."""
    parts = draw.choice((150, 400, 3000))
    terms = (
        f"({draw.choice('ac')}<{draw.randrange(10)}OR b={draw.randrange(99)})" for _ in range(parts)
    )
    sql = "SELECT COUNT(*) FROM cells WHERE " + "AND".join(terms)
    return f"/cells.json?sql={quote(sql, safe='()<=')}"[:60_000]


Trick = Callable[[Enemy, random.Random], Awaitable[None]]
TRICKS: dict[str, Trick] = {
    "huge SQL": lambda enemy, draw: enemy.get("huge SQL", long_sql(draw)),
    "10⁵-row GROUP BYs": lambda enemy, draw: enemy.get("10⁵-row GROUP BYs", _ROWS),
    "slow reads": lambda enemy, draw: enemy.get("slow reads", _ROWS, 0.5),
    "path tricks": lambda enemy, draw: enemy.get("path tricks", draw.choice(_PATHS)),
}


async def _again(trick: Trick, enemy: Enemy, seed: int, end: float) -> None:
    draw = random.Random(seed)
    while time.perf_counter() < end:
        with suppress(OSError, EOFError, TimeoutError):
            left = end - time.perf_counter()
            await asyncio.wait_for(trick(enemy, draw), min(PATIENCE, max(left, 0.01)))
        await asyncio.sleep(0.05)


async def _break(enemy: Enemy, number: int, seed: int, lasts: float) -> None:
    """So many malformed requests, evenly over the time."""
    draw, start = random.Random(seed), time.perf_counter()
    for sent in range(number):
        with suppress(OSError, EOFError, TimeoutError):
            request = draw.choice(_BROKEN)
            await asyncio.wait_for(enemy.send("malformed requests", request), 10)
        due = start + lasts * (sent + 1) / number
        await asyncio.sleep(max(0.0, due - time.perf_counter()))


async def attack(enemy: Enemy, lasts: float, broken: int) -> None:
    """Do everything at once for so many seconds, and until so many malformed requests were sent."""
    end = time.perf_counter() + lasts
    seeds = range(CONNECTIONS)
    tricks = [_again(trick, enemy, seed, end) for trick in TRICKS.values() for seed in seeds]
    each = -(-broken // CONNECTIONS)
    await asyncio.gather(*tricks, *(_break(enemy, each, seed, lasts) for seed in seeds))


def main() -> None:
    """Attack, and print what came of it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hostile_client")
    parser.add_argument("port", type=int)
    parser.add_argument("seconds", type=float)
    parser.add_argument("--broken", type=int, default=1000, help="malformed requests")
    parser.add_argument("--secret", action="append", default=[], help="text that must not leak")
    given = parser.parse_args()
    secrets = (re.escape(secret.encode()) for secret in given.secret)
    enemy = Enemy(given.port, re.compile(b"|".join((*LEAKS, *secrets))))
    asyncio.run(attack(enemy, given.seconds, given.broken))
    print(json.dumps({name: vars(done) for name, done in enemy.done.items()}))


if __name__ == "__main__":
    main()
