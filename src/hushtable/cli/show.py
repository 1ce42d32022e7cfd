"""What every command needs to speak: JSON for machines, one line for errors, tables for people.

All that a command prints leaves through this file, as text: nothing in it is a command to the
terminal, or markup.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any

from hushtable.cli.signals import check_stopped
from hushtable.progress import Listener, heard, nobody
from hushtable.text import plain, plain_json

if TYPE_CHECKING:
    from rich.progress import ProgressColumn, TextColumn

    from hushtable.query.result import Measure, ResultTable
    from hushtable.release import Release


PATIENCE = 1.0
"""Seconds after which a command shows how far it is."""

ESTIMATE = "estimate: these intervals may hold less often than they say (docs/error-bars.md)"


def escape_what_cannot_be_shown() -> None:
    """Show as escapes what the output has no characters for, as many have none for ε."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def say(line: str = "", end: str = "\n") -> None:
    """Print a line."""
    print(plain(line), end=end)


def print_lines(text: str) -> None:
    """Print lines of our own as they are."""
    for line in text.split("\n"):
        say(line)


def print_json(content: Any, *, indent: int | None = 2) -> None:
    """Print one JSON document, all of it ASCII where the output cannot hold its characters."""
    text = plain_json(content, indent=indent)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(content, indent=indent)
    print(text)


def print_table(
    title: str | None, columns: list[str], rows: list[list[Any]], left: int = 1
) -> None:
    """Print a table; all but the first `left` columns are numbers.

    To a pipe it goes without colours, and wide.
    """
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    def cell(value: Any) -> Text:  # of a plain str, Rich would read markup and emoji
        return Text("" if value is None else plain(str(value)))

    named = None if title is None else cell(title)
    table = Table(title=named, title_justify="left", box=box.SIMPLE_HEAD, header_style="bold")
    table.show_header = any(columns)
    for i, column in enumerate(columns):
        justify: Any = "left" if i < left else "right"
        table.add_column(cell(column), justify=justify, overflow="fold")
    for row in rows:
        table.add_row(*map(cell, row))
    console = Console()
    if not console.is_terminal:
        console.width = 200
    console.print(table)


def print_points(lines: Iterable[str]) -> None:
    """Print a list of sentences; on a terminal, none is cut within a word."""
    import shutil
    from textwrap import wrap

    width = max(20, shutil.get_terminal_size().columns) if sys.stdout.isatty() else sys.maxsize
    for line in lines:
        for part in wrap(f"- {plain(line)}", width, subsequent_indent="  "):
            say(part)


def print_result(result: ResultTable, most: int = 1000) -> None:
    """Print the rows of a GROUP BY with their error bars."""
    shown = range(min(len(result), most))
    columns: dict[str, list[Any]] = {
        name: ["NULL" if (v := labels[i]) is None else v for i in shown]
        for name, labels in result.groups.items()
    }
    names = len(columns)
    for name, measure in result.measures.items():
        columns |= _bar_columns(name, measure, result, len(shown))
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    heads = [head.split("\0")[0] for head in columns]
    print_table(None, heads, rows, left=names)
    if len(result) > most:
        say(f"… {len(result) - most} more rows; -o FILE writes them all")
    if result.estimate:
        say(ESTIMATE)


def _bar_columns(
    name: str, measure: Measure, result: ResultTable, rows: int
) -> dict[str, list[str]]:
    """The columns of an aggregate: all that is known of one, less of each of several."""
    from hushtable.query.answer import show_bar, show_ends, show_number

    level = result.row_confidence
    halves = measure.half_widths(level)[:rows].tolist()
    values = measure.values[:rows].astype(float).tolist()
    shown = {name: list(map(show_number, values, halves))}
    if len(result.measures) == 1:
        shown["std. error"] = list(map(show_number, measure.stderr[:rows].tolist(), halves))
    shown[f"± {result.level}"] = list(map(show_bar, values, halves))
    if len(result.measures) == 1:
        low, high = (ends[:rows].astype(float).tolist() for ends in measure.bounds(level))
        pairs = list(map(show_ends, low, high, halves))
        shown["from"], shown["to"] = [low for low, _ in pairs], [high for _, high in pairs]
    return {f"{head}\0{name}": column for head, column in shown.items()}


