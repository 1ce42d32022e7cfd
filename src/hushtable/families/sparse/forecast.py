"""What summaries of sparse tables would be like, for a declared number of people.

Their errors depend on how many cells are occupied and by how many people, so these are forecasts
for declared figures, not exact ones: evenly spread cells that hold as many people each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from hushtable.errors import OptionError
from hushtable.families.forecast import Purpose, SummaryForecast
from hushtable.families.sparse.expected import DEFAULT_SIZE, expected_of, filter_for_size
from hushtable.kernel.maps.rules import Filter, Priority, Rule
from hushtable.kernel.maps.structure import On, Structure

DEFAULT_PEOPLE = 10**6

# Combinations of levels up to which dyadic ranges are forecast: each is a law of its own.
_MOST_LEVELS = 64

RANGE = 100
"""The range that is forecast holds one cell in so many."""


def forecasts(purpose: Purpose) -> list[SummaryForecast]:
    """Of the summaries, the one that answers ranges best first."""
    people = purpose.people or DEFAULT_PEOPLE
    if not 0 < purpose.typical <= people:
        raise OptionError("a typical cell holds more than nobody, and not more than all people")
    return sorted(_forecasts(purpose, people), key=lambda one: one.range)


def _forecasts(purpose: Purpose, people: int) -> Iterator[SummaryForecast]:
    schema = purpose.schema
    kinds: tuple[On, ...] = ("cells", "dyadic")
    for on in kinds:
        try:
            structure = Structure(on, schema.shape)
            scale = schema.exposure.scale(
                purpose.epsilon, entering=structure.entering, moving=structure.moving
            )
            theta = filter_for_size(structure.places, scale, DEFAULT_SIZE)
        except OptionError:  # too many cells, or too little ε
            continue
        if on == "dyadic" and structure.entering > _MOST_LEVELS:
            continue
        rules: dict[str, Rule] = {
            "filter": Filter(theta),
            "filter-priority": Priority(DEFAULT_SIZE, theta),
        }
        for name, rule in rules.items():
            expected = expected_of(
                structure,
                rule,
                scale,
                occupied=min(people / purpose.typical, schema.cells),
                count=purpose.typical,
                cells=max(schema.cells / RANGE, 1),
            )
            yield SummaryForecast(
                mechanism=name,
                parameters={"on": on, "size": str(DEFAULT_SIZE)},
                people=people,
                bounded=isinstance(rule, Priority),
                **asdict(expected),
            )
