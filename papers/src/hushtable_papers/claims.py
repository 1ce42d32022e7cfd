"""What a paper says, held against what was measured: the one vocabulary of all figures' verdicts.

A `Claim` is a sentence of the paper, a look at the results, and the reason if it does not hold. A
look takes means, curves and ratios from the `Results`; it tells the figures that it saw and whether
they are as the paper says.

Noise decides nothing. The same repetitions are measured at every value of a parameter and for every
method, so differences are taken repetition by repetition. A difference is clear if it is beyond
three of its standard errors, and visible: at least 2 % of what it is a difference from. What is
judged by means instead cannot be told if it is judged otherwise without one of the repetitions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pyarrow as pa

from hushtable.arrays import Floats

Trend = Literal["falls", "rises", "falls, then rises", "no clear trend"]

ERRORS = 3.0
VISIBLE = 0.02
FEWEST = 3
"""Fewer repetitions than this have no standard error worth the name."""
_BY = {"asked": "range size", "share": "share of the space", "size": "size", "theta": "θ"}
TOO_FEW = f"fewer than {FEWEST} repetitions"
NOISE = "noise decides: without one of the repetitions it is judged otherwise"


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


class NotMeasuredError(Exception):
    """Rows that a claim needs are not among the results."""

    def __init__(self, why: str = "not everything it needs was measured") -> None:
        super().__init__(why)


@dataclass(frozen=True)
class Look:
    """What a look at the results found."""

    seen: str
    holds: bool | None
    """Whether the claim holds; None if there are too few repetitions to tell."""
    why: str = ""
    """A reason that depends on the results; without it, a claim that fails gives its own."""
    clear: bool = False
    """Whether it was judged by clear differences, not by means."""


@dataclass(frozen=True)
class Claim:
    """A statement of a paper, and how it is judged."""

    paper: str
    """In our words, with the figure or section it is from; `{column}` is the value of `each`."""
    look: Callable[[Results], Look]
    why: str = "no reason is known"
    """Why it does not hold, if it does not."""
    only: Mapping[str, Any] = field(default_factory=dict)
    """The rows that it is about, by their values."""
    each: str = ""
    """A column: the claim is made of each of its values that was measured, by the rows with it."""

    def judged(self, results: Results) -> Iterator[Statement]:
        """The statement, or one for each value of a column."""
        held = results.only(**self.only)
        if not self.each:
            yield _statement(self.paper, self, held)
            return
        for value in held.values(self.each) if held.rows else ():
            part = {self.each: value}
            yield _statement(self.paper.format(**part), self, held.only(**part))


def judge(claims: Iterable[Claim], table: pa.Table) -> list[Statement]:
    """What is to be said of all claims by a table of results."""
    results = Results(table.to_pylist())
    return [statement for claim in claims for statement in claim.judged(results)]


def _statement(paper: str, claim: Claim, results: Results) -> Statement:
    try:
        look = claim.look(results)
        turns = look.holds is not None and not look.clear and _turns(claim, results, look.holds)
    except NotMeasuredError as missing:
        return Statement(paper, "", None, str(missing))
    if turns or look.holds is None:
        return Statement(paper, look.seen, None, NOISE if turns else TOO_FEW)
    return Statement(paper, look.seen, look.holds, look.why or ("" if look.holds else claim.why))


def _turns(claim: Claim, results: Results, holds: bool) -> bool:
    """Whether a claim is judged otherwise without one of the repetitions."""
    every = {row.get("repetition") for row in results.rows}
    if len(every) < FEWEST:
        return False
    without = (results.only(repetition=tuple(every - {one})) for one in every)
    return any(claim.look(rest).holds is (not holds) for rest in without)


# ── what is looked at ────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, repr=False)
class Results:
    """The rows of a table of results. `where` chooses rows: by a value, or a tuple of values."""

    rows: Sequence[Mapping[str, Any]]

    def only(self, /, **where: Any) -> Results:
        """The rows that have the given values."""
        wanted = {
            name: value if isinstance(value, tuple) else (value,) for name, value in where.items()
        }
        kept = [r for r in self.rows if all(r.get(name) in wanted[name] for name in wanted)]
        return Results(kept)

    def values(self, column: str) -> list[Any]:
        """The values that a column has, in order; an error if there is none."""
        found = {row.get(column) for row in self.rows} - {None}
        if not found:
            raise NotMeasuredError
        return sorted(found)

    def runs(self, measure: str, /, **where: Any) -> Floats:
        """A measure by repetition; an error if there is none."""
        kept = sorted(
            (row.get("repetition", 0), row[measure])
            for row in self.only(**where).rows
            if row.get(measure) is not None
        )
        if not kept:
            raise NotMeasuredError
        return np.array([value for _, value in kept], np.float64)

    def mean(self, measure: str, /, **where: Any) -> float:
        """The mean of a measure; an error if it was not measured."""
        return float(self.runs(measure, **where).mean())

    def curve(self, measure: str, along: str, /, **where: Any) -> Curve:
        """A measure along a column; an error if it was not measured."""
        held = self.only(**where)
        values = held.values(along)
        return Curve(values, [held.runs(measure, **{along: value}) for value in values])

    def ratios(
        self,
        one: str,
        other: str,
        along: str,
        *,
        measure: str = "absolute_error",
        of: str = "method",
    ) -> dict[Any, float]:
        """One curve over another, where both were measured; an error if that is nowhere."""
        upper, lower = (self.curve(measure, along, **{of: name}).means for name in (one, other))
        found = {value: upper[value] / lower[value] for value in upper if value in lower}
        if not found:
            raise NotMeasuredError
        return found


@dataclass(frozen=True, eq=False)
class Curve:
    """A measure at some values of a parameter: a row for each value, by repetition."""

    values: Sequence[Any]
    runs: Sequence[Floats]

    @property
    def enough(self) -> bool:
        """Whether there is anything to judge by."""
        return len(self.runs) > 1 and min(map(len, self.runs)) >= FEWEST

    @property
    def means(self) -> dict[Any, float]:
        """The mean at each value."""
        return {v: float(held.mean()) for v, held in zip(self.values, self.runs, strict=True)}

    @property
    def best(self) -> Any:
        """The value with the lowest mean."""
        return min(self.means, key=self.means.__getitem__)

    def trend(self) -> Trend:
        """How the measure goes: by its first, its lowest and its last value."""
        first, last = self.runs[0], self.runs[-1]
        lowest = self.runs[list(self.values).index(self.best)]
        falls, rises = below(lowest, first), below(lowest, last)
        if falls and rises:
            return "falls, then rises"
        if below(last, first) and not rises:
            return "falls"
        return "rises" if below(first, last) and not falls else "no clear trend"

    def text(self, digits: int = 2) -> str:
        """The means, each with its value: '5.61 at 0, 4.63 at 5'."""
        return ", ".join(f"{mean:,.{digits}f} at {value:g}" for value, mean in self.means.items())


# ── how it is judged ─────────────────────────────────────────────────────────────────────────────


def below(lower: Floats, upper: Floats) -> bool | None:
    """Whether the first of two measures is clearly below the second; None if too few to tell."""
    gaps = upper - lower
    if len(gaps) < FEWEST:
        return None
    visible = VISIBLE * abs(float(upper.mean()))
    return bool(gaps.mean() > max(ERRORS * _standard_error(gaps), visible))


def difference(lower: Floats, upper: Floats) -> str:
    """How much the second of two measures is above the first, and how well that is known."""
    gaps = upper - lower
    error = _standard_error(gaps)
    return f"the difference, {gaps.mean():,.2f}, has a standard error of {error:,.2f}"


def _standard_error(gaps: Floats) -> float:
    return float(gaps.std(ddof=1) / len(gaps) ** 0.5)


def alike(one: Floats, other: Floats, within: float) -> bool | None:
    """Whether the means of two measures differ by at most a share of the second."""
    if len(one) < FEWEST:
        return None
    return abs(float(one.mean()) / float(other.mean()) - 1) <= within


def goes(
    measure: str,
    along: str,
    *wanted: Trend,
    digits: int = 2,
    why: Callable[[Curve], str] = lambda curve: "",
) -> Callable[[Results], Look]:
    """Whether a curve has one of some trends."""

    def look(results: Results) -> Look:
        curve = results.curve(measure, along)
        if not curve.enough:
            return Look(curve.text(digits), None)
        trend = curve.trend()
        holds, seen = trend in wanted, f"{trend}: {curve.text(digits)}"
        return Look(seen, holds, "" if holds else why(curve), clear=True)

    return look


def compared(
    one: str,
    other: str,
    along: str,
    holds: Callable[[Sequence[float]], bool],
    *,
    called: str = "",
) -> Callable[[Results], Look]:
    """How many times the error of another method one has, for each value of a column."""
    what = f"{called or f'{one} over {other}'}, by {_BY[along]}"

    def look(results: Results) -> Look:
        found = results.ratios(one, other, along)
        return Look(f"{what}: {listed(found)}", holds(list(found.values())))

    return look


def within(least: float, most: float) -> Callable[[Sequence[float]], bool]:
    """What tells whether there are numbers, and all of them lie between two bounds."""
    return lambda numbers: bool(numbers) and least < min(numbers) and max(numbers) < most


def listed(numbers: Mapping[Any, float], form: str = ".2f") -> str:
    """Figures by what they belong to, as a line of text."""
    return ", ".join(f"{_short(name)}: {number:{form}}" for name, number in numbers.items())


def _short(name: Any) -> str:
    return f"{name:,}" if isinstance(name, int) else str(name)
