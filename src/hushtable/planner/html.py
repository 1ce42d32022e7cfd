"""A plan as HTML, for notebooks: mechanisms with their errors, the best first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hushtable.families import DATA_DEPENDENT
from hushtable.families.forecast import Forecast, SummaryForecast
from hushtable.kernel.privacy.loss import format_epsilon
from hushtable.markup import Markup, block, element, grid, length, paragraph, small
from hushtable.query.answer import show_number

if TYPE_CHECKING:
    from hushtable.planner.plan import Plan

Listed = Forecast | SummaryForecast

NAMED = {1: "1 attribute", 2: "2 attributes", 3: "3 attributes", 4: "4 or more"}
"""What errors are of, by how many attributes questions name."""


def plan_html(plan: Plan) -> str:
    """Exact forecasts, those of summaries, and what is recommended."""
    best = plan.recommended
    advice = (
        paragraph("Nothing is recommended: ", plan.why_not(), ".")
        if best is None
        else paragraph("Recommended: ", element("strong", best.mechanism), _promise(best))
    )
    return block(
        plan_title(plan),
        advice,
        _forecasts(plan) if plan.forecasts else Markup(),
        _summaries(plan) if plan.summaries else Markup(),
        small(f"Not listed, for their error depends on the data: {', '.join(DATA_DEPENDENT)}."),
        small(_worth_trying(plan)) if plan.worth_trying else Markup(),
    )


def _worth_trying(plan: Plan) -> str:
    """What may be better for so few people."""
    named = ", ".join(plan.worth_trying)
    return f"For so few people {named} often errs less on ranges of skewed tables."


def plan_title(plan: Plan) -> str:
    """What the plan is for."""
    return (
        f"Plan for {plan.schema.name}: {plan.workload.name} at ε = {format_epsilon(plan.epsilon)}"
    )


def _promise(best: Listed) -> str:
    """What the recommended mechanism would give, in words."""
    if not isinstance(best, Forecast):
        return f", of which about {best.size:,.0f} cells would be kept."
    return f": a typical count would be ± {_short(best.margin())} at 95 %."


def _forecasts(plan: Plan) -> Markup:
    named = sorted({number for one in plan.forecasts for number in one.by_attributes})
    heads = ["mechanism", "typical ± (95 %)", "std. error", *(NAMED[number] for number in named)]
    longest = max(one.error for one in plan.forecasts)
    rows = [
        [
            _name(one, plan),
            _short(one.margin()),
            _short(one.rmse),
            *(_short(one.by_attributes.get(number)) for number in named),
            _short(one.worst),
            length(one.error, longest),
        ]
        for one in plan.forecasts
    ]
    return grid([*heads, "worst", ""], rows)


def _summaries(plan: Plan) -> Markup:
    """They hold if the declared figures do."""
    heads = ["summary", "std. error", "kept", "of it noise", "a cell", "a range"]
    rows = [
        [
            _name(one, plan),
            _short(one.rmse),
            f"{one.size:,.0f}",
            f"{one.noise_share:.0%}",
            _short(one.point),
            _short(one.range),
        ]
        for one in plan.summaries
    ]
    return grid(heads, rows)


def _name(one: Listed, plan: Plan) -> str:
    recommended = one is plan.recommended
    return element("strong", one.mechanism) if recommended else one.mechanism


def _short(error: float | None) -> str:
    """An error in three digits."""
    return "–" if error is None else show_number(float(f"{error:.3g}"), error / 10 or None)
