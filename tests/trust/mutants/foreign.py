"""What comes from others: files that a schema names, text of labels, figures of manifests."""

from __future__ import annotations

from .mutant import Mutant
from .suites import HIERARCHY_FILES, TEXT

HIERARCHIES = [
    Mutant(
        "hierarchy files of any folder",
        "schema/files.py",
        "if not any(place.is_relative_to(folder) for folder in folders):",
        "if not folders:",
        (HIERARCHY_FILES,),
        quick=True,
    ),
    Mutant(
        "links out of a schema's folder",
        "schema/files.py",
        "place = (self.own / name).resolve()",
        "place = (self.own / name).absolute()",
        (HIERARCHY_FILES,),
    ),
    Mutant(
        "an allowed path taken apart into characters",
        "schema/files.py",
        "several = [allow_paths] if isinstance(allow_paths, str | Path) else allow_paths",
        "several = [allow_paths] if isinstance(allow_paths, Path) else allow_paths",
        (HIERARCHY_FILES,),
    ),
    Mutant(
        "any file for a hierarchy",
        "schema/files.py",
        "    _check_form(path.name, lines)\n",
        "",
        (HIERARCHY_FILES,),
    ),
]

TEXTS = [
    Mutant(
        "lines printed as they are",
        "cli/show.py",
        "print(plain(line), end=end)",
        "print(line, end=end)",
        (f"{TEXT}::test_publish_and_budget",),
    ),
    Mutant(
        "cells of a table with control characters",
        "cli/show.py",
        'return Text("" if value is None else plain(str(value)))',
        'return Text("" if value is None else str(value))',
        (f"{TEXT}::test_query",),
    ),
    Mutant(
        "cells of a table read as markup",
        "cli/show.py",
        'return Text("" if value is None else plain(str(value)))',
        'return Text.from_markup("" if value is None else plain(str(value)))',
        (f"{TEXT}::test_query",),
    ),
    Mutant(
        "long labels cut",
        "cli/show.py",
        'overflow="fold"',
        'overflow="ellipsis"',
        (f"{TEXT}::test_query",),
    ),
    Mutant(
        "errors that command a terminal",
        "errors.py",
        "super().__init__(plain(short))",
        "super().__init__(short)",
        (f"{TEXT}::test_errors_are_text",),
        quick=True,
    ),
    Mutant(
        "JSON with what a terminal obeys",
        "text.py",
        "line if line.isprintable() else _escaped_json(line) for line in lines",
        "line for line in lines",
        (f"{TEXT}::test_query",),
    ),
    Mutant(
        "mathematics in figures",
        "text.py",
        r'plain(text).replace("$", r"\$")',
        "plain(text)",
        (f"{TEXT}::test_plan",),
    ),
    Mutant(
        "a dataset's name pasted into a shell",
        "cli/planning.py",
        "-o {shlex.quote(out)}",
        "-o {out}",
        (f"{TEXT}::test_plan",),
    ),
]
