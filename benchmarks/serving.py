"""How `hush serve` answers 1, 8 and 64 clients, by themselves and beside a hostile one.

    python -m benchmarks.serving [--quick] [--full] [--minutes M]

A server of two made-up releases, one dense (10⁶ cells, 10⁸ with --full) and one of small tables of
30 columns, is asked random questions for JSON. Every client has a loopback address of its own, for
that is how the server tells them apart (Linux has them all). The hostile one, at 127.0.0.2, sends
long SQL, GROUP BYs of 10⁵ rows, odd paths and broken requests, and reads slowly; it leaves the
server some connections, since to limit those is a proxy's work. Noise is seeded: nothing here is
private.
"""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from urllib.parse import quote

import numpy as np
import psutil

import hushtable
from benchmarks import wide
from benchmarks.machine import machine
from benchmarks.options import Parser, own_state
from benchmarks.query import write_release
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.generators import own_dataset

SHAPE, FULL_SHAPE = (1000, 100, 10), (1000, 100, 1000)
CLIENTS = (1, 8, 64)
HOSTILE = "127.0.0.2"
TRICKS = 12
"""Connections of the hostile client for each of its tricks."""
PATIENCE = 60.0
"""Seconds that a client waits for an answer."""
AWAY = 0.5
"""Seconds that a client stays away after it was refused for want of a place."""


# ── releases and the server ──────────────────────────────────────────────────────────────────────


def make_releases(folder: Path, *, full: bool, quick: bool) -> None:
    """A release of cells, and one of small tables."""
    write_release(folder / "cells.release", FULL_SHAPE if full else SHAPE)
    with tempfile.TemporaryDirectory() as scratch:
        table = Path(scratch) / "wide.parquet"
        described = wide.schema()
        wide.write_table(table, 20_000 if quick else 200_000, described)
        hushtable.publish(
            str(table),
            own_dataset(described),
            epsilon="1",
            mechanism="marginals",
            out=folder / "wide.release",
            ledger=Path(scratch) / "ledger",
            entropy=SeededEntropy(1),
        )


@contextmanager
def server(folder: Path) -> Iterator[tuple[int, int]]:
    """The process id and the port of a server with its usual limits."""
    command = [sys.executable, "-m", "hushtable", "serve", str(folder), "--port", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        try:
            if not (address := process.stdout.readline().strip()):
                raise RuntimeError("the server did not start")
            yield process.pid, int(address.rstrip("/").rpartition(":")[2])
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()


# ── clients ──────────────────────────────────────────────────────────────────────────────────────


def question(draw: random.Random) -> str:
    """The path of a random question that has an answer."""
    if draw.random() < 0.5:
        low, high = sorted(draw.sample(range(1000), 2))
        where = f"a BETWEEN {low} AND {high} AND b < {draw.randrange(1, 100)}"
        sql = draw.choice(
            [
                f"SELECT COUNT(*) FROM cells WHERE {where}",
                f"SELECT b, COUNT(*) FROM cells WHERE a = {low} GROUP BY b",
            ]
        )
        return f"/cells.json?sql={quote(sql)}"
    one, two = draw.sample(range(len(wide.SIZES)), 2)
    value = draw.randrange(wide.SIZES[two])
    sql = draw.choice(
        [
            f"SELECT COUNT(*) FROM wide WHERE c{one} > 0 AND c{two} <= {value}",
            f"SELECT c{one}, COUNT(*) FROM wide WHERE c{two} = {value} GROUP BY c{one}",
        ]
    )
    return f"/wide.json?sql={quote(sql)}"


@dataclass
class Asked:
    """What came of the questions of some clients."""

    seconds: list[float] = field(default_factory=list)
    """Of each answer."""
    statuses: Counter[int] = field(default_factory=Counter)
    """Of all replies; 0 where there was none."""

    def row(self, lasted: float) -> str:
        """Answers a second, how long they took, and how many were sent away."""
        took = np.array(self.seconds or [np.nan])
        half, most = np.quantile(took, (0.5, 0.99)) * 1000
        away = self.statuses[503] / max(1, self.statuses.total())
        odd = {status: n for status, n in self.statuses.items() if status not in (200, 503)}
        return (
            f"{len(self.seconds) / lasted:8.1f} {half:9.0f} {most:9.0f} {away:8.1%}"
            f" {took.size:8,}" + (f"   other replies: {odd}" if odd else "")
        )


@dataclass
class Line:
    """A connection of one client, made anew when it was closed."""

    port: int
    address: str
    streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def get(self, path: str) -> int:
        """The status of the reply, which is read to its end."""
        if self.streams is None:
            self.streams = await connect(self.port, self.address)
        reader, writer = self.streams
        try:
            writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
            await writer.drain()
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = int(head.partition(b"content-length:")[2].split(b"\r\n")[0] or 0)
            await reader.readexactly(length)
        except BaseException:
            self.close()
            raise
        if b"connection: close" in head:
            self.close()
        return int(head.split()[1])

    def close(self) -> None:
        if self.streams is not None:
            self.streams[1].close()
            self.streams = None


async def connect(port: int, address: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))


