"""A release as a folder: manifest.json and arrays in NumPy's open .npy format.

Integers are stored in the narrowest type that holds them. Each file has a SHA-256 per chunk, so a
reader can verify just what it touches. Nothing here executes what it reads.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from hushtable.errors import ReleaseError
from hushtable.scratch import sync_folder

MANIFEST = "manifest.json"
FORMAT = 1
CHUNK = 4 * 2**20
MAX_MANIFEST = 256 * 2**20

_DTYPES = {np.dtype(f"<i{width}").str: np.dtype(f"<i{width}") for width in (1, 2, 4, 8)}


@dataclass(frozen=True)
class Content:
    """What a mechanism made: arrays, who can read them, and what to tell about them."""

    reader: str
    arrays: Mapping[str, NDArray[np.int64]]
    noise: dict[str, Any]
    parameters: dict[str, Any]


# ── writing ──────────────────────────────────────────────────────────────────────────────────────


def write_arrays(folder: Path, arrays: Mapping[str, NDArray[np.int64]]) -> dict[str, Any]:
    """Write each array to its file, durably; returns what the manifest says of them."""
    return {name: _write_array(folder / f"{name}.npy", array) for name, array in arrays.items()}


def write_manifest(folder: Path, manifest: dict[str, Any]) -> str:
    """Write the manifest and make the folder durable; returns the manifest's SHA-256."""
    text = json.dumps(manifest, indent=1, ensure_ascii=False, allow_nan=False).encode() + b"\n"
    with open(folder / MANIFEST, "xb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    sync_folder(folder)
    return hashlib.sha256(text).hexdigest()


def _write_array(path: Path, array: NDArray[np.int64]) -> dict[str, Any]:
    flat = array.reshape(-1)
    narrow = _narrowest(flat)
    header = _header(narrow, array.shape)
    hashes = []
    step = CHUNK // narrow.itemsize
    with open(path, "xb") as file:
        file.write(header)
        for start in range(0, len(flat), step):
            piece = flat[start : start + step].astype(narrow).tobytes()
            file.write(piece)
            hashes.append(hashlib.sha256(piece).hexdigest())
        file.flush()
        os.fsync(file.fileno())
    return {
        "file": path.name,
        "dtype": narrow.str,
        "shape": list(array.shape),
        "chunk": CHUNK,
        "sha256": hashes,
    }


def _narrowest(values: NDArray[np.int64]) -> np.dtype[Any]:
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    for dtype in _DTYPES.values():
        if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max:
            return dtype
    raise AssertionError("64-bit values fit 64 bits")


def _header(dtype: np.dtype[Any], shape: tuple[int, ...]) -> bytes:
    """The start of a .npy file, version 1.0: it is the same for the same type and shape."""
    text = repr({"descr": dtype.str, "fortran_order": False, "shape": shape}).encode()
    padding = -(len(npy.magic(1, 0)) + 2 + len(text) + 1) % npy.ARRAY_ALIGN
    text += b" " * padding + b"\n"
    return npy.magic(1, 0) + len(text).to_bytes(2, "little") + text


# ── reading ──────────────────────────────────────────────────────────────────────────────────────


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read and check the manifest's form; a newer format is refused."""
    raw = _read_regular(folder, MANIFEST)
    try:
        manifest = json.loads(raw, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise ReleaseError(f"{folder}: manifest.json is not valid JSON") from None
    if not isinstance(manifest, dict) or manifest.get("hushtable") != "release":
        raise ReleaseError(f"{folder} is not a hushtable release")
    version = manifest.get("format")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ReleaseError(f"{folder}: the manifest has no format version")
    if version > FORMAT:
        raise ReleaseError(
            f"{folder} has format {version}, this hushtable reads up to {FORMAT}: upgrade it"
        )
    return manifest


def _refuse_constant(name: str) -> Any:
    raise ValueError(name)


def _read_regular(folder: Path, name: str) -> bytes:
    descriptor = _open_regular(folder, name)
    with open(descriptor, "rb") as file:
        if os.fstat(descriptor).st_size > MAX_MANIFEST:
            raise ReleaseError(f"{folder}: {name} is larger than {MAX_MANIFEST // 2**20} MiB")
        return file.read()


def _open_regular(folder: Path, name: str) -> int:
    """Open a plain file inside the folder: no links, devices or other folders."""
    try:
        descriptor = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        problem = "there is no such folder" if not folder.exists() else f"{name} is missing"
        raise ReleaseError(f"{folder}: {problem}") from None
    except (OSError, ValueError):
        raise ReleaseError(f"{folder}: {name} cannot be read as a plain file") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ReleaseError(f"{folder}: {name} is not a plain file")
    return descriptor


class StoredArray:
    """An array of a release, memory-mapped; chunks are verified when first touched."""

    def __init__(self, folder: Path, name: str, entry: Any, shape: tuple[int, ...]) -> None:
        self._where = f"{folder}: array {name!r}"
        dtype, hashes = self._check_entry(entry, shape)
        header = _header(dtype, shape)
        size = math.prod(shape) * dtype.itemsize
        descriptor = _open_regular(folder, f"{name}.npy")
        with open(descriptor, "rb") as file:
            if os.fstat(descriptor).st_size != len(header) + size:
                raise ReleaseError(f"{self._where} does not have the size the manifest says")
            if file.read(len(header)) != header:
                raise ReleaseError(f"{self._where} does not have the header the manifest says")
            self._bytes: NDArray[np.uint8] = np.memmap(
                file, np.uint8, mode="r", offset=len(header), shape=(size,)
            )
        self._array = self._bytes.view(dtype).reshape(shape)
        self._hashes = hashes
        self._verified = [False] * len(hashes)

    def _check_entry(self, entry: Any, shape: tuple[int, ...]) -> tuple[np.dtype[Any], list[str]]:
        if not isinstance(entry, dict) or entry.get("dtype") not in _DTYPES:
            raise ReleaseError(f"{self._where} has no known integer type")
        dtype = _DTYPES[entry["dtype"]]
        chunks = -(-math.prod(shape) * dtype.itemsize // CHUNK)
        hashes = entry.get("sha256")
        if entry.get("shape") != list(shape) or entry.get("chunk") != CHUNK:
            raise ReleaseError(f"{self._where} does not have the shape of the schema")
        if not isinstance(hashes, list) or len(hashes) != chunks:
            raise ReleaseError(f"{self._where} does not have a checksum for every chunk")
        return dtype, hashes

    @property
    def shape(self) -> tuple[int, ...]:
        return self._array.shape

    def read(self, *slices: slice) -> NDArray[Any]:
        """A view of a box of the array, after verifying the chunks that hold it."""
        box = slices + tuple(slice(0, size) for size in self.shape[len(slices) :])
        if all(part.start < part.stop for part in box):
            first = np.ravel_multi_index([part.start for part in box], self.shape)
            last = np.ravel_multi_index([part.stop - 1 for part in box], self.shape)
            self._verify(int(first), int(last))
        return self._array[box]

    def verify(self) -> None:
        """Check every chunk."""
        self._verified = [False] * len(self._hashes)
        if self._array.size:
            self._verify(0, self._array.size - 1)

    def _verify(self, first: int, last: int) -> None:
        width = self._array.dtype.itemsize
        for chunk in range(first * width // CHUNK, last * width // CHUNK + 1):
            if not self._verified[chunk]:
                piece = self._bytes[chunk * CHUNK : (chunk + 1) * CHUNK]
                if hashlib.sha256(piece.data).hexdigest() != self._hashes[chunk]:
                    raise ReleaseError(f"{self._where} is damaged: chunk {chunk} was changed")
                self._verified[chunk] = True
