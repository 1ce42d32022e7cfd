"""A real server on a port of this machine, while a test asks it."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn

from hushtable.web.application import Settings, site
from hushtable.web.limits import Limits
from hushtable.web.shelf import Shelf

PATIENT = {"seconds": 600.0, "wait": 600.0, "workers": 1}
"""A busy machine is no failure."""


def limits(**chosen: Any) -> Limits:
    return Limits(**{**PATIENT, **chosen})


@contextmanager
def served(folder: Path, settings: Settings | None = None, root: str = "") -> Iterator[str]:
    """The address of a server of a folder's releases."""
    application = site(Shelf.of_folder(folder), settings or Settings(limits()))
    with running(application, root) as address:
        yield address


@contextmanager
def running(application: Any, root: str = "") -> Iterator[str]:
    """The address of an application that runs in a thread of its own."""
    config = uvicorn.Config(
        application,
        port=0,
        log_level="error",
        root_path=root,
        timeout_graceful_shutdown=5,
        # A test may take its time between two requests on one connection.
        timeout_keep_alive=600,
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        thread.join(0.02)
        if not thread.is_alive():
            raise RuntimeError("the server did not start")
    (listening,) = server.servers
    port = listening.sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def started(*arguments: str) -> Iterator[str]:
    """The address that `hush explore` or `hush serve` prints; interrupted after its use."""
    command = [sys.executable, "-m", "hushtable", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.send_signal(signal.SIGINT)
            process.wait()
    assert process.returncode in (0, 130), "Ctrl-C is the way to end it"
