"""What every attack is given: how large it is to be, and where to count what it tried."""

from __future__ import annotations

from collections.abc import Callable

Size = Callable[[int, int], int]
"""The small size in an ordinary run, the large one with --trust."""

Tally = Callable[[str, int], None]
"""Adds to a line of the table at the end."""
