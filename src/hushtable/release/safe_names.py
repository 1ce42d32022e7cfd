"""Names for sheets and files, whatever the attributes are called: allowed, short and all different.

Names that differ only by case or by how an accent is encoded are the same to spreadsheets and to
some file systems, so they count as the same here.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable

SHEET_NAME = 31
"""The most UTF-16 code units that the name of a sheet has."""
_FILE_NAME = 120  # bytes: far below any file system's limit, with room for an ending

_NOT_IN_SHEETS = re.compile(r"[\[\]:*?/\\\x00-\x1f\x7f\ufffe\uffff]")
_NOT_IN_FILES = re.compile(r"[^\w+@=.-]")
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def sheet_names(names: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """A name of a sheet for each of some names."""
    return _different(names, [*taken, "History"], _for_sheet)


def file_names(names: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """A name of a file, without an ending, for each of some names."""
    return _different(names, taken, _for_file)


def _different(
    names: Iterable[str], taken: Iterable[str], fit: Callable[[str, str], str]
) -> list[str]:
    """Each name as it fits; of those that come out the same, the later ones are numbered."""
    used, found = {_key(name) for name in taken}, []
    for name in names:
        number, fitted = 1, fit(name, "")
        while _key(fitted) in used:
            number += 1
            fitted = fit(name, f"_{number}")
        used.add(_key(fitted))
        found.append(fitted)
    return found


def _key(name: str) -> str:
    return unicodedata.normalize("NFKC", name).casefold()


def _for_sheet(name: str, end: str) -> str:
    """Spreadsheets take no apostrophe at the ends of a name."""
    plain = re.sub("^'|'$", "_", _NOT_IN_SHEETS.sub("_", name))
    cut = _cut(plain, "utf-16-le", 2 * (SHEET_NAME - len(end)))
    return re.sub("'$", "_", cut + end)


def _for_file(name: str, end: str) -> str:
    """No name of a device or hidden file, and none that a command takes for an option."""
    plain = re.sub("^[.-]", "_", _NOT_IN_FILES.sub("_", name))
    cut = _cut(f"_{plain}" if _DEVICES.fullmatch(plain) else plain, "utf-8", _FILE_NAME)
    return re.sub(r"\.$", "_", cut + end)


def _cut(text: str, encoding: str, most: int) -> str:
    """The longest beginning that takes so many bytes."""
    return text.encode(encoding)[:most].decode(encoding, errors="ignore")
