"""A released census, and `hush` run in this process or in one of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from hushtable.cli.main import run
from hushtable.generators import census, census_schema


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Hush = Callable[..., Outcome]


@pytest.fixture
def hush(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Hush:
    """Run a command in this process."""

    def call(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["hush", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as stopped:
            run()
        seen = capsys.readouterr()
        return Outcome(int(stopped.value.code or 0), seen.out, seen.err)

    return call


@pytest.fixture
def fewer_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Audits that look at little noise: how well its law is seen is tested elsewhere."""
    monkeypatch.setattr("hushtable.auditing.noise_law.FAST_DRAWS", 1 << 14)
    monkeypatch.setattr("hushtable.auditing.noise_law.SLOW_DRAWS", 200)


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a census, its schema and a release; tests must not change it."""
    folder = tmp_path_factory.mktemp("census")
    pq.write_table(census(3000), folder / "census.parquet")
    census_schema().save(folder / "census.toml")
    command = [
        "publish",
        "census.parquet",
        "--schema",
        "census.toml",
        "-e",
        "1",
        "--mechanism",
        "basic",  # its counts are whole numbers, which tests can compare
        "-o",
        "census.release",
    ]
    subprocess.run(
        [sys.executable, "-m", "hushtable.cli", *command],
        cwd=folder,
        env=os.environ | {"HUSHTABLE_STATE": str(folder / "state")},
        check=True,
    )
    return folder


@pytest.fixture
def own(shared: Path, tmp_path: Path) -> Path:
    """A folder of this test's own with the census and its schema, and no ledger yet."""
    for name in ("census.parquet", "census.toml"):
        (tmp_path / name).write_bytes((shared / name).read_bytes())
    return tmp_path
