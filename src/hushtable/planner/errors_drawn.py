"""What is drawn of a plan: for every mechanism its error, and how it differs between questions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hushtable.families.forecast import Forecast, SummaryForecast
    from hushtable.planner.plan import Plan

TITLE = "standard error of a count; the bar: by how many attributes are named"


@dataclass(frozen=True)
class DrawnError:
    """The forecast error of a mechanism, and the ends of its bar."""

    mechanism: str
    error: float
    least: float
    most: float
    recommended: bool

    @property
    def label(self) -> str:
        """The mechanism, and whether it is the one to take."""
        return f"{self.mechanism} (recommended)" if self.recommended else self.mechanism


def errors_of(plan: Plan) -> list[DrawnError]:
    """Of every mechanism that the plan lists, the best first."""
    listed: list[Forecast | SummaryForecast] = [*plan.forecasts, *plan.summaries]
    found = []
    for one in sorted(listed, key=lambda one: one.error):
        spread = (one.error, *one.by_attributes.values())
        best = one is plan.recommended
        found.append(DrawnError(one.mechanism, one.error, min(spread), max(spread), best))
    return found
