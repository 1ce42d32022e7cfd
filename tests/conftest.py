"""No test touches the notes about ledgers that the user who runs it has.

`--trust` (or `make trust`) runs the attacks of tests/trust at their full size.
"""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--trust", action="store_true", help="run the attacks at their full size")


@pytest.fixture(autouse=True)
def state_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path_factory.mktemp("state", numbered=True)
    monkeypatch.setenv("HUSHTABLE_STATE", str(folder))
    return folder
