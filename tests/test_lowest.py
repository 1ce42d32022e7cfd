"""`make lowest` pins exactly what pyproject.toml says is the lowest."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def pins(root: Path, *extras: str) -> subprocess.CompletedProcess[str]:
    script = [sys.executable, str(root / ".ci" / "lowest.py"), *extras]
    return subprocess.run(script, capture_output=True, text=True, timeout=60)


def test_every_direct_dependency_is_pinned_to_its_bound() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["test"]]
    done = pins(ROOT, "test")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [name.partition(",<")[0].replace(">=", "==") for name in wanted]


@pytest.mark.parametrize("requirement", ["numpy", "numpy<3", "numpy<3,>=1.26", "numpy==1.26"])
def test_a_dependency_without_a_plain_bound_is_refused(requirement: str, tmp_path: Path) -> None:
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "lowest.py", tmp_path / ".ci")
    (tmp_path / "pyproject.toml").write_text(f'[project]\ndependencies = ["{requirement}"]\n')
    done = pins(tmp_path)
    assert done.returncode == 1 and requirement in done.stderr and not done.stdout
