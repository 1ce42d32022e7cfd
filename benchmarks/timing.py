"""Times that can be compared: contestants take turns, and the best of several rounds counts.

On a shared machine the ratio of two bests is steadier than either time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

Clock = Callable[[], float]


def in_turn(
    rounds: int, works: Mapping[str, Callable[[], object]], clock: Clock = time.perf_counter
) -> dict[str, float]:
    """The best time of each piece of work; a round before the first one warms up and is not timed.

    >>> sorted(in_turn(2, {"one": lambda: 1, "two": lambda: 2}))
    ['one', 'two']
    """
    best = dict.fromkeys(works, float("inf"))
    for turn in range(rounds + 1):
        for name, work in works.items():
            took = seconds(work, clock)
            if turn:
                best[name] = min(best[name], took)
    return best


def seconds(work: Callable[[], object], clock: Clock = time.perf_counter) -> float:
    """How long one piece of work takes."""
    start = clock()
    work()
    return clock() - start
