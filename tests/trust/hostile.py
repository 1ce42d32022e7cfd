"""What a malicious release folder may hold, and how it must be refused."""

from __future__ import annotations

import io
import json
import os
import resource
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hushtable
from hushtable.errors import HushError

# Of the processor, however slow a busy machine makes it; laying out what is claimed takes longer.
SECONDS = 60.0
KIBIBYTES = 200_000

Attack = Callable[[Path], None]


def on_manifest(change: Callable[[dict[str, Any]], Any]) -> Attack:
    """Change what the manifest says."""

    def attack(folder: Path) -> None:
        path = folder / "manifest.json"
        content = json.loads(path.read_bytes())
        change(content)
        path.write_text(json.dumps(content))

    return attack


def manifest_is(raw: bytes) -> Attack:
    return lambda folder: (folder / "manifest.json").write_bytes(raw) and None


def file_is(name: str, make: Callable[[int], bytes]) -> Attack:
    """Put something else, made for the size of the file, in its place."""

    def attack(folder: Path) -> None:
        path = folder / name
        path.write_bytes(make(path.stat().st_size))

    return attack


def cells_are(make: Callable[[int], bytes]) -> Attack:
    return file_is("cells.npy", make)


def setting(*way: Any, to: Any) -> Attack:
    """Set a value deep inside the manifest."""

    def change(content: dict[str, Any]) -> None:
        inner = content
        for key in way[:-1]:
            inner = inner[key]
        inner[way[-1]] = to

    return on_manifest(change)


def with_number(name: str, raw: bytes) -> Attack:
    """A number of the guarantee as a text that JSON does not have."""

    def attack(folder: Path) -> None:
        setting("privacy", name, to=0.125)(folder)
        path = folder / "manifest.json"
        before = path.read_bytes()
        assert before.count(b": 0.125") == 1
        path.write_bytes(before.replace(b": 0.125", b": " + raw))

    return attack


def huge(size: int, axes: int) -> Attack:
    """A schema and an array of an impossible shape."""
    attributes = [{"name": f"a{i}", "kind": "ordinal", "range": [0, size - 1]} for i in range(axes)]

    def change(content: dict[str, Any]) -> None:
        content["schema"]["attribute"] = attributes
        content["arrays"]["cells"]["shape"] = [size] * axes

    return on_manifest(change)


def link(name: str, target: str) -> Attack:
    def attack(folder: Path) -> None:
        (folder / name).unlink()
        (folder / name).symlink_to(target)

    return attack


def fifo(name: str) -> Attack:
    def attack(folder: Path) -> None:
        (folder / name).unlink()
        os.mkfifo(folder / name)

    return attack


def truncated(name: str, size: int) -> Attack:
    return lambda folder: os.truncate(folder / name, size)


def flipped(position: int, name: str = "cells.npy") -> Attack:
    """Change one byte of a file."""

    def attack(folder: Path) -> None:
        content = bytearray((folder / name).read_bytes())
        content[position] ^= 1
        (folder / name).write_bytes(content)

    return attack


class Bomb:
    """A pickle that would leave a mark if it were loaded."""

    def __reduce__(self) -> Any:
        return os.mkdir, ("boom",)


def npz_bomb(size: int) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("cells.npy", b"\0" * 10**7)
    return buffer.getvalue().ljust(size, b"\0")


def npy_header(text: str) -> Callable[[int], bytes]:
    """A .npy file of the right size with another header."""

    def make(size: int) -> bytes:
        head = b"\x93NUMPY\x01\x00" + (118).to_bytes(2, "little")
        return (head + text.encode().ljust(117) + b"\n").ljust(size, b"\0")[:size]

    return make


def refusal(kind: type[HushError], work: Callable[[], Any]) -> str:
    """The one line with which work is refused, at once and in flat memory."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    with pytest.raises(kind) as caught:
        work()
    assert time.process_time() - start < SECONDS
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < KIBIBYTES
    message = str(caught.value)
    assert message.isprintable(), "one line, and no commands to a terminal"
    assert 0 < len(message) < 1200
    return message


def use(folder: Path) -> None:
    """Open a release and touch all of it."""
    release = hushtable.open(folder)
    release.verify()
    release.count()
    release.cells()
