"""From a manifest to what answers: each kind of release has a reader, which its family opens."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path

from hushtable.errors import ReleaseError
from hushtable.families import READERS
from hushtable.query.reader import Reader
from hushtable.release.manifest import Manifest
from hushtable.release.store import StoredArray, StoredFile

Arrays = Mapping[str, StoredArray | StoredFile]
Opened = tuple[Arrays, Reader]


def open_reader(folder: Path, manifest: Manifest) -> Opened:
    """The arrays of a release, and what answers from them."""
    if manifest.stated.reader not in READERS:
        raise ReleaseError(f"{folder}: this hushtable cannot read its measurements: upgrade it")
    store = import_module(f"hushtable.families.{READERS[manifest.stated.reader]}.store")
    opened: Opened = store.READERS[manifest.stated.reader](folder, manifest)
    return opened
