"""The files a schema is made of: their text, and hierarchies as ARX writes them.

A schema may come from anyone, and what it reads ends up in manifests that everyone sees. So the
hierarchy files it names must be in its own folder, or in one that the owner allows, and must look
like hierarchies; a refusal quotes nothing of their content.

Whoever may write there can swap a folder for a link while we look. So a file is opened once, from
the folder that allows it and through no link, and what was opened is what is checked and read.
"""

from __future__ import annotations

import csv
import io
import os
import re
import stat
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hushtable.errors import OptionError, SchemaError
from hushtable.opening import READ, open_inside
from hushtable.schema.hierarchy import Hierarchy, PathError

MAX_FILE = 256 * 2**20
MAX_HIERARCHY = 64 * 2**20  # no reader would open the manifest of a larger one

_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]")

Lines = list[tuple[int, list[str]]]
"""The fields of each line that has any, with the line's number."""


@dataclass(frozen=True)
class HierarchyFolders:
    """Where the hierarchy files that a schema names may be."""

    own: Path
    """The schema's folder, links followed, to which the names are relative."""
    allowed: tuple[Path, ...] = ()
    """Other folders, links followed, which only the owner can name."""

    @classmethod
    def beside(
        cls, schema: Path, allow_paths: str | Path | Iterable[str | Path]
    ) -> HierarchyFolders:
        """The folder of a schema file, and those that the owner allows."""
        # A text is one path: taken apart, its first character would often be the root folder.
        several = [allow_paths] if isinstance(allow_paths, str | Path) else allow_paths
        allowed = tuple(map(Path, several))
        for folder in allowed:
            if not _is_folder(folder):
                raise OptionError(f"there is no folder {str(folder)!r} to allow hierarchy files in")
        try:
            return cls(schema.parent.resolve(), tuple(folder.resolve() for folder in allowed))
        except (OSError, ValueError, RuntimeError):  # too long, a NUL, links in a circle
            raise SchemaError("the schema's path cannot be read") from None

    def read(self, name: Any) -> Hierarchy:
        """Read the hierarchy file of this name."""
        if not isinstance(name, str):
            raise SchemaError("hierarchy must be the path of a CSV file")
        folder, place = self._inside(name)
        text = _read(place, lambda: open_inside(folder, place), MAX_HIERARCHY)
        return parse_arx(place.name, text)

    def _inside(self, name: str) -> tuple[Path, Path]:
        """The folder that a file is in, and the file's true place, all links followed."""
        try:
            place = (self.own / name).resolve()
        except (OSError, ValueError, RuntimeError):  # too long, a NUL, links in a circle
            raise SchemaError("the hierarchy's path cannot be read") from None
        for folder in (self.own, *self.allowed):
            if place.is_relative_to(folder):
                return folder, place
        raise SchemaError(
            "the hierarchy file is outside the schema's folder; move it there, or allow its"
            " folder with --allow-path (in Python allow_paths)"
        )


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False


def read_text(path: Path, limit: int = MAX_FILE) -> str:
    """The text of a file of reasonable size."""
    return _read(path, lambda: os.open(path, READ), limit)


def _read(path: Path, opened: Callable[[], int], limit: int) -> str:
    """The text of what was opened, which is all that is looked at."""
    shown = repr(str(path)) if not str(path).isprintable() else str(path)
    try:
        handle = opened()
        try:
            status = os.fstat(handle)
            if not stat.S_ISREG(status.st_mode):  # a pipe or a device may never end
                raise SchemaError(f"{shown} is not a file")
            content = b""
            if status.st_size <= limit:
                with open(handle, "rb", closefd=False) as file:
                    content = file.read(limit + 1)  # it may have grown
        finally:
            os.close(handle)
        if max(status.st_size, len(content)) > limit:
            raise SchemaError(f"{shown} is larger than {limit // 2**20} MiB")
        return content.decode("utf-8-sig")
    except FileNotFoundError:
        raise SchemaError(f"there is no file {shown}") from None
    except UnicodeDecodeError:
        raise SchemaError(f"{shown} is not UTF-8 text") from None
    except (OSError, ValueError):
        raise SchemaError(f"{shown} cannot be read") from None


def parse_arx(name: str, text: str) -> Hierarchy:
    """A hierarchy as ARX writes it: a line leaf;parent;…;root for each value."""
    lines, by_comma = _csv_lines(text, ";"), _csv_lines(text, ",")
    if by_comma and _has_groups(by_comma) and not (lines and _has_groups(lines)):
        lines = by_comma
    if lines is None:
        raise SchemaError(f"{name} is not a well-formed CSV file")
    _check_form(name, lines)
    try:
        return Hierarchy.from_paths(fields for _, fields in lines)
    except PathError as problem:
        where = f"{name}, line {lines[problem.position][0]}"
        raise SchemaError(f"{where}: {problem.reason}") from None
    except SchemaError as problem:
        raise SchemaError(f"{name}: {problem}") from None


def _check_form(file: str, lines: Lines) -> None:
    """Refuse what is no hierarchy: every line is printable text that leads up to one root."""
    for number, fields in lines:
        where = f"{file}, line {number}"
        if len(fields) < 2:
            raise SchemaError(f"{where}: a line is leaf;parent;…;root, two labels or more")
        if not all(fields):
            raise SchemaError(f"{where}: a label is empty")
        if any(map(_CONTROL.search, fields)):
            raise SchemaError(f"{where}: a label has control characters")
        if fields[-1] != lines[0][1][-1]:
            raise SchemaError(f"{where}: all lines must end in the same root, such as *")


def _has_groups(lines: Lines) -> bool:
    """Whether this is the delimiter: most lines have it, not just a label here and there."""
    return 2 * sum(len(fields) > 1 for _, fields in lines) > len(lines)


def _csv_lines(text: str, delimiter: str) -> Lines | None:
    """The lines without blanks around fields and empty fields at the end; None if malformed."""
    lines = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            fields = [field.strip() for field in row]
            while fields and not fields[-1]:  # spreadsheets pad short lines so
                fields.pop()
            if fields:
                lines.append((reader.line_num, fields))
    except csv.Error:
        return None
    return lines
