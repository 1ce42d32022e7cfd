"""Run `hush` as on Windows: python as_on_windows.py ARGUMENTS.

What only POSIX systems have is hidden, and what Windows forbids is refused: opening a folder, in a
mode that changes line breaks, or from another folder's handle; renaming onto something; replacing
or removing what is open. Libraries that work there in ways of their own are loaded before.
"""

from __future__ import annotations

import builtins
import os
import signal
import sys
from pathlib import Path
from typing import Any

import click.shell_completion
import msgspec
import numpy
import openpyxl
import pyarrow.csv
import pyarrow.parquet
import rich.console
import rich.progress
import rich.table
import sqlglot
import tomlkit

LOADED = (click, msgspec, numpy, openpyxl, pyarrow, rich, sqlglot, tomlkit)

MODULES = ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "syslog", "crypt", "spwd")
SIGNALS = ("SIGHUP", "SIGQUIT", "SIGALRM", "SIGCHLD", "SIGPIPE", "SIGUSR1", "SIGKILL")
SIGNALS += ("pthread_sigmask", "sigwait", "alarm", "setitimer", "SIG_BLOCK", "SIG_SETMASK")
FLAGS = ("O_CLOEXEC", "O_NONBLOCK", "O_NOCTTY", "O_DIRECTORY", "O_NOFOLLOW", "O_PATH", "O_SYNC")
CALLS = ("fork", "forkpty", "getuid", "geteuid", "getgid", "getegid", "getpgid", "killpg", "setsid")
CALLS += ("chown", "fchown", "fchmod", "lchown", "mkfifo", "mknod", "uname", "nice", "statvfs")
CALLS += ("sysconf", "sched_getaffinity", "register_at_fork", "pread", "pwrite", "sync", "wait3")

BINARY = 1 << 30


def hide() -> None:
    """Take away what Windows does not have."""
    for name in MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    for name in SIGNALS:
        delattr(signal, name)
    for name in (*FLAGS, *CALLS):
        if hasattr(os, name):
            delattr(os, name)
    os.supports_dir_fd.discard(os.open)
    os.O_BINARY = BINARY  # type: ignore[attr-defined]


def forbid() -> None:
    """Refuse what Windows refuses."""
    open_, rename, replace, unlink, rmdir = os.open, os.rename, os.replace, os.unlink, os.rmdir
    read_file = builtins.open

    def opened(path: Any, flags: int, mode: int = 0o777, *, dir_fd: Any = None) -> int:
        if dir_fd is not None:
            raise NotImplementedError("dir_fd unavailable on this platform")
        if os.path.isdir(path):
            raise PermissionError(13, "Permission denied")
        if not flags & BINARY and os.path.exists(path) and ours(2):
            raise AssertionError("opened as text: bytes would change")
        return open_(path, flags & ~BINARY, mode)

    def renamed(source: Any, target: Any, **_: Any) -> None:
        if os.path.exists(target):
            raise FileExistsError(17, "File exists")
        check_closed(source)
        rename(source, target)

    def replaced(source: Any, target: Any, **_: Any) -> None:
        check_closed(source)
        check_closed(target)
        replace(source, target)

    def unlinked(path: Any, **given: Any) -> None:
        check_closed(os.path.join("", path) if "dir_fd" not in given else "")
        unlink(path, **given)

    def no_proc(file: Any, *rest: Any, **given: Any) -> Any:
        if str(file).startswith("/proc/"):
            raise FileNotFoundError(2, "No such file or directory")
        return read_file(file, *rest, **given)

    os.open, os.rename, os.replace, os.rmdir = opened, renamed, replaced, rmdir  # type: ignore
    os.unlink = os.remove = unlinked  # type: ignore[assignment]
    builtins.open = no_proc  # type: ignore[assignment]


def ours(depth: int) -> bool:
    """Whether hushtable itself calls."""
    return "hushtable" in sys._getframe(depth).f_code.co_filename


def check_closed(path: Any) -> None:
    """Refuse what Windows refuses while a file, or one in the folder, is open."""
    place = os.path.realpath(path) if path else None
    for number in os.listdir("/proc/self/fd"):
        try:
            held = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            continue
        if place and (held == place or held.startswith(f"{place}{os.sep}")):
            raise PermissionError(32, "The process cannot access the file: it is in use")


if __name__ == "__main__":
    assert str(Path(__file__).parent) == sys.path.pop(0)
    hide()
    forbid()
    from hushtable.cli.main import run

    sys.argv[0] = "hush"
    run()
