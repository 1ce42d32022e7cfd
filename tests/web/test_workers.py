"""Workers: what misbehaves is ended and replaced, and says in one line why."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from hushtable.web.exchange import Asked, Reply, packed
from hushtable.web.limits import Limits
from hushtable.web.turns import Busy
from hushtable.web.worker import READY
from hushtable.web.workers import Pool
from tests.web.serving import limits

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(autouse=True)
def found_by_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def with_pool(chosen: Limits, work: Callable[[Pool], Awaitable[Any]]) -> Any:
    async def run() -> Any:
        pool = Pool(chosen, "tests.web.trying_worker")
        try:
            return await work(pool)
        finally:
            await pool.close()

    return asyncio.run(run())


def question(folder: Path, task: str, *parameters: tuple[str, str]) -> Asked:
    return Asked(task, str(folder / "town.release"), "town", parameters)


async def worker_of(pool: Pool, folder: Path) -> psutil.Process:
    """The process that answers, by its own word: other tests have children too."""
    return psutil.Process(int((await pool.ask(question(folder, "echo"), "a")).body))


def asked_then_echo(folder: Path, task: str, chosen: Limits, *parameters: Any) -> Reply:
    """The reply to a task; afterwards, others are still answered."""

    async def work(pool: Pool) -> Reply:
        reply = await pool.ask(question(folder, task, *parameters), "a")
        after = await pool.ask(question(folder, "echo"), "a")
        assert after.status == 200 and int(after.body) > 0
        return reply

    reply: Reply = with_pool(chosen, work)
    return reply


def test_a_question_that_takes_too_long_is_ended(shelf_folder: Path) -> None:
    async def work(pool: Pool) -> tuple[Reply, psutil.Process]:
        worker = await worker_of(pool, shelf_folder)
        pool.limits = limits(seconds=0.2)
        return await pool.ask(question(shelf_folder, "sleep", ("s", "1000")), "a"), worker

    reply, worker = with_pool(limits(), work)
    assert reply.status == 400 and b"takes longer than 0.2 seconds" in reply.body
    assert not worker.is_running(), "the process must not go on"


def test_a_question_that_takes_too_much_memory_is_ended(shelf_folder: Path) -> None:
    reply = asked_then_echo(shelf_folder, "grow", limits(memory=700))
    assert reply.status == 400 and b"more than 700 MB of memory" in reply.body


def test_a_worker_that_dies_is_replaced(shelf_folder: Path) -> None:
    reply = asked_then_echo(shelf_folder, "die", limits())
    assert reply.status == 503 and b"came to an end" in reply.body


def test_an_answer_that_is_too_large_is_not_read(shelf_folder: Path) -> None:
    reply = asked_then_echo(shelf_folder, "large", limits(body=2))
    assert reply.status == 400 and b"more than 2 MB" in reply.body


def test_what_a_library_prints_is_no_reply(shelf_folder: Path) -> None:
    assert asked_then_echo(shelf_folder, "noisy", limits()).body == b"quiet"


def test_an_error_of_ours_says_nothing_of_its_own(shelf_folder: Path) -> None:
    reply = asked_then_echo(shelf_folder, "fail", limits())
    assert reply.status == 500 and b"secret" not in reply.body and b"RuntimeError" in reply.body


def test_a_worker_goes_on_after_an_answer(shelf_folder: Path) -> None:
    async def work(pool: Pool) -> set[bytes]:
        return {(await pool.ask(question(shelf_folder, "echo"), "a")).body for _ in range(3)}

    assert len(with_pool(limits(), work)) == 1


def test_there_are_never_more_workers_than_places(shelf_folder: Path) -> None:
    async def work(pool: Pool) -> set[bytes]:
        warming = asyncio.ensure_future(pool.warm_up())
        await asyncio.sleep(0)
        asks = [pool.ask(question(shelf_folder, "echo"), str(client)) for client in range(6)]
        replies = await asyncio.gather(*asks)
        await warming
        again = await asyncio.gather(
            *(pool.ask(question(shelf_folder, "sleep", ("s", "0.2")), str(i)) for i in range(4))
        )
        assert all(reply.status == 200 for reply in again)
        assert len(pool._all) <= 2
        return {reply.body for reply in replies}

    assert len(with_pool(limits(workers=2), work)) <= 2


def test_none_outlives_its_pool(shelf_folder: Path) -> None:
    async def work(pool: Pool) -> psutil.Process:
        return await worker_of(pool, shelf_folder)

    assert not with_pool(limits(), work).is_running()


def test_a_full_queue_sends_away_at_once_and_places_come_back(shelf_folder: Path) -> None:
    async def work(pool: Pool) -> list[Any]:
        slow = question(shelf_folder, "sleep", ("s", "1"))
        asks = [asyncio.ensure_future(pool.ask(slow, str(i))) for i in range(4)]
        done = await asyncio.gather(*asks, return_exceptions=True)
        later = await pool.ask(question(shelf_folder, "echo"), "a")
        return [*done, later]

    *replies, later = with_pool(limits(queue=2), work)
    assert sum(isinstance(reply, Busy) for reply in replies) == 1  # one runs, two wait
    assert later.status == 200


def test_a_client_that_leaves_while_it_waits_leaves_no_trace(shelf_folder: Path) -> None:
    async def work(pool: Pool) -> Reply:
        slow = asyncio.ensure_future(pool.ask(question(shelf_folder, "sleep", ("s", "1")), "slow"))
        await asyncio.sleep(0)
        waiting = [
            asyncio.ensure_future(pool.ask(question(shelf_folder, "echo"), "gone"))
            for _ in range(pool.limits.client)
        ]
        await asyncio.sleep(0)
        for one in waiting:
            one.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        reply = await pool.ask(question(shelf_folder, "echo"), "gone")
        await slow
        return reply

    assert with_pool(limits(), work).status == 200


def test_a_client_that_leaves_while_it_is_answered_keeps_its_place(shelf_folder: Path) -> None:
    """To come and go is not a way around one's share."""

    async def work(pool: Pool) -> bool:
        leaving = asyncio.ensure_future(
            pool.ask(question(shelf_folder, "sleep", ("s", "1000")), "gone")
        )
        while not pool.is_answering:
            await asyncio.sleep(0.01)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        return bool(pool.turns.running("gone"))

    assert with_pool(limits(), work)


def test_a_worker_ends_with_its_server_amid_an_answer(shelf_folder: Path) -> None:
    """Killed, a server can end nobody."""
    command = [sys.executable, "-P", "-m", "tests.web.trying_worker"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.read(1) == READY
        process.stdin.write(packed(question(shelf_folder, "sleep", ("s", "1000"))))
        process.stdin.close()
        assert process.wait() == 0


def test_a_file_beside_the_server_is_not_imported(
    shelf_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "msgspec.py").write_text("raise SystemExit(9)")
    monkeypatch.chdir(tmp_path)
    assert asked_then_echo(shelf_folder, "echo", limits()).status == 200