async def client(port: int, number: int, end: float, asked: Asked) -> None:
    """Ask one question after the other."""
    draw, line = random.Random(number), Line(port, f"127.0.1.{number + 1}")
    while (start := time.perf_counter()) < end:
        try:
            status = await asyncio.wait_for(line.get(question(draw)), PATIENCE)
        except (OSError, TimeoutError, EOFError):
            status = 0
        asked.statuses[status] += 1
        if status == 200:
            asked.seconds.append(time.perf_counter() - start)
        else:
            await asyncio.sleep(AWAY)
    line.close()


# ── the hostile client ───────────────────────────────────────────────────────────────────────────

_ROWS = f"/cells.json?sql={quote('SELECT a, b, COUNT(*) FROM cells GROUP BY a, b')}"
_PATHS = (
    "/../../etc/passwd",
    "/cells/..%2f..%2fetc%2fpasswd",
    "/%2e%2e/%2e%2e/etc/passwd.json",
    "/cells%00.json",
    "/-/static/..%2fpage.py",
    "//cells.release/manifest.json",
    "/" + "a" * 30_000,
)
_BROKEN = (
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET /cells HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
    b"POST /cells.json HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n",
    b"GET / HTTP/1.1\r\n" + b"X: " + b"y" * 100_000,
    b"GET / HTTP/1.1\r\nHost: x\r\nX-Wait",
)


def long_sql(draw: random.Random) -> str:
    """A condition as long as one may be, or longer."""
    parts = draw.choice((150, 400, 3000))
    terms = (
        f"({draw.choice('ac')}<{draw.randrange(10)}OR b={draw.randrange(99)})" for _ in range(parts)
    )
    sql = "SELECT COUNT(*) FROM cells WHERE " + "AND".join(terms)
    return f"/cells.json?sql={quote(sql, safe='()<=')}"[:60_000]


async def _get(port: int, path: str) -> None:
    line = Line(port, HOSTILE)
    await line.get(path)
    line.close()


async def _long(port: int, draw: random.Random) -> None:
    await _get(port, long_sql(draw))


async def _rows(port: int, draw: random.Random) -> None:
    await _get(port, _ROWS)


async def _path(port: int, draw: random.Random) -> None:
    await _get(port, draw.choice(_PATHS))


async def _broken(port: int, draw: random.Random) -> None:
    reader, writer = await connect(port, HOSTILE)
    writer.write(draw.choice(_BROKEN))
    with suppress(TimeoutError):
        await asyncio.wait_for(reader.read(1000), 2)
    writer.close()


