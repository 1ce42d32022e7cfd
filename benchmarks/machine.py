"""What the figures were measured on, in words that name no machine; and a process's memory."""

from __future__ import annotations

import os
import platform
import resource
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context
from pathlib import Path

PACKAGES = ("numpy", "numba", "duckdb", "polars", "pyarrow")


def machine() -> str:
    """Cores, memory, processor, and the versions that matter."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    known = ", ".join(f"{name} {found}" for name in PACKAGES if (found := _version(name)))
    return (
        f"{cores} cores, {memory:.0f} GiB of memory, {_processor()};"
        f" Python {platform.python_version()}, {known}"
    )


def _processor() -> str:
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def peak_memory() -> int:
    """The most memory that this process ever held, in bytes.

    On Linux what `getrusage` tells of a child also covers its parent's memory at the start.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text(encoding="utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def most_memory(work: Callable[..., object], *given: object) -> int:
    """The most memory that some work needs, in bytes, of a new process that does nothing else."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(_peak_of, (work, given))


def _peak_of(work: Callable[..., object], given: tuple[object, ...]) -> int:
    work(*given)
    return peak_memory()
