"""What work on large arrays shares: names of their types, this machine's cores and its memory."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

MAX_AXES = 64
"""Of an array, as NumPy has it."""
_USUAL_MEMORY = 8 * 2**30

_Task = TypeVar("_Task")
_Done = TypeVar("_Done")


def cores() -> int:
    """How many threads are worth starting."""
    return os.cpu_count() or 1


# Pools live no longer than a call, since threads do not survive a fork; and they are imported only
# where there is work for them, which a small answer has not.


def on_every_core(
    work: Callable[[_Task], _Done],
    tasks: Sequence[_Task],
    tell: Callable[[int, int], None] | None = None,
) -> list[_Done]:
    """What becomes of each task, in their order; raises what a task raised.

    Of several tasks, tells how many are done, and of how many.
    """
    if len(tasks) < 2:
        return [work(task) for task in tasks]
    from concurrent.futures import ThreadPoolExecutor

    made = []
    with ThreadPoolExecutor(min(len(tasks), cores())) as pool:
        for done in pool.map(work, tasks):
            made.append(done)
            if tell is not None:
                tell(len(made), len(tasks))
    return made


def made_ahead(
    work: Callable[[_Task], _Done], tasks: Iterable[_Task], most: int
) -> Iterator[_Done]:
    """What becomes of each task, in their order, at most so many of them ahead of the reader."""
    from concurrent.futures import ThreadPoolExecutor

    todo = iter(tasks)
    with ThreadPoolExecutor(cores()) as pool:
        waiting = deque(pool.submit(work, task) for task in islice(todo, most + 1))
        while waiting:
            yield waiting.popleft().result()
            waiting.extend(pool.submit(work, task) for task in islice(todo, 1))


def available_memory() -> int:
    """The bytes of memory that are free, or all there are, or what is usual: as the system says."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            fields = dict(line.split(":", 1) for line in file)
        return int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        if not hasattr(os, "sysconf"):  # Windows, where nothing is published
            return _USUAL_MEMORY
        return int(os.sysconf("SC_PAGE_SIZE")) * int(os.sysconf("SC_PHYS_PAGES"))


def available_disk() -> int:
    """The bytes that are free where temporary files are."""
    import shutil
    import tempfile

    return shutil.disk_usage(tempfile.gettempdir()).free
