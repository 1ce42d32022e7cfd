"""No test touches the notes about ledgers that the user who runs it has."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def state_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("state", numbered=True)
    monkeypatch.setenv("HUSHTABLE_STATE", str(folder))
    return folder
