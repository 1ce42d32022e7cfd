"""How far a command is: shown on a terminal while it takes long, and nowhere else."""

from __future__ import annotations

import os
import pty
import re
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hushtable.cli import show
from hushtable.kernel.counting.readers import csvfile, parquet
from hushtable.progress import listener

from .conftest import Hush

SCHEMA = """name = "town"
budget = "9"
[[attribute]]
name = "age"
kind = "ordinal"
range = [0, 9]
"""
ROWS = 5000
LONG = 120.0  # seconds for which a test waits before it gives up


class Watched:
    """A terminal, of which one sees what is written to it."""

    def __init__(self) -> None:
        self._screen, self._line = pty.openpty()
        self.file = os.fdopen(self._line, "w", encoding="utf-8")
        self._seen, self._news = "", threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        while True:
            try:
                more = os.read(self._screen, 2**16)
            except OSError:
                return
            with self._news:
                self._seen += more.decode(errors="replace")
                self._news.notify_all()

    @property
    def text(self) -> str:
        """What was written, without what moves the cursor or colours it."""
        return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", self._seen)

    def wait_for(self, pattern: str) -> None:
        with self._news:
            found = self._news.wait_for(lambda: re.search(pattern, self.text), LONG)
        assert found, self.text

    def close(self) -> None:
        self.file.close()
        self._reader.join(LONG)
        os.close(self._screen)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watched]:
    watched = Watched()
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setattr(show, "PATIENCE", 0.0)
    yield watched
    watched.close()


@pytest.fixture
def town(tmp_path: Path) -> Path:
    (tmp_path / "town.toml").write_text(SCHEMA)
    (tmp_path / "town.csv").write_text("age\n" + "".join(f"{i % 10}\n" for i in range(ROWS)))
    # Of this type, which Arrow reads and not the engine.
    ages = pa.array([i % 10 for i in range(ROWS)], pa.decimal128(3, 0))
    pq.write_table(pa.table({"age": ages}), tmp_path / "town.parquet")
    return tmp_path


def slow_csv(monkeypatch: pytest.MonkeyPatch, until: Callable[[], None]) -> None:
    """Let a CSV file come in pieces, of which the last is read only when something was seen."""

    @contextmanager
    def slow(raw: IO[bytes]) -> Iterator[Any]:
        def read(size: int) -> bytes:
            if raw.tell() >= ROWS:
                until()
            return raw.read(size)

        yield SimpleNamespace(read=read)

    monkeypatch.setattr(csvfile, "_PIECE", 1000)
    monkeypatch.setattr(csvfile, "_as_it_is", slow)


def slow_parquet(monkeypatch: pytest.MonkeyPatch, until: Callable[[], None]) -> None:
    """The same of a Parquet file."""
    whole = parquet._batches

    def batches(file: Any) -> Iterator[Any]:
        for batch in whole(file):
            yield batch[: ROWS // 2]
            until()
            yield batch[ROWS // 2 :]

    monkeypatch.setattr(parquet, "_batches", batches)


COMMANDS = {
    "publish": ["-s", "town.toml", "-e", "1", "-m", "basic", "-o", "out"],
    "check": ["-s", "town.toml"],
    "draft": ["-o", "draft.toml"],
}


def words(town: Path, command: str, table: str) -> list[object]:
    started = ["schema", "draft"] if command == "draft" else [command]
    return [*started, town / table, *(_placed(town, word) for word in COMMANDS[command])]


def _placed(town: Path, word: str) -> object:
    return town / word if "." in word or word == "out" else word


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("table", ["town.csv", "town.parquet"])
def test_a_slow_command_shows_how_far_it_is(
    hush: Hush,
    town: Path,
    terminal: Watched,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
    table: str,
) -> None:
    label = "counting the table" if command == "publish" else "looking at the table"
    slow = slow_csv if table.endswith(".csv") else slow_parquet
    slow(monkeypatch, lambda: terminal.wait_for(rf"{label}\W+[1-9]\d? %"))
    monkeypatch.setattr(sys, "stderr", terminal.file)
    done = hush(*words(town, command, table))
    assert done.code == 0 and f"{label} " not in done.out


@pytest.mark.parametrize("command", COMMANDS)
def test_nothing_of_it_is_written_elsewhere(
    hush: Hush, town: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.setattr(show, "PATIENCE", 0.0)
    heard: list[int] = []
    slow_csv(monkeypatch, lambda: heard.append(1))
    done = hush(*words(town, command, "town.csv"))
    assert done.code == 0 and done.err == "" and heard


def test_json_is_quiet_on_a_terminal_too(
    hush: Hush, town: Path, terminal: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", terminal.file)
    assert hush(*words(town, "publish", "town.csv"), "--json").json["left"] == "8"
    assert terminal.text == ""


def test_a_quick_command_shows_nothing(
    hush: Hush, town: Path, terminal: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(show, "PATIENCE", 10 * LONG)
    monkeypatch.setattr(sys, "stderr", terminal.file)
    assert hush(*words(town, "publish", "town.csv")).code == 0
    assert terminal.text == ""


def test_a_step_of_unknown_length_shows_the_time_so_far_and_a_known_one_the_time_left(
    terminal: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", terminal.file)
    with show.step_bar({"a": "counting", "b": "drawing"}, quiet=False) as step:
        step("a")
        terminal.wait_for(r"counting\W+0:00:\d\d so far")
        tell = listener()
        for done in range(1, 4):
            tell(done, 4)
            terminal.wait_for(rf"counting\W+{25 * done} %")
        terminal.wait_for(r"75 %, about 0:00:\d\d left")
        step("b")
        terminal.wait_for(r"drawing\W+0:00:\d\d so far")
