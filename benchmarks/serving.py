"""How `hush serve` answers 1, 8 and 64 clients, by themselves and beside a hostile one.

    python -m benchmarks.serving [--quick] [--minutes M] [--into docs/results/serving.md]

A server of two made-up releases, one of 10⁸ cells and one of small tables of 30 columns, is asked
random questions for JSON. Every client has a loopback address of its own, for that is how the
server tells them apart (Linux has them all). `hostile_client` is beside them in half of the
phases. All phases come in rounds, and memory is looked at all the time: what grows from round to
round, under the same load, grows. Noise is seeded: nothing here is private.
"""

from __future__ import annotations

import asyncio
import json
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import psutil

import hushtable
from benchmarks import wide
from benchmarks.machine import machine
from benchmarks.options import Parser, own_state
from benchmarks.query import write_release
from benchmarks.results_page import markdown_table, put
from hushtable.evaluation.seeded_entropy import SeededEntropy
from hushtable.generators import own_dataset
from hushtable.web.workers import own_memory

SHAPE, QUICK_SHAPE = (1000, 100, 1000), (1000, 100, 10)
RELEASES = ("cells", "wide")
CLIENTS = (1, 8, 64)
BROKEN, QUICK_BROKEN = 10_000, 200
"""Malformed requests in all."""
ROUNDS = 4
MOST = 2.0
"""Of the p99 beside the hostile client, over the p99 without."""
FLAT = 0.05
"""Of the memory that is held: what may be gained over the whole run."""
PATIENCE = 60.0
"""Seconds that a client waits for an answer."""
AWAY = 0.5
"""Seconds that a client stays away after it was refused for want of a place."""


# ── releases and the server ──────────────────────────────────────────────────────────────────────


def make_releases(folder: Path, *, quick: bool) -> None:
    """A release of cells, and one of small tables, whose ledger is beside their folder."""
    write_release(folder / "cells.release", QUICK_SHAPE if quick else SHAPE)
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
            ledger=folder.parent / "money",
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


def question(draw: random.Random, release: str) -> str:
    """The path of a random question that has an answer."""
    sql = _of_cells(draw) if release == "cells" else _of_wide(draw)
    return f"/{release}.json?sql={quote(sql)}"


def _of_cells(draw: random.Random) -> str:
    low, high = sorted(draw.sample(range(1000), 2))
    where = f"a BETWEEN {low} AND {high} AND b < {draw.randrange(1, 100)}"
    grouped = f"SELECT b, COUNT(*) FROM cells WHERE a = {low} GROUP BY b"
    return draw.choice([f"SELECT COUNT(*) FROM cells WHERE {where}", grouped])


def _of_wide(draw: random.Random) -> str:
    one, two = draw.sample(range(len(wide.SIZES)), 2)
    value = draw.randrange(wide.SIZES[two])
    where = f"c{one} > 0 AND c{two} <= {value}"
    grouped = f"SELECT c{one}, COUNT(*) FROM wide WHERE c{two} = {value} GROUP BY c{one}"
    return draw.choice([f"SELECT COUNT(*) FROM wide WHERE {where}", grouped])


@dataclass
class Asked:
    """What came of the questions of some clients."""

    lasted: float = 0.0
    """Seconds of all phases."""
    seconds: list[float] = field(default_factory=list)
    """Of each answer."""
    statuses: Counter[int] = field(default_factory=Counter)
    """Of all replies; 0 where there was none."""

    def quantile(self, share: float) -> float:
        """In milliseconds."""
        return float(np.quantile(self.seconds or [np.nan], share) * 1000)

    def row(self) -> list[str]:
        """Answers a second, how long they took, and how many were sent away."""
        away = self.statuses[503] / max(1, self.statuses.total())
        odd = {status: n for status, n in self.statuses.items() if status not in (200, 503)}
        return [
            f"{len(self.seconds) / self.lasted:,.1f}",
            f"{self.quantile(0.5):,.0f}",
            f"{self.quantile(0.99):,.0f}",
            f"{away:.1%}",
            ", ".join(f"{status or 'none'}: {n}" for status, n in odd.items()) or "–",
        ]


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


