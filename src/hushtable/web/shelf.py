"""Which releases a server has, and what URLs call them. A name is looked up, never made a path."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hushtable.errors import OptionError

ENDING = ".release"
_RESERVED = ("-", "robots.txt", "favicon.ico")
_STALE = 1.0
"""Seconds after which a folder is looked at again."""


@dataclass(eq=False)
class Shelf:
    """Releases by their names: those of a folder as it is now, or some that were named."""

    folder: Path | None
    named: Mapping[str, Path] = field(default_factory=dict)
    _seen: Mapping[str, Path] = field(default_factory=dict)
    _when: float = float("-inf")

    @classmethod
    def of_folder(cls, folder: str | Path) -> Shelf:
        """All releases in a folder, those that come later too."""
        path = Path(folder)
        if not path.is_dir():
            raise OptionError(f"there is no folder {os.fspath(folder)}: name one with releases")
        if (path / "manifest.json").exists():
            raise OptionError(
                f"{os.fspath(folder)} is a release: name the folder that it is in, or hush explore"
            )
        return cls(path.resolve())

    @classmethod
    def of_releases(cls, paths: Iterable[str | Path]) -> Shelf:
        """These releases."""
        return cls(None, dict(_distinct(Path(path).resolve() for path in paths)))

    def releases(self) -> Mapping[str, Path]:
        """All releases by name, in the order of their names."""
        if self.folder is None:
            return self.named
        if time.monotonic() - self._when > _STALE:
            self._seen = dict(_distinct(_releases_in(self.folder)))
            self._when = time.monotonic()
        return self._seen

    def forget(self) -> None:
        """Look at the folder again when it is next asked about."""
        self._when = float("-inf")

    def find(self, name: str) -> Path | None:
        """The folder of a release."""
        return self.releases().get(name)


def _releases_in(folder: Path) -> Iterator[Path]:
    """The folders in it that are releases; links are not followed, for they may lead elsewhere."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(one.name for one in entries if one.is_dir(follow_symlinks=False))
    except OSError:
        return
    for name in names:
        if not name.startswith(".") and (folder / name / "manifest.json").is_file():
            yield folder / name


def _distinct(paths: Iterable[Path]) -> Iterator[tuple[str, Path]]:
    """Each path with a name of its own: without its ending, unless another has that name."""
    taken: set[str] = set(_RESERVED)
    for path in paths:
        short = path.name.removesuffix(ENDING) or path.name
        name, number = short, 1
        while name in taken or name.endswith(".json"):
            number += 1
            name = f"{short}-{number}"
        taken.add(name)
        yield name, path
