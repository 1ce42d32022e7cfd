"""`hush` run in this process, in a folder of the test's own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hushtable.cli.main import run


@pytest.fixture
def run_hush(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., tuple[int, str, str]]:
    """Its exit code, and what it printed to both streams."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["hush", *arguments])
        with pytest.raises(SystemExit) as stopped:
            run()
        seen = capsys.readouterr()
        return int(stopped.value.code or 0), seen.out, seen.err

    return call