def warn(text: str) -> None:
    """Say something that must not be overlooked, where pipes do not swallow it."""
    print(f"hush: {plain(text)}", file=sys.stderr)


@contextmanager
def noted_warnings() -> Iterator[list[str]]:
    """The lines of what the library warns of meanwhile; they are also said at the end."""
    lines: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield lines
    for warning in caught:
        lines.append(str(warning.message))
        warn(lines[-1])


def open_release(path: str) -> Release:
    """Open a release, and say so when its noise was not private."""
    from hushtable.release import open

    release = open(path)
    if not release.private:
        warn("this release was made with injected randomness, for an experiment: NOT PRIVATE")
    return release


@contextmanager
def step_bar(steps: dict[str, str], quiet: bool) -> Iterator[Callable[[str], None]]:
    """Show which of some named steps a command is at, and how far it is in each as far as it tells.

    On a terminal only. Signals are looked for at each step.
    """
    with _shown("starting", quiet) as bar, heard(bar.tell if bar else nobody):

        def advance(step: str) -> None:
            check_stopped()
            if bar is not None and step in steps:
                bar.begin(steps[step])

        yield advance


@contextmanager
def waiting(label: str, quiet: bool) -> Iterator[None]:
    """Show what a command of one step is doing, and how far it is if it tells."""
    with step_bar({"only": label}, quiet) as begin:
        begin("only")
        yield


@contextmanager
def row_bar(label: str, quiet: bool) -> Iterator[Listener]:
    """Show how many of a known number of things are done, on a terminal only."""
    with _shown(label, quiet) as bar:
        yield nobody if bar is None else bar.tell


@contextmanager
def _shown(label: str, quiet: bool) -> Iterator[_Bar | None]:
    if quiet or not sys.stderr.isatty():
        yield None
        return
    bar = _Bar(label)
    try:
        yield bar
    finally:
        bar.close()


class _Bar:
    """A line on the terminal: what is being done, how far it is, and how long it will take.

    It is there only while a command takes longer than a moment; nothing of it stays.
    """

    def __init__(self, label: str) -> None:
        self._lock = Lock()  # threads of engines tell how far they are
        self._label, self._done, self._total = label, 0, 0
        self._progress: Any = None
        self._timer = Timer(PATIENCE, self._show)
        self._timer.daemon = True
        self._timer.start()

    def begin(self, label: str) -> None:
        """Say what is done from now on."""
        with self._lock:
            self._label, self._done, self._total = label, 0, 0
            if self._progress is not None:
                self._progress.remove_task(self._progress.task_ids[-1])
                self._add_task()

    def tell(self, done: int, total: int) -> None:
        """Say how much of it is done."""
        with self._lock:
            self._done, self._total = done, total
            if self._progress is not None:
                self._update()

    def close(self) -> None:
        self._timer.cancel()
        self._timer.join()  # it may just be showing the line
        if self._progress is not None:
            self._progress.stop()

    def _show(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress

        columns = (_description("{task.description:<24}"), BarColumn(), _time_column())
        with self._lock:
            console = Console(stderr=True)
            self._progress = Progress(*columns, console=console, transient=True)
            self._add_task()
            self._progress.start()

    def _add_task(self) -> None:
        self._progress.add_task(plain(self._label), total=None)
        self._update()

    def _update(self) -> None:
        task = self._progress.tasks[-1]
        if self._done < self._total:
            self._progress.update(task.id, completed=self._done, total=self._total)
        else:  # when all is read an engine may still work: how long, nobody knows
            task.total = None


def _time_column() -> ProgressColumn:
    """How much of a whole is done and how long the rest will take, or how long it took so far."""
    from rich.progress import ProgressColumn, Task
    from rich.text import Text

    class Times(ProgressColumn):
        max_refresh = 0.5

        def render(self, task: Task) -> Text:
            if task.total is None:
                return Text(f"{_clock(task.elapsed)} so far")
            left = task.time_remaining
            rest = "" if left is None else f", about {_clock(left)} left"
            return Text(f"{task.percentage:.0f} %{rest}")

    return Times()


def _clock(seconds: float | None) -> str:
    from datetime import timedelta

    return str(timedelta(seconds=int(seconds or 0)))


def _description(form: str) -> TextColumn:
    from rich.progress import TextColumn

    return TextColumn(form, markup=False)
