"""Turns: each client gets its share of the server's time, none more, and no place is lost."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushtable.web.limits import Limits
from hushtable.web.turns import Busy, Turns
from tests.shared_sizes import some_of
from tests.web.serving import limits


def served_in_order(requests: list[str], chosen: Limits) -> list[str]:
    """The clients in the order in which they get their turn, each giving it back at once."""

    async def run() -> list[str]:
        turns, order = Turns(chosen), []

        async def one(client: str) -> None:
            await turns.take(client)
            order.append(client)
            await asyncio.sleep(0)
            turns.give_back(client)

        await asyncio.gather(*(one(client) for client in requests), return_exceptions=True)
        return order

    return asyncio.run(run())


def test_clients_take_turns() -> None:
    order = served_in_order([*"aaaaa", *"b"], limits(workers=1))
    assert order == [*"abaaaa"]


def times_served(lengths: dict[str, float], seconds: float, workers: int = 1) -> Counter[str]:
    """How long each client had a place, if all always have questions of these lengths."""
    now = 0.0
    served: Counter[str] = Counter()

    async def run() -> None:
        nonlocal now
        turns = Turns(limits(workers=workers, queue=1000), clock=lambda: now)
        running: list[tuple[float, str]] = []

        async def ask(client: str) -> None:
            await turns.take(client)
            running.append((now + lengths[client], client))

        asking = [asyncio.ensure_future(ask(client)) for client in lengths for _ in range(3)]
        while now < seconds:
            for _ in range(4):
                await asyncio.sleep(0)
            running.sort()
            now, client = running.pop(0)
            served[client] += lengths[client]
            turns.give_back(client)
            asking.append(asyncio.ensure_future(ask(client)))
        for one in asking:
            one.cancel()
        await asyncio.gather(*asking, return_exceptions=True)

    asyncio.run(run())
    return served


@pytest.mark.parametrize("workers", some_of([1, 2, 3], [2]))
def test_heavy_questions_get_no_more_time_than_light_ones(workers: int) -> None:
    light = {f"light {i}": 0.02 for i in range(7)}
    served = times_served({"heavy": 2.0, **light}, 200.0, workers)
    share = 200.0 * workers / 8
    assert served["heavy"] <= share + 2.0
    assert all(served[client] >= share - 3.0 for client in light)


def test_nobody_saves_up_time() -> None:
    now = 0.0

    async def run() -> list[str]:
        nonlocal now
        turns, order = Turns(limits(workers=1), clock=lambda: now), []

        async def one(client: str, seconds: float) -> None:
            nonlocal now
            await turns.take(client)
            order.append(client)
            now += seconds
            turns.give_back(client)

        await turns.take("busy")
        rest = [asyncio.ensure_future(one("busy", 10.0)) for _ in range(5)]
        await asyncio.sleep(0)
        now += 50.0
        turns.give_back("busy")
        for _ in range(3):  # it has been served for long when the late one comes, with many
            await asyncio.sleep(0)
        late = [asyncio.ensure_future(one("late", 10.0)) for _ in range(9)]
        await asyncio.gather(*rest, *late)
        return order

    order = asyncio.run(run())
    behind = order[order.index("late") :]
    assert behind[:4] in (["late", "late", "busy", "late"], ["late", "busy", "late", "busy"])


def test_accounts_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hushtable.web.turns._MOST_KNOWN", 5)

    async def run() -> None:
        turns = Turns(limits(workers=2))
        await turns.take("stays")
        for number in range(50):
            await turns.take(f"one of many {number}")
            turns.give_back(f"one of many {number}")
        assert len(turns._accounts) <= 6
        turns.give_back("stays")
        assert not turns._accounts

    asyncio.run(run())


def test_one_client_leaves_a_place_for_others() -> None:
    async def run() -> None:
        turns = Turns(limits(workers=3))
        greedy = [asyncio.ensure_future(turns.take("greedy")) for _ in range(9)]
        await asyncio.sleep(0)
        assert turns.running("greedy") == 2
        await turns.take("other")  # does not wait
        for one in greedy:
            one.cancel()
        await asyncio.gather(*greedy, return_exceptions=True)

    asyncio.run(run())


def test_one_client_cannot_fill_the_queue() -> None:
    async def run() -> None:
        turns = Turns(limits(workers=1, client=3))
        taken = [asyncio.ensure_future(turns.take("greedy")) for _ in range(3)]
        await asyncio.sleep(0)
        with pytest.raises(Busy):
            await turns.take("greedy")
        other = asyncio.ensure_future(turns.take("other"))
        await asyncio.sleep(0)
        turns.give_back("greedy")
        await other
        turns.give_back("other")
        for one in taken:
            one.cancel()
        await asyncio.gather(*taken, return_exceptions=True)

    asyncio.run(run())


def test_who_waits_too_long_is_sent_away() -> None:
    async def run() -> None:
        turns = Turns(limits(wait=0.01))
        await turns.take("a")
        with pytest.raises(Busy):
            await turns.take("b")
        turns.give_back("a")
        await turns.take("b")

    asyncio.run(run())


events = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(["take", "give", "leave"])), max_size=60
)


@given(events, st.integers(1, 4), st.integers(1, 6))
def test_no_place_is_lost_or_given_twice(
    steps: list[tuple[str, str]], workers: int, queue: int
) -> None:
    async def run() -> None:
        turns = Turns(limits(workers=workers, queue=queue, client=5))
        waiting: list[tuple[str, asyncio.Future[None]]] = []
        held: Counter[str] = Counter()
        for client, step in steps:
            if step == "take":
                waiting.append((client, asyncio.ensure_future(turns.take(client))))
            elif step == "give" and held[client]:
                held[client] -= 1
                turns.give_back(client)
            elif step == "leave" and waiting:
                waiting.pop(0)[1].cancel()
            for _ in range(4):
                await asyncio.sleep(0)
            for name, future in list(waiting):
                if future.done():
                    waiting.remove((name, future))
                    if not future.cancelled() and future.exception() is None:
                        held[name] += 1
            assert sum(held.values()) <= workers
            assert all(number <= max(1, workers - 1) for number in held.values())
        for _, future in waiting:
            future.cancel()
        for _ in range(4):
            await asyncio.sleep(0)
        for name, number in held.items():
            for _ in range(number):
                turns.give_back(name)
        for place in range(workers):  # all are free again
            await asyncio.wait_for(turns.take(f"new {place}"), 60)

    asyncio.run(run())
