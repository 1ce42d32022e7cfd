"""What summaries of sparse tables would be like, for a declared number of people.

Their errors depend on how many cells are occupied and by how many people, so these are forecasts
for declared figures, not exact ones: evenly spread cells that hold as many people each.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hushtable.errors import OptionError
from hushtable.families.sparse.expected import Forecast as Expected
from hushtable.families.sparse.expected import filter_for_size, forecast
from hushtable.kernel.maps.rules import Filter, Priority, Rule
from hushtable.kernel.maps.structure import On, Structure
from hushtable.schema import Schema

DEFAULT_PEOPLE = 10**6
DEFAULT_SIZE = 100_000
"""What the mechanisms keep unless they are told otherwise."""

# Combinations of levels up to which dyadic ranges are forecast: each is a law of its own.
_MOST_LEVELS = 64

RANGE = 100
"""The range that is forecast holds one cell in so many."""


@dataclass(frozen=True)
class SummaryForecast:
    """What a sparse summary would give, if the declared figures are right."""

    mechanism: str
    parameters: dict[str, str]
    expected: Expected

    def to_dict(self) -> dict[str, Any]:
        return {
            "mechanism": self.mechanism,
            "parameters": self.parameters,
            "size": self.expected.size,
            "noise_share": self.expected.noise_share,
            "point": self.expected.point,
            "range": self.expected.range,
            "subset": self.expected.subset,
        }


def summaries(
    schema: Schema, epsilon: Fraction, people: int | None, typical: float
) -> tuple[SummaryForecast, ...]:
    """Forecasts of the summaries, the one that answers ranges best first."""
    if not 0 < typical <= (people or DEFAULT_PEOPLE):
        raise OptionError("a typical cell holds more than nobody, and not more than all people")
    found = list(_forecasts(schema, epsilon, people or DEFAULT_PEOPLE, typical))
    return tuple(sorted(found, key=lambda one: one.expected.range))


def _forecasts(
    schema: Schema, epsilon: Fraction, people: int, typical: float
) -> Iterator[SummaryForecast]:
    kinds: tuple[On, ...] = ("cells", "dyadic")
    for on in kinds:
        try:
            structure = Structure(on, schema.shape)
            scale = schema.exposure.scale(
                epsilon, entering=structure.entering, moving=structure.moving
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
            expected = forecast(
                structure,
                rule,
                scale,
                occupied=min(people / typical, schema.cells),
                count=typical,
                cells=max(schema.cells / RANGE, 1),
            )
            yield SummaryForecast(name, {"on": on, "size": str(DEFAULT_SIZE)}, expected)
