"""Integers that come piece by piece: in memory while they are few, beyond that in a private file.

The file never has a name, where the system can do that, and ends with the process, also after a
kill. What is read of it is the system's cache, which it takes back when memory is needed.
"""

from __future__ import annotations

import mmap
import tempfile
from typing import IO

import numpy as np

from hushtable.arrays import Integers

_MOST = 2**25  # in memory, unless it is said


class Spilled:
    """Takes integers piece by piece; in the end, tells all of them as one array."""

    def __init__(self, most: int | None = None) -> None:
        """Up to so many of them stay in memory."""
        self._most = _MOST if most is None else most
        self._pieces: list[Integers] = []
        self._held = 0
        self._file: IO[bytes] | None = None

    def add(self, piece: Integers) -> None:
        """Take some more, which nobody changes from now on."""
        self._pieces.append(piece)
        self._held += len(piece)
        if self._held > self._most:
            self._write()

    def array(self) -> Integers:
        """All of them, in their order. What was written to a file can only be read."""
        if self._file is None:
            return np.concatenate([np.zeros(0, np.int64), *self._pieces])
        self._write()
        with self._file as file:
            file.flush()
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return np.frombuffer(mapped, np.int64)

    def _write(self) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(prefix="hushtable-spill-")  # noqa: SIM115
        for piece in self._pieces:
            self._file.write(np.ascontiguousarray(piece).data)
        self._pieces, self._held = [], 0
