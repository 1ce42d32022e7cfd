"""Run a figure of a paper: its measurements, its plots, and what they say of the paper's claims.

All is in one folder. A run that was stopped goes on from what is there; a finished one only draws
and judges again. The verdict holds nothing of the machine, so that two of them can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hushtable.errors import OptionError
from hushtable.evaluation.experiment import Progress, Task, run_experiment
from hushtable.scratch import whole_file
from hushtable_papers.claims import Statement
from hushtable_papers.figure import Figure, Scope
from hushtable_papers.real_tables import adult
from hushtable_papers.sparse_origins import Journeys

_MOST_LISTED = 8
_HOLDS = {True: "yes", False: "no", None: "cannot tell"}

REAL_TABLES: dict[str, Callable[[Path], object]] = {
    "adult": adult,
    "commuting": lambda folder: Journeys(folder=folder).load(),
}
"""The real tables that figures may be given: their names, and what reads them from a folder."""

READERS: dict[str, tuple[str, ...]] = {
    "adult": (
        "ispe-alpha1",
        "ispe-iterations",
        "ispe-xi",
        "ispe-sizes",
        "privbayes-marginals",
        "privbayes-classification",
    ),
    "commuting": ("sparse-origins",),
}
"""The figures that read each of them."""


@dataclass(frozen=True)
class Reproduced:
    """What came of a figure."""

    figure: Figure
    statements: tuple[Statement, ...]
    plots: tuple[Path, ...]
    verdict: Path

    def to_dict(self) -> dict[str, Any]:
        """The verdict for machines."""
        return {
            "name": self.figure.name,
            "title": self.figure.title,
            "verdict": str(self.verdict),
            "plots": [str(plot) for plot in self.plots],
            "statements": [
                {"paper": s.paper, "seen": s.seen, "holds": s.holds, "why": s.why}
                for s in self.statements
            ],
        }


def reproduce(
    figure: Figure,
    folder: str | Path,
    scope: Scope | None = None,
    progress: Progress | None = None,
) -> Reproduced:
    """Do what is not done yet in `folder/NAME`; draw the plots and write verdict.md there."""
    chosen = scope or Scope()
    place = Path(folder) / figure.name
    tasks = figure.tasks(chosen)  # before the folder is made: what is refused leaves nothing behind
    _make(place)
    results = run_experiment(tasks, place, progress=progress)
    statements = [_judged(statement, chosen) for statement in figure.verdict(results)]
    plots = tuple(plot.draw(results, place) for plot in figure.plots)
    verdict = place / "verdict.md"
    _write(
        verdict, verdict_text(figure, chosen, tasks, statements, [_link(place, p) for p in plots])
    )
    return Reproduced(figure, tuple(statements), plots, verdict)


def holds_text(statement: Statement) -> str:
    """Whether a statement holds, in a word or two."""
    return _HOLDS[statement.holds]


def verdict_text(
    figure: Figure,
    scope: Scope,
    tasks: Sequence[Task],
    statements: Iterable[Statement],
    plots: Iterable[str],
) -> str:
    """The page about a run: its sizes, the paper's statements, the plots."""
    size = "A quick run: it shows that everything works." if scope.quick else "The full size."
    command = f"hush reproduce {figure.name}" + (" --quick" if scope.quick else "")
    lines = [f"# {figure.title}", "", f"`{command}`. {size}", ""]
    lines += [f"* {name}: {values}" for name, values in _sizes(tasks).items()]
    lines += ["", "| the paper says | seen here | holds | why |", "|---|---|---|---|"]
    lines += [
        _row(statement.paper, statement.seen, holds_text(statement), statement.why)
        for statement in statements
    ]
    lines += [line for plot in plots for line in ("", f"![{Path(plot).stem}]({plot})")]
    return "\n".join([*lines, ""])


def _make(place: Path) -> None:
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise OptionError(f"{place} cannot be made: {problem.strerror}") from None


def _judged(statement: Statement, scope: Scope) -> Statement:
    """A quick run is too small to say anything about a paper, whatever it shows."""
    if not scope.quick or statement.holds is None:
        return statement
    found = "would hold" if statement.holds else "would not hold"
    return replace(statement, holds=None, why=f"a quick run: here it {found}")


def _sizes(tasks: Iterable[Task]) -> dict[str, str]:
    """What the tasks' keys say: each part's values, or the ends of many."""
    found: dict[str, dict[Any, None]] = {}
    for task in tasks:
        for name, value in task.key.items():
            found.setdefault(name, {})[value] = None
    return {name: _listed(list(values)) for name, values in found.items()}


def _listed(values: list[Any]) -> str:
    shown = [_shown(value) for value in values if value not in (None, "")]
    if len(shown) <= _MOST_LISTED:
        return ", ".join(shown) or "none"
    return f"{shown[0]} … {shown[-1]} ({len(shown)} values)"


def _shown(value: Any) -> str:
    plain_number = isinstance(value, int) and not isinstance(value, bool)
    return f"{value:,}" if plain_number else str(value)


def _row(*cells: str) -> str:
    """A row of a table: no cell may end it, or hold its mark."""
    return "| " + " | ".join(" ".join(c.replace("|", r"\|").split()) for c in cells) + " |"


def _link(place: Path, plot: Path) -> str:
    return plot.relative_to(place).as_posix()


def _write(path: Path, text: str) -> None:
    """Whole or not at all: a stopped run leaves the verdict that was there."""
    with whole_file(path) as partial:
        partial.write_text(text, encoding="utf-8")
