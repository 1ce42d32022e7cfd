"""How accurate a release is, in a few numbers: the standard errors of counts that everyone asks.

Of a table with many columns a single cell says nothing: it holds nobody, and of a network or a
summary its error is next to zero. Counts that name one attribute mean something for every release.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from hushtable.errors import QueryError
from hushtable.query.box import Box, Boxes, CodeSet
from hushtable.release.release import Release

# Kinds of releases in which not every cell was measured: the error of the first one is arbitrary.
_WITHOUT_CELLS = ("summary", "network")


@dataclass(frozen=True)
class Accuracy:
    """Standard errors; None of what the release does not answer, or what would tell nothing."""

    total: float | None
    """Of the number of rows."""
    values: dict[str, float]
    """Of the first value of each attribute that can be asked for by itself."""
    cell: float | None
    """Of the first cell, or of that of the first table."""
    table: str | None
    """The table that the cell is of, where there are several."""

    def facts(self) -> dict[str, Any]:
        """The same for JSON."""
        return {"cell_stderr": self.cell, "total_stderr": self.total, "value_stderr": self.values}

    def lines(self) -> list[tuple[str, str]]:
        """What each is of, and its number, for people."""
        shown = sorted(self.values.values())
        ends = dict.fromkeys(_shown(error) for error in (*shown[:1], *shown[-1:]))
        cell = "a cell" if self.table is None else f"a cell of {self.table}"
        return [
            *([] if self.total is None else [("all rows", _shown(self.total))]),
            *([("one value of an attribute", " to ".join(ends))] if ends else []),
            *([] if self.cell is None else [(cell, _shown(self.cell))]),
        ]


def accuracy_of(release: Release) -> Accuracy:
    """The accuracy of a release; reads no more than the laws of its noise need."""
    full = Box.full(release.schema.shape)
    values = {
        attribute.name: _stderr(release, (_with_first(full, axis),))
        for axis, attribute in enumerate(release.schema.attributes)
    }
    return Accuracy(
        total=_stderr(release, (full,)),
        values={name: error for name, error in values.items() if error is not None},
        cell=None if release.manifest["reader"] in _WITHOUT_CELLS else release.cell_stderr,
        table=next(iter(release.tables), None),
    )


def _shown(error: float) -> str:
    return f"{error:.3g}" if error < 1000 else f"{error:,.0f}"


def _with_first(box: Box, axis: int) -> Box:
    return Box((*box.sets[:axis], CodeSet.single(0), *box.sets[axis + 1 :]))


def _stderr(release: Release, boxes: Boxes) -> float | None:
    try:
        return math.sqrt(release.reader.law(boxes).variance)
    except QueryError:
        return None
