"""Compiled kernels work wherever the package is installed, whether or not it can be written to."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hushtable

# Every module with kernels; one kernel is run.
PROGRAM = """
import sys
from fractions import Fraction
import hushtable.kernel.counting.joint, hushtable.kernel.counting.readers.records
import hushtable.families.linear.kernels, hushtable.query.haar_kernels
import hushtable.kernel.maps.kernels
import hushtable.kernel.noise.gaps
import numpy
from hushtable.kernel.noise.bulk import EntropyNoise
assert hushtable.__file__.startswith(sys.argv[1])
values = numpy.zeros(50, numpy.int64)
EntropyNoise().add_laplace(values, Fraction(1000))
assert len(set(values.tolist())) > 1
"""


def copied(folder: Path, *, writable: bool) -> Path:
    """The package elsewhere, without compiled files; a file in the way of each folder for them.

    That stops the superuser too, whom permissions do not.
    """
    source = Path(hushtable.__file__).parent
    copy = folder / "src" / "hushtable"
    shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
    if not writable:
        for place in (copy, *(path for path in copy.rglob("*") if path.is_dir())):
            (place / "__pycache__").touch()
    return copy


def run(copy: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    nowhere = f"{os.devnull}/none"
    settings = {"HOME": nowhere, "XDG_CACHE_HOME": nowhere, "PYTHONPATH": str(copy.parent)}
    inherited = {name: value for name, value in os.environ.items() if "NUMBA" not in name}
    return subprocess.run(
        [sys.executable, "-B", "-c", PROGRAM, str(copy)],
        env={**inherited, **settings, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_kernels_run_where_nothing_can_be_kept(tmp_path: Path) -> None:
    """Neither beside the source nor in a home folder."""
    done = run(copied(tmp_path, writable=False))
    assert done.returncode == 0, done.stderr[-2000:]
    assert not done.stderr


@pytest.mark.thorough
@pytest.mark.parametrize("writable", [False, True])
def test_a_folder_that_the_user_names_is_used(tmp_path: Path, writable: bool) -> None:
    named = tmp_path / "kept"
    copy = copied(tmp_path, writable=writable)
    done = run(copy, NUMBA_CACHE_DIR=str(named))
    assert done.returncode == 0, done.stderr[-2000:]
    assert list(named.rglob("*.nbi")) and not list(copy.rglob("*.nbi"))


@pytest.mark.thorough
def test_compiled_code_is_kept_beside_the_source_where_that_is_possible(tmp_path: Path) -> None:
    copy = copied(tmp_path, writable=True)
    assert run(copy).returncode == 0
    assert list(copy.rglob("*.nbi"))
