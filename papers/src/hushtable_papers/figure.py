"""A figure of a paper as an experiment: what is measured, how it is drawn, what it says.

A figure has two sizes: a quick one that shows that everything works, and the full one that the
verdicts are about. Its measurements are tasks (see `experiment`), so that a run that was killed
goes on; its plots and its verdict are made from the table of results alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from hushtable.evaluation.experiment import Task


@dataclass(frozen=True)
class Setting:
    """How large an experiment is, and the real tables it may read."""

    quick: bool = False
    data: Mapping[str, Path] = field(default_factory=dict)
    """Folders of tables by their names ('adult'); a figure does without those it is not given."""

    def size(self, quick: int, full: int) -> int:
        """A number of rows, cells, queries or repetitions."""
        return quick if self.quick else full


@dataclass(frozen=True)
class Statement:
    """What the paper says, and what was seen here."""

    paper: str
    """The paper's statement, in our words, with the figure or section it is from."""
    seen: str
    """The figures measured here that speak for or against it."""
    holds: bool | None
    """Whether it holds here; None if this run cannot tell."""
    why: str = ""
    """Why it does not hold, or cannot be told."""


@dataclass(frozen=True)
class Figure:
    """One experiment of `hush reproduce`."""

    name: str
    """As it is called on the command line: 'privelet-accuracy'."""
    title: str
    """One line: the paper, its figures, and what they show."""
    tasks: Callable[[Setting], Sequence[Task]]
    draw: Callable[[pa.Table, Path], Sequence[Path]]
    """Write plots into a folder; tell their paths."""
    verdict: Callable[[pa.Table], Sequence[Statement]]
    minutes: float = 1.0
    """About how long the full size takes on two cores."""
