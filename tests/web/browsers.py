"""A real browser: the Chromium that is found on the machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# As root there is no sandbox; nothing else is connected to, looked up or updated.
_QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def chromium() -> str:
    """Where Chromium is. Without one, tests are skipped, but where everything must be tested."""
    named = os.environ.get("HUSHTABLE_CHROMIUM")
    found = named or next((path for name in _NAMES if (path := shutil.which(name))), None)
    if found is None:
        line = "no Chromium on this machine: install one, or name it by HUSHTABLE_CHROMIUM"
        if os.environ.get("CI") == "true":
            pytest.fail(line)
        pytest.skip(line)
    return found


@contextmanager
def running() -> Iterator[Any]:
    """The browser, while it runs."""
    path = chromium()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(_QUIET))
        try:
            yield browser
        finally:
            browser.close()
