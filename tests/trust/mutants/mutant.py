"""One wrong change of the source, and the run of the tests that must notice it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
SOURCE = ROOT / "src"
SECONDS = 1800


@dataclass(frozen=True)
class Mutant:
    """One wrong change, and the tests of which at least one must go red."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]
    quick: bool = False
    """Whether an ordinary run tries it too."""

    def applied(self, source: str) -> str:
        """The source with the mutant in it."""
        if source.count(self.old) != 1:
            raise ValueError(f"{self.name}: its text stands {source.count(self.old)} times")
        return source.replace(self.old, self.new)


@dataclass(frozen=True)
class Outcome:
    """How the tests of a mutant ended."""

    code: int
    seconds: float
    output: str

    @property
    def caught(self) -> bool:
        """Whether a test failed: not that none was found, nor that nothing could be imported."""
        return self.code == 1

    @property
    def by(self) -> str:
        """The test that failed."""
        found = re.search(r"^(?:FAILED|ERROR) \S*?([^/\s]+::\S+)", self.output, re.MULTILINE)
        return found.group(1) if found else "?"


# Exit codes that pytest does not have.
_NOT_THE_COPY = 97
_RUN = f"""
import os, sys
import hushtable
if not os.path.realpath(hushtable.__file__).startswith(os.path.realpath(sys.argv[1]) + os.sep):
    sys.exit({_NOT_THE_COPY})
import pytest
sys.exit(pytest.main(sys.argv[2:]))
"""


def run_tests(tests: tuple[str, ...], folder: Path, mutant: Mutant | None = None) -> Outcome:
    """Run tests on a copy of the source, with one mutant in it or as it is."""
    copy = folder / "src"
    shutil.copytree(SOURCE, copy)
    if mutant is not None:
        _apply(mutant, copy)
    options = ["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", f"--basetemp={folder}/t"]
    options += ["-m", ""]  # also what only `make check` runs
    options += ["--assert=plain"]  # where CI is set, pytest would compare megabytes line by line
    environment = {
        **os.environ,
        "PYTHONPATH": str(copy),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HYPOTHESIS_STORAGE_DIRECTORY": str(folder / "hypothesis"),
    }
    environment.pop("PYTEST_ADDOPTS", None)
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", _RUN, str(copy), *options, *tests],
        cwd=ROOT,
        env=environment,
        text=True,
        capture_output=True,
        timeout=SECONDS,
    )
    return Outcome(done.returncode, time.monotonic() - start, done.stdout + done.stderr)


def _apply(mutant: Mutant, copy: Path) -> None:
    path = copy / "hushtable" / mutant.file
    path.write_text(mutant.applied(path.read_text(encoding="utf-8")), encoding="utf-8")
    # Compiled code that was cached for the true source must not be found beside the copy.
    stale = f"{path.stem}.*"
    if "@compiled" in path.read_text(encoding="utf-8"):
        stale = "*"  # compiled functions of other files may hold this one's code
    for folder in copy.rglob("__pycache__"):
        for cached in folder.glob(stale):
            cached.unlink()
