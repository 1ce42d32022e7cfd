"""Work that is shared among cores: all of it is done, in its order, and failures are told."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator

import pytest

from hushtable.arrays import made_ahead, on_every_core


def test_every_core_takes_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    seen, both = set(), threading.Barrier(2, timeout=300)

    def run(task: int) -> int:
        seen.add(threading.get_ident())
        both.wait()
        return -task

    assert on_every_core(run, range(4)) == [0, -1, -2, -3]
    assert len(seen) == 2


@pytest.mark.parametrize("tasks", [[], [7], range(3)])
def test_errors_in_threads_are_raised(tasks: list[int]) -> None:
    def fail(task: int) -> None:
        raise ZeroDivisionError

    if not tasks:
        assert on_every_core(fail, tasks) == list(made_ahead(fail, tasks, 2)) == []
        return
    with pytest.raises(ZeroDivisionError):
        on_every_core(fail, tasks)
    with pytest.raises(ZeroDivisionError):
        list(made_ahead(fail, tasks, 2))


def test_what_is_made_ahead_comes_in_order_and_not_far_ahead() -> None:
    begun: list[int] = []

    def tasks() -> Iterator[int]:
        for task in range(20):
            begun.append(task)
            yield task

    def slower_first(task: int) -> int:
        time.sleep(0.01 if task % 2 == 0 else 0)
        return task * task

    for place, done in enumerate(made_ahead(slower_first, tasks(), 3)):
        assert done == place**2
        assert len(begun) <= place + 4
    assert begun == list(range(20))
