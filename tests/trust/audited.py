"""Which mutants `hush audit` must see, how it is asked, and which it cannot see, and why.

A mutant that is in neither list concerns the ledger, files, releases or answers: an audit asks
mechanisms for noisy numbers, and looks at nothing else.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mutants import SOURCE, Mutant
from mutants.mutant import SECONDS, _apply

EXACT, RUNS = "exact check", "lower bound"

_COPY = """
import os, sys
import hushtable
if not os.path.realpath(hushtable.__file__).startswith(os.path.realpath(sys.argv[1]) + os.sep):
    sys.exit(97)
sys.argv[:2] = ["hush"]
from hushtable.cli.main import run
run()
"""


@dataclass(frozen=True)
class Audited:
    """How an audit of a source ended."""

    code: int
    found: Any
    errors: str

    @property
    def caught_by(self) -> tuple[str, ...]:
        return tuple(self.found.get("caught_by", ())) if self.code == 1 and self.found else ()


def run_audit(question: str, folder: Path, mutant: Mutant | None = None) -> Audited:
    """`hush audit` by a copy of the source, with a mutant in it or as it is."""
    copy = folder / "src"
    shutil.copytree(SOURCE, copy)
    if mutant is not None:
        _apply(mutant, copy)
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", _COPY, str(copy), "audit", *question.split(), "--json"],
        env=environment,
        text=True,
        capture_output=True,
        timeout=SECONDS,
    )
    found = json.loads(done.stdout) if done.stdout.startswith("{") else None
    return Audited(done.returncode, found, done.stdout[-500:] + done.stderr[-1500:])
