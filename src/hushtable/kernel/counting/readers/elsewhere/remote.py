"""A file elsewhere in one of its states: whatever is read of it is read of that state, or fails.

A file that is overwritten while it is read would give rows of two states, and count people twice
or not at all. So every part is asked for by the mark of the state that was there first, and what
comes back is compared with it.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, NoReturn

from hushtable.arrays import made_ahead
from hushtable.errors import DataError
from hushtable.kernel.counting.silence import raise_alone

_FIRST = 2**20 + 2**16  # more than a line can have: whoever wants the first one needs no more
_PIECE = 2**22
_AHEAD = 4  # parts that are asked for while others are read


@dataclass(eq=False)
class RemoteFile:
    """A file elsewhere, pinned to the state that it was found in."""

    name: str
    """Its address without what may be secret."""
    size: int
    fetch: Callable[[int, int], bytes] = field(repr=False)
    """The bytes from one place to before another."""
    whole: Callable[[], Iterator[bytes]] | None = field(default=None, repr=False)
    """All bytes one after the other, where a server gives no parts."""
    problem: str | None = field(default=None, repr=False)
    """Why it could not be read, as a line: engines that read through us do not pass it on."""

    def __str__(self) -> str:
        return self.name

    def read(self, start: int, stop: int) -> bytes:
        """The bytes from one place to before another, or the end."""
        stop = min(stop, self.size)
        if start >= stop:
            return b""
        with self._noted():
            if self.whole is not None:
                self.fail("its server gives no parts of files: download it")
            found = self.fetch(start, stop)
            if len(found) != stop - start:
                self.fail("it ended too early: check that nobody writes it, and try again")
        return found

    def pieces(self) -> Iterator[bytes]:
        """All bytes, some at a time."""
        if self.whole is None:
            yield self.read(0, _FIRST)
            starts = range(_FIRST, self.size, _PIECE)
            yield from made_ahead(lambda start: self.read(start, start + _PIECE), starts, _AHEAD)
            return
        with self._noted():
            found = 0
            for piece in self.whole():
                yield piece
                found += len(piece)
            if found != self.size:
                self.fail("it ended too early: check that nobody writes it, and try again")

    def fail(self, why: str) -> NoReturn:
        raise_alone(DataError(f"{self.name} could not be read: {why}"))

    @contextmanager
    def _noted(self) -> Iterator[None]:
        try:
            yield
        except DataError as problem:
            self.problem = str(problem)
            raise


CHANGED = (
    "it changed while it was being read, and rows of two states are never counted together: try"
    " again when nobody writes it"
)
PACKED = "its store says that it is packed (Content-Encoding): store it as it is, ending in .gz"


def opened(file: str | Path | RemoteFile) -> IO[bytes]:
    """A file to be read from its start to its end."""
    if isinstance(file, RemoteFile):
        return io.BufferedReader(_Sequence(file), _PIECE)
    return open(file, "rb")


def size_of(file: str | Path | RemoteFile) -> int:
    return file.size if isinstance(file, RemoteFile) else Path(file).stat().st_size


def seekable(file: str | RemoteFile) -> Any:
    """A file whose reader goes to and fro in it, as Arrow takes it."""
    import pyarrow as pa

    return pa.PythonFile(_Parts(file), mode="r") if isinstance(file, RemoteFile) else file


class _Sequence(io.RawIOBase):
    """The bytes of a file in their order."""

    def __init__(self, file: RemoteFile) -> None:
        self._pieces = file.pieces()
        self._rest = memoryview(b"")
        self._place = 0

    def readable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def readinto(self, buffer: Any) -> int:
        if not self._rest:
            self._rest = memoryview(next(self._pieces, b""))
        size = min(len(buffer), len(self._rest))
        buffer[:size], self._rest = self._rest[:size], self._rest[size:]
        self._place += size
        return size

    def close(self) -> None:
        self._pieces.close()  # type: ignore[attr-defined]
        super().close()


class _Parts(io.RawIOBase):
    """A file of which parts are read."""

    def __init__(self, file: RemoteFile) -> None:
        self._file = file
        self._place = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self._file.size}[whence]
        self._place = start + offset
        return self._place

    def read(self, size: int | None = -1) -> bytes:
        stop = self._file.size if size is None or size < 0 else self._place + size
        found = self._file.read(self._place, stop)
        self._place += len(found)
        return found

    def readinto(self, buffer: Any) -> int:
        found = self.read(len(buffer))
        buffer[: len(found)] = found
        return len(found)
