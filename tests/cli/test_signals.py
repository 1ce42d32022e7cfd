"""A command that is told to stop cleans up first, and says how it ended by its exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest

from hushtable.cli import signals
from hushtable.cli.show import step_bar
from hushtable.kernel.counting.source import interruptible
from tests.shared_sizes import some_of

SCHEMA = """name = "people"
budget = "1"
unit = { column = "id", max_rows = 1 }
[[attribute]]
name = "age"
kind = "ordinal"
range = [0, 9]
"""
# The engine works on something endless, where it may: it says so, and is never done by itself.
PROGRAM = """
import sys
from contextlib import contextmanager
from hushtable.kernel.counting.encoding.statement import SqlStatement

@contextmanager
def endless(self, table, salt):
    engine = table.get_backend().con
    print("counting", file=sys.stderr, flush=True)
    yield engine.sql("SELECT sum(a.range * b.range % 7) FROM range(10000000) a, range(10000000) b")

SqlStatement.result = endless
from hushtable.cli.main import run
sys.argv = ["hush", *sys.argv[1:]]
run()
"""


def start(folder: Path, ignored: Sequence[int] = ()) -> subprocess.Popen[str]:
    """A command that is counting: the folder for temporary files holds the engine's."""
    (folder / "tmp").mkdir()
    (folder / "s.toml").write_text(SCHEMA)
    (folder / "t.csv").write_text('age,id\n1,"a"\n')
    words = ["publish", "t.csv", "-s", "s.toml", "-e", "1", "-m", "basic", "-o", "out"]

    def as_in_the_foreground() -> None:
        """Shells and `nohup` start what they put into the background with signals ignored."""
        for number in signals.SIGNALS:
            signal.signal(number, signal.SIG_IGN if number in ignored else signal.SIG_DFL)

    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *words],
        cwd=folder,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={
            **os.environ,
            "TMPDIR": str(folder / "tmp"),
            "PYTHONPATH": os.pathsep.join(sys.path),
            "XDG_STATE_HOME": str(folder / "state"),
        },
        preexec_fn=as_in_the_foreground,
    )
    assert process.stderr is not None
    while "counting\n" not in process.stderr.readline():
        assert process.poll() is None
    assert any((folder / "tmp").iterdir())
    return process


def ended(process: subprocess.Popen[str]) -> str:
    """What a process said, when it has come to its end by itself."""
    try:
        return process.communicate(timeout=100)[1]
    finally:
        process.kill()
        process.communicate()  # or what is left of it would disturb later tests


@pytest.mark.parametrize(
    "number", some_of([signal.SIGTERM, signal.SIGHUP, signal.SIGINT], [signal.SIGINT])
)
def test_a_signal_stops_the_engine_and_leaves_nothing_behind(
    number: signal.Signals, tmp_path: Path
) -> None:
    process = start(tmp_path)
    process.send_signal(number)
    said = ended(process)
    assert process.returncode == 128 + number
    assert said.splitlines()[-1] == "hush: stopped: nothing was spent; run it again when you like"
    assert list((tmp_path / "tmp").iterdir()) == []
    assert not (tmp_path / "out").exists() and not (tmp_path / "s.toml.ledger").exists()


def test_a_signal_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    """As under `nohup`: closing the terminal does not stop a long run."""
    process = start(tmp_path, ignored=[signal.SIGHUP])
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGTERM)
    ended(process)
    assert process.returncode == 128 + signal.SIGTERM


@pytest.mark.parametrize("quiet", [True, False])
def test_a_signal_whose_exception_was_lost_stops_the_next_step(
    quiet: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(signals, "received", [])
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with step_bar({"count": "counting", "pay": "paying"}, quiet=quiet) as step:
        step("count")
        signals.received.append(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            step("pay")


class Engine:
    """Works until it is interrupted."""

    def __init__(self) -> None:
        self.con, self.stopped = self, threading.Event()

    def get_backend(self) -> Engine:
        return self

    def interrupt(self) -> None:
        self.stopped.set()


def test_an_engine_is_stopped_also_by_a_signal_that_comes_as_it_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Between the start of its thread and the moment at which it is waited for."""
    engine, start = Engine(), threading.Thread.start

    def disturbed(thread: threading.Thread) -> None:
        start(thread)
        signal.raise_signal(signal.SIGTERM)

    def stop(number: int, _: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    monkeypatch.setattr(threading.Thread, "start", disturbed)
    try:
        with pytest.raises(KeyboardInterrupt):
            interruptible(engine, lambda: engine.stopped.wait(60))
    finally:
        signal.signal(signal.SIGTERM, before)
    assert engine.stopped.is_set()
