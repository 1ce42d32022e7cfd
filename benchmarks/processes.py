"""What a family of processes uses: one, all that it started, and so on."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def watched(process: int) -> Iterator[list[int]]:
    """The most memory that a family held meanwhile, in bytes: looked at ten times a second."""
    most = [memory(process)]
    stop = threading.Event()

    def watch() -> None:
        while not stop.wait(0.1):
            most[0] = max(most[0], memory(process))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield most
    finally:
        stop.set()
        watcher.join()


def family(process: int) -> list[int]:
    """The numbers of a process and of all below it."""
    parents: dict[int, list[int]] = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append(int(entry))
    found = [process]
    for one in found:
        found += parents.get(one, [])
    return found


def seconds(process: int) -> float:
    """Of all cores, children that have ended included."""
    ticks = 0
    for one in family(process):
        try:
            fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        ticks += sum(map(int, fields[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def memory(process: int) -> int:
    """Bytes that a family holds now; what some of them share is counted once, in parts."""
    return sum(map(_held, family(process)))


def _held(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:  # it has ended, or is not ours to look at
        return 0
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
