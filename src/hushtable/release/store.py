"""A release as a folder: manifest.json and arrays in NumPy's open .npy format.

Integers are stored in the narrowest type that holds them. Each file has a SHA-256 per chunk, so a
reader can verify just what it touches. Nothing here executes what it reads.
"""

from __future__ import annotations

import hashlib
import json
import math
import mmap
import os
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from hushtable.arrays import MAX_AXES, on_every_core
from hushtable.errors import ReleaseError
from hushtable.forms import Form, fill
from hushtable.opening import open_no_link
from hushtable.progress import listener
from hushtable.release.form import ArrayEntry, FileEntry, StoredType, TableEntry
from hushtable.schema import Schema
from hushtable.scratch import sync_folder

MANIFEST = "manifest.json"
FORMAT = 1
CHUNK = 4 * 2**20
MAX_MANIFEST = 64 * 2**20
MAX_ITEMS = 4_000_000
"""The most values a manifest may hold: parsed, they take some sixty bytes each."""

_DTYPES: list[np.dtype[Any]] = [np.dtype(name) for name in get_args(StoredType)]


@dataclass(frozen=True)
class Content:
    """What a mechanism made: arrays, who can read them, and what to tell about them."""

    reader: str
    arrays: Mapping[str, NDArray[np.int64]]
    noise: dict[str, Any]
    parameters: dict[str, Any]
    write_table: Callable[[Path, Schema, Content], dict[str, Any]] | None = None
    """Writes the same as a table for everyone, and returns what the manifest says of it."""


# ── writing ──────────────────────────────────────────────────────────────────────────────────────


def write_content(folder: Path, schema: Schema, content: Content) -> dict[str, Any]:
    """Write all files but the manifest, durably; returns what the manifest says of them."""
    told: dict[str, Any] = {"arrays": write_arrays(folder, content.arrays)}
    if content.write_table:
        told["table"] = content.write_table(folder, schema, content)
    return told


def write_arrays(folder: Path, arrays: Mapping[str, NDArray[np.int64]]) -> dict[str, Any]:
    """Write each array to its file, durably; returns what the manifest says of them."""
    return {name: _write_array(folder / f"{name}.npy", array) for name, array in arrays.items()}


def write_manifest(folder: Path, manifest: dict[str, Any]) -> str:
    """Write the manifest and make the folder durable; returns the manifest's SHA-256."""
    text = json.dumps(manifest, indent=1, ensure_ascii=False, allow_nan=False).encode() + b"\n"
    if len(text) > MAX_MANIFEST or count_items(text) > MAX_ITEMS:
        raise ReleaseError(f"the schema is too large: no reader would open this {MANIFEST}")
    with open(folder / MANIFEST, "xb") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    sync_folder(folder)
    return hashlib.sha256(text).hexdigest()


def count_items(text: bytes) -> int:
    """A bound on how many values a JSON text holds, before it is parsed."""
    return text.count(b",") + text.count(b"[") + text.count(b"{")


def _write_array(path: Path, array: NDArray[np.int64]) -> dict[str, Any]:
    flat = array.reshape(-1)
    narrow = _narrowest(flat)
    header = _header(narrow, array.shape)
    step = CHUNK // narrow.itemsize
    with open(path, "xb") as file:
        file.write(header)
        file.flush()

        def write(start: int) -> str:
            """Write one chunk to its place; returns its checksum."""
            piece = flat[start : start + step].astype(narrow).view(np.uint8).data
            _write_at(file.fileno(), piece, len(header) + start * narrow.itemsize)
            return hashlib.sha256(piece).hexdigest()

        hashes = on_every_core(write, range(0, len(flat), step), listener())
        os.fsync(file.fileno())
    return {
        "file": path.name,
        "dtype": narrow.str,
        "shape": list(array.shape),
        "chunk": CHUNK,
        "sha256": hashes,
    }


def _write_at(descriptor: int, piece: memoryview, offset: int) -> None:
    while piece:  # a call may write less than it is given
        written = os.pwrite(descriptor, piece, offset)
        piece, offset = piece[written:], offset + written


