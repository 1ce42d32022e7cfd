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
from importlib import import_module
from pathlib import Path

from benchmarks.machine import machine
from benchmarks.options import Options, add_options, chosen, own_state
from benchmarks.table import Section, markdown, show

# A section's name, and the module that measures it; imported only when it is asked for.
SECTIONS = {
    "noise": "noise",
    "counting": "counting",
    "transforms": "transforms",
    "publish": "paper_scale",
    "queries": "query",
    "sparse": "sparse",
    "privbayes": "synthesis",
    "accuracy": "accuracy",
}

PAGE = """# Benchmarks

Made by `python -m benchmarks --out docs/results/benchmarks.md`{size}; do not edit.
Every row was measured in one run, ours and the other side by side: read the ratio, ours over
theirs. Times and speeds by themselves differ from machine to machine. ↓ means that less is better,
↑ that more is; ✓ and ✗ say whether a target is met.

Measured on {machine}.

{tables}"""


def measure(names: Sequence[str], options: Options, out: Path | None = None) -> list[Section]:
    """Run the named benchmarks one after the other; progress goes to standard error."""
    found: list[Section] = []
    for name in names:
        start = time.perf_counter()
        print(f"{name} …", end="", flush=True, file=sys.stderr)
        with own_state():
            found.append(import_module(f"benchmarks.{SECTIONS[name]}").section(options))
        print(f" {time.perf_counter() - start:.0f} s", file=sys.stderr)
        if out is not None:
            write(out, found, options)
    return found


def write(out: Path, found: Sequence[Section], options: Options) -> None:
    """The page, machine and all."""
    size = " at the quick size, which proves nothing but that it runs" if options.quick else ""
    tables = markdown(found, judged=not options.quick)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(PAGE.format(size=size, machine=machine(), tables=tables), encoding="utf-8")


def main(arguments: list[str] | None = None) -> None:
    """Measure what is asked for, and print one table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__.split("\n")[0]
    )
    add_options(parser)
    parser.add_argument("--only", default=",".join(SECTIONS), help="sections, by commas")
    parser.add_argument("--out", type=Path, metavar="FILE.md", help="write a page as well")
    given = parser.parse_args(arguments)
    names = given.only.split(",")
    if unknown := [name for name in names if name not in SECTIONS]:
        parser.error(f"there is no section {unknown[0]!r}; there are {', '.join(SECTIONS)}")
    options = chosen(given)
    found = measure(names, options, given.out)
    show(found, judged=not options.quick)
    print(f"\n{machine()}")


if __name__ == "__main__":
    main()
