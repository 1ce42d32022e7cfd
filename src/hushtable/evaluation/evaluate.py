"""What a release's answers are worth: the truth beside them, for the data owner alone.

The same questions are asked of the true table and of the release. Measures are those of the
Privelet paper (§8.1), over all questions and by fifths of their coverage (share of the cells) and
selectivity (share of the rows): absolute and square error, and the relative error
|answer − true| / max(true, 0.1 % of all rows). Beside them stand what the release itself says its
error is, and how often the truth lies inside its intervals.

None of these figures is private, and choosing among releases by them is paid by nobody.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats
from hushtable.errors import OptionError
from hushtable.evaluation.range_errors import SANITY
from hushtable.evaluation.range_queries import quintiles
from hushtable.evaluation.truth import TrueTable
from hushtable.evaluation.workload_queries import QueryList, list_queries
from hushtable.kernel.counting import CsvFormat, code_table, count_table
from hushtable.kernel.counting.count import MAX_CELLS
from hushtable.kernel.counting.readers.paths import table_in
from hushtable.kernel.privacy.loss import format_epsilon
from hushtable.query.answer import Answer, show_percent
from hushtable.query.box import Boxes
from hushtable.query.law import checked_confidence
from hushtable.release import Release
from hushtable.release import open as open_release
from hushtable.workload import DEFAULT, Workload, read_workload

Progress = Callable[[str], None]
"""Told the name of each step as it begins: count, truth, ask, intervals, done."""

OWNER_ONLY = (
    "For the data owner only: these figures come from the true table and are not private."
    " Choosing among releases by them is unpaid selection."
)
WRONG_TABLE = (
    "The total is off by far more than its error bar: is this the table that was published?"
)
QUERIES = 10_000
INTERVALS = 500
"""Of so many questions the intervals are looked at: some laws take milliseconds each."""


@dataclass(frozen=True)
class ErrorRow:
    """Mean errors over some of the questions, each by its weight in the workload."""

    group: str
    """`all`, `coverage` or `selectivity`."""
    fifth: int
    """1 … 5 by coverage or selectivity, 0 for all."""
    queries: int
    coverage: float
    selectivity: float
    absolute_error: float
    square_error: float
    rmse: float
    relative_error: float | None
    """None for a table without rows: there is nothing to divide by."""
    worst_error: float
    forecast_rmse: float
    """What the release's own error bars say."""
    intervals: int
    """Of how many questions the intervals were looked at …"""
    inside: float | None
    """… and the share of them whose interval holds the truth."""


