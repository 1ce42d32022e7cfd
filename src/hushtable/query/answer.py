"""Answers with their error bars: one number, or a table of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hushtable.query.law import NoiseLaw, checked_confidence, margins_of, simultaneous
from hushtable.text import plain

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Label = int | str | None
SHOWN_ROWS = 20
_KEYS = {"value", "stderr", "interval", "estimate"}


@dataclass(frozen=True, slots=True)
class Answer:
    """A count, or another statistic, with the law of its error.

    Counts may be negative and are never clipped.
    """

    value: float | int
    law: NoiseLaw
    note: str = ""
    """Where the value and its error come from."""

    @property
    def stderr(self) -> float:
        """The standard error of the value."""
        return math.sqrt(self.law.variance)

    @property
    def estimate(self) -> bool:
        """Whether the interval is an estimate, which may hold less often than it says."""
        return self.law.estimate

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """The ends of an interval that holds the true value with this confidence."""
        ends = getattr(type(self.law), "ends", None)
        if ends is not None:
            low, high = ends(self.law, checked_confidence(confidence))
            return low, high
        below, above = (_shortest(self.value, side) for side in margins_of(self.law, confidence))
        if isinstance(self.value, int):
            return self.value - below, self.value + above
        low, high = unrounded(np.array([self.value]), np.array([below]), np.array([above]))
        return low.item(), high.item()

    def to_dict(self, confidence: float = 0.95) -> dict[str, Any]:
        """The answer as plain values, for JSON."""
        return {
            "value": self.value,
            "stderr": self.stderr,
            "interval": list(self.interval(confidence)),
            "confidence": confidence,
            "estimate": self.estimate,
            "note": self.note,
        }

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        half = show_number(self.law.half_width(0.95))
        return f"{show_number(self.value)} ± {half} ({show_level(0.95, estimate=self.estimate)})"

    __repr__ = __str__


class Order(NamedTuple):
    """One ORDER BY term: a group column by its position, or the count."""

    column: int | Literal["count"]
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True, eq=False)
class ResultTable:
    """The rows of a GROUP BY, column by column, each count with its error bar.

    Rows come in the order of the schema's codes, which ORDER BY follows for a group column.
    """

    groups: Mapping[str, Sequence[Label] | NDArray[Any]]
    values: NDArray[Any]
    laws: tuple[NoiseLaw, ...]
    """The distinct laws of the noise …"""
    law_of_row: NDArray[np.intp]
    """… and which of them each row has."""
    count_name: str = "count"
    confidence: float = 0.95
    simultaneous: bool = False
    """Whether all the intervals hold at once with the confidence, or each by itself."""
    note: str = ""
    places: Mapping[str, NDArray[np.intp]] = field(default_factory=dict)
    """Where each row's group stands in the order of its column: labels alone do not tell."""
    covered: int | None = None
    """How many rows simultaneous intervals must cover: also those that LIMIT left out."""

    def __post_init__(self) -> None:
        checked_confidence(self.confidence)
        sizes = {len(self.values), len(self.law_of_row), *map(len, self.groups.values())}
        if len(sizes) != 1:
            raise ValueError("the columns of a result must have one length")
        if self.covered is None:
            object.__setattr__(self, "covered", len(self.values))

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows())

    @property
    def row_confidence(self) -> float:
        """The confidence of each interval by itself."""
        if not self.simultaneous:
            return self.confidence
        return simultaneous(self.confidence, self.covered or 1)

    @property
    def estimates(self) -> NDArray[np.bool_]:
        """Which rows have an interval that is an estimate: it may hold less often than it says."""
        return np.array([law.estimate for law in self.laws], bool)[self.law_of_row]

    @property
    def estimate(self) -> bool:
        """Whether some row's interval is an estimate."""
        return bool(self.estimates.any())

    @property
    def level(self) -> str:
        """The confidence of the intervals and what it means, for people."""
        return show_level(self.confidence, estimate=self.estimate, simultaneous=self.simultaneous)

    @property
    def stderr(self) -> NDArray[np.float64]:
        """The standard error of each row."""
        return self._by_row([math.sqrt(law.variance) for law in self.laws])

    @property
    def half_widths(self) -> NDArray[np.float64]:
        """Half the width of each row's interval."""
        level = self.row_confidence
        return self._by_row([law.half_width(level) for law in self.laws])

    @property
    def bounds(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The ends of each row's interval, integers if the values and widths are."""
        level = self.row_confidence
        sides = np.array([margins_of(law, level) for law in self.laws], np.float64).reshape(-1, 2)
        margins: NDArray[Any] = sides[self.law_of_row]
        if self._integral and bool(
            np.all(margins == np.floor(margins)) and np.all(margins < 2**62)
        ):
            margins = margins.astype(np.int64)
        if self._integral:
            return self.values - margins[:, 0], self.values + margins[:, 1]
        return unrounded(self.values, margins[:, 0], margins[:, 1])

    @property
    def _integral(self) -> bool:
        return bool(np.issubdtype(self.values.dtype, np.integer))

    def _by_row(self, per_law: list[float]) -> NDArray[np.float64]:
        return np.asarray(per_law, dtype=np.float64)[self.law_of_row]

    def select(self, names: Sequence[str]) -> ResultTable:
        """The same rows with these group columns, in this order."""
        return replace(self, groups={name: self.groups[name] for name in names})

    def ordered(
        self, order: Sequence[Order], limit: int | None = None, offset: int = 0
    ) -> ResultTable:
        """The rows sorted by ORDER BY terms, ties in their old order, then cut by LIMIT.

        Rows that are shown because of their noisy counts have noise to match: their intervals hold
        at once with those of the rows that were left out, which is a promise for any of them.
        """
        picks = np.arange(len(self))
        for term in reversed(order):
            keys = self._sort_keys(Order(*term))
            picks = picks[np.argsort(keys[picks], kind="stable")]
        stop = None if limit is None else offset + limit
        shown = self._taken(picks[offset:stop])
        by_count = any(Order(*term).column == "count" for term in order)
        return replace(shown, simultaneous=True) if by_count and len(shown) < len(self) else shown

    def _sort_keys(self, term: Order) -> NDArray[Any]:
        """Numbers that sort ascending as the term asks."""
        if term.column == "count":
            return -self.values if term.descending else self.values
        name, labels = list(self.groups.items())[term.column]
        places = self.places.get(name)
        if places is None:  # as they first appear
            ranks = {label: rank for rank, label in enumerate(dict.fromkeys(labels))}
            places = np.array([ranks[label] for label in labels], dtype=np.intp)
        keys = -places if term.descending else places.copy()
        nulls = np.array([label is None for label in labels], dtype=bool)
        beyond = int(places.max(initial=0)) + 1
        keys[nulls] = -beyond if term.nulls_first else beyond
        return keys

    def _taken(self, picks: NDArray[np.intp]) -> ResultTable:
        return replace(
            self,
            groups={name: _take(labels, picks) for name, labels in self.groups.items()},
            places={name: places[picks] for name, places in self.places.items()},
            values=self.values[picks],
            law_of_row=self.law_of_row[picks],
        )

    def rows(self) -> list[dict[str, Any]]:
        """One dict per row: the group's labels, "value", "stderr", "interval" and "estimate"."""
        names = _beside(self.groups, _KEYS)
        labels = zip(*map(_plain, self.groups.values()), strict=True)
        lower, upper = self.bounds
        measures = (self.values, self.stderr, lower, upper, self.estimates)
        columns = zip(*map(_plain, measures), strict=True)
        keys = list(labels) if names else [()] * len(self)
        return [
            dict(zip(names, key, strict=True))
            | {"value": v, "stderr": e, "interval": [lo, hi], "estimate": guess}
            for key, (v, e, lo, hi, guess) in zip(keys, columns, strict=True)
        ]

    def to_dict(self) -> dict[str, Any]:
        """The table as plain values, for JSON."""
        return {
            "columns": [*_beside(self.groups, _KEYS), self.count_name],
            "rows": self.rows(),
            "confidence": self.confidence,
            "simultaneous": self.simultaneous,
            "estimate": self.estimate,
            "note": self.note,
        }

    def to_arrow(self) -> pyarrow.Table:
        """The table in Arrow: the group columns, the count, and stderr, lower and upper.

        Where intervals are estimates, a column `estimate` says which.
        """
        import pyarrow as pa

        lower, upper = self.bounds
        measures = {
            self.count_name: self.values,
            "stderr": self.stderr,
            "lower": lower,
            "upper": upper,
            **({"estimate": self.estimates} if self.estimate else {}),
        }
        names = _beside(self.groups, set(measures))
        columns = [_to_arrow_labels(labels) for labels in self.groups.values()]
        columns += [pa.array(values) for values in measures.values()]
        return pa.table(columns, names=[*names, *measures])

    def to_pandas(self) -> pandas.DataFrame:
        """The table in pandas, with the columns of `to_arrow`."""
        return self.to_arrow().to_pandas()

    def to_polars(self) -> polars.DataFrame:
        """The table in Polars, with the columns of `to_arrow`."""
        import polars

        return polars.DataFrame(self.to_arrow())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        arrow: Any = self.to_arrow()
        return arrow.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        lines = [[*map(plain, self.groups), plain(self.count_name), f"± ({self.level})"]]
        shown = self._taken(np.arange(min(len(self), SHOWN_ROWS)))
        labels = [[_show_label(x) for x in _plain(column)] for column in shown.groups.values()]
        counts = [show_number(value) for value in _plain(shown.values)]
        bars = [show_number(half) for half in _plain(shown.half_widths)]
        lines += [list(line) for line in zip(*labels, counts, bars, strict=True)]
        text = _aligned(lines, left=len(self.groups))
        hidden = len(self) - len(shown)
        return text + (f"\n… {hidden} more rows" if hidden else "")


def show_number(value: float) -> str:
    """A number for people: whole numbers whole, others to a sensible digit."""
    if float(value).is_integer():
        return str(int(value))
    return f"{value:.1f}" if abs(value) >= 100 else f"{value:.3g}"


def show_percent(confidence: float) -> str:
    """A confidence for people: 0.95 is "95 %"."""
    return f"{100 * confidence:.10g} %"


def show_level(confidence: float, *, estimate: bool, simultaneous: bool = False) -> str:
    """What an interval says of itself, for people: "95 %, all at once, estimate"."""
    together = ", all at once" if simultaneous else ""
    return show_percent(confidence) + together + (", estimate" if estimate else "")


def unrounded(
    values: NDArray[Any], below: NDArray[Any], above: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The ends of intervals around values that were rounded: the truth may lie at the very end.

    Whole numbers, and halves of halves of them, are exact. Others are differences of larger ones,
    as large as the table: up to 10¹¹ rows, they are right to the fourth place. Nobody counts below
    zero: an end that does not lie there is not moved there.
    """
    exact = np.mod(values * 2.0**20, 1.0) == 0
    room = np.where(exact, 0.0, 1e-4 + 1e-12 * np.abs(values))
    low = values - below
    return np.where(low >= 0, np.maximum(low - room, 0.0), low - room), values + above + room


def _shortest(value: float, half: float) -> float:
    """The half width as an integer when value and width are whole, so that the ends are too."""
    return int(half) if isinstance(value, int) and half.is_integer() else half


def _plain(column: Sequence[Any] | NDArray[Any]) -> list[Any]:
    """A column as plain Python values."""
    return column.tolist() if isinstance(column, np.ndarray) else list(column)


def _take(labels: Sequence[Label] | NDArray[Any], picks: NDArray[np.intp]) -> Any:
    return labels[picks] if isinstance(labels, np.ndarray) else [labels[i] for i in picks.tolist()]


def _beside(names: Mapping[str, object], taken: set[str]) -> list[str]:
    """Group names that differ from the measures' names: an attribute "value" becomes "value_"."""
    result = []
    for name in names:
        while name in taken:
            name += "_"
        taken = taken | {name}
        result.append(name)
    return result


def _to_arrow_labels(labels: Sequence[Label] | NDArray[Any]) -> Any:
    """Labels as int64 or text, None as null; text when there is nothing to tell by."""
    import pyarrow as pa

    if isinstance(labels, np.ndarray) and labels.dtype != object:
        return pa.array(labels)
    whole = {isinstance(label, int) for label in labels if label is not None} == {True}
    return pa.array(_plain(labels), type=pa.int64() if whole else pa.string())


def _show_label(label: Label) -> str:
    return "NULL" if label is None else plain(str(label))


def _aligned(lines: list[list[str]], left: int) -> str:
    """Lines of words in columns, the first `left` columns flush left and the others right."""
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            word.ljust(width) if i < left else word.rjust(width)
            for i, (word, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
