"""What work on large arrays shares: how much memory this machine has left."""

from __future__ import annotations

import os


def available_memory() -> int:
    """The bytes of memory that are free, or all there are where the system does not say."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            fields = dict(line.split(":", 1) for line in file)
        return int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):
        return int(os.sysconf("SC_PAGE_SIZE")) * int(os.sysconf("SC_PHYS_PAGES"))
