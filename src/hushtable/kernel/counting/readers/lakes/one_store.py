"""The files that a table names, in the store where the table is and nowhere else."""

from __future__ import annotations

from pathlib import Path

from hushtable.errors import DataError
from hushtable.kernel.counting.readers.elsewhere.addresses import is_address, read_address
from hushtable.kernel.counting.readers.elsewhere.remote import RemoteFile
from hushtable.kernel.counting.readers.elsewhere.stores import ObjectStore

_HERE = "file:"


class FilesOfOneStore:
    """Finds files by what a table calls them."""

    def __init__(self, place: str) -> None:
        self._start = _start_of(place)
        self._store = None if self._start == _HERE else ObjectStore.of(read_address(place))

    def find(self, place: str) -> str | RemoteFile:
        """A file of this name; refused if it is in another store, or is not there."""
        if _start_of(place) != self._start:
            raise DataError("a table of a lake names files in another store than its own")
        if self._store is None:
            path = place.removeprefix("file://").removeprefix(_HERE)
            found: str | RemoteFile | None = path if Path(path).is_file() else None
        else:
            found = self._store.find_named(read_address(place).key)
        if found is None:
            raise DataError("a table of a lake names a file that is not there")
        return found


def _start_of(place: str) -> str:
    if place.startswith(_HERE) or not is_address(place):
        return _HERE
    address = read_address(place)
    return f"{address.scheme}://{address.store}/"