async def _slow(port: int, draw: random.Random) -> None:
    reader, writer = await connect(port, HOSTILE)
    writer.write(f"GET {_ROWS} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    try:
        while await reader.read(1000):
            await asyncio.sleep(0.5)
    finally:
        writer.close()


async def _again(
    trick: Callable[[int, random.Random], Awaitable[None]], port: int, seed: int
) -> None:
    draw = random.Random(seed)
    while True:
        with suppress(OSError, EOFError, TimeoutError):
            await asyncio.wait_for(trick(port, draw), PATIENCE)
        await asyncio.sleep(0.05)


async def _all_tricks(port: int, lasts: float) -> None:
    tricks = (_long, _rows, _path, _broken, _slow)
    tasks = [
        asyncio.ensure_future(_again(trick, port, seed))
        for trick in tricks
        for seed in range(TRICKS)
    ]
    await asyncio.sleep(lasts)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def hostile(port: int, lasts: float) -> None:
    """Do everything at once for so many seconds."""
    asyncio.run(_all_tricks(port, lasts))


# ── measuring ────────────────────────────────────────────────────────────────────────────────────


def memory(pid: int) -> tuple[float, float, int]:
    """Megabytes of the server and of its workers together, and how many these are."""
    process = psutil.Process(pid)
    held = []
    for worker in process.children(recursive=True):
        with suppress(psutil.Error):
            held.append(worker.memory_info().rss / 2**20)
    return process.memory_info().rss / 2**20, sum(held), len(held)


async def _looks(pid: int, seen: list[tuple[float, float, int]]) -> None:
    while True:
        seen.append(memory(pid))
        await asyncio.sleep(0.5)


async def _phase(pid: int, port: int, clients: int, lasts: float) -> tuple[str, str]:
    asked, seen = Asked(), list[tuple[float, float, int]]()
    looking = asyncio.ensure_future(_looks(pid, seen))
    start = time.perf_counter()
    await asyncio.gather(*(client(port, n, start + lasts, asked) for n in range(clients)))
    lasted = time.perf_counter() - start
    looking.cancel()
    own, workers = (max(look[k] for look in seen) for k in (0, 1))
    held = f"{own:6.0f} {workers:7.0f} ({max(look[2] for look in seen)})"
    return asked.row(lasted), held


def measure(pid: int, port: int, lasts: float) -> None:
    """Print a row for each number of clients, without and with the hostile one."""
    head = "clients  hostile answers/s   p50 ms    p99 ms      503  answers   server MB, workers MB"
    print(head, flush=True)
    for is_hostile in (False, True):
        for clients in CLIENTS:
            enemy = get_context("spawn").Process(target=hostile, args=(port, lasts + 3))
            if is_hostile:
                enemy.start()
                time.sleep(2)  # it has begun
            try:
                row, held = asyncio.run(_phase(pid, port, clients, lasts))
            finally:
                if is_hostile:
                    enemy.join(10)
                    enemy.kill()
            print(f"{clients:>7}  {'yes' if is_hostile else 'no':>7} {row}   {held}", flush=True)


def main(arguments: list[str] | None = None) -> None:
    """Make releases, serve them, and ask."""
    parser = Parser(prog="python -m benchmarks.serving", description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a second each: does it run at all?")
    parser.add_argument("--full", action="store_true", help="10⁸ cells")
    parser.add_argument("--minutes", type=float, default=2.0, help="all clients together")
    given = parser.parse_args(arguments)
    lasts = 1.0 if given.quick else given.minutes * 60 / (2 * len(CLIENTS))
    with own_state(), tempfile.TemporaryDirectory() as folder:
        make_releases(Path(folder), full=given.full, quick=given.quick)
        with server(Path(folder)) as (pid, port):
            asyncio.run(_phase(pid, port, 2, 1.0))  # workers have started
            before = memory(pid)
            measure(pid, port, lasts)
            time.sleep(2)
            after = memory(pid)
    for name, (own, workers, number) in (("before", before), ("after", after)):
        print(f"memory {name}: server {own:.0f} MB, {number} workers {workers:.0f} MB")
    print(f"\n{machine()}")


if __name__ == "__main__":
    main()
