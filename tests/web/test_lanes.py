"""Lanes: heavy questions are answered in the gaps that light ones leave."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import psutil
import pytest

from hushtable.web import lanes as lanes_module
from hushtable.web.lanes import LONG, Lanes
from hushtable.web.workers import LOW_PRIORITY, Pool
from tests.web.serving import limits
from tests.web.test_workers import ROOT, question


@pytest.fixture(autouse=True)
def found_by_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


def test_a_client_with_a_long_question_gives_way_to_others(shelf_folder: Path) -> None:
    async def priorities() -> tuple[int, int]:
        lanes = Lanes(limits(), "tests.web.trying_worker")
        try:
            before = int((await lanes.ask(question(shelf_folder, "echo"), "a")).body)
            first = psutil.Process(before).nice()
            await lanes.ask(question(shelf_folder, "sleep", ("s", f"{2 * LONG}")), "a")
            await lanes.ask(question(shelf_folder, "compute", ("s", f"{2 * LONG}")), "a")
            after = int((await lanes.ask(question(shelf_folder, "echo"), "a")).body)
            return first, psutil.Process(after).nice()
        finally:
            await lanes.close()

    first, then = asyncio.run(priorities())
    assert (first, then) == (os.getpriority(os.PRIO_PROCESS, 0), LOW_PRIORITY)


def test_a_question_that_waits_takes_no_core(shelf_folder: Path) -> None:
    async def measured() -> list[float]:
        took: list[float] = []
        pool = Pool(
            limits(), "tests.web.trying_worker", took=lambda _, seconds: took.append(seconds)
        )
        try:
            for task in ("sleep", "sleep", "compute"):
                await pool.ask(question(shelf_folder, task, ("s", "1.5")), "a")
        finally:
            await pool.close()
        return took

    _, waited, computed = asyncio.run(measured())
    assert waited < 1 < computed


def test_a_client_whose_questions_are_short_again_comes_back() -> None:
    lanes = Lanes(limits())
    lanes._note("a", 4 * LONG)
    assert lanes.lane("a") is lanes.heavy
    assert lanes.lane("b") is lanes.quick
    asked = 0
    while lanes.lane("a") is lanes.heavy:
        lanes._note("a", LONG / 10)
        asked += 1
    assert asked == 7  # 4 · 0.8⁷ < 1


def test_short_questions_between_long_ones_hide_nothing() -> None:
    lanes = Lanes(limits())
    for _ in range(100):
        lanes._note("a", 20 * LONG)
        for _ in range(5):
            lanes._note("a", LONG / 10)
            assert lanes.lane("a") is lanes.heavy


def test_heavy_questions_leave_all_places_to_others() -> None:
    """However many they are, none of them holds a place of the quick lane."""
    lanes = Lanes(limits(workers=3))
    assert lanes.quick.limits.workers == 3
    assert lanes.heavy.limits.workers == 2
    lanes._note("a", 2 * LONG)
    assert lanes.lane("a").turns is not lanes.lane("b").turns


def test_clients_that_are_remembered_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes_module, "_MOST_KNOWN", 5)
    lanes = Lanes(limits())
    for number in range(20):
        lanes._note(str(number), 2 * LONG)
        lanes._note(f"light {number}", LONG / 2)
    assert [*lanes._longest] == [str(number) for number in range(15, 20)]
