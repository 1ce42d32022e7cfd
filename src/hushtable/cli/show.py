"""What every command needs to speak: JSON for machines, one line for errors, tables for people.

All that a command prints leaves through this file, as text: nothing in it is a command to the
terminal, or markup.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from hushtable.cli.signals import check_stopped
from hushtable.text import plain, plain_json

if TYPE_CHECKING:
    from rich.progress import TextColumn

    from hushtable.query.answer import ResultTable
    from hushtable.release import Release


ESTIMATE = "estimate: these intervals may hold less often than they say (docs/error-bars.md)"


def say(line: str = "", end: str = "\n") -> None:
    """Print a line."""
    print(plain(line), end=end)


def print_json(content: Any, *, indent: int | None = 2) -> None:
    """Print one JSON document."""
    print(plain_json(content, indent=indent))


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
    from hushtable.query.answer import show_number

    lower, upper = result.bounds
    halves, errors = result.half_widths, result.stderr
    names = list(result.groups)
    rows = []
    for i in range(min(len(result), most)):
        labels = ["NULL" if (v := column[i]) is None else v for column in result.groups.values()]
        numbers = (result.values[i], errors[i], halves[i], lower[i], upper[i])
        rows.append([*labels, *(show_number(float(number)) for number in numbers)])
    head = [*names, result.count_name, "std. error", f"± {result.level}", "from", "to"]
    print_table(None, head, rows, left=len(names))
    if len(result) > most:
        say(f"… {len(result) - most} more rows; -o FILE writes them all")
    if result.estimate:
        say(ESTIMATE)


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
    """A progress bar over named steps, on a terminal only; signals are looked for at each."""
    if quiet or not sys.stderr.isatty():
        yield lambda step: check_stopped()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TimeElapsedColumn

    columns = (_description("{task.description:<28}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=len(steps))
        names = list(steps)

        def advance(step: str) -> None:
            check_stopped()
            done = names.index(step) if step in names else len(names)
            bar.update(task, completed=done, description=steps.get(step, "done"))

        yield advance


@contextmanager
def row_bar(label: str, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """A progress bar over a known number of rows, on a terminal only."""
    if quiet or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TimeRemainingColumn

    columns = (BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    described = _description("{task.description}")
    with Progress(described, *columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(plain(label))
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _description(form: str) -> TextColumn:
    from rich.progress import TextColumn

    return TextColumn(form, markup=False)
