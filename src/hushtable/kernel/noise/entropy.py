"""Random bits: the one door through which chance enters a release.

Bits are an AES-256-CTR keystream whose key comes from the operating system. There is no seed here:
whoever needs a repeatable source for an experiment finds one on the evaluation side, and what it
makes is marked as not private.
"""

from __future__ import annotations

import os
import threading
from typing import Any, Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from hushtable.kernel.processes import this_process

KEY_BYTES = 32

# The keystream is the encryption of zeros; one block of them serves every source.
_ZEROS = memoryview(bytes(1 << 17))
_SPARE_BYTES = 128


class Entropy(Protocol):
    """A source of independent fair bits."""

    @property
    def private(self) -> bool:
        """Whether nobody can know these bits: true only of the operating system's source."""

    def fill(self, out: NDArray[Any]) -> None:
        """Overwrite a C-contiguous array of unsigned integers with random bits."""

    def bits(self, k: int) -> int:
        """Return an integer uniform over 0 … 2^k − 1."""

    def spawn(self) -> Entropy:
        """Return an independent source, for another thread."""


class Keystream:
    """The keystream of AES-256-CTR under one key, which may never be used for a second stream."""

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise ValueError(f"an AES-256 key has {KEY_BYTES} bytes")
        self._cipher = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()
        self._lock = threading.Lock()
        self._spare = 0
        self._spare_length = 0

    def fill(self, out: NDArray[Any]) -> None:
        """Overwrite a C-contiguous array of unsigned integers with the next keystream bytes."""
        if out.dtype.kind != "u" or not out.flags.c_contiguous:
            raise ValueError("random bits fill C-contiguous arrays of unsigned integers")
        target = out.reshape(-1).view(np.uint8).data
        with self._lock:
            for start in range(0, len(target), len(_ZEROS)):
                piece = target[start : start + len(_ZEROS)]
                self._cipher.update_into(_ZEROS[: len(piece)], piece)

    def bits(self, k: int) -> int:
        """Return an integer uniform over 0 … 2^k − 1, from bits that are used only once."""
        with self._lock:
            while self._spare_length < k:
                fresh = self._cipher.update(_ZEROS[:_SPARE_BYTES])
                self._spare |= int.from_bytes(fresh, "little") << self._spare_length
                self._spare_length += 8 * _SPARE_BYTES
            value = self._spare & ((1 << k) - 1)
            self._spare >>= k
            self._spare_length -= k
        return value


class SystemEntropy:
    """Private randomness: a keystream under a fresh key from the operating system.

    A forked child finds that it is another process and takes a key of its own; the spare bits and
    the lock, which another thread may have held at the fork, stay behind with the old stream.
    """

    private = True

    def __init__(self) -> None:
        self._process = this_process()
        self._stream = Keystream(os.urandom(KEY_BYTES))

    def fill(self, out: NDArray[Any]) -> None:
        """Overwrite a C-contiguous array of unsigned integers with random bits."""
        stream = self._own_stream()
        stream.fill(out)
        if self._own_stream() is not stream:  # forked in between: the parent has these bits too
            self.fill(out)

    def bits(self, k: int) -> int:
        """Return an integer uniform over 0 … 2^k − 1."""
        stream = self._own_stream()
        value = stream.bits(k)
        return value if self._own_stream() is stream else self.bits(k)

    def spawn(self) -> SystemEntropy:
        """Return a source under a fresh key of its own."""
        return SystemEntropy()

    def _own_stream(self) -> Keystream:
        process = this_process()
        if self._process != process:
            # The stream first: no thread may see the new name beside the inherited stream.
            self._stream = Keystream(os.urandom(KEY_BYTES))
            self._process = process
        return self._stream