async def client(port: int, number: int, release: str, end: float, asked: Asked) -> None:
    """Ask one question after the other."""
    draw, line = random.Random(number), Line(port, f"127.0.1.{number + 1}")
    while (start := time.perf_counter()) < end:
        try:
            status = await asyncio.wait_for(line.get(question(draw, release)), PATIENCE)
        except (OSError, TimeoutError, EOFError):
            status = 0
        asked.statuses[status] += 1
        if status == 200:
            asked.seconds.append(time.perf_counter() - start)
        else:
            await asyncio.sleep(AWAY)
    line.close()


# ── memory ───────────────────────────────────────────────────────────────────────────────────────


@dataclass
class Memory:
    """What the server and its workers hold, looked at twice a second until `stop` is set."""

    pid: int
    looks: list[tuple[float, float, float]] = field(default_factory=list)
    """The minute, and megabytes of the server and of its workers together."""
    stop: threading.Event = field(default_factory=threading.Event)

    def look_on(self) -> None:
        start, server = time.perf_counter(), psutil.Process(self.pid)
        while not self.stop.wait(0.5):
            workers = 0
            for worker in server.children(recursive=True):
                with suppress(psutil.Error):
                    workers += own_memory(worker)
            minute = (time.perf_counter() - start) / 60
            self.looks.append((minute, own_memory(server) / 2**20, workers / 2**20))

    def rows(self, after: float) -> list[list[str]]:
        """Of the server and of its workers: the mean, the most and the slope after a minute."""
        looks = np.array([look for look in self.looks if look[0] >= after])
        minutes = looks[:, 0] - looks[0, 0]
        found = []
        for name, held in (("server", looks[:, 1]), ("its workers together", looks[:, 2])):
            slope = float(np.polyfit(minutes, held, 1)[0])
            gained = slope * float(minutes[-1])
            flat = "flat" if gained <= FLAT * float(held.mean()) else "grows"
            found.append(
                [
                    name,
                    f"{held.mean():,.0f} MB",
                    f"{held.max():,.0f} MB",
                    f"{slope:+.2f} MB/minute",
                    f"{flat} over {minutes[-1]:.1f} minutes ({gained:+.0f} MB)",
                ]
            )
        return found


# ── measuring ────────────────────────────────────────────────────────────────────────────────────

Phase = tuple[str, int, bool]
"""A release, how many clients ask it, and whether a hostile one is there."""


