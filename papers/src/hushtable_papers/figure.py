"""A figure of a paper as an experiment: what is measured, how it is drawn, what it says.

A figure has two sizes: a quick one that shows that everything works, and the full one that the
verdicts are about. Its measurements are tasks (see `experiment`), so that a run that was killed
goes on; its plots and its verdict are made from the table of results alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from hushtable.evaluation.experiment import Task
from hushtable.evaluation.plots import draw_lines
from hushtable_papers.claims import Claim, Statement, judge

_NAMES = {"absolute_error": "mean absolute error", "relative_error": "median relative error"}


@dataclass(frozen=True)
class Scope:
    """How large an experiment is, and the real tables it may read."""

    quick: bool = False
    data: Mapping[str, Path] = field(default_factory=dict)
    """Folders of tables by their names ('adult'); a figure does without those it is not given."""

    def size(self, quick: int, full: int) -> int:
        """A number of rows, cells, queries or repetitions."""
        return quick if self.quick else full


@dataclass(frozen=True)
class Plot:
    """A measure against a parameter, drawn to a file; see `draw_lines`."""

    name: str
    title: str
    x: str
    y: str = "absolute_error"
    by: Sequence[str] = ("method",)
    panels: str | None = None
    log: str = "xy"
    where: Mapping[str, Any] = field(default_factory=dict)
    names: Mapping[str, str] = field(default_factory=dict)
    """How columns are called, where that is not plain."""
    shown: Callable[[pa.Table], pa.Table] = lambda results: results
    """What is drawn of the results."""

    def draw(self, results: pa.Table, folder: Path) -> Path:
        """Write the plot into a folder; tell its path. Rows without the parameter are not drawn."""
        path, shown = folder / f"{self.name}.png", self.shown(results)
        shown = shown.filter(pc.is_valid(shown[self.x]))
        draw_lines(
            shown, path, x=self.x, y=self.y, by=self.by, panels=self.panels,
            where=self.where, log=self.log, title=self.title, names={**_NAMES, **self.names},
        )  # fmt: skip
        return path


@dataclass(frozen=True)
class Figure:
    """One experiment of `hush reproduce`."""

    name: str
    """As it is called on the command line: 'privelet-accuracy'."""
    title: str
    """One line: the paper, its figures, and what they show."""
    tasks: Callable[[Scope], Sequence[Task]]
    plots: Sequence[Plot]
    claims: Sequence[Claim]
    minutes: float = 1.0
    """About how long the full size takes on two cores."""

    def verdict(self, results: pa.Table) -> list[Statement]:
        """What is to be said of the paper's claims by a table of results."""
        return judge(self.claims, results)
