"""The rows of a GROUP BY: labels, and for every aggregate its values with their error bars."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from hushtable.arrays import Floats
from hushtable.errors import QueryError, alternatives
from hushtable.query.answer import (
    Answer,
    finite,
    show_bar,
    show_level,
    show_number,
    unrounded,
)
from hushtable.query.extent import Extent
from hushtable.query.law import NoiseLaw, checked_confidence, margins_of, simultaneous
from hushtable.query.reader import Estimates, LawTable, LazyLaws, SharedLaws
from hushtable.text import plain

if TYPE_CHECKING:
    import pandas
    import polars
    import pyarrow

Label = int | float | str | None
SHOWN_ROWS = 20
_KEYS = ("value", "stderr", "interval", "estimate")


class Order(NamedTuple):
    """One ORDER BY term: a group column by its position, or an aggregate by its name."""

    column: int | str
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True, eq=False)
class Measure:
    """One aggregate of every row: its values, and the law of each one's error."""

    values: NDArray[Any]
    laws: Sequence[NoiseLaw]
    """The distinct laws, of which only those are looked at that a row has …"""
    law_of_row: NDArray[np.intp]
    """… and which of them each row has."""
    extent: Extent | None = None
    """Of a mean or a quantile, the declared range of what it is of."""

    @classmethod
    def of(cls, answers: Sequence[Answer]) -> Measure:
        """Of answers, one by one."""
        laws = {id(answer.law): answer.law for answer in answers}
        numbers = {key: number for number, key in enumerate(laws)}
        which = np.array([numbers[id(answer.law)] for answer in answers], np.intp)
        return cls(np.array([answer.value for answer in answers]), tuple(laws.values()), which)

    @classmethod
    def joined(cls, parts: Sequence[Measure]) -> Measure:
        """The rows of several, one after the other."""
        if len(parts) == 1:
            return parts[0]
        before = np.cumsum([0, *(len(part.laws) for part in parts)])
        which = [part.law_of_row + first for part, first in zip(parts, before, strict=False)]

        def law(number: int) -> NoiseLaw:
            place = int(np.searchsorted(before, number, side="right")) - 1
            return parts[place].laws[number - int(before[place])]

        laws = LazyLaws(int(before[-1]), law)
        return cls(np.concatenate([part.values for part in parts]), laws, np.concatenate(which))

    @classmethod
    def from_estimates(cls, estimates: Estimates) -> Measure:
        """Of counts that a reader gave together."""
        return cls(estimates.values, estimates.laws, estimates.law_of_row)

    @cached_property
    def _held(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The numbers of the laws that some row has, and which of these each row has."""
        numbers, which = np.unique(self.law_of_row, return_inverse=True)
        return numbers, which.reshape(-1)

    @cached_property
    def held_laws(self) -> list[NoiseLaw]:
        """The laws that some row has: those of rows that were left out are never worked out."""
        return [self.laws[number] for number in self._held[0].tolist()]

    @property
    def note(self) -> str:
        """What the errors of some rows rest on, where it is more than others do."""
        if isinstance(self.laws, LawTable | SharedLaws):
            return ""
        notes = (getattr(law, "note", None) for law in self.held_laws)
        return next((note for note in notes if note), "")

    @property
    def stderr(self) -> Floats:
        """The standard error of each row."""
        if isinstance(self.laws, LawTable):
            return np.sqrt(self.laws.together.variances[self.law_of_row])
        if isinstance(self.laws, SharedLaws):
            return np.sqrt(self.laws.variances(self._held[0]))[self._held[1]]
        return self._by_row([math.sqrt(law.variance) for law in self.held_laws])

    @property
    def estimates(self) -> NDArray[np.bool_]:
        """Which rows have an interval that is an estimate: it may hold less often than it says."""
        if isinstance(self.laws, LawTable | SharedLaws):
            return np.zeros(len(self.law_of_row), bool)
        return np.array([law.estimate for law in self.held_laws], bool)[self._held[1]]

    def half_widths(self, level: float) -> Floats:
        """Half the width of each row's interval."""
        if isinstance(self.laws, SharedLaws):
            return self.laws.half_widths(self._held[0], checked_confidence(level))[self._held[1]]
        return self._by_row([law.half_width(level) for law in self.held_laws])

    def bounds(self, level: float) -> tuple[NDArray[Any], NDArray[Any]]:
        """The ends of each row's interval, integers if the values and widths are."""
        if isinstance(self.laws, LawTable):
            first, last = self.laws.together.ends(checked_confidence(level))
            return first[self.law_of_row], last[self.law_of_row]
        if isinstance(self.laws, SharedLaws):
            half = self.half_widths(level)
            return unrounded(self.values, half, half)
        laws = self.held_laws
        if not any(hasattr(type(law), "ends") for law in laws):
            return self._around([margins_of(law, level) for law in laws])
        checked_confidence(level)
        known = np.array([hasattr(type(law), "ends") for law in laws])
        ends = np.array(
            [law.ends(level) if own else (0.0, 0.0) for law, own in zip(laws, known, strict=True)]  # type: ignore[attr-defined]
        )
        sides = [
            (0.0, 0.0) if own else margins_of(law, level)
            for law, own in zip(laws, known, strict=True)
        ]
        around = (np.asarray(side, np.float64) for side in self._around(sides))
        rows = self._held[1]
        low, high = (np.where(known[rows], ends[rows, i], side) for i, side in enumerate(around))
        return low, high

    def _around(self, sides: list[tuple[float, float]]) -> tuple[NDArray[Any], NDArray[Any]]:
        margins: NDArray[Any] = np.array(sides, np.float64).reshape(-1, 2)[self._held[1]]
        if not np.issubdtype(self.values.dtype, np.integer):
            return unrounded(self.values, margins[:, 0], margins[:, 1])
        if np.all(margins == np.floor(margins)) and np.all(margins < 2**62):
            margins = margins.astype(np.int64)
        return self.values - margins[:, 0], self.values + margins[:, 1]

    def taken(self, picks: NDArray[np.intp]) -> Measure:
        """Some of the rows."""
        return replace(self, values=self.values[picks], law_of_row=self.law_of_row[picks])

    def _by_row(self, per_law: list[float]) -> Floats:
        return np.asarray(per_law, dtype=np.float64)[self._held[1]]


@dataclass(frozen=True, eq=False)
class ResultTable:
    """The rows of a GROUP BY, column by column, each aggregate with its error bar.

    Rows come in the order of the schema's codes, which ORDER BY follows for a group column.
    """

    groups: Mapping[str, Sequence[Label] | NDArray[Any]]
    measures: Mapping[str, Measure]
    """The aggregates, by the names of their columns."""
    confidence: float = 0.95
    simultaneous: bool = False
    """Whether all the intervals hold at once with the confidence, or each by itself."""
    note: str = ""
    places: Mapping[str, NDArray[np.intp]] = field(default_factory=dict)
    """Where each row's group stands in the order of its column: labels alone do not tell."""
    clipping: str = ""
    """To which ends the values were clipped that sums, means and quantiles are of."""
    covered: int | None = None
    """How many rows simultaneous intervals must cover: also those that LIMIT left out."""

    def __post_init__(self) -> None:
        checked_confidence(self.confidence)
        sizes = {len(measure.values) for measure in self.measures.values()}
        sizes |= {len(measure.law_of_row) for measure in self.measures.values()}
        if len(sizes | set(map(len, self.groups.values()))) != 1:
            raise ValueError("the columns of a result must have one length")
        if self.covered is None:
            object.__setattr__(self, "covered", len(self))

    def __len__(self) -> int:
        return len(self.only.values)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows())

    @overload
    def __getitem__(self, key: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, key: slice) -> ResultTable: ...

    @overload
    def __getitem__(self, key: str) -> list[Any]: ...

    def __getitem__(self, key: int | slice | str) -> dict[str, Any] | ResultTable | list[Any]:
        """A row by its number (the last is −1), some rows as a table, or a column by its name.

        Columns are the groups, the aggregates, and `stderr`, `lower`, `upper` of the only one.
        """
        if isinstance(key, str):
            return self._column(key)
        if isinstance(key, slice):
            return self._taken(np.arange(len(self))[key])
        if isinstance(key, bool) or not isinstance(key, int | np.integer):
            raise QueryError("a table has rows by number, such as table[0], and columns by name")
        if not -len(self) <= key < len(self):
            raise IndexError(f"the table has {len(self):,} rows")
        return self._taken(np.array([range(len(self))[key]])).rows()[0]

    def _column(self, name: str) -> list[Any]:
        single = len(self.measures) == 1
        taken = set(_KEYS) | {"lower", "upper"} if single else set(self.measures)
        named = dict(zip(_beside(self.groups, taken), self.groups.values(), strict=True))
        columns: dict[str, Callable[[], Any]] = {
            key: partial(_plain, labels) for key, labels in named.items()
        }
        columns |= {key: partial(_finite, m.values) for key, m in self.measures.items()}
        if single:
            columns["value"] = partial(_finite, self.values)
            columns["stderr"] = lambda: _finite(self.stderr)
            columns["lower"] = lambda: _finite(self.bounds[0])
            columns["upper"] = lambda: _finite(self.bounds[1])
            columns["estimate"] = lambda: _plain(self.estimates)
        if name not in columns:
            raise QueryError(f"there is no column {name!r}; {alternatives(name, columns)}")
        found: list[Any] = columns[name]()
        return found

    @cached_property
    def only(self) -> Measure:
        """The aggregate, where there is one; else the first."""
        return next(iter(self.measures.values()))

    @property
    def count_name(self) -> str:
        """What the column of the first aggregate is called."""
        return next(iter(self.measures))

    @property
    def values(self) -> NDArray[Any]:
        """The values of the first aggregate."""
        return self.only.values

    @property
    def laws(self) -> Sequence[NoiseLaw]:
        return self.only.laws

    @property
    def law_of_row(self) -> NDArray[np.intp]:
        return self.only.law_of_row

    @property
    def row_confidence(self) -> float:
        """The confidence of each interval by itself."""
        if not self.simultaneous:
            return self.confidence
        return simultaneous(self.confidence, (self.covered or 1) * len(self.measures))

    @property
    def estimates(self) -> NDArray[np.bool_]:
        """Which rows have an interval that is an estimate: it may hold less often than it says."""
        every = [measure.estimates for measure in self.measures.values()]
        return np.asarray(np.logical_or.reduce(every))

    @property
    def estimate(self) -> bool:
        """Whether some row's interval is an estimate."""
        return bool(self.estimates.any())

    @property
    def whole_note(self) -> str:
        """Where values and errors come from, and to which ends values were clipped."""
        return "; ".join(filter(None, (self.note, self.clipping)))

    @property
    def level(self) -> str:
        """The confidence of the intervals and what it means, for people."""
        return show_level(self.confidence, estimate=self.estimate, simultaneous=self.simultaneous)

    @property
    def stderr(self) -> Floats:
        """The standard error of each row, of the first aggregate."""
        return self.only.stderr

    @property
    def half_widths(self) -> Floats:
        """Half the width of each row's interval, of the first aggregate."""
        return self.only.half_widths(self.row_confidence)

    @property
    def bounds(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The ends of each row's interval, of the first aggregate."""
        return self.only.bounds(self.row_confidence)

    def select(self, names: Sequence[str], measures: Sequence[str] | None = None) -> ResultTable:
        """The same rows with these group columns and aggregates, in this order."""
        kept = list(self.measures) if measures is None else measures
        return replace(
            self,
            groups={name: self.groups[name] for name in names},
            measures={name: self.measures[name] for name in kept},
        )

    def ordered(
        self, order: Sequence[Order], limit: int | None = None, offset: int = 0
    ) -> ResultTable:
        """The rows sorted by ORDER BY terms, ties in their old order, then cut by LIMIT.

        Rows that are shown because of their noisy values have noise to match: their intervals hold
        at once with those of the rows that were left out, which is a promise for any of them.
        """
        picks = np.arange(len(self))
        for term in reversed(order):
            keys = self._sort_keys(Order(*term))
            picks = picks[np.argsort(keys[picks], kind="stable")]
        stop = None if limit is None else offset + limit
        shown = self._taken(picks[offset:stop])
        by_value = any(isinstance(Order(*term).column, str) for term in order)
        return replace(shown, simultaneous=True) if by_value and len(shown) < len(self) else shown

    def chosen(self, rows: NDArray[np.bool_]) -> ResultTable:
        """The rows that HAVING leaves: by their noisy values, so that the same holds for them."""
        return replace(self._taken(np.flatnonzero(rows)), simultaneous=True)

    def _sort_keys(self, term: Order) -> NDArray[Any]:
        """Numbers that sort ascending as the term asks."""
        if isinstance(term.column, str):
            values = self.measures[term.column].values
            keys = -values if term.descending else values
            missing = np.isnan(keys) if keys.dtype.kind == "f" else np.zeros(len(keys), bool)
            return np.where(missing, -np.inf if term.nulls_first else np.inf, keys)
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

    def first(self, rows: int) -> ResultTable:
        """The first rows, with the intervals that they have among all."""
        return self._taken(np.arange(min(len(self), rows)))

    def _taken(self, picks: NDArray[np.intp]) -> ResultTable:
        return replace(
            self,
            groups={name: _take(labels, picks) for name, labels in self.groups.items()},
            places={name: places[picks] for name, places in self.places.items()},
            measures={name: measure.taken(picks) for name, measure in self.measures.items()},
        )

    # ── other forms ──────────────────────────────────────────────────────────────────────────────

    def rows(self) -> list[dict[str, Any]]:
        """One dict per row: the group's labels, "value", "stderr", "interval" and "estimate".

        Of several aggregates, each has these under its name. What is not finite is None.
        """
        single = len(self.measures) == 1
        names = _beside(self.groups, set(_KEYS if single else self.measures))
        labels = list(zip(*map(_plain, self.groups.values()), strict=True))
        keys = labels if names else [()] * len(self)
        bars = [self._bars(measure) for measure in self.measures.values()]
        return [
            dict(zip(names, key, strict=True))
            | (bar[0] if single else dict(zip(self.measures, bar, strict=True)))
            for key, bar in zip(keys, zip(*bars, strict=True), strict=True)
        ]

    def _bars(self, measure: Measure) -> list[dict[str, Any]]:
        lower, upper = measure.bounds(self.row_confidence)
        columns = (measure.values, measure.stderr, lower, upper, measure.estimates)
        return [
            {"value": v, "stderr": e, "interval": [lo, hi], "estimate": guess}
            for v, e, lo, hi, guess in zip(*map(_finite, columns), strict=True)
        ]

    def to_dict(self) -> dict[str, Any]:
        """The table as plain values, for JSON."""
        taken = set(_KEYS) if len(self.measures) == 1 else set(self.measures)
        return {
            "columns": [*_beside(self.groups, taken), *self.measures],
            "rows": self.rows(),
            "confidence": self.confidence,
            "simultaneous": self.simultaneous,
            "estimate": self.estimate,
            "note": self.whole_note,
        }

    def to_arrow(self) -> pyarrow.Table:
        """The table in Arrow: the group columns, the aggregate, and stderr, lower and upper.

        Of several aggregates, the latter begin with their names. Where intervals are estimates, a
        column `estimate` says which. The schema's metadata has `confidence` and `simultaneous`.
        """
        import pyarrow as pa

        measures: dict[str, NDArray[Any]] = {}
        for name, measure in self.measures.items():
            lower, upper = measure.bounds(self.row_confidence)
            before = "" if len(self.measures) == 1 else f"{name}_"
            measures |= {
                name: measure.values,
                f"{before}stderr": measure.stderr,
                f"{before}lower": lower,
                f"{before}upper": upper,
            }
            if measure.estimates.any():
                measures[f"{before}estimate"] = measure.estimates
        names = _beside(self.groups, set(measures))
        columns = [_to_arrow_labels(labels) for labels in self.groups.values()]
        columns += [pa.array(values, from_pandas=True) for values in measures.values()]
        said = {"confidence": str(self.confidence), "simultaneous": str(self.simultaneous).lower()}
        return pa.table(columns, names=[*names, *measures]).replace_schema_metadata(said)

    def to_pandas(self) -> pandas.DataFrame:
        """The table in pandas, with the columns of `to_arrow`, and its metadata as `attrs`."""
        frame: pandas.DataFrame = self.to_arrow().to_pandas()
        frame.attrs = {"confidence": self.confidence, "simultaneous": self.simultaneous}
        return frame

    def to_polars(self) -> polars.DataFrame:
        """The table in Polars, with the columns of `to_arrow`."""
        import polars

        return polars.DataFrame(self.to_arrow())

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        arrow: Any = self.to_arrow()
        return arrow.__arrow_c_stream__(requested_schema)

    def __repr__(self) -> str:
        shown = self.first(SHOWN_ROWS)
        columns = [
            [plain(name), *map(_show_label, _plain(labels))]
            for name, labels in shown.groups.items()
        ]
        for name, measure in shown.measures.items():
            halves = measure.half_widths(self.row_confidence)
            columns.append([plain(name), *map(show_number, _plain(measure.values), halves)])
            bars = map(show_bar, _plain(measure.values), _plain(halves))
            columns.append([f"± ({self.level})", *bars])
        lines = [list(line) for line in zip(*columns, strict=True)]
        text = _aligned(lines, left=len(self.groups))
        hidden = len(self) - len(shown)
        more = [f"… {hidden} more rows"] if hidden else []
        return "\n".join([text, *more, *([plain(self.clipping)] if self.clipping else [])])

    def _repr_html_(self) -> str:
        from hushtable.query.html import table_html

        return table_html(self)

    # ── pictures ─────────────────────────────────────────────────────────────────────────────────

    def plot(self, ax: Any = None) -> Any:
        """Draw the table with its error bars, by matplotlib, and return the Axes.

        Categories become bars; numbers, dates and bins a line with a band; two group columns a heat
        map. What is mostly noise is faded. Several aggregates have Axes each, which come as an
        array: `ax`, if given, must then be as many.
        """
        from hushtable.query.picture import draw_table

        return draw_table(self, ax)

    def chart(self) -> Any:
        """The same as an Altair chart; needs the extra `hushtable[notebook]`."""
        from hushtable.query.chart import table_spec, to_altair

        return to_altair(table_spec(self))


def _finite(column: NDArray[Any]) -> list[Any]:
    """A column as plain values, what is not finite as None."""
    return list(map(finite, _plain(column)))


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
