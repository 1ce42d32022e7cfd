"""What comes from others: files that a schema names, text of labels, figures of manifests."""

from __future__ import annotations

from .mutant import Mutant
from .suites import FOLDERS, HIERARCHY_FILES, HOSTILE, MANIFESTS, TEXT

HIERARCHIES = [
    Mutant(
        "hierarchy files of any folder",
        "schema/files.py",
        "            if place.is_relative_to(folder):\n                return folder, place\n",
        "            return Path(place.anchor), place\n",
        (HIERARCHY_FILES,),
    ),
    Mutant(
        "links out of a schema's folder",
        "schema/files.py",
        "place = (self.own / name).resolve()",
        "place = (self.own / name).absolute()",
        (HIERARCHY_FILES,),
    ),
    Mutant(
        "a link followed that was put in the place of a folder",
        "opening.py",
        '"O_DIRECTORY", "O_NOFOLLOW"',
        '"O_DIRECTORY"',
        (HIERARCHY_FILES,),
    ),
    Mutant(
        "a link followed that was put in the place of a file",
        "opening.py",
        "READ | NO_LINK, dir_fd=handle",
        "READ, dir_fd=handle",
        (HIERARCHY_FILES,),
    ),
    Mutant(
        "a file that grows read to its end",
        "schema/files.py",
        "if max(status.st_size, len(content)) > limit:",
        "if status.st_size > limit:",
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
        "    _check_form(name, lines)\n",
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
        "return plain(line if",
        "return (line if",
        (f"{TEXT}::test_errors_are_text",),
    ),
    Mutant(
        "labels with what nobody sees",
        "text.py",
        "return text.isprintable() and not _UNSEEN.search(text)",
        "return text.isprintable()",
        (f"{TEXT}::test_plain_text",),
    ),
    Mutant(
        "JSON with what a terminal obeys",
        "text.py",
        "line if _all_visible(line) else _escaped_json(line) for line in lines",
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

FIGURES = [
    Mutant(
        "noise of any scale",
        "release/form.py",
        "if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:",
        "if False:",
        (f"{HOSTILE}::test_a_scale_is_a_positive_fraction_of_few_digits",),
    ),
    Mutant(
        "factors that make noise too large",
        "families/linear/store.py",
        "if too_large or noise.scale * smallest < SMALLEST_SCALE:",
        "if noise.scale * smallest < SMALLEST_SCALE:",
        (f"{MANIFESTS}::test_a_scale_that_is_too_large_for_a_factor_is_refused",),
    ),
    Mutant(
        "levels with next to nothing of the budget",
        "kernel/maps/tree.py",
        "if min(shares) < SMALLEST_SHARE:",
        "if min(shares) < 0:",
        (f"{MANIFESTS}::test_levels_with_next_to_nothing_of_the_budget_are_refused",),
    ),
    Mutant(
        "the scales of several tables that nobody looked at",
        "release/form.py",
        "    scales: Annotated[list[Scale]",
        "    scale: Any\n    scales: Annotated[list[Scale]",
        (f"{MANIFESTS}::test_noise_that_was_never_drawn_is_refused_when_a_release_is_opened",),
    ),
    Mutant(
        "checksums of any form",
        "release/form.py",
        'list[Annotated[str, Meta(pattern=r"\\A[0-9a-f]{64}\\Z")]],',
        "list[Any],",
        (f"{HOSTILE}::test_a_checksum_that_is_none_is_refused",),
    ),
    Mutant(
        "what a ledger says as it is",
        "release/form.py",
        "            if type(value) is not int or value < 0:\n",
        "            if value is None:\n",
        (f"{MANIFESTS}::test_what_cannot_be_is_refused_when_a_release_is_opened",),
    ),
    Mutant(
        "texts of a manifest that command a terminal",
        "forms.py",
        " or not value.isprintable()",
        "",
        (f"{MANIFESTS}::test_what_cannot_be_is_refused_when_a_release_is_opened", FOLDERS),
    ),
    Mutant(
        "ratios of as many digits as one likes",
        "forms.py",
        "not _RATIO.fullmatch(value)",
        "not value.isascii()",
        ("tests/transforms/test_transform_descriptions.py",),
    ),
]
