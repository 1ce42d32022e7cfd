"""What can be asked of a benchmark, and how one is run by itself."""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from benchmarks.table import Section, show


@dataclass(frozen=True)
class Options:
    """The size of the work, and where tables are that no project may ship."""

    quick: bool = False
    peers: bool = True
    dpbench: Path | None = None
    adult: Path | None = None


class Parser(argparse.ArgumentParser):
    """A parser that refuses in one line."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong, without the usage."""
        self.exit(2, f"{self.prog}: {' '.join(message.split())}\n")


def existing_folder(text: str) -> Path:
    """A folder that is there."""
    if not text.strip() or not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {text!r}")
    return Path(text)


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options that every benchmark has."""
    parser.add_argument("--quick", action="store_true", help="small sizes: does it run at all?")
    parser.add_argument("--no-peers", action="store_true", help="nothing that must be installed")
    for name, what in (("--dpbench", "histograms as .npy files"), ("--adult", "the Adult table")):
        parser.add_argument(name, type=existing_folder, metavar="FOLDER", help=what)


def chosen(given: argparse.Namespace) -> Options:
    """The options that were given."""
    return Options(given.quick, not given.no_peers, given.dpbench, given.adult)


def alone(section: Callable[[Options], Section], arguments: list[str] | None = None) -> None:
    """Run one benchmark and print its table."""
    parser = Parser()
    add_options(parser)
    options = chosen(parser.parse_args(arguments))
    with own_state():
        show([section(options)], judged=not options.quick)


@contextmanager
def own_state() -> Iterator[None]:
    """Keep what publishing notes about ledgers out of the user's own folder."""
    before = os.environ.get("HUSHTABLE_STATE")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HUSHTABLE_STATE"] = folder
        try:
            yield
        finally:
            os.environ.pop("HUSHTABLE_STATE")
            if before is not None:
                os.environ["HUSHTABLE_STATE"] = before
