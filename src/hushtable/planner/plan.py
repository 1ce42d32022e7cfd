"""Plans: how accurate each mechanism would be for a workload, known before any budget is spent.

Every family forecasts its own mechanisms, from the schema, ε and the workload; a plan puts them in
order. Nothing in this folder can read data: it imports nothing that does.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from hushtable.errors import OptionError
from hushtable.families import DATA_DEPENDENT, FOR_FEW, Certainty, forecasting
from hushtable.families.forecast import (
    CONFIDENCE,
    Forecast,
    Purpose,
    SummaryForecast,
    about,
    rounded_up,
)
from hushtable.kernel.privacy.loss import EpsilonLike, format_epsilon, parse_epsilon
from hushtable.schema import Schema, checked_people
from hushtable.workload import DEFAULT, Workload, read_workload

SMALLER = ("marginals:2", "marginals:1")
"""What may be asked of a table where more would be noise, the most first."""

MOST_NOISE = 0.1
"""A summary of which more is expected to be noise is not recommended."""

_COARSER = "use fewer attributes or coarser bins"


class Useful(Protocol):
    """What is known to be useful from a number of people on."""

    @property
    def useful_from(self) -> float:
        """The number."""


@dataclass(frozen=True, eq=False)
class Plan:
    """Forecasts for one workload, the best first."""

    schema: Schema
    epsilon: Fraction
    workload: Workload
    people: int | None
    forecasts: tuple[Forecast, ...]
    """Exact ones; none where this machine can publish no mechanism that has them."""
    summaries: tuple[SummaryForecast, ...] = ()
    """Of summaries of sparse tables, for declared figures."""
    typical: float = 1.0
    """The declared number of rows in a cell that is occupied."""

    @property
    def able(self) -> list[Forecast | SummaryForecast]:
        """What may be recommended: whatever this machine has the memory for.

        A summary of a sparse table only where fewer people than cells are declared, if its size has
        a bound and most of it is not noise.
        """
        fitting = [forecast for forecast in self.forecasts if forecast.resources.fits]
        summaries = [one for one in self.summaries if one.bounded and one.noise_share <= MOST_NOISE]
        sparse = self.people is not None and self.people < self.schema.cells
        return [*(fitting or self.forecasts), *(summaries if sparse else ())]

    @property
    def best(self) -> Forecast | SummaryForecast | None:
        """The mechanism with the least error, of those that may be recommended."""
        return min(self.able, key=_error, default=None)

    @property
    def worth_trying(self) -> tuple[str, ...]:
        """Mechanisms that follow the data, where for the declared people they may be better."""
        if self.people is None:
            return ()
        schema, budget = self.schema, self.epsilon * self.people
        return tuple(
            told.mechanism
            for told in FOR_FEW
            if budget <= told.rows * schema.cells and len(schema.attributes) <= told.attributes
        )

    @property
    def recommended(self) -> Forecast | SummaryForecast | None:
        """The best one, unless its answers would be mostly noise for the declared people."""
        best = self.best
        return None if best is None or self.is_noise(best) else best

    def is_noise(self, best: Useful) -> bool:
        """Whether answers would be mostly noise for the declared people."""
        return self.people is not None and best.useful_from > self.people

    def why_not(self) -> str:
        """Why nothing is recommended, and what would help."""
        if self.best is not None and self.people is not None:
            return self.why_noise(self.best, self.people)
        lead = (
            f"what {self.workload.name} asks of {self.schema.cells:,} cells does not fit this"
            " machine's memory, nor small tables"
        )
        if self.people is None:
            return (
                f"{lead}; {self._less()}{_COARSER}, or declare people, for a summary of a sparse"
                " table"
            )
        return (
            f"{lead}, and a summary of a sparse table would be mostly noise;"
            f" {self._less()}{_COARSER}"
        )

    def why_noise(self, best: Useful, people: int) -> str:
        """How many people would be enough for what is best, and what else would help."""
        enough = rounded_up(self.epsilon * Fraction(best.useful_from / people), 2)
        return (
            f"with {people:,} people most answers would be noise: at epsilon"
            f" {format_epsilon(self.epsilon)} they are useful from about"
            f" {about(best.useful_from)} people on;"
            f" {self._less()}{_COARSER}, or epsilon {format_epsilon(enough)}"
        )

    def _less(self) -> str:
        """What could be asked instead, where that would be useful: as much as possible."""
        for workload in SMALLER:
            best = plan(self.schema, epsilon=self.epsilon, workload=workload).best
            if best is not None and (self.people is None or best.useful_from <= self.people):
                useful = f"is useful from about {about(best.useful_from)} people on"
                return f"ask for less (--workload {workload} {useful}), "
        return ""

    def record(self, best: Forecast | SummaryForecast) -> dict[str, Any]:
        """What a manifest says of the plan."""
        return {
            "workload": self.workload.name,
            "people": self.people,
            "recommended": best.to_dict(),
            "others": {one.mechanism: one.error for one in self.forecasts if one is not best},
        }

    def to_dict(self) -> dict[str, Any]:
        """Write as plain values; the most accurate mechanism first."""
        listed = []
        for forecast in self.forecasts:
            told = forecast.to_dict()
            if self.people:
                told["relative"] = forecast.rmse / self.people
            listed.append(told)
        return {
            "dataset": self.schema.name,
            "epsilon": format_epsilon(self.epsilon),
            "neighbours": self.schema.neighbours,
            "workload": self.workload.name,
            "exact": self.workload.exact,
            "confidence": CONFIDENCE,
            "people": self.people,
            "mechanisms": listed,
            "summaries": [one.to_dict() for one in self.summaries],
            "recommended": self.recommended.mechanism if self.recommended else None,
            "why_not": None if self.recommended else self.why_not(),
            "depends_on_the_data": list(DATA_DEPENDENT),
            "worth_trying": list(self.worth_trying),
        }

    def __str__(self) -> str:
        best = self.recommended
        if best is None:
            return self.why_not()
        if isinstance(best, SummaryForecast):
            return f"{best.mechanism}: about {best.size:,.0f} cells would be kept"
        return (
            f"{best.mechanism}: a typical count of {self.workload.name} would be"
            f" ± {best.margin():.3g} at 95 %"
        )

    def _repr_html_(self) -> str:
        from hushtable.planner.html import plan_html

        return plan_html(self)

    def plot(self, ax: Any = None) -> Any:
        """Draw the forecast errors of every mechanism, by matplotlib, and return the Axes.

        A point is the mean error, its bar goes from the questions with the least error to those
        with the most, by how many attributes they name.
        """
        from hushtable.planner.picture import draw_errors

        return draw_errors(self, ax)

    def chart(self) -> Any:
        """The same as an Altair chart; needs the extra `hushtable[notebook]`."""
        from hushtable.planner.chart import plan_spec
        from hushtable.query.chart import to_altair

        return to_altair(plan_spec(self))


def plan(
    schema: Schema,
    *,
    epsilon: EpsilonLike,
    workload: str | Workload = DEFAULT,
    people: int | None = None,
    typical: float = 1.0,
    budgets: bool = False,
) -> Plan:
    """Forecast the error of every mechanism whose noise does not depend on the data.

    `people` is a public, round number of how many rows there are, by default the schema's: nothing
    is recommended whose answers would be mostly noise for so many. `typical` is a guess of how many
    rows an occupied cell holds; sparse summaries are forecast for both. With `budgets`, levels of
    trees may have different shares of ε, which takes longer to search.
    """
    asked = workload if isinstance(workload, Workload) else read_workload(workload, schema)
    if asked.shape != schema.shape:
        raise OptionError("the workload was made for another schema")
    people = schema.people if people is None else checked_people(people)
    purpose = Purpose(schema, parse_epsilon(epsilon), asked, people, typical, budgets)
    exact: list[Forecast] = _asked_of("exact", purpose)
    # Of equal ones the first stays first: families list simple mechanisms before others.
    exact.sort(key=_error)
    wanted = people is not None or not exact
    summaries: list[SummaryForecast] = _asked_of("declared", purpose) if wanted else []
    if not exact and not summaries:
        raise OptionError(
            f"{schema.cells:,} cells are too many for this machine's memory and for sparse"
            " summaries: use coarser bins or fewer attributes, or privbayes"
        )
    return Plan(schema, purpose.epsilon, asked, people, tuple(exact), tuple(summaries), typical)


def _error(forecast: Forecast | SummaryForecast) -> float:
    return float(f"{forecast.error:.9g}")


def _asked_of(kind: Certainty, purpose: Purpose) -> list[Any]:
    """The forecasts of all families that have some of a kind."""
    return [forecast for family in forecasting(kind) for forecast in family.forecasts(purpose)]