@dataclass(frozen=True, repr=False)
class Evaluation:
    """True against released answers. Not private: for the data owner only."""

    dataset: str
    mechanism: str
    epsilon: str
    workload: str
    queries: int
    workload_queries: int
    """How many questions the workload has; more than were asked where they were sampled."""
    rows: int
    confidence: float
    errors: tuple[ErrorRow, ...]
    """Over all questions first, then by fifths."""
    notes: tuple[str, ...] = ()

    @property
    def overall(self) -> ErrorRow:
        """The errors over all questions."""
        return self.errors[0]

    @property
    def sampled(self) -> bool:
        """Whether only some of the workload's questions were asked."""
        return self.queries < self.workload_queries

    @property
    def asked(self) -> str:
        """What was asked, in words."""
        if not self.sampled:
            number = "the one query" if self.queries == 1 else f"all {self.queries:,} queries"
            return f"{number} of {self.workload}"
        whole = self.workload_queries
        many = f"{whole:,}" if whole < 10**9 else f"about 10^{math.log10(whole):.1f}"
        return f"{self.queries:,} of the {many} queries of {self.workload}, drawn evenly"

    @property
    def title(self) -> str:
        """What was compared; the number of rows tells whether it is the right table."""
        rows = "1 row" if self.rows == 1 else f"{self.rows:,} rows"
        made = f"{self.dataset} by {self.mechanism}, ε = {self.epsilon}"
        return f"{made}: {self.asked}, {rows}"

    def __repr__(self) -> str:
        found = self.overall
        inside = "?" if found.inside is None else f"{found.inside:.1%}"
        relative = "–" if found.relative_error is None else f"{found.relative_error:.2%}"
        return "\n".join(
            [
                f"<Evaluation of {self.title}",
                f"  mean absolute error  {found.absolute_error:.4g}",
                f"  root mean square     {found.rmse:.4g}   forecast {found.forecast_rmse:.4g}",
                f"  mean relative error  {relative}",
                f"  truth inside the {show_percent(self.confidence)} intervals  {inside}",
                *(f"  {note}" for note in self.notes if note == WRONG_TABLE),
                f"  {OWNER_ONLY}>",
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain values, for JSON, with the warning that belongs to them."""
        told = asdict(self) | {"errors": [asdict(row) for row in self.errors]}
        extra = {"sampled": self.sampled, "sanity_bound": _sanity(self.rows)}
        return {"owner_only": OWNER_ONLY, **told, **extra, "notes": list(self.notes)}

    def plot(self, path: str | Path) -> None:
        """Draw the errors by fifths to a .png or .svg file; the warning is on it."""
        from hushtable.evaluation.evaluation_picture import draw_evaluation

        draw_evaluation(self, Path(path))


def evaluate(
    data: Any,
    release: Release | str | Path,
    *,
    workload: str | Workload = DEFAULT,
    queries: int = QUERIES,
    intervals: int = INTERVALS,
    confidence: float = 0.95,
    table: str | None = None,
    csv: CsvFormat | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Compare a release's answers with the true table's. For the data owner only: not private.

    `data`, `table` and `csv` are as in `publish`; how to read the table is in the release. Of a
    workload with more than so many `queries`, about that number is drawn; intervals are looked at
    for `intervals` of them. Choosing among releases by what comes out is unpaid selection.
    """
    step = progress or (lambda name: None)
    data = table_in(data, table)
    opened = release if isinstance(release, Release) else open_release(release)
    asked = _asked(workload, opened, queries)
    checked_confidence(confidence)
    if isinstance(intervals, bool) or not isinstance(intervals, int) or intervals < 1:
        raise OptionError("intervals must be a whole number above zero")
    step("count")
    count = count_table if opened.schema.cells <= MAX_CELLS else code_table
    truth = TrueTable.of(count(data, opened.schema, csv))
    measured = _measured(opened, asked, truth, intervals, confidence, step)
    step("done")
    return Evaluation(
        dataset=opened.schema.name,
        mechanism=opened.mechanism,
        epsilon=format_epsilon(opened.epsilon),
        workload=workload if isinstance(workload, str) else workload.name,
        queries=len(asked),
        workload_queries=asked.whole,
        rows=truth.rows,
        confidence=confidence,
        errors=tuple(measured.error_rows(opened.schema.shape)),
        notes=_notes(opened, truth.rows),
    )


def _measured(
    release: Release,
    asked: QueryList,
    table: TrueTable,
    intervals: int,
    confidence: float,
    step: Progress,
) -> _Measured:
    """Ask the table and the release the same questions."""
    step("truth")
    truth = table.answers(asked.ranges, asked.unions)
    step("ask")
    values, variances = ask_release(release, asked)
    step("intervals")
    chosen = _evenly(len(asked), intervals)
    inside = np.full(len(asked), np.nan)
    inside[chosen] = _inside(release, asked, truth, chosen, confidence)
    return _Measured(asked, truth, values, variances, inside, table.rows)


def _asked(workload: str | Workload, release: Release, queries: int) -> QueryList:
    schema = release.schema
    known = read_workload(workload, schema) if isinstance(workload, str) else workload
    if not isinstance(known, Workload) or known.shape != schema.shape:
        raise OptionError("the workload is not one of this release's schema")
    return list_queries(known, queries)


def _notes(release: Release, rows: int) -> tuple[str, ...]:
    """What to know of how the truth was counted, and of the error bars."""
    total = release.count()
    notes = [f"Error bars: {total.note}."]
    if release.schema.unit is not None:
        notes.append(
            f"At most {release.schema.unit.max_rows} rows of a person count. Which ones is drawn"
            " anew, here as in the release: part of the error is that."
        )
    if _far_off(total, rows):
        notes.append(WRONG_TABLE)
    return tuple(notes)


def _far_off(total: Answer, rows: int) -> bool:
    """Whether neither noise nor a filter can explain the total, which is off by 5 % of the rows."""
    low, high = total.interval(0.95)
    off = abs(total.value - rows)
    return not low <= rows <= high and off > 10 * total.stderr and off > 0.05 * rows


# ── asking the release ───────────────────────────────────────────────────────────────────────────


def ask_release(release: Release, asked: QueryList) -> tuple[Floats, Floats]:
    """The released answers and the variances that their error bars state."""
    values, errors = release.count_ranges(asked.ranges.starts, asked.ranges.stops)
    answers = [_count(release, boxes) for boxes in asked.unions]
    return (
        np.append(np.asarray(values, np.float64), [answer.value for answer in answers]),
        np.append(errors**2, [answer.law.variance for answer in answers]),
    )


def _count(release: Release, boxes: Boxes) -> Answer:
    """The count of disjoint boxes: what a WHERE clause of any form selects."""
    return Answer(*release.reader.count(boxes))


def _evenly(number: int, most: int) -> NDArray[np.int64]:
    """The places of an even choice, always the same."""
    if number <= most:
        return np.arange(number)
    return np.sort(np.random.default_rng(2).choice(number, most, replace=False))


def _inside(
    release: Release,
    asked: QueryList,
    truth: NDArray[np.int64],
    chosen: NDArray[np.int64],
    confidence: float,
) -> Floats:
    """1 where the stated interval of a chosen question holds the truth, else 0."""
    boxes = chosen[chosen < len(asked.ranges)]
    _, low, high = release.range_intervals(
        asked.ranges.starts[boxes], asked.ranges.stops[boxes], confidence=confidence
    )
    odd = chosen[len(boxes) :]
    answers = [_count(release, asked.unions[i - len(asked.ranges)]) for i in odd.tolist()]
    ends = [answer.interval(confidence) for answer in answers]
    lower = np.append(low, [end[0] for end in ends])
    upper = np.append(high, [end[1] for end in ends])
    room = 1e-9 * np.maximum(1.0, np.abs(truth[chosen]))  # the rounding of a sum of floats
    within = (lower - room <= truth[chosen]) & (truth[chosen] <= upper + room)
    return np.asarray(within, np.float64)


# ── measures ─────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, repr=False)
class _Measured:
    """True and released answers side by side."""

    asked: QueryList
    truth: NDArray[np.int64]
    values: Floats
    variances: Floats
    inside: Floats
    """Not a number where intervals were not looked at."""
    rows: int

    def error_rows(self, shape: tuple[int, ...]) -> Iterator[ErrorRow]:
        """Over all questions, then by fifths of coverage and of selectivity."""
        coverage = self.asked.coverage(shape)
        selectivity = self.truth / max(self.rows, 1)
        columns = {"coverage": coverage, "selectivity": selectivity}
        yield self._row("all", 0, columns, np.ones(len(coverage), bool))
        for group, by in columns.items():
            fifths = quintiles(by)
            for fifth in range(1, 6):
                if (these := fifths == fifth).any():
                    yield self._row(group, fifth, columns, these)

    def _row(
        self, group: str, fifth: int, columns: dict[str, Floats], these: NDArray[np.bool_]
    ) -> ErrorRow:
        weights = self.asked.weights[these]
        off = np.abs(self.values[these] - self.truth[these])
        against = np.maximum(self.truth[these], _sanity(self.rows))

        def mean(column: Floats) -> float:
            return float(np.average(column, weights=weights))

        looked = these & ~np.isnan(self.inside)
        shares, heavy = self.inside[looked], self.asked.weights[looked]
        return ErrorRow(
            group,
            fifth,
            int(these.sum()),
            **{name: mean(column[these]) for name, column in columns.items()},
            absolute_error=mean(off),
            square_error=mean(off**2),
            rmse=math.sqrt(mean(off**2)),
            relative_error=mean(off / against) if self.rows else None,
            worst_error=float(off.max()),
            forecast_rmse=math.sqrt(mean(self.variances[these])),
            intervals=len(shares),
            inside=float(np.average(shares, weights=heavy)) if len(shares) else None,
        )


def _sanity(rows: int) -> float:
    """What relative errors are at least divided by: 0.1 % of all rows, or of one."""
    return SANITY * max(rows, 1)
