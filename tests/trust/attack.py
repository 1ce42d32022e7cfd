"""What every attack is given: how large it is to be, and where to count what it tried."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

import pytest

Extent = Literal["small", "middle", "full"]


def extent(config: pytest.Config) -> Extent:
    """How much a run tries: little in `make test`, more with --check, everything with --trust."""
    if config.getoption("--trust"):
        return "full"
    return "middle" if config.getoption("--check") else "small"


class Size(Protocol):
    """The size of an attack: the small one, the large one with --trust, and one in between with
    --check, which is a tenth of the large one where that is more than the small one."""

    def __call__(self, small: int, large: int, middle: int | None = None) -> int: ...


def size_for(extent: Extent) -> Size:
    """The sizes of a run."""

    def size(small: int, large: int, middle: int | None = None) -> int:
        between = max(small, large // 10) if middle is None else middle
        return {"small": small, "middle": between, "full": large}[extent]

    return size


Tally = Callable[[str, int], None]
"""Adds to a line of the table at the end."""
