"""Repeatable randomness for tests and experiments, never for a private release."""

from __future__ import annotations

import hashlib
import itertools
from typing import Any

from numpy.typing import NDArray

from hushtable.kernel.noise.entropy import Keystream


class SeededEntropy:
    """A source that anyone who knows the seed can replay; what it makes is not private.

    The key is the SHA-256 of the seed and of the path of spawns that led here, so the n-th source
    spawned by a source is always the same one, whatever the threads do with it.
    """

    private = False

    def __init__(self, seed: int, path: tuple[int, ...] = ()) -> None:
        self._seed = seed
        self._path = path
        self._spawned = itertools.count()
        name = "/".join(map(str, ("hushtable", seed, *path)))
        self._stream = Keystream(hashlib.sha256(name.encode()).digest())

    def fill(self, out: NDArray[Any]) -> None:
        """Overwrite a C-contiguous array of unsigned integers with the next bits."""
        self._stream.fill(out)

    def bits(self, k: int) -> int:
        """Return an integer uniform over 0 … 2^k − 1."""
        return self._stream.bits(k)

    def spawn(self) -> SeededEntropy:
        """Return the next of this source's independent children."""
        return SeededEntropy(self._seed, (*self._path, next(self._spawned)))
