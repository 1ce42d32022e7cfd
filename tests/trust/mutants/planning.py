"""What `auto` may publish."""

from __future__ import annotations

from .mutant import Mutant
from .suites import AUTO, FORECASTS

_REFUSED = (f"{AUTO}::test_auto_refuses_what_would_be_mostly_noise",)

PLANNING = [
    Mutant(
        "auto that publishes mostly noise",
        "planner/plan.py",
        "best.useful_from > self.people",
        "best.useful_from > 10 * self.people",
        _REFUSED,
    ),
    Mutant(
        "answers called useful of half as many people",
        "families/forecast.py",
        "typical_ratio(np.sqrt(variances), sample.shares,",
        "typical_ratio(np.sqrt(variances), 2 * sample.shares,",
        (f"{FORECASTS}::test_answers_are_useful_where_a_typical_one_errs_by_less_than_it_counts",),
    ),
    Mutant(
        "summaries recommended though they are noise",
        "planner/plan.py",
        "if one.bounded and one.noise_share <= MOST_NOISE",
        "if one.bounded",
        (f"{AUTO}::test_a_summary_that_may_be_noise_is_not_published",),
    ),
    Mutant(
        "summaries for a number of people that nobody declared",
        "planner/plan.py",
        "*(summaries if sparse else ())",
        "*summaries",
        (f"{AUTO}::test_a_summary_is_recommended_for_declared_people_only",),
    ),
    Mutant(
        "an exact number of people in the manifest",
        "schema/schema.py",
        'if len(str(people).rstrip("0")) > 2:',
        'if len(str(people).rstrip("0")) > 200:',
        ("tests/schema/test_schema_refusals.py::test_what_is_no_schema_is_refused_in_one_line",),
    ),
]
