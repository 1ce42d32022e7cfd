"""Other packages that do the same work, each in a Python environment of its own.

Peers ask for versions of numpy and pandas that differ from each other's and from ours, so each has
an environment, made once with `venv` and pip and kept in a folder of caches. A peer's part is a
small script that prints one line of JSON last. A peer that cannot be installed, fails, or takes too
long is no error here: the reason is what the table says of it.

    python = peer_python("dpart", ["dpart"])
    found = run_peer(python, SCRIPT, [data], seconds=900) if isinstance(python, Path) else python
    print(found["seconds"] if isinstance(found, dict) else found)
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

INSTALL_SECONDS = 600


def peer_python(
    name: str,
    requirements: Sequence[str],
    *,
    bare: Sequence[str] = (),
    seconds: float = INSTALL_SECONDS,
) -> Path | str:
    """The interpreter of an environment that holds the requirements; or why there is none.

    `bare` are packages that are installed without what they ask for: some ask for versions that
    this Python never had.
    """
    home = _caches() / f"{name}-{_mark([*requirements, '', *bare])}"
    python, done = home / "bin" / "python", home / "installed"
    with _alone(home):
        if done.exists():
            return python
        install = [str(python), "-m", "pip", "install", "--quiet"]
        steps = [[sys.executable, "-m", "venv", "--clear", str(home)], [*install, *requirements]]
        if bare:
            steps.append([*install, "--no-deps", *bare])
        for command in steps:
            _, reason = _run(command, seconds)
            if reason:
                return f"not installed: {reason}"
        done.write_text("\n".join(requirements), encoding="utf-8")
    return python


def run_peer(
    python: Path | str, script: str, args: Sequence[object] = (), seconds: float = 900
) -> dict[str, Any] | str:
    """What a script found: the JSON object on its last line; or why it found nothing.

    `elapsed`, the wall time of the whole process, is added unless the script tells its own.
    """
    begin = time.perf_counter()
    # Isolated: neither our own packages nor the folder we stand in are theirs.
    command = [str(python), "-I", "-c", script, *map(str, args)]
    output, reason = _run(command, seconds)
    if reason:
        return reason
    try:
        found = json.loads(output.strip().splitlines()[-1])
    except (IndexError, ValueError):
        return "told nothing"
    if not isinstance(found, dict):
        return "told nothing"
    return {"elapsed": time.perf_counter() - begin, **found}


def _run(command: Sequence[str], seconds: float) -> tuple[str, str]:
    """A command's output, and why it failed: nothing, if it did not."""
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        output, errors = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        return "", f"not done in {seconds:,.0f} s"
    finally:
        _end(process)
    if not process.returncode:
        return output, ""
    # Many end with advice; the line that matters says what kind of error it was.
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    told = [line for line in lines if "Error: " in line or line.startswith("ERROR")]
    return "", f"failed: {(told or lines or ['no word'])[-1][:100]}"


def _end(process: subprocess.Popen[str]) -> None:
    """End a process and its own: peers start workers that would go on."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _caches() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "hushtable" / "peers"


def _mark(requirements: Sequence[str]) -> str:
    """Other requirements, or another Python, are another environment."""
    text = json.dumps([sys.version, *requirements])
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@contextmanager
def _alone(home: Path) -> Iterator[None]:
    """Let no two processes make the same environment at once."""
    home.parent.mkdir(parents=True, exist_ok=True)
    with open(home.parent / f"{home.name}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
