"""Whatever is wrong with an array of a release of any kind, it is refused in one line, at once."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from attack import Tally
from hostile import (
    Attack,
    Bomb,
    fifo,
    file_is,
    flipped,
    link,
    on_manifest,
    refusal,
    setting,
    truncated,
    use,
)
from manifest_kinds import KINDS, Published, copied, manifest_of

from hushtable.errors import ReleaseError


def pickled(size: int) -> bytes:
    """An array of objects that NumPy would unpickle if it were asked to."""
    buffer = io.BytesIO()
    np.save(buffer, np.array([Bomb()], object), allow_pickle=True)
    return buffer.getvalue().ljust(size, b"\0")


FILES: dict[str, Callable[[str], Attack]] = {
    "nothing": lambda file: truncated(file, 0),
    "half a header": lambda file: truncated(file, 20),
    "a terabyte": lambda file: truncated(file, 10**12),
    "no file": lambda file: lambda folder: (folder / file).unlink(),
    "a folder": lambda file: lambda folder: (folder / file).unlink() or (folder / file).mkdir(),
    "itself": lambda file: link(file, file),
    "/dev/zero": lambda file: link(file, "/dev/zero"),
    "/etc/passwd": lambda file: link(file, "/etc/passwd"),
    "a pipe": fifo,
    "a pickle": lambda file: file_is(file, lambda size: pickle.dumps(Bomb()).ljust(size, b"\0")),
    "pickled objects": lambda file: file_is(file, pickled),
    "random bytes": lambda file: file_is(file, lambda size: np.random.default_rng(1).bytes(size)),
    "a bit of its header flipped": lambda file: flipped(20, file),
    "a bit of its first value flipped": lambda file: flipped(128, file),
    "a bit of its last value flipped": lambda file: flipped(-1, file),
}
ENTRIES: dict[str, tuple[str, Any]] = {
    "a file above the folder": ("file", "../cells.npy"),
    "an absolute file": ("file", "/etc/passwd"),
    "no file": ("file", None),
    "objects": ("dtype", "|O"),
    "floats": ("dtype", "<f8"),
    "no type": ("dtype", None),
    "10¹⁸ values": ("shape", [10**9, 10**9]),
    "a shape of 10¹⁵⁰": ("shape", [2**52] * 10),
    "a negative shape": ("shape", [-1]),
    "a shape of texts": ("shape", ["7"]),
    "no shape": ("shape", None),
    "chunks of nothing": ("chunk", 0),
    "a wrong checksum": ("sha256", ["0" * 64]),
    "no checksums": ("sha256", []),
    "a checksum of null": ("sha256", [None]),
}


def attacks_on(name: str, file: str) -> dict[str, Attack]:
    """Everything that can be wrong with one array of a release."""
    entries = {
        f"{what} for {name}": setting("arrays", name, key, to=to)
        for what, (key, to) in ENTRIES.items()
    }
    return {
        **{f"{file} is {what}": make(file) for what, make in FILES.items()},
        **entries,
        f"no {name}": on_manifest(lambda content: content["arrays"].pop(name)),
        f"{name} twice": on_manifest(
            lambda content: content["arrays"].update(more=content["arrays"][name])
        ),
        f"{name} is a number": setting("arrays", name, to=5),
    }


@pytest.mark.parametrize("kind", KINDS)
def test_every_array_of_every_kind_of_release_is_guarded(
    kind: str, published: Published, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tally: Tally
) -> None:
    monkeypatch.chdir(tmp_path)
    use(published[kind])
    arrays = manifest_of(published[kind])["arrays"]
    tried = {
        w: a for name, entry in arrays.items() for w, a in attacks_on(name, entry["file"]).items()
    }
    for number, (what, attack) in enumerate(tried.items()):
        folder = copied(published[kind], tmp_path / str(number))
        attack(folder)
        try:
            assert refusal(ReleaseError, partial(use, folder)).startswith(str(folder))
        except (Exception, pytest.fail.Exception) as problem:
            raise AssertionError(what) from problem
        assert not (tmp_path / "boom").exists() and not (folder / "boom").exists()
    tally("hostile folders", len(tried))
