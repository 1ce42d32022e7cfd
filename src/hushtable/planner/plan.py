"""Plans: how accurate each mechanism would be for a workload, known before any budget is spent.

Every family forecasts its own mechanisms, from the schema, ε and the workload; a plan puts them in
order. Nothing in this folder can read data: it imports nothing that does.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hushtable.errors import OptionError
from hushtable.families import DATA_DEPENDENT, Certainty, forecasting
from hushtable.families.forecast import CONFIDENCE, Forecast, Purpose, SummaryForecast
from hushtable.kernel.privacy.loss import EpsilonLike, format_epsilon, parse_epsilon
from hushtable.schema import Schema
from hushtable.workload import Workload, read_workload

_MOST_PEOPLE = 10**15


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

    @property
    def recommended(self) -> Forecast | SummaryForecast:
        """The most accurate mechanism that this machine has the memory for.

        A summary of a sparse table only where no other fits, and of a size that has a bound.
        """
        fitting = [forecast for forecast in self.forecasts if forecast.resources.fits]
        if fitting or self.forecasts:
            return (fitting or list(self.forecasts))[0]
        return next(summary for summary in self.summaries if summary.bounded)

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
            "recommended": self.recommended.mechanism,
            "depends_on_the_data": list(DATA_DEPENDENT),
        }

    def __str__(self) -> str:
        best = self.recommended
        if isinstance(best, SummaryForecast):
            return f"{best.mechanism}: about {best.size:,.0f} cells would be kept"
        return (
            f"{best.mechanism}: a typical count of {self.workload.name} would be"
            f" ± {best.margin():.3g} at 95 %"
        )


def plan(
    schema: Schema,
    *,
    epsilon: EpsilonLike,
    workload: str | Workload = "ranges",
    people: int | None = None,
    typical: float = 1.0,
    budgets: bool = False,
) -> Plan:
    """Forecast the error of every mechanism whose noise does not depend on the data.

    `people` is a public guess of how many rows there are, for relative figures, and `typical` of
    how many an occupied cell holds: sparse summaries are forecast for these. With `budgets`,
    levels of trees may have different shares of ε, which takes longer to search.
    """
    asked = workload if isinstance(workload, Workload) else read_workload(workload, schema)
    if asked.shape != schema.shape:
        raise OptionError("the workload was made for another schema")
    if people is not None and not (type(people) is int and 0 < people <= _MOST_PEOPLE):
        raise OptionError("people must be a whole number above zero")
    purpose = Purpose(schema, parse_epsilon(epsilon), asked, people, typical, budgets)
    exact: list[Forecast] = _asked_of("exact", purpose)
    # Of equal ones the first stays first: families list simple mechanisms before others.
    exact.sort(key=lambda forecast: float(f"{forecast.rmse:.9g}"))
    wanted = people is not None or not exact
    summaries: list[SummaryForecast] = _asked_of("declared", purpose) if wanted else []
    if not exact and not summaries:
        raise OptionError(
            f"{schema.cells:,} cells are too many for this machine's memory and for sparse"
            " summaries: use coarser bins or fewer attributes, or privbayes"
        )
    return Plan(schema, purpose.epsilon, asked, people, tuple(exact), tuple(summaries))


def _asked_of(kind: Certainty, purpose: Purpose) -> list[Any]:
    """The forecasts of all families that have some of a kind."""
    return [forecast for family in forecasting(kind) for forecast in family.forecasts(purpose)]
