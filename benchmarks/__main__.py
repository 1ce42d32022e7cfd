"""`make bench`: one table of ratios, every one measured side by side in this run.

    python -m benchmarks [--quick] [--only noise,counting] [--dpbench FOLDER] [--adult FOLDER]
                         [--no-peers] [--out FILE.md]

Peers are installed into environments of their own, which are kept. The page is written anew after
every section, so that a run that is stopped leaves what it had found.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from benchmarks.machine import machine
from benchmarks.options import Options, Parser, add_options, chosen, own_state
from benchmarks.table import Section, markdown, show

# A section's name, and the module that measures it; imported only when it is asked for.
SECTIONS = {
    "noise": "noise",
    "counting": "counting",
    "transforms": "transforms",
    "publish": "paper_scale",
    "queries": "query",
    "grouping": "grouping",
    "wide": "wide",
    "sparse": "sparse",
    "privbayes": "synthesis",
    "accuracy": "accuracy",
    "engines": "engines",
}

PAGE_TEXT = """# Benchmarks

Made by `{command}`{size}; do not edit.
Every row was measured in one run, ours and the other side by side: read the ratio, ours over
theirs. Times and speeds by themselves differ from machine to machine. ↓ means that less is better,
↑ that more is; ✓ and ✗ say whether a target is met.

Measured on {machine}.

{tables}"""


@dataclass(frozen=True)
class Page:
    """Where the page is written, and the command that it says it was made by."""

    path: Path
    command: str


def measure(names: Sequence[str], options: Options, page: Page | None = None) -> list[Section]:
    """Run the named benchmarks one after the other; progress goes to standard error."""
    found: list[Section] = []
    for name in names:
        start = time.perf_counter()
        print(f"{name} …", end="", flush=True, file=sys.stderr)
        with own_state():
            found.append(import_module(f"benchmarks.{SECTIONS[name]}").section(options))
        print(f" {time.perf_counter() - start:.0f} s", file=sys.stderr)
        if page is not None:
            write(page, found, options)
    return found


def write(page: Page, found: Sequence[Section], options: Options) -> None:
    """The page, machine and all."""
    size = " at the quick size, which proves nothing but that it runs" if options.quick else ""
    tables = markdown(found, judged=not options.quick)
    text = PAGE_TEXT.format(command=page.command, size=size, machine=machine(), tables=tables)
    page.path.write_text(text, encoding="utf-8")


def command(given: argparse.Namespace) -> str:
    """The command that was given; of paths, which are the machine's, only that there was one."""
    parts = {
        "--quick": given.quick,
        f"--only {','.join(given.only)}": given.only != list(SECTIONS),
        "--no-peers": given.no_peers,
        "--dpbench FOLDER": given.dpbench is not None,
        "--adult FOLDER": given.adult is not None,
        "--out FILE.md": given.out is not None,
    }
    return " ".join(
        ["python -m benchmarks", *(part for part, is_given in parts.items() if is_given)]
    )


def sections(text: str) -> list[str]:
    """The sections that a list names, each once."""
    names = list(dict.fromkeys(name.strip() for name in text.split(",")))
    if unknown := [name for name in names if name not in SECTIONS]:
        raise argparse.ArgumentTypeError(
            f"there is no section {unknown[0]!r}; there are {', '.join(SECTIONS)}"
        )
    return names


def page_path(text: str) -> Path:
    """Where a page can be written: known before hours of work."""
    path = Path(text)
    if path.suffix != ".md":
        raise argparse.ArgumentTypeError(f"a page ends in .md, and {text!r} does not")
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is a folder")
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {str(path.parent)!r}")
    return path


def main(arguments: list[str] | None = None) -> None:
    """Measure what is asked for, and print one table."""
    parser = Parser(prog="python -m benchmarks", description=__doc__.split("\n")[0])
    add_options(parser)
    parser.add_argument(
        "--only",
        type=sections,
        default=list(SECTIONS),
        metavar="SECTIONS",
        help=f"some of them, by commas: {', '.join(SECTIONS)}",
    )
    parser.add_argument(
        "--out",
        type=page_path,
        metavar="FILE.md",
        help="write a page as well; a file that is there is replaced",
    )
    given = parser.parse_args(arguments)
    options = chosen(given)
    page = None if given.out is None else Page(given.out, command(given))
    found = measure(given.only, options, page)
    show(found, judged=not options.quick)
    print(f"\n{machine()}")


if __name__ == "__main__":
    main()
