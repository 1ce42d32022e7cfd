"""One table for all benchmarks: our figure, another's from the same run, and their ratio.

A benchmark gives a `Section` of `Row`s. The ratio is ours over theirs; of times, bytes and errors
less is better, of speeds (units that end in "/s") more. A peer that gives no figure says why.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from rich.console import Console
from rich.table import Table

WIDTH = 140  # where the table goes to a file
HEADER = ("work", "ours", "beside", "theirs", "unit", "ratio", "target")


@dataclass(frozen=True)
class Target:
    """What the ratio, or our own figure, should be at most or at least."""

    bound: float
    sense: Literal["≤", "≥"] = "≤"
    of: Literal["ratio", "ours"] = "ratio"


@dataclass(frozen=True)
class Row:
    """One piece of work: our figure and a peer's."""

    work: str
    ours: float
    peer: str
    theirs: float | str
    """Their figure, or why there is none."""
    unit: str
    target: Target | None = None

    @property
    def ratio(self) -> float | None:
        """Ours over theirs; None where there is nothing to divide by."""
        if isinstance(self.theirs, str) or not self.theirs:
            return None
        return self.ours / self.theirs

    @property
    def met(self) -> bool | None:
        """Whether the target is reached; None where there is none, or no ratio to judge."""
        if self.target is None:
            return None
        found = self.ours if self.target.of == "ours" else self.ratio
        if found is None:
            return None
        bound = self.target.bound
        return found <= bound if self.target.sense == "≤" else found >= bound


@dataclass(frozen=True)
class Grid:
    """Figures that want more than two columns."""

    title: str
    header: tuple[str, ...]
    lines: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Section:
    """What one benchmark found."""

    title: str
    rows: Sequence[Row]
    grids: Sequence[Grid] = ()


# ── figures as text ──────────────────────────────────────────────────────────────────────────────


def figure(value: float) -> str:
    """Three digits and a thousand's word: 12.3 M.

    >>> [figure(x) for x in (0.00123, 45.67, 1234.5, 5.43e7)]
    ['0.00123', '45.7', '1,230', '54.3 M']
    """
    value = float(f"{value:.3g}")
    for size, word in ((1e9, " G"), (1e6, " M")):
        if abs(value) >= size:
            return f"{value / size:.3g}{word}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def times(ratio: float | None) -> str:
    """A ratio as one says it: 14 ×, or 1/360.

    >>> [times(x) for x in (14.2, 0.734, 1 / 360.2, None)]
    ['14.2 ×', '0.734 ×', '1/360', '']
    """
    if ratio is None or not math.isfinite(ratio):
        return ""
    return f"1/{figure(1 / ratio)}" if 0 < ratio < 0.1 else f"{figure(ratio)} ×"


def cells(row: Row, *, judged: bool) -> tuple[str, ...]:
    """The columns of a row; targets are judged only at the size they were set for."""
    theirs = row.theirs if isinstance(row.theirs, str) else figure(row.theirs)
    unit = f"{row.unit} {'↑' if row.unit.endswith('/s') else '↓'}"
    return (
        row.work, figure(row.ours), row.peer, theirs, unit, times(row.ratio), _target(row, judged),
    )  # fmt: skip


def _target(row: Row, judged: bool) -> str:
    if row.target is None:
        return ""
    unit = "×" if row.target.of == "ratio" else row.unit
    text = f"{row.target.sense} {figure(row.target.bound)} {unit}"
    return text + {True: " ✓", False: " ✗", None: ""}[row.met if judged else None]


# ── the whole ────────────────────────────────────────────────────────────────────────────────────


def show(sections: Sequence[Section], *, judged: bool = True) -> None:
    """Print one table, and the grids below it."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    table = Table("work", show_edge=False, pad_edge=False)
    for name in HEADER[1:]:
        text = name in ("beside", "unit", "target")
        table.add_column(name, justify="left" if text else "right", overflow="fold")
    for section in sections:
        table.add_section()
        table.add_row(f"[bold]{section.title}[/bold]")
        for row in section.rows:
            table.add_row(*cells(row, judged=judged))
    console.print(table)
    for grid in (grid for section in sections for grid in section.grids):
        below = Table(*grid.header, title=grid.title, show_edge=False)
        for line in grid.lines:
            below.add_row(*line)
        console.print()
        console.print(below)


def markdown(sections: Sequence[Section], *, judged: bool = True) -> str:
    """The same for a page: a table for each section."""
    return "\n".join(line for section in sections for line in _section(section, judged))


def _section(section: Section, judged: bool) -> Iterator[str]:
    yield f"## {section.title}\n"
    yield from _lines(HEADER, [cells(row, judged=judged) for row in section.rows])
    for grid in section.grids:
        yield f"{grid.title}\n"
        yield from _lines(grid.header, grid.lines)


def _lines(header: Sequence[str], lines: Sequence[Sequence[str]]) -> Iterator[str]:
    for line in (header, ["---"] * len(header), *lines):
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |"
    yield ""
