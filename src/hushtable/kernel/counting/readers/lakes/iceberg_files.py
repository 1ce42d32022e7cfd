"""How the Iceberg library reads files: through us, in the store of the table, writing none."""

from __future__ import annotations

import io
from typing import Any

from pyiceberg.io import FileIO, InputFile, InputStream

from hushtable.kernel.counting.readers.elsewhere.remote import RemoteFile, opened, size_of
from hushtable.kernel.counting.readers.lakes.one_store import FilesOfOneStore


class ReadingFiles(FileIO):
    """Opens files by their names, whatever properties say; the library asks for it by its own."""

    def __init__(self, properties: Any = None) -> None:
        super().__init__()
        self._files: FilesOfOneStore | None = None

    @classmethod
    def beside(cls, place: str) -> ReadingFiles:
        """For files in the store of this one."""
        made = cls()
        made._files = FilesOfOneStore(place)
        return made

    def new_input(self, location: str) -> InputFile:
        if self._files is None:
            self._files = FilesOfOneStore(location)
        return _Input(location, self._files.find(location))

    def new_output(self, location: str) -> Any:
        raise NotImplementedError("tables are read, never written")

    def delete(self, location: Any) -> None:
        raise NotImplementedError("tables are read, never written")


class _Input(InputFile):
    def __init__(self, location: str, file: str | RemoteFile) -> None:
        super().__init__(location)
        self._file = file

    def __len__(self) -> int:
        return size_of(self._file)

    def exists(self) -> bool:
        return True

    def open(self, seekable: bool = True) -> InputStream:
        """All of it: what tells of a table is small beside the table."""
        with opened(self._file) as file:
            return io.BytesIO(file.read())
