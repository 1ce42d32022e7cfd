"""What comes from others: files that a schema names, text of labels, figures of manifests."""

from __future__ import annotations

from .mutant import Mutant
from .suites import HIERARCHY_FILES

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