@dataclass
class Run:
    """All that is measured of one server."""

    folder: Path
    port: int
    lasts: float
    """Seconds of a phase."""
    broken: int
    """Malformed requests in a round."""
    asked: dict[Phase, Asked] = field(default_factory=dict)
    done: dict[str, dict[str, Any]] = field(default_factory=dict)
    """What came of each trick of the hostile client."""

    def round(self) -> None:
        """Every phase once."""
        self._phases(False)
        begins = min(2.0, self.lasts)
        enemy = self._enemy(self.lasts * len(RELEASES) * len(CLIENTS) + begins)
        time.sleep(begins)
        self._phases(True)
        told, _ = enemy.communicate()
        for trick, done in json.loads(told).items():
            known = self.done.setdefault(trick, {"requests": 0, "replies": {}, "leaks": {}})
            known["requests"] += done["requests"]
            for key in ("replies", "leaks"):
                known[key] = dict(Counter(known[key]) + Counter(done[key]))

    def _phases(self, hostile: bool) -> None:
        for release in RELEASES:
            for clients in CLIENTS:
                asked = self.asked.setdefault((release, clients, hostile), Asked())
                asyncio.run(self.phase(release, clients, asked))

    async def phase(self, release: str, clients: int, asked: Asked) -> None:
        """Some clients ask one release."""
        start = time.perf_counter()
        end = start + self.lasts
        each = (client(self.port, n, release, end, asked) for n in range(clients))
        await asyncio.gather(*each)
        asked.lasted += time.perf_counter() - start

    def _enemy(self, lasts: float) -> subprocess.Popen[str]:
        secrets = (str(self.folder), str(self.folder.parent), sys.prefix)
        named = [word for secret in secrets for word in ("--secret", secret)]
        command = [sys.executable, "-m", "benchmarks.hostile_client", str(self.port), f"{lasts}"]
        command += ["--broken", str(self.broken), *named]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)

    # ── telling ──────────────────────────────────────────────────────────────────────────────────

    def load_rows(self) -> list[list[str]]:
        """A row for each phase; beside the hostile client with the ratio of the p99s."""
        rows = []
        for (release, clients, hostile), asked in self.asked.items():
            ratio = "–"
            if hostile:
                quiet = self.asked[release, clients, False]
                times = asked.quantile(0.99) / quiet.quantile(0.99)
                ratio = f"{times:.2f} × {'✓' if times <= MOST else '✗'}"
            beside = "yes" if hostile else "no"
            rows.append([release, str(clients), beside, *asked.row(), ratio])
        return rows

    def hostile_rows(self) -> list[list[str]]:
        """What each trick came to."""
        return [
            [
                trick,
                f"{done['requests']:,}",
                ", ".join(f"{status}: {n:,}" for status, n in sorted(done["replies"].items())),
                ", ".join(map(repr, done["leaks"])) or "nothing",
            ]
            for trick, done in self.done.items()
        ]


def report(run: Run, memory: list[list[str]], quick: bool) -> str:
    """The figures as Markdown."""
    columns = ["release", "clients", "hostile client", "answers/s", "p50 ms", "p99 ms"]
    columns += ["sent away (503)", "other replies", f"p99, of that without (≤ {MOST:g} ×)"]
    parts = [
        "Quick: too short to judge by." if quick else "",
        f"Measured on {machine()}.",
        markdown_table(columns, run.load_rows()),
        "What the hostile client sent, and what its replies gave away (searched for paths,"
        " tracebacks and ledgers):",
        markdown_table(["trick", "requests", "replies by status", "leaks"], run.hostile_rows()),
        "Memory, looked at twice a second, after the first round of phases:",
        markdown_table(["memory of", "mean", "most", "slope", "verdict"], memory),
    ]
    return "\n\n".join(part for part in parts if part)


def main(arguments: list[str] | None = None) -> None:
    """Make releases, serve them, and ask."""
    parser = Parser(prog="python -m benchmarks.serving", description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="within a minute: does it run at all?")
    parser.add_argument("--minutes", type=float, default=14.0, help="all phases together")
    parser.add_argument(
        "--into", type=Path, metavar="FILE.md", help="the page that has the figures"
    )
    given = parser.parse_args(arguments)
    rounds = 2 if given.quick else ROUNDS
    phases = rounds * 2 * len(RELEASES) * len(CLIENTS)
    lasts = 0.5 if given.quick else given.minutes * 60 / phases
    broken = (QUICK_BROKEN if given.quick else BROKEN) // rounds
    with own_state(), tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "releases"
        folder.mkdir()
        make_releases(folder, quick=given.quick)
        with server(folder) as (pid, port):
            run, memory = Run(folder, port, lasts, broken), Memory(pid)
            asyncio.run(run.phase("cells", 2, Asked()))  # workers have started
            looking = threading.Thread(target=memory.look_on)
            looking.start()
            try:
                run.round()
                after = memory.looks[-1][0]
                for _ in range(rounds - 1):
                    run.round()
            finally:
                memory.stop.set()
                looking.join()
    text = report(run, memory.rows(after), given.quick)
    print(text)
    if given.into:
        put(given.into, "Load", text)


if __name__ == "__main__":
    main()