def finish_file(path: Path) -> dict[str, Any]:
    """Make a file that something else wrote durable; returns what the manifest says of it."""
    hashes = []
    with open(path, "rb") as file:
        while piece := file.read(CHUNK):
            hashes.append(hashlib.sha256(piece).hexdigest())
        os.fsync(file.fileno())
    return {
        "file": path.name,
        "bytes": path.stat().st_size,
        "chunk": CHUNK,
        "sha256": hashes,
    }


def _narrowest(values: NDArray[np.int64]) -> np.dtype[Any]:
    """The smallest integers that hold all values: looked for by pieces, which stay in the cache."""
    pieces = [values[start : start + CHUNK] for start in range(0, len(values), CHUNK)]
    ends = on_every_core(lambda piece: (int(piece.min()), int(piece.max())), pieces)
    low, high = min((low for low, _ in ends), default=0), max((high for _, high in ends), default=0)
    for dtype in _DTYPES:
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


def read_plain_file(folder: Path, name: str, limit: int) -> bytes:
    """The bytes of a plain file of the folder, which may not be larger than the limit."""
    with open(_open_plain(folder, name), "rb") as file:
        # A limited read too, for the file may grow after its size was asked.
        too_large = os.fstat(file.fileno()).st_size > limit
        raw = b"" if too_large else file.read(limit + 1)
    if too_large or len(raw) > limit:
        raise ReleaseError(f"{folder}: {name} is larger than {limit // 2**20} MiB")
    return raw


def _open_plain(folder: Path, name: str) -> int:
    """Open a plain file inside the folder: no links, devices or other folders."""
    try:
        descriptor = open_no_link(folder / name)
    except (FileNotFoundError, NotADirectoryError):
        raise ReleaseError(f"{folder}: {_missing(folder, name)}") from None
    except (OSError, ValueError):
        raise ReleaseError(f"{folder}: {name} cannot be read as a plain file") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ReleaseError(f"{folder}: {name} is not a plain file")
    return descriptor


def _missing(folder: Path, name: str) -> str:
    if folder.is_dir():
        return f"this is no whole release, {name} is missing"
    if folder.exists():
        return "a release is a folder, and this is a file"
    return "there is no such folder; a release is the folder that hush publish made"


def read_table(folder: Path, form: type[Form], content: Any, what: str) -> Form:
    """A table of the manifest in its form; a refusal names the folder."""
    return fill(form, content, what, lambda line: ReleaseError(f"{folder}: {line}"))


def stored_length(folder: Path, name: str, entry: Any, allowed: range) -> int:
    """How long an array of one axis is, as the manifest says; its file's size must agree."""
    shape = read_table(folder, ArrayEntry, entry, f"the entry of array {name!r}").shape
    if len(shape) != 1 or shape[0] not in allowed:
        raise ReleaseError(
            f"{folder}: array {name!r} must have one axis of {allowed[0]} to {allowed[-1]:,}"
        )
    return shape[0]


