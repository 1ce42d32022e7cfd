"""Files that others wrote, opened to be read: as bytes, without waiting for who writes to a pipe.

Systems differ in what they can refuse while they open. Where a flag is missing, as on Windows, the
same is looked up just before.
"""

from __future__ import annotations

import os
from pathlib import Path


def _flags(*names: str) -> int:
    """Those of the flags that the system has."""
    flags = os.O_RDONLY
    for name in names:
        flags |= getattr(os, name, 0)
    return flags


# A terminal does not become ours; line breaks and ^Z stay what they are.
READ = _flags("O_BINARY", "O_CLOEXEC", "O_NONBLOCK", "O_NOCTTY")
NO_LINK = _flags("O_NOFOLLOW")
# A folder on the way need not be readable, where the system can tell these apart.
STEP = _flags("O_PATH", "O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW")
HAS_STEPS = os.open in os.supports_dir_fd


def open_no_link(path: Path) -> int:
    """Open a file, unless it is a link."""
    if not NO_LINK and path.is_symlink():
        raise OSError("a link")
    return os.open(path, READ | NO_LINK)


def open_inside(folder: Path, place: Path) -> int:
    """Open a file in a folder, both of them resolved: a link on the way was put there since."""
    if not HAS_STEPS:
        if place.resolve() != place:
            raise OSError("a link")
        return os.open(place, READ)
    *steps, name = place.relative_to(folder).parts or (".",)
    handle = os.open(folder, STEP)
    try:
        for step in steps:
            below = os.open(step, STEP, dir_fd=handle)
            os.close(handle)
            handle = below
        return os.open(name, READ | NO_LINK, dir_fd=handle)
    finally:
        os.close(handle)
