"""Processes that answer questions, each ended when it takes more than its limits.

Threads cannot be ended, and a question may spend minutes inside one call of NumPy; so every
question runs in a process, which is killed at its limit and replaced.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec
import psutil

from hushtable.web.exchange import LENGTH, Asked, Reply, packed, read_reply
from hushtable.web.limits import Limits
from hushtable.web.tasks import refused
from hushtable.web.turns import Turns

MEGABYTE = 2**20
_LOOKS = 0.1
"""Seconds between two looks at a worker's memory."""
_START = 60.0
"""Seconds that a worker may take to start."""
LOW_PRIORITY = 19 if os.name == "posix" else 16384
"""Of processes for heavy questions, as the system counts priorities."""
WORKER = "hushtable.web.worker"
"""What a worker runs."""
MOST_ANSWERS = 4_000
"""A worker that gave so many is replaced, so that whatever it holds on to is not for ever."""


class Gone(Exception):
    """The worker ended, or was ended, before it replied; says why."""

    status = 503


class TooMuch(Gone):
    """It took more than a question may: to ask the same again is no use."""

    status = 400


@dataclass(eq=False)
class Worker:
    """A process that answers one question at a time."""

    process: asyncio.subprocess.Process
    answers: int = 0
    ready: bool = True
    """Whether it has replied to all that it was asked."""

    @classmethod
    async def start(cls, module: str, low_priority: bool = False) -> Worker:
        """Start one, and wait until it can be asked."""
        process = await asyncio.create_subprocess_exec(
            # -P: a file in the folder where the server was started is no module of ours.
            *(sys.executable, "-P", "-m", module),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            # One question has one core: others are answered beside it.
            env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        )
        worker = cls(process)
        try:
            if low_priority:
                with suppress(psutil.Error):  # it ended, which is noticed below
                    psutil.Process(process.pid).nice(LOW_PRIORITY)
            assert process.stdout is not None
            await asyncio.wait_for(process.stdout.readexactly(1), _START)
        except BaseException as problem:
            await worker.end()
            if isinstance(problem, asyncio.IncompleteReadError | asyncio.TimeoutError):
                raise Gone("the server could not start a process to answer") from None
            raise
        return worker

    async def ask(self, asked: Asked, limits: Limits) -> Reply:
        """Its reply; ends the process and raises Gone where a limit is met."""
        self.ready = False
        reply = asyncio.ensure_future(self._reply(asked, limits))
        watch = asyncio.ensure_future(self._watch(limits))
        try:
            await asyncio.wait(
                (reply, watch), timeout=limits.seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if reply.done():
                answer = reply.result()
                self.answers, self.ready = self.answers + 1, True
                return answer
            if watch.done():
                raise TooMuch(f"the answer needs more than {limits.memory:,} MB of memory")
            raise TooMuch(f"the answer takes longer than {limits.seconds:g} seconds")
        finally:
            for task in (reply, watch):
                task.cancel()
                with suppress(asyncio.CancelledError, Exception):
                    await task

    async def _reply(self, asked: Asked, limits: Limits) -> Reply:
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None and stdout is not None
        try:
            stdin.write(packed(asked))
            await stdin.drain()
            (length,) = LENGTH.unpack(await stdout.readexactly(LENGTH.size))
            if length > limits.body * MEGABYTE:
                raise TooMuch(f"the answer has more than {limits.body:,} MB")
            return read_reply(await stdout.readexactly(length))
        except (asyncio.IncompleteReadError, OSError, msgspec.MsgspecError):
            raise Gone("the process that answered came to an end") from None

    async def _watch(self, limits: Limits) -> None:
        """Return when the process has more memory than it may."""
        with suppress(psutil.Error):
            seen = psutil.Process(self.process.pid)
            while own_memory(seen) <= limits.memory * MEGABYTE:
                await asyncio.sleep(_LOOKS)
            return
        await asyncio.Event().wait()  # it ended: whoever reads from it notices

    def work(self) -> float:
        """The seconds of a core that it has had, which others beside it do not make longer."""
        with suppress(psutil.Error):  # it ended: what it had is not known
            times = psutil.Process(self.process.pid).cpu_times()
            return float(times.user + times.system)
        return 0.0

    def is_fresh(self, limits: Limits) -> bool:
        """Whether it may go on: it lives, and has not grown old or large."""
        if self.process.returncode is not None or self.answers >= MOST_ANSWERS:
            return False
        if not self.ready:
            return False
        try:
            held = own_memory(psutil.Process(self.process.pid))
        except psutil.Error:
            return False
        return held <= limits.memory * MEGABYTE / 2

    async def end(self) -> None:
        """End the process now."""
        with suppress(ProcessLookupError):
            self.process.kill()
        # What it has written must be read, or the end is never noticed.
        while self.process.stdout is not None and await self.process.stdout.read(MEGABYTE):
            pass
        await self.process.wait()


def own_memory(process: psutil.Process) -> int:
    """The bytes that a process has for itself, without the pages of files that are mapped."""
    seen = process.memory_info()
    return int(seen.rss - getattr(seen, "shared", 0))


@dataclass(eq=False)
class Pool:
    """The workers of a server, and the questions that wait for one."""

    limits: Limits
    module: str = WORKER
    took: Callable[[str, float], None] = lambda client, seconds: None
    """Told how many seconds of a core a client's question took."""
    low_priority: bool = False
    """Whether other processes go before these."""
    _idle: list[Worker] = field(default_factory=list)
    _all: set[Worker] = field(default_factory=set)
    _asks: set[asyncio.Future[Reply]] = field(default_factory=set)
    _turns: Turns | None = None
    _closed: bool = False

    @property
    def turns(self) -> Turns:
        if self._turns is None:
            self._turns = Turns(self.limits)
        return self._turns

    @property
    def is_answering(self) -> bool:
        """Whether some worker has a question."""
        return any(not worker.ready for worker in self._all)

    async def ask(self, asked: Asked, client: str) -> Reply:
        """The reply to a question; raises Busy where there is no place for it.

        A question that has begun goes on when its client leaves, and keeps the client's place: to
        come and go must not be cheaper than to stay.
        """
        await self.turns.take(client)
        answering = asyncio.ensure_future(self._ask(asked, client))
        self._asks.add(answering)
        answering.add_done_callback(self._asks.discard)
        return await asyncio.shield(answering)

    async def _ask(self, asked: Asked, client: str) -> Reply:
        worker = None
        try:
            worker = self._idle.pop() if self._idle else await self._start()
            before = worker.work()
            try:
                reply = await worker.ask(asked, self.limits)
            finally:
                self.took(client, worker.work() - before)
        except Gone as problem:
            return refused(asked, str(problem), problem.status)
        finally:
            await self._leave(worker)
            self.turns.give_back(client)
        return reply

    async def _start(self) -> Worker:
        worker = await Worker.start(self.module, self.low_priority)
        self._all.add(worker)
        return worker

    async def _leave(self, worker: Worker | None) -> None:
        """Keep a worker that replied and may go on; end any other."""
        if worker is None:
            return
        if not self._closed and worker.is_fresh(self.limits):
            self._idle.append(worker)
            return
        self._all.discard(worker)
        await worker.end()

    async def warm_up(self) -> None:
        """Start one worker before the first question, at a place like any other."""
        await self.turns.take("")
        try:
            with suppress(Gone):
                self._idle.append(await self._start())
        finally:
            self.turns.give_back("")

    async def close(self) -> None:
        """End all processes."""
        self._closed = True
        for answering in list(self._asks):
            answering.cancel()
        await asyncio.gather(*self._asks, return_exceptions=True)
        workers, self._all, self._idle = list(self._all), set(), []
        await asyncio.gather(*(worker.end() for worker in workers))