def _checksums(where: str, entry: FileEntry, size: int) -> list[str]:
    """The checksums of a file of some size, one for every chunk."""
    if entry.chunk != CHUNK or len(entry.sha256) != -(-size // CHUNK):
        raise ReleaseError(f"{where} does not have a checksum for every chunk")
    return entry.sha256


class StoredArray:
    """An array of a release, memory-mapped; chunks are verified when first touched."""

    def __init__(self, folder: Path, name: str, entry: Any, shape: tuple[int, ...]) -> None:
        self._where = f"{folder}: array {name!r}"
        told = read_table(folder, ArrayEntry, entry, f"the entry of array {name!r}")
        dtype, self._hashes = self._check_entry(told, f"{name}.npy", shape)
        self._bytes = self._map(folder, f"{name}.npy", _header(dtype, shape), dtype, shape)
        self._array = self._bytes.view(dtype).reshape(shape)
        self._verified = np.zeros(len(self._hashes), bool)

    def _check_entry(
        self, entry: ArrayEntry, file: str, shape: tuple[int, ...]
    ) -> tuple[np.dtype[Any], list[str]]:
        # Few axes first: the product of a million sizes is a number of a million digits.
        if len(shape) > MAX_AXES:
            raise ReleaseError(f"{self._where} has more than {MAX_AXES} axes")
        if entry.file != file:
            raise ReleaseError(f"{self._where} must be the file {file}")
        if entry.shape != list(shape):
            raise ReleaseError(f"{self._where} does not have the shape of the schema")
        dtype: np.dtype[Any] = np.dtype(entry.dtype)
        return dtype, _checksums(self._where, entry, math.prod(shape) * dtype.itemsize)

    def _map(
        self,
        folder: Path,
        file: str,
        header: bytes,
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
    ) -> NDArray[np.uint8]:
        size = len(header) + math.prod(shape) * dtype.itemsize
        with open(_open_plain(folder, file), "rb") as opened:
            if os.fstat(opened.fileno()).st_size != size:
                raise ReleaseError(f"{self._where} does not have the size the manifest says")
            if opened.read(len(header)) != header:
                raise ReleaseError(f"{self._where} does not have the header the manifest says")
            try:
                mapped = mmap.mmap(opened.fileno(), size, access=mmap.ACCESS_READ)
            except (OSError, ValueError, OverflowError):
                raise ReleaseError(f"{self._where} is too large for this machine") from None
        return np.frombuffer(mapped, np.uint8, offset=len(header))

    @property
    def shape(self) -> tuple[int, ...]:
        return self._array.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._array.dtype

    def read(self, *slices: slice) -> NDArray[Any]:
        """A view of a box of the array, after verifying the chunks that hold it.

        The slices have a start and a stop within the array; axes without one are read whole.
        """
        box = slices + tuple(slice(0, size) for size in self.shape[len(slices) :])
        if all(part.start < part.stop for part in box):
            touched = self._touched(box)
            self._verify(np.flatnonzero(touched & ~self._verified))
        return self._array[box]

    def verify(self) -> None:
        """Check every chunk, also those that were checked before."""
        self._verified[:] = False
        self._verify(np.arange(len(self._hashes)))

    def _touched(self, box: tuple[slice, ...]) -> NDArray[np.bool_]:
        """Which chunks hold a cell of the box.

        Axes whose steps are longer than a chunk are followed step by step; those within span
        a stretch of the file of which the box can miss no chunk.
        """
        width = self._array.itemsize
        starts = np.array([sum(p.start * s for p, s in zip(box, self._array.strides, strict=True))])
        length = width
        for part, stride in zip(box, self._array.strides, strict=True):
            steps = np.arange(part.stop - part.start) * stride
            if stride > CHUNK:
                starts = np.add.outer(starts, steps).reshape(-1)
            else:
                length += int(steps[-1])
        edges = np.zeros(len(self._hashes) + 1, np.int64)
        np.add.at(edges, starts // CHUNK, 1)
        np.subtract.at(edges, (starts + length - 1) // CHUNK + 1, 1)
        touched: NDArray[np.bool_] = np.cumsum(edges)[:-1] > 0
        return touched

    def _verify(self, chunks: NDArray[np.intp]) -> None:
        on_every_core(self._verify_chunk, chunks.tolist(), listener())

    def _verify_chunk(self, chunk: int) -> None:
        piece = self._bytes[chunk * CHUNK : (chunk + 1) * CHUNK]
        if hashlib.sha256(piece.data).hexdigest() != self._hashes[chunk]:
            raise ReleaseError(f"{self._where} is damaged: chunk {chunk} was changed")
        self._verified[chunk] = True


class StoredFile:
    """A file of a release that is only kept and verified here, never parsed."""

    def __init__(self, folder: Path, name: str, entry: Any) -> None:
        self._folder, self._name = folder, name
        self._where = f"{folder}: {name}"
        told = read_table(folder, TableEntry, entry, f"the entry of file {name}")
        if told.file != name:
            raise ReleaseError(f"{folder}: the manifest must list the file {name}")
        self._hashes = _checksums(self._where, told, told.bytes)
        with open(_open_plain(folder, name), "rb") as file:
            if os.fstat(file.fileno()).st_size != told.bytes:
                raise ReleaseError(f"{self._where} does not have the size the manifest says")

    def verify(self) -> None:
        """Check every chunk."""
        with open(_open_plain(self._folder, self._name), "rb") as file:
            for chunk, expected in enumerate(self._hashes):
                if hashlib.sha256(file.read(CHUNK)).hexdigest() != expected:
                    raise ReleaseError(f"{self._where} is damaged: chunk {chunk} was changed")
